/* Gradients of transforms between real numbers and their spectra, of whose last axis one half is stored:
 *
 *   signal [n] ── _fft_r2c ──> half [n / 2 + 1]      back: zeros for the other half, _fft_c2c backward, the real part
 *   half [n / 2 + 1] ── _fft_c2r ──> signal [n]      back: _fft_r2c, twice what stands for two of the whole spectrum
 */
#include "ir/composite/composite.h"
#include "ir/composite/support.h"
#include "ir/derivative.gen.h"
#include "ir/op.gen.h"

/* The last of the axes, of which there is one half. */
static laze_status find_axis(laze_recorder *recorder, const laze_call *call, const laze_attribute *dims, int rank,
                             int *out, laze_error *error) {
  return laze_compose_axis(recorder, call, dims->value.items[dims->count - 1], rank, out, error);
}

/* Zeros for what was not stored, up to `points`. */
static laze_status fill_half(laze_recorder *recorder, laze_value half, int axis, laze_size points, laze_value *out,
                             laze_error *error) {
  const laze_type type = laze_compose_type(recorder, half);
  laze_attribute attributes[] = {laze_attribute_integer(axis), laze_attribute_size(0), laze_attribute_size(0)};
  laze_value operands[] = {half, half};
  LAZE_TRY(laze_size_arithmetic(recorder, '-', points, type.sizes[axis], &attributes[2].value.size, error));
  LAZE_TRY(laze_record_integer(recorder, (laze_dtype)type.dtype, 0, &operands[1], error));
  return laze_record_call(recorder, LAZE_OP__PAD, operands, 2, attributes, out, error);
}

laze_status laze_gradient__fft_r2c_self(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  const laze_type self = laze_compose_type(recorder, laze_call_operand(call, 0));
  const laze_attribute *dims = &call->attributes[LAZE__FFT_R2C_DIM];
  const laze_attribute attributes[] = {*dims, call->attributes[LAZE__FFT_R2C_NORMALIZATION],
                                       laze_attribute_boolean(false)};
  laze_value spectrum = laze_call_operand(call, 2);
  int axis;
  LAZE_TRY(find_axis(recorder, call, dims, self.rank, &axis, error));
  if (call->attributes[LAZE__FFT_R2C_ONESIDED].value.integer)
    LAZE_TRY(fill_half(recorder, spectrum, axis, self.sizes[axis], &spectrum, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__FFT_C2C, &spectrum, 1, attributes, &spectrum, error));
  return laze_compose_unary(recorder, LAZE_OP_REAL, spectrum, results, error);
}

/* Twice the values of [1, end) along an axis: those of which the whole spectrum has the conjugate, too. */
static laze_status double_inner(laze_recorder *recorder, laze_value half, int axis, laze_size end, laze_value *out,
                                laze_error *error) {
  const laze_size length = laze_compose_type(recorder, half).sizes[axis];
  const laze_attribute along = laze_attribute_integer(axis);
  laze_value parts[3];
  LAZE_TRY(laze_compose_slice(recorder, half, axis, 0, 1, &parts[0], error));
  LAZE_TRY(laze_compose_slice(recorder, half, axis, 1, end, &parts[1], error));
  LAZE_TRY(laze_compose_slice(recorder, half, axis, end, length, &parts[2], error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, parts[1], parts[1], &parts[1], error));
  return laze_record_call(recorder, LAZE_OP_CAT, parts, 3, &along, out, error);
}

laze_status laze_gradient__fft_c2r_self(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  const laze_attribute *dims = &call->attributes[LAZE__FFT_C2R_DIM];
  const laze_attribute attributes[] = {*dims, call->attributes[LAZE__FFT_C2R_NORMALIZATION],
                                       laze_attribute_boolean(true)};
  laze_value half = laze_call_operand(call, 2);
  laze_size end;
  int axis;
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__FFT_R2C, &half, 1, attributes, &half, error));
  const laze_type type = laze_compose_type(recorder, half);
  LAZE_TRY(find_axis(recorder, call, dims, type.rank, &axis, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', call->attributes[LAZE__FFT_C2R_LAST_DIM_SIZE].value.size,
                                type.sizes[axis], &end, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '+', end, 1, &end, error));
  return double_inner(recorder, half, axis, end, results, error);
}
