/* sinh, cosh and tanh: a polynomial near zero, where the exponentials would cancel, and exponentials elsewhere. */
#include "codegen/llvm/math.h"
#include "codegen/llvm/math_internal.h"

/* tanh(x) = x + x^3 P(x^2) on |x| <= 0.5625: relative error 2^-27.5. */
static const double tanh_f32[] = {-0x1.555554p-2, 0x1.110fb4p-3, -0x1.b9902cp-5, 0x1.5c60f8p-6, -0x1.aba8fp-8};
/* sinh(x) = x + x^3 P(x^2) on |x| <= 1: relative error 2^-56.8. */
static const double sinh_f64[] = {0x1.5555555555555p-3,  0x1.1111111111111p-7,  0x1.a01a01a01a001p-13,
                                  0x1.71de3a556f96cp-19, 0x1.ae6456792a77fp-26, 0x1.612467ccb2260p-33,
                                  0x1.ae777c36fd5b6p-41, 0x1.99f0806c2628dp-49};

static LLVMValueRef emit_tanh_f32(const laze_emitter *e, LLVMValueRef x) {
  LLVMValueRef square = times(e, x, x);
  LLVMValueRef near = fused(e, times(e, square, x), POLYNOMIAL(e, square, tanh_f32), x);
  /* 1 - 2 / (exp(2 |x|) + 1), which is 1 from 2 |x| = 20 on. */
  LLVMValueRef size = magnitude(e, x);
  LLVMValueRef power = laze_math_exp_normal(e, at_most(e, plus(e, size, size), 20), LAZE_GRADE_FULL);
  LLVMValueRef far = minus(e, real(x, 1), over(e, real(x, 2), plus_real(e, power, 1)));
  return with_sign_of(e, choose(e, below(e, size, 0.5625), near, far), x);
}

LLVMValueRef laze_emit_tanh(const laze_emitter *e, LLVMValueRef x) {
  if (laze_math_is_f32(x)) return emit_tanh_f32(e, x);
  /* t / (t + 2) with t = exp(2 |x|) - 1, which is 1 from 2 |x| = 40 on: in f64 cheaper than a polynomial near zero. */
  LLVMValueRef size = magnitude(e, x);
  LLVMValueRef t = laze_math_expm1_normal(e, at_most(e, plus(e, size, size), 40));
  return with_sign_of(e, laze_math_quotient(e, t, laze_math_sum(e, real(x, 2), t)), x);
}

/* exp(|x|) / 2 up to where that overflows. exp(709) / 2 * exp(|x| - 709) would round twice, so the exponent is split
 * off as a whole number of halvings: exp(|x| - k ln2) * 2^(k-1) with ln2 in two parts. */
static LLVMValueRef half_exp(const laze_emitter *e, LLVMValueRef size) {
  LLVMValueRef large = above(e, size, 700);
  LLVMValueRef k = choose(e, large, real(size, 64), real(size, 0));
  LLVMValueRef hi = fused(e, k, real(size, -0x1.62e42fefa2000p-1), at_most(e, size, 720));
  laze_pair reduced = laze_math_sum(e, hi, times_real(e, k, -0x1.9ef35793c7673p-41));
  LLVMValueRef power = laze_math_exp_pair(e, reduced);
  return times(e, power, choose(e, large, real(size, 0x1p63), real(size, 0.5)));
}

LLVMValueRef laze_emit_sinh(const laze_emitter *e, LLVMValueRef x) {
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_emit_sinh, x);
  LLVMValueRef square = times(e, x, x);
  LLVMValueRef near = fused(e, times(e, square, x), POLYNOMIAL(e, square, sinh_f64), x);
  LLVMValueRef size = magnitude(e, x);
  LLVMValueRef half = half_exp(e, size);
  LLVMValueRef far = minus(e, half, over(e, real(x, 0.25), half));
  return with_sign_of(e, choose(e, below(e, size, 1), near, far), x);
}

LLVMValueRef laze_emit_cosh(const laze_emitter *e, LLVMValueRef x) {
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_emit_cosh, x);
  LLVMValueRef half = half_exp(e, magnitude(e, x));
  return plus(e, half, over(e, real(x, 0.25), half));
}
