/* Shapes of operators that read at computed places:
 *
 *   gather        self[n, m], index[i, j]   ──>   [i, j]   (i no longer than n but along dim)
 *   index_select  self[n, m], index[i]      ──>   [i, m]   (along dim 0)
 *   dynamic_slice self[n, m], start[]       ──>   [k, m]   (k of dim 0)
 */
#include "shape_inference/rules_internal.h"

laze_status laze_shape_gather(laze_inference *inference, const laze_type *self, int64_t dim, const laze_type *index,
                              laze_type *out) {
  int axis;
  /* A tensor without dims and one of a single dim may stand for each other. */
  if (index->rank != self->rank && (index->rank > 1 || self->rank > 1))
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: index %s and self %s have different ranks; give index as many dimensions as self",
                     inference->operator_name, laze_show(inference, index).text, laze_show(inference, self).text);
  LAZE_TRY(laze_infer_axis(inference, dim, self->rank, &axis));
  laze_copy_shape(index, out);
  for (int i = 0; i < index->rank; i++) {
    bool inside = true;
    if (i != axis) LAZE_TRY(laze_infer_require_less_equal(inference, index->sizes[i], self->sizes[i], &inside));
    if (!inside)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: index %s is larger than self %s on axis %d; apart from axis %d it must be at most as large",
                       inference->operator_name, laze_show(inference, index).text, laze_show(inference, self).text, i,
                       axis);
  }
  return LAZE_OK;
}

laze_status laze_shape_index_select(laze_inference *inference, const laze_type *self, int64_t dim,
                                    const laze_type *index, laze_type *out) {
  int axis;
  if (index->rank > 1)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: index %s has %d dimensions; it must have 0 or 1",
                     inference->operator_name, laze_show(inference, index).text, index->rank);
  LAZE_TRY(laze_infer_axis(inference, dim, self->rank, &axis));
  laze_size length = index->rank == 0 ? 1 : index->sizes[0];
  laze_copy_shape(self, out);
  if (self->rank > 0) {
    out->sizes[axis] = length;
    return laze_infer_check_elements(inference, out);
  }
  bool one;
  LAZE_TRY(laze_infer_require_equal(inference, length, 1, &one));
  if (one) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: index %s selects from the 0-d self %s; it must have one element", inference->operator_name,
                   laze_show(inference, index).text, laze_show(inference, self).text);
}

/* The axis of `self` that is sliced from a value on, which has no dimensions. */
static laze_status sliced_axis(laze_inference *inference, const laze_type *self, int64_t dim, const laze_type *start,
                               int *axis) {
  if (self->rank == 0)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: self %s has no dimensions; it must have one to be sliced along", inference->operator_name,
                     laze_show(inference, self).text);
  if (start->rank > 0)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: start %s has %d dimensions; it must be one number, without dimensions",
                     inference->operator_name, laze_show(inference, start).text, start->rank);
  return laze_infer_axis(inference, dim, self->rank, axis);
}

static laze_status check_length(laze_inference *inference, const laze_type *self, int axis, laze_size length) {
  bool positive, inside;
  LAZE_TRY(laze_infer_require_less_equal(inference, 0, length, &positive));
  LAZE_TRY(laze_infer_require_less_equal(inference, length, self->sizes[axis], &inside));
  if (positive && inside) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: a length of %s along axis %d of self %s; it must be 0 to the size there",
                   inference->operator_name, laze_show_size(inference, length).text, axis,
                   laze_show(inference, self).text);
}

laze_status laze_shape_dynamic_slice(laze_inference *inference, const laze_type *self, int64_t dim,
                                     const laze_type *start, laze_size length, laze_type *out) {
  int axis;
  LAZE_TRY(sliced_axis(inference, self, dim, start, &axis));
  LAZE_TRY(check_length(inference, self, axis, length));
  laze_copy_shape(self, out);
  out->sizes[axis] = length;
  return LAZE_OK;
}

laze_status laze_shape_dynamic_update(laze_inference *inference, const laze_type *self, const laze_type *source,
                                      int64_t dim, const laze_type *start, laze_type *out) {
  int axis;
  bool fits = source->rank == self->rank;
  LAZE_TRY(sliced_axis(inference, self, dim, start, &axis));
  for (int i = 0; fits && i < self->rank; i++) {
    if (i == axis)
      LAZE_TRY(laze_infer_require_less_equal(inference, source->sizes[i], self->sizes[i], &fits));
    else
      LAZE_TRY(laze_infer_require_equal(inference, source->sizes[i], self->sizes[i], &fits));
  }
  laze_copy_shape(self, out);
  if (fits) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: source %s does not fit into self %s; it must have the same sizes, and be no longer along axis "
                   "%d",
                   inference->operator_name, laze_show(inference, source).text, laze_show(inference, self).text, axis);
}
