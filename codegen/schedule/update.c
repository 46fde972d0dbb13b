/* Groups that write a slice into what is there: the program sees to it that the result holds the old value first, for
 * nothing where nobody else reads that (runtime/program_update.c).
 *
 *   %1 = dynamic_update %x, %0, %i, dim=0     a group over the elements of %0, which may be computed in it
 *                                             stores element (r, c) at (r + %i, c) of %1, which was %x until then
 */
#include "codegen/schedule/update.h"

#include "codegen/schedule/join.h"
#include "ir/op.gen.h"
#include "shape_inference/rules.h"

enum { SELF, SOURCE, START };

/* Whether a value is computed from another of its block. Asked of a few nodes at most: yes where there are more. */
static bool depends_on(const laze_graph *graph, laze_value value, laze_value on) {
  enum { MOST = 64 };
  int32_t open[MOST] = {value.node}, count = 1;
  for (int32_t next = 0; next < count; next++) {
    const laze_node *node = &graph->nodes[open[next]];
    if (open[next] == on.node) return true;
    for (int32_t i = 0; i < node->operand_count; i++) {
      int32_t known = 0;
      while (known < count && open[known] != node->operands[i].node) known++;
      if (known == count && count == MOST) return true;
      if (known == count) open[count++] = node->operands[i].node;
    }
  }
  return false;
}

laze_status laze_update_add_operand(laze_scheduler *scheduler, laze_group_builder *group, int32_t instance,
                                    int32_t slot, laze_value operand, const laze_map *map) {
  int32_t load;
  if (!depends_on(scheduler->graph, operand, group->group.updated))
    return laze_schedule_add_use(scheduler, group, instance, slot, operand, map);
  operand = laze_schedule_behind_views(scheduler->graph, operand);
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, LAZE_INSTANCE_LOAD, operand, map, &load));
  group->instances[instance].operands[slot] = load;
  return laze_schedule_add_use(scheduler, group, -1, 0, operand, NULL);
}

laze_status laze_update_source_map(laze_scheduler *scheduler, laze_group_builder *group, const laze_type *source,
                                   const laze_map **out) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  laze_size elements;
  const laze_map *flat;
  LAZE_TRY(laze_type_elements(scheduler->graph->sizes, source, &elements, scheduler->error));
  LAZE_TRY(laze_map_flat(&mapper, elements, &flat));
  return laze_map_refine(&mapper, flat, source->sizes, source->rank, out);
}

/* The instances: what is stored, at `map`, and the check of where. */
static laze_status add_instances(laze_scheduler *scheduler, laze_group_builder *group, const laze_map *map, int axis) {
  const laze_node *node = laze_graph_node(scheduler->graph, group->group.root);
  const laze_type *self = node->types[0];
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  laze_component components[LAZE_MAX_RANK];
  int32_t stored, check;
  laze_needs needs = {.size = self->sizes[axis], .length = map->sizes[axis]};
  LAZE_TRY(laze_map_create(&mapper, NULL, NULL, 0, NULL, &needs.maps[1]));
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, LAZE_INSTANCE_PASS, group->group.root, map, &stored));
  LAZE_TRY(laze_schedule_add_check(scheduler, group, group->group.root, map, &needs, &check));
  for (int i = 0; i < self->rank; i++) components[i] = map->components[i];
  components[axis].dynamic = check;
  components[axis].dynamic_coefficient = 1;
  group->instances[stored].operand_count = 2;
  group->instances[stored].operands[1] = check; /* before it is stored */
  LAZE_TRY(laze_map_create(&mapper, self->sizes, components, self->rank, NULL, &group->instances[stored].place));
  LAZE_TRY(laze_update_add_operand(scheduler, group, stored, 0, node->operands[SOURCE], map));
  LAZE_TRY(laze_update_add_operand(scheduler, group, check, 0, node->operands[START], needs.maps[1]));
  return laze_schedule_add_write(scheduler, group, stored);
}

laze_status laze_schedule_store_update(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_inference inference = {scheduler->graph->sizes, laze_op_get(node->op)->name, scheduler->error};
  laze_group_builder *group = NULL;
  const laze_map *map;
  int axis;
  LAZE_TRY(laze_infer_axis(&inference, node->attributes[LAZE_DYNAMIC_UPDATE_DIM].value.integer, node->types[0]->rank,
                           &axis));
  LAZE_TRY(laze_schedule_create_group(scheduler, LAZE_GROUP_LOOPS, (laze_value){node_index, 0}, why, &group));
  LAZE_TRY(laze_update_source_map(scheduler, group, laze_graph_type(scheduler->graph, node->operands[SOURCE]), &map));
  *done = map != NULL;
  if (!map) return LAZE_OK;
  group->group.updates = true;
  group->group.updated = node->operands[SELF];
  laze_schedule_add_group(scheduler, group);
  LAZE_TRY(laze_schedule_add_use(scheduler, group, -1, 0, node->operands[SELF], NULL));
  return add_instances(scheduler, group, map, axis);
}
