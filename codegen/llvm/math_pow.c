/* pow(x, y) = exp(y log|x|), with the logarithm in twice the precision, and C Annex F's cases on top. */
#include "codegen/llvm/math_functions.h"
#include "codegen/llvm/math_vocabulary.h"

static LLVMValueRef truncate(const laze_llvm_emitter *e, LLVMValueRef x) {
  return laze_llvm_intrinsic(e, "llvm.trunc", &x, 1);
}

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

LLVMValueRef laze_math_pow(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef size = magnitude(e, x);
  LLVMValueRef result = laze_math_is_f32(x) ? power_f32(e, size, y) : power_f64(e, size, y);
  /* A size of one gives one for every y but NaN (infinity times log(1) would be NaN). */
  LLVMValueRef y_is_number = same(e, y, y);
  result = choose(e, both(e, equals(e, size, 1), y_is_number), real(x, 1), result);

  LLVMValueRef is_whole = same(e, truncate(e, y), y);
  LLVMValueRef half = times_real(e, y, 0.5);
  LLVMValueRef is_odd = both(e, is_whole, LLVMBuildFCmp(e->builder, LLVMRealUNE, truncate(e, half), half, ""));
  result = choose(e, is_odd, with_sign_of(e, result, x), result);
  LLVMValueRef is_negative = both(e, below(e, x, 0), above(e, x, -INFINITY));
  LLVMValueRef has_no_power = both(e, is_negative, LLVMBuildNot(e->builder, is_whole, ""));
  result = choose(e, has_no_power, real(x, NAN), result);

  LLVMValueRef is_one = LLVMBuildOr(e->builder, equals(e, y, 0), equals(e, x, 1), "");
  return choose(e, is_one, real(x, 1), result);
}
