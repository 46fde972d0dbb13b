/* Signs, and the numbers beside a number: what the bits of floats show.
 *
 *   -2.0   1 10000000 000...0     magnitudes count up with their bits, so that the next one is one more:
 *          |                      nextafter(-2.0, -inf) is   1 10000000 000...1
 *          sign
 */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

static LLVMValueRef is_negative(const laze_llvm_emitter *e, LLVMValueRef bits) {
  return LLVMBuildICmp(e->builder, LLVMIntSLT, bits, zero_like(bits), "");
}

LAZE_LOWERING(signbit) {
  LLVMValueRef x = operands[0];
  switch (laze_dtype_kind(compute)) {
  case LAZE_KIND_FLOAT: return is_negative(e, laze_math_bits(e, x));
  case LAZE_KIND_SIGNED: return is_negative(e, x);
  case LAZE_KIND_UNSIGNED:
  case LAZE_KIND_BOOL:
  case LAZE_KIND_COMPLEX:
  case LAZE_KIND_NONE: break;
  }
  return zero_like(integer_equals(e, x, 0));
}

LAZE_LOWERING(copysign) {
  return with_sign_of(e, operands[0], operands[1]);
}

/* Away from 0 the bits count up. Beside 0 is the smallest number, with the sign of where it goes. */
LAZE_LOWERING(nextafter) {
  LLVMValueRef x = operands[0], to = operands[1], bits = laze_math_bits(e, x);
  LLVMValueRef rises = LLVMBuildFCmp(e->builder, LLVMRealOGT, to, x, "");
  LLVMValueRef outwards = LLVMBuildXor(e->builder, rises, is_negative(e, bits), "");
  LLVMValueRef step = choose(e, outwards, integer(bits, 1), integer(bits, -1));
  LLVMValueRef next = laze_math_from_bits(e, LLVMBuildAdd(e->builder, bits, step, ""));
  LLVMValueRef smallest = with_sign_of(e, laze_math_from_bits(e, integer(bits, 1)), to);
  next = choose(e, equals(e, x, 0), smallest, next);
  next = choose(e, same(e, x, to), to, next);
  LLVMValueRef no_number = LLVMBuildFCmp(e->builder, LLVMRealUNO, x, to, "");
  return choose(e, no_number, real(x, NAN), next);
}
