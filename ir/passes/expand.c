/* Replaces late composites by the operators they consist of, after every pass has seen them whole, products of floats
 * of 16 bits by those of f32, and operators on complex numbers by operators on their parts.
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

bool laze_pass_is_half_product(const laze_node *node) {
  return laze_op_get(node->op)->op_class == LAZE_CLASS_PRODUCT && laze_dtype_is_half(node->types[0]->dtype);
}

static laze_status expand_product(laze_rewrite *rewrite, int32_t number, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  laze_value operands[2], result; /* all that a product has */
  laze_builder builder;
  laze_call call;
  laze_builder_init(&builder, rewrite->target, rewrite->block);
  LAZE_TRY(laze_rewrite_call(rewrite, number, &call, error));
  laze_recorder *recorder = &builder.recorder;
  recorder->origin = call.origin == LAZE_OP_NONE ? call.op : call.origin;
  recorder->location = call.location;
  recorder->name = call.name;
  laze_attribute single = laze_attribute_dtype(LAZE_F32), dtype = laze_attribute_dtype(node->types[0]->dtype);
  for (int32_t i = 0; i < call.operand_count; i++)
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_TO_DTYPE, &call.operands[i], 1, &single, &operands[i], error));
  call.operands = operands;
  LAZE_TRY(recorder->record(recorder, &call, &result, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_TO_DTYPE, &result, 1, &dtype, &result, error));
  laze_rewrite_map(rewrite, number, &result);
  return LAZE_OK;
}

static bool is_composite(const laze_node *node) {
  const laze_op_info *info = laze_op_get(node->op);
  return info->expand && info->op_class == LAZE_CLASS_COMPOSITE && node->result_count <= MAX_RESULTS;
}

static bool is_complex(const laze_graph *graph, const laze_node *node) {
  const laze_op_info *info = laze_op_get(node->op);
  if (info->complex_form == LAZE_COMPLEX_REFUSED || info->complex_form == LAZE_COMPLEX_MOVED) return false;
  for (int32_t i = 0; i < node->operand_count; i++)
    if (laze_dtype_is_complex(laze_graph_type(graph, node->operands[i])->dtype)) return true;
  return laze_dtype_is_complex(node->types[0]->dtype);
}

static bool expands(const laze_graph *graph, const laze_node *node) {
  return is_composite(node) || is_complex(graph, node);
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
  if (laze_pass_is_half_product(node)) {
    *replaced = true;
    return expand_product(rewrite, number, error);
  }
  if (!expands(rewrite->source, node)) return LAZE_OK;
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
    if (expands(graph, &graph->nodes[i]) || laze_pass_is_half_product(&graph->nodes[i]))
      return laze_rewrite_graph(graph, &hooks, true, out, error);
  return LAZE_OK;
}
