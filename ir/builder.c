/* Records calls into a block of a graph: a primitive is appended as a node, a composite runs its expansion, which
 * records through the same builder. Late composites stay nodes unless the builder is told to expand them. */
#include "ir/builder.h"

#include "ir/op.gen.h"

/* Composites are declared over other operators without cycles; this bound only guards against a broken table. */
enum { MAX_EXPANSION_DEPTH = 64 };

static laze_status expand(laze_builder *builder, const laze_op_info *info, const laze_call *call, laze_value *results,
                          laze_error *error) {
  laze_recorder *recorder = &builder->recorder;
  laze_recorder saved = *recorder;
  if (builder->depth >= MAX_EXPANSION_DEPTH)
    return laze_fail(error, LAZE_INTERNAL, "%s: composites expand more than %d deep", info->name, MAX_EXPANSION_DEPTH);
  LAZE_TRY(laze_call_check(call, error));
  if (recorder->origin == LAZE_OP_NONE) recorder->origin = call->origin ? call->origin : call->op;
  if (laze_location_is_known(call->location)) recorder->location = call->location;
  if (call->name) recorder->name = call->name;
  builder->depth++;
  const bool folds = info->complex_form == LAZE_COMPLEX_FOLDED && laze_call_is_complex(recorder, call);
  laze_status status = folds ? laze_builder_fold_complex(builder, call, results, error)
                             : laze_call_expand(recorder, call, results, error);
  builder->depth--;
  *recorder = saved;
  if (status != LAZE_OK) laze_op_rename_error(error, info->name);
  return status;
}

static laze_status record(laze_recorder *self, const laze_call *call, laze_value *results, laze_error *error) {
  laze_builder *builder = (laze_builder *)self;
  const laze_op_info *info = laze_op_get(call->op);
  if (laze_call_expands(call) || (builder->expand_late && (info->late || laze_call_expands_complex(self, call))))
    return expand(builder, info, call, results, error);
  laze_call located = *call;
  if (located.origin == LAZE_OP_NONE) located.origin = self->origin;
  if (!laze_location_is_known(located.location)) located.location = self->location;
  if (!located.name) located.name = self->name;
  return laze_graph_append(builder->graph, builder->block, &located, results, error);
}

static const laze_type *type_of(laze_recorder *self, laze_value value) {
  return laze_graph_type(((laze_builder *)self)->graph, value);
}

static bool call_of(laze_recorder *self, laze_value value, laze_call *out) {
  const laze_node *node = laze_graph_node(((laze_builder *)self)->graph, value);
  *out = laze_node_call(node);
  return node->op != LAZE_OP_PARAMETER;
}

void laze_builder_init(laze_builder *builder, laze_graph *graph, laze_block *block) {
  *builder = (laze_builder){.recorder = {.record = record,
                                         .type_of = type_of,
                                         .call_of = call_of,
                                         .context = graph->context,
                                         .sizes = graph->sizes},
                            .graph = graph,
                            .block = block};
}
