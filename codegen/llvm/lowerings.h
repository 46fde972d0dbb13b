/* One function per element operation: how LLVM computes one element, or 16 in lanes, from its operands. Operator
 * entries name them (`lower: add` is laze_lower_add), and the generated table below maps operators to them. Each stands
 * with its mathematics in one of math_*.c.
 *
 * Operands have the compute dtype in registers (bool: i1; `where`: operand 0 is bool) and all one shape, scalar or
 * lanes; so has the result (bool for comparisons). The same instructions are emitted for both shapes, so that a lane
 * and a scalar agree in bits. No call leaves the kernel, and nothing is looked up at run time.
 *
 * Integers wrap and nothing traps: a quotient or remainder by 0 is 0, the lowest integer divided by -1 stays itself. On
 * bool, add and maximum are `or`, mul and minimum are `and`. Functions of floats are wrong by at most 2 units in the
 * last place over the whole domain (the test prints what is measured); NaN, infinities, signed zeros, subnormals and
 * overflow follow C Annex F.
 *
 * They rely on fused multiply-adds: on a target that lacks them the back end would call fma() from libm, which the
 * object loader refuses. A lowering may end the builder's current block (a branch for rare arguments, a loop): the
 * builder is left at the end of the continuation, and a phi of the caller must ask for the insertion block afterwards.
 */
#ifndef LAZE_CODEGEN_LLVM_LOWERINGS_H
#define LAZE_CODEGEN_LLVM_LOWERINGS_H

#include "codegen/llvm/emitter.h"

typedef LLVMValueRef (*laze_lowering)(const laze_llvm_emitter *e, laze_dtype compute, const LLVMValueRef *operands);

/* By laze_op; NULL where an operator has no lowering. Generated. */
extern const laze_lowering laze_lowerings[];

/* A macro, for every lowering has this head, and not all look at the dtype. */
#define LAZE_LOWERING(name)                                                                                            \
  LLVMValueRef laze_lower_##name(const laze_llvm_emitter *e, __attribute__((unused)) laze_dtype compute,               \
                                 const LLVMValueRef *operands)

/* Arithmetic. maximum(a, b) is `isnan(a) || a > b ? a : b`, so NaN wins and the second of two zeros; minimum alike.
 * remainder has the sign of the divisor, fmod that of the dividend; floor_divide of floats is floor(a / b). */
LAZE_LOWERING(add);
LAZE_LOWERING(sub);
LAZE_LOWERING(mul);
LAZE_LOWERING(div);
LAZE_LOWERING(floor_divide);
LAZE_LOWERING(trunc_divide);
LAZE_LOWERING(remainder);
LAZE_LOWERING(fmod);
LAZE_LOWERING(pow);
LAZE_LOWERING(maximum);
LAZE_LOWERING(minimum);
LAZE_LOWERING(neg);
LAZE_LOWERING(abs);
LAZE_LOWERING(sign);
LAZE_LOWERING(reciprocal);
LAZE_LOWERING(signbit);
LAZE_LOWERING(copysign);
LAZE_LOWERING(nextafter);
LAZE_LOWERING(gcd);

/* Polynomials, of an argument, what their recurrence starts from, and a degree; sums of powers, and what the incomplete
 * gamma functions are made of. */
LAZE_LOWERING(chebyshev);
LAZE_LOWERING(hermite);
LAZE_LOWERING(laguerre);
LAZE_LOWERING(legendre);
LAZE_LOWERING(power_sum);
LAZE_LOWERING(gamma_series);
LAZE_LOWERING(gamma_fraction);

/* Comparisons give bool and are false for NaN (ne: true). */
LAZE_LOWERING(eq);
LAZE_LOWERING(ne);
LAZE_LOWERING(lt);
LAZE_LOWERING(le);
LAZE_LOWERING(gt);
LAZE_LOWERING(ge);
LAZE_LOWERING(isnan);
LAZE_LOWERING(isinf);
LAZE_LOWERING(isfinite);
LAZE_LOWERING(where);

/* Parts of complex numbers, of which the real one of a real number is itself, and numbers made of two. */
LAZE_LOWERING(real);
LAZE_LOWERING(imag);
LAZE_LOWERING(complex);

/* Bits, of one or of many. A shift count outside [0, width) gives 0 to the left, the sign everywhere to the right
 * (arithmetic). */
LAZE_LOWERING(and);
LAZE_LOWERING(or);
LAZE_LOWERING(xor);
LAZE_LOWERING(not );
LAZE_LOWERING(shift_left);
LAZE_LOWERING(shift_right);

/* Functions of floats (ceil, floor, trunc, round leave integers as they are; round: halves to even). */
LAZE_LOWERING(ceil);
LAZE_LOWERING(floor);
LAZE_LOWERING(trunc);
LAZE_LOWERING(round);
LAZE_LOWERING(sqrt);
LAZE_LOWERING(rsqrt);
LAZE_LOWERING(exp);
LAZE_LOWERING(exp2);
LAZE_LOWERING(expm1);
LAZE_LOWERING(log);
LAZE_LOWERING(log2);
LAZE_LOWERING(log10);
LAZE_LOWERING(log1p);
LAZE_LOWERING(logaddexp);
LAZE_LOWERING(sin);
LAZE_LOWERING(cos);
LAZE_LOWERING(tan);
LAZE_LOWERING(asin);
LAZE_LOWERING(acos);
LAZE_LOWERING(atan);
LAZE_LOWERING(atan2);
LAZE_LOWERING(sinh);
LAZE_LOWERING(cosh);
LAZE_LOWERING(tanh);
LAZE_LOWERING(asinh);
LAZE_LOWERING(acosh);
LAZE_LOWERING(atanh);
LAZE_LOWERING(hypot);
LAZE_LOWERING(erf);
LAZE_LOWERING(erfc);
LAZE_LOWERING(sigmoid);

/* (key i64, counter i64) -> 64 random bits, by Philox 4x32 with 10 rounds (Salmon et al., 2011): counter words
 * {low, high, 0, 0}, key words {low, high}, the first two words of the result. */
LAZE_LOWERING(philox);

/* A value of dtype `from` as `to`: floats to integers truncate, NaN and out-of-range values give the lowest integer;
 * to bool is `!= 0`. */
LLVMValueRef laze_math_convert(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, laze_dtype to);
/* A float of 16 bits, by its bits, as f32 (exact), and an f32 rounded to one. */
LLVMValueRef laze_math_load_half(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from);
LLVMValueRef laze_math_store_half(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype to);
/* The real (0) or imaginary part (1) of a complex number, and the number of two. */
LLVMValueRef laze_math_part(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from, int which);
LLVMValueRef laze_math_pair(const laze_llvm_emitter *e, LLVMValueRef real_part, LLVMValueRef imaginary, laze_dtype to);

#endif
