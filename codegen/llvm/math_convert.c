/* Conversions between dtypes. */
#include "codegen/llvm/lowerings.h"

static LLVMValueRef real_to_integer(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, laze_dtype to) {
  LLVMTypeRef type = LLVMTypeOf(value), integers = laze_llvm_type_like(e, to, value);
  double limit = to == LAZE_I32 ? 0x1p31 : 0x1p63;
  /* f64 just below -2^31 still truncates into i32; the next f32, and for i64 any other float, lies outside. */
  bool fraction = to == LAZE_I32 && from == LAZE_F64;
  LLVMValueRef above = LLVMBuildFCmp(e->builder, fraction ? LLVMRealOGT : LLVMRealOGE, value,
                                     laze_llvm_real(type, -limit - fraction), "");
  LLVMValueRef below = LLVMBuildFCmp(e->builder, LLVMRealOLT, value, laze_llvm_real(type, limit), "");
  LLVMValueRef valid = LLVMBuildAnd(e->builder, above, below, "");
  /* The select comes first: a conversion out of range would be poison. */
  LLVMValueRef safe = LLVMBuildSelect(e->builder, valid, value, LLVMConstNull(type), "");
  LLVMValueRef lowest = laze_llvm_integer(integers, to == LAZE_I32 ? INT32_MIN : INT64_MIN);
  return LLVMBuildSelect(e->builder, valid, LLVMBuildFPToSI(e->builder, safe, integers, ""), lowest, "");
}

LLVMValueRef laze_math_convert(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, laze_dtype to) {
  if (from == to) return value;
  LLVMTypeRef type = laze_llvm_type_like(e, to, value);
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
  bool real = laze_dtype_is_float(from);
  if (to == LAZE_BOOL)
    return real ? LLVMBuildFCmp(e->builder, LLVMRealUNE, value, zero, "")
                : LLVMBuildICmp(e->builder, LLVMIntNE, value, zero, "");
  if (real && laze_dtype_is_float(to)) return LLVMBuildFPCast(e->builder, value, type, "");
  if (real) return real_to_integer(e, value, from, to);
  if (laze_dtype_is_float(to))
    return from == LAZE_BOOL ? LLVMBuildUIToFP(e->builder, value, type, "")
                             : LLVMBuildSIToFP(e->builder, value, type, "");
  if (from == LAZE_BOOL) return LLVMBuildZExt(e->builder, value, type, "");
  return to == LAZE_I64 ? LLVMBuildSExt(e->builder, value, type, "") : LLVMBuildTrunc(e->builder, value, type, "");
}
