/* A copy that shares nothing with its source: every node is inferred and its arrays are copied anew. */
#include "ir/rewrite.h"

static laze_status keep_type(laze_rewrite *rewrite, void *self, int32_t index, laze_type *type, laze_error *error) {
  (void)rewrite, (void)self, (void)index, (void)type, (void)error;
  return LAZE_OK; /* that there is a hook makes the rewrite copy the type instead of sharing it */
}

laze_status laze_graph_copy(const laze_graph *graph, laze_graph **out, laze_error *error) {
  const laze_rewrite_hooks hooks = {.parameter = keep_type};
  return laze_rewrite_graph(graph, &hooks, false, out, error);
}
