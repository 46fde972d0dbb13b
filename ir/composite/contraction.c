/* Contractions over labelled axes, and the operators that name the axes by numbers. */
#include "ir/composite/contraction.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

uint64_t laze_labels_of(const laze_labelled *tensor) {
  uint64_t labels = 0;
  for (int i = 0; i < tensor->rank; i++) labels |= (uint64_t)1 << tensor->labels[i];
  return labels;
}

static int find_label(const laze_labelled *tensor, uint8_t label) {
  for (int i = 0; i < tensor->rank; i++)
    if (tensor->labels[i] == label) return i;
  return -1;
}

static laze_status drop_axis(laze_recorder *recorder, laze_labelled *tensor, int axis, laze_error *error) {
  tensor->rank--;
  for (int i = axis; i < tensor->rank; i++) tensor->labels[i] = tensor->labels[i + 1];
  return laze_compose_drop_axis(recorder, tensor->value, axis, &tensor->value, error);
}

/* An axis of `tensor` beside the one of another. */
static laze_status join_pair(laze_recorder *recorder, const laze_call *call, laze_labelled *tensor, int axis,
                             const laze_labelled *other, laze_error *error) {
  const int there = find_label(other, tensor->labels[axis]);
  if (there < 0) return LAZE_OK;
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_size own = laze_recorder_type(recorder, tensor->value)->sizes[axis],
                  others = laze_recorder_type(recorder, other->value)->sizes[there];
  bool fits = own == others;
  if (fits || others == 1) return LAZE_OK;
  if (own == 1) return drop_axis(recorder, tensor, axis, error);
  LAZE_TRY(laze_size_must_equal(recorder, own, others, &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: sizes %s and %s of axes that belong together; expected equal ones", inference.operator_name,
                   laze_show_size(&inference, own).text, laze_show_size(&inference, others).text);
}

laze_status laze_compose_join_labels(laze_recorder *recorder, const laze_call *call, laze_labelled *tensors, int count,
                                     laze_error *error) {
  for (int i = 0; i < count; i++)
    for (int axis = tensors[i].rank - 1; axis >= 0; axis--)
      for (int other = 0; other < count && axis < tensors[i].rank; other++) {
        const int rank = tensors[i].rank;
        if (other != i) LAZE_TRY(join_pair(recorder, call, &tensors[i], axis, &tensors[other], error));
        if (tensors[i].rank < rank) break;
      }
  return LAZE_OK;
}

laze_status laze_compose_keep_labels(laze_recorder *recorder, laze_labelled *tensor, uint64_t kept, laze_dtype dtype,
                                     laze_error *error) {
  laze_size axes[LAZE_MAX_RANK];
  int count = 0, rank = 0;
  for (int i = 0; i < tensor->rank; i++) {
    if (kept >> tensor->labels[i] & 1)
      tensor->labels[rank++] = tensor->labels[i];
    else
      axes[count++] = i;
  }
  tensor->rank = rank;
  if (count == 0) return LAZE_OK;
  laze_attribute along[] = {laze_attribute_integers(axes, count), laze_attribute_boolean(false),
                            laze_attribute_dtype_if_any(dtype)};
  return laze_record_call(recorder, LAZE_OP_SUM_DIM_INTLIST, &tensor->value, 1, along, &tensor->value, error);
}

laze_status laze_compose_order_labels(laze_recorder *recorder, const laze_call *call, laze_labelled *tensor,
                                      const uint8_t *labels, int count, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, tensor->value);
  laze_size order[LAZE_MAX_RANK], sizes[LAZE_MAX_RANK];
  int next = 0;
  if (count > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: a product of %d axes, at most %d are supported",
                     laze_compose_name(call), count, LAZE_MAX_RANK);
  for (int i = 0; i < count; i++) {
    const int axis = find_label(tensor, labels[i]);
    sizes[i] = axis < 0 ? 1 : type.sizes[axis];
    if (axis >= 0) order[next++] = axis;
  }
  LAZE_TRY(laze_compose_permute(recorder, tensor->value, order, next, &tensor->value, error));
  for (int i = 0; i < count; i++) tensor->labels[i] = labels[i];
  tensor->rank = count;
  return next == count ? LAZE_OK : laze_compose_reshape(recorder, tensor->value, sizes, count, &tensor->value, error);
}

/* The labels of two tensors by what becomes of them: those of both that stay, of one of them, those summed over. */
typedef struct {
  uint8_t labels[4][LAZE_MAX_RANK];
  int count[4];
  laze_size elements[4];
} parting;

enum { BATCH, LEFT, RIGHT, INNER };

static laze_status part_labels(laze_recorder *recorder, const laze_labelled *a, const laze_labelled *b, uint64_t kept,
                               parting *out, laze_error *error) {
  *out = (parting){.elements = {1, 1, 1, 1}};
  for (int side = 0; side < 2; side++) {
    const laze_labelled *tensor = side == 0 ? a : b, *other = side == 0 ? b : a;
    for (int i = 0; i < tensor->rank; i++) {
      const uint8_t label = tensor->labels[i];
      const bool shared = find_label(other, label) >= 0;
      const int part = !shared ? LEFT + side : kept >> label & 1 ? BATCH : INNER;
      if (shared && side == 1) continue;
      const laze_size size = laze_recorder_type(recorder, tensor->value)->sizes[i];
      out->labels[part][out->count[part]++] = label;
      LAZE_TRY(laze_size_arithmetic(recorder, '*', out->elements[part], size, &out->elements[part], error));
    }
  }
  return LAZE_OK;
}

static int list_parts(const parting *p, const int *parts, int count, uint8_t *out) {
  int next = 0;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < p->count[parts[i]] && next < 2 * LAZE_MAX_RANK; j++) out[next++] = p->labels[parts[i]][j];
  return next;
}

/* Nothing is summed over: axes of size 1 in place of those that a tensor does not have. */
static laze_status multiply_elements(laze_recorder *recorder, const laze_call *call, laze_labelled pair[2],
                                     const parting *p, laze_labelled *out, laze_error *error) {
  uint8_t labels[2 * LAZE_MAX_RANK];
  const int count = list_parts(p, (const int[]){BATCH, LEFT, RIGHT}, 3, labels);
  for (int i = 0; i < 2; i++) LAZE_TRY(laze_compose_order_labels(recorder, call, &pair[i], labels, count, error));
  *out = pair[0];
  return laze_compose_binary(recorder, LAZE_OP_MUL, pair[0].value, pair[1].value, &out->value, error);
}

static laze_status multiply_matrices(laze_recorder *recorder, const laze_call *call, laze_labelled pair[2],
                                     const parting *p, laze_labelled *out, laze_error *error) {
  static const int orders[2][3] = {{BATCH, LEFT, INNER}, {BATCH, INNER, RIGHT}};
  const bool batched = p->count[BATCH] > 0;
  laze_size sizes[LAZE_MAX_RANK];
  uint8_t labels[2 * LAZE_MAX_RANK];
  for (int i = 0; i < 2; i++) {
    const int count = list_parts(p, orders[i], 3, labels);
    LAZE_TRY(laze_compose_order_labels(recorder, call, &pair[i], labels, count, error));
    for (int j = 0; j < 3; j++) sizes[j] = p->elements[orders[i][j]];
    LAZE_TRY(laze_compose_reshape(recorder, pair[i].value, batched ? sizes : sizes + 1, batched ? 3 : 2, &pair[i].value,
                                  error));
  }
  *out = (laze_labelled){.rank = 0};
  LAZE_TRY(laze_compose_binary(recorder, batched ? LAZE_OP_BMM : LAZE_OP_MM, pair[0].value, pair[1].value, &out->value,
                               error));
  const int count = list_parts(p, (const int[]){BATCH, LEFT, RIGHT}, 3, labels);
  if (count > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: a product of %d axes, at most %d are supported",
                     laze_compose_name(call), count, LAZE_MAX_RANK);
  for (int i = 0; i < count; i++) out->labels[i] = labels[i];
  out->rank = count;
  return LAZE_OK;
}

/* The sizes of what the product of matrices is. */
static void find_sizes(laze_recorder *recorder, const laze_labelled pair[2], const laze_labelled *out,
                       laze_size *sizes) {
  for (int i = 0; i < out->rank; i++) {
    const int first = find_label(&pair[0], out->labels[i]);
    const laze_labelled *from = &pair[first < 0];
    sizes[i] = laze_recorder_type(recorder, from->value)->sizes[find_label(from, out->labels[i])];
  }
}

laze_status laze_compose_contract(laze_recorder *recorder, const laze_call *call, laze_labelled a, laze_labelled b,
                                  uint64_t kept, laze_labelled *out, laze_error *error) {
  const uint64_t shared = laze_labels_of(&a) & laze_labels_of(&b);
  laze_size sizes[LAZE_MAX_RANK];
  parting p;
  LAZE_TRY(laze_compose_keep_labels(recorder, &a, kept | shared, LAZE_DTYPE_NONE, error));
  LAZE_TRY(laze_compose_keep_labels(recorder, &b, kept | shared, LAZE_DTYPE_NONE, error));
  LAZE_TRY(part_labels(recorder, &a, &b, kept, &p, error));
  laze_labelled pair[] = {a, b};
  if (p.count[INNER] == 0) return multiply_elements(recorder, call, pair, &p, out, error);
  LAZE_TRY(multiply_matrices(recorder, call, pair, &p, out, error));
  find_sizes(recorder, (const laze_labelled[]){a, b}, out, sizes);
  return laze_compose_reshape(recorder, out->value, sizes, out->rank, &out->value, error);
}

/* tensordot, inner */

/* Axes of two tensors, of which those of a list of pairs belong together. */
static laze_status label_pairs(laze_recorder *recorder, const laze_call *call, const laze_attribute *const lists[2],
                               laze_labelled tensors[2], uint64_t *kept, laze_error *error) {
  uint64_t summed = 0;
  for (int i = 0, next = 0; i < 2; i++) {
    tensors[i] = (laze_labelled){.value = call->operands[i]};
    tensors[i].rank = laze_recorder_type(recorder, call->operands[i])->rank;
    for (int axis = 0; axis < tensors[i].rank; axis++) tensors[i].labels[axis] = (uint8_t)next++;
  }
  for (int32_t i = 0; i < lists[0]->count; i++) {
    int axes[2];
    for (int j = 0; j < 2; j++)
      LAZE_TRY(laze_compose_axis(recorder, call, lists[j]->value.items[i], tensors[j].rank, &axes[j], error));
    const bool any = tensors[0].rank > 0 && tensors[1].rank > 0;
    const uint8_t label = any ? tensors[0].labels[axes[0]] : 0;
    if (!any || (summed >> label & 1) || tensors[1].labels[axes[1]] < tensors[0].rank)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: a dim is named twice, or one of a tensor without dims",
                       laze_compose_name(call));
    summed |= (uint64_t)1 << label;
    tensors[1].labels[axes[1]] = label;
  }
  *kept = ~summed;
  return LAZE_OK;
}

static laze_status contract_pairs(laze_recorder *recorder, const laze_call *call, const laze_attribute *const lists[2],
                                  laze_value *results, laze_error *error) {
  laze_labelled tensors[2], product;
  uint64_t kept = 0;
  LAZE_TRY(label_pairs(recorder, call, lists, tensors, &kept, error));
  LAZE_TRY(laze_compose_join_labels(recorder, call, tensors, 2, error));
  const uint64_t shared = laze_labels_of(&tensors[0]) & laze_labels_of(&tensors[1]);
  for (int i = 0; i < 2; i++) {
    const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, tensors[i].value)->dtype;
    LAZE_TRY(laze_compose_keep_labels(recorder, &tensors[i], kept | shared, dtype, error));
  }
  LAZE_TRY(laze_compose_contract(recorder, call, tensors[0], tensors[1], kept, &product, error));
  *results = product.value;
  return LAZE_OK;
}

static laze_status check_dtypes(laze_recorder *recorder, const laze_call *call, laze_error *error) {
  const laze_dtype self = (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype,
                   other = (laze_dtype)laze_recorder_type(recorder, call->operands[1])->dtype;
  if (self == other) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %s and %s; expected the same dtype: convert one with to()",
                   laze_compose_name(call), laze_dtype_name(self), laze_dtype_name(other));
}

laze_status laze_composite_tensordot(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  const laze_attribute *const lists[] = {&call->attributes[LAZE_TENSORDOT_DIMS_SELF],
                                         &call->attributes[LAZE_TENSORDOT_DIMS_OTHER]};
  LAZE_TRY(check_dtypes(recorder, call, error));
  if (lists[0]->count != lists[1]->count)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d dims of self and %d of other; expected as many",
                     laze_compose_name(call), lists[0]->count, lists[1]->count);
  return contract_pairs(recorder, call, lists, results, error);
}

laze_status laze_composite_inner(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  const laze_type self = laze_compose_type(recorder, call->operands[0]),
                  other = laze_compose_type(recorder, call->operands[1]);
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_size last = -1;
  const laze_attribute list = laze_attribute_integers(&last, 1), *const lists[] = {&list, &list};
  bool fits;
  LAZE_TRY(check_dtypes(recorder, call, error));
  if (self.rank == 0 || other.rank == 0)
    return laze_compose_binary(recorder, LAZE_OP_MUL, call->operands[0], call->operands[1], results, error);
  LAZE_TRY(laze_size_must_equal(recorder, self.sizes[self.rank - 1], other.sizes[other.rank - 1], &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %s and %s; the last sizes must be equal",
                     inference.operator_name, laze_show(&inference, &self).text, laze_show(&inference, &other).text);
  return contract_pairs(recorder, call, lists, results, error);
}
