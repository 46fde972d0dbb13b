/* Returned values that need no copy: what is computed for nothing but a reshape that the graph returns is written to
 * where that goes.
 *
 *   %0 = mm %a, %b                        one group, which writes %1, instead of two
 *   %1 = reshape %0, shape=[2, 3, 4]      returned
 */
#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"

/* Whether the group copies a value to one that is returned, element by element. */
static bool copies(const laze_scheduler *scheduler, const laze_group_builder *group, laze_value value) {
  const laze_instance *instances = group->instances;
  return group->group.kind == LAZE_GROUP_LOOPS && scheduler->returned[group->group.root.node] > 0 && !group->next &&
         !group->group.updates && group->group.write_count == 1 && group->instance_count == 2 &&
         instances[0].kind == LAZE_INSTANCE_PASS && instances[1].kind == LAZE_INSTANCE_LOAD &&
         laze_value_equal(instances[1].value, value) && !laze_value_equal(value, group->group.root);
}

/* Whether one kernel writes the value, for this group alone. */
static bool is_made_for(const laze_scheduler *scheduler, const laze_group_builder *group, laze_value value) {
  const laze_group_builder *maker = scheduler->group_of_root[value.node];
  if (!maker || maker->next || !maker->group.kernel || maker->group.updates || scheduler->returned[value.node] > 0)
    return false;
  for (const laze_use *use = scheduler->uses[value.node]; use; use = use->next)
    if (use->group != group) return false;
  return true;
}

/* Whether a node says how large the value is: then it has no memory yet where others can be computed. */
static void note_defined(void *self, int64_t symbol) {
  (void)symbol;
  *(bool *)self = true;
}
static laze_status has_defined_size(const laze_scheduler *scheduler, laze_value value, bool *out) {
  const laze_type *type = laze_graph_type(scheduler->graph, value);
  *out = false;
  for (int32_t i = 0; i < type->rank; i++)
    LAZE_TRY(laze_size_each_defined(scheduler->graph->sizes, type->sizes[i], note_defined, out, scheduler->error));
  return LAZE_OK;
}

laze_status laze_schedule_write_returned(laze_scheduler *scheduler, const laze_group_builder *group, bool *done) {
  const laze_value value = laze_schedule_behind_views(scheduler->graph, group->group.root);
  bool late;
  LAZE_TRY(has_defined_size(scheduler, group->group.root, &late));
  *done = !late && copies(scheduler, group, value) && is_made_for(scheduler, group, value);
  if (!*done) return LAZE_OK;
  laze_group *maker = &scheduler->group_of_root[value.node]->group;
  laze_value *writes =
      laze_arena_copy(scheduler->arena, maker->writes, maker->write_count * (int64_t)sizeof *maker->writes);
  if (!writes) return laze_scheduler_memory_error(scheduler);
  for (int32_t i = 0; i < maker->write_count; i++)
    if (laze_value_equal(writes[i], value)) writes[i] = group->group.root;
  maker->writes = writes;
  return LAZE_OK;
}
