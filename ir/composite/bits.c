/* The bytes of a tensor as elements of another dtype, lowest byte first:
 *
 *   f64[2,3] as i64   _bitcast                                      i64[2,3]
 *   f64[2,3] as f32   _bitcast, the halves side by side, _bitcast   f32[2,6]
 *   i32[2,4] as i64   the halves joined                             i64[2,2]
 *   f32[2,4] as c64   pairs of what f32 is as f32                   c64[2,2]
 *
 * Only elements of one width change their dtype without a change of bits; what is split or joined is an integer. A bool
 * is a byte, of which every value but 0 is true.
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

/* The dtype in which bits are moved. */
static laze_dtype integer_of(laze_dtype dtype) {
  return laze_dtype_of_width(LAZE_KIND_SIGNED, 8 * (int32_t)laze_dtype_size(dtype));
}

static laze_status bitcast(laze_recorder *recorder, laze_value value, laze_dtype dtype, laze_value *out,
                           laze_error *error) {
  laze_attribute attribute = laze_attribute_dtype(dtype);
  *out = value;
  laze_dtype from = (laze_dtype)laze_recorder_type(recorder, value)->dtype;
  if (from == dtype) return LAZE_OK;
  if (from == LAZE_BOOL || dtype == LAZE_BOOL) return laze_compose_to(recorder, value, dtype, out, error);
  return laze_record_call(recorder, LAZE_OP__BITCAST, &value, 1, &attribute, out, error);
}

static laze_status with_number(laze_recorder *recorder, laze_op op, laze_value *value, int64_t number,
                               laze_error *error) {
  return laze_compose_with_number(recorder, op, *value, laze_scalar_integer(number), value, error);
}

/* The bits of a wide integer from bit `shift` on, as a narrow one. */
static laze_status take_part(laze_recorder *recorder, laze_value wide, int64_t shift, laze_dtype narrow,
                             laze_value *out, laze_error *error) {
  *out = wide;
  if (shift > 0) LAZE_TRY(with_number(recorder, LAZE_OP_BITWISE_RIGHT_SHIFT, out, shift, error));
  return laze_compose_to(recorder, *out, narrow, out, error);
}

static laze_status split(laze_recorder *recorder, laze_value wide, laze_dtype narrow, laze_value *out,
                         laze_error *error) {
  laze_value parts[8]; /* bytes in the widest dtype */
  laze_type type = laze_compose_type(recorder, wide);
  const int64_t size = laze_dtype_size(narrow), count = laze_dtype_size((laze_dtype)type.dtype) / size;
  laze_attribute last = laze_attribute_integer(type.rank);
  for (int64_t i = 0; i < count; i++) {
    LAZE_TRY(take_part(recorder, wide, 8 * size * i, narrow, &parts[i], error));
    LAZE_TRY(laze_compose_insert_axis(recorder, parts[i], type.rank, &parts[i], error));
  }
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, parts, (int32_t)count, &last, out, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', type.sizes[type.rank - 1], count, &type.sizes[type.rank - 1], error));
  return laze_compose_reshape(recorder, *out, type.sizes, type.rank, out, error);
}

/* Element i of `count` in each wide one, moved to its bits there. */
static laze_status place_part(laze_recorder *recorder, laze_value narrow, int64_t i, laze_dtype wide, laze_value *out,
                              laze_error *error) {
  laze_type type = laze_compose_type(recorder, narrow);
  const int64_t bits = 8 * laze_dtype_size((laze_dtype)type.dtype);
  LAZE_TRY(laze_compose_slice(recorder, narrow, type.rank - 1, i, i + 1, out, error));
  LAZE_TRY(laze_compose_drop_axis(recorder, *out, type.rank - 1, out, error));
  LAZE_TRY(laze_compose_to(recorder, *out, wide, out, error));
  LAZE_TRY(with_number(recorder, LAZE_OP_BITWISE_AND, out, ((int64_t)1 << bits) - 1, error));
  return i > 0 ? with_number(recorder, LAZE_OP_BITWISE_LEFT_SHIFT, out, bits * i, error) : LAZE_OK;
}

static laze_status join(laze_recorder *recorder, const laze_call *call, laze_value narrow, laze_dtype wide,
                        laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, narrow);
  const int64_t count = laze_dtype_size(wide) / laze_dtype_size((laze_dtype)type.dtype);
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_size last = type.sizes[type.rank - 1];
  laze_size whole, back;
  laze_value grouped, part;
  bool divides;
  LAZE_TRY(laze_size_arithmetic(recorder, '/', last, count, &whole, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', whole, count, &back, error));
  LAZE_TRY(laze_size_must_equal(recorder, back, last, &divides, error));
  if (!divides)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: the last dim of %s must be divisible by %lld, the elements of it in one of %s",
                     inference.operator_name, laze_show(&inference, &type).text, (long long)count,
                     laze_dtype_name(wide));
  type.sizes[type.rank - 1] = whole;
  type.sizes[type.rank] = count;
  LAZE_TRY(laze_compose_reshape(recorder, narrow, type.sizes, type.rank + 1, &grouped, error));
  for (int64_t i = 0; i < count; i++) {
    LAZE_TRY(place_part(recorder, grouped, i, wide, i == 0 ? out : &part, error));
    if (i > 0) LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_BITWISE_OR, *out, part, out, error));
  }
  return LAZE_OK;
}

/* A tensor as one of another dtype, which integers of both widths are there for. */
static laze_status view(laze_recorder *recorder, const laze_call *call, laze_value value, laze_dtype dtype,
                        laze_value *out, laze_error *error) {
  laze_type self = laze_compose_type(recorder, value);
  laze_dtype from = integer_of((laze_dtype)self.dtype), to = integer_of(dtype);
  if (from == to) return bitcast(recorder, value, dtype, out, error);
  LAZE_TRY(bitcast(recorder, value, from, out, error));
  if (laze_dtype_size(from) > laze_dtype_size(to))
    LAZE_TRY(split(recorder, *out, to, out, error));
  else
    LAZE_TRY(join(recorder, call, *out, to, out, error));
  return bitcast(recorder, *out, dtype, out, error);
}

/* Complex numbers as their parts, which lie side by side. */
static laze_status take_pairs(laze_recorder *recorder, laze_value value, laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, value);
  laze_size *last = &type.sizes[type.rank - 1];
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_VIEW_AS_REAL, value, out, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', *last, 2, last, error));
  return laze_compose_reshape(recorder, *out, type.sizes, type.rank, out, error);
}

static laze_status make_pairs(laze_recorder *recorder, const laze_call *call, laze_value parts, laze_value *out,
                              laze_error *error) {
  laze_type type = laze_compose_type(recorder, parts);
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_size *last = &type.sizes[type.rank - 1], count = *last, back;
  bool divides;
  LAZE_TRY(laze_size_arithmetic(recorder, '/', count, 2, last, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', *last, 2, &back, error));
  LAZE_TRY(laze_size_must_equal(recorder, back, count, &divides, error));
  *last = count;
  if (!divides)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: the last dim of %s must be even, as complex numbers have 2 parts", inference.operator_name,
                     laze_show(&inference, &type).text);
  LAZE_TRY(laze_size_arithmetic(recorder, '/', count, 2, last, error));
  type.sizes[type.rank] = 2;
  LAZE_TRY(laze_compose_reshape(recorder, parts, type.sizes, type.rank + 1, out, error));
  return laze_compose_unary(recorder, LAZE_OP_VIEW_AS_COMPLEX, *out, out, error);
}

laze_status laze_composite_view_dtype(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  laze_dtype dtype = (laze_dtype)call->attributes[LAZE_VIEW_DTYPE_DTYPE].value.integer;
  laze_type self = laze_compose_type(recorder, call->operands[0]);
  laze_dtype from = (laze_dtype)self.dtype;
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  *results = call->operands[0];
  if (from == dtype) return LAZE_OK;
  if (laze_dtype_size(from) == laze_dtype_size(dtype)) return view(recorder, call, *results, dtype, results, error);
  if (self.rank == 0 || self.rank == LAZE_MAX_RANK)
    return laze_fail(error, self.rank == 0 ? LAZE_INVALID_ARGUMENT : LAZE_UNSUPPORTED,
                     "%s: self %s has %s to be seen as %s, whose elements have another width", inference.operator_name,
                     laze_show(&inference, &self).text, self.rank == 0 ? "no dim" : "too many dims",
                     laze_dtype_name(dtype));
  if (laze_dtype_is_complex(from)) LAZE_TRY(take_pairs(recorder, *results, results, error));
  LAZE_TRY(view(recorder, call, *results, laze_dtype_part(dtype), results, error));
  return laze_dtype_is_complex(dtype) ? make_pairs(recorder, call, *results, results, error) : LAZE_OK;
}
