/* Groups that write elements at places which an index names, into what is there (update.c has the rest of the picture).
 *
 *   %1 = _index_update %x, dim=0, index=%i, source=%0, reduce="sum"
 *
 *   for r in 0 ... rows of %0                  in order, for two rows may go to one place
 *     row = check %i[r]                        once for all of its elements
 *     for c in lanes                           never to the same place
 *       %1[row, c] = %1[row, c] + %0[r, c]     %0 may be computed here
 *
 * Elements that differ in another axis than the one that is indexed never meet. So threads share such an axis: the
 * outermost one, or blocks of the innermost one where the indexed axis is outside of it.
 */
#include "codegen/combine.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/update.h"
#include "ir/op.gen.h"
#include "shape_inference/rules.h"

enum { SELF, INDEX, SOURCE };

/* Where the index of an element is among the indices: at the element's own place, or in a list. */
static laze_status index_map(laze_scheduler *scheduler, laze_group_builder *group, const laze_type *index,
                             const laze_map *map, int axis, const laze_map **out) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  *out = map;
  if (!laze_schedule_join_of(laze_graph_node(scheduler->graph, group->group.root)->op)->scatter->by_list)
    return LAZE_OK;
  return laze_map_create(&mapper, index->sizes, &map->components[axis], 1, NULL, out);
}

/* The instances: what is stored, at `map`, and the check of where. */
static laze_status add_instances(laze_scheduler *scheduler, laze_group_builder *group, const laze_map *map, int axis) {
  const laze_node *node = laze_graph_node(scheduler->graph, group->group.root);
  const laze_type *self = node->types[0], *index = laze_graph_type(scheduler->graph, node->operands[INDEX]);
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  laze_component components[LAZE_MAX_RANK];
  int32_t stored, check;
  laze_needs needs = {.size = self->sizes[axis]};
  LAZE_TRY(index_map(scheduler, group, index, map, axis, &needs.maps[1]));
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, LAZE_INSTANCE_PASS, group->group.root, map, &stored));
  LAZE_TRY(laze_schedule_add_check(scheduler, group, group->group.root, map, &needs, &check));
  for (int i = 0; i < self->rank; i++) components[i] = map->components[i];
  components[axis] = (laze_component){.dynamic = check, .dynamic_coefficient = 1};
  group->instances[stored].operand_count = 2;
  group->instances[stored].operands[1] = check; /* before it is stored */
  LAZE_TRY(laze_map_create(&mapper, self->sizes, components, self->rank, NULL, &group->instances[stored].place));
  LAZE_TRY(laze_update_add_operand(scheduler, group, stored, 0, node->operands[SOURCE], map));
  LAZE_TRY(laze_update_add_operand(scheduler, group, check, 0, node->operands[INDEX], needs.maps[1]));
  return laze_schedule_add_write(scheduler, group, stored);
}

laze_status laze_schedule_store_scatter(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_scatter *scatter = laze_schedule_join_of(node->op)->scatter;
  laze_inference inference = {scheduler->graph->sizes, laze_op_get(node->op)->name, scheduler->error};
  laze_group_builder *group = NULL;
  const laze_map *map;
  bool any;
  int axis;
  LAZE_TRY(laze_infer_axis(&inference, node->attributes[scatter->dim].value.integer, node->types[0]->rank, &axis));
  LAZE_TRY(laze_schedule_create_group(scheduler, LAZE_GROUP_LOOPS, (laze_value){node_index, 0}, why, &group));
  LAZE_TRY(laze_update_source_map(scheduler, group, laze_graph_type(scheduler->graph, node->operands[SOURCE]), &map));
  *done = map != NULL;
  if (!map) return LAZE_OK;
  group->group.updates = true;
  group->group.updated = node->operands[SELF];
  group->combine = laze_combine_operator(node->attributes[scatter->reduce].value.string);
  LAZE_TRY(laze_size_ask_less_equal(scheduler->graph->sizes, 1, node->types[0]->sizes[axis], &any, scheduler->error));
  group->has_no_place = !any;
  for (int32_t t = 0; t < map->components[axis].term_count; t++)
    group->domain.axes[map->components[axis].terms[t].axis].ordered = true;
  laze_schedule_add_group(scheduler, group);
  LAZE_TRY(laze_schedule_add_use(scheduler, group, -1, 0, node->operands[SELF], NULL));
  return add_instances(scheduler, group, map, axis);
}
