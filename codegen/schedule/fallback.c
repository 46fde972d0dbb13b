/* Groups of one node that the interpreter runs: what no other kind claims.
 *
 *   %0 = reduce %x, [%i] { ... }      reads %x whole from memory; its results are values of the program
 */
#include "codegen/schedule/group.h"
#include "codegen/schedule/kind.h"

laze_status laze_schedule_store_node(laze_scheduler *scheduler, laze_group_kind kind, int32_t node_index,
                                     laze_group_builder **out) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  LAZE_TRY(laze_schedule_create_group(scheduler, kind, (laze_value){node_index, 0}, LAZE_SPLIT_PRODUCT, out));
  laze_schedule_add_group(scheduler, *out);
  for (int32_t i = 0; i < node->operand_count; i++)
    LAZE_TRY(laze_schedule_add_use(scheduler, *out, -1, i, node->operands[i], NULL));
  return LAZE_OK;
}

laze_status laze_schedule_emit_node(laze_scheduler *scheduler, laze_group_builder *group) {
  const laze_node *node = laze_graph_node(scheduler->graph, group->group.root);
  group->group.reads = node->operands;
  group->group.read_count = node->operand_count;
  group->group.domain = 1;
  group->group.label = laze_op_get(node->op)->name;
  return laze_group_emit_root(scheduler, group);
}

static laze_status claim(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done,
                         const char **refusal) {
  laze_group_builder *group = NULL;
  (void)why; /* it would be stored in any case */
  LAZE_TRY(laze_schedule_store_node(scheduler, LAZE_GROUP_FALLBACK, node_index, &group));
  group->group.interpreted = *refusal;
  *done = true;
  return LAZE_OK;
}

const laze_group_rules laze_group_fallback = {.claim = claim, .emit = laze_schedule_emit_node};
