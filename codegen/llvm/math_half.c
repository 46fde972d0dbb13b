/* Floats of 16 bits, as their bits, to f32 and back: what base/half.h does, lane by lane.
 *
 *   f16    by the processor's conversion, or by integers where it has none: LLVM would call a function that kernels
 *          cannot call
 *   bf16   by integers: the processor's conversion takes subnormals for zeros
 */
#include "codegen/llvm/lowerings.h"
#include "codegen/llvm/math_vocabulary.h"

/* The bits of f32, as integers. */
enum { SINGLE_INFINITY = 0x7f800000, SINGLE_HALF = 0x3f000000, REBASE = (127 - 15) << 23 };

static LLVMValueRef unsigned_at_least(const laze_llvm_emitter *e, LLVMValueRef a, int64_t limit) {
  return LLVMBuildICmp(e->builder, LLVMIntUGE, a, integer(a, limit), "");
}

static LLVMValueRef shift_down(const laze_llvm_emitter *e, LLVMValueRef a, int by) {
  return LLVMBuildLShr(e->builder, a, integer(a, by), "");
}

static LLVMValueRef or_bits(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildOr(e->builder, a, b, "");
}

/* `a` without its low bits, rounded to nearest, halves to even; `by`: how many they are. */
static LLVMValueRef rounded_down(const laze_llvm_emitter *e, LLVMValueRef a, int by) {
  LLVMValueRef odd = integer_and(e, shift_down(e, a, by), 1);
  LLVMValueRef raised = LLVMBuildAdd(e->builder, integer_plus(e, a, (INT64_C(1) << (by - 1)) - 1), odd, "");
  return shift_down(e, raised, by);
}

static LLVMTypeRef half_like(const laze_llvm_emitter *e, LLVMValueRef like) {
  LLVMTypeRef half = LLVMHalfTypeInContext(e->context);
  return LLVMGetTypeKind(LLVMTypeOf(like)) == LLVMVectorTypeKind ? LLVMVectorType(half, LAZE_LANES) : half;
}

static LLVMValueRef load_f16(const laze_llvm_emitter *e, LLVMValueRef bits) {
  LLVMValueRef sign = shift_left(e, integer_and(e, bits, 0x8000), 16), magnitude = integer_and(e, bits, 0x7fff);
  LLVMValueRef is_finite = LLVMBuildNot(e->builder, unsigned_at_least(e, magnitude, 0x7c00), "");
  LLVMValueRef base = choose(e, is_finite, integer(bits, REBASE), integer(bits, SINGLE_INFINITY - (0x7c00 << 13)));
  LLVMValueRef normal = LLVMBuildAdd(e->builder, shift_left(e, magnitude, 13), base, "");
  LLVMValueRef units = LLVMBuildSIToFP(e->builder, magnitude, laze_llvm_type_like(e, LAZE_F32, bits), "");
  LLVMValueRef subnormal = laze_math_bits(e, times_real(e, units, 0x1p-24));
  LLVMValueRef loaded = choose(e, unsigned_at_least(e, magnitude, 0x400), normal, subnormal);
  return laze_math_from_bits(e, or_bits(e, loaded, sign));
}

static LLVMValueRef store_f16(const laze_llvm_emitter *e, LLVMValueRef bits) {
  LLVMValueRef sign = integer_and(e, shift_down(e, bits, 16), 0x8000), magnitude = integer_and(e, bits, 0x7fffffff);
  LLVMValueRef stored = rounded_down(e, integer_plus(e, magnitude, -REBASE), 13);
  LLVMValueRef raised = plus(e, laze_math_from_bits(e, magnitude), laze_math_from_bits(e, integer(bits, SINGLE_HALF)));
  LLVMValueRef subnormal = integer_plus(e, laze_math_bits(e, raised), -SINGLE_HALF);
  stored = choose(e, unsigned_at_least(e, magnitude, 0x38800000), stored, subnormal);
  stored = choose(e, unsigned_at_least(e, magnitude, 0x47800000), integer(bits, 0x7c00), stored);
  LLVMValueRef payload = integer_and(e, shift_down(e, magnitude, 13), 0x3ff);
  LLVMValueRef nan = or_bits(e, payload, integer(bits, 0x7e00));
  stored = choose(e, unsigned_at_least(e, magnitude, SINGLE_INFINITY + 1), nan, stored);
  return or_bits(e, stored, sign);
}

static LLVMValueRef store_bf16(const laze_llvm_emitter *e, LLVMValueRef bits) {
  LLVMValueRef is_nan = unsigned_at_least(e, integer_and(e, bits, 0x7fffffff), SINGLE_INFINITY + 1);
  LLVMValueRef quiet = or_bits(e, shift_down(e, bits, 16), integer(bits, 0x40));
  return choose(e, is_nan, quiet, rounded_down(e, bits, 16));
}

LLVMValueRef laze_math_load_half(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype from) {
  if (from == LAZE_F16 && e->converts_f16) {
    LLVMValueRef half = LLVMBuildBitCast(e->builder, value, half_like(e, value), "");
    return LLVMBuildFPExt(e->builder, half, laze_llvm_type_like(e, LAZE_F32, value), "");
  }
  LLVMValueRef bits = LLVMBuildZExt(e->builder, value, laze_llvm_type_like(e, LAZE_I32, value), "");
  return from == LAZE_F16 ? load_f16(e, bits) : laze_math_from_bits(e, shift_left(e, bits, 16));
}

LLVMValueRef laze_math_store_half(const laze_llvm_emitter *e, LLVMValueRef value, laze_dtype to) {
  LLVMTypeRef type = laze_llvm_type_like(e, to, value);
  if (to == LAZE_F16 && e->converts_f16) {
    LLVMValueRef half = LLVMBuildFPTrunc(e->builder, value, half_like(e, value), "");
    return LLVMBuildBitCast(e->builder, half, type, "");
  }
  LLVMValueRef bits = laze_math_bits(e, value);
  return LLVMBuildTrunc(e->builder, to == LAZE_F16 ? store_f16(e, bits) : store_bf16(e, bits), type, "");
}
