/* What the files share that say what a node needs of its operands at an access map.
 *
 *   join.c          most operators
 *   join_window.c   windows and padding
 */
#ifndef LAZE_CODEGEN_SCHEDULE_JOINER_H
#define LAZE_CODEGEN_SCHEDULE_JOINER_H

#include "codegen/schedule/group.h"

typedef struct laze_joiner {
  laze_scheduler *scheduler;
  laze_group_builder *group;
  laze_mapper mapper;
  const laze_node *node;
  const laze_map *map;
  const laze_type *type; /* of the node */
} laze_joiner;

static inline const laze_type *operand_type(const laze_joiner *join, int32_t index) {
  return laze_graph_type(join->scheduler->graph, join->node->operands[index]);
}

/* The map through the node's own shape, so that components stand for its axes. NULL: impossible. */
LAZE_MUST_USE static inline laze_status own_axes(laze_joiner *join, const laze_map **out) {
  return laze_map_refine(&join->mapper, join->map, join->type->sizes, join->type->rank, out);
}

/* A step of the size or more takes the first element alone. Huge ones are cut to the size, so that offsets fit. */
static inline laze_status slice_step(laze_joiner *join, laze_size size, int64_t step, laze_size *out) {
  *out = step;
  if (step <= INT32_MAX) return LAZE_OK;
  if (step > LAZE_SIZE_CONSTANT_MAX) step = LAZE_SIZE_CONSTANT_MAX;
  return laze_size_binary(join->scheduler->graph->sizes, LAZE_SIZE_MIN, step, size, out, join->scheduler->error);
}

#endif
