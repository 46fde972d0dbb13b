/* Accumulators. The block that is being combined lives in registers, which kernel_loop.c carries through loops as phis;
 * totals of finished blocks lie on the stack, as the digits of a binary counter:
 *
 *   blocks folded    0     1     2      3        4
 *   level 0                B0           B2
 *   level 1                      B0B1   B0B1
 *   level 2                                      (B0B1)(B2B3)
 *
 * A fold carries: while the level is in use, it joins it and goes on to the next. The result joins the block at hand
 * with the levels in use, lowest first. Either way the earlier blocks are the first operand. Strips in lockstep have a
 * block each and levels side by side; where they share one accumulator, in the order lanes16, they take turns.
 */
#include "codegen/llvm/kernel.h"
#include "codegen/llvm/lowerings.h"
#include "codegen/order.h"

laze_status laze_llvm_operation(laze_llvm_kernel *l, laze_op op, laze_dtype compute, const LLVMValueRef *operands,
                                LLVMValueRef *result) {
  laze_lowering lowering = laze_lowerings[op];
  if (!lowering)
    return laze_fail(l->error, LAZE_UNSUPPORTED,
                     "operator number %d has no lowering to LLVM; the scheduler should have kept it out of a kernel",
                     (int)op);
  *result = lowering(&l->e, compute, operands);
  return LAZE_OK;
}

static bool holds_lanes(const laze_llvm_kernel *l, const laze_loop_instruction *a) {
  return l->in_lanes || a->order == LAZE_ORDER_LANES16;
}

static LLVMValueRef initial_state(laze_llvm_kernel *l, const laze_loop_instruction *a) {
  LLVMTypeRef scalar = laze_llvm_scalar_type(&l->e, a->dtype);
  /* rows in lanes: one accumulator a lane; the emitter's constants become a splat by their type. */
  LLVMTypeRef type = holds_lanes(l, a) ? LLVMVectorType(scalar, LAZE_LANES) : scalar;
  laze_scalar start = laze_initial_value(a->initial, a->dtype);
  return laze_dtype_is_float(a->dtype) ? laze_llvm_real(type, start.value.real)
                                       : laze_llvm_integer(type, start.value.integer);
}

/* The loop whose iterations update the accumulator in blocks, which the verifier makes sure is one; -1: none. */
static int32_t update_loop(const laze_llvm_kernel *l, int32_t accumulator) {
  if (laze_llvm_instruction_at(l, accumulator)->order == LAZE_ORDER_SEQUENCE) return -1;
  for (int32_t k = accumulator + 1; k < l->kernel->instruction_count; k++) {
    const laze_loop_instruction *i = laze_llvm_instruction_at(l, k);
    if (i->code == LAZE_LOOP_UPDATE && laze_llvm_operand(l, i, 0) == accumulator) return laze_llvm_operand(l, i, 2);
  }
  return -1;
}

LLVMValueRef laze_llvm_block_length(const laze_llvm_kernel *l, int32_t begin) {
  bool lanes = laze_llvm_instruction_at(l, begin)->flags & LAZE_LOOP_LANES;
  return laze_llvm_i64_constant(l, lanes ? LAZE_ORDER_LANES_BLOCK : LAZE_ORDER_ROWS_BLOCK);
}

void laze_llvm_accumulator(laze_llvm_kernel *l, int32_t index) {
  laze_accumulator_state *state = &l->accumulators[index];
  state->copies = l->copies;
  for (int copy = 0; copy < l->copies; copy++)
    state->block[copy] = initial_state(l, laze_llvm_instruction_at(l, index));
  state->loop = update_loop(l, index);
  if (state->loop < 0) return;
  if (!state->levels)
    state->levels = laze_llvm_stack(l, LLVMTypeOf(state->block[0]), LAZE_ORDER_LEVELS * (uint64_t)l->copies);
  l->clocks[state->loop] = (laze_block_clock){laze_llvm_i64_constant(l, 0), laze_llvm_block_length(l, state->loop)};
}

laze_status laze_llvm_update(laze_llvm_kernel *l, const laze_loop_instruction *i, int copy) {
  int32_t index = laze_llvm_operand(l, i, 0);
  const laze_loop_instruction *a = laze_llvm_instruction_at(l, index);
  laze_lane_value value = l->values[laze_llvm_operand(l, i, 1)][copy];
  laze_accumulator_state *state = &l->accumulators[index];
  LLVMValueRef *block = &state->block[state->copies > 1 ? copy : 0], combined = NULL;
  LLVMValueRef operands[2] = {*block, holds_lanes(l, a) ? laze_llvm_lanes(l, value) : value.value};
  LAZE_TRY(laze_llvm_operation(l, a->op, a->dtype, operands, &combined));
  /* A lane past the end keeps its state: even adding 0 could change it (-0, NaN). */
  bool shared = a->order == LAZE_ORDER_LANES16 && l->active[copy];
  *block = shared ? LLVMBuildSelect(l->e.builder, l->active[copy], combined, *block, "") : combined;
  return LAZE_OK;
}

/* Levels are aligned to a register, and to no more: a vector of 16 lanes may be several. */
static LLVMValueRef level_address(const laze_llvm_kernel *l, int32_t accumulator, LLVMValueRef level, int copy) {
  const laze_accumulator_state *state = &l->accumulators[accumulator];
  LLVMValueRef first = LLVMBuildMul(l->e.builder, level, laze_llvm_i64_constant(l, state->copies), "");
  LLVMValueRef index = LLVMBuildAdd(l->e.builder, first, laze_llvm_i64_constant(l, copy), "");
  return LLVMBuildGEP2(l->e.builder, LLVMTypeOf(state->block[0]), state->levels, &index, 1, "");
}

/* values[copy] = combine(what stands at the level, values[copy]) */
static laze_status join_level(laze_llvm_kernel *l, int32_t accumulator, LLVMValueRef level, LLVMValueRef *values) {
  const laze_loop_instruction *a = laze_llvm_instruction_at(l, accumulator);
  for (int copy = 0; copy < l->accumulators[accumulator].copies; copy++) {
    LLVMValueRef address = level_address(l, accumulator, level, copy);
    LLVMValueRef stored = LLVMBuildLoad2(l->e.builder, LLVMTypeOf(values[copy]), address, "");
    LLVMSetAlignment(stored, (unsigned)laze_dtype_size(a->dtype));
    LLVMValueRef operands[2] = {stored, values[copy]};
    LAZE_TRY(laze_llvm_operation(l, a->op, a->dtype, operands, &values[copy]));
  }
  return LAZE_OK;
}

static void begin_block(laze_llvm_kernel *l, int32_t accumulator, LLVMValueRef level) {
  const laze_loop_instruction *a = laze_llvm_instruction_at(l, accumulator);
  laze_accumulator_state *state = &l->accumulators[accumulator];
  for (int copy = 0; copy < state->copies; copy++) {
    LLVMValueRef address = level_address(l, accumulator, level, copy);
    LLVMValueRef stored = LLVMBuildStore(l->e.builder, state->block[copy], address);
    LLVMSetAlignment(stored, (unsigned)laze_dtype_size(a->dtype));
    state->block[copy] = initial_state(l, a);
  }
}

int laze_llvm_states(laze_llvm_kernel *l, int32_t accumulator, LLVMValueRef **slots) {
  laze_accumulator_state *state = &l->accumulators[accumulator];
  for (int copy = 0; copy < state->copies; copy++) slots[copy] = &state->block[copy];
  return state->copies;
}

laze_status laze_llvm_fold(laze_llvm_kernel *l, const int32_t *accumulators, int32_t count) {
  laze_block_clock *clock = &l->clocks[l->accumulators[accumulators[0]].loop];
  laze_counted_loop carry = {0};
  LLVMValueRef one = laze_llvm_i64_constant(l, 1);
  carry.slots = laze_arena_alloc_array(l->arena, LAZE_MAX_COPIES * (int64_t)count, sizeof *carry.slots);
  if (!carry.slots) return laze_fail_memory(l->error, "lowering a loop", -1);
  for (int32_t k = 0; k < count; k++)
    carry.slot_count += laze_llvm_states(l, accumulators[k], carry.slots + carry.slot_count);
  LAZE_TRY(laze_counted_loop_begin(l, &carry, laze_llvm_i64_constant(l, 0)));
  LLVMValueRef bit = LLVMBuildAnd(l->e.builder, LLVMBuildLShr(l->e.builder, clock->folded, carry.counter, ""), one, "");
  laze_counted_loop_enter(l, &carry, LLVMBuildICmp(l->e.builder, LLVMIntEQ, bit, one, ""));
  for (int32_t k = 0; k < count; k++)
    LAZE_TRY(join_level(l, accumulators[k], carry.counter, l->accumulators[accumulators[k]].block));
  laze_counted_loop_close(l, &carry, one);
  for (int32_t k = 0; k < count; k++) begin_block(l, accumulators[k], carry.counter);
  clock->folded = LLVMBuildAdd(l->e.builder, clock->folded, one, "");
  return LAZE_OK;
}

/* Joins the levels in use, which the bits of `folded` name, with the blocks. */
static laze_status join_levels(laze_llvm_kernel *l, int32_t accumulator, LLVMValueRef *values) {
  const laze_accumulator_state *state = &l->accumulators[accumulator];
  LLVMValueRef *slots[LAZE_MAX_COPIES];
  for (int copy = 0; copy < state->copies; copy++) {
    values[copy] = state->block[copy];
    slots[copy] = &values[copy];
  }
  if (state->loop < 0) return LAZE_OK;
  laze_counted_loop bits = {.slots = slots, .slot_count = state->copies};
  LAZE_TRY(laze_counted_loop_begin(l, &bits, l->clocks[state->loop].folded));
  laze_counted_loop_enter(l, &bits,
                          LLVMBuildICmp(l->e.builder, LLVMIntNE, bits.counter, laze_llvm_i64_constant(l, 0), ""));
  LLVMValueRef minus = LLVMBuildNeg(l->e.builder, bits.counter, "");
  LLVMValueRef lowest = LLVMBuildAnd(l->e.builder, bits.counter, minus, "");
  LLVMValueRef operands[2] = {lowest, LLVMConstInt(LLVMInt1TypeInContext(l->e.context), 1, false)};
  LAZE_TRY(join_level(l, accumulator, laze_llvm_intrinsic(&l->e, "llvm.cttz", operands, 2), values));
  laze_counted_loop_close(l, &bits, LLVMBuildNeg(l->e.builder, lowest, ""));
  return LAZE_OK;
}

/* Lane l holds lane l + half; what comes in above is not looked at. */
static LLVMValueRef upper_half(laze_llvm_kernel *l, LLVMValueRef value, int half) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(l->e.context);
  LLVMValueRef lanes[LAZE_LANES];
  for (int k = 0; k < LAZE_LANES; k++) lanes[k] = LLVMConstInt(i32, (uint64_t)((k + half) % LAZE_LANES), false);
  LLVMValueRef poison = LLVMGetPoison(LLVMTypeOf(value));
  return LLVMBuildShuffleVector(l->e.builder, value, poison, LLVMConstVector(lanes, LAZE_LANES), "");
}

/* What the lanes of `total` come to, in lane 0. */
static laze_status join_lanes(laze_llvm_kernel *l, const laze_loop_instruction *a, LLVMValueRef *total) {
  for (int half = LAZE_LANES / 2; half >= 1; half /= 2) {
    LLVMValueRef operands[2] = {*total, upper_half(l, *total, half)};
    LAZE_TRY(laze_llvm_operation(l, a->op, a->dtype, operands, total));
  }
  *total = LLVMBuildExtractElement(l->e.builder, *total, laze_llvm_i64_constant(l, 0), "");
  return LAZE_OK;
}

laze_status laze_llvm_result(laze_llvm_kernel *l, const laze_loop_instruction *i, laze_lane_value *results) {
  int32_t index = laze_llvm_operand(l, i, 0);
  const laze_loop_instruction *a = laze_llvm_instruction_at(l, index);
  LLVMValueRef totals[LAZE_MAX_COPIES];
  LAZE_TRY(join_levels(l, index, totals));
  if (a->order == LAZE_ORDER_LANES16) LAZE_TRY(join_lanes(l, a, &totals[0]));
  for (int copy = 0; copy < LAZE_MAX_COPIES; copy++)
    results[copy] = (laze_lane_value){.value = totals[copy < l->accumulators[index].copies ? copy : 0]};
  return LAZE_OK;
}
