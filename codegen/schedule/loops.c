/* Groups in loop IR over one domain: elementwise operators, movement, reductions. The kind that others join.
 *
 *   %1 = sum (%0 = exp %x), dim=[1]     claim: a group for %1, over its elements as one flat axis
 *                                       grow:  an instance of %0, at the map at which the sum uses it
 *                                       emit:  emit.c
 */
#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/kind.h"

#include <string.h>

static laze_status number_check(laze_scheduler *scheduler, laze_group_builder *group, laze_instance *instance) {
  if (!laze_schedule_grow(scheduler, (void **)&group->checked, &group->check_capacity, group->group.check_count + 1,
                          sizeof *group->checked))
    return laze_scheduler_memory_error(scheduler);
  instance->check = group->group.check_count;
  group->checked[group->group.check_count++] = instance->value.node;
  group->group.checked = group->checked;
  return LAZE_OK;
}

laze_status laze_schedule_add_check(laze_scheduler *scheduler, laze_group_builder *group, laze_value value,
                                    const laze_map *map, const laze_needs *needs, int32_t *out) {
  *out = -1;
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, LAZE_INSTANCE_CHECK, value, map, out));
  laze_instance *check = &group->instances[*out];
  check->operand_count = 1;
  check->size = needs->size;
  check->length = needs->length;
  check->position = needs->maps[1];
  return number_check(scheduler, group, check);
}

/* Gives a gather's source map its checked index, and the instance that checks it. */
static laze_status attach_check(laze_scheduler *scheduler, laze_group_builder *group, const laze_node *node,
                                laze_value value, const laze_map *map, laze_needs *needs) {
  laze_component components[LAZE_MAX_RANK];
  const laze_map *source = needs->maps[0];
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  int32_t check;
  LAZE_TRY(laze_schedule_add_check(scheduler, group, value, map, needs, &check));
  LAZE_TRY(laze_schedule_add_use(scheduler, group, check, 0, node->operands[1], needs->maps[1]));
  memcpy(components, source->components, (size_t)source->rank * sizeof *components);
  components[needs->axis].dynamic = needs->check = check;
  return laze_map_create(&mapper, source->sizes, components, source->rank, NULL, &needs->maps[0]);
}

/* Keeps where each piece of a concatenation holds: the guard its map was given. */
static laze_status attach_pieces(laze_scheduler *scheduler, laze_instance *instance, const laze_needs *needs) {
  instance->pieces = laze_arena_alloc_array(scheduler->arena, needs->count, sizeof *instance->pieces);
  if (!instance->pieces) return laze_scheduler_memory_error(scheduler);
  for (int32_t i = 0; i < needs->count; i++) instance->pieces[i] = needs->maps[i]->guards;
  return LAZE_OK;
}

/* Makes the instance of a node in a group and registers what it needs. */
static laze_status place(laze_scheduler *scheduler, laze_group_builder *group, int32_t node_index, int32_t result,
                         const laze_map *map, laze_needs *needs, int32_t *out) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_value value = {node_index, result};
  if (needs->kind == LAZE_INSTANCE_IOTA) map = needs->maps[0];
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, needs->kind, value, map, out));
  int32_t operands = needs->indexed ? 1 : needs->count;
  group->instances[*out].operand_count = operands;
  group->instances[*out].size = needs->size;
  if (needs->kind == LAZE_INSTANCE_SELECT || needs->kind == LAZE_INSTANCE_PAD)
    LAZE_TRY(attach_pieces(scheduler, &group->instances[*out], needs));
  if (needs->indexed) {
    LAZE_TRY(attach_check(scheduler, group, node, value, map, needs));
    /* Checked also where the source is the same all along the axis, so that no load needs the index. */
    group->instances[*out].operands[1] = needs->check;
    group->instances[*out].operand_count = 2;
  }
  for (int32_t i = 0; i < operands; i++)
    LAZE_TRY(laze_schedule_add_use(scheduler, group, *out, i, node->operands[i], needs->maps[i]));
  return LAZE_OK;
}

static laze_status grow(laze_scheduler *scheduler, const laze_use *use, int32_t node_index, int32_t *instance,
                        bool *possible) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_value value = {node_index, use->result};
  laze_needs needs;
  *possible = true;
  *instance = -1;
  if (!laze_schedule_join_of(node->op)->has_own_map)
    LAZE_TRY(laze_schedule_find_instance(scheduler, use->group, value, use->map, instance));
  if (*instance >= 0) return LAZE_OK;
  LAZE_TRY(laze_schedule_needs(scheduler, use->group, node, use->map, &needs, possible));
  return *possible ? place(scheduler, use->group, node_index, use->result, use->map, &needs, instance) : LAZE_OK;
}

/* An iota's map gives its value, so that one which is stored needs an instance at the place it is stored to. */
static laze_status place_root(laze_scheduler *scheduler, laze_group_builder *group, int32_t node_index,
                              const laze_map *map, laze_needs *needs, int32_t *out) {
  laze_value value = {node_index, 0};
  int32_t iota;
  if (needs->kind != LAZE_INSTANCE_IOTA) return place(scheduler, group, node_index, 0, map, needs, out);
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, LAZE_INSTANCE_PASS, value, map, out));
  LAZE_TRY(place(scheduler, group, node_index, 0, map, needs, &iota));
  group->instances[*out].operand_count = 1;
  group->instances[*out].operands[0] = iota;
  return LAZE_OK;
}

/* The map of the node's elements as one flat axis, and what it needs there. */
static laze_status find_needs(laze_scheduler *scheduler, laze_group_builder *group, int32_t node_index,
                              const laze_map **map, laze_needs *needs, bool *possible) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  laze_size elements;
  LAZE_TRY(laze_type_elements(scheduler->graph->sizes, node->types[0], &elements, scheduler->error));
  LAZE_TRY(laze_map_flat(&mapper, elements, map));
  return laze_schedule_needs(scheduler, group, node, *map, needs, possible);
}

/* A group that ends in this node. */
static laze_status begin_group(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done) {
  laze_group_builder *group = NULL;
  const laze_map *map;
  laze_needs needs;
  int32_t instance;
  LAZE_TRY(laze_schedule_create_group(scheduler, LAZE_GROUP_LOOPS, (laze_value){node_index, 0}, why, &group));
  LAZE_TRY(find_needs(scheduler, group, node_index, &map, &needs, done));
  if (!*done) return LAZE_OK;
  laze_schedule_add_group(scheduler, group);
  if (needs.pass_through) needs.kind = LAZE_INSTANCE_PASS;
  LAZE_TRY(place_root(scheduler, group, node_index, map, &needs, &instance));
  return laze_schedule_add_write(scheduler, group, instance);
}

static laze_status claim(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done,
                         const char **refusal) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  *done = false;
  if (node->region_count > 0) {
    if (!*refusal) *refusal = "it has regions";
    return LAZE_OK;
  }
  *refusal = "it has several results";
  if (node->result_count != 1) return LAZE_OK;
  *refusal = "its pieces lie too deep in each other";
  if (laze_schedule_join_of(node->op)->concatenation)
    return laze_schedule_store_pieces(scheduler, node_index, why, done);
  *refusal = "its axes are too many";
  if (laze_schedule_join_of(node->op)->updates) return laze_schedule_store_update(scheduler, node_index, why, done);
  if (laze_schedule_join_of(node->op)->scatter) return laze_schedule_store_scatter(scheduler, node_index, why, done);
  *refusal = "no loops give its elements in order";
  return begin_group(scheduler, node_index, why, done);
}

const laze_group_rules laze_group_loops = {.claim = claim, .grow = grow, .emit = laze_group_emit_loops};
