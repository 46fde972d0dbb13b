/* Size arithmetic that reports overflow. All return true when the result did not fit (as the builtins do). */
#ifndef LAZE_BASE_CHECKED_H
#define LAZE_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool laze_add_overflows(int64_t a, int64_t b, int64_t *out) {
  return __builtin_add_overflow(a, b, out);
}
static inline bool laze_sub_overflows(int64_t a, int64_t b, int64_t *out) {
  return __builtin_sub_overflow(a, b, out);
}
static inline bool laze_mul_overflows(int64_t a, int64_t b, int64_t *out) {
  return __builtin_mul_overflow(a, b, out);
}

/* Quotient rounded towards minus infinity and the matching remainder (sign of the divisor); b != 0. */
static inline int64_t laze_floor_div(int64_t a, int64_t b) {
  if (b == -1) return (int64_t)(0 - (uint64_t)a); /* INT64_MIN / -1 wraps instead of trapping */
  int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
static inline int64_t laze_floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

#endif
