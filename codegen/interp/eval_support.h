/* What `eval` expressions of the operator tables may use besides C operators and <math.h>. Included by eval.gen.c
 * alone.
 *
 * Each name below picks, by the type of its first argument, the function for integers, float or double: the one
 * expression in a table serves all widths. Integers are computed as int64_t, which holds them all but those of u64.
 * Integers wrap; nothing here traps, whatever the operands.
 */
#ifndef LAZE_CODEGEN_INTERP_EVAL_SUPPORT_H
#define LAZE_CODEGEN_INTERP_EVAL_SUPPORT_H

#include "base/checked.h"

#include <complex.h>
#include <fenv.h>
#include <math.h>

static inline bool is_negative_int(int64_t a) {
  return a < 0;
}
static inline bool is_negative_u64(uint64_t a) {
  (void)a;
  return false;
}
#define is_negative(a) _Generic((a), uint64_t : is_negative_u64, default : is_negative_int)(a)

/* The low bits of a 64-bit result are those of a narrower one, so integers are computed in 64 bits and cut. */
#define WRAPPING(a, expression) ((__typeof__(a))(uint64_t)(expression))
#define wrapping_add(a, b) WRAPPING(a, (uint64_t)(a) + (uint64_t)(b))
#define wrapping_sub(a, b) WRAPPING(a, (uint64_t)(a) - (uint64_t)(b))
#define wrapping_mul(a, b) WRAPPING(a, (uint64_t)(a) * (uint64_t)(b))
#define wrapping_neg(a) WRAPPING(a, 0 - (uint64_t)(a))
#define magnitude_of(a) (is_negative(a) ? 0 - (uint64_t)(a) : (uint64_t)(a))
#define wrapping_abs(a) WRAPPING(a, magnitude_of(a))
#define integer_sign(a) ((a) == 0 ? 0 : is_negative(a) ? -1 : 1)

/* Complex numbers: their parts, and a pair of these. */
#define real_part(a) _Generic((a), float _Complex : crealf, double _Complex : creal)(a)
#define imaginary_part(a) _Generic((a), float _Complex : cimagf, double _Complex : cimag)(a)
#define paired(a, b) _Generic((a), float : paired_f32, double : paired_f64)(a, b)

static inline float _Complex paired_f32(float a, float b) {
  union {
    float parts[2];
    float _Complex pair;
  } number = {{a, b}};
  return number.pair;
}

static inline double _Complex paired_f64(double a, double b) {
  union {
    double parts[2];
    double _Complex pair;
  } number = {{a, b}};
  return number.pair;
}

/* Division and remainder. A zero divisor gives 0; the lowest integer divided by -1 stays itself. */
#define BY_TYPE(a, f32, f64, u64, integer) _Generic((a), float : f32, double : f64, uint64_t : u64, default : integer)
#define floor_quotient(a, b) BY_TYPE(a, floor_quotient_f32, floor_quotient_f64, quotient_u64, floor_quotient_int)(a, b)
#define trunc_quotient(a, b) BY_TYPE(a, trunc_quotient_f32, trunc_quotient_f64, quotient_u64, trunc_quotient_int)(a, b)
#define modulo(a, b) BY_TYPE(a, modulo_f32, modulo_f64, remainder_u64, modulo_int)(a, b)
#define trunc_remainder(a, b) BY_TYPE(a, fmodf, fmod, remainder_u64, trunc_remainder_int)(a, b)

/* 1 / sqrt(a), rounded to the type after each of the two. */
#define reciprocal_root(a) _Generic((a), float : 1 / sqrtf((float)(a)), double : 1 / sqrt(a))

/* glibc's erfc is off by more than two units in the last place in the tail, which erfcl's digits hide. What erfcl
 * raises on a unit of its own, x87, is no concern of the caller. */
static inline double accurate_erfc(double x) {
  fenv_t environment;
  feholdexcept(&environment);
  volatile double result = (double)erfcl((long double)x); /* rounded on x87, too, and before what follows */
  fesetenv(&environment);
  return result;
}

/* Three roundings of double would be two units in the last place off now and then. */
static inline double accurate_sigmoid(double x) {
  fenv_t environment;
  feholdexcept(&environment);
  volatile double result = (double)(1 / (1 + expl(-(long double)x))); /* as above */
  fesetenv(&environment);
  return result;
}

/* The larger number, and log1p of how much the smaller one adds; equal infinities have no difference. */
static inline double log_add_exp(double a, double b) {
  double difference = a == b ? 0 : a > b ? b - a : a - b;
  return (a > b ? a : b) + log1p(exp(difference));
}

#define next_after(a, b) _Generic((a), float : nextafterf, double : nextafter)(a, b)

#define integer_power(a, b) WRAPPING(a, _Generic((a), uint64_t : integer_power_u64, default : integer_power_i64)(a, b))
#define shift_left(a, b) WRAPPING(a, (uint64_t)(b) < 8 * sizeof(a) ? (uint64_t)(a) << ((uint64_t)(b)&63) : (uint64_t)0)
/* In steps: beyond the width the sign has filled every bit of a signed integer, and zeros those of an unsigned one. */
#define shift_right(a, b)                                                                                              \
  ((uint64_t)(b) < 8 * sizeof(a) ? (__typeof__(a))((a) >> (b)) : (__typeof__(a))((a) >> (8 * sizeof(a) - 1) >> 1))

static inline uint64_t quotient_u64(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : a / b;
}
static inline uint64_t remainder_u64(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : a % b;
}

static inline int64_t floor_quotient_int(int64_t a, int64_t b) {
  return b == 0 ? 0 : laze_floor_div(a, b);
}
static inline int64_t modulo_int(int64_t a, int64_t b) {
  return b == 0 ? 0 : laze_floor_mod(a, b);
}

static inline int64_t trunc_quotient_int(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static inline int64_t trunc_remainder_int(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

static inline float trunc_quotient_f32(float a, float b) {
  return truncf(a / b);
}
static inline double trunc_quotient_f64(double a, double b) {
  return trunc(a / b);
}
static inline float floor_quotient_f32(float a, float b) {
  return floorf(a / b);
}
static inline double floor_quotient_f64(double a, double b) {
  return floor(a / b);
}

static inline float modulo_f32(float a, float b) {
  float remainder = fmodf(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
static inline double modulo_f64(double a, double b) {
  double remainder = fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

/* Of magnitudes, that of the lowest integer included, by Euclid's algorithm. */
#define common_divisor(a, b) WRAPPING(a, common_divisor_u64(magnitude_of(a), magnitude_of(b)))
static inline uint64_t common_divisor_u64(uint64_t larger, uint64_t smaller) {
  while (smaller != 0) {
    uint64_t rest = larger % smaller;
    larger = smaller;
    smaller = rest;
  }
  return larger;
}

/* Of loops that go on for as long as an element says. */
#define MOST_STEPS 65536

/* Polynomials by three-term recurrences: `next` is that of degree k + 1, of p with degree k - 1 and q with degree k. */
#define CLIMB(first, next)                                                                                             \
  double p = 1, q = (first);                                                                                           \
  if (!(degree >= 1 && degree < MOST_STEPS + 1)) return degree > 1 ? (double)NAN : degree > -1;                        \
  for (double k = 1; k + 1 <= degree; k++) {                                                                           \
    double r = (next);                                                                                                 \
    p = q;                                                                                                             \
    q = r;                                                                                                             \
  }                                                                                                                    \
  return q
static inline double chebyshev_polynomial(double x, double first, double degree) {
  CLIMB(first, 2 * x * q - p);
}
static inline double hermite_polynomial(double x, double scale, double degree) {
  CLIMB(scale * x, scale * (x * q - k * p));
}
static inline double laguerre_polynomial(double x, double degree) {
  CLIMB(1 - x, ((2 * k + 1 - x) * q - k * p) / (k + 1));
}
static inline double legendre_polynomial(double x, double degree) {
  CLIMB(x, ((2 * k + 1) * x * q - k * p) / (k + 1));
}

/* Of at least 20 terms, and as many as there are below 20. */
static inline double power_sum(double base, double exponent) {
  double sum = 0, count = fmax(20, ceil(20 - base));
  if (isnan(base) || count > MOST_STEPS) return (double)NAN;
  for (; count > 0; count--, base++) sum += pow(base, exponent);
  return sum;
}

/* What incomplete gamma functions are made of. Where they are meant for, 100 terms add up to all digits, and 96 levels
 * of the fraction, from the last one on; near a large order both would need ever more. */
#define MOST_GAMMA_TERMS 100
#define GAMMA_LEVELS 96

static inline bool is_gamma_far(double a, double lower, double upper) {
  return a < 64 || lower * 1.5 <= upper;
}

static inline double gamma_series(double a, double x) {
  double term = 1, sum = 1;
  if (!(a >= 0 && x >= 0 && x <= fmax(a, 1) && is_gamma_far(a, x, a))) return (double)NAN;
  for (double k = 1; term > sum * 0x1p-53 && k <= MOST_GAMMA_TERMS; k++) {
    term = term * x / (a + k);
    sum += term;
  }
  return sum;
}

static inline double gamma_fraction(double a, double x) {
  const double start = x + 1 - a;
  double rest = 0;
  if (!(a >= 0 && x >= fmax(a, 1) && is_gamma_far(a, a, x))) return (double)NAN;
  for (double k = GAMMA_LEVELS; k > 0; k--) rest = k * ((a - k) / (start + 2 * k + rest));
  return 1 / (start + rest);
}

static inline uint64_t integer_power_u64(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (uint64_t left = exponent; left; left >>= 1, base *= base)
    if (left & 1) result *= base;
  return result;
}

/* By squaring. A negative exponent is 1 / base^n cut to an integer: 0 unless the base is 1 or -1. */
static inline uint64_t integer_power_i64(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : (uint64_t)-1;
    return 0;
  }
  return integer_power_u64((uint64_t)base, (uint64_t)exponent);
}

/* Philox 4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): counter words
 * {low, high, 0, 0}, key words {low, high}; the first two words of the result, the first one low. */
static inline int64_t philox(int64_t key, int64_t counter) {
  uint32_t x0 = (uint32_t)(uint64_t)counter, x1 = (uint32_t)((uint64_t)counter >> 32), x2 = 0, x3 = 0;
  uint32_t key0 = (uint32_t)(uint64_t)key, key1 = (uint32_t)((uint64_t)key >> 32);
  for (int round = 0; round < 10; round++, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
    uint64_t product0 = (uint64_t)0xD2511F53u * x0, product1 = (uint64_t)0xCD9E8D57u * x2;
    x0 = (uint32_t)(product1 >> 32) ^ x1 ^ key0;
    x1 = (uint32_t)product1;
    x2 = (uint32_t)(product0 >> 32) ^ x3 ^ key1;
    x3 = (uint32_t)product0;
  }
  return (int64_t)((uint64_t)x1 << 32 | x0);
}

#endif
