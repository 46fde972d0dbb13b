/* Complex numbers, which are two floats beside each other, as their bits: taken apart and put together. Lanes are seen
 * as twice as many floats, so that both are a permutation of elements and no shifts.
 *
 *   lanes   r0 i0 r1 i1 ... r15 i15   ── real ──>  r0 r1 ... r15
 *                                     ── imag ──>  i0 i1 ... i15
 */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

static bool is_lanes(LLVMValueRef value) {
  return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
}

static LLVMValueRef permuted(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b, const int *places, int count) {
  LLVMValueRef mask[2 * LAZE_LANES];
  LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
  for (int i = 0; i < count; i++) mask[i] = LLVMConstInt(i32, (unsigned long long)places[i], false);
  return LLVMBuildShuffleVector(e->builder, a, b, LLVMConstVector(mask, (unsigned)count), "");
}

LLVMValueRef laze_math_part(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, int which) {
  LLVMTypeRef part = laze_llvm_scalar_type(e, laze_dtype_part(from));
  bool lanes = is_lanes(value);
  LLVMTypeRef floats = LLVMVectorType(part, lanes ? 2 * LAZE_LANES : 2);
  LLVMValueRef parts = LLVMBuildBitCast(e->builder, value, floats, "");
  if (!lanes)
    return LLVMBuildExtractElement(
        e->builder, parts, LLVMConstInt(LLVMInt32TypeInContext(e->context), (unsigned long long)which, false), "");
  int places[LAZE_LANES];
  for (int i = 0; i < LAZE_LANES; i++) places[i] = 2 * i + which;
  return permuted(e, parts, LLVMGetPoison(floats), places, LAZE_LANES);
}

LLVMValueRef laze_math_pair(const laze_llvm_emitter *e, LLVMValueRef real_part, LLVMValueRef imaginary, laze_dtype to) {
  LLVMTypeRef type = laze_llvm_type_like(e, to, real_part);
  if (!is_lanes(real_part)) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
    LLVMValueRef parts = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(real_part), 2));
    parts = LLVMBuildInsertElement(e->builder, parts, real_part, LLVMConstInt(i32, 0, false), "");
    parts = LLVMBuildInsertElement(e->builder, parts, imaginary, LLVMConstInt(i32, 1, false), "");
    return LLVMBuildBitCast(e->builder, parts, type, "");
  }
  int places[2 * LAZE_LANES];
  for (int i = 0; i < 2 * LAZE_LANES; i++) places[i] = i / 2 + (i & 1) * LAZE_LANES;
  return LLVMBuildBitCast(e->builder, permuted(e, real_part, imaginary, places, 2 * LAZE_LANES), type, "");
}

LAZE_LOWERING(real) {
  return laze_dtype_is_complex(compute) ? laze_math_part(e, operands[0], compute, 0) : operands[0];
}

LAZE_LOWERING(imag) {
  return laze_math_part(e, operands[0], compute, 1);
}

LAZE_LOWERING(complex) {
  return laze_math_pair(e, operands[0], operands[1], laze_dtype_paired(compute));
}
