/* Types of Fourier transforms:
 *
 *   f32[b,n]       half_spectrum, dim=[1]     ──>   c64[b,n/2+1]
 *   c64[b,n/2+1]   signal, dim=[1]            ──>   f32[b,n]          n is given: it may be even or odd
 */
#include "shape_inference/rules_internal.h"

/* Refuses what is no list of axes with elements; *last is the last axis of the list, -1 where it is empty. */
static laze_status check_axes(laze_inference *inference, const laze_type *self, laze_size_list dim, int *last) {
  uint32_t seen = 0;
  *last = -1;
  for (int32_t i = 0; i < dim.count; i++) {
    bool some;
    LAZE_TRY(laze_infer_axis(inference, dim.items[i], self->rank, last));
    if (self->rank == 0)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: dim names axis %lld of %s, which has none; reshape it to [1]", inference->operator_name,
                       (long long)dim.items[i], laze_show(inference, self).text);
    if (seen >> *last & 1)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: axis %d of %s is listed twice in dim; list each axis once", inference->operator_name, *last,
                       laze_show(inference, self).text);
    seen |= 1u << *last;
    LAZE_TRY(laze_infer_require_less_equal(inference, 1, self->sizes[*last], &some));
    if (!some)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: axis %d of %s has no elements; a transform needs 1 or more", inference->operator_name,
                       *last, laze_show(inference, self).text);
  }
  return LAZE_OK;
}

static laze_status check(laze_inference *inference, const laze_type *self, laze_size_list dim, int64_t normalization,
                         int *last) {
  if (normalization < 0 || normalization > 2)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: normalization is %lld; 0 (none), 1 (by the root of the number of points) or 2 (by that "
                     "number) was expected",
                     inference->operator_name, (long long)normalization);
  return check_axes(inference, self, dim, last);
}

/* Halves of spectra have a last axis. */
static laze_status check_some(laze_inference *inference, const laze_type *self, int last) {
  if (last >= 0) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: dim is empty; name one axis of %s at least",
                   inference->operator_name, laze_show(inference, self).text);
}

static laze_status half_of(laze_inference *inference, laze_size size, laze_size *out) {
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_FLOOR_DIV, size, 2, out));
  return laze_infer_binary(inference, LAZE_SIZE_ADD, *out, 1, out);
}

laze_status laze_shape_spectrum(laze_inference *inference, const laze_type *self, laze_size_list dim,
                                int64_t normalization, laze_type *out) {
  int last;
  LAZE_TRY(check(inference, self, dim, normalization, &last));
  laze_copy_shape(self, out);
  return LAZE_OK;
}

laze_status laze_shape_half_spectrum(laze_inference *inference, const laze_type *self, laze_size_list dim,
                                     int64_t normalization, bool onesided, laze_type *out) {
  int last;
  LAZE_TRY(check(inference, self, dim, normalization, &last));
  LAZE_TRY(check_some(inference, self, last));
  laze_copy_shape(self, out);
  if (onesided) LAZE_TRY(half_of(inference, self->sizes[last], &out->sizes[last]));
  return laze_infer_check_elements(inference, out);
}

laze_status laze_shape_signal(laze_inference *inference, const laze_type *self, laze_size_list dim,
                              int64_t normalization, laze_size last_dim_size, laze_type *out) {
  int last;
  bool some, fits;
  laze_size half;
  LAZE_TRY(check(inference, self, dim, normalization, &last));
  LAZE_TRY(check_some(inference, self, last));
  LAZE_TRY(laze_infer_require_less_equal(inference, 1, last_dim_size, &some));
  if (!some)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: last_dim_size is %s; 1 or more was expected",
                     inference->operator_name, laze_show_size(inference, last_dim_size).text);
  LAZE_TRY(half_of(inference, last_dim_size, &half));
  LAZE_TRY(laze_infer_equal(inference, self->sizes[last], half, &fits));
  if (!fits) LAZE_TRY(laze_infer_require_equal(inference, self->sizes[last], last_dim_size, &fits));
  if (!fits)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: axis %d of %s has no half of %s elements, which are %s; pass another last_dim_size, or slice "
                     "or pad the axis",
                     inference->operator_name, last, laze_show(inference, self).text,
                     laze_show_size(inference, last_dim_size).text, laze_show_size(inference, half).text);
  laze_copy_shape(self, out);
  out->sizes[last] = last_dim_size;
  return laze_infer_check_elements(inference, out);
}

laze_status laze_dtype_spectrum(laze_inference *inference, const laze_type *self, laze_dtype *out) {
  *out = self->dtype;
  if (laze_dtype_is_complex(self->dtype)) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: self is %s; complex numbers were expected; convert it with to(c64)", inference->operator_name,
                   laze_show(inference, self).text);
}

laze_status laze_dtype_spectrum_of_real(laze_inference *inference, const laze_type *self, laze_dtype *out) {
  *out = laze_dtype_paired(self->dtype);
  if (laze_dtype_is_float(self->dtype) && laze_dtype_part(*out) == self->dtype) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: self is %s; f32 or f64 was expected; %s",
                   inference->operator_name, laze_show(inference, self).text,
                   laze_dtype_is_complex(self->dtype) ? "use real(self), or _fft_c2c" : "convert it with to(f32)");
}

laze_status laze_dtype_signal(laze_inference *inference, const laze_type *self, laze_dtype *out) {
  LAZE_TRY(laze_dtype_spectrum(inference, self, out));
  *out = laze_dtype_part(*out);
  return LAZE_OK;
}
