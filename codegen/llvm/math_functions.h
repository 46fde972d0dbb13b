/* Inline code for elementary functions: no call leaves the kernel, and nothing is looked up at run time.
 *
 * `x` (and `y`) is a float or a double, alone or as a vector of LAZE_LANES. The same operations are emitted for both
 * forms, so a lane and a scalar agree in bits. The error is at most 2 units in the last place over the whole domain
 * (see the test for what is measured); NaN, infinities, signed zeros, subnormals and overflow follow C Annex F.
 *
 * The code relies on fused multiply-adds: on a target that lacks them the back end would call fma() from libm, which
 * the object loader refuses. sin, cos, tan, exp, erfc and sigmoid may end the builder's current block (arguments too
 * large for the fast way take a branch), and so does fmod (a loop): the builder is left at the end of the continuation,
 * and a phi of the caller must ask for the insertion block afterwards.
 */
#ifndef LAZE_CODEGEN_LLVM_MATH_FUNCTIONS_H
#define LAZE_CODEGEN_LLVM_MATH_FUNCTIONS_H

#include "codegen/llvm/emitter.h"

/* Exact or correctly rounded. rint rounds halves to even; fmod has the sign of x. */
LLVMValueRef laze_math_fabs(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_sqrt(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_floor(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_ceil(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_trunc(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_rint(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_fmod(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef y);

LLVMValueRef laze_math_exp(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_exp2(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_expm1(const laze_llvm_emitter *e, LLVMValueRef x);
/* 1 / (1 + exp(-x)) */
LLVMValueRef laze_math_sigmoid(const laze_llvm_emitter *e, LLVMValueRef x);

LLVMValueRef laze_math_log(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_log2(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_log10(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_log1p(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_pow(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef y);

LLVMValueRef laze_math_sinh(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_cosh(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_tanh(const laze_llvm_emitter *e, LLVMValueRef x);

LLVMValueRef laze_math_sin(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_cos(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_tan(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_asin(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_acos(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_atan(const laze_llvm_emitter *e, LLVMValueRef x);
/* The angle of the point (x, y): note the order of the arguments. */
LLVMValueRef laze_math_atan2(const laze_llvm_emitter *e, LLVMValueRef y, LLVMValueRef x);

LLVMValueRef laze_math_erf(const laze_llvm_emitter *e, LLVMValueRef x);
LLVMValueRef laze_math_erfc(const laze_llvm_emitter *e, LLVMValueRef x);

#endif
