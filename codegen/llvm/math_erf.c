/* erf: a polynomial up to one; beyond, 1 - exp(-P(|x| - 1)), where P is minus the logarithm of erfc. What P loses is
 * weighed by erfc, which falls much faster than P grows.
 *
 * erfc of f32, in f64: the same, with a P that is good by itself, and another one for the tail. Of f64 a logarithm
 * would lose as many bits as it is large; there it is exp(-x^2) G / (1 + 2 |x|) from 0.5 on, with x^2 as a pair and a
 * smooth G between 1 and 1.25. Negative arguments are 2 - erfc(-x). */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

/* erf(x) = x + x P(x^2) on |x| <= 1: relative error 2^-29.5 and 2^-55.6. */
static const double erf_short[] = {0x1.06eba7f673903p-3,  -0x1.81273e7a02443p-2, 0x1.ce2d10ed44e09p-4,
                                   -0x1.b7faba961c85ap-6, 0x1.541270c79ca2cp-8,  -0x1.a45087f1a200ap-11,
                                   0x1.4a5690869d13fp-14};
static const double erf_f64[] = {0x1.06eba8214db69p-3,   -0x1.812746b0379e6p-2,  0x1.ce2f21a042b30p-4,
                                 -0x1.b82ce31284e00p-6,  0x1.565bcd0dbaa38p-8,   -0x1.c02db3dac435fp-11,
                                 0x1.f9a321d5b8e1ep-14,  -0x1.f4d1e3183f7aep-17, 0x1.b9df224ca4b97p-20,
                                 -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27,  -0x1.389d4f2641625p-30,
                                 0x1.05ffd737fb32ep-34};
/* -log(erfc(1 + v)) = P(v): absolute error in erf 2^-37.8 on 0 <= v <= 3 and 2^-59.7 on 0 <= v <= 5. */
static const double erfc_short[] = {
    0x1.d97fbf278ae21p+0, 0x1.51c9b00ad0b09p+1,   0x1.afabbc9da19a4p-1,  0x1.547ad119f2061p-5,  -0x1.49037b0028e21p-7,
    0x1.05c391f652f5fp-9, -0x1.1a842635d32dbp-12, 0x1.da5c1108268cbp-18, 0x1.694d110937d7bp-18, -0x1.a4b7259b0fc84p-21};
static const double erfc_f64[] = {
    0x1.d97fbf27aa2a1p+0,   0x1.51c9b0006c235p+1,   0x1.afabc11a296c1p-1,   0x1.5477f09bf520cp-5,
    -0x1.48c9d3e8f7bb0p-7,  0x1.033f657c5d18dp-9,   -0x1.f1b37c54e83c5p-13, -0x1.b8dfcdd8f60c1p-16,
    0x1.c7aa03d086c6ep-16,  -0x1.4273b6d9a4e19p-17, 0x1.149a2c3996950p-19,  -0x1.34d86ce822b91p-23,
    -0x1.a0519fb425366p-24, 0x1.bc72a7035f94ap-25,  -0x1.fcc56e22fb8ccp-27, 0x1.8618b5fe98e7cp-29,
    -0x1.90419f233b983p-32, 0x1.f3af03a618454p-36,  -0x1.1f63d92355413p-40};

static LLVMValueRef emit_erf(const laze_llvm_emitter *e, LLVMValueRef x, laze_grade grade) {
  bool full = grade == LAZE_GRADE_FULL;
  LLVMValueRef size = magnitude(e, x);
  LLVMValueRef square = times(e, size, size);
  LLVMValueRef near = fused(e, size, full ? POLYNOMIAL(e, square, erf_f64) : POLYNOMIAL(e, square, erf_short), size);
  /* erf is one in f32 from 3.92 and in f64 from 5.92 on. */
  LLVMValueRef v = plus_real(e, at_most(e, size, full ? 6 : 4), -1);
  LLVMValueRef log = full ? POLYNOMIAL(e, v, erfc_f64) : POLYNOMIAL(e, v, erfc_short);
  LLVMValueRef far = minus(e, real(x, 1), laze_math_exp_normal(e, negate(e, log), grade));
  return with_sign_of(e, choose(e, below(e, size, 1), near, far), x);
}

LAZE_LOWERING(erf) {
  LLVMValueRef x = operands[0];
  if (!laze_math_is_f32(x)) return emit_erf(e, x, LAZE_GRADE_FULL);
  return laze_math_narrow(e, emit_erf(e, laze_math_widen(e, x), LAZE_GRADE_F32));
}

/* -log(erfc(1 + v)) on 0 <= v <= 3, absolute error 2^-31.1, and -log(erfc(7 + v)) on -3 <= v <= 3.5, 2^-32.1. */
static const double erfc_inner[] = {0x1.d97fbf25e57c2p+0,   0x1.51c9b05581d77p+1,  0x1.afababb804a00p-1,
                                    0x1.548071ff653e3p-5,   -0x1.493afdaf2b2bfp-7, 0x1.06c4258ef5e11p-9,
                                    -0x1.1cfaa217bd477p-12, 0x1.d26c901ebe829p-19, 0x1.40e7efd5da918p-17,
                                    -0x1.594156e1592d2p-19, 0x1.5cebb9629094fp-22, -0x1.27a9054be6cb7p-26};
static const double erfc_outer[] = {0x1.9c39d13946179p+5,   0x1.c47b89714231dp+3,   0x1.fb121bd2f3907p-1,
                                    0x1.c61c079448649p-11,  -0x1.6915124322bafp-14, 0x1.2cc3c632b2193p-17,
                                    -0x1.0076592691b9ap-20, 0x1.ba74c3b1dc0d8p-24,  -0x1.78d2748359d18p-27,
                                    0x1.36f58f0d0a348p-30,  -0x1.24fbbb0563abep-33, 0x1.3c77b04307402p-36,
                                    -0x1.83e0d0afbeab7p-40};
/* (1 + 2 x) exp(x^2) erfc(x) = ERFC_MIDDLE + t P(t) with t = (x - 3.5) / (x + 3.5) on 0 <= x <= 28: 2^-55.9. */
#define ERFC_MIDDLE 0x1.3e0a99a0ee914p+0
static const double erfc_scaled[] = {
    -0x1.1ebd220ea593bp-3,  -0x1.59e2c284b1187p-7,  0x1.8f702ec6b3284p-4,   -0x1.d76830c3535dcp-4,
    0x1.6861060470d2bp-4,   -0x1.8ff5ef76c3105p-5,  0x1.38ec66706d433p-6,   -0x1.143c4cae0e250p-8,
    -0x1.3cf3676b7053ap-12, 0x1.27e666bce3428p-11,  -0x1.fda949076441ep-14, -0x1.66e2cd5892f0ap-15,
    0x1.970d86aeabca6p-16,  0x1.38a7a1eb7dd46p-19,  -0x1.003c931cfdbe2p-18, -0x1.9400fa7d029e9p-25,
    0x1.462e6a260b60dp-21,  -0x1.e8fb0f8d352bbp-29, -0x1.b63323748cfd6p-24, -0x1.f89ade97f6f25p-29,
    0x1.1e38057b0c2cbp-26,  0x1.3e56fcb92758ap-29,  -0x1.045a72a8e1640p-29, -0x1.286ae8ee3364cp-31};

static LLVMValueRef emit_erfc_f64(const laze_llvm_emitter *e, LLVMValueRef x) {
  LLVMValueRef size = at_most(e, magnitude(e, x), 28); /* erfc is zero from 27.3 on */
  laze_pair square = laze_math_product(e, size, size);
  LLVMValueRef n, m = laze_math_exp_split(e, (laze_pair){negate(e, square.hi), negate(e, square.lo)}, &n);
  LLVMValueRef t = over(e, plus_real(e, size, -3.5), plus_real(e, size, 3.5));
  laze_pair g = laze_math_sum(e, real(x, ERFC_MIDDLE), times(e, t, POLYNOMIAL(e, t, erfc_scaled)));
  /* (1 + m) (g.hi + g.lo), rounded once. */
  LLVMValueRef numerator = plus(e, g.hi, fused(e, m, g.hi, fused(e, m, g.lo, g.lo)));
  LLVMValueRef twice = plus(e, size, size), one = real(x, 1), less = below(e, twice, 1);
  laze_pair divisor = laze_math_sum(e, choose(e, less, one, twice), choose(e, less, twice, one));
  LLVMValueRef tail = laze_math_scale(e, laze_math_quotient(e, numerator, divisor), n);
  LLVMValueRef far = choose(e, below(e, x, 0), minus(e, real(x, 2), tail), tail);
  LLVMValueRef erf = fused(e, size, POLYNOMIAL(e, square.hi, erf_f64), size);
  return choose(e, below(e, size, 0.5), minus(e, one, with_sign_of(e, erf, x)), far);
}

/* -log(erfc(size)) for size >= 1. A branch: lanes rarely hold an argument beyond 4. */
static LLVMValueRef minus_log_erfc(const laze_llvm_emitter *e, LLVMValueRef size) {
  LLVMValueRef from_inner = POLYNOMIAL(e, plus_real(e, size, -1), erfc_inner);
  LLVMValueRef is_outer = above(e, size, 4), any = laze_math_any(e, is_outer);
  LLVMBasicBlockRef inner = LLVMGetInsertBlock(e->builder);
  LLVMValueRef function = LLVMGetBasicBlockParent(inner);
  LLVMBasicBlockRef outer = LLVMAppendBasicBlockInContext(e->context, function, "erfc_outer");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, function, "erfc_done");
  LLVMBuildCondBr(e->builder, any, outer, done);

  LLVMPositionBuilderAtEnd(e->builder, outer);
  LLVMValueRef from_outer = choose(e, is_outer, POLYNOMIAL(e, plus_real(e, size, -7), erfc_outer), from_inner);
  LLVMBuildBr(e->builder, done);
  LLVMPositionBuilderAtEnd(e->builder, done);
  LLVMValueRef result = LLVMBuildPhi(e->builder, LLVMTypeOf(size), "");
  LLVMAddIncoming(result, (LLVMValueRef[]){from_inner, from_outer}, (LLVMBasicBlockRef[]){inner, outer}, 2);
  return result;
}

static LLVMValueRef emit_erfc_f32(const laze_llvm_emitter *e, LLVMValueRef narrow) {
  /* In f32, erfc is two below -4 and zero from 10.1 on. */
  LLVMValueRef x = laze_math_widen(e, narrow), two = real(x, 2), one = real(x, 1);
  LLVMValueRef size = magnitude(e, at_least(e, at_most(e, x, 10.5), -4));
  LLVMValueRef erf = fused(e, size, POLYNOMIAL(e, times(e, size, size), erf_short), size);
  LLVMValueRef near = minus(e, one, with_sign_of(e, erf, x));
  LLVMValueRef tail = laze_math_exp_normal(e, negate(e, minus_log_erfc(e, size)), LAZE_GRADE_F32);
  LLVMValueRef far = choose(e, below(e, x, 0), minus(e, two, tail), tail);
  return laze_math_narrow(e, choose(e, below(e, size, 1), near, far));
}

LAZE_LOWERING(erfc) {
  LLVMValueRef x = operands[0];
  return laze_math_is_f32(x) ? emit_erfc_f32(e, x) : emit_erfc_f64(e, x);
}
