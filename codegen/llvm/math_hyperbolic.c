/* sinh and cosh: a polynomial near zero, where the exponentials would cancel, and exponentials elsewhere. tanh: a
 * quotient that does not cancel.
 */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

/* tanh(x) = x + x^3 P(x^2) on |x| <= 0.27: within 0.07 units in the last place of f32. */
static const double tanh_f32[] = {-0x1.5554f4p-2, 0x1.10d11ep-3, -0x1.a21cfcp-5};
/* sinh(x) = x + x^3 P(x^2) on |x| <= 1: relative error 2^-56.8. */
static const double sinh_f64[] = {0x1.5555555555555p-3,  0x1.1111111111111p-7,  0x1.a01a01a01a001p-13,
                                  0x1.71de3a556f96cp-19, 0x1.ae6456792a77fp-26, 0x1.612467ccb2260p-33,
                                  0x1.ae777c36fd5b6p-41, 0x1.99f0806c2628dp-49};

/* |x| = n ln2 / 2 + r and t = tanh(r), hence tanh |x| = ((h + 1/2) t + (h - 1/2)) / ((h - 1/2) t + (h + 1/2)) with
 * h = 2^n / 2. The divisor is the numerator plus 1 - t: where tanh is near 1, their errors then cancel.
 *
 * -0.091 <= r <= 0.258, as the numerator's own sum would cancel for r near -ln2 / 2. So n is the floor of a sum, from
 * which seven bits of fraction are cut; the bits left are n plus the bias, with which a shift makes h. */
static LLVMValueRef emit_tanh_f32(const laze_llvm_emitter *e, LLVMValueRef x) {
  enum { FRACTION_BITS = 7, MANTISSA_BITS = 23, BIAS = 126 };
  double zero = 0x1.8p16 + BIAS;                       /* its last bit is 2^-7 */
  LLVMValueRef size = at_most(e, magnitude(e, x), 10); /* tanh is 1 from 9.02 on */
  LLVMValueRef sum = fused(e, size, real(x, 0x1.715476p+1), real(x, zero + 33.0 / (1 << FRACTION_BITS)));
  LLVMValueRef bits = integer_and(e, laze_math_bits(e, sum), -(1 << FRACTION_BITS));
  LLVMValueRef n = plus_real(e, laze_math_from_bits(e, bits), -zero);
  LLVMValueRef h = laze_math_from_bits(e, shift_left(e, bits, MANTISSA_BITS - FRACTION_BITS));

  LLVMValueRef r = fused(e, n, real(x, -0x1.62e43p-2), size);
  LLVMValueRef square = times(e, r, r);
  LLVMValueRef t = fused(e, times(e, square, r), POLYNOMIAL(e, square, tanh_f32), r);
  LLVMValueRef numerator = fused(e, plus_real(e, h, 0.5), t, plus_real(e, h, -0.5));
  LLVMValueRef divisor = plus(e, numerator, minus(e, real(x, 1), t));
  return with_sign_of(e, over(e, numerator, divisor), x);
}

LAZE_LOWERING(tanh) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return emit_tanh_f32(e, x);
  /* t / (t + 2) with t = exp(2 |x|) - 1, which is 1 from 2 |x| = 40 on: in f64 cheaper than a polynomial near zero. */
  LLVMValueRef size = magnitude(e, x);
  LLVMValueRef t = laze_math_expm1_normal(e, at_most(e, plus(e, size, size), 40));
  return with_sign_of(e, laze_math_quotient(e, t, laze_math_sum(e, real(x, 2), t)), x);
}

/* exp(|x|) / 2 up to where that overflows. exp(709) / 2 * exp(|x| - 709) would round twice, so the exponent is split
 * off as a whole number of halvings: exp(|x| - k ln2) * 2^(k-1) with ln2 in two parts. */
static LLVMValueRef half_exp(const laze_llvm_emitter *e, LLVMValueRef size) {
  LLVMValueRef large = above(e, size, 700);
  LLVMValueRef k = choose(e, large, real(size, 64), real(size, 0));
  LLVMValueRef hi = fused(e, k, real(size, -0x1.62e42fefa2000p-1), at_most(e, size, 720));
  laze_pair reduced = laze_math_sum(e, hi, times_real(e, k, -0x1.9ef35793c7673p-41));
  LLVMValueRef power = laze_math_exp_pair(e, reduced);
  return times(e, power, choose(e, large, real(size, 0x1p63), real(size, 0.5)));
}

LAZE_LOWERING(sinh) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_lower_sinh, operands, 1);
  LLVMValueRef square = times(e, x, x);
  LLVMValueRef near = fused(e, times(e, square, x), POLYNOMIAL(e, square, sinh_f64), x);
  LLVMValueRef size = magnitude(e, x);
  LLVMValueRef half = half_exp(e, size);
  LLVMValueRef far = minus(e, half, over(e, real(x, 0.25), half));
  return with_sign_of(e, choose(e, below(e, size, 1), near, far), x);
}

LAZE_LOWERING(cosh) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_lower_cosh, operands, 1);
  LLVMValueRef half = half_exp(e, magnitude(e, x));
  return plus(e, half, over(e, real(x, 0.25), half));
}
