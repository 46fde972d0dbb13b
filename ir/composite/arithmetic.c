/* Arithmetic that refuses some calls, or asks what a dtype holds: a rounding mode, an approximation, digits, weights,
 * limits, replacements. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>
#include <string.h>

laze_status laze_composite_div_tensor_mode(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  const laze_attribute *mode = &call->attributes[LAZE_DIV_TENSOR_MODE_ROUNDING_MODE];
  laze_op op = LAZE_OP_DIV;
  if (mode->present && strcmp(mode->value.string, "floor") == 0) {
    op = LAZE_OP_FLOOR_DIVIDE;
  } else if (mode->present && strcmp(mode->value.string, "trunc") == 0) {
    op = LAZE_OP_TRUNC_DIVIDE;
  } else if (mode->present) {
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: rounding_mode is '%s', expected 'floor', 'trunc' or none for a true quotient",
                     laze_compose_name(call), mode->value.string);
  }
  return laze_compose_binary(recorder, op, call->operands[0], call->operands[1], results, error);
}

laze_status laze_composite_gelu(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  const char *approximate = call->attributes[LAZE_GELU_APPROXIMATE].value.string;
  const bool by_tanh = strcmp(approximate, "tanh") == 0;
  if (!by_tanh && strcmp(approximate, "none") != 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "gelu: approximate is '%s', expected 'none' or 'tanh'", approximate);
  return laze_compose_unary(recorder, by_tanh ? LAZE_OP__GELU_TANH : LAZE_OP__GELU, call->operands[0], results, error);
}

/* Scales so that the last digit that stays is that of ones. A power of ten that the dtype does not hold is infinity. */
laze_status laze_composite_round_decimals(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const int64_t decimals = call->attributes[LAZE_ROUND_DECIMALS_DECIMALS].value.integer;
  const laze_scalar power = laze_scalar_real(pow(10, fabs((double)decimals)));
  const laze_dtype dtype = laze_recorder_type(recorder, call->operands[0])->dtype;
  laze_value value = call->operands[0];
  if (decimals != 0 && !laze_dtype_is_float(dtype))
    return laze_fail(
        error, LAZE_INVALID_ARGUMENT,
        "round: self is %s, whose digits behind a point are none; convert it with to(f32) for decimals=%lld",
        laze_dtype_name(dtype), (long long)decimals);
  if (decimals == 0) return laze_compose_unary(recorder, LAZE_OP_ROUND, value, results, error);
  const laze_op to_ones = decimals > 0 ? LAZE_OP_MUL : LAZE_OP_DIV, back = decimals > 0 ? LAZE_OP_DIV : LAZE_OP_MUL;
  LAZE_TRY(laze_compose_with_number(recorder, to_ones, value, power, &value, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_ROUND, value, &value, error));
  return laze_compose_with_number(recorder, back, value, power, results, error);
}

/* A fraction would be cut where integers are added, and true is a weight of bools alone. */
laze_status laze_composite__weighted(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  const laze_dtype dtype = (laze_dtype)call->attributes[LAZE__WEIGHTED_DTYPE].value.integer;
  const laze_dtype number = laze_recorder_type(recorder, call->operands[1])->dtype;
  laze_value alpha;
  const char *name = laze_op_get(recorder->origin)->base;
  if (laze_dtype_is_inexact(number) && laze_dtype_category(number) > laze_dtype_category(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: alpha is a %s number, but the result is %s: pass %s, or convert an operand", name,
                     laze_dtype_is_complex(number) ? "complex" : "real", laze_dtype_name(dtype),
                     laze_dtype_is_float(dtype) ? "a real one" : "an integer");
  if (number == LAZE_BOOL && dtype != LAZE_BOOL)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: alpha is a bool, but the result is %s: pass a number", name,
                     laze_dtype_name(dtype));
  LAZE_TRY(laze_compose_to(recorder, call->operands[1], dtype, &alpha, error));
  LAZE_TRY(laze_compose_to(recorder, call->operands[0], dtype, results, error));
  return laze_compose_binary(recorder, LAZE_OP_MUL, *results, alpha, results, error);
}

/* A limit in the dtype to which it promotes with the tensor: as a plain number where it is a Scalar. */
static laze_status convert_limit(laze_recorder *recorder, laze_value self, bool is_number, laze_value *limit,
                                 laze_error *error) {
  if (!is_number) return LAZE_OK;
  const laze_promoted_operand operands[] = {{.value = self}, {.value = *limit, .is_number = true}};
  laze_dtype dtype;
  LAZE_TRY(laze_promote_operands(recorder, operands, 2, &dtype, error));
  return laze_compose_to(recorder, *limit, dtype, limit, error);
}

/* The limit comes first: maximum and minimum take the second of equal operands, so that -0.0 stays beside 0.0. */
static laze_status clamp(laze_recorder *recorder, const laze_call *call, bool limits_are_numbers, laze_value *results,
                         laze_error *error) {
  static const laze_op operators[] = {LAZE_OP_MAXIMUM, LAZE_OP_MINIMUM};
  bool limited = false;
  *results = call->operands[0];
  for (int i = 0; i < 2; i++) {
    laze_value limit = laze_call_operand(call, i + 1);
    if (laze_value_is_none(limit)) continue;
    LAZE_TRY(convert_limit(recorder, call->operands[0], limits_are_numbers, &limit, error));
    LAZE_TRY(laze_compose_binary(recorder, operators[i], limit, *results, results, error));
    limited = true;
  }
  if (limited) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: neither min nor max is there: pass at least one",
                   laze_compose_name(call));
}

laze_status laze_composite_clamp(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  return clamp(recorder, call, true, results, error);
}

laze_status laze_composite_clamp_tensor(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return clamp(recorder, call, false, results, error);
}

/* (2 - 2^(1 - digits)) * 2^emax: every bit of the significand is one, and the exponent the highest of a number. */
static double largest_number(laze_dtype dtype) {
  const laze_dtype_info *info = laze_dtype_get(dtype);
  return ldexp(2 - ldexp(1, 1 - info->digits), (1 << (info->bits - info->digits - 1)) - 1);
}

/* What comes where a condition holds: the attribute, or what stands for it where it is absent. */
static laze_status replace(laze_recorder *recorder, laze_value condition, const laze_attribute *given, double otherwise,
                           laze_value *value, laze_error *error) {
  laze_value operands[] = {condition, *value, *value};
  const laze_scalar number = laze_scalar_real(given->present ? given->value.real : otherwise);
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, *value)->dtype;
  LAZE_TRY(laze_record_number(recorder, dtype, number, &operands[1], error));
  return laze_record_call(recorder, LAZE_OP_WHERE_SELF, operands, 3, NULL, value, error);
}

laze_status laze_composite_nan_to_num(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  const laze_value self = call->operands[0];
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, self)->dtype;
  laze_value condition;
  *results = self;
  if (!laze_dtype_is_float(dtype)) return LAZE_OK;
  const double largest = largest_number(dtype);
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_ISNAN, self, &condition, error));
  LAZE_TRY(replace(recorder, condition, &call->attributes[LAZE_NAN_TO_NUM_NAN], 0, results, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_EQ, self, laze_scalar_real(INFINITY), &condition, error));
  LAZE_TRY(replace(recorder, condition, &call->attributes[LAZE_NAN_TO_NUM_POSINF], largest, results, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_EQ, self, laze_scalar_real(-INFINITY), &condition, error));
  return replace(recorder, condition, &call->attributes[LAZE_NAN_TO_NUM_NEGINF], -largest, results, error);
}

/* Of a float of 16 bits, the neighbour is not that of the f32 in which others are computed. */
laze_status laze_composite_nextafter(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  const laze_promoted_operand operands[] = {{.value = call->operands[0]}, {.value = call->operands[1]}};
  laze_dtype dtype;
  LAZE_TRY(laze_promote_operands(recorder, operands, 2, &dtype, error));
  const laze_op op = laze_dtype_is_half(dtype) ? LAZE_OP__NEXTAFTER_OF_BITS : LAZE_OP__NEXTAFTER;
  return laze_compose_binary(recorder, op, call->operands[0], call->operands[1], results, error);
}
