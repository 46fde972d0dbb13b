/* Sizes that values define: groups of one node, which the runtime reads.
 *
 *   %0 = sum %mask                  kernel 0: sum         writes %0
 *   %1 = size_from %0, size=u0      kernel 1: size_from   reads %0 whole; sizes with u0 are known behind it
 *   %2 = slice %x, end=u0           kernel 2: ...         its run-time integers have u0 in them
 *
 * Groups come in the order of their roots. What a group computes comes before its root, and a definer before all that
 * uses its size: so the definer's group comes before these.
 */
#include "codegen/schedule/group.h"
#include "codegen/schedule/kind.h"
#include "ir/defined_size.h"

static laze_status claim(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done,
                         const char **refusal) {
  laze_group_builder *group = NULL;
  (void)why, (void)refusal; /* it would be stored in any case */
  if (!laze_node_reads_size(&scheduler->graph->nodes[node_index])) return LAZE_OK;
  LAZE_TRY(laze_schedule_store_node(scheduler, LAZE_GROUP_SIZE, node_index, &group));
  group->group.defines_size = true;
  *done = true;
  return LAZE_OK;
}

const laze_group_rules laze_group_size = {.claim = claim, .emit = laze_schedule_emit_node};
