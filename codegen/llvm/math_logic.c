/* Comparisons, logic, bits, selection. */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

/* What is no signed integer compares unsigned, bool too (i1 true is -1 where signed). */
static LLVMValueRef compare(const laze_llvm_emitter *e, laze_dtype compute, const LLVMValueRef *operands,
                            LLVMRealPredicate order, LLVMIntPredicate sign, LLVMIntPredicate unsign) {
  if (laze_dtype_is_float(compute)) return LLVMBuildFCmp(e->builder, order, operands[0], operands[1], "");
  return LLVMBuildICmp(e->builder, laze_dtype_kind(compute) == LAZE_KIND_SIGNED ? sign : unsign, operands[0],
                       operands[1], "");
}

LAZE_LOWERING(eq) {
  return compare(e, compute, operands, LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ);
}
LAZE_LOWERING(ne) {
  return compare(e, compute, operands, LLVMRealUNE, LLVMIntNE, LLVMIntNE);
}
LAZE_LOWERING(lt) {
  return compare(e, compute, operands, LLVMRealOLT, LLVMIntSLT, LLVMIntULT);
}
LAZE_LOWERING(le) {
  return compare(e, compute, operands, LLVMRealOLE, LLVMIntSLE, LLVMIntULE);
}
LAZE_LOWERING(gt) {
  return compare(e, compute, operands, LLVMRealOGT, LLVMIntSGT, LLVMIntUGT);
}
LAZE_LOWERING(ge) {
  return compare(e, compute, operands, LLVMRealOGE, LLVMIntSGE, LLVMIntUGE);
}

static LLVMValueRef boolean_like(const laze_llvm_emitter *e, LLVMValueRef like, bool value) {
  return laze_llvm_integer(laze_llvm_type_like(e, LAZE_BOOL, like), value);
}

/* |a| compared with infinity; `otherwise` for dtypes that have none. */
static LLVMValueRef against_infinity(const laze_llvm_emitter *e, laze_dtype compute, LLVMValueRef a,
                                     LLVMRealPredicate predicate, bool otherwise) {
  if (!laze_dtype_is_float(compute)) return boolean_like(e, a, otherwise);
  return LLVMBuildFCmp(e->builder, predicate, magnitude(e, a), real(a, INFINITY), "");
}

LAZE_LOWERING(isnan) {
  if (!laze_dtype_is_float(compute)) return boolean_like(e, operands[0], false);
  return LLVMBuildFCmp(e->builder, LLVMRealUNO, operands[0], operands[0], "");
}
LAZE_LOWERING(isinf) {
  return against_infinity(e, compute, operands[0], LLVMRealOEQ, false);
}
LAZE_LOWERING(isfinite) {
  return against_infinity(e, compute, operands[0], LLVMRealOLT, true);
}

LAZE_LOWERING(where) {
  return LLVMBuildSelect(e->builder, operands[0], operands[1], operands[2], "");
}

/* Logic computes in bool, bits in what the operands promote to: the same instructions. */
LAZE_LOWERING(and) {
  return LLVMBuildAnd(e->builder, operands[0], operands[1], "");
}
LAZE_LOWERING(or) {
  return LLVMBuildOr(e->builder, operands[0], operands[1], "");
}
LAZE_LOWERING(xor) {
  return LLVMBuildXor(e->builder, operands[0], operands[1], "");
}
LAZE_LOWERING(not ) {
  return LLVMBuildNot(e->builder, operands[0], "");
}

/* Whether a shift count is in range, and that count or 0: a larger one would be poison. */
static LLVMValueRef shift_count(const laze_llvm_emitter *e, laze_dtype compute, LLVMValueRef by, int64_t otherwise,
                                LLVMValueRef *in_range) {
  LLVMValueRef width = integer(by, laze_dtype_get(compute)->bits);
  *in_range = LLVMBuildICmp(e->builder, LLVMIntULT, by, width, "");
  return LLVMBuildSelect(e->builder, *in_range, by, integer(by, otherwise), "");
}

LAZE_LOWERING(shift_left) {
  LLVMValueRef in_range, by = shift_count(e, compute, operands[1], 0, &in_range);
  LLVMValueRef shifted = LLVMBuildShl(e->builder, operands[0], by, "");
  return LLVMBuildSelect(e->builder, in_range, shifted, zero_like(shifted), "");
}

LAZE_LOWERING(shift_right) {
  bool is_signed = laze_dtype_kind(compute) == LAZE_KIND_SIGNED;
  LLVMValueRef in_range, by;
  by = shift_count(e, compute, operands[1], is_signed ? laze_dtype_get(compute)->bits - 1 : 0, &in_range);
  if (!is_signed) {
    LLVMValueRef shifted = LLVMBuildLShr(e->builder, operands[0], by, "");
    return LLVMBuildSelect(e->builder, in_range, shifted, zero_like(shifted), "");
  }
  return LLVMBuildAShr(e->builder, operands[0], by, "");
}
