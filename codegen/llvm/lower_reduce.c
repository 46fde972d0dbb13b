/* Accumulators. Their running state lives in registers: lower_loop.c carries it through loops as phis and folds blocks
 * into totals; here is what an update, a fold and a result are. */
#include "codegen/llvm/lower_internal.h"
#include "codegen/llvm/lowerings.h"

laze_status laze_lower_operation(laze_lower *l, laze_op op, laze_dtype compute, LLVMValueRef *operands, int count,
                                 LLVMValueRef *result) {
  laze_lowering lowering = laze_lowerings[op];
  if (!lowering)
    return laze_fail(l->error, LAZE_UNSUPPORTED,
                     "operator number %d has no lowering to LLVM; the scheduler should have kept it out of a kernel",
                     (int)op);
  *result = lowering(&l->e, compute, operands, count);
  return LAZE_OK;
}

static bool holds_lanes(const laze_lower *l, const laze_loop_instruction *a) {
  return l->in_lanes || a->order == LAZE_ORDER_LANES16;
}

static LLVMValueRef initial_state(laze_lower *l, const laze_loop_instruction *a) {
  LLVMTypeRef scalar = laze_emit_scalar_type(&l->e, a->dtype);
  /* rows in lanes: one accumulator a lane; the emitter's constants become a splat by their type. */
  LLVMTypeRef type = holds_lanes(l, a) ? LLVMVectorType(scalar, LAZE_LANES) : scalar;
  laze_scalar start = laze_initial_value(a->initial, a->dtype);
  return laze_dtype_is_float(a->dtype) ? laze_emit_real(type, start.value.real)
                                       : laze_emit_integer(type, start.value.integer);
}

void laze_lower_accumulator(laze_lower *l, int32_t index) {
  LLVMValueRef start = initial_state(l, laze_instruction(l, index));
  l->accumulators[index] = (laze_accumulator_state){start, start};
}

laze_status laze_lower_update(laze_lower *l, const laze_loop_instruction *i, int copy) {
  int32_t index = laze_operand(l, i, 0);
  const laze_loop_instruction *a = laze_instruction(l, index);
  laze_lane_value value = l->values[laze_operand(l, i, 1)][copy];
  LLVMValueRef *block = &l->accumulators[index].block, combined = NULL;
  LLVMValueRef operands[2] = {*block, holds_lanes(l, a) ? laze_lower_lanes(l, value) : value.value};
  LAZE_TRY(laze_lower_operation(l, a->op, a->dtype, operands, 2, &combined));
  /* A lane past the end keeps its state: even adding 0 could change it (-0, NaN). */
  bool shared = a->order == LAZE_ORDER_LANES16 && l->active;
  *block = shared ? LLVMBuildSelect(l->e.builder, l->active, combined, *block, "") : combined;
  return LAZE_OK;
}

laze_status laze_lower_fold(laze_lower *l, int32_t accumulator) {
  const laze_loop_instruction *a = laze_instruction(l, accumulator);
  laze_accumulator_state *state = &l->accumulators[accumulator];
  LLVMValueRef operands[2] = {state->total, state->block};
  state->block = initial_state(l, a);
  return laze_lower_operation(l, a->op, a->dtype, operands, 2, &state->total);
}

/* Lane l holds lane l + half; what comes in above is not looked at. */
static LLVMValueRef upper_half(laze_lower *l, LLVMValueRef value, int half) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(l->e.context);
  LLVMValueRef lanes[LAZE_LANES];
  for (int k = 0; k < LAZE_LANES; k++) lanes[k] = LLVMConstInt(i32, (uint64_t)((k + half) % LAZE_LANES), false);
  LLVMValueRef poison = LLVMGetPoison(LLVMTypeOf(value));
  return LLVMBuildShuffleVector(l->e.builder, value, poison, LLVMConstVector(lanes, LAZE_LANES), "");
}

laze_status laze_lower_result(laze_lower *l, const laze_loop_instruction *i, laze_lane_value *result) {
  int32_t index = laze_operand(l, i, 0);
  const laze_loop_instruction *a = laze_instruction(l, index);
  LLVMValueRef total = l->accumulators[index].total;
  *result = (laze_lane_value){.value = total};
  if (a->order != LAZE_ORDER_LANES16) return LAZE_OK;
  for (int half = LAZE_LANES / 2; half >= 1; half /= 2) {
    LLVMValueRef operands[2] = {total, upper_half(l, total, half)};
    LAZE_TRY(laze_lower_operation(l, a->op, a->dtype, operands, 2, &total));
  }
  result->value = LLVMBuildExtractElement(l->e.builder, total, laze_lower_integer(l, 0), "");
  return LAZE_OK;
}
