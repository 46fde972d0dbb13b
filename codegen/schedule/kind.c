/* The table of kinds, and the order in which they are asked: special ones first. */
#include "codegen/schedule/kind.h"

#include "base/fallback.h"
#include "codegen/schedule/group.h"

static const laze_group_rules *const rules[LAZE_GROUP_KIND_COUNT] = {
    [LAZE_GROUP_COPY] = &laze_group_copy,       [LAZE_GROUP_MATRIX] = &laze_group_matrix,
    [LAZE_GROUP_FOLD] = &laze_group_fold,       [LAZE_GROUP_ROUTINE] = &laze_group_routine,
    [LAZE_GROUP_LOOPS] = &laze_group_loops,     [LAZE_GROUP_SIZE] = &laze_group_size,
    [LAZE_GROUP_CONTROL] = &laze_group_control, [LAZE_GROUP_FALLBACK] = &laze_group_fallback,
};

const laze_group_rules *laze_group_rules_of(const laze_group_builder *group) {
  return rules[group->group.kind];
}

bool laze_schedule_is_forced(const laze_scheduler *scheduler, int32_t node_index) {
  laze_fallbacks *fallbacks = scheduler->options->fallbacks;
  return fallbacks && laze_fallbacks_is_forced(fallbacks, laze_op_get(scheduler->graph->nodes[node_index].op)->name);
}

laze_status laze_schedule_claim(laze_scheduler *scheduler, int32_t node_index, laze_split why) {
  const char *refusal = NULL;
  bool done = false;
  if (laze_schedule_is_forced(scheduler, node_index)) {
    refusal = "it is told to (laze_force_fallback)";
    return laze_group_fallback.claim(scheduler, node_index, why, &done, &refusal);
  }
  for (int kind = 0; kind < LAZE_GROUP_KIND_COUNT && !done; kind++)
    LAZE_TRY(rules[kind]->claim(scheduler, node_index, why, &done, &refusal));
  return LAZE_OK;
}
