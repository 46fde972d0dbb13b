/* Logarithms: x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and log(x) = k ln2 + log(1 + f). */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

/* ln2 and log10(2) in two parts: the first has 40 bits, so that its product with an exponent is exact. */
#define LN2_HI 0x1.62e42fefa2000p-1
#define LN2_LO 0x1.9ef35793c7673p-41
#define LOG10_2_HI 0x1.34413509f4000p-2
#define LOG10_2_LO 0x1.cff7988f8959bp-41

/* log(1 + f) = f - f^2/2 + f^3 P(f): relative error 2^-28.5 and 2^-36.3. */
static const double log_f32[] = {0x1.555554p-2,  -0x1.fffffcp-3, 0x1.999d5ap-3,  -0x1.555b4ap-3, 0x1.23d21ap-3,
                                 -0x1.fcf4c6p-4, 0x1.dea282p-4,  -0x1.d635bcp-4, 0x1.1d8ea6p-4};
static const double log_short[] = {0x1.555555560c31ap-2,  -0x1.0000002de5986p-2, 0x1.999996b66b7ebp-3,
                                   -0x1.55550b9a76ccdp-3, 0x1.24930da084678p-3,  -0x1.0010e17b2ed7bp-3,
                                   0x1.c70b5c4c739abp-4,  -0x1.96707fe1d83bfp-4, 0x1.71e8f96703d40p-4,
                                   -0x1.752509a5fafacp-4, 0x1.7226f4435632cp-4,  -0x1.9a11f937b85adp-5};
/* log(1 + f) = 2 atanh(s), s = f / (2 + f): 2 s + s^3 P(s^2) on |s| <= 0.1716: relative error 2^-57.7. */
static const double log_f64[] = {0x1.5555555555558p-1, 0x1.99999999952ccp-2, 0x1.2492492df3ba9p-2, 0x1.c71c62e26208bp-3,
                                 0x1.7462b58e46ebep-3, 0x1.39fe42e9740a7p-3, 0x1.2b59b713616c9p-3};
/* The same as 2 s + s^3 (2/3 + s^2 P(s^2)): relative error 2^-66.3. */
static const double log_pair[] = {0x1.999999999999ap-2, 0x1.2492492492522p-2, 0x1.c71c71c6ea994p-3,
                                  0x1.745d177a9cebap-3, 0x1.3b1395cf37e45p-3, 0x1.1118c8814a0b1p-3,
                                  0x1.df7ca8236e9e1p-4, 0x1.e02fc68c381f4p-4};

laze_mantissa laze_math_split(const laze_llvm_emitter *e, LLVMValueRef x, bool may_be_subnormal) {
  bool f32 = laze_math_is_f32(x);
  LLVMValueRef tiny = NULL;
  if (may_be_subnormal) {
    tiny = below(e, x, f32 ? 0x1p-126 : 0x1p-1022);
    x = choose(e, tiny, times_real(e, x, f32 ? 0x1p23 : 0x1p52), x);
  }
  int mantissa_bits = f32 ? 23 : 52;
  LLVMValueRef bits = laze_math_bits(e, x);
  int64_t sqrt_half = f32 ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;
  LLVMValueRef exponent = shift_right(e, integer_plus(e, bits, -sqrt_half), mantissa_bits);
  LLVMValueRef mantissa = laze_math_from_bits(e, integer_minus(e, bits, shift_left(e, exponent, mantissa_bits)));
  laze_mantissa result = {plus_real(e, mantissa, -1), LLVMBuildSIToFP(e->builder, exponent, LLVMTypeOf(x), "")};
  if (tiny) {
    LLVMValueRef lowered = plus_real(e, result.exponent, -mantissa_bits);
    result.exponent = choose(e, tiny, lowered, result.exponent);
  }
  return result;
}

/* Replaces what `y` is for arguments that have no finite logarithm. */
static LLVMValueRef finish(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef special = choose(e, below(e, x, 0), real(x, NAN), x); /* infinity and NaN as they are */
  special = choose(e, equals(e, x, 0), real(x, -INFINITY), special);
  return choose(e, both(e, above(e, x, 0), below(e, x, INFINITY)), y, special);
}

LLVMValueRef laze_math_log_short(const laze_llvm_emitter *e, LLVMValueRef f) {
  LLVMValueRef square = times(e, f, f);
  LLVMValueRef curve = fused(e, f, POLYNOMIAL(e, f, log_short), real(f, -0.5));
  return fused(e, square, curve, f);
}

static LLVMValueRef emit_log_f32(const laze_llvm_emitter *e, LLVMValueRef x) {
  laze_mantissa m = laze_math_split(e, x, true);
  LLVMValueRef square = times(e, m.f, m.f);
  LLVMValueRef y = times(e, times(e, square, m.f), POLYNOMIAL(e, m.f, log_f32));
  y = fused(e, m.exponent, real(x, -0x1.bd0106p-13), y); /* ln2 - 0x1.63p-1 */
  y = plus(e, fused(e, square, real(x, -0.5), y), m.f);
  return finish(e, x, fused(e, m.exponent, real(x, 0x1.63p-1), y));
}

/* k ln2 + log(1 + f) + tail, f64, to within a unit in the last place. */
static LLVMValueRef log_with_tail(const laze_llvm_emitter *e, laze_mantissa m, LLVMValueRef tail) {
  LLVMValueRef f = m.f;
  LLVMValueRef s = over(e, f, plus_real(e, f, 2));
  LLVMValueRef z = times(e, s, s);
  LLVMValueRef half_square = times(e, times_real(e, f, 0.5), f);
  /* 2 s = f - s f, and s f = f^2/2 - s f^2/2: so the leading terms are exact. */
  LLVMValueRef low = fused(e, z, POLYNOMIAL(e, z, log_f64), half_square);
  low = times(e, s, low);
  low = fused(e, m.exponent, real(f, LN2_LO), low);
  if (tail) low = plus(e, low, tail);
  LLVMValueRef y = plus(e, minus(e, low, half_square), f);
  return fused(e, m.exponent, real(f, LN2_HI), y);
}

LAZE_LOWERING(log) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return emit_log_f32(e, x);
  return finish(e, x, log_with_tail(e, laze_math_split(e, x, true), NULL));
}

laze_pair laze_math_log_pair(const laze_llvm_emitter *e, LLVMValueRef f) {
  /* s = f / (2 + f) as a pair, with one division. */
  laze_pair d = laze_math_sum(e, real(f, 2), f);
  LLVMValueRef inverse = over(e, real(f, 1), d.hi);
  laze_pair s = {times(e, f, inverse), NULL};
  LLVMValueRef rest = fused(e, negate(e, s.hi), d.hi, f);
  s.lo = times(e, fused(e, negate(e, s.hi), d.lo, rest), inverse);

  laze_pair z = laze_math_pair_times(e, s, s);
  LLVMValueRef term = times(e, z.hi, POLYNOMIAL(e, z.hi, log_pair));
  laze_pair q = laze_math_sum(e, real(f, 0x1.5555555555555p-1), term);
  q.lo = plus_real(e, q.lo, 0x1.5555555555555p-55);
  laze_pair cubic = laze_math_pair_times(e, laze_math_pair_times(e, s, z), q);

  laze_pair sum = laze_math_sum(e, plus(e, s.hi, s.hi), cubic.hi);
  LLVMValueRef lo = plus(e, sum.lo, fused(e, s.lo, real(f, 2), cubic.lo));
  return laze_math_sum(e, sum.hi, lo);
}

/* k * unit + log(1 + f) * factor. */
static LLVMValueRef log_in_base(const laze_llvm_emitter *e, LLVMValueRef x, const double unit[2],
                                const double factor[2]) {
  laze_mantissa m = laze_math_split(e, x, true);
  laze_pair constant = {real(x, factor[0]), real(x, factor[1])};
  laze_pair y = laze_math_pair_times(e, laze_math_log_pair(e, m.f), constant);
  laze_pair sum = laze_math_sum(e, times_real(e, m.exponent, unit[0]), y.hi);
  LLVMValueRef lo = fused(e, m.exponent, real(x, unit[1]), plus(e, sum.lo, y.lo));
  return finish(e, x, plus(e, sum.hi, lo));
}

/* The same for f32 by way of f64. */
static LLVMValueRef log_in_base_f32(const laze_llvm_emitter *e, LLVMValueRef x, double unit, double factor) {
  LLVMValueRef wide = laze_math_widen(e, x);
  laze_mantissa m = laze_math_split(e, wide, false);
  LLVMValueRef y = times_real(e, laze_math_log_short(e, m.f), factor);
  return laze_math_narrow(e, finish(e, wide, fused(e, m.exponent, real(wide, unit), y)));
}

LAZE_LOWERING(log2) {
  LLVMValueRef x = operands[0];
  static const double unit[2] = {1, 0}, factor[2] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
  return laze_math_is_f32(x) ? log_in_base_f32(e, x, unit[0], factor[0]) : log_in_base(e, x, unit, factor);
}

LAZE_LOWERING(log10) {
  LLVMValueRef x = operands[0];
  static const double unit[2] = {LOG10_2_HI, LOG10_2_LO};
  static const double factor[2] = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
  return laze_math_is_f32(x) ? log_in_base_f32(e, x, LOG10_2_HI + LOG10_2_LO, factor[0])
                             : log_in_base(e, x, unit, factor);
}

static LLVMValueRef emit_log1p_f32(const laze_llvm_emitter *e, LLVMValueRef x) {
  /* 1 + x is exact enough in f64 down to 2^-26, below which log1p(x) rounds to x. */
  LLVMValueRef one_more = plus_real(e, laze_math_widen(e, x), 1);
  laze_mantissa m = laze_math_split(e, one_more, false);
  LLVMValueRef y = fused(e, m.exponent, real(one_more, LN2_HI + LN2_LO), laze_math_log_short(e, m.f));
  y = laze_math_narrow(e, finish(e, one_more, y));
  return choose(e, below(e, magnitude(e, x), 0x1p-26), x, y);
}

LAZE_LOWERING(log1p) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return emit_log1p_f32(e, x);
  /* u = 1 + x rounded; what the rounding lost, relative to u, is added to the logarithm of u. */
  LLVMValueRef one = real(x, 1);
  LLVMValueRef u = plus(e, x, one);
  LLVMValueRef x_part = minus(e, u, one);
  LLVMValueRef lost = plus(e, minus(e, one, minus(e, u, x_part)), minus(e, x, x_part));
  LLVMValueRef y = log_with_tail(e, laze_math_split(e, u, false), over(e, lost, u));
  y = finish(e, u, y);
  return choose(e, below(e, magnitude(e, x), 0x1p-54), x, y);
}

/* The larger number, and log1p of how much the smaller one adds; equal infinities have no difference. */
LAZE_LOWERING(logaddexp) {
  LLVMValueRef a = operands[0], b = operands[1];
  if (laze_math_is_f32(a)) return laze_math_in_f64(e, laze_lower_logaddexp, operands, 2);
  LLVMValueRef larger = choose(e, LLVMBuildFCmp(e->builder, LLVMRealOGT, a, b, ""), a, b);
  LLVMValueRef difference = choose(e, same(e, a, b), real(a, 0), negate(e, magnitude(e, minus(e, a, b))));
  LLVMValueRef share = laze_lower_exp(e, compute, &difference);
  return plus(e, larger, laze_lower_log1p(e, compute, &share));
}
