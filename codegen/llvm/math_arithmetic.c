/* Arithmetic, by kind of dtype. */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_functions.h"

static LLVMValueRef integer_like(LLVMValueRef like, int64_t value) {
  return laze_llvm_integer(LLVMTypeOf(like), value);
}
static LLVMValueRef zero_like(LLVMValueRef like) {
  return LLVMConstNull(LLVMTypeOf(like));
}
static LLVMValueRef equals(const laze_llvm_emitter *e, LLVMValueRef a, int64_t value) {
  return LLVMBuildICmp(e->builder, LLVMIntEQ, a, integer_like(a, value), "");
}
static LLVMValueRef choose(const laze_llvm_emitter *e, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(e->builder, condition, a, b, "");
}

LAZE_LOWERING(add) {
  (void)count;
  if (laze_dtype_is_float(compute)) return LLVMBuildFAdd(e->builder, operands[0], operands[1], "");
  if (compute == LAZE_BOOL) return LLVMBuildOr(e->builder, operands[0], operands[1], "");
  return LLVMBuildAdd(e->builder, operands[0], operands[1], "");
}

LAZE_LOWERING(sub) {
  (void)count;
  if (laze_dtype_is_float(compute)) return LLVMBuildFSub(e->builder, operands[0], operands[1], "");
  if (compute == LAZE_BOOL) return LLVMBuildXor(e->builder, operands[0], operands[1], "");
  return LLVMBuildSub(e->builder, operands[0], operands[1], "");
}

LAZE_LOWERING(mul) {
  (void)count;
  if (laze_dtype_is_float(compute)) return LLVMBuildFMul(e->builder, operands[0], operands[1], "");
  if (compute == LAZE_BOOL) return LLVMBuildAnd(e->builder, operands[0], operands[1], "");
  return LLVMBuildMul(e->builder, operands[0], operands[1], "");
}

LAZE_LOWERING(div) {
  (void)compute, (void)count;
  return LLVMBuildFDiv(e->builder, operands[0], operands[1], "");
}

LAZE_LOWERING(reciprocal) {
  (void)compute, (void)count;
  return LLVMBuildFDiv(e->builder, laze_llvm_real(LLVMTypeOf(operands[0]), 1), operands[0], "");
}

/* a / b towards zero, for b neither 0 nor -1. The f64 quotient of two i32 never rounds across an integer, and unlike
 * integers f64 divide in lanes. */
static LLVMValueRef safe_quotient(const laze_llvm_emitter *e, laze_dtype compute, LLVMValueRef a, LLVMValueRef b) {
  if (compute != LAZE_I32) return LLVMBuildSDiv(e->builder, a, b, "");
  LLVMTypeRef wide = laze_llvm_type_like(e, LAZE_F64, a);
  LLVMValueRef quotient =
      LLVMBuildFDiv(e->builder, LLVMBuildSIToFP(e->builder, a, wide, ""), LLVMBuildSIToFP(e->builder, b, wide, ""), "");
  return LLVMBuildFPToSI(e->builder, quotient, LLVMTypeOf(a), "");
}

/* a / b towards zero for all integers; *remainder = a - quotient * b, or 0 where b is 0. */
static LLVMValueRef quotient_of(const laze_llvm_emitter *e, laze_dtype compute, const LLVMValueRef *operands,
                                LLVMValueRef *remainder) {
  LLVMValueRef a = operands[0], b = operands[1];
  LLVMValueRef is_zero = equals(e, b, 0), is_minus = equals(e, b, -1);
  LLVMValueRef special = LLVMBuildOr(e->builder, is_zero, is_minus, "");
  LLVMValueRef quotient = safe_quotient(e, compute, a, choose(e, special, integer_like(b, 1), b));
  quotient = choose(e, is_minus, LLVMBuildNeg(e->builder, a, ""), quotient);
  quotient = choose(e, is_zero, zero_like(a), quotient);
  *remainder = LLVMBuildSub(e->builder, a, LLVMBuildMul(e->builder, quotient, b, ""), "");
  *remainder = choose(e, is_zero, zero_like(a), *remainder);
  return quotient;
}

/* Whether rounding towards zero and towards minus infinity differ: the remainder is not 0 and has not b's sign. */
static LLVMValueRef rounds_down(const laze_llvm_emitter *e, LLVMValueRef remainder, LLVMValueRef b) {
  LLVMValueRef differ = LLVMBuildXor(e->builder, remainder, b, "");
  LLVMValueRef opposite = LLVMBuildICmp(e->builder, LLVMIntSLT, differ, zero_like(differ), "");
  LLVMValueRef nonzero = LLVMBuildICmp(e->builder, LLVMIntNE, remainder, zero_like(remainder), "");
  return LLVMBuildAnd(e->builder, opposite, nonzero, "");
}

LAZE_LOWERING(floor_divide) {
  if (laze_dtype_is_float(compute)) return laze_math_floor(e, laze_lower_div(e, compute, operands, count));
  LLVMValueRef remainder, quotient = quotient_of(e, compute, operands, &remainder);
  LLVMValueRef less = LLVMBuildSub(e->builder, quotient, integer_like(quotient, 1), "");
  return choose(e, rounds_down(e, remainder, operands[1]), less, quotient);
}

LAZE_LOWERING(trunc_divide) {
  if (laze_dtype_is_float(compute)) return laze_math_trunc(e, laze_lower_div(e, compute, operands, count));
  LLVMValueRef remainder;
  return quotient_of(e, compute, operands, &remainder);
}

static LLVMValueRef float_remainder(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef r = laze_math_fmod(e, a, b), zero = zero_like(a);
  LLVMValueRef nonzero = LLVMBuildFCmp(e->builder, LLVMRealUNE, r, zero, "");
  LLVMValueRef differ = LLVMBuildXor(e->builder, LLVMBuildFCmp(e->builder, LLVMRealOLT, r, zero, ""),
                                     LLVMBuildFCmp(e->builder, LLVMRealOLT, b, zero, ""), "");
  return choose(e, LLVMBuildAnd(e->builder, nonzero, differ, ""), LLVMBuildFAdd(e->builder, r, b, ""), r);
}

LAZE_LOWERING(remainder) {
  (void)count;
  if (laze_dtype_is_float(compute)) return float_remainder(e, operands[0], operands[1]);
  LLVMValueRef remainder;
  quotient_of(e, compute, operands, &remainder);
  LLVMValueRef raised = LLVMBuildAdd(e->builder, remainder, operands[1], "");
  return choose(e, rounds_down(e, remainder, operands[1]), raised, remainder);
}

LAZE_LOWERING(fmod) {
  (void)count;
  if (laze_dtype_is_float(compute)) return laze_math_fmod(e, operands[0], operands[1]);
  LLVMValueRef remainder;
  quotient_of(e, compute, operands, &remainder);
  return remainder;
}

/* base^exponent by squaring, one step a bit of the width; only the exponent's sign bit is left out. */
static LLVMValueRef integer_power(const laze_llvm_emitter *e, LLVMValueRef base, LLVMValueRef exponent, int width) {
  LLVMValueRef result = integer_like(base, 1), square = base;
  for (int bit = 0; bit < width - 1; bit++) {
    LLVMValueRef set = LLVMBuildAnd(e->builder, exponent, integer_like(exponent, INT64_C(1) << bit), "");
    LLVMValueRef taken = LLVMBuildICmp(e->builder, LLVMIntNE, set, zero_like(set), "");
    result = choose(e, taken, LLVMBuildMul(e->builder, result, square, ""), result);
    square = LLVMBuildMul(e->builder, square, square, "");
  }
  LLVMValueRef odd = LLVMBuildTrunc(e->builder, exponent, laze_llvm_type_like(e, LAZE_BOOL, exponent), "");
  LLVMValueRef one = integer_like(base, 1);
  LLVMValueRef inverse = choose(e, equals(e, base, -1), choose(e, odd, base, one), zero_like(base));
  inverse = choose(e, equals(e, base, 1), one, inverse);
  LLVMValueRef negative = LLVMBuildICmp(e->builder, LLVMIntSLT, exponent, zero_like(exponent), "");
  return choose(e, negative, inverse, result);
}

LAZE_LOWERING(pow) {
  (void)count;
  if (laze_dtype_is_float(compute)) return laze_math_pow(e, operands[0], operands[1]);
  return integer_power(e, operands[0], operands[1], compute == LAZE_I32 ? 32 : 64);
}

/* Two selects rather than one on a combined condition: the inner one is a single instruction on x86. */
static LLVMValueRef extreme(const laze_llvm_emitter *e, LLVMRealPredicate order, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef picked = choose(e, LLVMBuildFCmp(e->builder, order, a, b, ""), a, b);
  return choose(e, LLVMBuildFCmp(e->builder, LLVMRealUNO, a, a, ""), a, picked);
}

LAZE_LOWERING(maximum) {
  (void)count;
  LLVMValueRef a = operands[0], b = operands[1];
  if (laze_dtype_is_float(compute)) return extreme(e, LLVMRealOGT, a, b);
  if (compute == LAZE_BOOL) return LLVMBuildOr(e->builder, a, b, "");
  return choose(e, LLVMBuildICmp(e->builder, LLVMIntSGT, a, b, ""), a, b);
}

LAZE_LOWERING(minimum) {
  (void)count;
  LLVMValueRef a = operands[0], b = operands[1];
  if (laze_dtype_is_float(compute)) return extreme(e, LLVMRealOLT, a, b);
  if (compute == LAZE_BOOL) return LLVMBuildAnd(e->builder, a, b, "");
  return choose(e, LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, ""), a, b);
}

LAZE_LOWERING(neg) {
  (void)count;
  if (laze_dtype_is_float(compute)) return LLVMBuildFNeg(e->builder, operands[0], "");
  return compute == LAZE_BOOL ? operands[0] : LLVMBuildNeg(e->builder, operands[0], "");
}

LAZE_LOWERING(abs) {
  (void)count;
  LLVMValueRef a = operands[0];
  if (laze_dtype_is_float(compute)) return laze_math_fabs(e, a);
  if (compute == LAZE_BOOL) return a;
  LLVMValueRef negative = LLVMBuildICmp(e->builder, LLVMIntSLT, a, zero_like(a), "");
  return choose(e, negative, LLVMBuildNeg(e->builder, a, ""), a);
}

LAZE_LOWERING(sign) {
  (void)count;
  LLVMValueRef a = operands[0], zero = zero_like(a);
  if (compute == LAZE_BOOL) return a;
  if (laze_dtype_is_float(compute)) {
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef below = choose(e, LLVMBuildFCmp(e->builder, LLVMRealOLT, a, zero, ""), laze_llvm_real(type, -1), zero);
    LLVMValueRef sign = choose(e, LLVMBuildFCmp(e->builder, LLVMRealOGT, a, zero, ""), laze_llvm_real(type, 1), below);
    return choose(e, LLVMBuildFCmp(e->builder, LLVMRealUNO, a, a, ""), a, sign);
  }
  LLVMValueRef below = choose(e, LLVMBuildICmp(e->builder, LLVMIntSLT, a, zero, ""), integer_like(a, -1), zero);
  return choose(e, LLVMBuildICmp(e->builder, LLVMIntSGT, a, zero, ""), integer_like(a, 1), below);
}
