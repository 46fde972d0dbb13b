/* asin, acos, atan and atan2. */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

#define PI_2_HI 0x1.921fb54442d18p+0
#define PI_2_LO 0x1.1a62633145c07p-54

/* atan(x) = x + x^3 P(x^2) on |x| <= 1: relative error 2^-54.4. */
static const double atan_f64[] = {
    -0x1.5555555555555p-2, 0x1.99999999998f9p-3,  -0x1.249249248c7dap-3, 0x1.c71c71c472843p-4,   -0x1.745d16f26d0a3p-4,
    0x1.3b13aaf4aba4ap-4,  -0x1.1110bfea8ed5ep-4, 0x1.e1dc0d7679adcp-5,  -0x1.af00bd568a3d2p-5,  0x1.854a7b99af61dp-5,
    -0x1.60ebd1489b946p-5, 0x1.3d3f26d5ea7ffp-5,  -0x1.147b2825d82f6p-5, 0x1.c3ac54a572735p-6,   -0x1.4b974a27ac39fp-6,
    0x1.a1fe88baf72d4p-7,  -0x1.aef1a8e977bf8p-8, 0x1.57cc888719aa0p-9,  -0x1.8a2f3ae537bb1p-11, 0x1.1f0adb240a1fbp-13,
    -0x1.8d087295ab9f4p-17};
/* asin(x) = x + x^3 P(x^2) on |x| <= 0.5: relative error 2^-57.4. */
static const double asin_f64[] = {
    0x1.5555555555556p-3, 0x1.3333333332ecap-4,  0x1.6db6db6e31f13p-5, 0x1.f1c71c1db0623p-6, 0x1.6e8bb1c8209a2p-6,
    0x1.1c4d35cf95421p-6, 0x1.c9cf07674736ap-7,  0x1.782651caa6547p-7, 0x1.52420b04b37bep-7, 0x1.65a9c4dfcf8b2p-8,
    0x1.1d189408314eep-6, -0x1.e6aaa8a0a04ccp-7, 0x1.d72b2bc8155f8p-6};

/* asin(|x|) for |x| <= 1/2 is base + curve with base = |x|; beyond, asin(|x|) = pi/2 - 2 (base + curve) with
 * base = sqrt((1 - |x|) / 2), of which the rounding is not worth correcting. */
typedef struct half_angle {
  LLVMValueRef is_small, base, curve;
} half_angle;

static half_angle emit_half_angle(const laze_llvm_emitter *e, LLVMValueRef size) {
  half_angle result;
  result.is_small = LLVMBuildFCmp(e->builder, LLVMRealOLE, size, real(size, 0.5), "");
  LLVMValueRef complement = times_real(e, minus(e, real(size, 1), size), 0.5);
  LLVMValueRef root = square_root(e, complement);
  LLVMValueRef square = choose(e, result.is_small, times(e, size, size), complement);
  result.base = choose(e, result.is_small, size, root);
  result.curve = times(e, times(e, square, result.base), POLYNOMIAL(e, square, asin_f64));
  return result;
}

LAZE_LOWERING(asin) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_lower_asin, operands, 1);
  half_angle half = emit_half_angle(e, magnitude(e, x));
  LLVMValueRef near = plus(e, half.base, half.curve);
  /* pi/2 - 2 base - 2 curve */
  laze_pair rest = laze_math_sum(e, real(x, PI_2_HI), times_real(e, half.base, -2));
  LLVMValueRef lo = fused(e, half.curve, real(x, -2), plus_real(e, rest.lo, PI_2_LO));
  LLVMValueRef far = plus(e, rest.hi, lo);
  return with_sign_of(e, choose(e, half.is_small, near, far), x);
}

LAZE_LOWERING(acos) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_lower_acos, operands, 1);
  half_angle half = emit_half_angle(e, magnitude(e, x));
  LLVMValueRef is_negative = below(e, x, 0);
  /* |x| <= 1/2: pi/2 - asin(x). Otherwise 2 (base + curve), or pi minus that. */
  LLVMValueRef factor = choose(e, half.is_small, real(x, 1), real(x, 2));
  LLVMValueRef keeps_sign = LLVMBuildXor(e->builder, half.is_small, is_negative, ""); /* small x, or large negative */
  LLVMValueRef sign = choose(e, LLVMBuildAnd(e->builder, half.is_small, is_negative, ""), real(x, 1),
                             choose(e, keeps_sign, real(x, -1), real(x, 1)));
  LLVMValueRef scale = times(e, factor, sign);
  LLVMValueRef zero = real(x, 0);
  LLVMValueRef far_hi = choose(e, is_negative, real(x, 2 * PI_2_HI), zero);
  LLVMValueRef far_lo = choose(e, is_negative, real(x, 2 * PI_2_LO), zero);
  laze_pair offset = {choose(e, half.is_small, real(x, PI_2_HI), far_hi),
                      choose(e, half.is_small, real(x, PI_2_LO), far_lo)};
  laze_pair sum = laze_math_sum(e, offset.hi, times(e, half.base, scale));
  LLVMValueRef lo = fused(e, half.curve, scale, plus(e, sum.lo, offset.lo));
  return plus(e, sum.hi, lo);
}

/* atan of z = z.hi + z.lo in [0, 1], as z.hi and what is to be added to it. */
static laze_pair atan_parts(const laze_llvm_emitter *e, laze_pair z) {
  LLVMValueRef square = times(e, z.hi, z.hi);
  LLVMValueRef curve = times(e, times(e, square, z.hi), POLYNOMIAL(e, square, atan_f64));
  /* The tail counts with the slope 1 / (1 + z^2), of which 1 - z^2/2 is near enough. */
  LLVMValueRef tail = fused(e, times_real(e, square, -0.5), z.lo, z.lo);
  return (laze_pair){z.hi, plus(e, curve, tail)};
}

/* base.hi + base.lo + sign * (y.hi + y.lo), with |base| >= |y| or base zero. */
static LLVMValueRef offset_by(const laze_llvm_emitter *e, laze_pair base, LLVMValueRef sign, laze_pair y) {
  laze_pair sum = laze_math_sum(e, base.hi, times(e, y.hi, sign));
  return plus(e, sum.hi, fused(e, y.lo, sign, plus(e, sum.lo, base.lo)));
}

/* a / b for 0 <= a <= b, as a pair. The tail is dropped where it could not be computed exactly. */
static laze_pair ratio(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  laze_pair result = {over(e, a, b), NULL};
  LLVMValueRef tail = over(e, fused(e, negate(e, result.hi), b, a), b);
  result.lo = choose(e, above(e, result.hi, 0x1p-100), tail, real(a, 0));
  return result;
}

LAZE_LOWERING(atan) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_lower_atan, operands, 1);
  LLVMValueRef size = magnitude(e, x), zero = real(x, 0), one = real(x, 1);
  LLVMValueRef is_far = above(e, size, 1);
  /* Arguments beyond 2^60 have the arctangent of 2^60, and the reciprocal's tail stays in range. */
  LLVMValueRef divisor = choose(e, is_far, at_most(e, size, 0x1p60), one);
  laze_pair inverse = ratio(e, one, divisor);
  laze_pair z = {choose(e, is_far, inverse.hi, size), choose(e, is_far, inverse.lo, zero)};
  laze_pair base = {choose(e, is_far, real(x, PI_2_HI), zero), choose(e, is_far, real(x, PI_2_LO), zero)};
  LLVMValueRef y = offset_by(e, base, choose(e, is_far, real(x, -1), one), atan_parts(e, z));
  return with_sign_of(e, y, x);
}

LAZE_LOWERING(atan2) {
  LLVMValueRef y = operands[0], x = operands[1];
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_lower_atan2, operands, 2);
  LLVMValueRef height = magnitude(e, y), width = magnitude(e, x), zero = real(x, 0), one = real(x, 1);
  LLVMValueRef is_steep = LLVMBuildFCmp(e->builder, LLVMRealOGT, height, width, "");
  LLVMValueRef smaller = choose(e, is_steep, width, height), larger = choose(e, is_steep, height, width);
  laze_pair z = ratio(e, smaller, larger);
  LLVMValueRef equal = same(e, smaller, larger); /* infinity / infinity is one here, and 0 / 0 is zero */
  LLVMValueRef if_equal = choose(e, equals(e, larger, 0), zero, one);
  z.hi = choose(e, equal, if_equal, z.hi);
  z.lo = choose(e, equal, zero, z.lo);
  z.lo = choose(e, equals(e, larger, INFINITY), zero, z.lo);
  laze_pair angle = atan_parts(e, z);

  /* Steep: pi/2 -+ angle; otherwise angle or pi - angle. The sign bit of x decides, so that -0 lies on the left. */
  LLVMValueRef is_left =
      LLVMBuildICmp(e->builder, LLVMIntSLT, laze_math_bits(e, x), integer(laze_math_bits(e, x), 0), "");
  LLVMValueRef subtract = LLVMBuildXor(e->builder, is_steep, is_left, "");
  LLVMValueRef base_hi = choose(e, is_steep, real(x, PI_2_HI), choose(e, is_left, real(x, 2 * PI_2_HI), zero));
  LLVMValueRef base_lo = choose(e, is_steep, real(x, PI_2_LO), choose(e, is_left, real(x, 2 * PI_2_LO), zero));
  LLVMValueRef sign = choose(e, subtract, real(x, -1), one);
  LLVMValueRef result = with_sign_of(e, offset_by(e, (laze_pair){base_hi, base_lo}, sign, angle), y);
  LLVMValueRef has_nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, x, y, "");
  return choose(e, has_nan, real(x, NAN), result);
}
