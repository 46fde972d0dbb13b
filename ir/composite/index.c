/* Tensors of indices at some axes, which are broadcast with each other and taken together:
 *
 *   self f32[4,5,6], indices none, i, j of shape B
 *     positions, checked    index_select of 0, 1, ... along each axis: counted from the back where negative
 *     indexed axes first    permute, reshape              f32[5*6, 4]
 *     their positions       i * 6 + j                     i64[B], flat
 *     index_select, reshape, and B to where the indexed axes were (or first, where they do not lie side by side)
 *
 * A mask stands for the places where it holds, one tensor of them for each axis that it covers.
 * One tensor alone is what index_select takes. index_put goes the same way, and writes where index reads. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_value source;
  laze_type self, shape;             /* `shape`: of the tensors of indices together */
  laze_value indices[LAZE_MAX_RANK]; /* by axis; LAZE_VALUE_NONE: all of it */
  int first, last, count;            /* the axes that have one */
} lookup;

static bool lies_side_by_side(const lookup *l) {
  return l->last - l->first + 1 == l->count;
}

static laze_status check_index(const lookup *l, int axis, const laze_type *type, laze_error *error) {
  if (laze_dtype_is_index((laze_dtype)type->dtype)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the tensor for axis %d is %s, expected %s",
                   laze_compose_name(l->call), axis, laze_dtype_name((laze_dtype)type->dtype),
                   laze_dtype_list(laze_dtype_index_set(), LAZE_NAME_SHORT, " or ").text);
}

static laze_status add_index(lookup *l, int axis, laze_value value, laze_error *error) {
  laze_inference inference = {l->recorder->sizes, laze_compose_name(l->call), error};
  l->indices[axis] = value;
  laze_type type = laze_compose_type(l->recorder, value);
  LAZE_TRY(check_index(l, axis, &type, error));
  if (l->count++ == 0) l->first = axis;
  l->last = axis;
  return laze_infer_broadcast_into(&inference, &type, &l->shape);
}

static laze_status refuse_rank(const lookup *l, laze_error *error) {
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: the indices take more than the %d dims that the tensor has; give one at most for each, where a "
                   "mask takes as many as it has",
                   laze_compose_name(l->call), l->self.rank);
}

/* A mask is the places where it holds, by axis of those that it covers. */
static laze_status add_mask(lookup *l, int axis, laze_value mask, int rank, laze_error *error) {
  laze_type type = laze_compose_type(l->recorder, mask);
  laze_value places[LAZE_MAX_RANK];
  bool fits = true;
  if (rank == 0)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: the tensor for axis %d is a bool without dims; give a mask some",
                     laze_compose_name(l->call), axis);
  if (axis + rank > l->self.rank) return refuse_rank(l, error);
  for (int i = 0; i < rank && fits; i++)
    LAZE_TRY(laze_size_must_equal(l->recorder, type.sizes[i], l->self.sizes[axis + i], &fits, error));
  if (!fits) {
    const laze_inference inference = {l->recorder->sizes, laze_compose_name(l->call), error};
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: a mask %s for the axes from %d on of %s; give it their sizes",
                     inference.operator_name, laze_show(&inference, &type).text, axis,
                     laze_show(&inference, &l->self).text);
  }
  LAZE_TRY(laze_compose_places_by_axis(l->recorder, mask, places, error));
  for (int i = 0; i < rank; i++) LAZE_TRY(add_index(l, axis + i, places[i], error));
  return LAZE_OK;
}

static laze_status add_indices(lookup *l, const laze_value *given, int32_t count, laze_error *error) {
  int axis = 0;
  for (int i = 0; i < LAZE_MAX_RANK; i++) l->indices[i] = LAZE_VALUE_NONE;
  for (int32_t i = 0; i < count; i++) {
    if (axis >= l->self.rank) return refuse_rank(l, error);
    if (laze_value_is_none(given[i])) {
      axis++;
      continue;
    }
    laze_type type = laze_compose_type(l->recorder, given[i]);
    bool is_mask = type.dtype == LAZE_BOOL;
    LAZE_TRY(is_mask ? add_mask(l, axis, given[i], type.rank, error) : add_index(l, axis, given[i], error));
    axis += is_mask ? type.rank : 1;
  }
  return LAZE_OK;
}

static laze_status describe(laze_recorder *recorder, const laze_call *call, lookup *l, laze_error *error) {
  int32_t first, count = laze_call_segment(call, 1, &first);
  *l = (lookup){.recorder = recorder, .call = call, .source = call->operands[0], .shape.kind = LAZE_TYPE_TENSOR};
  l->self = laze_compose_type(recorder, l->source);
  LAZE_TRY(add_indices(l, call->operands + first, count, error));
  if (l->count == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: there is no tensor among the indices, expected one at least",
                     laze_compose_name(call));
  if (l->self.rank - l->count + l->shape.rank > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: what is indexed has more than %d dims", laze_compose_name(call),
                     LAZE_MAX_RANK);
  return LAZE_OK;
}

/* The indices of an axis, all of them in a row. */
static laze_status flatten(const lookup *l, laze_value indices, laze_value *out, laze_error *error) {
  laze_size count;
  LAZE_TRY(laze_compose_expand(l->recorder, indices, l->shape.sizes, l->shape.rank, &indices, error));
  LAZE_TRY(laze_size_product(l->recorder->sizes, l->shape.sizes, l->shape.rank, &count, error));
  return laze_compose_reshape(l->recorder, indices, &count, 1, out, error);
}

/* Where they are in the axis, from 0 on. */
static laze_status positions(const lookup *l, int axis, laze_value *out, laze_error *error) {
  laze_attribute dim = laze_attribute_integer(0);
  laze_value operands[2];
  LAZE_TRY(laze_compose_iota(l->recorder, &l->self.sizes[axis], 1, 0, LAZE_I64, &operands[0], error));
  LAZE_TRY(flatten(l, l->indices[axis], &operands[1], error));
  return laze_record_call(l->recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, out, error);
}

/* Positions in all indexed axes as one: each axis makes those before it longer by its size. */
static laze_status join_positions(const lookup *l, laze_value *out, laze_error *error) {
  laze_value position, size;
  LAZE_TRY(positions(l, l->first, out, error));
  for (int axis = l->first + 1; axis <= l->last; axis++) {
    if (laze_value_is_none(l->indices[axis])) continue;
    laze_attribute attributes[] = {laze_attribute_size(l->self.sizes[axis]), laze_attribute_dtype(LAZE_I64)};
    LAZE_TRY(positions(l, axis, &position, error));
    LAZE_TRY(laze_record_call(l->recorder, LAZE_OP_SIZE_TENSOR, NULL, 0, attributes, &size, error));
    LAZE_TRY(laze_compose_binary(l->recorder, LAZE_OP_MUL, *out, size, out, error));
    LAZE_TRY(laze_compose_binary(l->recorder, LAZE_OP_ADD, *out, position, out, error));
  }
  return LAZE_OK;
}

/* The tensor with its indexed axes first and as one. */
static laze_status join_axes(const lookup *l, laze_value *out, laze_error *error) {
  laze_size axes[LAZE_MAX_RANK] = {0}, joined[LAZE_MAX_RANK] = {0}, sizes[LAZE_MAX_RANK + 1];
  int next = 0, rank = 1;
  for (int axis = 0; axis < l->self.rank; axis++)
    if (!laze_value_is_none(l->indices[axis])) {
      joined[next] = l->self.sizes[axis];
      axes[next++] = axis;
    }
  LAZE_TRY(laze_size_product(l->recorder->sizes, joined, next, &sizes[0], error));
  for (int axis = 0; axis < l->self.rank; axis++)
    if (laze_value_is_none(l->indices[axis])) {
      sizes[rank++] = l->self.sizes[axis];
      axes[next++] = axis;
    }
  LAZE_TRY(laze_compose_permute(l->recorder, l->source, axes, l->self.rank, out, error));
  return laze_compose_reshape(l->recorder, *out, sizes, rank, out, error);
}

/* Elements of axis `axis` of `source`, which becomes the axes of the indices. */
static laze_status take(const lookup *l, laze_value source, int axis, laze_value list, laze_value *out,
                        laze_error *error) {
  laze_type type = laze_compose_type(l->recorder, source);
  laze_attribute dim = laze_attribute_integer(axis);
  laze_size sizes[2 * LAZE_MAX_RANK];
  int rank = 0;
  LAZE_TRY(laze_record_call(l->recorder, LAZE_OP_INDEX_SELECT, (laze_value[]){source, list}, 2, &dim, out, error));
  for (int i = 0; i < axis; i++) sizes[rank++] = type.sizes[i];
  for (int i = 0; i < l->shape.rank; i++) sizes[rank++] = l->shape.sizes[i];
  for (int i = axis + 1; i < type.rank; i++) sizes[rank++] = type.sizes[i];
  return laze_compose_reshape(l->recorder, *out, sizes, rank, out, error);
}

/* The axes of the indices, which are first, to where the indexed axes were. */
static laze_status move_back(const lookup *l, laze_value *value, laze_error *error) {
  laze_size axes[LAZE_MAX_RANK];
  int rank = l->self.rank - l->count + l->shape.rank, next = 0;
  if (l->first == 0 || !lies_side_by_side(l)) return LAZE_OK;
  for (int i = 0; i < l->first; i++) axes[next++] = l->shape.rank + i;
  for (int i = 0; i < l->shape.rank; i++) axes[next++] = i;
  for (int i = l->shape.rank + l->first; i < rank; i++) axes[next++] = i;
  return laze_compose_permute(l->recorder, *value, axes, rank, value, error);
}

laze_status laze_composite_index(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  lookup l;
  laze_value source, list;
  LAZE_TRY(describe(recorder, call, &l, error));
  if (l.count == 1) {
    LAZE_TRY(flatten(&l, l.indices[l.first], &list, error));
    return take(&l, l.source, l.first, list, results, error);
  }
  LAZE_TRY(join_axes(&l, &source, error));
  LAZE_TRY(join_positions(&l, &list, error));
  LAZE_TRY(take(&l, source, 0, list, results, error));
  return move_back(&l, results, error);
}

/* Writing */

/* Values broadcast to what index gives, then with the axes of the indices first, and as one. */
static laze_status shape_values(const lookup *l, laze_value *values, laze_error *error) {
  laze_size sizes[LAZE_MAX_RANK], axes[LAZE_MAX_RANK], kept[LAZE_MAX_RANK], count;
  int rest = 0, next = 0, before = lies_side_by_side(l) ? l->first : 0;
  for (int axis = 0; axis < l->self.rank; axis++)
    if (laze_value_is_none(l->indices[axis])) kept[rest++] = l->self.sizes[axis];
  for (int i = 0; i < before; i++) sizes[next++] = kept[i];
  for (int i = 0; i < l->shape.rank; i++) sizes[next++] = l->shape.sizes[i];
  for (int i = before; i < rest; i++) sizes[next++] = kept[i];
  LAZE_TRY(laze_compose_expand(l->recorder, *values, sizes, next, values, error));
  for (int i = 0; i < next; i++)
    axes[i] = i < l->shape.rank ? before + i : i < l->shape.rank + before ? i - l->shape.rank : i;
  LAZE_TRY(laze_compose_permute(l->recorder, *values, axes, next, values, error));
  LAZE_TRY(laze_size_product(l->recorder->sizes, l->shape.sizes, l->shape.rank, &count, error));
  sizes[0] = count;
  for (int i = 0; i < rest; i++) sizes[1 + i] = kept[i];
  return laze_compose_reshape(l->recorder, *values, sizes, 1 + rest, values, error);
}

/* Whether the one axis that is indexed is where the update has it already: then nothing is moved, and what is written
 * to stays where it lies. */
static bool is_in_place(const lookup *l) {
  return l->count == 1 && l->first == 0;
}

/* The axes of join_axes as they were. */
static laze_status part_axes(const lookup *l, laze_value joined, laze_value *out, laze_error *error) {
  laze_size sizes[LAZE_MAX_RANK], back[LAZE_MAX_RANK];
  int next = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int axis = 0; axis < l->self.rank; axis++) {
      if (laze_value_is_none(l->indices[axis]) != (pass == 1)) continue;
      back[axis] = next;
      sizes[next++] = l->self.sizes[axis];
    }
  LAZE_TRY(laze_compose_reshape(l->recorder, joined, sizes, next, &joined, error));
  return laze_compose_permute(l->recorder, joined, back, next, out, error);
}

laze_status laze_composite_index_put(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  bool accumulate = call->attributes[LAZE_INDEX_PUT_ACCUMULATE].value.integer != 0, nothing;
  laze_attribute attributes[] = {laze_attribute_integer(0), laze_attribute_string(accumulate ? "sum" : "none")};
  laze_value operands[3] = {[2] = laze_call_operand(call, 2)};
  laze_size count;
  lookup l;
  LAZE_TRY(describe(recorder, call, &l, error));
  LAZE_TRY(laze_size_product(recorder->sizes, l.shape.sizes, l.shape.rank, &count, error));
  LAZE_TRY(shape_values(&l, &operands[2], error));
  LAZE_TRY(laze_size_is_equal(recorder, count, 0, &nothing, error));
  *results = l.source;
  if (nothing) return LAZE_OK;
  operands[0] = l.source;
  if (!is_in_place(&l)) LAZE_TRY(join_axes(&l, &operands[0], error));
  if (l.count == 1)
    LAZE_TRY(flatten(&l, l.indices[l.first], &operands[1], error));
  else
    LAZE_TRY(join_positions(&l, &operands[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__INDEX_UPDATE, operands, 3, attributes, results, error));
  return is_in_place(&l) ? LAZE_OK : part_axes(&l, *results, results, error);
}
