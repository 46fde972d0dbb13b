/* Loops. A serial loop is one counted loop; a LANES loop is a main part without masks and a masked rest:
 *
 *   main_end = start + (end - start) rounded down to whole strips
 *   for (i = start; i < main_end; i += 16 or 32)  body in lanes i .. i + 15 (and 16 .. 31)
 *   for (i = main_end; i < end; i += 16)          body in lanes i .. i + 15, those below `end` active
 *
 * A loop whose body updates accumulators is split at the blocks of their order, so that no iteration asks whether a
 * block ends with it. `left` is how many places the block still has, a constant where no reduced loop is around this:
 *
 *   base = 0
 * blocks:
 *   for (i = base; i < min(base + left, main_end); ...)  body
 *   if (base + left < end) { fold; base += left; left = B; goto blocks; }
 *   masked rest; left -= what the rest of the run takes
 *
 * A block is folded when the next one begins, so that a reduction of one block does not fold at all.
 */
#include "codegen/llvm/kernel.h"

#include "codegen/order.h"

/* Longest body, in instructions, that runs two strips in lockstep. */
#define SHORT_BODY 16

typedef struct {
  int32_t begin;
  bool lanes;
  int copies;
  LLVMValueRef start, end, main_end;
  /* What an iteration hands to the next: the states of all accumulators that the body updates, variables that it sets,
   * clocks of loops within. */
  LLVMValueRef **slots;
  int32_t slot_count;
  /* The accumulators for which it is the innermost reduced loop; behind the slots stand those of its own clock. */
  int32_t *folded;
  int32_t folded_count, clock_slots;
} loop_plan;

static bool contains(const int32_t *list, int32_t count, int32_t value) {
  for (int32_t k = 0; k < count; k++)
    if (list[k] == value) return true;
  return false;
}

/* Whether a reduced loop stands between an accumulator and the loop that updates it. */
static bool is_surrounded(const laze_llvm_kernel *l, int32_t accumulator, int32_t loop) {
  for (int32_t k = accumulator + 1; k < loop; k++)
    if (laze_llvm_instruction_at(l, k)->code == LAZE_LOOP_BEGIN && l->ends[k] > loop) return true;
  return false;
}

static int32_t add_clock(laze_llvm_kernel *l, LLVMValueRef **slots, int32_t accumulator, int32_t loop) {
  slots[0] = &l->clocks[loop].folded;
  if (!is_surrounded(l, accumulator, loop)) return 1;
  slots[1] = &l->clocks[loop].left;
  return 2;
}

static laze_status find_accumulators(laze_llvm_kernel *l, loop_plan *plan) {
  int32_t begin = plan->begin, room = l->ends[begin] - begin, carried_count = 0, clock_count = 0;
  int32_t *carried = laze_arena_alloc_array(l->arena, room, sizeof *carried);
  int32_t *clocks = laze_arena_alloc_array(l->arena, room, sizeof *clocks);
  plan->folded = laze_arena_alloc_array(l->arena, room, sizeof *plan->folded);
  plan->slots = laze_arena_alloc_array(l->arena, 3 * (int64_t)room, sizeof(LLVMValueRef *));
  if (!carried || !clocks || !plan->folded || !plan->slots) return laze_fail_memory(l->error, "lowering a loop", -1);
  for (int32_t k = begin + 1; k < l->ends[begin]; k++) {
    const laze_loop_instruction *i = laze_llvm_instruction_at(l, k);
    if (i->code != LAZE_LOOP_UPDATE && i->code != LAZE_LOOP_SET) continue;
    int32_t accumulator = laze_llvm_operand(l, i, 0), loop = laze_llvm_operand(l, i, i->count - 1);
    if (accumulator > begin || contains(carried, carried_count, accumulator)) continue; /* or of one iteration */
    carried[carried_count++] = accumulator;
    plan->slots[plan->slot_count++] = &l->accumulators[accumulator].block;
    if (i->code == LAZE_LOOP_SET) continue;
    if (l->accumulators[accumulator].loop < 0) continue; /* without blocks */
    if (loop == begin) plan->folded[plan->folded_count++] = accumulator;
    if (loop == begin || contains(clocks, clock_count, loop)) continue;
    clocks[clock_count++] = loop;
    plan->slot_count += add_clock(l, plan->slots + plan->slot_count, accumulator, loop);
  }
  if (plan->folded_count) plan->clock_slots = add_clock(l, plan->slots + plan->slot_count, plan->folded[0], begin);
  return LAZE_OK;
}

laze_status laze_counted_loop_begin(laze_llvm_kernel *l, laze_counted_loop *loop, LLVMValueRef from) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(l->e.builder);
  loop->phis = laze_arena_alloc_array(l->arena, loop->slot_count, sizeof(LLVMValueRef));
  if (!loop->phis) return laze_fail_memory(l->error, "lowering a loop", -1);
  loop->header = laze_llvm_add_block(l);
  LLVMBuildBr(l->e.builder, loop->header);
  LLVMPositionBuilderAtEnd(l->e.builder, loop->header);
  loop->counter = LLVMBuildPhi(l->e.builder, LLVMTypeOf(from), "");
  LLVMAddIncoming(loop->counter, &from, &before, 1);
  for (int32_t k = 0; k < loop->slot_count; k++) {
    LLVMValueRef *slot = loop->slots[k];
    loop->phis[k] = LLVMBuildPhi(l->e.builder, LLVMTypeOf(*slot), "");
    LLVMAddIncoming(loop->phis[k], slot, &before, 1);
    *slot = loop->phis[k];
  }
  return LAZE_OK;
}

/* Goes back to the header with the values as they are. */
static void go_back(laze_llvm_kernel *l, laze_counted_loop *loop, LLVMValueRef step) {
  LLVMValueRef next = LLVMBuildAdd(l->e.builder, loop->counter, step, "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(l->e.builder);
  LLVMBuildBr(l->e.builder, loop->header);
  LLVMAddIncoming(loop->counter, &next, &latch, 1);
  for (int32_t k = 0; k < loop->slot_count; k++) LLVMAddIncoming(loop->phis[k], loop->slots[k], &latch, 1);
}

void laze_counted_loop_enter(laze_llvm_kernel *l, laze_counted_loop *loop, LLVMValueRef condition) {
  LLVMBasicBlockRef body = laze_llvm_add_block(l);
  loop->exit = laze_llvm_add_block(l);
  LLVMBuildCondBr(l->e.builder, condition, body, loop->exit);
  LLVMPositionBuilderAtEnd(l->e.builder, body);
}

laze_status laze_counted_loop_open(laze_llvm_kernel *l, laze_counted_loop *loop, LLVMValueRef from, LLVMValueRef to) {
  LAZE_TRY(laze_counted_loop_begin(l, loop, from));
  laze_counted_loop_enter(l, loop, LLVMBuildICmp(l->e.builder, LLVMIntSLT, loop->counter, to, ""));
  return LAZE_OK;
}

void laze_counted_loop_close(laze_llvm_kernel *l, laze_counted_loop *loop, LLVMValueRef step) {
  go_back(l, loop, step);
  for (int32_t k = 0; k < loop->slot_count; k++) *loop->slots[k] = loop->phis[k];
  LLVMPositionBuilderAtEnd(l->e.builder, loop->exit);
}

static laze_counted_loop new_loop(const loop_plan *plan) {
  return (laze_counted_loop){.slots = plan->slots, .slot_count = plan->slot_count};
}

static laze_status lower_body(laze_llvm_kernel *l, const loop_plan *plan, LLVMValueRef counter) {
  laze_lane_value *variable = l->values[plan->begin];
  variable[0].value = counter;
  variable[0].stride = plan->lanes ? laze_llvm_i64_constant(l, 1) : NULL;
  variable[1] = variable[0];
  if (l->copies > 1) variable[1].value = LLVMBuildAdd(l->e.builder, counter, laze_llvm_i64_constant(l, LAZE_LANES), "");
  return laze_llvm_span(l, plan->begin + 1, l->ends[plan->begin]);
}

/* Iterations from `from` to `to`, which are whole strips in lanes. */
static laze_status lower_main(laze_llvm_kernel *l, const loop_plan *plan, LLVMValueRef from, LLVMValueRef to) {
  laze_counted_loop loop = new_loop(plan);
  int outer_copies = l->copies;
  if (plan->lanes) l->copies = plan->copies;
  LAZE_TRY(laze_counted_loop_open(l, &loop, from, to));
  LAZE_TRY(lower_body(l, plan, loop.counter));
  laze_counted_loop_close(l, &loop, laze_llvm_i64_constant(l, plan->lanes ? LAZE_LANES * plan->copies : 1));
  l->copies = outer_copies;
  return LAZE_OK;
}

static laze_status lower_rest(laze_llvm_kernel *l, const loop_plan *plan) {
  if (!plan->lanes) return LAZE_OK;
  laze_counted_loop loop = new_loop(plan);
  LAZE_TRY(laze_counted_loop_open(l, &loop, plan->main_end, plan->end));
  l->active = laze_llvm_mask_below(l, LLVMBuildSub(l->e.builder, plan->end, loop.counter, ""));
  LAZE_TRY(lower_body(l, plan, loop.counter));
  l->active = NULL;
  laze_counted_loop_close(l, &loop, laze_llvm_i64_constant(l, LAZE_LANES));
  return LAZE_OK;
}

static LLVMValueRef smaller(laze_llvm_kernel *l, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(l->e.builder, LLVMBuildICmp(l->e.builder, LLVMIntSLT, a, b, ""), a, b, "");
}

/* A run's last places: the next run begins behind them. */
static LLVMValueRef take_places(laze_llvm_kernel *l, const loop_plan *plan, LLVMValueRef base) {
  LLVMValueRef taken = LLVMBuildSub(l->e.builder, plan->end, base, "");
  if (plan->lanes) {
    LLVMValueRef up = LLVMBuildAdd(l->e.builder, taken, laze_llvm_i64_constant(l, LAZE_ORDER_LANES_RUN - 1), "");
    taken = LLVMBuildAnd(l->e.builder, up, laze_llvm_i64_constant(l, -LAZE_ORDER_LANES_RUN), "");
  }
  return LLVMBuildSub(l->e.builder, l->clocks[plan->begin].left, taken, "");
}

/* Folds a whole block and goes back for the next; leaves the values as they were before. */
static laze_status lower_whole_block(laze_llvm_kernel *l, const loop_plan *plan, laze_counted_loop *blocks) {
  laze_block_clock *clock = &l->clocks[plan->begin];
  LLVMValueRef *before = laze_arena_alloc_array(l->arena, blocks->slot_count, sizeof(LLVMValueRef));
  if (!before) return laze_fail_memory(l->error, "lowering a loop", -1);
  for (int32_t k = 0; k < blocks->slot_count; k++) before[k] = *blocks->slots[k];
  LLVMValueRef step = clock->left;
  LAZE_TRY(laze_llvm_fold(l, plan->folded, plan->folded_count));
  clock->left = laze_llvm_block_length(l, plan->begin);
  go_back(l, blocks, step);
  clock->left = step;
  for (int32_t k = 0; k < blocks->slot_count; k++) *blocks->slots[k] = before[k];
  return LAZE_OK;
}

static laze_status lower_blocks(laze_llvm_kernel *l, const loop_plan *plan) {
  laze_block_clock *clock = &l->clocks[plan->begin];
  laze_counted_loop blocks = {.slots = plan->slots, .slot_count = plan->slot_count + plan->clock_slots};
  LAZE_TRY(laze_counted_loop_begin(l, &blocks, plan->start));
  LLVMValueRef block_end = LLVMBuildAdd(l->e.builder, blocks.counter, clock->left, "");
  LAZE_TRY(lower_main(l, plan, blocks.counter, smaller(l, block_end, plan->main_end)));
  LLVMBasicBlockRef whole = laze_llvm_add_block(l), last = laze_llvm_add_block(l);
  LLVMBuildCondBr(l->e.builder, LLVMBuildICmp(l->e.builder, LLVMIntSLT, block_end, plan->end, ""), whole, last);
  LLVMPositionBuilderAtEnd(l->e.builder, whole);
  LAZE_TRY(lower_whole_block(l, plan, &blocks));
  LLVMPositionBuilderAtEnd(l->e.builder, last);
  LAZE_TRY(lower_rest(l, plan));
  if (plan->clock_slots > 1) clock->left = take_places(l, plan, blocks.counter);
  return LAZE_OK;
}

/* Whether a value computed in the loop is the same in each iteration and may be computed, or loaded, ahead of it.
 * Divisions stay where they are: with no iteration they could divide by 0. */
static bool may_hoist(const laze_llvm_kernel *l, int32_t begin, int32_t index) {
  const laze_loop_instruction *i = laze_llvm_instruction_at(l, index);
  bool pure = (i->code >= LAZE_LOOP_INDEX_CONSTANT && i->code <= LAZE_LOOP_LOAD && i->code != LAZE_LOOP_INDEX_MOD &&
               i->code != LAZE_LOOP_INDEX_FLOOR_DIV) ||
              i->code == LAZE_LOOP_ELEMENT || i->code == LAZE_LOOP_CONVERT || i->code == LAZE_LOOP_BITCAST;
  if (!pure) return false;
  if (i->code == LAZE_LOOP_LOAD && l->kernel->buffers[i->imm].written) return false; /* an iteration may store there */
  for (int32_t k = 0; k < i->count; k++) {
    int32_t operand = laze_llvm_operand(l, i, k);
    if (operand >= begin && !l->hoisted[operand]) return false;
  }
  return true;
}

/* Iterations of a LANES loop do not see each other's stores, so what they all load can be loaded before the first. A
 * loop without iterations must not load at all: its loads are guarded. */
static laze_status hoist(laze_llvm_kernel *l, const loop_plan *plan) {
  LLVMValueRef runs = LLVMBuildICmp(l->e.builder, LLVMIntSLT, plan->start, plan->end, "");
  for (int32_t k = plan->begin + 1; k < l->ends[plan->begin]; k++) {
    const laze_loop_instruction *i = laze_llvm_instruction_at(l, k);
    if (i->code == LAZE_LOOP_BEGIN) k = l->ends[k];
    if (!may_hoist(l, plan->begin, k)) continue;
    l->hoisted_guard = runs;
    laze_status status = laze_llvm_instruction(l, k);
    l->hoisted_guard = NULL;
    LAZE_TRY(status);
    l->hoisted[k] = true;
  }
  return LAZE_OK;
}

/* Two strips in lockstep pay off where the body is short; a check or a nested loop ends basic blocks, and a variable
 * holds one value. */
static int choose_copies(const laze_llvm_kernel *l, int32_t begin) {
  int32_t length = 0;
  for (int32_t k = begin + 1; k < l->ends[begin]; k++) {
    uint8_t code = laze_llvm_instruction_at(l, k)->code;
    if (code == LAZE_LOOP_BEGIN || code == LAZE_LOOP_CHECK || code == LAZE_LOOP_CHECK_SLICE ||
        code == LAZE_LOOP_VARIABLE)
      return 1;
    length += !l->hoisted[k];
  }
  return length <= SHORT_BODY ? 2 : 1;
}

static laze_status plan_loop(laze_llvm_kernel *l, int32_t begin, loop_plan *plan) {
  const laze_loop_instruction *i = laze_llvm_instruction_at(l, begin);
  bool range = i->flags & LAZE_LOOP_RANGE;
  *plan = (loop_plan){.begin = begin, .lanes = i->flags & LAZE_LOOP_LANES, .copies = 1};
  plan->start = range ? l->begin : laze_llvm_i64_constant(l, 0);
  plan->end = range ? l->end : l->values[laze_llvm_operand(l, i, 0)][0].value;
  plan->main_end = plan->end;
  return find_accumulators(l, plan);
}

static laze_status lower_iterations(laze_llvm_kernel *l, const loop_plan *plan) {
  if (plan->folded_count) return lower_blocks(l, plan);
  LAZE_TRY(lower_main(l, plan, plan->start, plan->main_end));
  return lower_rest(l, plan);
}

static laze_status lower_lanes_loop(laze_llvm_kernel *l, loop_plan *plan) {
  LAZE_TRY(hoist(l, plan));
  plan->copies = choose_copies(l, plan->begin);
  LLVMValueRef count = LLVMBuildSub(l->e.builder, plan->end, plan->start, "");
  LLVMValueRef strips =
      LLVMBuildAnd(l->e.builder, count, laze_llvm_i64_constant(l, -(int64_t)LAZE_LANES * plan->copies), "");
  plan->main_end = LLVMBuildAdd(l->e.builder, plan->start, strips, "");
  l->in_lanes = true;
  laze_status status = lower_iterations(l, plan);
  l->in_lanes = false;
  return status;
}

laze_status laze_llvm_loop(laze_llvm_kernel *l, int32_t begin) {
  loop_plan plan;
  LAZE_TRY(plan_loop(l, begin, &plan));
  return plan.lanes ? lower_lanes_loop(l, &plan) : lower_iterations(l, &plan);
}
