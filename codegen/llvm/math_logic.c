/* Comparisons, logic, bits, selection. */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_functions.h"

#include <math.h>

/* Integers compare signed, bool unsigned (i1 true is -1 where signed). */
static LLVMValueRef compare(const laze_llvm_emitter *e, laze_dtype compute, const LLVMValueRef *operands,
                            LLVMRealPredicate real, LLVMIntPredicate sign, LLVMIntPredicate unsign) {
  if (laze_dtype_is_float(compute)) return LLVMBuildFCmp(e->builder, real, operands[0], operands[1], "");
  return LLVMBuildICmp(e->builder, compute == LAZE_BOOL ? unsign : sign, operands[0], operands[1], "");
}

LAZE_LOWERING(eq) {
  (void)count;
  return compare(e, compute, operands, LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ);
}
LAZE_LOWERING(ne) {
  (void)count;
  return compare(e, compute, operands, LLVMRealUNE, LLVMIntNE, LLVMIntNE);
}
LAZE_LOWERING(lt) {
  (void)count;
  return compare(e, compute, operands, LLVMRealOLT, LLVMIntSLT, LLVMIntULT);
}
LAZE_LOWERING(le) {
  (void)count;
  return compare(e, compute, operands, LLVMRealOLE, LLVMIntSLE, LLVMIntULE);
}
LAZE_LOWERING(gt) {
  (void)count;
  return compare(e, compute, operands, LLVMRealOGT, LLVMIntSGT, LLVMIntUGT);
}
LAZE_LOWERING(ge) {
  (void)count;
  return compare(e, compute, operands, LLVMRealOGE, LLVMIntSGE, LLVMIntUGE);
}

static LLVMValueRef boolean_like(const laze_llvm_emitter *e, LLVMValueRef like, bool value) {
  return laze_llvm_integer(laze_llvm_type_like(e, LAZE_BOOL, like), value);
}

/* |a| compared with infinity; `otherwise` for dtypes that have none. */
static LLVMValueRef against_infinity(const laze_llvm_emitter *e, laze_dtype compute, LLVMValueRef a,
                                     LLVMRealPredicate predicate, bool otherwise) {
  if (!laze_dtype_is_float(compute)) return boolean_like(e, a, otherwise);
  return LLVMBuildFCmp(e->builder, predicate, laze_math_fabs(e, a), laze_llvm_real(LLVMTypeOf(a), INFINITY), "");
}

LAZE_LOWERING(isnan) {
  (void)count;
  if (!laze_dtype_is_float(compute)) return boolean_like(e, operands[0], false);
  return LLVMBuildFCmp(e->builder, LLVMRealUNO, operands[0], operands[0], "");
}
LAZE_LOWERING(isinf) {
  (void)count;
  return against_infinity(e, compute, operands[0], LLVMRealOEQ, false);
}
LAZE_LOWERING(isfinite) {
  (void)count;
  return against_infinity(e, compute, operands[0], LLVMRealOLT, true);
}

LAZE_LOWERING(where) {
  (void)compute, (void)count;
  return LLVMBuildSelect(e->builder, operands[0], operands[1], operands[2], "");
}

LAZE_LOWERING(bitwise_and) {
  (void)compute, (void)count;
  return LLVMBuildAnd(e->builder, operands[0], operands[1], "");
}
LAZE_LOWERING(bitwise_or) {
  (void)compute, (void)count;
  return LLVMBuildOr(e->builder, operands[0], operands[1], "");
}
LAZE_LOWERING(bitwise_xor) {
  (void)compute, (void)count;
  return LLVMBuildXor(e->builder, operands[0], operands[1], "");
}
LAZE_LOWERING(bitwise_not) {
  (void)compute, (void)count;
  return LLVMBuildNot(e->builder, operands[0], "");
}

/* The logical ones compute in bool, where they are the bitwise ones. */
LAZE_LOWERING(logical_and) {
  return laze_lower_bitwise_and(e, compute, operands, count);
}
LAZE_LOWERING(logical_or) {
  return laze_lower_bitwise_or(e, compute, operands, count);
}
LAZE_LOWERING(logical_xor) {
  return laze_lower_bitwise_xor(e, compute, operands, count);
}
LAZE_LOWERING(logical_not) {
  return laze_lower_bitwise_not(e, compute, operands, count);
}

/* Whether a shift count is in range, and that count or 0: a larger one would be poison. */
static LLVMValueRef shift_count(const laze_llvm_emitter *e, laze_dtype compute, LLVMValueRef by, int64_t otherwise,
                                LLVMValueRef *in_range) {
  LLVMValueRef width = laze_llvm_integer(LLVMTypeOf(by), compute == LAZE_I32 ? 32 : 64);
  *in_range = LLVMBuildICmp(e->builder, LLVMIntULT, by, width, "");
  return LLVMBuildSelect(e->builder, *in_range, by, laze_llvm_integer(LLVMTypeOf(by), otherwise), "");
}

LAZE_LOWERING(shift_left) {
  (void)count;
  LLVMValueRef in_range, by = shift_count(e, compute, operands[1], 0, &in_range);
  LLVMValueRef shifted = LLVMBuildShl(e->builder, operands[0], by, "");
  return LLVMBuildSelect(e->builder, in_range, shifted, LLVMConstNull(LLVMTypeOf(shifted)), "");
}

LAZE_LOWERING(shift_right) {
  (void)count;
  LLVMValueRef in_range, by = shift_count(e, compute, operands[1], compute == LAZE_I32 ? 31 : 63, &in_range);
  return LLVMBuildAShr(e->builder, operands[0], by, "");
}
