/* A value that waits where the result goes. Softmax needs exp(x - max) twice, for the sum and for each result:
 *
 *   for each element   sum += exp(x - max)                sum += (y = exp(x - max))
 *   for each element   y = exp(x - max) / sum             y = y / sum
 *
 * Whoever is dear to compute, needed in the loops of a reduction and behind it, and has the place and the dtype of the
 * one value that is stored at every element, is stored there when it is computed first, and loaded from then on. A row
 * is in a cache until it is needed again.
 */
#include "codegen/schedule/emit.h"

#include "codegen/schedule/group.h"

#include <string.h>

/* The only instance that is stored at every element; -1: there is none, or several, or some that take turns. */
static int32_t find_stored(const laze_loop_emitter *emitter) {
  const laze_group_builder *group = emitter->group;
  int32_t found = -1, count = 0;
  for (int32_t i = 0; i < emitter->count; i++) {
    const laze_instance *instance = laze_group_instance_at(emitter, emitter->order[i]);
    if (instance->kind == LAZE_INSTANCE_SCAN) return -1;
    if (instance->store < 0 || emitter->depth[emitter->order[i]] < emitter->kept_count) continue;
    found = emitter->order[i];
    count++;
  }
  const bool plain = group->has_reduction && group->combine == LAZE_OP_NONE && !group->has_no_place &&
                     !group->group.updates && emitter->reduced_count > 0;
  return plain && count == 1 && !laze_group_instance_at(emitter, found)->place ? found : -1;
}

static laze_status may_wait(const laze_loop_emitter *emitter, int32_t index, int32_t stored, bool *out) {
  laze_mapper mapper = laze_scheduler_mapper(emitter->scheduler, emitter->group);
  const laze_instance *instance = laze_group_instance_at(emitter, index), *at = laze_group_instance_at(emitter, stored);
  const laze_type *type = laze_graph_type(emitter->scheduler->graph, instance->value);
  *out = index != stored && instance->kind == LAZE_INSTANCE_ELEMENT &&
         !laze_schedule_is_cheap(emitter->scheduler, instance->value.node) &&
         type->dtype == laze_graph_type(emitter->scheduler->graph, at->value)->dtype;
  return *out ? laze_map_equal(&mapper, instance->map, at->map, out) : LAZE_OK;
}

/* Marks what the reductions need in their loops. */
static void mark_reduced(laze_loop_emitter *emitter) {
  memset(emitter->needed, 0, (size_t)emitter->group->instance_count);
  for (int32_t i = 0; i < emitter->count; i++) {
    const laze_instance *instance = laze_group_instance_at(emitter, emitter->order[i]);
    if (instance->kind == LAZE_INSTANCE_REDUCE)
      emitter->needed[instance->operands[0]] = emitter->depth[instance->operands[0]] >= emitter->kept_count;
  }
  laze_group_mark_needed(emitter);
}

laze_status laze_group_find_parked(laze_loop_emitter *emitter) {
  const int64_t count = emitter->group->instance_count;
  emitter->parked = -1;
  emitter->parked_at = find_stored(emitter);
  if (emitter->parked_at < 0) return LAZE_OK;
  bool *reduced = laze_arena_alloc_array(emitter->scheduler->arena, count, sizeof *reduced);
  if (!reduced) return laze_scheduler_memory_error(emitter->scheduler);
  mark_reduced(emitter);
  memcpy(reduced, emitter->needed, (size_t)count);
  memset(emitter->needed, 0, (size_t)count);
  emitter->needed[emitter->parked_at] = true;
  laze_group_mark_needed(emitter);
  for (int32_t i = emitter->count; i-- > 0 && emitter->parked < 0;) {
    const int32_t index = emitter->order[i];
    bool waits = emitter->needed[index] && reduced[index];
    if (waits) LAZE_TRY(may_wait(emitter, index, emitter->parked_at, &waits));
    if (waits) emitter->parked = index;
  }
  return LAZE_OK;
}

static int32_t buffer_of(const laze_loop_emitter *emitter) {
  const int32_t first_write = emitter->kernel->buffer_count - emitter->group->group.write_count;
  return first_write + laze_group_instance_at(emitter, emitter->parked_at)->store;
}

void laze_group_park(laze_loop_emitter *emitter) {
  const int32_t at = laze_group_emit_access(emitter, &emitter->stores[emitter->parked_at]);
  laze_loop_store(emitter->kernel, buffer_of(emitter), at, emitter->value[emitter->parked], -1);
  emitter->is_parked = true;
}

void laze_group_load_parked(laze_loop_emitter *emitter) {
  const int32_t at = laze_group_emit_access(emitter, &emitter->stores[emitter->parked_at]);
  emitter->value[emitter->parked] = laze_loop_load(emitter->kernel, buffer_of(emitter), at, -1);
}
