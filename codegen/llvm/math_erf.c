/* erf: a polynomial up to one; beyond, 1 - exp(-P(|x| - 1)), where P is minus the logarithm of erfc. What P loses is
 * weighed by erfc, which falls much faster than P grows. */
#include "codegen/llvm/math.h"
#include "codegen/llvm/math_internal.h"

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

static LLVMValueRef emit_erf(const laze_emitter *e, LLVMValueRef x, laze_grade grade) {
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

LLVMValueRef laze_emit_erf(const laze_emitter *e, LLVMValueRef x) {
  if (!laze_math_is_f32(x)) return emit_erf(e, x, LAZE_GRADE_FULL);
  return laze_math_narrow(e, emit_erf(e, laze_math_widen(e, x), LAZE_GRADE_F32));
}
