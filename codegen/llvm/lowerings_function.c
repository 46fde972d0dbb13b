/* Functions of one float, from math.h; random bits; conversions. */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_functions.h"

/* Rounding leaves integers as they are. */
LAZE_LOWERING(ceil) {
  (void)count;
  return laze_dtype_is_float(compute) ? laze_math_ceil(e, operands[0]) : operands[0];
}
LAZE_LOWERING(floor) {
  (void)count;
  return laze_dtype_is_float(compute) ? laze_math_floor(e, operands[0]) : operands[0];
}
LAZE_LOWERING(trunc) {
  (void)count;
  return laze_dtype_is_float(compute) ? laze_math_trunc(e, operands[0]) : operands[0];
}
LAZE_LOWERING(round) {
  (void)count;
  return laze_dtype_is_float(compute) ? laze_math_rint(e, operands[0]) : operands[0];
}

LAZE_LOWERING(rsqrt) {
  (void)compute, (void)count;
  return LLVMBuildFDiv(e->builder, laze_llvm_real(LLVMTypeOf(operands[0]), 1), laze_math_sqrt(e, operands[0]), "");
}
LAZE_LOWERING(atan2) {
  (void)compute, (void)count;
  return laze_math_atan2(e, operands[0], operands[1]);
}
LAZE_LOWERING(sqrt) {
  (void)compute, (void)count;
  return laze_math_sqrt(e, operands[0]);
}
LAZE_LOWERING(exp) {
  (void)compute, (void)count;
  return laze_math_exp(e, operands[0]);
}
LAZE_LOWERING(exp2) {
  (void)compute, (void)count;
  return laze_math_exp2(e, operands[0]);
}
LAZE_LOWERING(expm1) {
  (void)compute, (void)count;
  return laze_math_expm1(e, operands[0]);
}
LAZE_LOWERING(log) {
  (void)compute, (void)count;
  return laze_math_log(e, operands[0]);
}
LAZE_LOWERING(log2) {
  (void)compute, (void)count;
  return laze_math_log2(e, operands[0]);
}
LAZE_LOWERING(log10) {
  (void)compute, (void)count;
  return laze_math_log10(e, operands[0]);
}
LAZE_LOWERING(log1p) {
  (void)compute, (void)count;
  return laze_math_log1p(e, operands[0]);
}
LAZE_LOWERING(sin) {
  (void)compute, (void)count;
  return laze_math_sin(e, operands[0]);
}
LAZE_LOWERING(cos) {
  (void)compute, (void)count;
  return laze_math_cos(e, operands[0]);
}
LAZE_LOWERING(tan) {
  (void)compute, (void)count;
  return laze_math_tan(e, operands[0]);
}
LAZE_LOWERING(asin) {
  (void)compute, (void)count;
  return laze_math_asin(e, operands[0]);
}
LAZE_LOWERING(acos) {
  (void)compute, (void)count;
  return laze_math_acos(e, operands[0]);
}
LAZE_LOWERING(atan) {
  (void)compute, (void)count;
  return laze_math_atan(e, operands[0]);
}
LAZE_LOWERING(sinh) {
  (void)compute, (void)count;
  return laze_math_sinh(e, operands[0]);
}
LAZE_LOWERING(cosh) {
  (void)compute, (void)count;
  return laze_math_cosh(e, operands[0]);
}
LAZE_LOWERING(tanh) {
  (void)compute, (void)count;
  return laze_math_tanh(e, operands[0]);
}
LAZE_LOWERING(erf) {
  (void)compute, (void)count;
  return laze_math_erf(e, operands[0]);
}
LAZE_LOWERING(erfc) {
  (void)compute, (void)count;
  return laze_math_erfc(e, operands[0]);
}
LAZE_LOWERING(sigmoid) {
  (void)compute, (void)count;
  return laze_math_sigmoid(e, operands[0]);
}

/* Words of Philox are kept in i64 with the upper half zero: then a product of two is one 32x32->64 multiplication. */
static LLVMValueRef low_word(const laze_llvm_emitter *e, LLVMValueRef x) {
  return LLVMBuildAnd(e->builder, x, laze_llvm_integer(LLVMTypeOf(x), 0xFFFFFFFF), "");
}
static LLVMValueRef high_word(const laze_llvm_emitter *e, LLVMValueRef x) {
  return LLVMBuildLShr(e->builder, x, laze_llvm_integer(LLVMTypeOf(x), 32), "");
}
static LLVMValueRef mixed(const laze_llvm_emitter *e, LLVMValueRef product, LLVMValueRef word, LLVMValueRef key) {
  return LLVMBuildXor(e->builder, LLVMBuildXor(e->builder, high_word(e, product), word, ""), key, "");
}
static LLVMValueRef next_key(const laze_llvm_emitter *e, LLVMValueRef key, int64_t weyl) {
  return low_word(e, LLVMBuildAdd(e->builder, key, laze_llvm_integer(LLVMTypeOf(key), weyl), ""));
}
static LLVMValueRef times(const laze_llvm_emitter *e, LLVMValueRef word, int64_t multiplier) {
  return LLVMBuildMul(e->builder, word, laze_llvm_integer(LLVMTypeOf(word), multiplier), "");
}

LAZE_LOWERING(philox) {
  (void)compute, (void)count;
  LLVMValueRef key0 = low_word(e, operands[0]), key1 = high_word(e, operands[0]);
  LLVMValueRef x0 = low_word(e, operands[1]), x1 = high_word(e, operands[1]);
  LLVMValueRef x2 = LLVMConstNull(LLVMTypeOf(x0)), x3 = x2;
  for (int round = 0; round < 10; round++) {
    LLVMValueRef product0 = times(e, x0, 0xD2511F53), product1 = times(e, x2, 0xCD9E8D57);
    x0 = mixed(e, product1, x1, key0);
    x1 = low_word(e, product1);
    x2 = mixed(e, product0, x3, key1);
    x3 = low_word(e, product0);
    key0 = next_key(e, key0, 0x9E3779B9);
    key1 = next_key(e, key1, 0xBB67AE85);
  }
  LLVMValueRef upper = LLVMBuildShl(e->builder, x1, laze_llvm_integer(LLVMTypeOf(x1), 32), "");
  return LLVMBuildOr(e->builder, upper, x0, "");
}

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
