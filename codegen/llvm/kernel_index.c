/* Index arithmetic, in the form that its operands allow (kernel.h):
 *
 *   affine + uniform, affine * uniform    affine     a load along it is contiguous where the stride is 1
 *   affine < uniform                      a mask     of the lanes below the place where they meet
 *   anything else                         in lanes
 */
#include "codegen/llvm/kernel.h"

LLVMTypeRef laze_llvm_i64_type(const laze_llvm_kernel *l) {
  return LLVMInt64TypeInContext(l->e.context);
}

LLVMValueRef laze_llvm_i64_constant(const laze_llvm_kernel *l, int64_t value) {
  return LLVMConstInt(laze_llvm_i64_type(l), (uint64_t)value, true);
}

static bool is_vector(LLVMValueRef value) {
  return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
}

static bool is_constant(LLVMValueRef value, int64_t number) {
  return LLVMIsAConstantInt(value) && LLVMConstIntGetSExtValue(value) == number;
}

bool laze_llvm_is_uniform(laze_lane_value value) {
  return !value.stride && !is_vector(value.value);
}

bool laze_llvm_is_contiguous(laze_lane_value value) {
  return value.stride && is_constant(value.stride, 1);
}

LLVMValueRef laze_llvm_splat(laze_llvm_kernel *l, LLVMValueRef scalar) {
  LLVMTypeRef vector = LLVMVectorType(LLVMTypeOf(scalar), LAZE_LANES);
  LLVMTypeRef i32 = LLVMInt32TypeInContext(l->e.context);
  LLVMValueRef poison = LLVMGetPoison(vector);
  LLVMValueRef first = LLVMBuildInsertElement(l->e.builder, poison, scalar, LLVMConstInt(i32, 0, false), "");
  return LLVMBuildShuffleVector(l->e.builder, first, poison, LLVMConstNull(LLVMVectorType(i32, LAZE_LANES)), "");
}

/* <0, 1, ..., 15> */
static LLVMValueRef lane_numbers(LLVMTypeRef element) {
  LLVMValueRef numbers[LAZE_LANES];
  for (int i = 0; i < LAZE_LANES; i++) numbers[i] = LLVMConstInt(element, (uint64_t)i, false);
  return LLVMConstVector(numbers, LAZE_LANES);
}

LLVMValueRef laze_llvm_lanes(laze_llvm_kernel *l, laze_lane_value value) {
  if (is_vector(value.value)) return value.value;
  LLVMValueRef base = laze_llvm_splat(l, value.value);
  if (!value.stride) return base;
  LLVMValueRef numbers = lane_numbers(laze_llvm_i64_type(l));
  LLVMValueRef steps = is_constant(value.stride, 1)
                           ? numbers
                           : LLVMBuildMul(l->e.builder, numbers, laze_llvm_splat(l, value.stride), "");
  return LLVMBuildAdd(l->e.builder, base, steps, "");
}

/* a / b and a mod b rounded towards minus infinity, b > 0. */
static LLVMValueRef floor_division(laze_llvm_kernel *l, LLVMValueRef a, LLVMValueRef b, bool modulo) {
  LLVMBuilderRef builder = l->e.builder;
  LLVMValueRef remainder = LLVMBuildSRem(builder, a, b, ""), zero = LLVMConstNull(LLVMTypeOf(a));
  LLVMValueRef negative = LLVMBuildICmp(builder, LLVMIntSLT, remainder, zero, "");
  if (modulo) return LLVMBuildSelect(builder, negative, LLVMBuildAdd(builder, remainder, b, ""), remainder, "");
  LLVMValueRef quotient = LLVMBuildSDiv(builder, a, b, "");
  return LLVMBuildAdd(builder, quotient, LLVMBuildSExt(builder, negative, LLVMTypeOf(a), ""), "");
}

static LLVMValueRef arithmetic(laze_llvm_kernel *l, laze_loop_code code, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef builder = l->e.builder;
  switch (code) {
  case LAZE_LOOP_INDEX_ADD: return LLVMBuildAdd(builder, a, b, "");
  case LAZE_LOOP_INDEX_SUB: return LLVMBuildSub(builder, a, b, "");
  case LAZE_LOOP_INDEX_MUL: return LLVMBuildMul(builder, a, b, "");
  case LAZE_LOOP_INDEX_FLOOR_DIV: return floor_division(l, a, b, false);
  case LAZE_LOOP_INDEX_MOD: return floor_division(l, a, b, true);
  case LAZE_LOOP_INDEX_LESS: return LLVMBuildICmp(builder, LLVMIntSLT, a, b, "");
  case LAZE_LOOP_AND: return LLVMBuildAnd(builder, a, b, "");
  default: break;
  }
  LLVMIntPredicate order = code == LAZE_LOOP_INDEX_MIN ? LLVMIntSLT : LLVMIntSGT;
  return LLVMBuildSelect(builder, LLVMBuildICmp(builder, order, a, b, ""), a, b, "");
}

static LLVMValueRef stride_of(laze_llvm_kernel *l, laze_lane_value value) {
  return value.stride ? value.stride : laze_llvm_i64_constant(l, 0);
}

static bool is_simple(laze_lane_value value) {
  return !is_vector(value.value);
}

/* Stays affine where it can: sums, and products with a uniform. */
static bool affine(laze_llvm_kernel *l, laze_loop_code code, laze_lane_value a, laze_lane_value b,
                   laze_lane_value *out) {
  if (!is_simple(a) || !is_simple(b)) return false;
  if (code == LAZE_LOOP_INDEX_ADD || code == LAZE_LOOP_INDEX_SUB) {
    out->stride = arithmetic(l, code, stride_of(l, a), stride_of(l, b));
  } else if (code == LAZE_LOOP_INDEX_MUL && !(a.stride && b.stride)) {
    out->stride = a.stride ? LLVMBuildMul(l->e.builder, a.stride, b.value, "")
                           : LLVMBuildMul(l->e.builder, b.stride, a.value, "");
  } else {
    return false;
  }
  out->value = arithmetic(l, code, a.value, b.value);
  if (is_constant(out->stride, 0)) out->stride = NULL;
  return true;
}

/* a < b where one is contiguous and the other uniform: the lanes below, or from, the place where they meet. */
static LLVMValueRef less_by_place(laze_llvm_kernel *l, laze_lane_value a, laze_lane_value b) {
  if (laze_llvm_is_contiguous(a) && laze_llvm_is_uniform(b))
    return laze_llvm_mask_below(l, LLVMBuildSub(l->e.builder, b.value, a.value, ""));
  if (!laze_llvm_is_uniform(a) || !laze_llvm_is_contiguous(b)) return NULL;
  LLVMValueRef after = LLVMBuildAdd(l->e.builder, a.value, laze_llvm_i64_constant(l, 1), "");
  LLVMValueRef below = laze_llvm_mask_below(l, LLVMBuildSub(l->e.builder, after, b.value, ""));
  return LLVMBuildNot(l->e.builder, below, "");
}

laze_lane_value laze_llvm_index(laze_llvm_kernel *l, laze_loop_code code, laze_lane_value a, laze_lane_value b) {
  laze_lane_value result = {0};
  if (laze_llvm_is_uniform(a) && laze_llvm_is_uniform(b)) {
    result.value = arithmetic(l, code, a.value, b.value);
  } else if (code == LAZE_LOOP_INDEX_LESS && (result.value = less_by_place(l, a, b))) {
    return result;
  } else if (!affine(l, code, a, b, &result)) {
    result.value = arithmetic(l, code, laze_llvm_lanes(l, a), laze_llvm_lanes(l, b));
    result.stride = NULL;
  }
  return result;
}

LLVMValueRef laze_llvm_mask_below(laze_llvm_kernel *l, LLVMValueRef remaining) {
  /* Compared as i32, where 16 lanes are one register. */
  LLVMBuilderRef builder = l->e.builder;
  LLVMTypeRef i32 = LLVMInt32TypeInContext(l->e.context);
  LLVMValueRef limits[2] = {remaining, laze_llvm_i64_constant(l, LAZE_LANES)};
  limits[0] = laze_llvm_intrinsic(&l->e, "llvm.smin", limits, 2);
  limits[1] = laze_llvm_i64_constant(l, 0);
  LLVMValueRef count = LLVMBuildTrunc(builder, laze_llvm_intrinsic(&l->e, "llvm.smax", limits, 2), i32, "");
  return LLVMBuildICmp(builder, LLVMIntSLT, lane_numbers(i32), laze_llvm_splat(l, count), "");
}

LLVMValueRef laze_llvm_mask_and(laze_llvm_kernel *l, LLVMValueRef a, LLVMValueRef b) {
  if (!a || !b) return a ? a : b;
  return LLVMBuildAnd(l->e.builder, a, b, "");
}
