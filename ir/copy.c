/* A copy that shares nothing with its source: every node is inferred and its arrays are copied anew. */
#include "ir/rewrite.h"

static laze_status keep_type(laze_rewrite *rewrite, void *self, int32_t index, laze_type *type, laze_error *error) {
  (void)rewrite, (void)self, (void)index, (void)type, (void)error;
  return LAZE_OK; /* that there is a hook makes the rewrite copy the type instead of sharing it */
}

static laze_status copy_node(laze_rewrite *rewrite, void *self, int32_t number, bool *replaced, laze_error *error) {
  laze_call call;
  (void)self;
  LAZE_TRY(laze_rewrite_call(rewrite, number, &call, error));
  call.location = (laze_location){0}; /* its file name may die with the source */
  *replaced = true;
  return laze_graph_append(rewrite->target, rewrite->block, &call, rewrite->values + rewrite->offsets[number], error);
}

laze_status laze_graph_copy(const laze_graph *graph, laze_graph **out, laze_error *error) {
  const laze_rewrite_hooks hooks = {.node = copy_node, .parameter = keep_type};
  return laze_rewrite_graph(graph, &hooks, false, out, error);
}
