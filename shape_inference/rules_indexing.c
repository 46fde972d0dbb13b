/* Shapes of operators that read at computed places:
 *
 *   gather        self[n, m], index[i, j]   ──>   [i, j]   (i no longer than n but along dim)
 *   index_select  self[n, m], index[i]      ──>   [i, m]   (along dim 0)
 */
#include "shape_inference/rules_internal.h"

laze_status laze_shape_gather(laze_inference *inference, const laze_type *self, int64_t dim, const laze_type *index,
                              laze_type *out) {
  int axis;
  if (index->rank != self->rank)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: index %s and self %s have different ranks; give index as many dimensions as self",
                     inference->operator_name, laze_show(inference, index).text, laze_show(inference, self).text);
  LAZE_TRY(laze_infer_axis(inference, dim, self->rank, &axis));
  laze_copy_shape(index, out);
  for (int i = 0; i < self->rank; i++) {
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
