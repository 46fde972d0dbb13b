/* Operators with regions that the runtime goes through: a group of the node, and behind it the groups of its regions,
 * which are scheduled like graphs of their own.
 *
 *   %0 = while [%x] (%a) { ... } (%b) { ... }     kernel 0: while     reads %x whole; its results are values
 *                                                   kernel 1: lt        of region 0
 *                                                   kernel 2: add       of region 1
 */
#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/kind.h"

static laze_status claim(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done,
                         const char **refusal) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const struct laze_step_control *control = laze_schedule_join_of(node->op)->control;
  laze_group_builder *group = NULL;
  (void)why, (void)refusal;
  if (!control) return LAZE_OK;
  LAZE_TRY(laze_schedule_store_node(scheduler, LAZE_GROUP_CONTROL, node_index, &group));
  group->group.control = control;
  group->group.region_ends =
      laze_arena_alloc_array(scheduler->arena, node->region_count, sizeof *group->group.region_ends);
  *done = true;
  return group->group.region_ends ? LAZE_OK : laze_scheduler_memory_error(scheduler);
}

const laze_group_rules laze_group_control = {.claim = claim, .emit = laze_schedule_emit_node};
