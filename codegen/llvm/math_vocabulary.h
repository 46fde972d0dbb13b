/* The vocabulary in which math_*.c is written: one short word per instruction, for scalars and lanes alike.
 *
 * A number given as a C constant takes its type from the value beside it. `choose` never sees poison: no function here
 * converts a float to an integer; integers come from the bits of a float instead.
 */
#ifndef LAZE_CODEGEN_LLVM_MATH_VOCABULARY_H
#define LAZE_CODEGEN_LLVM_MATH_VOCABULARY_H

#include "codegen/llvm/lowerings.h"

#include <math.h>
#include <stddef.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))
#define POLYNOMIAL(e, x, table) laze_math_polynomial(e, x, table, COUNT(table))

/* An unevaluated sum: |lo| is at most about half a unit in the last place of hi. */
typedef struct laze_pair {
  LLVMValueRef hi, lo;
} laze_pair;

/* f64 polynomials come in two grades: for f64 results, and shorter ones for f32 results computed in f64. */
typedef enum { LAZE_GRADE_FULL, LAZE_GRADE_F32 } laze_grade;

static inline LLVMValueRef plus(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(e->builder, a, b, "");
}
static inline LLVMValueRef minus(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFSub(e->builder, a, b, "");
}
static inline LLVMValueRef times(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(e->builder, a, b, "");
}
static inline LLVMValueRef over(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFDiv(e->builder, a, b, "");
}
static inline LLVMValueRef negate(const laze_llvm_emitter *e, LLVMValueRef a) {
  return LLVMBuildFNeg(e->builder, a, "");
}
/* a * b + c, rounded once. */
static inline LLVMValueRef fused(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  return laze_llvm_fma(e, a, b, c);
}
static inline LLVMValueRef real(LLVMValueRef like, double value) {
  return laze_llvm_real(LLVMTypeOf(like), value);
}
static inline LLVMValueRef integer(LLVMValueRef like, int64_t value) {
  return laze_llvm_integer(LLVMTypeOf(like), value);
}
static inline LLVMValueRef plus_real(const laze_llvm_emitter *e, LLVMValueRef a, double b) {
  return plus(e, a, real(a, b));
}
static inline LLVMValueRef times_real(const laze_llvm_emitter *e, LLVMValueRef a, double b) {
  return times(e, a, real(a, b));
}

/* Ordered comparisons with a constant: false for NaN. */
static inline LLVMValueRef below(const laze_llvm_emitter *e, LLVMValueRef x, double limit) {
  return LLVMBuildFCmp(e->builder, LLVMRealOLT, x, real(x, limit), "");
}
static inline LLVMValueRef above(const laze_llvm_emitter *e, LLVMValueRef x, double limit) {
  return LLVMBuildFCmp(e->builder, LLVMRealOGT, x, real(x, limit), "");
}
static inline LLVMValueRef equals(const laze_llvm_emitter *e, LLVMValueRef x, double value) {
  return LLVMBuildFCmp(e->builder, LLVMRealOEQ, x, real(x, value), "");
}
static inline LLVMValueRef same(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFCmp(e->builder, LLVMRealOEQ, a, b, "");
}
static inline LLVMValueRef choose(const laze_llvm_emitter *e, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(e->builder, condition, a, b, "");
}
static inline LLVMValueRef both(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAnd(e->builder, a, b, "");
}
static inline LLVMValueRef magnitude(const laze_llvm_emitter *e, LLVMValueRef x) {
  return laze_llvm_intrinsic(e, "llvm.fabs", &x, 1);
}
static inline LLVMValueRef square_root(const laze_llvm_emitter *e, LLVMValueRef x) {
  return laze_llvm_intrinsic(e, "llvm.sqrt", &x, 1);
}
static inline LLVMValueRef truncated(const laze_llvm_emitter *e, LLVMValueRef x) {
  return laze_llvm_intrinsic(e, "llvm.trunc", &x, 1);
}
static inline LLVMValueRef with_sign_of(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef sign) {
  LLVMValueRef operands[2] = {x, sign};
  return laze_llvm_intrinsic(e, "llvm.copysign", operands, 2);
}
/* min(x, limit) and max(x, limit) that keep NaN. */
static inline LLVMValueRef at_most(const laze_llvm_emitter *e, LLVMValueRef x, double limit) {
  return choose(e, above(e, x, limit), real(x, limit), x);
}
static inline LLVMValueRef at_least(const laze_llvm_emitter *e, LLVMValueRef x, double limit) {
  return choose(e, below(e, x, limit), real(x, limit), x);
}

/* Integers of the width of the floats beside them. */
static inline LLVMValueRef integer_plus(const laze_llvm_emitter *e, LLVMValueRef a, int64_t b) {
  return LLVMBuildAdd(e->builder, a, integer(a, b), "");
}
static inline LLVMValueRef integer_minus(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSub(e->builder, a, b, "");
}
static inline LLVMValueRef integer_and(const laze_llvm_emitter *e, LLVMValueRef a, int64_t b) {
  return LLVMBuildAnd(e->builder, a, integer(a, b), "");
}
static inline LLVMValueRef shift_left(const laze_llvm_emitter *e, LLVMValueRef a, int by) {
  return LLVMBuildShl(e->builder, a, integer(a, by), "");
}
static inline LLVMValueRef integer_equals(const laze_llvm_emitter *e, LLVMValueRef a, int64_t b) {
  return LLVMBuildICmp(e->builder, LLVMIntEQ, a, integer(a, b), "");
}
static inline LLVMValueRef zero_like(LLVMValueRef a) {
  return LLVMConstNull(LLVMTypeOf(a));
}
/* Keeps the sign. */
static inline LLVMValueRef shift_right(const laze_llvm_emitter *e, LLVMValueRef a, int by) {
  return LLVMBuildAShr(e->builder, a, integer(a, by), "");
}

bool laze_math_is_f32(LLVMValueRef x);
/* The bits of a float as an integer of its width, and back. */
LLVMValueRef laze_math_bits(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_from_bits(const laze_llvm_emitter *e, LLVMValueRef bits);
/* Whether a condition holds, for lanes in any of them. */
LLVMValueRef laze_math_any(const laze_llvm_emitter *e, LLVMValueRef condition);
/* f32 to f64 (exact) and back (rounds once). */
LLVMValueRef laze_math_widen(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_narrow(const laze_llvm_emitter *e, LLVMValueRef x);
/* A lowering of `count` (1 or 2) f32 operands, computed in f64. */
LLVMValueRef laze_math_in_f64(const laze_llvm_emitter *e, laze_lowering lowering, const LLVMValueRef *operands,
                              int count);
/* coefficients[0] + coefficients[1] x + ... by Horner's rule. */
LLVMValueRef laze_math_polynomial(const laze_llvm_emitter *e, LLVMValueRef x, const double *coefficients, int count);
/* The integer nearest x * factor, as a float in *rounded and as the integer returned (any bits for NaN). |x * factor|
 * must stay below 2^22 (f32) or 2^51 (f64). */
LLVMValueRef laze_math_nearest(const laze_llvm_emitter *e, LLVMValueRef x, double factor, LLVMValueRef *rounded);
/* 2^n of the float type whose width n has; n must be a normal exponent (any bits otherwise). */
LLVMValueRef laze_math_power_of_two(const laze_llvm_emitter *e, LLVMValueRef n);
/* x * 2^n for n in twice the range of exponents: rounds once, into subnormals and infinity. */
LLVMValueRef laze_math_scale(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef n);

/* a + b where |a| >= |b| or a == 0; a * b; both exact. */
laze_pair laze_math_sum(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b);
laze_pair laze_math_product(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b);
/* Products of pairs, to about twice the precision. */
laze_pair laze_math_pair_times(const laze_llvm_emitter *e, laze_pair a, laze_pair b);
/* numerator / divisor with one step of refinement: the error is little more than the last rounding. */
LLVMValueRef laze_math_quotient(const laze_llvm_emitter *e, LLVMValueRef numerator, laze_pair divisor);

/* exp(x) for arguments whose result is a normal number. */
LLVMValueRef laze_math_exp_normal(const laze_llvm_emitter *e, LLVMValueRef x, laze_grade grade);
/* exp(x) - 1 for -40 <= x <= 40 (and NaN), to about one unit in the last place; loses the sign of zero. */
LLVMValueRef laze_math_expm1_normal(const laze_llvm_emitter *e, LLVMValueRef x);
/* m and *n with exp(x.hi + x.lo) = (1 + m) 2^n and |m| <= 0.42: f64, n in the range of laze_math_scale. */
LLVMValueRef laze_math_exp_split(const laze_llvm_emitter *e, laze_pair x, LLVMValueRef *n);
/* exp(x.hi + x.lo), f64, any range. */
LLVMValueRef laze_math_exp_pair(const laze_llvm_emitter *e, laze_pair x);

/* x = (1 + f) * 2^exponent with 1 + f in [sqrt(1/2), sqrt(2)); f is exact. Positive finite x. */
typedef struct laze_mantissa {
  LLVMValueRef f, exponent;
} laze_mantissa;
laze_mantissa laze_math_split(const laze_llvm_emitter *e, LLVMValueRef x, bool may_be_subnormal);
/* log(1 + f) of a split f64, to about 2^-36 (f32 grade) and to about 2^-64 (pair). */
LLVMValueRef laze_math_log_short(const laze_llvm_emitter *e, LLVMValueRef f);
laze_pair laze_math_log_pair(const laze_llvm_emitter *e, LLVMValueRef f);

/* x = quadrant * pi/2 + r.hi + r.lo with |r| <= pi/4, modulo full turns; r.lo is NULL for f32. `quadrant` is an integer
 * of x's width of which only the low two bits mean anything. Ends the builder's block. */
typedef struct laze_angle {
  laze_pair r;
  LLVMValueRef quadrant;
} laze_angle;
laze_angle laze_math_reduce_angle(const laze_llvm_emitter *e, LLVMValueRef x);

#endif
