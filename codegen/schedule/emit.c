/* A finished group as loops.
 *
 *   constants, offsets that depend on no axis
 *   for each kept axis                          RANGE on the outermost; LANES on the innermost unless lanes16 or
 *                                               there is nothing behind a scan's axis; neither on an axis that is
 *                                               ordered, or gone through in tiles: then RANGE is a loop around
 *                                               all of them; two outside of rows that a product reads are one loop
 *     values that depend on the axes so far     so that nothing is computed further in than it must be
 *     for each stage of reductions
 *       accumulators
 *       for each reduced axis                   LANES on the innermost if lanes16
 *         values the stage's reductions need, updates
 *       results, values that depend on them
 *     for each reduced axis                     if something is stored at every element (softmax, scans), in LANES as
 *                                               above unless it is ordered
 *       values, stores                          one value that an earlier loop computed may wait there (emit_park.c)
 *     stores
 *
 * A reduction's stage is one more than the latest stage its operand depends on: softmax has amax in stage 1, sum in 2.
 */
#include "codegen/schedule/emit.h"

#include "codegen/schedule/bands.h"
#include "codegen/schedule/group.h"

#include <string.h>

/* Emits what is needed at a depth; in the kept axes only what depends on reductions up to `stage` exactly. */
static void emit_values(laze_loop_emitter *emitter, int32_t depth, int32_t stage) {
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    bool at_stage = depth >= emitter->kept_count || emitter->stage[index] == stage;
    if (!emitter->needed[index] || emitter->depth[index] != depth || !at_stage) continue;
    if (index == emitter->parked && emitter->is_parked)
      laze_group_load_parked(emitter);
    else
      laze_group_emit_instance(emitter, index);
  }
}

/* Loops */

static bool lanes_on_kept(const laze_loop_emitter *emitter) {
  const laze_group_builder *group = emitter->group;
  return !group->has_reduction || (group->order != LAZE_ORDER_LANES16 && !group->serial);
}

static bool lanes_on_reduced(const laze_loop_emitter *emitter) {
  return emitter->group->has_reduction && emitter->group->order == LAZE_ORDER_LANES16;
}

static bool is_ordered(const laze_loop_emitter *emitter, int32_t position) {
  return emitter->group->domain.axes[emitter->kept[position]].ordered;
}

/* Rows of several batches that are stored for whoever reads them whole, as products do: threads share all rows, and so
 * do bands of them. */
static bool joins_axes(const laze_loop_emitter *emitter) {
  return emitter->kept_count == 2 && lanes_on_reduced(emitter) && !is_ordered(emitter, 0) && !is_ordered(emitter, 1) &&
         emitter->group->group.split == LAZE_SPLIT_OPERAND;
}

static laze_status multiply_kept(const laze_loop_emitter *emitter, laze_size *out) {
  const laze_axis *axes = emitter->group->domain.axes;
  return laze_size_binary(emitter->scheduler->graph->sizes, LAZE_SIZE_MUL, axes[emitter->kept[0]].extent,
                          axes[emitter->kept[1]].extent, out, emitter->error);
}

/* Whether the range loop is one around the kept axes. Threads share tiles then, or blocks of the innermost axis unless
 * that is ordered as well. */
static laze_status find_range(laze_loop_emitter *emitter) {
  enum { BLOCK = 256 };
  int32_t count = emitter->kept_count;
  laze_size *domain = &emitter->group->group.domain;
  emitter->range_around = true;
  if (emitter->tiled) return laze_group_count_tiles(emitter, domain);
  emitter->joined = joins_axes(emitter);
  if (emitter->joined) {
    emitter->range_around = false;
    return multiply_kept(emitter, domain);
  }
  emitter->range_around = count == 0 || is_ordered(emitter, 0);
  *domain = emitter->range_around ? 1 : emitter->group->domain.axes[emitter->kept[0]].extent;
  if (!emitter->range_around || count < 2 || is_ordered(emitter, count - 1)) return LAZE_OK;
  emitter->block = BLOCK;
  return laze_size_binary(emitter->scheduler->graph->sizes, LAZE_SIZE_CEIL_DIV,
                          emitter->group->domain.axes[emitter->kept[count - 1]].extent, BLOCK, domain, emitter->error);
}

static int32_t open_loop(laze_loop_emitter *emitter, int32_t extent, int flags) {
  emitter->open_count++;
  return laze_loop_begin(emitter->kernel, extent, flags);
}

/* In tiles the outermost of more than two axes is part of the range. */
static bool is_in_range(const laze_loop_emitter *emitter, int32_t position) {
  return emitter->tiled && emitter->kept_count > 2 && position == 0;
}

static void open_range_around(laze_loop_emitter *emitter) {
  laze_loop_kernel *kernel = emitter->kernel;
  int32_t block = open_loop(emitter, laze_group_emit_own_size(emitter, emitter->group->group.domain), LAZE_LOOP_RANGE);
  if (emitter->tiled) block = laze_group_open_tiles(emitter, block);
  if (is_in_range(emitter, 0)) emitter->induction[emitter->kept[0]] = block;
  if (emitter->block == 0) return;
  emitter->block_start =
      laze_loop_index(kernel, LAZE_LOOP_INDEX_MUL, block, laze_loop_index_constant(kernel, emitter->block));
}

/* What the loop of a kept axis goes through: a tile of it, a block, or all of it, which begins at -1. */
static int32_t find_part(laze_loop_emitter *emitter, int32_t position, int32_t *extent) {
  laze_loop_kernel *kernel = emitter->kernel;
  const int32_t from_last = emitter->kept_count - 1 - position;
  *extent = laze_group_emit_own_size(emitter, emitter->group->domain.axes[emitter->kept[position]].extent);
  if (emitter->tiled && from_last < 2) {
    *extent = laze_group_tile_extent(emitter, *extent, from_last);
    return emitter->tile_start[from_last];
  }
  if (emitter->block == 0 || from_last > 0) return -1;
  const int32_t block = laze_loop_index_constant(kernel, emitter->block);
  *extent = laze_loop_index(kernel, LAZE_LOOP_INDEX_SUB, *extent, emitter->block_start);
  *extent = laze_loop_index(kernel, LAZE_LOOP_INDEX_MIN, *extent, block);
  return emitter->block_start;
}

static void open_axis(laze_loop_emitter *emitter, int32_t position) {
  const int32_t axis = emitter->kept[position];
  const bool innermost = position == emitter->kept_count - 1;
  int32_t extent, start = find_part(emitter, position, &extent);
  int flags = position == 0 && !emitter->range_around ? LAZE_LOOP_RANGE : 0;
  if (innermost && lanes_on_kept(emitter) && !is_ordered(emitter, position)) flags |= LAZE_LOOP_LANES;
  const int32_t counter = open_loop(emitter, extent, flags);
  emitter->induction[axis] =
      start < 0 ? counter : laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_ADD, start, counter);
}

/* One loop over rows, whose number gives that of the batch and of the row in it. */
static void open_joined(laze_loop_emitter *emitter) {
  laze_loop_kernel *kernel = emitter->kernel;
  const int32_t row =
      open_loop(emitter, laze_group_emit_own_size(emitter, emitter->group->group.domain), LAZE_LOOP_RANGE);
  const int32_t rows = laze_group_emit_own_size(emitter, emitter->group->domain.axes[emitter->kept[1]].extent);
  emitter->induction[emitter->kept[0]] = laze_loop_index(kernel, LAZE_LOOP_INDEX_FLOOR_DIV, row, rows);
  emitter->induction[emitter->kept[1]] = laze_loop_index(kernel, LAZE_LOOP_INDEX_MOD, row, rows);
}

static void open_kept(laze_loop_emitter *emitter) {
  int32_t count = emitter->kept_count;
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    emitter->needed[index] = true;
    laze_size load = emitter->loads[index].offset.affine.offset, store = emitter->stores[index].offset.affine.offset;
    if (laze_instance_has_access(laze_group_instance_at(emitter, index)) && load != 0)
      emitter->loads[index].partial = laze_group_emit_own_size(emitter, load);
    if (laze_group_instance_at(emitter, index)->store >= 0 && store != 0)
      emitter->stores[index].partial = laze_group_emit_own_size(emitter, store);
  }
  if (emitter->range_around) open_range_around(emitter);
  emit_values(emitter, -1, 0);
  if (emitter->joined) open_joined(emitter);
  for (int32_t i = 0; i < count; i++) {
    if (!is_in_range(emitter, i) && !emitter->joined) open_axis(emitter, i);
    laze_group_emit_step(emitter, emitter->kept[i]);
    emit_values(emitter, i, 0);
  }
  for (int64_t i = 0; i < emitter->group->instance_count; i++) {
    emitter->loads[i].base = emitter->loads[i].partial;
    emitter->stores[i].base = emitter->stores[i].partial;
  }
}

/* Opens the reduced axes for what `needed` marks. A reduction over nothing but axes of size 1 still has one element. */
static void open_reduced(laze_loop_emitter *emitter, bool lanes) {
  int flags = lanes ? LAZE_LOOP_LANES : 0;
  for (int64_t i = 0; i < emitter->group->instance_count; i++) {
    emitter->loads[i].partial = emitter->loads[i].base;
    emitter->stores[i].partial = emitter->stores[i].base;
  }
  if (emitter->reduced_count == 0)
    emitter->run = laze_loop_begin(emitter->kernel, laze_loop_index_constant(emitter->kernel, 1), flags);
  for (int32_t i = 0; i < emitter->reduced_count; i++) {
    int32_t axis = emitter->reduced[i];
    int32_t extent = laze_group_emit_own_size(emitter, emitter->group->domain.axes[axis].extent);
    emitter->run = laze_loop_begin(emitter->kernel, extent, i == emitter->reduced_count - 1 ? flags : 0);
    emitter->induction[axis] = emitter->run;
    laze_group_emit_step(emitter, axis);
    emit_values(emitter, emitter->kept_count + i, 0);
  }
}

static void close_reduced(laze_loop_emitter *emitter) {
  for (int32_t i = 0; i < (emitter->reduced_count ? emitter->reduced_count : 1); i++) laze_loop_end(emitter->kernel);
}

/* Operands come before users in the order, so one walk from the end reaches everything. What waits needs nothing. */
void laze_group_mark_needed(laze_loop_emitter *emitter) {
  for (int32_t i = emitter->count; i-- > 0;) {
    int32_t index = emitter->order[i];
    if (!emitter->needed[index] || (index == emitter->parked && emitter->is_parked)) continue;
    for (int32_t d = 0, dependency;
         (dependency = laze_instance_dependency(laze_group_instance_at(emitter, index), d)) >= 0; d++)
      if (emitter->depth[dependency] >= emitter->kept_count) emitter->needed[dependency] = true;
  }
}

static int32_t emit_accumulator(laze_loop_emitter *emitter, const laze_instance *instance, laze_dtype dtype) {
  const laze_op_info *info = laze_op_get(laze_graph_node(emitter->scheduler->graph, instance->value)->op);
  laze_loop_instruction accumulator = {.code = LAZE_LOOP_ACCUMULATOR,
                                       .dtype = (uint8_t)dtype,
                                       .op = info->combine,
                                       .order = emitter->group->order,
                                       .initial = info->initial};
  return laze_loop_emit(emitter->kernel, accumulator, NULL, 0);
}

static laze_dtype result_dtype(const laze_loop_emitter *emitter, const laze_instance *instance) {
  return laze_graph_type(emitter->scheduler->graph, instance->value)->dtype;
}

static void emit_stage(laze_loop_emitter *emitter, int32_t stage) {
  int64_t count = emitter->group->instance_count;
  memset(emitter->needed, 0, (size_t)count);
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    const laze_instance *instance = laze_group_instance_at(emitter, index);
    if (instance->kind != LAZE_INSTANCE_REDUCE || emitter->stage[index] != stage) continue;
    emitter->value[index] = emit_accumulator(emitter, instance, laze_group_state(emitter, instance));
    int32_t operand = instance->operands[0];
    emitter->needed[operand] = emitter->depth[operand] >= emitter->kept_count;
  }
  laze_group_mark_needed(emitter);
  open_reduced(emitter, lanes_on_reduced(emitter));
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    const laze_instance *instance = laze_group_instance_at(emitter, index);
    if (instance->kind != LAZE_INSTANCE_REDUCE || emitter->stage[index] != stage) continue;
    laze_dtype dtype = laze_group_state(emitter, instance);
    int32_t operands[3] = {emitter->value[index],
                           laze_group_emit_converted(emitter, emitter->value[instance->operands[0]], dtype),
                           emitter->run};
    laze_loop_emit(emitter->kernel, (laze_loop_instruction){.code = LAZE_LOOP_UPDATE, .dtype = (uint8_t)dtype},
                   operands, 3);
  }
  if (emitter->parked >= 0 && emitter->needed[emitter->parked] && !emitter->is_parked) laze_group_park(emitter);
  close_reduced(emitter);
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    const laze_instance *instance = laze_group_instance_at(emitter, index);
    if (instance->kind != LAZE_INSTANCE_REDUCE || emitter->stage[index] != stage) continue;
    laze_loop_instruction result = {.code = LAZE_LOOP_RESULT, .dtype = (uint8_t)laze_group_state(emitter, instance)};
    int32_t state = laze_loop_emit(emitter->kernel, result, &emitter->value[index], 1);
    emitter->value[index] = laze_group_emit_converted(emitter, state, result_dtype(emitter, instance));
  }
  /* Values that depend on this stage and on no reduced axis. */
  memset(emitter->needed, 1, (size_t)count);
  for (int32_t depth = -1; depth < emitter->kept_count; depth++) emit_values(emitter, depth, stage);
}

static void emit_store(laze_loop_emitter *emitter, int32_t index, int32_t buffer) {
  laze_loop_kernel *kernel = emitter->kernel;
  const laze_group_builder *group = emitter->group;
  const laze_offset *offset = &emitter->stores[index].offset;
  int32_t at = laze_group_emit_access(emitter, &emitter->stores[index]), value = emitter->value[index], guard = -1;
  if (group->has_no_place) { /* an index of nothing is no place to store to */
    int32_t size = laze_group_emit_own_size(emitter, laze_group_instance_at(emitter, offset->dynamics[0])->size);
    guard = laze_loop_index(kernel, LAZE_LOOP_INDEX_LESS, emitter->value[offset->dynamics[0]], size);
  }
  if (group->combine != LAZE_OP_NONE) {
    laze_dtype dtype = laze_loop_dtype(kernel, value), computed = laze_dtype_computes(dtype);
    int32_t operands[2];
    operands[0] = laze_group_emit_converted(emitter, laze_loop_load(kernel, buffer, at, guard), computed);
    operands[1] = laze_group_emit_converted(emitter, value, computed);
    value = laze_loop_element(kernel, group->combine, computed, computed, operands, 2);
    value = laze_group_emit_converted(emitter, value, dtype);
  }
  laze_loop_store(kernel, buffer, at, value, guard);
}

static void emit_stores(laze_loop_emitter *emitter, bool inside_reduced) {
  int32_t first_write = emitter->kernel->buffer_count - emitter->group->group.write_count;
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    const laze_instance *instance = laze_group_instance_at(emitter, index);
    if (instance->store < 0 || (emitter->depth[index] >= emitter->kept_count) != inside_reduced) continue;
    emit_store(emitter, index, first_write + instance->store);
  }
}

static void emit_scan_states(laze_loop_emitter *emitter) {
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    const laze_instance *instance = laze_group_instance_at(emitter, index);
    if (instance->kind == LAZE_INSTANCE_SCAN && emitter->needed[index])
      emitter->state[index] = emit_accumulator(emitter, instance, laze_group_state(emitter, instance));
  }
}

/* Whether what is stored along the innermost reduced axis is stored one after the other. */
static bool stores_in_order(const laze_loop_emitter *emitter) {
  int32_t count = emitter->reduced_count;
  return count > 0 && emitter->group->domain.axes[emitter->reduced[count - 1]].ordered;
}

/* Stores at every element, in loops of their own over the reduced axes. */
static void emit_element_stores(laze_loop_emitter *emitter) {
  bool any = false;
  memset(emitter->needed, 0, (size_t)emitter->group->instance_count);
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    if (laze_group_instance_at(emitter, index)->store < 0 || emitter->depth[index] < emitter->kept_count) continue;
    emitter->needed[index] = any = true;
  }
  if (!any) return;
  laze_group_mark_needed(emitter);
  emit_scan_states(emitter);
  open_reduced(emitter, lanes_on_reduced(emitter) && !stores_in_order(emitter));
  emit_stores(emitter, true);
  close_reduced(emitter);
}

static laze_status allocate(laze_loop_emitter *emitter) {
  laze_arena *arena = emitter->scheduler->arena;
  int64_t count = emitter->group->instance_count;
  int32_t *numbers = laze_arena_alloc_zero(arena, 6 * count * (int64_t)sizeof *numbers);
  emitter->kernel = laze_arena_alloc(arena, sizeof *emitter->kernel);
  emitter->needed = laze_arena_alloc_zero(arena, count);
  emitter->loads = laze_arena_alloc_array(arena, count, sizeof *emitter->loads);
  emitter->stores = laze_arena_alloc_array(arena, count, sizeof *emitter->stores);
  if (!numbers || !emitter->kernel || !emitter->needed || !emitter->loads || !emitter->stores)
    return laze_fail_memory(emitter->error, "a schedule", -1);
  emitter->order = numbers;
  emitter->value = numbers + count;
  emitter->depth = numbers + 2 * count;
  emitter->stage = numbers + 3 * count;
  emitter->buffer = numbers + 4 * count;
  emitter->state = numbers + 5 * count;
  laze_loop_init(emitter->kernel, arena);
  return LAZE_OK;
}

laze_status laze_group_emit_loops(laze_scheduler *scheduler, laze_group_builder *group) {
  laze_loop_emitter emitter = {.scheduler = scheduler, .group = group, .error = scheduler->error};
  for (int32_t i = 0; i < group->domain.order_count; i++) {
    int32_t axis = group->domain.order[i];
    if (group->domain.axes[axis].reduced)
      emitter.reduced[emitter.reduced_count++] = axis;
    else
      emitter.kept[emitter.kept_count++] = axis;
  }
  LAZE_TRY(laze_group_find_tiles(&emitter));
  LAZE_TRY(find_range(&emitter));
  LAZE_TRY(allocate(&emitter));
  LAZE_TRY(laze_group_emit_prepare(&emitter));
  LAZE_TRY(laze_group_find_parked(&emitter));
  group->group.kernel = emitter.kernel;
  emitter.kernel->check_count = group->group.check_count;
  LAZE_TRY(laze_group_emit_buffers(scheduler, group, emitter.order, emitter.count, emitter.buffer));
  open_kept(&emitter);
  for (int32_t stage = 1; stage <= emitter.stage_count; stage++) emit_stage(&emitter, stage);
  emit_element_stores(&emitter);
  emit_stores(&emitter, false);
  for (int32_t i = 0; i < emitter.open_count; i++) laze_loop_end(emitter.kernel);
  LAZE_TRY(laze_loop_finish(emitter.kernel, scheduler->error));
  group->group.sizes = emitter.numbers.items;
  group->group.size_count = (int32_t)emitter.numbers.count;
  LAZE_TRY(laze_group_find_rows(&emitter));
  return laze_group_emit_summary(&emitter);
}
