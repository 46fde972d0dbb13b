/* Loops. A serial loop is one counted loop; a LANES loop is a main part, whose steps need no masks but perhaps the
 * last, and a masked rest:
 *
 *   main_end = start + (end - start) rounded down to whole steps, of one or several strips in lockstep
 *   for (i = start; i < main_end; i += step)  body in lanes i .. i + 15 (and 16 .. 31, and further ones)
 *   for (i = main_end; i < end; i += 16)      body in lanes i .. i + 15, those below `end` active
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
/* Around a loop that goes down columns: the most instructions that strips in lockstep have together. */
#define WIDE_BODY 160

typedef struct {
  int32_t begin;
  bool lanes;
  int copies;  /* strips in lockstep, in the main part */
  bool masked; /* whose last step may pass the end */
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
  plan->slots = laze_arena_alloc_array(l->arena, (LAZE_MAX_COPIES + 2) * (int64_t)room, sizeof(LLVMValueRef *));
  if (!carried || !clocks || !plan->folded || !plan->slots) return laze_fail_memory(l->error, "lowering a loop", -1);
  for (int32_t k = begin + 1; k < l->ends[begin]; k++) {
    const laze_loop_instruction *i = laze_llvm_instruction_at(l, k);
    if (i->code != LAZE_LOOP_UPDATE && i->code != LAZE_LOOP_SET) continue;
    int32_t accumulator = laze_llvm_operand(l, i, 0), loop = laze_llvm_operand(l, i, i->count - 1);
    if (accumulator > begin || contains(carried, carried_count, accumulator)) continue; /* or of one iteration */
    carried[carried_count++] = accumulator;
    plan->slot_count += laze_llvm_states(l, accumulator, plan->slots + plan->slot_count);
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

static laze_status lower_serial(laze_llvm_kernel *l, const loop_plan *plan, LLVMValueRef from, LLVMValueRef to) {
  laze_counted_loop loop = new_loop(plan);
  bool was_down_columns = l->down_columns;
  l->down_columns = l->in_lanes;
  LAZE_TRY(laze_counted_loop_open(l, &loop, from, to));
  for (int copy = 0; copy < LAZE_MAX_COPIES; copy++)
    l->values[plan->begin][copy] = (laze_lane_value){.value = loop.counter};
  LAZE_TRY(laze_llvm_span(l, plan->begin + 1, l->ends[plan->begin]));
  laze_counted_loop_close(l, &loop, laze_llvm_i64_constant(l, 1));
  l->down_columns = was_down_columns;
  return LAZE_OK;
}

/* Where a strip begins, and which of its lanes run. One behind the end has none, and stands at the first strip, so that
 * what it reads is mapped. */
static void place_strip(laze_llvm_kernel *l, const loop_plan *plan, LLVMValueRef counter, int copy, bool masked) {
  LLVMValueRef *first = &l->values[plan->begin][copy].value;
  *first = LLVMBuildAdd(l->e.builder, counter, laze_llvm_i64_constant(l, LAZE_LANES * copy), "");
  if (!masked) return;
  l->active[copy] = laze_llvm_mask_below(l, LLVMBuildSub(l->e.builder, plan->end, *first, ""));
  LLVMValueRef any = LLVMBuildICmp(l->e.builder, LLVMIntSLT, *first, plan->end, "");
  if (copy > 0) *first = LLVMBuildSelect(l->e.builder, any, *first, counter, "");
}

/* Iterations from `from` to `to` in lanes, `copies` strips at a time: whole steps, unless `masked`. */
static laze_status lower_strips(laze_llvm_kernel *l, const loop_plan *plan, LLVMValueRef from, LLVMValueRef to,
                                int copies, bool masked) {
  laze_counted_loop loop = new_loop(plan);
  const int outer_copies = l->copies;
  l->copies = copies;
  LAZE_TRY(laze_counted_loop_open(l, &loop, from, to));
  for (int copy = 0; copy < l->copies; copy++) {
    l->values[plan->begin][copy].stride = laze_llvm_i64_constant(l, 1);
    place_strip(l, plan, loop.counter, copy, masked);
  }
  LAZE_TRY(laze_llvm_span(l, plan->begin + 1, l->ends[plan->begin]));
  for (int copy = 0; copy < l->copies; copy++) l->active[copy] = NULL;
  laze_counted_loop_close(l, &loop, laze_llvm_i64_constant(l, LAZE_LANES * l->copies));
  l->copies = outer_copies;
  return LAZE_OK;
}

static laze_status lower_main(laze_llvm_kernel *l, const loop_plan *plan, LLVMValueRef from, LLVMValueRef to) {
  return plan->lanes ? lower_strips(l, plan, from, to, plan->copies, plan->masked) : lower_serial(l, plan, from, to);
}

static laze_status lower_rest(laze_llvm_kernel *l, const loop_plan *plan) {
  return plan->lanes ? lower_strips(l, plan, plan->main_end, plan->end, 1, true) : LAZE_OK;
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

/* Whether masked loads and stores, of all dtypes, cost what others do. */
static bool has_free_masks(const laze_llvm_kernel *l) {
  return l->unit.register_bytes == 64;
}

/* Strips in lockstep around a loop that goes down their columns: a row's elements in all of them are read one after the
 * other, where one strip would read a line of each row, far from the last. As many as half of the registers hold the
 * states of, and as the body, emitted for each of them, is short. */
static int choose_wide(const laze_llvm_kernel *l, int32_t length, int64_t state_bytes) {
  const int64_t room = (int64_t)l->unit.register_count / 2 * l->unit.register_bytes;
  int copies = LAZE_MAX_COPIES;
  while (copies > 1 && (copies * length > WIDE_BODY || copies * state_bytes > room)) copies /= 2;
  return copies;
}

/* How many strips run in lockstep. Two pay off where the body is short; a check ends basic blocks, and a variable holds
 * one value. */
static void choose_copies(const laze_llvm_kernel *l, loop_plan *plan) {
  int32_t length = 0;
  int64_t state_bytes = 0;
  bool wide = false;
  plan->copies = 1;
  for (int32_t k = plan->begin + 1; k < l->ends[plan->begin]; k++) {
    const laze_loop_instruction *i = laze_llvm_instruction_at(l, k);
    if (i->code == LAZE_LOOP_CHECK || i->code == LAZE_LOOP_CHECK_SLICE || i->code == LAZE_LOOP_VARIABLE) return;
    if (i->code == LAZE_LOOP_ACCUMULATOR) state_bytes += LAZE_LANES * laze_dtype_size((laze_dtype)i->dtype);
    wide = wide || i->code == LAZE_LOOP_BEGIN;
    length += !l->hoisted[k];
  }
  if (wide && plan->folded_count > 0) return; /* a step longer than a run's places would pass the end of a block */
  if (wide) {
    plan->copies = choose_wide(l, length, state_bytes);
    plan->masked = plan->copies > 1 && has_free_masks(l);
  } else if (length <= SHORT_BODY) {
    plan->copies = 2;
  }
}

static laze_status plan_loop(laze_llvm_kernel *l, int32_t begin, loop_plan *plan) {
  const laze_loop_instruction *i = laze_llvm_instruction_at(l, begin);
  bool range = i->flags & LAZE_LOOP_RANGE;
  *plan = (loop_plan){.begin = begin, .lanes = i->flags & LAZE_LOOP_LANES};
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

/* The main part's end: behind its last whole step, or, where masks cost nothing, behind a last step of which most
 * strips have something to do. */
static LLVMValueRef find_main_end(laze_llvm_kernel *l, const loop_plan *plan) {
  LLVMValueRef count = LLVMBuildSub(l->e.builder, plan->end, plan->start, "");
  LLVMValueRef step = laze_llvm_i64_constant(l, (int64_t)LAZE_LANES * plan->copies);
  LLVMValueRef whole = LLVMBuildAnd(l->e.builder, count, LLVMBuildNeg(l->e.builder, step, ""), "");
  LLVMValueRef whole_end = LLVMBuildAdd(l->e.builder, plan->start, whole, "");
  if (!plan->masked) return whole_end;
  LLVMValueRef rest = LLVMBuildSub(l->e.builder, count, whole, "");
  LLVMValueRef half = laze_llvm_i64_constant(l, (int64_t)LAZE_LANES * plan->copies / 2);
  LLVMValueRef few = LLVMBuildICmp(l->e.builder, LLVMIntSLE, rest, half, "");
  return LLVMBuildSelect(l->e.builder, few, whole_end, plan->end, "");
}

static laze_status lower_lanes_loop(laze_llvm_kernel *l, loop_plan *plan) {
  LAZE_TRY(hoist(l, plan));
  choose_copies(l, plan);
  plan->main_end = find_main_end(l, plan);
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
