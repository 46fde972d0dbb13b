/* Powers and roots. pow(x, y) = exp(y log|x|), with the logarithm in twice the precision, and C Annex F's cases on top;
 * of integers by squaring. */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

/* log(0) and log(infinity), which the formula for finite numbers misses. `y` is log(size) otherwise. */
static LLVMValueRef with_limits(const laze_llvm_emitter *e, LLVMValueRef size, LLVMValueRef y) {
  y = choose(e, equals(e, size, INFINITY), size, y);
  y = choose(e, equals(e, size, 0), real(size, -INFINITY), y);
  return choose(e, same(e, size, size), y, size);
}

static LLVMValueRef power_f64(const laze_llvm_emitter *e, LLVMValueRef size, LLVMValueRef y) {
  laze_mantissa m = laze_math_split(e, size, true);
  laze_pair mantissa_log = laze_math_log_pair(e, m.f);
  laze_pair log = laze_math_sum(e, times_real(e, m.exponent, 0x1.62e42fefa2000p-1), mantissa_log.hi);
  LLVMValueRef lo = fused(e, m.exponent, real(size, 0x1.9ef35793c7673p-41), plus(e, log.lo, mantissa_log.lo));
  log = laze_math_sum(e, log.hi, lo);
  log.hi = with_limits(e, size, log.hi);
  laze_pair product = laze_math_product(e, y, log.hi);
  product.lo = fused(e, y, log.lo, product.lo);
  return laze_math_exp_pair(e, product);
}

/* By way of f64 with the short polynomials: the logarithm is right to 2^-36, and 104 times that still is small. */
static LLVMValueRef power_f32(const laze_llvm_emitter *e, LLVMValueRef size, LLVMValueRef y) {
  LLVMValueRef wide = laze_math_widen(e, size);
  laze_mantissa m = laze_math_split(e, wide, false);
  LLVMValueRef log = fused(e, m.exponent, real(wide, 0x1.62e42fefa39efp-1), laze_math_log_short(e, m.f));
  LLVMValueRef product = times(e, laze_math_widen(e, y), with_limits(e, wide, log));
  product = at_least(e, at_most(e, product, 89), -105);
  return laze_math_narrow(e, laze_math_exp_normal(e, product, LAZE_GRADE_F32));
}

static LLVMValueRef float_power(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef size = magnitude(e, x);
  LLVMValueRef result = laze_math_is_f32(x) ? power_f32(e, size, y) : power_f64(e, size, y);
  /* A size of one gives one for every y but NaN (infinity times log(1) would be NaN). */
  LLVMValueRef y_is_number = same(e, y, y);
  result = choose(e, both(e, equals(e, size, 1), y_is_number), real(x, 1), result);

  LLVMValueRef is_whole = same(e, truncated(e, y), y);
  LLVMValueRef half = times_real(e, y, 0.5);
  LLVMValueRef is_odd = both(e, is_whole, LLVMBuildFCmp(e->builder, LLVMRealUNE, truncated(e, half), half, ""));
  result = choose(e, is_odd, with_sign_of(e, result, x), result);
  LLVMValueRef is_negative = both(e, below(e, x, 0), above(e, x, -INFINITY));
  LLVMValueRef has_no_power = both(e, is_negative, LLVMBuildNot(e->builder, is_whole, ""));
  result = choose(e, has_no_power, real(x, NAN), result);

  LLVMValueRef is_one = LLVMBuildOr(e->builder, equals(e, y, 0), equals(e, x, 1), "");
  return choose(e, is_one, real(x, 1), result);
}

/* base^exponent by squaring, one step a digit; only a sign bit of the exponent is left out. */
static LLVMValueRef integer_power(const laze_llvm_emitter *e, laze_dtype compute, LLVMValueRef base,
                                  LLVMValueRef exponent) {
  LLVMValueRef result = integer(base, 1), square = base;
  for (int bit = 0; bit < laze_dtype_get(compute)->digits; bit++) {
    LLVMValueRef set = LLVMBuildAnd(e->builder, exponent, integer(exponent, (int64_t)(UINT64_C(1) << bit)), "");
    LLVMValueRef taken = LLVMBuildICmp(e->builder, LLVMIntNE, set, zero_like(set), "");
    result = choose(e, taken, LLVMBuildMul(e->builder, result, square, ""), result);
    square = LLVMBuildMul(e->builder, square, square, "");
  }
  if (laze_dtype_kind(compute) == LAZE_KIND_UNSIGNED) return result;
  LLVMValueRef odd = LLVMBuildTrunc(e->builder, exponent, laze_llvm_type_like(e, LAZE_BOOL, exponent), "");
  LLVMValueRef one = integer(base, 1);
  LLVMValueRef inverse = choose(e, integer_equals(e, base, -1), choose(e, odd, base, one), zero_like(base));
  inverse = choose(e, integer_equals(e, base, 1), one, inverse);
  LLVMValueRef negative = LLVMBuildICmp(e->builder, LLVMIntSLT, exponent, zero_like(exponent), "");
  return choose(e, negative, inverse, result);
}

LAZE_LOWERING(pow) {
  if (laze_dtype_is_float(compute)) return float_power(e, operands[0], operands[1]);
  return integer_power(e, compute, operands[0], operands[1]);
}

LAZE_LOWERING(sqrt) {
  return square_root(e, operands[0]);
}

LAZE_LOWERING(rsqrt) {
  LLVMValueRef x = operands[0];
  return over(e, real(x, 1), square_root(e, x));
}
