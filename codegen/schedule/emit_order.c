/* In which order the instances of a group are computed, and where: depth-first from what is stored, with an explicit
 * stack, operands first; a dynamic index comes before the load it moves. The depth of an instance is the innermost loop
 * it depends on, its stage the number of reductions that must be finished before it.
 */
#include "codegen/schedule/emit.h"

#include "codegen/schedule/group.h"

laze_instance *laze_group_instance_at(const laze_loop_emitter *emitter, int32_t index) {
  return &emitter->group->instances[index];
}

bool laze_instance_has_access(const laze_instance *instance) {
  return instance->kind == LAZE_INSTANCE_LOAD || instance->kind == LAZE_INSTANCE_CHECK ||
         instance->kind == LAZE_INSTANCE_IOTA;
}

int32_t laze_instance_dependency(const laze_instance *instance, int32_t which) {
  if (which < instance->operand_count) return instance->operands[which];
  which -= instance->operand_count;
  for (int32_t i = 0; i < instance->map->rank; i++) {
    if (instance->map->components[i].dynamic < 0) continue;
    if (which-- == 0) return instance->map->components[i].dynamic;
  }
  return -1;
}

static laze_status sort_instances(laze_loop_emitter *emitter) {
  int64_t count = emitter->group->instance_count;
  laze_arena *arena = emitter->scheduler->arena;
  struct frame {
    int32_t instance, next;
  } *stack = laze_arena_alloc_array(arena, count + 1, sizeof *stack);
  bool *seen = laze_arena_alloc_zero(arena, count);
  if (!stack || !seen) return laze_fail_memory(emitter->error, "a schedule", -1);
  for (int64_t root = 0; root < count; root++) {
    if (laze_group_instance_at(emitter, (int32_t)root)->store < 0 || seen[root]) continue;
    int64_t top = 0;
    stack[0] = (struct frame){(int32_t)root, 0};
    seen[root] = true;
    while (top >= 0) {
      int32_t dependency =
          laze_instance_dependency(laze_group_instance_at(emitter, stack[top].instance), stack[top].next++);
      if (dependency < 0) {
        emitter->order[emitter->count++] = stack[top--].instance;
      } else if (!seen[dependency]) {
        seen[dependency] = true;
        stack[++top] = (struct frame){dependency, 0};
      }
    }
  }
  return LAZE_OK;
}

/* Where each instance is computed */

static int32_t position_of(const laze_loop_emitter *emitter, int32_t axis) {
  for (int32_t i = 0; i < emitter->kept_count; i++)
    if (emitter->kept[i] == axis) return i;
  for (int32_t i = 0; i < emitter->reduced_count; i++)
    if (emitter->reduced[i] == axis) return emitter->kept_count + i;
  return -1;
}

static int32_t component_depth(const laze_loop_emitter *emitter, const laze_component *component, int32_t depth) {
  for (int32_t i = 0; i < component->term_count; i++) {
    int32_t position = position_of(emitter, component->terms[i].axis);
    if (position > depth) depth = position;
  }
  return depth;
}

/* An index is checked where it is known, at the position that the loops opened so far give: with the further axes at 0
 * that is the lowest one, and rows that an index chooses are read side by side. Where such an axis has no elements
 * nothing is chosen, and the check stands in its loop, which does not run. It notes a failure for the range its call
 * runs, so it stands in the range loop at least. */
static laze_status check_depth(laze_loop_emitter *emitter, int32_t index, int32_t *depth) {
  const laze_map *map = laze_group_instance_at(emitter, index)->map;
  if (*depth < 0 && emitter->kept_count > 0) *depth = 0;
  for (int32_t c = 0; c < map->rank; c++) {
    const laze_component *component = &map->components[c];
    for (int32_t i = 0; i < component->term_count; i++) {
      laze_size extent = emitter->group->domain.axes[component->terms[i].axis].extent;
      bool any = true;
      if (position_of(emitter, component->terms[i].axis) > *depth)
        LAZE_TRY(laze_size_ask_less_equal(emitter->scheduler->graph->sizes, 1, extent, &any, emitter->error));
      if (!any) *depth = component_depth(emitter, component, *depth);
    }
  }
  return LAZE_OK;
}

static laze_status place_instance(laze_loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = laze_group_instance_at(emitter, index);
  int32_t depth = -1, stage = 0;
  if (laze_instance_has_access(instance) && instance->kind != LAZE_INSTANCE_CHECK)
    depth = component_depth(emitter, &emitter->loads[index].offset.affine, depth);
  for (const laze_guard *guard = instance->map->guards; guard; guard = guard->next)
    depth = component_depth(emitter, &guard->component, depth);
  for (int32_t i = 0; instance->pieces && i < instance->operand_count; i++)
    for (const laze_guard *guard = instance->pieces[i]; guard; guard = guard->next)
      depth = component_depth(emitter, &guard->component, depth);
  for (int32_t i = 0, dependency; (dependency = laze_instance_dependency(instance, i)) >= 0; i++) {
    if (emitter->depth[dependency] > depth) depth = emitter->depth[dependency];
    if (emitter->stage[dependency] > stage) stage = emitter->stage[dependency];
  }
  if (instance->kind == LAZE_INSTANCE_REDUCE) {
    depth = emitter->kept_count - 1;
    stage++;
  }
  if (instance->kind == LAZE_INSTANCE_SCAN) depth = emitter->kept_count; /* in the loop of its axis */
  if (stage > emitter->stage_count) emitter->stage_count = stage;
  /* What is stored at each element of a reduced axis is computed there, also where it is the same for all of them. */
  if (instance->store >= 0 && instance->kind != LAZE_INSTANCE_REDUCE) {
    int32_t stored = component_depth(emitter, &emitter->stores[index].offset.affine, -1);
    if (stored >= emitter->kept_count && stored > depth) depth = stored;
  }
  if (instance->kind == LAZE_INSTANCE_CHECK) LAZE_TRY(check_depth(emitter, index, &depth));
  emitter->depth[index] = depth;
  emitter->stage[index] = stage;
  return LAZE_OK;
}

laze_status laze_group_emit_prepare(laze_loop_emitter *emitter) {
  laze_mapper mapper = laze_scheduler_mapper(emitter->scheduler, emitter->group);
  for (int64_t i = 0; i < emitter->group->instance_count; i++) {
    laze_instance *instance = laze_group_instance_at(emitter, (int32_t)i);
    LAZE_TRY(laze_map_normalise(&mapper, instance->map, &instance->map));
    emitter->loads[i] = emitter->stores[i] = (laze_access_state){.base = -1, .partial = -1};
    const laze_map *access = instance->map;
    if (instance->position) LAZE_TRY(laze_map_normalise(&mapper, instance->position, &access));
    if (laze_instance_has_access(instance)) LAZE_TRY(laze_map_offset(&mapper, access, &emitter->loads[i].offset));
    if (instance->store >= 0)
      LAZE_TRY(laze_map_offset(&mapper, instance->place ? instance->place : instance->map, &emitter->stores[i].offset));
    for (int32_t p = 0; instance->pieces && p < instance->operand_count; p++) {
      /* The guards of the pieces, with split axes rewritten, are those of a map that holds nothing else. */
      const laze_map *only_guard = &(laze_map){.guards = instance->pieces[p]}, *normalised;
      LAZE_TRY(laze_map_normalise(&mapper, only_guard, &normalised));
      instance->pieces[p] = normalised->guards;
    }
  }
  LAZE_TRY(sort_instances(emitter));
  for (int32_t i = 0; i < emitter->count; i++) LAZE_TRY(place_instance(emitter, emitter->order[i]));
  return LAZE_OK;
}
