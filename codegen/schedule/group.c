/* Groups while they grow: instances and the uses that wait for them.
 *
 *   group of %2 = add %0, %1     instance 0: add, at map i      slots: %0 at i, %1 at i
 *     use of %0 ──> slot 0         each is filled when its node is visited: by an instance of the same group where the
 *     use of %1 ──> slot 1         node joins it, or by a load where it is stored
 */
#include "codegen/schedule/group.h"

#include <string.h>

laze_status laze_scheduler_memory_error(const laze_scheduler *scheduler) {
  return laze_fail_memory(scheduler->error, "a schedule", -1);
}

laze_status laze_schedule_create_group(laze_scheduler *scheduler, laze_group_kind kind, laze_value root,
                                       laze_split split, laze_group_builder **out) {
  laze_group_builder *group = laze_arena_alloc_zero(scheduler->arena, sizeof *group);
  if (!group) return laze_scheduler_memory_error(scheduler);
  group->group.kind = kind;
  group->group.root = root;
  group->group.split = split;
  *out = group;
  return LAZE_OK;
}

void laze_schedule_add_group(laze_scheduler *scheduler, laze_group_builder *group) {
  group->next = scheduler->group_of_root[group->group.root.node];
  scheduler->group_of_root[group->group.root.node] = group;
  scheduler->group_count++;
}

bool laze_schedule_grow(laze_scheduler *scheduler, void **array, int64_t *capacity, int64_t needed,
                        int64_t element_size) {
  if (needed <= *capacity) return true;
  int64_t wanted = *capacity ? *capacity * 2 : 4;
  void *grown = laze_arena_alloc_array(scheduler->arena, wanted, element_size);
  if (!grown) return false;
  if (*array) memcpy(grown, *array, (size_t)(*capacity * element_size));
  *array = grown;
  *capacity = wanted;
  return true;
}

laze_status laze_schedule_add_instance(laze_scheduler *scheduler, laze_group_builder *group, laze_instance_kind kind,
                                       laze_value value, const laze_map *map, int32_t *out) {
  if (!laze_schedule_grow(scheduler, (void **)&group->instances, &group->instance_capacity, group->instance_count + 1,
                          sizeof *group->instances))
    return laze_scheduler_memory_error(scheduler);
  laze_instance *instance = &group->instances[group->instance_count];
  *instance = (laze_instance){.kind = kind, .value = value, .map = map, .store = -1, .next_of_node = -1};
  *out = (int32_t)group->instance_count++;
  group->elements += kind == LAZE_INSTANCE_ELEMENT || kind == LAZE_INSTANCE_REDUCE || kind == LAZE_INSTANCE_SCAN;
  group->load_count += kind == LAZE_INSTANCE_LOAD;
  for (const laze_guard *guard = map->guards; guard; guard = guard->next) group->guard_count++;
  if (scheduler->latest[value.node].group == group && kind != LAZE_INSTANCE_CHECK)
    instance->next_of_node = scheduler->latest[value.node].first;
  if (kind != LAZE_INSTANCE_CHECK) {
    scheduler->latest[value.node].group = group;
    scheduler->latest[value.node].first = *out;
  }
  return LAZE_OK;
}

laze_status laze_schedule_find_instance(laze_scheduler *scheduler, laze_group_builder *group, laze_value value,
                                        const laze_map *map, int32_t *out) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  const laze_map *wanted;
  *out = -1;
  if (scheduler->latest[value.node].group != group) return LAZE_OK;
  LAZE_TRY(laze_map_normalise(&mapper, map, &wanted));
  for (int32_t i = scheduler->latest[value.node].first; i >= 0; i = group->instances[i].next_of_node) {
    laze_instance *instance = &group->instances[i];
    LAZE_TRY(laze_map_normalise(&mapper, instance->map, &instance->map));
    bool equal;
    if (instance->value.result != value.result) continue;
    LAZE_TRY(laze_map_equal(&mapper, instance->map, wanted, &equal));
    if (!equal) continue;
    *out = i;
    return LAZE_OK;
  }
  return LAZE_OK;
}

laze_status laze_schedule_add_write(laze_scheduler *scheduler, laze_group_builder *group, int32_t instance) {
  if (!laze_schedule_grow(scheduler, (void **)&group->writes, &group->write_capacity, group->group.write_count + 1,
                          sizeof *group->writes))
    return laze_scheduler_memory_error(scheduler);
  group->instances[instance].store = group->group.write_count;
  group->writes[group->group.write_count++] = group->instances[instance].value;
  group->group.writes = group->writes;
  return LAZE_OK;
}

laze_status laze_schedule_add_use(laze_scheduler *scheduler, laze_group_builder *group, int32_t instance, int32_t slot,
                                  laze_value operand, const laze_map *map) {
  laze_use *use = laze_arena_alloc(scheduler->arena, sizeof *use), *last = scheduler->uses[operand.node];
  if (!use) return laze_scheduler_memory_error(scheduler);
  bool counted = !last || last->group != group || last->map != map;
  *use = (laze_use){last, group, map, instance, slot, operand.result, counted, false};
  scheduler->uses[operand.node] = use;
  group->open_count += counted;
  return LAZE_OK;
}

void laze_schedule_fill_use(const laze_use *use, int32_t instance) {
  use->group->open_count -= use->counted;
  if (use->instance >= 0) use->group->instances[use->instance].operands[use->slot] = instance;
}

void laze_schedule_read_whole(const laze_use *use, laze_value value) {
  if (use->flat) use->group->sources[use->slot] = value;
}

laze_status laze_schedule_load_uses(laze_scheduler *scheduler, int32_t node) {
  for (laze_use *use = scheduler->uses[node]; use; use = use->next) {
    laze_value value = {node, use->result};
    int32_t instance;
    if (!use->map) {
      laze_schedule_read_whole(use, value);
      continue;
    }
    LAZE_TRY(laze_schedule_find_instance(scheduler, use->group, value, use->map, &instance));
    if (instance < 0)
      LAZE_TRY(laze_schedule_add_instance(scheduler, use->group, LAZE_INSTANCE_LOAD, value, use->map, &instance));
    laze_schedule_fill_use(use, instance);
  }
  return LAZE_OK;
}
