/* Parts shared by the elementary functions: bits, scaling, polynomials, and arithmetic on pairs. */
#include "codegen/llvm/math_vocabulary.h"

#include <assert.h>

static LLVMTypeRef element_type(LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

bool laze_math_is_f32(LLVMValueRef x) {
  LLVMTypeKind kind = LLVMGetTypeKind(element_type(x));
  assert(kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind); /* the two that functions are written for */
  return kind == LLVMFloatTypeKind;
}

/* The dtype of a float: the row whose LLVM type it has. */
static laze_dtype float_dtype(const laze_llvm_emitter *e, LLVMValueRef x) {
  for (laze_dtype dtype = 0; dtype < LAZE_DTYPE_BOUND; dtype++)
    if (laze_dtype_is_float(dtype) && laze_llvm_scalar_type(e, dtype) == element_type(x)) return dtype;
  assert(!"no float");
  return LAZE_DTYPE_NONE;
}

/* The dtype of the float whose bits an integer is. */
static laze_dtype float_of_bits(LLVMValueRef bits) {
  return laze_dtype_of_width(LAZE_KIND_FLOAT, (int32_t)LLVMGetIntTypeWidth(element_type(bits)));
}

LLVMValueRef laze_math_bits(const laze_llvm_emitter *e, LLVMValueRef x) {
  laze_dtype dtype = laze_dtype_of_width(LAZE_KIND_SIGNED, laze_dtype_get(float_dtype(e, x))->bits);
  return LLVMBuildBitCast(e->builder, x, laze_llvm_type_like(e, dtype, x), "");
}

LLVMValueRef laze_math_from_bits(const laze_llvm_emitter *e, LLVMValueRef bits) {
  return LLVMBuildBitCast(e->builder, bits, laze_llvm_type_like(e, float_of_bits(bits), bits), "");
}

LLVMValueRef laze_math_any(const laze_llvm_emitter *e, LLVMValueRef condition) {
  if (LLVMGetTypeKind(LLVMTypeOf(condition)) != LLVMVectorTypeKind) return condition;
  LLVMTypeRef mask_type = LLVMIntTypeInContext(e->context, LAZE_LANES);
  LLVMValueRef mask = LLVMBuildBitCast(e->builder, condition, mask_type, "");
  return LLVMBuildICmp(e->builder, LLVMIntNE, mask, integer(mask, 0), "");
}

LLVMValueRef laze_math_widen(const laze_llvm_emitter *e, LLVMValueRef x) {
  return LLVMBuildFPExt(e->builder, x, laze_llvm_type_like(e, LAZE_F64, x), "");
}

LLVMValueRef laze_math_narrow(const laze_llvm_emitter *e, LLVMValueRef x) {
  return LLVMBuildFPTrunc(e->builder, x, laze_llvm_type_like(e, LAZE_F32, x), "");
}

LLVMValueRef laze_math_in_f64(const laze_llvm_emitter *e, laze_lowering lowering, const LLVMValueRef *operands,
                              int count) {
  LLVMValueRef wide[3];
  assert(count <= 3);
  for (int i = count - 1; i >= 0; i--) wide[i] = laze_math_widen(e, operands[i]);
  return laze_math_narrow(e, lowering(e, LAZE_F64, wide));
}

LLVMValueRef laze_math_polynomial(const laze_llvm_emitter *e, LLVMValueRef x, const double *coefficients, int count) {
  LLVMValueRef sum = real(x, coefficients[count - 1]);
  for (int i = count - 2; i >= 0; i--) sum = fused(e, sum, x, real(x, coefficients[i]));
  return sum;
}

LLVMValueRef laze_math_nearest(const laze_llvm_emitter *e, LLVMValueRef x, double factor, LLVMValueRef *rounded) {
  /* Adding 1.5 * 2^(mantissa bits) rounds to an integer, and leaves that integer in the low bits. */
  LLVMValueRef shift = real(x, ldexp(1.5, laze_dtype_get(float_dtype(e, x))->digits - 1));
  LLVMValueRef shifted = fused(e, x, real(x, factor), shift);
  *rounded = minus(e, shifted, shift);
  return integer_minus(e, laze_math_bits(e, shifted), laze_math_bits(e, shift));
}

LLVMValueRef laze_math_power_of_two(const laze_llvm_emitter *e, LLVMValueRef n) {
  laze_dtype dtype = float_of_bits(n);
  LLVMValueRef exponent = integer_plus(e, n, laze_dtype_exponent_bias(dtype));
  return laze_math_from_bits(e, shift_left(e, exponent, laze_dtype_get(dtype)->digits - 1));
}

LLVMValueRef laze_math_scale(const laze_llvm_emitter *e, LLVMValueRef x, LLVMValueRef n) {
  /* In two steps, as 2^n itself may be out of range; the first product is exact. */
  LLVMValueRef half = shift_right(e, n, 1);
  LLVMValueRef rest = integer_minus(e, n, half);
  return times(e, times(e, x, laze_math_power_of_two(e, half)), laze_math_power_of_two(e, rest));
}

laze_pair laze_math_sum(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef hi = plus(e, a, b);
  return (laze_pair){hi, minus(e, b, minus(e, hi, a))};
}

laze_pair laze_math_product(const laze_llvm_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef hi = times(e, a, b);
  return (laze_pair){hi, fused(e, a, b, negate(e, hi))};
}

laze_pair laze_math_pair_times(const laze_llvm_emitter *e, laze_pair a, laze_pair b) {
  laze_pair product = laze_math_product(e, a.hi, b.hi);
  product.lo = fused(e, a.hi, b.lo, fused(e, a.lo, b.hi, product.lo));
  return product;
}

LLVMValueRef laze_math_quotient(const laze_llvm_emitter *e, LLVMValueRef numerator, laze_pair divisor) {
  LLVMValueRef inverse = over(e, real(numerator, 1), divisor.hi);
  LLVMValueRef quotient = times(e, numerator, inverse);
  LLVMValueRef negative = negate(e, quotient);
  LLVMValueRef rest = fused(e, negative, divisor.lo, fused(e, negative, divisor.hi, numerator));
  return fused(e, rest, inverse, quotient);
}
