/* Shapes of operators that move elements and change none: permute, reshape, unsqueeze, cat. Those of slices are in
 * rules_slice.c.
 *
 *   reshape f32[n,6], [-1, 3]        the size left out is a quotient: f32[2*n,3]
 */
#include "shape_inference/rules_internal.h"

laze_status laze_shape_permute(laze_inference *inference, const laze_type *self, laze_size_list dims, laze_type *out) {
  if (dims.count != self->rank)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: %d dims for %s; name each of its axes once",
                     inference->operator_name, dims.count, laze_show(inference, self).text);
  uint32_t seen = 0;
  out->rank = self->rank;
  for (int i = 0; i < dims.count; i++) {
    int axis;
    LAZE_TRY(laze_infer_axis(inference, dims.items[i], self->rank, &axis));
    if (seen >> axis & 1)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: axis %d of %s is listed twice in dims; name each axis once", inference->operator_name, axis,
                       laze_show(inference, self).text);
    seen |= 1u << axis;
    out->sizes[i] = self->sizes[axis];
  }
  return LAZE_OK;
}

laze_status laze_shape_flip(laze_inference *inference, const laze_type *self, laze_size_list dims, laze_type *out) {
  uint32_t seen = 0;
  for (int i = 0; i < dims.count; i++) {
    int axis;
    LAZE_TRY(laze_infer_axis(inference, dims.items[i], self->rank, &axis));
    if (seen >> axis & 1)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: axis %d of %s is listed twice in dims; list each axis once", inference->operator_name, axis,
                       laze_show(inference, self).text);
    seen |= 1u << axis;
  }
  laze_copy_shape(self, out);
  return LAZE_OK;
}

static laze_status product(laze_inference *inference, const laze_size *sizes, int count, laze_size *out) {
  return laze_infer_named(inference, laze_size_product(inference->sizes, sizes, count, out, inference->error));
}

/* Copies `shape` to `out`; *inferred is the axis with -1, which gets size 1 for now, or -1. */
static laze_status read_shape(laze_inference *inference, laze_size_list shape, laze_type *out, int *inferred) {
  *inferred = -1;
  LAZE_TRY(laze_infer_check_rank(inference, shape.count));
  out->rank = (uint8_t)shape.count;
  for (int i = 0; i < shape.count; i++) {
    out->sizes[i] = shape.items[i];
    if (shape.items[i] != -1) {
      LAZE_TRY(laze_infer_check_size(inference, shape.items[i], i));
      continue;
    }
    if (*inferred >= 0)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: sizes %d and %d are both -1; at most one size can follow from the others",
                       inference->operator_name, *inferred, i);
    *inferred = i;
    out->sizes[i] = 1;
  }
  return laze_infer_check_elements(inference, out);
}

static laze_status fail_reshape(laze_inference *inference, const laze_type *self, const laze_type *out, int inferred,
                                const char *expected) {
  laze_type shape = *out;
  shape.dtype = LAZE_DTYPE_NONE;
  if (inferred >= 0) shape.sizes[inferred] = -1;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: %s cannot become %s: %s", inference->operator_name,
                   laze_show(inference, self).text, laze_show(inference, &shape).text, expected);
}

/* elements / rest, exactly. */
static laze_status infer_size(laze_inference *inference, const laze_type *self, laze_size elements, laze_size rest,
                              int inferred, laze_type *out) {
  bool zero, exact;
  laze_size quotient, back;
  LAZE_TRY(laze_infer_equal(inference, rest, 0, &zero));
  if (zero)
    return fail_reshape(inference, self, out, inferred,
                        "any size would do where another is 0; give the size instead of -1");
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_FLOOR_DIV, elements, rest, &quotient));
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_MUL, quotient, rest, &back));
  LAZE_TRY(laze_infer_require_equal(inference, back, elements, &exact));
  out->sizes[inferred] = quotient;
  if (exact) return LAZE_OK;
  out->sizes[inferred] = -1;
  return fail_reshape(inference, self, out, inferred,
                      "its elements are no multiple of the other sizes' product; give sizes that divide them");
}

laze_status laze_shape_reshape(laze_inference *inference, const laze_type *self, laze_size_list shape, laze_type *out) {
  int inferred;
  laze_size elements, asked;
  LAZE_TRY(read_shape(inference, shape, out, &inferred));
  LAZE_TRY(product(inference, self->sizes, self->rank, &elements));
  LAZE_TRY(product(inference, out->sizes, out->rank, &asked));
  if (inferred >= 0) return infer_size(inference, self, elements, asked, inferred, out);
  bool same;
  LAZE_TRY(laze_infer_require_equal(inference, elements, asked, &same));
  if (same) return LAZE_OK;
  return fail_reshape(inference, self, out, inferred,
                      "the numbers of elements differ; give sizes with the same product, or -1 for one of them");
}

laze_status laze_shape_unsqueeze(laze_inference *inference, const laze_type *self, int64_t dim, laze_type *out) {
  int axis;
  if (self->rank >= LAZE_MAX_RANK)
    return laze_fail(inference->error, LAZE_UNSUPPORTED,
                     "%s: %s has %d axes, which is as many as a tensor may have; join axes with reshape first",
                     inference->operator_name, laze_show(inference, self).text, LAZE_MAX_RANK);
  LAZE_TRY(laze_infer_axis(inference, dim, self->rank + 1, &axis));
  out->rank = (uint8_t)(self->rank + 1);
  for (int i = 0, from = 0; i < out->rank; i++) out->sizes[i] = i == axis ? 1 : self->sizes[from++];
  return LAZE_OK;
}

static laze_status cat_onto(laze_inference *inference, const laze_type *first, const laze_type *next, int axis,
                            laze_type *out) {
  if (next->rank != first->rank)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: tensors %s and %s have different ranks; concatenation needs one rank",
                     inference->operator_name, laze_show(inference, first).text, laze_show(inference, next).text);
  for (int i = 0; i < next->rank; i++) {
    bool same = true;
    if (i == axis) {
      LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_ADD, out->sizes[i], next->sizes[i], &out->sizes[i]));
      continue;
    }
    LAZE_TRY(laze_infer_require_equal(inference, out->sizes[i], next->sizes[i], &same));
    if (!same)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: tensors %s and %s differ on axis %d: sizes %s and %s; all axes but %d must be equal",
                       inference->operator_name, laze_show(inference, first).text, laze_show(inference, next).text, i,
                       laze_show_size(inference, out->sizes[i]).text, laze_show_size(inference, next->sizes[i]).text,
                       axis);
    if (laze_size_is_constant(next->sizes[i])) out->sizes[i] = next->sizes[i];
  }
  return LAZE_OK;
}

/* Whether a tensor is an empty list (one axis of size 0), which is left out where the others have another rank. */
static laze_status is_empty_list(laze_inference *inference, const laze_type *tensor, bool *out) {
  *out = false;
  return tensor->rank == 1 ? laze_infer_equal(inference, tensor->sizes[0], 0, out) : LAZE_OK;
}

/* The first tensor that has a place in the result; the first of all where there are only empty lists. Sizes are asked
 * for only where ranks differ. */
static laze_status first_piece(laze_inference *inference, const laze_type *const *tensors, int32_t count,
                               const laze_type **out) {
  *out = tensors[0];
  for (int32_t i = 0; i < count; i++) {
    bool skipped;
    if (tensors[i]->rank == 0)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: tensor %d, %s, has no axis; reshape 0-d tensors to [1] before concatenating them",
                       inference->operator_name, i, laze_show(inference, tensors[i]).text);
    if (tensors[i]->rank == (*out)->rank) continue;
    LAZE_TRY(is_empty_list(inference, *out, &skipped));
    if (skipped) *out = tensors[i];
  }
  return LAZE_OK;
}

laze_status laze_cat_axis(laze_inference *inference, const laze_type *result, int64_t dim, int *out) {
  *out = 0;
  return result->rank == 1 && result->sizes[0] == 0 ? LAZE_OK : laze_infer_axis(inference, dim, result->rank, out);
}

/* Whether all tensors are empty lists, of which `dim` need not be an axis. */
static laze_status only_empty_lists(laze_inference *inference, const laze_type *const *tensors, int32_t count,
                                    int64_t dim, bool *out) {
  *out = dim < -1 || dim > 0; /* otherwise nothing depends on it, and nothing has to be asked */
  for (int32_t i = 0; i < count && *out; i++) LAZE_TRY(is_empty_list(inference, tensors[i], out));
  return LAZE_OK;
}

laze_status laze_shape_cat(laze_inference *inference, const laze_type *const *tensors, int32_t tensor_count,
                           int64_t dim, laze_type *out) {
  const laze_type *first;
  bool empty;
  int axis;
  if (tensor_count < 1)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: no tensors; pass at least one",
                     inference->operator_name);
  LAZE_TRY(first_piece(inference, tensors, tensor_count, &first));
  laze_copy_shape(first, out);
  LAZE_TRY(only_empty_lists(inference, tensors, tensor_count, dim, &empty));
  if (empty) out->sizes[0] = 0;
  if (empty) return LAZE_OK;
  LAZE_TRY(laze_infer_axis(inference, dim, first->rank, &axis));
  out->sizes[axis] = 0;
  for (int32_t i = 0; i < tensor_count; i++) {
    bool skipped = false;
    if (tensors[i]->rank != first->rank) LAZE_TRY(is_empty_list(inference, tensors[i], &skipped));
    if (!skipped) LAZE_TRY(cat_onto(inference, first, tensors[i], axis, out));
  }
  return laze_infer_check_elements(inference, out);
}
