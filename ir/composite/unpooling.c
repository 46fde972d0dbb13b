/* Elements taken out of pools again: each at the place that it had, and 0 elsewhere.
 *
 *   self [n, c, h, w], indices alike     zeros [n, c, h' * w'], at indices self, as [n, c, h', w']
 */
#include "ir/composite/window.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

static laze_status check(laze_recorder *recorder, const laze_call *call, const laze_type *self, int dims,
                         laze_error *error) {
  const laze_type indices = laze_compose_type(recorder, call->operands[1]);
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_attribute *size = &call->attributes[0];
  bool fits = (self->rank == dims + 1 || self->rank == dims + 2) && indices.rank == self->rank &&
              indices.dtype == LAZE_I64 && size->count == dims;
  for (int i = 0; i < self->rank && fits; i++)
    LAZE_TRY(laze_size_must_equal(recorder, self->sizes[i], indices.sizes[i], &fits, error));
  for (int i = 1; i < dims + 1 && fits; i++)
    LAZE_TRY(laze_size_must_be_at_most(recorder, 1, self->sizes[self->rank - i], &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(
      error, LAZE_INVALID_ARGUMENT,
      "%s: self is %s, indices %s, for %d sizes; expected i64 of the same sizes, %d sizes, and those or one "
      "or two more dims",
      inference.operator_name, laze_show(&inference, self).text, laze_show(&inference, &indices).text, size->count,
      dims);
}

laze_status laze_compose_flat_places(laze_recorder *recorder, laze_value value, int dims, laze_value *out,
                                     laze_error *error) {
  laze_type type = laze_compose_type(recorder, value);
  const int first = type.rank - dims;
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes + first, dims, &type.sizes[first], error));
  return laze_compose_reshape(recorder, value, type.sizes, first + 1, out, error);
}

static laze_status unpool(laze_recorder *recorder, const laze_call *call, int dims, laze_value *results,
                          laze_error *error) {
  const laze_attribute *size = &call->attributes[0];
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_attribute dim = laze_attribute_integer(-1);
  laze_value operands[3];
  const int first = type.rank - dims;
  LAZE_TRY(check(recorder, call, &type, dims, error));
  for (int i = 0; i < 2; i++)
    LAZE_TRY(laze_compose_flat_places(recorder, call->operands[i], dims, &operands[2 - i], error));
  for (int i = 0; i < dims; i++) type.sizes[first + i] = size->value.items[i];
  LAZE_TRY(laze_compose_full(recorder, (laze_dtype)type.dtype, laze_scalar_integer(0), type.sizes, type.rank,
                             &operands[0], error));
  LAZE_TRY(laze_compose_flat_places(recorder, operands[0], dims, &operands[0], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SCATTER_SRC, operands, 3, &dim, results, error));
  return laze_compose_reshape(recorder, *results, type.sizes, type.rank, results, error);
}

laze_status laze_composite_max_unpool2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return unpool(recorder, call, 2, results, error);
}

/* Stride and padding are those of the pooling, and change nothing. */
laze_status laze_composite_max_unpool3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  const laze_attribute *stride = &call->attributes[LAZE_MAX_UNPOOL3D_STRIDE];
  for (int i = 0; i < stride->count; i++)
    if (stride->value.items[i] < 1)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: stride holds %lld, expected 1 or more",
                       laze_compose_name(call), (long long)stride->value.items[i]);
  return unpool(recorder, call, 3, results, error);
}
