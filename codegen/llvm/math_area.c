/* Inverse hyperbolic functions, each as log1p of an argument that does not cancel near the function's zero, and the
 * hypotenuse, whose square may be out of range. f32 is computed in f64.
 *
 *   asinh x = log1p(x + x^2 / (1 + sqrt(1 + x^2)))
 *   acosh x = log1p(t + sqrt(2 t + t^2)), t = x - 1
 *   atanh x = log1p(2 x / (1 - x)) / 2
 *
 * (DLMF 4.37.16, 4.37.19, 4.37.24.) Where a square would overflow, the first two are log(x) + log(2).
 */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

#define LN2 0x1.62e42fefa39efp-1
/* From here on 1 + x^2 is x^2. */
#define FAR 0x1p28

static LLVMValueRef log_of_twice(const laze_llvm_emitter *e, laze_dtype compute, LLVMValueRef x) {
  return plus_real(e, laze_lower_log(e, compute, &x), LN2);
}

LAZE_LOWERING(asinh) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_lower_asinh, operands, 1);
  LLVMValueRef size = magnitude(e, x), near = at_most(e, size, FAR), one = real(x, 1);
  LLVMValueRef root = square_root(e, fused(e, near, near, one));
  LLVMValueRef argument = plus(e, near, over(e, times(e, near, near), plus(e, root, one)));
  LLVMValueRef result = laze_lower_log1p(e, compute, &argument);
  return with_sign_of(e, choose(e, above(e, size, FAR), log_of_twice(e, compute, size), result), x);
}

LAZE_LOWERING(acosh) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_lower_acosh, operands, 1);
  LLVMValueRef t = plus_real(e, at_most(e, x, FAR), -1);
  LLVMValueRef argument = plus(e, t, square_root(e, fused(e, t, t, plus(e, t, t))));
  LLVMValueRef result = laze_lower_log1p(e, compute, &argument);
  result = choose(e, above(e, x, FAR), log_of_twice(e, compute, x), result);
  return choose(e, below(e, x, 1), real(x, NAN), result);
}

/* Up to 1/2 the quotient is 2 x + 2 x^2 / (1 - x), of which the second part alone is rounded; beyond, 1 - x is exact.
 */
LAZE_LOWERING(atanh) {
  LLVMValueRef x = operands[0];
  if (laze_math_is_f32(x)) return laze_math_in_f64(e, laze_lower_atanh, operands, 1);
  LLVMValueRef size = magnitude(e, x), twice = plus(e, size, size);
  LLVMValueRef divisor = minus(e, real(x, 1), size);
  LLVMValueRef near = plus(e, twice, over(e, times(e, twice, size), divisor));
  LLVMValueRef argument = choose(e, below(e, size, 0.5), near, over(e, twice, divisor));
  return with_sign_of(e, times_real(e, laze_lower_log1p(e, compute, &argument), 0.5), x);
}

/* Both are multiplied by a power of two where the square of the larger one would overflow or lose digits. */
LAZE_LOWERING(hypot) {
  if (laze_math_is_f32(operands[0])) return laze_math_in_f64(e, laze_lower_hypot, operands, 2);
  LLVMValueRef x = magnitude(e, operands[0]), y = magnitude(e, operands[1]);
  LLVMValueRef x_is_larger = LLVMBuildFCmp(e->builder, LLVMRealOGT, x, y, "");
  LLVMValueRef larger = choose(e, x_is_larger, x, y), smaller = choose(e, x_is_larger, y, x);
  LLVMValueRef huge = above(e, larger, 0x1p500), tiny = below(e, larger, 0x1p-400);
  LLVMValueRef scale = choose(e, huge, real(x, 0x1p-600), choose(e, tiny, real(x, 0x1p600), real(x, 1)));
  LLVMValueRef back = choose(e, huge, real(x, 0x1p600), choose(e, tiny, real(x, 0x1p-600), real(x, 1)));
  larger = times(e, larger, scale);
  smaller = times(e, smaller, scale);
  LLVMValueRef root = square_root(e, fused(e, larger, larger, times(e, smaller, smaller)));
  LLVMValueRef infinite = LLVMBuildOr(e->builder, equals(e, x, INFINITY), equals(e, y, INFINITY), "");
  return choose(e, infinite, real(x, INFINITY), times(e, root, back));
}
