/* Shapes of reductions: the axes of `dim`, all where it is absent or empty, go, or stay with one element.
 *
 *   f32[a, b, c], dim=[1]   ──>   f32[a, c], or f32[a, 1, c] with keepdim
 */
#include "shape_inference/rules_internal.h"

/* The axes of `dim` as a bit set. Absent or empty means all. */
static laze_status reduced_axes(laze_inference *inference, const laze_type *self, laze_size_list dim, uint32_t *out) {
  *out = 0;
  if (!dim.present || dim.count == 0) {
    *out = (1u << self->rank) - 1;
    return LAZE_OK;
  }
  for (int i = 0; i < dim.count; i++) {
    int axis;
    LAZE_TRY(laze_infer_axis(inference, dim.items[i], self->rank, &axis));
    if (*out >> axis & 1)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: axis %d of %s is listed twice in dim; list each axis once", inference->operator_name, axis,
                       laze_show(inference, self).text);
    *out |= 1u << axis;
  }
  return LAZE_OK;
}

laze_status laze_shape_reduce(laze_inference *inference, const laze_type *self, laze_size_list dim, bool keepdim,
                              laze_type *out) {
  uint32_t axes;
  LAZE_TRY(reduced_axes(inference, self, dim, &axes));
  out->rank = 0;
  for (int i = 0; i < self->rank; i++) {
    bool reduced = axes >> i & 1;
    if (!reduced || keepdim) out->sizes[out->rank++] = reduced ? 1 : self->sizes[i];
  }
  return laze_infer_check_elements(inference, out); /* without an axis of size 0 there may be more */
}

laze_status laze_shape_reduce_some(laze_inference *inference, const laze_type *self, laze_size_list dim, bool keepdim,
                                   laze_type *out) {
  uint32_t axes;
  LAZE_TRY(reduced_axes(inference, self, dim, &axes));
  for (int i = 0; i < self->rank; i++) {
    bool empty = false;
    if (axes >> i & 1) LAZE_TRY(laze_infer_equal(inference, self->sizes[i], 0, &empty));
    if (empty)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: axis %d of %s has no element to choose; reduce axes that have some",
                       inference->operator_name, i, laze_show(inference, self).text);
  }
  return laze_shape_reduce(inference, self, dim, keepdim, out);
}
