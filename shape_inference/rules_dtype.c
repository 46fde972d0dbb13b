/* Dtypes of results. Entries of the operator tables name these rules; elementwise operators, whose operands promote,
 * are in ir/elementwise.c. */
#include "shape_inference/rules_internal.h"

static laze_status check_dtype(laze_inference *inference, laze_dtype dtype, laze_dtype *out) {
  *out = dtype;
  if (laze_dtype_is_valid(dtype)) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: %d is no dtype; use one of %s",
                   inference->operator_name, (int)dtype, laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_SHORT, ", ").text);
}

laze_dtype laze_dtype_convertible(laze_dtype a, laze_dtype b) {
  const laze_dtype both = laze_dtype_join(a, b);
  return both == LAZE_DTYPE_NONE ? LAZE_I64 : both;
}

laze_status laze_dtype_same(laze_inference *inference, const laze_type *self, laze_dtype *out) {
  (void)inference; /* every rule has it */
  *out = self->dtype;
  return LAZE_OK;
}

laze_status laze_dtype_given(laze_inference *inference, laze_dtype dtype, laze_dtype *out) {
  return check_dtype(inference, dtype == LAZE_DTYPE_NONE ? LAZE_F32 : dtype, out);
}

laze_status laze_dtype_given_or_index(laze_inference *inference, laze_dtype dtype, laze_dtype *out) {
  return check_dtype(inference, dtype == LAZE_DTYPE_NONE ? LAZE_I64 : dtype, out);
}

laze_status laze_dtype_given_or_same(laze_inference *inference, laze_dtype dtype, const laze_type *self,
                                     laze_dtype *out) {
  return check_dtype(inference, dtype == LAZE_DTYPE_NONE ? self->dtype : dtype, out);
}

laze_status laze_dtype_sum(laze_inference *inference, const laze_type *self, laze_dtype dtype, laze_dtype *out) {
  if (dtype != LAZE_DTYPE_NONE) return check_dtype(inference, dtype, out);
  *out = laze_dtype_is_inexact(self->dtype) ? self->dtype : LAZE_I64;
  return LAZE_OK;
}

laze_status laze_dtype_index(laze_inference *inference, laze_dtype *out) {
  (void)inference;
  *out = LAZE_I64;
  return LAZE_OK;
}

laze_status laze_dtype_boolean(laze_inference *inference, laze_dtype *out) {
  (void)inference;
  *out = LAZE_BOOL;
  return LAZE_OK;
}

laze_status laze_dtype_promote(laze_inference *inference, const laze_type *const *tensors, int32_t tensor_count,
                               laze_dtype *out) {
  laze_promotion promotion = {0};
  for (int32_t i = 0; i < tensor_count; i++)
    if (tensors[i]) laze_promotion_add(&promotion, tensors[i], false);
  LAZE_TRY(laze_promotion_check(&promotion, inference->operator_name, out, inference->error));
  if (*out != LAZE_DTYPE_NONE) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: no tensors to take a dtype from; pass at least one",
                   inference->operator_name);
}

laze_status laze_dtype_promote_floats(laze_inference *inference, const laze_type *const *tensors, int32_t tensor_count,
                                      laze_dtype *out) {
  for (int32_t i = 0; i < tensor_count; i++)
    if (tensors[i] && !laze_dtype_is_float(tensors[i]->dtype))
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: a tensor is %s; %s was expected of each; convert it with to(f32)", inference->operator_name,
                       laze_show(inference, tensors[i]).text,
                       laze_dtype_list(laze_dtype_set(LAZE_CATEGORY_FLOAT), LAZE_NAME_SHORT, " or ").text);
  return laze_dtype_promote(inference, tensors, tensor_count, out);
}

laze_status laze_dtype_bitcast(laze_inference *inference, const laze_type *self, laze_dtype dtype, laze_dtype *out) {
  *out = dtype;
  if (laze_dtype_get(self->dtype)->bits == laze_dtype_get(dtype)->bits) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: self %s and %s differ in width; view(%s) makes several elements of one, or one of several",
                   inference->operator_name, laze_show(inference, self).text, laze_dtype_name(dtype),
                   laze_dtype_name(dtype));
}

laze_status laze_dtype_indexed(laze_inference *inference, const laze_type *self, const laze_type *index,
                               laze_dtype *out) {
  *out = self->dtype;
  if (laze_dtype_is_index(index->dtype)) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: index %s has dtype %s; %s was expected; convert it with to(i64)", inference->operator_name,
                   laze_show(inference, index).text, laze_dtype_name(index->dtype),
                   laze_dtype_list(laze_dtype_index_set(), LAZE_NAME_SHORT, " or ").text);
}

laze_status laze_dtype_updated(laze_inference *inference, const laze_type *self, const laze_type *source,
                               const laze_type *start, laze_dtype *out) {
  if (self->dtype != source->dtype)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: source %s has dtype %s, but self %s has %s; convert it with to(%s)", inference->operator_name,
                     laze_show(inference, source).text, laze_dtype_name(source->dtype), laze_show(inference, self).text,
                     laze_dtype_name(self->dtype), laze_dtype_name(self->dtype));
  return laze_dtype_indexed(inference, self, start, out);
}

laze_status laze_dtype_product(laze_inference *inference, const laze_type *self, const laze_type *mat2,
                               laze_dtype *out) {
  *out = self->dtype;
  if (self->dtype != mat2->dtype)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: self is %s and mat2 is %s; products need one dtype; convert one of them with to(%s)",
                     inference->operator_name, laze_show(inference, self).text, laze_show(inference, mat2).text,
                     laze_dtype_name(laze_dtype_convertible(self->dtype, mat2->dtype)));
  if (self->dtype != LAZE_BOOL) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: self %s and mat2 %s are bool; numbers were expected; convert them with to(i64)",
                   inference->operator_name, laze_show(inference, self).text, laze_show(inference, mat2).text);
}

laze_status laze_dtype_float_only(laze_inference *inference, const laze_type *self, laze_dtype *out) {
  *out = self->dtype;
  if (laze_dtype_is_float(self->dtype)) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: self is %s; %s was expected; convert it with to(f32) first", inference->operator_name,
                   laze_show(inference, self).text,
                   laze_dtype_list(laze_dtype_set(LAZE_CATEGORY_FLOAT), LAZE_NAME_SHORT, " or ").text);
}

laze_status laze_dtype_bits(laze_inference *inference, const laze_type *self, laze_dtype *out) {
  *out = self->dtype;
  if (!laze_dtype_is_inexact(self->dtype)) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: self is %s; an integer or bool was expected; view() gives the bits of another dtype",
                   inference->operator_name, laze_show(inference, self).text);
}

laze_status laze_dtype_float_or_complex(laze_inference *inference, const laze_type *self, laze_dtype *out) {
  *out = self->dtype;
  return laze_dtype_is_complex(*out) ? LAZE_OK : laze_dtype_float_only(inference, self, out);
}

laze_status laze_dtype_softmax(laze_inference *inference, const laze_type *self, bool half_to_float, laze_dtype *out) {
  LAZE_TRY(laze_dtype_float_only(inference, self, out));
  if (!half_to_float) return LAZE_OK;
  return laze_fail(inference->error, LAZE_UNSUPPORTED,
                   "%s: half_to_float is true for %s; convert it with to(f32) first", inference->operator_name,
                   laze_show(inference, self).text);
}
