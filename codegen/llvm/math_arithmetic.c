/* Arithmetic by kind of dtype, and rounding to whole numbers. */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

LAZE_LOWERING(add) {
  if (laze_dtype_is_float(compute)) return LLVMBuildFAdd(e->builder, operands[0], operands[1], "");
  if (compute == LAZE_BOOL) return LLVMBuildOr(e->builder, operands[0], operands[1], "");
  return LLVMBuildAdd(e->builder, operands[0], operands[1], "");
}

LAZE_LOWERING(sub) {
  if (laze_dtype_is_float(compute)) return LLVMBuildFSub(e->builder, operands[0], operands[1], "");
  if (compute == LAZE_BOOL) return LLVMBuildXor(e->builder, operands[0], operands[1], "");
  return LLVMBuildSub(e->builder, operands[0], operands[1], "");
}

LAZE_LOWERING(mul) {
  if (laze_dtype_is_float(compute)) return LLVMBuildFMul(e->builder, operands[0], operands[1], "");
  if (compute == LAZE_BOOL) return LLVMBuildAnd(e->builder, operands[0], operands[1], "");
  return LLVMBuildMul(e->builder, operands[0], operands[1], "");
}

LAZE_LOWERING(div) {
  return over(e, operands[0], operands[1]);
}

LAZE_LOWERING(reciprocal) {
  return over(e, real(operands[0], 1), operands[0]);
}

/* Two selects rather than one on a combined condition: the inner one is a single instruction on x86. */
static LLVMValueRef extreme(const laze_llvm_emitter *e, LLVMRealPredicate order, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef picked = choose(e, LLVMBuildFCmp(e->builder, order, a, b, ""), a, b);
  return choose(e, LLVMBuildFCmp(e->builder, LLVMRealUNO, a, a, ""), a, picked);
}

LAZE_LOWERING(maximum) {
  LLVMValueRef a = operands[0], b = operands[1];
  if (laze_dtype_is_float(compute)) return extreme(e, LLVMRealOGT, a, b);
  if (compute == LAZE_BOOL) return LLVMBuildOr(e->builder, a, b, "");
  LLVMIntPredicate order = laze_dtype_kind(compute) == LAZE_KIND_SIGNED ? LLVMIntSGT : LLVMIntUGT;
  return choose(e, LLVMBuildICmp(e->builder, order, a, b, ""), a, b);
}

LAZE_LOWERING(minimum) {
  LLVMValueRef a = operands[0], b = operands[1];
  if (laze_dtype_is_float(compute)) return extreme(e, LLVMRealOLT, a, b);
  if (compute == LAZE_BOOL) return LLVMBuildAnd(e->builder, a, b, "");
  LLVMIntPredicate order = laze_dtype_kind(compute) == LAZE_KIND_SIGNED ? LLVMIntSLT : LLVMIntULT;
  return choose(e, LLVMBuildICmp(e->builder, order, a, b, ""), a, b);
}

LAZE_LOWERING(neg) {
  if (laze_dtype_is_float(compute)) return LLVMBuildFNeg(e->builder, operands[0], "");
  return compute == LAZE_BOOL ? operands[0] : LLVMBuildNeg(e->builder, operands[0], "");
}

LAZE_LOWERING(abs) {
  LLVMValueRef a = operands[0];
  if (laze_dtype_is_float(compute)) return magnitude(e, a);
  if (laze_dtype_kind(compute) != LAZE_KIND_SIGNED) return a;
  LLVMValueRef negative = LLVMBuildICmp(e->builder, LLVMIntSLT, a, zero_like(a), "");
  return choose(e, negative, LLVMBuildNeg(e->builder, a, ""), a);
}

LAZE_LOWERING(sign) {
  LLVMValueRef a = operands[0], zero = zero_like(a);
  if (compute == LAZE_BOOL) return a;
  if (laze_dtype_is_float(compute)) {
    LLVMValueRef sign = choose(e, below(e, a, 0), real(a, -1), zero);
    sign = choose(e, above(e, a, 0), real(a, 1), sign);
    return choose(e, LLVMBuildFCmp(e->builder, LLVMRealUNO, a, a, ""), a, sign);
  }
  if (laze_dtype_kind(compute) == LAZE_KIND_UNSIGNED) return choose(e, integer_equals(e, a, 0), zero, integer(a, 1));
  LLVMValueRef sign = choose(e, LLVMBuildICmp(e->builder, LLVMIntSLT, a, zero, ""), integer(a, -1), zero);
  return choose(e, LLVMBuildICmp(e->builder, LLVMIntSGT, a, zero, ""), integer(a, 1), sign);
}

/* Integers are whole. */
static LLVMValueRef rounded(const laze_llvm_emitter *e, laze_dtype compute, LLVMValueRef x, const char *intrinsic) {
  return laze_dtype_is_float(compute) ? laze_llvm_intrinsic(e, intrinsic, &x, 1) : x;
}

LAZE_LOWERING(ceil) {
  return rounded(e, compute, operands[0], "llvm.ceil");
}
LAZE_LOWERING(floor) {
  return rounded(e, compute, operands[0], "llvm.floor");
}
LAZE_LOWERING(trunc) {
  return rounded(e, compute, operands[0], "llvm.trunc");
}
LAZE_LOWERING(round) {
  return rounded(e, compute, operands[0], "llvm.roundeven");
}
