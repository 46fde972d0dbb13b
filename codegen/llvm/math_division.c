/* Quotients rounded to whole numbers, and what they leave:
 *
 *                                  7 by -2     -7 by 2
 *   trunc_divide, rest fmod        -3, 1       -3, -1    the rest has the sign of the dividend
 *   floor_divide, rest remainder   -4, -1      -4, 1     of the divisor
 *
 * Integers never trap: what would is replaced before it is divided. fmod of floats is long division, which is exact.
 */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

/* a / b towards zero, for b not 0, nor -1 where that is negative. The f64 quotient of two integers of up to 32 bits
 * never rounds across an integer, and unlike integers f64 divide in lanes. */
static LLVMValueRef safe_quotient(const laze_llvm_emitter *e, laze_dtype compute, LLVMValueRef a, LLVMValueRef b) {
  bool is_signed = laze_dtype_kind(compute) == LAZE_KIND_SIGNED;
  if (laze_dtype_get(compute)->bits > 32)
    return is_signed ? LLVMBuildSDiv(e->builder, a, b, "") : LLVMBuildUDiv(e->builder, a, b, "");
  LLVMTypeRef wide = laze_llvm_type_like(e, LAZE_F64, a);
  LLVMOpcode to_wide = is_signed ? LLVMSIToFP : LLVMUIToFP;
  LLVMValueRef quotient = LLVMBuildFDiv(e->builder, LLVMBuildCast(e->builder, to_wide, a, wide, ""),
                                        LLVMBuildCast(e->builder, to_wide, b, wide, ""), "");
  return LLVMBuildCast(e->builder, is_signed ? LLVMFPToSI : LLVMFPToUI, quotient, LLVMTypeOf(a), "");
}

/* a / b towards zero for all integers; *remainder = a - quotient * b, or 0 where b is 0. */
static LLVMValueRef unsigned_quotient_of(const laze_llvm_emitter *e, laze_dtype compute, const LLVMValueRef *operands,
                                         LLVMValueRef *remainder) {
  LLVMValueRef a = operands[0], b = operands[1], is_zero = integer_equals(e, b, 0);
  LLVMValueRef quotient = safe_quotient(e, compute, a, choose(e, is_zero, integer(b, 1), b));
  quotient = choose(e, is_zero, zero_like(a), quotient);
  *remainder = LLVMBuildSub(e->builder, a, LLVMBuildMul(e->builder, quotient, b, ""), "");
  *remainder = choose(e, is_zero, zero_like(a), *remainder);
  return quotient;
}

static LLVMValueRef quotient_of(const laze_llvm_emitter *e, laze_dtype compute, const LLVMValueRef *operands,
                                LLVMValueRef *remainder) {
  if (laze_dtype_kind(compute) == LAZE_KIND_UNSIGNED) return unsigned_quotient_of(e, compute, operands, remainder);
  LLVMValueRef a = operands[0], b = operands[1];
  LLVMValueRef is_zero = integer_equals(e, b, 0), is_minus = integer_equals(e, b, -1);
  LLVMValueRef special = LLVMBuildOr(e->builder, is_zero, is_minus, "");
  LLVMValueRef quotient = safe_quotient(e, compute, a, choose(e, special, integer(b, 1), b));
  quotient = choose(e, is_minus, LLVMBuildNeg(e->builder, a, ""), quotient);
  quotient = choose(e, is_zero, zero_like(a), quotient);
  *remainder = LLVMBuildSub(e->builder, a, LLVMBuildMul(e->builder, quotient, b, ""), "");
  *remainder = choose(e, is_zero, zero_like(a), *remainder);
  return quotient;
}

/* Whether rounding towards zero and towards minus infinity differ: the remainder is not 0 and has not b's sign. */
static LLVMValueRef rounds_down(const laze_llvm_emitter *e, laze_dtype compute, LLVMValueRef remainder,
                                LLVMValueRef b) {
  if (laze_dtype_kind(compute) == LAZE_KIND_UNSIGNED) return zero_like(integer_equals(e, remainder, 0));
  LLVMValueRef differ = LLVMBuildXor(e->builder, remainder, b, "");
  LLVMValueRef opposite = LLVMBuildICmp(e->builder, LLVMIntSLT, differ, zero_like(differ), "");
  LLVMValueRef nonzero = LLVMBuildICmp(e->builder, LLVMIntNE, remainder, zero_like(remainder), "");
  return LLVMBuildAnd(e->builder, opposite, nonzero, "");
}

LAZE_LOWERING(floor_divide) {
  if (laze_dtype_is_float(compute)) {
    LLVMValueRef exact = laze_lower_div(e, compute, operands);
    return laze_lower_floor(e, compute, &exact);
  }
  LLVMValueRef remainder, quotient = quotient_of(e, compute, operands, &remainder);
  LLVMValueRef less = LLVMBuildSub(e->builder, quotient, integer(quotient, 1), "");
  return choose(e, rounds_down(e, compute, remainder, operands[1]), less, quotient);
}

LAZE_LOWERING(trunc_divide) {
  if (laze_dtype_is_float(compute)) {
    LLVMValueRef exact = laze_lower_div(e, compute, operands);
    return laze_lower_trunc(e, compute, &exact);
  }
  LLVMValueRef remainder;
  return quotient_of(e, compute, operands, &remainder);
}

/* floor(log2(x)) of a positive finite x. */
static LLVMValueRef exponent_of(const laze_llvm_emitter *e, LLVMValueRef x) {
  LLVMValueRef tiny = below(e, x, 0x1p-1022);
  LLVMValueRef bits = laze_math_bits(e, choose(e, tiny, times_real(e, x, 0x1p54), x));
  LLVMValueRef exponent = integer_plus(e, shift_right(e, bits, 52), -1023);
  return choose(e, tiny, integer_plus(e, exponent, -54), exponent);
}

/* One step of long division: rest minus the largest multiple of divisor * 2^k, where k leaves a quotient of at most 52
 * bits. The quotient is off by one at most, and the remainder is a multiple of the divisor's last place below it, so
 * that the fused multiply-add is exact. */
static LLVMValueRef divide_step(const laze_llvm_emitter *e, LLVMValueRef rest, LLVMValueRef divisor) {
  LLVMValueRef gap = integer_minus(e, exponent_of(e, rest), exponent_of(e, divisor));
  LLVMValueRef k = integer_plus(e, gap, -50);
  k = choose(e, LLVMBuildICmp(e->builder, LLVMIntSGT, k, integer(k, 0), ""), k, integer(k, 0));
  /* The largest number by the smallest one: a power that laze_math_scale can still build. */
  k = choose(e, LLVMBuildICmp(e->builder, LLVMIntSLT, k, integer(k, 2046), ""), k, integer(k, 2046));
  LLVMValueRef scaled = laze_math_scale(e, divisor, k);
  LLVMValueRef quotient = truncated(e, over(e, rest, scaled));
  LLVMValueRef next = fused(e, negate(e, quotient), scaled, rest);
  return choose(e, below(e, next, 0), plus(e, next, scaled), next);
}

/* Repeats divide_step until every lane's rest is below its divisor. `active` lanes only; others keep their rest. */
static LLVMValueRef divide_loop(const laze_llvm_emitter *e, LLVMValueRef rest, LLVMValueRef divisor,
                                LLVMValueRef active) {
  LLVMBasicBlockRef start = LLVMGetInsertBlock(e->builder);
  LLVMValueRef function = LLVMGetBasicBlockParent(start);
  LLVMBasicBlockRef test = LLVMAppendBasicBlockInContext(e->context, function, "fmod_test");
  LLVMBasicBlockRef step = LLVMAppendBasicBlockInContext(e->context, function, "fmod_step");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, function, "fmod_done");
  LLVMBuildBr(e->builder, test);
  LLVMPositionBuilderAtEnd(e->builder, test);
  LLVMValueRef current = LLVMBuildPhi(e->builder, LLVMTypeOf(rest), "");
  LLVMValueRef unfinished = LLVMBuildFCmp(e->builder, LLVMRealOGE, current, divisor, "");
  unfinished = both(e, unfinished, active);
  LLVMBuildCondBr(e->builder, laze_math_any(e, unfinished), step, done);
  LLVMPositionBuilderAtEnd(e->builder, step);
  LLVMValueRef next = choose(e, unfinished, divide_step(e, current, divisor), current);
  LLVMBuildBr(e->builder, test);
  LLVMAddIncoming(current, (LLVMValueRef[]){rest, next}, (LLVMBasicBlockRef[]){start, step}, 2);
  LLVMPositionBuilderAtEnd(e->builder, done);
  return current;
}

static LLVMValueRef float_fmod(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef size = magnitude(e, x), divisor = magnitude(e, y);
  LLVMValueRef has_result = both(e, below(e, size, INFINITY), above(e, divisor, 0));
  LLVMValueRef active = both(e, has_result, below(e, divisor, INFINITY)); /* x mod infinity is x */
  LLVMValueRef rest = with_sign_of(e, divide_loop(e, size, divisor, active), x);
  return choose(e, has_result, rest, real(x, NAN));
}

LAZE_LOWERING(fmod) {
  if (laze_dtype_is_float(compute))
    return laze_math_is_f32(operands[0]) ? laze_math_in_f64(e, laze_lower_fmod, operands, 2) /* exact */
                                         : float_fmod(e, operands[0], operands[1]);
  LLVMValueRef remainder;
  quotient_of(e, compute, operands, &remainder);
  return remainder;
}

static LLVMValueRef float_remainder(const laze_llvm_emitter *e, laze_dtype compute, const LLVMValueRef *operands) {
  LLVMValueRef b = operands[1], r = laze_lower_fmod(e, compute, operands), zero = zero_like(b);
  LLVMValueRef nonzero = LLVMBuildFCmp(e->builder, LLVMRealUNE, r, zero, "");
  LLVMValueRef differ = LLVMBuildXor(e->builder, LLVMBuildFCmp(e->builder, LLVMRealOLT, r, zero, ""),
                                     LLVMBuildFCmp(e->builder, LLVMRealOLT, b, zero, ""), "");
  return choose(e, LLVMBuildAnd(e->builder, nonzero, differ, ""), LLVMBuildFAdd(e->builder, r, b, ""), r);
}

LAZE_LOWERING(remainder) {
  if (laze_dtype_is_float(compute)) return float_remainder(e, compute, operands);
  LLVMValueRef remainder;
  quotient_of(e, compute, operands, &remainder);
  LLVMValueRef raised = LLVMBuildAdd(e->builder, remainder, operands[1], "");
  return choose(e, rounds_down(e, compute, remainder, operands[1]), raised, remainder);
}

/* Euclid's algorithm on magnitudes, unsigned ones, until every lane's smaller number is 0. */
LAZE_LOWERING(gcd) {
  LLVMValueRef a = laze_lower_abs(e, compute, &operands[0]), b = laze_lower_abs(e, compute, &operands[1]);
  LLVMBasicBlockRef start = LLVMGetInsertBlock(e->builder);
  LLVMValueRef function = LLVMGetBasicBlockParent(start);
  LLVMBasicBlockRef test = LLVMAppendBasicBlockInContext(e->context, function, "gcd_test");
  LLVMBasicBlockRef step = LLVMAppendBasicBlockInContext(e->context, function, "gcd_step");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, function, "gcd_done");
  LLVMBuildBr(e->builder, test);
  LLVMPositionBuilderAtEnd(e->builder, test);
  LLVMValueRef larger = LLVMBuildPhi(e->builder, LLVMTypeOf(a), "");
  LLVMValueRef smaller = LLVMBuildPhi(e->builder, LLVMTypeOf(a), "");
  LLVMValueRef unfinished = LLVMBuildICmp(e->builder, LLVMIntNE, smaller, zero_like(smaller), "");
  LLVMBuildCondBr(e->builder, laze_math_any(e, unfinished), step, done);
  LLVMPositionBuilderAtEnd(e->builder, step);
  LLVMValueRef divisor = choose(e, unfinished, smaller, integer(smaller, 1));
  LLVMValueRef next[2] = {choose(e, unfinished, smaller, larger), LLVMBuildURem(e->builder, larger, divisor, "")};
  next[1] = choose(e, unfinished, next[1], zero_like(smaller));
  LLVMBuildBr(e->builder, test);
  LLVMAddIncoming(larger, (LLVMValueRef[]){a, next[0]}, (LLVMBasicBlockRef[]){start, step}, 2);
  LLVMAddIncoming(smaller, (LLVMValueRef[]){b, next[1]}, (LLVMBasicBlockRef[]){start, step}, 2);
  LLVMPositionBuilderAtEnd(e->builder, done);
  return larger;
}
