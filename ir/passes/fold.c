/* Computes nodes whose operands are constants, with the backend's evaluator.
 *
 *   %0 = constant 2.0 : f32[]
 *   %1 = constant 3.0 : f32[]         =>     %2 = constant 6.0 : f32[]
 *   %2 = mul %0, %1 : f32[]
 *
 * Only exact operators without effects, so that folding never changes a bit; only results that are small and no larger
 * than an operand, so that a repeated number stays a number and not a table.
 */
#include "ir/passes/passes.h"

#include "ir/builder.h"
#include "ir/graph_internal.h"
#include "ir/op.gen.h"
#include "ir/rewrite.h"

enum { MAX_OPERANDS = 16, MAX_RESULTS = 8, MAX_BYTES = 4096 };

/* The number of elements where it is a constant, -1 otherwise. */
static int64_t element_count(const laze_type *type) {
  int64_t count = 1;
  for (int i = 0; i < type->rank; i++) {
    if (!laze_size_is_constant(type->sizes[i])) return -1;
    if (__builtin_mul_overflow(count, type->sizes[i], &count)) return -1;
  }
  return type->kind == LAZE_TYPE_TENSOR ? count : -1;
}

static bool can_fold(const laze_graph *graph, const laze_node *node, const laze_value *operands) {
  const laze_op_info *info = laze_op_get(node->op);
  int64_t largest = 0, bytes = 0;
  if (!info->exact || info->op_class == LAZE_CLASS_COMPOSITE || info->effect != LAZE_EFFECT_NONE) return false;
  if (node->region_count > 0 || laze_pass_is_half_product(node)) return false;
  if (node->operand_count < 1 || node->operand_count > MAX_OPERANDS || node->result_count > MAX_RESULTS) return false;
  for (int32_t i = 0; i < node->operand_count; i++) {
    const laze_node *operand = laze_graph_node(graph, operands[i]);
    if (operand->op != LAZE_OP_CONSTANT) return false;
    int64_t count = element_count(operand->types[0]);
    if (count > largest) largest = count;
  }
  for (int32_t i = 0; i < node->result_count; i++) {
    int64_t count = element_count(node->types[i]);
    if (count < 0 || count > largest || count > MAX_BYTES) return false;
    bytes += count * laze_dtype_size(node->types[i]->dtype);
  }
  return bytes <= MAX_BYTES;
}

static laze_status record_constant(laze_rewrite *rewrite, const laze_node *node, const laze_type *type,
                                   const void *elements, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {
      laze_attribute_dtype(type->dtype),
      laze_attribute_sizes(type->sizes, type->rank),
      {.kind = LAZE_ARGUMENT_DATA,
       .present = true,
       .value.data = laze_data_of(elements, element_count(type) * laze_dtype_size(type->dtype))},
  };
  laze_call call = {.op = LAZE_OP_CONSTANT,
                    .attributes = attributes,
                    .location = node->location,
                    .origin = node->origin,
                    .name = node->name};
  return laze_graph_append(rewrite->target, rewrite->block, &call, out, error);
}

static laze_status fold_node(laze_rewrite *rewrite, void *self, int32_t number, bool *replaced, laze_error *error) {
  const laze_pass_options *options = self;
  const laze_node *node = &rewrite->source->nodes[number];
  const void *operands[MAX_OPERANDS];
  void *elements[MAX_RESULTS];
  laze_value results[MAX_RESULTS];
  _Alignas(16) char memory[MAX_BYTES + MAX_RESULTS * 16];
  laze_call call;
  int64_t used = 0;
  LAZE_TRY(laze_rewrite_call(rewrite, number, &call, error));
  if (!can_fold(rewrite->target, node, call.operands)) return LAZE_OK;
  for (int32_t i = 0; i < node->operand_count; i++)
    operands[i] = laze_node_constant(laze_graph_node(rewrite->target, call.operands[i]))->bytes;
  for (int32_t i = 0; i < node->result_count; i++) {
    elements[i] = memory + used;
    used += (element_count(node->types[i]) * laze_dtype_size(node->types[i]->dtype) + 15) / 16 * 16;
  }
  laze_status status = options->fold(options->fold_self, rewrite->source, node, operands, elements, error);
  if (status == LAZE_UNSUPPORTED) return LAZE_OK;
  LAZE_TRY(status);
  for (int32_t i = 0; i < node->result_count; i++)
    LAZE_TRY(record_constant(rewrite, node, node->types[i], elements[i], &results[i], error));
  laze_rewrite_map(rewrite, number, results);
  *replaced = true;
  return LAZE_OK;
}

static bool any_folding(const laze_graph *graph) {
  for (int64_t i = 0; i < graph->node_count; i++)
    if (can_fold(graph, &graph->nodes[i], graph->nodes[i].operands)) return true;
  return false;
}

laze_status laze_pass_fold(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                           laze_error *error) {
  laze_pass_options copy = *options;
  laze_rewrite_hooks hooks = {.self = &copy, .node = fold_node};
  if (!options->fold || !any_folding(graph)) return LAZE_OK;
  return laze_rewrite_graph(graph, &hooks, true, out, error);
}
