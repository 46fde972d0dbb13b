/* The right values of functions of floats, from the C library, and how near results must be, from the operators'
 * entries. */
#include "tests/support/references.h"

#include "ir/op.gen.h"
#include "tests/support/cases.h"
#include "tests/support/values.h"

#include <math.h>

static double sigmoid(double x) {
  return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}
static long double sigmoidl(long double x) {
  return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

static double logaddexp(double x, double y) {
  return isnan(x) || isnan(y) ? NAN : fmax(x, y) + log1p(exp(x == y ? 0 : -fabs(x - y)));
}
static long double logaddexpl(long double x, long double y) {
  return isnan(x) || isnan(y) ? NAN : fmaxl(x, y) + log1pl(expl(x == y ? 0 : -fabsl(x - y)));
}

/* glibc's powl takes the infinities wrongly (2.36); pow does not. */
static long double pow_long(long double x, long double y) {
  return isinf(x) || isinf(y) ? (long double)pow((double)x, (double)y) : powl(x, y);
}

/* Of at least 20 terms, and as many as there are below 20; of magnitudes too, for nearly all may cancel. The base is
 * rounded at each step, as the operator's is: what that is called with stands between these steps alone. */
static long double sum_powers(double base, long double exponent, bool magnitudes) {
  double count = fmax(20, ceil(20 - base));
  long double sum = 0;
  if (isnan(base) || count > 65536) return NAN;
  for (; count > 0; count--, base++) {
    long double term = pow_long(base, exponent);
    sum += magnitudes ? fabsl(term) : term;
  }
  return sum;
}
static long double power_suml(long double base, long double exponent) {
  return sum_powers((double)base, exponent, false);
}
/* What n terms one after the other are off by is at most n - 1 units of the sum of their magnitudes (N. Higham,
 * Accuracy and Stability of Numerical Algorithms, 4.2); an entry's bound is for 20 of them. */
static long double power_scale(double base, double exponent) {
  return sum_powers(base, exponent, true) * (long double)fmax(20, ceil(20 - base)) / 20;
}
static double power_sum(double base, double exponent) {
  return (double)power_suml(base, exponent);
}

/* As the operators, NaN but for those orders and arguments. */
static long double gamma_seriesl(long double a, long double x) {
  long double term = 1, sum = 1;
  if (!(a >= 0 && x >= 0 && x <= fmaxl(a, 1)) || (a >= 64 && x * 1.5L > a)) return NAN;
  for (int k = 1; k <= 256; k++) sum += term = term * x / (a + k);
  return sum;
}
static double gamma_series(double a, double x) {
  return (double)gamma_seriesl(a, x);
}
/* From the last step on. */
static long double gamma_fractionl(long double a, long double x) {
  long double rest = 0;
  if (!(a >= 0 && x >= fmaxl(a, 1)) || (a >= 64 && a * 1.5L > x)) return NAN;
  for (int k = 512; k > 0; k--) rest = k * (a - k) / (x + 1 - a + 2 * k + rest);
  return 1 / (x + 1 - a + rest);
}
static double gamma_fraction(double a, double x) {
  return (double)gamma_fractionl(a, x);
}

#define UNARY(op_name, function)                                                                                       \
  { .op = LAZE_OP_##op_name, .unary = function, .unary_long = function##l }
const test_reference test_references[] = {
    UNARY(ABS, fabs),
    {.op = LAZE_OP_SQRT, .unary = sqrt, .unary_long = sqrtl, .rounds = true},
    UNARY(FLOOR, floor),
    UNARY(CEIL, ceil),
    UNARY(TRUNC, trunc),
    UNARY(ROUND, rint),
    UNARY(EXP, exp),
    UNARY(EXP2, exp2),
    UNARY(EXPM1, expm1),
    UNARY(LOG, log),
    UNARY(LOG2, log2),
    UNARY(LOG10, log10),
    UNARY(LOG1P, log1p),
    UNARY(SIN, sin),
    UNARY(COS, cos),
    UNARY(TAN, tan),
    UNARY(SINH, sinh),
    UNARY(COSH, cosh),
    UNARY(TANH, tanh),
    UNARY(ASINH, asinh),
    UNARY(ACOSH, acosh),
    UNARY(ATANH, atanh),
    UNARY(ASIN, asin),
    UNARY(ACOS, acos),
    UNARY(ATAN, atan),
    UNARY(ERF, erf),
    UNARY(ERFC, erfc),
    UNARY(SIGMOID, sigmoid),
    {.op = LAZE_OP_POW_TENSOR_TENSOR, .binary = pow, .binary_long = pow_long},
    {.op = LAZE_OP_LOGADDEXP, .binary = logaddexp, .binary_long = logaddexpl, .cancels = true},
    {.op = LAZE_OP_ATAN2, .binary = atan2, .binary_long = atan2l},
    {.op = LAZE_OP_HYPOT, .binary = hypot, .binary_long = hypotl},
    {.op = LAZE_OP__POWER_SUM, .binary = power_sum, .binary_long = power_suml, .scale = power_scale},
    {.op = LAZE_OP__GAMMA_SERIES, .binary = gamma_series, .binary_long = gamma_seriesl},
    {.op = LAZE_OP__GAMMA_FRACTION, .binary = gamma_fraction, .binary_long = gamma_fractionl},
    {.op = LAZE_OP_FMOD, .binary = fmod, .binary_long = fmodl},
};
const int32_t test_reference_count = sizeof test_references / sizeof *test_references;

const test_reference *test_reference_find(laze_op op) {
  for (int32_t i = 0; i < test_reference_count; i++)
    if (test_references[i].op == op) return &test_references[i];
  return NULL;
}

long double test_reference_value(const test_reference *reference, double x, double y) {
  return reference->unary_long ? reference->unary_long(x) : reference->binary_long(x, y);
}

double test_reference_value_for_f32(const test_reference *reference, double x, double y) {
  return reference->unary ? reference->unary(x) : reference->binary(x, y);
}

double test_reference_distance(const test_reference *reference, laze_dtype dtype, long double got, long double exact) {
  if (!reference->cancels || !(fabsl(exact) < 1 && fabsl(got) < 2)) return test_ulp_distance(dtype, got, exact);
  return (double)(fabsl(got - exact) * ldexpl(1, laze_dtype_get(dtype)->digits - 1));
}

double test_reference_distance_at(const test_reference *reference, laze_dtype dtype, long double got, long double exact,
                                  double x, double y) {
  double distance = test_reference_distance(reference, dtype, got, exact);
  if (!reference->scale || distance <= 1) return distance;
  long double scale = reference->scale(x, y);
  if (!(scale > 0)) return distance;
  /* Terms of opposite signs that are infinite: their sum may be anything. */
  if (scale >= ldexpl(1, laze_dtype_exponent_bias(dtype))) return isfinite(got) ? distance : 0;
  if (!isfinite(got) || !isfinite(exact)) return distance;
  return fmin(distance, (double)ldexpl(fabsl(got - exact) / scale, laze_dtype_get(dtype)->digits));
}

double test_reference_bound(const test_reference *reference) {
  for (int32_t i = 0; i < laze_differential_case_count; i++) {
    const laze_differential_case *item = &laze_differential_cases[i];
    if (item->op == reference->op && !item->exact) return item->ulp;
  }
  return reference->rounds ? 0.5 : 0;
}
