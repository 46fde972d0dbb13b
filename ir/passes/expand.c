/* Replaces late composites by the operators they consist of, after every pass has seen them whole.
 *
 *   %0 = softmax %x, dim=1       =>     %0 = _amax %x, dim=[1], keepdim=true
 *                                       %1 = sub %x, %0
 *                                       ...
 */
#include "ir/passes/passes.h"

#include "ir/builder.h"
#include "ir/control.h"
#include "ir/op.gen.h"
#include "ir/rewrite.h"

enum { MAX_RESULTS = 8 };

static bool is_composite(const laze_node *node) {
  const laze_op_info *info = laze_op_get(node->op);
  return info->expand && info->op_class == LAZE_CLASS_COMPOSITE && node->result_count <= MAX_RESULTS;
}

/* The expansion must give what the composite's own rule promised its users. */
static laze_status check_types(const laze_rewrite *rewrite, const laze_node *node, const laze_value *results,
                               laze_error *error) {
  char promised[200], given[200];
  for (int32_t i = 0; i < node->result_count; i++) {
    const laze_type *type = laze_graph_type(rewrite->target, results[i]);
    bool same;
    LAZE_TRY(laze_graph_same_type(rewrite->target, node->types[i], type, &same, error));
    if (same) continue;
    return laze_fail(error, LAZE_INTERNAL, "%s: expands to %s, but its rule says %s; one of the two is wrong",
                     laze_op_get(node->op)->name, laze_type_format(rewrite->target->sizes, type, given, sizeof given),
                     laze_type_format(rewrite->target->sizes, node->types[i], promised, sizeof promised));
  }
  return LAZE_OK;
}

static laze_status expand_node(laze_rewrite *rewrite, void *self, int32_t number, bool *replaced, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  laze_value results[MAX_RESULTS];
  laze_builder builder;
  laze_call call;
  (void)self;
  if (!is_composite(node)) return LAZE_OK;
  laze_builder_init(&builder, rewrite->target, rewrite->block);
  builder.expand_late = true;
  LAZE_TRY(laze_rewrite_call(rewrite, number, &call, error));
  LAZE_TRY(builder.recorder.record(&builder.recorder, &call, results, error));
  LAZE_TRY(check_types(rewrite, node, results, error));
  laze_rewrite_map(rewrite, number, results);
  *replaced = true;
  return LAZE_OK;
}

laze_status laze_pass_expand(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                             laze_error *error) {
  laze_rewrite_hooks hooks = {.node = expand_node};
  (void)options;
  for (int64_t i = 0; i < graph->node_count; i++)
    if (is_composite(&graph->nodes[i])) return laze_rewrite_graph(graph, &hooks, true, out, error);
  return LAZE_OK;
}
