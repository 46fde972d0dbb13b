/* exp and its relatives: x = n ln2 + r with |r| <= ln2 / 2, and exp(x) = 2^n exp(r).
 *
 * n ln2 is subtracted in two parts. The first subtraction is exact, because the result fits the format; the second one
 * leaves a tail, which only expm1 and pow need.
 */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

#define LOG2_E 0x1.71547652b82fep+0
/* Up to here exp(x) and exp(-x) are normal numbers of f32. */
#define EXP_F32_NORMAL 87.3

/* exp(r) = 1 + r + r^2 P(r) on |r| <= 0.349: relative error 2^-26.5, 2^-32.1 and 2^-61.8. */
static const double exp_f32[] = {0x1p-1, 0x1.5554dap-3, 0x1.555518p-5, 0x1.120decp-7, 0x1.6d14bp-10};
static const double exp_short[] = {0x1.0000000be9587p-1, 0x1.5555555aa0199p-3,  0x1.5554e6e24503ap-5,
                                   0x1.1110dffed1c80p-7, 0x1.6d4618f229274p-10, 0x1.a12791b95b865p-13};
static const double exp_f64[] = {0x1p-1,
                                 0x1.5555555555557p-3,
                                 0x1.5555555555556p-5,
                                 0x1.1111111110034p-7,
                                 0x1.6c16c16c161eap-10,
                                 0x1.a01a01ac42ed5p-13,
                                 0x1.a01a01a745afbp-16,
                                 0x1.71de0112a7731p-19,
                                 0x1.27e4da28f7a14p-22,
                                 0x1.af503ba3f3a04p-26,
                                 0x1.1f756c4148e69p-29};

/* x = n ln2 + r + tail. */
typedef struct reduced {
  LLVMValueRef n, r, tail;
} reduced;

/* r and tail, for the float `rounded` that is n. */
static reduced subtract_ln2(const laze_llvm_emitter *e, LLVMValueRef rounded, LLVMValueRef x, LLVMValueRef x_tail) {
  bool f32 = laze_math_is_f32(x);
  reduced result = {NULL, NULL, NULL};
  LLVMValueRef hi = fused(e, rounded, real(x, f32 ? -0x1.62e43p-1 : -0x1.62e42fefa39efp-1), x);
  LLVMValueRef ln2_lo = real(x, f32 ? 0x1.05c61p-29 : -0x1.abc9e3b39803fp-56);
  if (x_tail) {
    LLVMValueRef lo = fused(e, rounded, ln2_lo, x_tail);
    result.r = plus(e, hi, lo);
    result.tail = plus(e, minus(e, hi, result.r), lo);
  } else {
    result.r = fused(e, rounded, ln2_lo, hi);
    result.tail = fused(e, rounded, ln2_lo, minus(e, hi, result.r));
  }
  return result;
}

static reduced reduce(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef x_tail) {
  LLVMValueRef rounded, n = laze_math_nearest(e, x, LOG2_E, &rounded);
  reduced result = subtract_ln2(e, rounded, x, x_tail);
  result.n = n;
  return result;
}

static LLVMValueRef exp_polynomial(const laze_llvm_emitter *e, LLVMValueRef r, laze_grade grade) {
  if (laze_math_is_f32(r)) return POLYNOMIAL(e, r, exp_f32);
  return grade == LAZE_GRADE_FULL ? POLYNOMIAL(e, r, exp_f64) : POLYNOMIAL(e, r, exp_short);
}

/* exp(r) - 1 - r. */
static LLVMValueRef exp_curve(const laze_llvm_emitter *e, LLVMValueRef r) {
  return times(e, times(e, r, r), exp_polynomial(e, r, LAZE_GRADE_FULL));
}

/* exp(r) in [sqrt(1/2), sqrt(2)]. */
static LLVMValueRef exp_reduced(const laze_llvm_emitter *e, LLVMValueRef r, laze_grade grade) {
  LLVMValueRef one = real(r, 1);
  return fused(e, fused(e, exp_polynomial(e, r, grade), r, one), r, one);
}

LLVMValueRef laze_math_exp_normal(const laze_llvm_emitter *e, LLVMValueRef x, laze_grade grade) {
  reduced parts = reduce(e, x, NULL);
  return times(e, exp_reduced(e, parts.r, grade), laze_math_power_of_two(e, parts.n));
}

/* From where on down exp is 0. */
static double exp_vanishes(LLVMValueRef x) {
  return laze_math_is_f32(x) ? -104 : -746;
}

/* Arguments outside give zero or infinity in the end; the limits keep n in the range of laze_math_scale. */
static LLVMValueRef clamp_exponent(const laze_llvm_emitter *e, LLVMValueRef x) {
  return at_least(e, at_most(e, x, laze_math_is_f32(x) ? 89 : 710), exp_vanishes(x));
}

/* mantissa * 2^n, where x is what it is a power for: below `limit` that is 0, and the mantissa is as well, for a
 * product that underflows takes the processor a hundred times as long. Masks of attention give -inf to half of all
 * lanes. */
static LLVMValueRef scale_or_vanish(const laze_llvm_emitter *e, LLVMValueRef mantissa, LLVMValueRef n, LLVMValueRef x,
                                    double limit) {
  return laze_math_scale(e, choose(e, below(e, x, limit), real(x, 0), mantissa), n);
}

/* exp of any argument. */
static LLVMValueRef exp_clamped(const laze_llvm_emitter *e, LLVMValueRef x) {
  reduced parts = reduce(e, clamp_exponent(e, x), NULL);
  return scale_or_vanish(e, exp_reduced(e, parts.r, LAZE_GRADE_FULL), parts.n, x, exp_vanishes(x));
}

/* exp of an f32 with |x| <= EXP_F32_NORMAL, any bits for NaN. n, which the low bits of a sum hold (laze_math_nearest),
 * is added to the exponent: the bits that exp_clamped gives, without its clamps, integers and products. */
static LLVMValueRef exp_f32_inner(const laze_llvm_emitter *e, LLVMValueRef x) {
  LLVMValueRef shift = real(x, 0x1.8p23);
  LLVMValueRef sum = fused(e, x, real(x, LOG2_E), shift);
  LLVMValueRef r = subtract_ln2(e, minus(e, sum, shift), x, NULL).r;
  LLVMValueRef mantissa = laze_math_bits(e, exp_reduced(e, r, LAZE_GRADE_FULL));
  LLVMValueRef exponent = shift_left(e, laze_math_bits(e, sum), 23);
  return laze_math_from_bits(e, LLVMBuildAdd(e->builder, mantissa, exponent, ""));
}

/* A branch: lanes rarely hold an argument whose result is not a normal number. */
static LLVMValueRef emit_exp_f32(const laze_llvm_emitter *e, LLVMValueRef x) {
  LLVMValueRef size = integer_and(e, laze_math_bits(e, x), INT32_MAX);
  LLVMValueRef limit = laze_math_bits(e, real(x, EXP_F32_NORMAL));
  LLVMValueRef is_outer = LLVMBuildICmp(e->builder, LLVMIntSGT, size, limit, ""); /* so is NaN */
  LLVMValueRef any = laze_math_any(e, is_outer);
  LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->builder));
  LLVMBasicBlockRef inner = LLVMAppendBasicBlockInContext(e->context, function, "exp_inner");
  LLVMBasicBlockRef outer = LLVMAppendBasicBlockInContext(e->context, function, "exp_outer");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, function, "exp_done");
  LLVMBuildCondBr(e->builder, any, outer, inner);

  LLVMPositionBuilderAtEnd(e->builder, inner);
  LLVMValueRef from_inner = exp_f32_inner(e, x);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, outer);
  LLVMValueRef from_outer = exp_clamped(e, x);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
  LLVMValueRef result = LLVMBuildPhi(e->builder, LLVMTypeOf(x), "");
  LLVMAddIncoming(result, (LLVMValueRef[]){from_inner, from_outer}, (LLVMBasicBlockRef[]){inner, outer}, 2);
  return result;
}

LAZE_LOWERING(exp) {
  LLVMValueRef x = operands[0];
  return laze_math_is_f32(x) ? emit_exp_f32(e, x) : exp_clamped(e, x);
}

LLVMValueRef laze_math_exp_split(const laze_llvm_emitter *e, laze_pair x, LLVMValueRef *n) {
  reduced parts = reduce(e, x.hi, x.lo);
  *n = parts.n;
  return plus(e, plus(e, exp_curve(e, parts.r), parts.tail), parts.r);
}

LLVMValueRef laze_math_exp_pair(const laze_llvm_emitter *e, laze_pair x) {
  LLVMValueRef hi = clamp_exponent(e, x.hi);
  LLVMValueRef lo = choose(e, same(e, hi, x.hi), x.lo, real(hi, 0)); /* a clamped hi may come with any lo, even NaN */
  LLVMValueRef n, m = laze_math_exp_split(e, (laze_pair){hi, lo}, &n);
  return scale_or_vanish(e, plus_real(e, m, 1), n, x.hi, exp_vanishes(x.hi));
}

LAZE_LOWERING(exp2) {
  LLVMValueRef x = operands[0];
  bool f32 = laze_math_is_f32(x);
  const double limit = f32 ? -151 : -1076;
  LLVMValueRef clamped = at_least(e, at_most(e, x, f32 ? 129 : 1025), limit);
  LLVMValueRef rounded;
  LLVMValueRef n = laze_math_nearest(e, clamped, 1, &rounded);
  LLVMValueRef r = times_real(e, minus(e, clamped, rounded), 0x1.62e42fefa39efp-1);
  return scale_or_vanish(e, exp_reduced(e, r, LAZE_GRADE_FULL), n, x, limit);
}

/* 2^n (1 + r + curve) - 1 times 2^shift, summed as ((2^n - 1) + 2^n r) + 2^n curve: two roundings. */
static LLVMValueRef expm1_scaled(const laze_llvm_emitter *e, LLVMValueRef x, int shift) {
  reduced parts = reduce(e, x, NULL);
  LLVMValueRef small = plus(e, exp_curve(e, parts.r), parts.tail);
  LLVMValueRef scale = laze_math_power_of_two(e, integer_plus(e, parts.n, shift));
  LLVMValueRef large = fused(e, scale, parts.r, plus_real(e, scale, -ldexp(1, shift)));
  return fused(e, scale, small, large);
}

LLVMValueRef laze_math_expm1_normal(const laze_llvm_emitter *e, LLVMValueRef x) {
  return expm1_scaled(e, x, 0);
}

LAZE_LOWERING(expm1) {
  LLVMValueRef x = operands[0];
  /* Halved, as 2^n may be just out of range; but that would round subnormals, and -0 would become 0. */
  bool f32 = laze_math_is_f32(x);
  LLVMValueRef half = expm1_scaled(e, at_least(e, at_most(e, x, f32 ? 89 : 710), -40), -1);
  LLVMValueRef tiny = below(e, magnitude(e, x), f32 ? 0x1p-25 : 0x1p-54);
  return choose(e, tiny, x, plus(e, half, half));
}

LAZE_LOWERING(sigmoid) {
  LLVMValueRef x = operands[0];
  /* exp(-|x|) = z never overflows, and z / (1 + z) keeps the relative precision of small results. One step of
   * refinement takes back what the rounding of 1 + z and of the quotient lost. */
  LLVMValueRef one = real(x, 1);
  LLVMValueRef exponent = negate(e, magnitude(e, x)), z = laze_lower_exp(e, compute, &exponent);
  LLVMValueRef numerator = choose(e, below(e, x, 0), z, one);
  return laze_math_quotient(e, numerator, laze_math_sum(e, one, z));
}
