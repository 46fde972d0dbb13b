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
#ifndef LAZE_CODEGEN_LLVM_MATH_H
#define LAZE_CODEGEN_LLVM_MATH_H

#include "codegen/llvm/emitter.h"

/* Exact or correctly rounded. rint rounds halves to even; fmod has the sign of x. */
LLVMValueRef laze_emit_fabs(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_sqrt(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_floor(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_ceil(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_trunc(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_rint(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_fmod(const laze_emitter *e, LLVMValueRef x, LLVMValueRef y);

LLVMValueRef laze_emit_exp(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_exp2(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_expm1(const laze_emitter *e, LLVMValueRef x);
/* 1 / (1 + exp(-x)) */
LLVMValueRef laze_emit_sigmoid(const laze_emitter *e, LLVMValueRef x);

LLVMValueRef laze_emit_log(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_log2(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_log10(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_log1p(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_pow(const laze_emitter *e, LLVMValueRef x, LLVMValueRef y);

LLVMValueRef laze_emit_sinh(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_cosh(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_tanh(const laze_emitter *e, LLVMValueRef x);

LLVMValueRef laze_emit_sin(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_cos(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_tan(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_asin(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_acos(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_atan(const laze_emitter *e, LLVMValueRef x);
/* The angle of the point (x, y): note the order of the arguments. */
LLVMValueRef laze_emit_atan2(const laze_emitter *e, LLVMValueRef y, LLVMValueRef x);

LLVMValueRef laze_emit_erf(const laze_emitter *e, LLVMValueRef x);
LLVMValueRef laze_emit_erfc(const laze_emitter *e, LLVMValueRef x);

#endif
