/* Types and constants like those of a value beside them, scalar or lanes, and calls of intrinsics. */
#include "codegen/llvm/emitter.h"

#include <assert.h>
#include <string.h>

#define TYPE_OF(with, id, name, kind, bits, digits, c_type, llvm, ...)                                                 \
  case LAZE_##id: return LLVM##llvm##TypeInContext(emitter->context);

LLVMTypeRef laze_llvm_scalar_type(const laze_llvm_emitter *emitter, laze_dtype dtype) {
  switch (dtype) { LAZE_DTYPES(TYPE_OF, ) }
  assert(!"no dtype");
  return NULL;
}

static bool is_vector(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

LLVMTypeRef laze_llvm_type_like(const laze_llvm_emitter *emitter, laze_dtype dtype, LLVMValueRef like) {
  LLVMTypeRef scalar = laze_llvm_scalar_type(emitter, dtype);
  LLVMTypeRef shape = LLVMTypeOf(like);
  return is_vector(shape) ? LLVMVectorType(scalar, LLVMGetVectorSize(shape)) : scalar;
}

static LLVMValueRef splat_constant(LLVMTypeRef type, LLVMValueRef element) {
  if (!is_vector(type)) return element;
  LLVMValueRef elements[LAZE_LANES];
  assert(LLVMGetVectorSize(type) == LAZE_LANES);
  for (int i = 0; i < LAZE_LANES; i++) elements[i] = element;
  return LLVMConstVector(elements, LAZE_LANES);
}

static LLVMTypeRef element_type(LLVMTypeRef type) {
  return is_vector(type) ? LLVMGetElementType(type) : type;
}

LLVMValueRef laze_llvm_real(LLVMTypeRef type, double value) {
  return splat_constant(type, LLVMConstReal(element_type(type), value));
}

LLVMValueRef laze_llvm_integer(LLVMTypeRef type, int64_t value) {
  return splat_constant(type, LLVMConstInt(element_type(type), (uint64_t)value, true));
}

LLVMValueRef laze_llvm_intrinsic(const laze_llvm_emitter *emitter, const char *name, LLVMValueRef *operands,
                                 int count) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  assert(id != 0);
  LLVMTypeRef overload = LLVMTypeOf(operands[0]);
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(emitter->module, id, &overload, 1);
  LLVMTypeRef type = LLVMIntrinsicGetType(emitter->context, id, &overload, 1);
  return LLVMBuildCall2(emitter->builder, type, function, operands, (unsigned)count, "");
}

LLVMValueRef laze_llvm_fma(const laze_llvm_emitter *emitter, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMValueRef operands[3] = {a, b, c};
  return laze_llvm_intrinsic(emitter, "llvm.fma", operands, 3);
}
