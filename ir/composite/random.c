/* rand, randn and _random_bits: 64 random bits a counter, turned into numbers. Counters are offset, offset + 1, ... in
 * row-major order, so that an element depends on the seed and its counter alone, and not on who computes it. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/op.gen.h"

static laze_status check_state(laze_recorder *recorder, const laze_call *call, laze_error *error) {
  for (int i = 0; i < 2; i++) {
    const laze_type *type = laze_recorder_type(recorder, call->operands[i]);
    char text[160];
    if (type->dtype == LAZE_I64 && type->rank == 0) continue;
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s is %s, expected i64[]", laze_compose_name(call),
                     i == 0 ? "seed" : "offset", laze_type_format(recorder->sizes, type, text, sizeof text));
  }
  return LAZE_OK;
}

/* i64 of a size, for a seed and an offset (i64[]). */
static laze_status draw_bits(laze_recorder *recorder, const laze_value *state, const laze_attribute *size,
                             laze_value *bits, laze_error *error) {
  laze_size count;
  laze_value counter;
  LAZE_TRY(laze_size_product(recorder->sizes, size->value.items, size->count, &count, error));
  LAZE_TRY(laze_compose_iota(recorder, &count, 1, 0, LAZE_I64, &counter, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, counter, state[1], &counter, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_PHILOX, state[0], counter, bits, error));
  return laze_compose_reshape(recorder, *bits, size->value.items, size->count, bits, error);
}

/* Checks the call and gives bits (i64) in the requested shape, and the dtype of the numbers. */
static laze_status random_bits(laze_recorder *recorder, const laze_call *call, laze_value *bits, laze_dtype *dtype,
                               laze_error *error) {
  const laze_attribute *size = &call->attributes[LAZE_RAND_SIZE], *wanted = &call->attributes[LAZE_RAND_DTYPE];
  *dtype = wanted->present ? (laze_dtype)wanted->value.integer : LAZE_F32;
  if (!laze_dtype_is_float(*dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dtype is %s, expected %s", laze_compose_name(call),
                     laze_dtype_name(*dtype),
                     laze_dtype_list(laze_dtype_set(LAZE_CATEGORY_FLOAT), LAZE_NAME_SHORT, " or ").text);
  LAZE_TRY(check_state(recorder, call, error));
  return draw_bits(recorder, call->operands, size, bits, error);
}

typedef struct {
  int shift;    /* of the first bit */
  int width;    /* in bits */
  int64_t plus; /* added before scaling */
} bit_field;

/* A field of the bits, as a number of [0, 1) in steps of 2^-width. */
static laze_status fraction(laze_recorder *recorder, laze_value bits, bit_field field, laze_dtype dtype,
                            laze_value *out, laze_error *error) {
  laze_scalar shift = laze_scalar_integer(field.shift), mask = laze_scalar_integer(((int64_t)1 << field.width) - 1);
  laze_scalar scale = laze_scalar_real(1.0 / (double)((int64_t)1 << field.width));
  *out = bits;
  if (field.shift) LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_BITWISE_RIGHT_SHIFT, *out, shift, out, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_BITWISE_AND, *out, mask, out, error));
  if (field.plus)
    LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_ADD, *out, laze_scalar_integer(field.plus), out, error));
  LAZE_TRY(laze_compose_to(recorder, *out, dtype, out, error));
  return laze_compose_with_number(recorder, LAZE_OP_MUL, *out, scale, out, error);
}

/* Complex numbers: their parts are twice as many, the two of a number beside each other. */
static laze_status complex_numbers(laze_recorder *recorder, const laze_call *call, double scale, laze_value *out,
                                   laze_error *error) {
  const laze_attribute *size = &call->attributes[LAZE_RAND_SIZE];
  laze_size sizes[LAZE_MAX_RANK];
  if (size->count >= LAZE_MAX_RANK)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: complex numbers of %d dims, expected at most %d",
                     laze_compose_name(call), size->count, LAZE_MAX_RANK - 1);
  for (int32_t i = 0; i < size->count; i++) sizes[i] = size->value.items[i];
  sizes[size->count] = 2;
  const laze_dtype part = laze_dtype_part((laze_dtype)call->attributes[LAZE_RAND_DTYPE].value.integer);
  laze_attribute attributes[] = {laze_attribute_sizes(sizes, size->count + 1), laze_attribute_dtype(part)};
  LAZE_TRY(laze_record_call(recorder, call->op, call->operands, 2, attributes, out, error));
  if (scale != 1) LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MUL, *out, laze_scalar_real(scale), out, error));
  return laze_compose_unary(recorder, LAZE_OP_VIEW_AS_COMPLEX, *out, out, error);
}

static bool is_complex(const laze_call *call) {
  const laze_attribute *dtype = &call->attributes[LAZE_RAND_DTYPE];
  return dtype->present && laze_dtype_is_complex((laze_dtype)dtype->value.integer);
}

/* The top bits, as many as the significand holds: every value is exact, and 1 is never reached. */
laze_status laze_composite_rand(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  laze_dtype dtype;
  laze_value bits;
  if (is_complex(call)) return complex_numbers(recorder, call, 1, results, error);
  LAZE_TRY(random_bits(recorder, call, &bits, &dtype, error));
  int width = laze_dtype_get(dtype)->digits;
  return fraction(recorder, bits, (bit_field){64 - width, width, 0}, dtype, results, error);
}

/* Box-Muller: sqrt(-2 log u) cos(2 pi v), u in (0, 1] from the low 32 bits and v from the high ones. The parts of a
 * complex number have half the variance each. */
laze_status laze_composite_randn(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  laze_dtype dtype;
  laze_value bits, radius, angle;
  if (is_complex(call)) return complex_numbers(recorder, call, 0.7071067811865476, results, error);
  LAZE_TRY(random_bits(recorder, call, &bits, &dtype, error));
  LAZE_TRY(fraction(recorder, bits, (bit_field){0, 32, 1}, dtype, &radius, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_LOG, radius, &radius, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MUL, radius, laze_scalar_real(-2), &radius, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_SQRT, radius, &radius, error));
  LAZE_TRY(fraction(recorder, bits, (bit_field){32, 32, 0}, dtype, &angle, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MUL, angle, laze_scalar_real(6.283185307179586), &angle, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_COS, angle, &angle, error));
  return laze_compose_binary(recorder, LAZE_OP_MUL, radius, angle, results, error);
}

/* The sign is left out, so that a remainder is none of a negative number. */
laze_status laze_composite__random_bits(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  const laze_attribute *size = &call->attributes[LAZE__RANDOM_BITS_SIZE];
  laze_value state[2];
  for (int i = 0; i < 2; i++) LAZE_TRY(laze_compose_to(recorder, call->operands[i], LAZE_I64, &state[i], error));
  LAZE_TRY(draw_bits(recorder, state, size, results, error));
  return laze_compose_with_number(recorder, LAZE_OP_BITWISE_AND, *results, laze_scalar_integer(INT64_MAX), results,
                                  error);
}
