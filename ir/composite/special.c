/* Special functions whose expansion depends on numbers that the call gives:
 *
 *   _chebyshev_sum       b = 2 t b' - b'' + c, once for each coefficient c, and no product by t with the last
 *   _gamma_alternating   s = (s + 1 / (a + k)) (-x / k), from the last k on
 *   mvlgamma             lgamma(x) + lgamma(x - 1/2) + ... + lgamma(x - (p - 1)/2) + p (p - 1)/4 log(pi)
 *   polygamma            digamma, its derivative, and (-1)^(n+1) n! zeta(n + 1, x) from the second one on
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

static laze_status scale(laze_recorder *recorder, laze_value *value, double factor, laze_error *error) {
  return laze_compose_with_number(recorder, LAZE_OP_MUL, *value, laze_scalar_real(factor), value, error);
}

static laze_status move(laze_recorder *recorder, laze_value *value, double by, laze_error *error) {
  return laze_compose_with_number(recorder, LAZE_OP_ADD, *value, laze_scalar_real(by), value, error);
}

laze_status laze_composite__chebyshev_sum(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const laze_attribute *given = &call->attributes[LAZE__CHEBYSHEV_SUM_COEFFICIENTS];
  laze_value t = call->operands[0], twice = t, sum, before, next;
  if (given->count < 4)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %lld coefficients, expected four or more",
                     laze_compose_name(call), (long long)given->count);
  const double *last = &given->value.reals[given->count - 1];
  LAZE_TRY(scale(recorder, &twice, 2, error));
  before = twice;
  LAZE_TRY(scale(recorder, &before, *last, error));
  LAZE_TRY(move(recorder, &before, last[-1], error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, twice, before, &sum, error));
  LAZE_TRY(move(recorder, &sum, last[-2] - *last, error));
  for (int64_t i = given->count - 4; i >= 0; i--) {
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, i > 0 ? twice : t, sum, &next, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, next, before, &next, error));
    LAZE_TRY(move(recorder, &next, given->value.reals[i], error));
    before = sum;
    sum = next;
  }
  *results = sum;
  return LAZE_OK;
}

laze_status laze_composite__gamma_alternating(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  enum { TERMS = 18 };
  laze_value term;
  for (int k = TERMS; k > 0; k--) {
    term = call->operands[0];
    LAZE_TRY(move(recorder, &term, k, error));
    LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_RECIPROCAL, term, &term, error));
    if (k < TERMS) LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, *results, term, &term, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, term, call->operands[1], results, error));
    LAZE_TRY(scale(recorder, results, -1.0 / k, error));
  }
  return LAZE_OK;
}

/* In f64, as the sum is. */
static laze_status begin(laze_recorder *recorder, laze_value self, laze_value *number, laze_dtype *dtype,
                         laze_error *error) {
  const laze_dtype given = (laze_dtype)laze_recorder_type(recorder, self)->dtype;
  *dtype = laze_dtype_is_float(given) ? given : LAZE_F32;
  return laze_compose_to(recorder, self, LAZE_F64, number, error);
}

laze_status laze_composite_mvlgamma(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  static const double quarter_log_pi = 0.28618247146235004;
  enum { MOST = 1024 };
  const int64_t p = call->attributes[LAZE_MVLGAMMA_P].value.integer;
  laze_value number, term;
  laze_dtype dtype;
  if (p < 1 || p > MOST)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: p is %lld, expected 1 to %d dims", laze_compose_name(call),
                     (long long)p, MOST);
  LAZE_TRY(begin(recorder, call->operands[0], &number, &dtype, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_LGAMMA, number, results, error));
  for (int64_t i = 1; i < p; i++) {
    term = number;
    LAZE_TRY(move(recorder, &term, -0.5 * (double)i, error));
    LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_LGAMMA, term, &term, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, *results, term, results, error));
  }
  LAZE_TRY(move(recorder, results, (double)(p * (p - 1)) * quarter_log_pi, error));
  return laze_compose_to(recorder, *results, dtype, results, error);
}

laze_status laze_composite_polygamma(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  const int64_t n = call->attributes[LAZE_POLYGAMMA_N].value.integer;
  laze_value number, order;
  laze_dtype dtype;
  if (n < 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: n is %lld, expected 0 or more", laze_compose_name(call),
                     (long long)n);
  if (n == 0) return laze_compose_unary(recorder, LAZE_OP_DIGAMMA, call->operands[0], results, error);
  LAZE_TRY(begin(recorder, call->operands[0], &number, &dtype, error));
  if (n == 1) {
    LAZE_TRY(laze_compose_unary(recorder, LAZE_OP__TRIGAMMA, number, results, error));
  } else {
    const double factorial = tgamma((double)n + 1);
    LAZE_TRY(laze_record_number(recorder, LAZE_F64, laze_scalar_real((double)n + 1), &order, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SPECIAL_ZETA, order, number, results, error));
    LAZE_TRY(scale(recorder, results, n % 2 == 0 ? -factorial : factorial, error));
  }
  return laze_compose_to(recorder, *results, dtype, results, error);
}
