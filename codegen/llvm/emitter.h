/* The state of emitting one LLVM function, and the small vocabulary every lowering uses.
 *
 * A value is either uniform (a scalar LLVM type) or in lanes (a vector of `LAZE_LANES` elements). Every helper accepts
 * both and returns what it was given: the shape is read from the value's own type.
 */
#ifndef LAZE_CODEGEN_LLVM_EMITTER_H
#define LAZE_CODEGEN_LLVM_EMITTER_H

#include "base/dtype.h"

#include <llvm-c/Core.h>

/* Lanes of a vector value, for every dtype: a fixed 16, so that results do not depend on the target's registers. */
#define LAZE_LANES 16

typedef struct laze_llvm_emitter {
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  bool converts_f16; /* the processor does, to f32 and back */
} laze_llvm_emitter;

/* The LLVM type of `dtype` in registers: f32 float, f64 double, i32, i64, bool i1; bits of floats of 16 bits. */
LLVMTypeRef laze_llvm_scalar_type(const laze_llvm_emitter *emitter, laze_dtype dtype);
/* That type, as a vector of LAZE_LANES where `like` is one. */
LLVMTypeRef laze_llvm_type_like(const laze_llvm_emitter *emitter, laze_dtype dtype, LLVMValueRef like);
/* A constant of the element type of `type`, splat where `type` is a vector. */
LLVMValueRef laze_llvm_real(LLVMTypeRef type, double value);
LLVMValueRef laze_llvm_integer(LLVMTypeRef type, int64_t value);
/* A call of an overloaded intrinsic whose overload is the type of its first operand, such as "llvm.fma". */
LLVMValueRef laze_llvm_intrinsic(const laze_llvm_emitter *emitter, const char *name, LLVMValueRef *operands, int count);
LLVMValueRef laze_llvm_fma(const laze_llvm_emitter *emitter, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

#endif
