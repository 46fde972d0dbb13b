/* What stands around Fourier transforms:
 *
 *   fftfreq      0 1 2 -2 -1, over n * d        the frequencies of n points
 *   fftshift     0 1 2 -2 -1   ──>   -2 -1 0 1 2       each axis turned round by half
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

/* Each axis turned round by (size + more) / 2. */
static laze_status shift(laze_recorder *recorder, const laze_call *call, laze_size more, laze_value *results,
                         laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_size_list dim = laze_attribute_list(&call->attributes[0]);
  const int count = dim.present ? dim.count : type.rank;
  laze_size axes[LAZE_MAX_RANK], shifts[LAZE_MAX_RANK];
  if (count == 0 || count > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: %d axes of a tensor that has %d are to be turned; name one at least, each once",
                     laze_compose_name(call), count, type.rank);
  for (int i = 0; i < count; i++) {
    int axis = i;
    if (dim.present) LAZE_TRY(laze_compose_axis(recorder, call, dim.items[i], type.rank, &axis, error));
    if (type.rank == 0)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self has no axes; reshape it to [1]",
                       laze_compose_name(call));
    axes[i] = axis;
    LAZE_TRY(laze_size_arithmetic(recorder, '+', type.sizes[axis], more, &shifts[i], error));
    LAZE_TRY(laze_size_arithmetic(recorder, '/', shifts[i], 2, &shifts[i], error));
  }
  const laze_attribute attributes[] = {laze_attribute_sizes(shifts, count), laze_attribute_integers(axes, count)};
  return laze_record_call(recorder, LAZE_OP_ROLL, call->operands, 1, attributes, results, error);
}

laze_status laze_composite_fft_fftshift(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return shift(recorder, call, 0, results, error);
}

laze_status laze_composite_fft_ifftshift(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  return shift(recorder, call, 1, results, error);
}

/* `count` indices over n * d, those from `turn` on less by n. */
static laze_status divide_indices(laze_recorder *recorder, const laze_call *call, laze_size count, laze_size turn,
                                  laze_value *results, laze_error *error) {
  const int64_t n = call->attributes[0].value.integer;
  const laze_attribute *given = &call->attributes[2];
  const laze_dtype dtype = given->present ? (laze_dtype)given->value.integer : LAZE_F32;
  const laze_dtype computed = laze_dtype_computes(dtype);
  laze_value parts[3];
  if (!laze_dtype_is_float(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dtype is %s, expected a float such as f32",
                     laze_compose_name(call), laze_dtype_name(dtype));
  LAZE_TRY(laze_compose_iota(recorder, &count, 1, 0, LAZE_I64, results, error));
  if (turn < count) {
    parts[1] = *results;
    LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_GE, parts[1], laze_scalar_integer(turn), &parts[0], error));
    LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_SUB, *results, laze_scalar_integer(n), &parts[1], error));
    parts[2] = *results;
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_WHERE_SELF, parts, 3, NULL, results, error));
  }
  LAZE_TRY(laze_compose_to(recorder, *results, computed, results, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MUL, *results,
                                    laze_scalar_real(1.0 / ((double)n * call->attributes[1].value.real)), results,
                                    error));
  return laze_compose_to(recorder, *results, dtype, results, error);
}

static laze_status check_count(const laze_call *call, laze_error *error) {
  const int64_t n = call->attributes[0].value.integer;
  if (n >= 0 && n <= LAZE_MAX_ELEMENTS) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: n is %lld, expected 0 or more", laze_compose_name(call),
                   (long long)n);
}

laze_status laze_composite_fft_fftfreq(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const int64_t n = call->attributes[0].value.integer;
  LAZE_TRY(check_count(call, error));
  return divide_indices(recorder, call, n, (n + 1) / 2, results, error);
}

laze_status laze_composite_fft_rfftfreq(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  const int64_t n = call->attributes[0].value.integer;
  LAZE_TRY(check_count(call, error));
  return divide_indices(recorder, call, n / 2 + 1, n / 2 + 1, results, error);
}
