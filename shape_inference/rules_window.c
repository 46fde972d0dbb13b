/* Shapes of windows and padding.
 *
 *   f32[n, 7], dim=1, size=3, stride=2   ──>   f32[n, 3, 3]     places in a window, and windows
 *   f32[n, 7], dim=1, low=1, high=2      ──>   f32[n, 10]
 */
#include "shape_inference/rules_internal.h"

/* The elements that a window of `size` places covers; -1 beyond what a tensor can have. */
static int64_t window_span(int64_t size, int64_t dilation) {
  if (size > LAZE_MAX_ELEMENTS || dilation > LAZE_MAX_ELEMENTS / size) return -1;
  return (size - 1) * dilation + 1;
}

laze_status laze_shape_window(laze_inference *inference, const laze_type *self, int64_t dim, int64_t size,
                              int64_t stride, int64_t dilation, laze_type *out) {
  int axis;
  laze_size rest;
  LAZE_TRY(laze_infer_axis(inference, dim, self->rank, &axis));
  LAZE_TRY(laze_infer_check_rank(inference, self->rank + 1));
  bool fits = self->rank > 0 && size >= 1 && stride >= 1 && dilation >= 1;
  int64_t span = fits ? window_span(size, dilation) : -1;
  fits = span >= 0;
  if (fits) LAZE_TRY(laze_infer_require_less_equal(inference, span, self->sizes[axis], &fits));
  if (!fits)
    return laze_fail(inference->error, LAZE_OUT_OF_RANGE,
                     "%s: no windows of %lld places, %lld apart, every %lld, in dim %lld of %s; a window must lie "
                     "within it, and all three are 1 or more",
                     inference->operator_name, (long long)size, (long long)dilation, (long long)stride, (long long)dim,
                     laze_show(inference, self).text);
  LAZE_TRY(laze_infer_subtract(inference, self->sizes[axis], span, &rest));
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_FLOOR_DIV, rest, laze_size_saturate(stride), &rest));
  out->rank = (uint8_t)(self->rank + 1);
  for (int i = 0; i < self->rank; i++) out->sizes[i + (i > axis)] = self->sizes[i];
  out->sizes[axis] = size;
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_ADD, rest, 1, &out->sizes[axis + 1]));
  return laze_infer_check_elements(inference, out);
}

laze_status laze_shape_pad(laze_inference *inference, const laze_type *self, const laze_type *value, int64_t dim,
                           laze_size low, laze_size high, laze_type *out) {
  int axis;
  LAZE_TRY(laze_infer_axis(inference, dim, self->rank, &axis));
  LAZE_TRY(laze_infer_check_size(inference, low, axis));
  LAZE_TRY(laze_infer_check_size(inference, high, axis));
  if (self->rank == 0 || value->rank > 0)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: %s padded with %s; a tensor with dims and one without were expected",
                     inference->operator_name, laze_show(inference, self).text, laze_show(inference, value).text);
  laze_copy_shape(self, out);
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_ADD, low, high, &high));
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_ADD, self->sizes[axis], high, &out->sizes[axis]));
  return laze_infer_check_elements(inference, out);
}
