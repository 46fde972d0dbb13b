/* sin, cos and tan of a reduced angle r + tail, |r| <= pi/4 (math_angle.c). */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

/* sin(r) = r + r^3 P(r^2): relative error 2^-28.1 and 2^-57.1. cos(r) = 1 - r^2/2 + r^4 P(r^2): 2^-30.3 and 2^-60.1. */
static const double sin_f32[] = {-0x1.555556p-3, 0x1.11110ep-7, -0x1.a013a6p-13, 0x1.6dbdd2p-19};
static const double sin_f64[] = {-0x1.5555555555555p-3, 0x1.111111111111p-7,    -0x1.a01a01a019936p-13,
                                 0x1.71de3a54605eep-19, -0x1.ae64541266378p-26, 0x1.61217ec01749dp-33,
                                 -0x1.ab17a79237a19p-41};
static const double cos_f32[] = {0x1.555554p-5, -0x1.6c12d2p-10, 0x1.9bd864p-16};
static const double cos_f64[] = {0x1.5555555555555p-5,   -0x1.6c16c16c16966p-10, 0x1.a01a019f4e867p-16,
                                 -0x1.27e4fa17a41b4p-22, 0x1.1eeb68b109173p-29,  -0x1.907d7aebd5e3dp-37};

/* sin(r + tail), as r and what is to be added to it. An f32 has no tail. */
static laze_pair sin_parts(const laze_llvm_emitter *e, laze_pair r, LLVMValueRef square) {
  LLVMValueRef p = laze_math_is_f32(r.hi) ? POLYNOMIAL(e, square, sin_f32) : POLYNOMIAL(e, square, sin_f64);
  LLVMValueRef curve = times(e, times(e, square, r.hi), p);
  if (!r.lo) return (laze_pair){r.hi, curve};
  /* The tail counts with the slope 1 - r^2/2. */
  LLVMValueRef tail = fused(e, times_real(e, square, -0.5), r.lo, r.lo);
  return (laze_pair){r.hi, plus(e, curve, tail)};
}

/* cos(r + tail), as 1 - r^2/2 rounded and what is to be added to it. */
static laze_pair cos_parts(const laze_llvm_emitter *e, laze_pair r, LLVMValueRef square) {
  LLVMValueRef p = laze_math_is_f32(r.hi) ? POLYNOMIAL(e, square, cos_f32) : POLYNOMIAL(e, square, cos_f64);
  LLVMValueRef half = times_real(e, square, 0.5);
  laze_pair parts = laze_math_sum(e, real(half, 1), negate(e, half));
  parts.lo = fused(e, times(e, square, square), p, parts.lo);
  if (r.lo) parts.lo = fused(e, negate(e, r.hi), r.lo, parts.lo);
  return parts;
}

/* sin of a reduced angle `quarters` quarter turns ahead. */
static LLVMValueRef sin_ahead(const laze_llvm_emitter *e, laze_angle angle, int quarters) {
  LLVMValueRef square = times(e, angle.r.hi, angle.r.hi);
  laze_pair s = sin_parts(e, angle.r, square), c = cos_parts(e, angle.r, square);
  LLVMValueRef quadrant = integer_plus(e, angle.quadrant, quarters);
  LLVMValueRef is_odd = LLVMBuildICmp(e->builder, LLVMIntNE, integer_and(e, quadrant, 1), integer(quadrant, 0), "");
  LLVMValueRef y = choose(e, is_odd, plus(e, c.hi, c.lo), plus(e, s.hi, s.lo));
  int sign_shift = laze_math_is_f32(y) ? 30 : 62;
  LLVMValueRef sign = shift_left(e, integer_and(e, quadrant, 2), sign_shift);
  return laze_math_from_bits(e, LLVMBuildXor(e->builder, laze_math_bits(e, y), sign, ""));
}

LAZE_LOWERING(sin) {
  LLVMValueRef x = operands[0];
  LLVMValueRef y = sin_ahead(e, laze_math_reduce_angle(e, x), 0);
  return choose(e, equals(e, x, 0), x, y); /* the reduction loses the sign of zero */
}

LAZE_LOWERING(cos) {
  LLVMValueRef x = operands[0];
  return sin_ahead(e, laze_math_reduce_angle(e, x), 1);
}

LAZE_LOWERING(tan) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_lower_tan, operands, 1);
  laze_angle angle = laze_math_reduce_angle(e, x);
  LLVMValueRef square = times(e, angle.r.hi, angle.r.hi);
  laze_pair s = sin_parts(e, angle.r, square), c = cos_parts(e, angle.r, square);
  s = laze_math_sum(e, s.hi, s.lo);
  c = laze_math_sum(e, c.hi, c.lo);
  /* sin / cos, or -cos / sin a quarter turn further. */
  LLVMValueRef odd_bit = integer_and(e, angle.quadrant, 1);
  LLVMValueRef is_odd = LLVMBuildICmp(e->builder, LLVMIntNE, odd_bit, integer(odd_bit, 0), "");
  laze_pair a = {choose(e, is_odd, negate(e, c.hi), s.hi), choose(e, is_odd, negate(e, c.lo), s.lo)};
  laze_pair b = {choose(e, is_odd, s.hi, c.hi), choose(e, is_odd, s.lo, c.lo)};
  LLVMValueRef quotient = over(e, a.hi, b.hi);
  LLVMValueRef rest = plus(e, fused(e, negate(e, quotient), b.hi, a.hi), a.lo);
  rest = fused(e, negate(e, quotient), b.lo, rest);
  LLVMValueRef y = plus(e, quotient, over(e, rest, b.hi));
  return choose(e, below(e, magnitude(e, x), 0x1p-27), x, y); /* also keeps the sign of zero, and subnormals */
}
