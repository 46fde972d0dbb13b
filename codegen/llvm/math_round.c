/* Functions that are one instruction, and fmod, which is exact. */
#include "codegen/llvm/math_functions.h"
#include "codegen/llvm/math_vocabulary.h"

LLVMValueRef laze_math_fabs(const laze_llvm_emitter *e, LLVMValueRef x) {
  return laze_llvm_intrinsic(e, "llvm.fabs", &x, 1);
}
LLVMValueRef laze_math_sqrt(const laze_llvm_emitter *e, LLVMValueRef x) {
  return laze_llvm_intrinsic(e, "llvm.sqrt", &x, 1);
}
LLVMValueRef laze_math_floor(const laze_llvm_emitter *e, LLVMValueRef x) {
  return laze_llvm_intrinsic(e, "llvm.floor", &x, 1);
}
LLVMValueRef laze_math_ceil(const laze_llvm_emitter *e, LLVMValueRef x) {
  return laze_llvm_intrinsic(e, "llvm.ceil", &x, 1);
}
LLVMValueRef laze_math_trunc(const laze_llvm_emitter *e, LLVMValueRef x) {
  return laze_llvm_intrinsic(e, "llvm.trunc", &x, 1);
}
LLVMValueRef laze_math_rint(const laze_llvm_emitter *e, LLVMValueRef x) {
  return laze_llvm_intrinsic(e, "llvm.roundeven", &x, 1);
}

/* floor(log2(x)) of a positive finite x. */
static LLVMValueRef exponent_of(const laze_llvm_emitter *e, LLVMValueRef x) {
  LLVMValueRef tiny = below(e, x, 0x1p-1022);
  LLVMValueRef bits = laze_math_bits(e, choose(e, tiny, times_real(e, x, 0x1p54), x));
  LLVMValueRef exponent = integer_plus(e, shift_right(e, bits, 52), -1023);
  return choose(e, tiny, integer_plus(e, exponent, -54), exponent);
}

/* One step of long division: rest minus the largest multiple of divisor * 2^k, where k leaves a quotient of at most 52
 * bits. The quotient is off by one at most, and the remainder is a multiple of the divisor's last place below it, so
 * that the fused multiply-add is exact. */
static LLVMValueRef divide_step(const laze_llvm_emitter *e, LLVMValueRef rest, LLVMValueRef divisor) {
  LLVMValueRef gap = integer_minus(e, exponent_of(e, rest), exponent_of(e, divisor));
  LLVMValueRef k = integer_plus(e, gap, -50);
  k = choose(e, LLVMBuildICmp(e->builder, LLVMIntSGT, k, integer(k, 0), ""), k, integer(k, 0));
  /* The largest number by the smallest one: a power that laze_math_scale can still build. */
  k = choose(e, LLVMBuildICmp(e->builder, LLVMIntSLT, k, integer(k, 2046), ""), k, integer(k, 2046));
  LLVMValueRef scaled = laze_math_scale(e, divisor, k);
  LLVMValueRef quotient = laze_math_trunc(e, over(e, rest, scaled));
  LLVMValueRef next = fused(e, negate(e, quotient), scaled, rest);
  return choose(e, below(e, next, 0), plus(e, next, scaled), next);
}

/* Repeats divide_step until every lane's rest is below its divisor. `active` lanes only; others keep their rest. */
static LLVMValueRef divide_loop(const laze_llvm_emitter *e, LLVMValueRef rest, LLVMValueRef divisor,
                                LLVMValueRef active) {
  LLVMBasicBlockRef start = LLVMGetInsertBlock(e->builder);
  LLVMValueRef function = LLVMGetBasicBlockParent(start);
  LLVMBasicBlockRef test = LLVMAppendBasicBlockInContext(e->context, function, "fmod_test");
  LLVMBasicBlockRef step = LLVMAppendBasicBlockInContext(e->context, function, "fmod_step");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, function, "fmod_done");
  LLVMBuildBr(e->builder, test);
  LLVMPositionBuilderAtEnd(e->builder, test);
  LLVMValueRef current = LLVMBuildPhi(e->builder, LLVMTypeOf(rest), "");
  LLVMValueRef unfinished = LLVMBuildFCmp(e->builder, LLVMRealOGE, current, divisor, "");
  unfinished = both(e, unfinished, active);
  LLVMBuildCondBr(e->builder, laze_math_any(e, unfinished), step, done);
  LLVMPositionBuilderAtEnd(e->builder, step);
  LLVMValueRef next = choose(e, unfinished, divide_step(e, current, divisor), current);
  LLVMBuildBr(e->builder, test);
  LLVMAddIncoming(current, (LLVMValueRef[]){rest, next}, (LLVMBasicBlockRef[]){start, step}, 2);
  LLVMPositionBuilderAtEnd(e->builder, done);
  return current;
}

LLVMValueRef laze_math_fmod(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef y) {
  if (laze_math_is_f32(x)) {
    return laze_math_narrow(e, laze_math_fmod(e, laze_math_widen(e, x), laze_math_widen(e, y))); /* exact */
  }
  LLVMValueRef size = magnitude(e, x), divisor = magnitude(e, y);
  LLVMValueRef has_result = both(e, below(e, size, INFINITY), above(e, divisor, 0));
  LLVMValueRef active = both(e, has_result, below(e, divisor, INFINITY)); /* x mod infinity is x */
  LLVMValueRef rest = with_sign_of(e, divide_loop(e, size, divisor, active), x);
  return choose(e, has_result, rest, real(x, NAN));
}
