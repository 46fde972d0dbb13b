/* Replaces a product of which only the transpose is read by the product of its factors' transposes.
 *
 *   %0 = mm %a, %b                        %0 = permute %b, dims=[1, 0]
 *   %1 = permute %0, dims=[1, 0]     =>   %1 = permute %a, dims=[1, 0]
 *                                         %2 = mm %0, %1
 *
 * A kernel reads its factors transposed at no price, where writing or reading the result so walks across memory. Each
 * element is the same products in the same order. A product that others use as well stays: there would be two. So does
 * one of windows, or of a factor that batches have in common, which a kernel reads as it lies on one side alone.
 */
#include "ir/passes/passes.h"

#include "ir/op.gen.h"
#include "ir/rewrite.h"

/* How often each node is used. */
static void count_uses(const laze_graph *graph, int32_t *uses) {
  for (int64_t i = 0; i < graph->node_count; i++) {
    const laze_node *node = &graph->nodes[i];
    for (int32_t k = 0; k < node->operand_count; k++) uses[node->operands[k].node]++;
    for (int32_t r = 0; r < node->region_count; r++)
      for (int64_t k = 0; k < node->regions[r]->result_count; k++) uses[node->regions[r]->results[k].node]++;
  }
  for (int64_t k = 0; k < graph->body->result_count; k++) uses[graph->body->results[k].node]++;
}

/* Whether a permutation changes the last two axes, and no others. */
static bool swaps_last(const laze_node *node) {
  const int rank = node->types[0]->rank;
  for (int axis = 0; axis < rank; axis++) {
    const int64_t item = node->attributes[LAZE_PERMUTE_DIMS].value.items[axis], from = item < 0 ? item + rank : item;
    if (from != (axis < rank - 2 ? axis : 2 * rank - 3 - axis)) return false;
  }
  return rank >= 2;
}

/* Whether a factor is windows, or the same for several batches, as far as views tell. */
static bool has_its_side(const laze_graph *graph, laze_value factor) {
  for (;;) {
    const laze_node *node = laze_graph_node(graph, factor);
    if (node->op == LAZE_OP__WINDOW || node->op == LAZE_OP_EXPAND) return true;
    if (node->op != LAZE_OP_RESHAPE && node->op != LAZE_OP_PERMUTE && node->op != LAZE_OP_FLIP) return false;
    factor = node->operands[0];
  }
}

static bool is_transposed_product(const laze_graph *graph, const int32_t *uses, const laze_node *node) {
  if (node->op != LAZE_OP_PERMUTE || !swaps_last(node)) return false;
  const laze_node *product = laze_graph_node(graph, node->operands[0]);
  return (product->op == LAZE_OP_MM || product->op == LAZE_OP_BMM) && uses[node->operands[0].node] == 1 &&
         !has_its_side(graph, product->operands[0]) && !has_its_side(graph, product->operands[1]);
}

static laze_status replace(laze_rewrite *rewrite, void *self, int32_t number, bool *replaced, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  laze_value factors[2], product;
  laze_call call;
  if (!is_transposed_product(rewrite->source, self, node)) return LAZE_OK;
  LAZE_TRY(laze_rewrite_call(rewrite, node->operands[0].node, &call, error));
  for (int i = 0; i < 2; i++) {
    laze_call permute = laze_node_call(node);
    permute.operands = &call.operands[1 - i];
    LAZE_TRY(laze_graph_append(rewrite->target, rewrite->block, &permute, &factors[i], error));
  }
  call.operands = factors;
  LAZE_TRY(laze_graph_append(rewrite->target, rewrite->block, &call, &product, error));
  /* Inference may say the same size in other words; then the nodes stay, and the new ones are dropped as dead. */
  *replaced = laze_type_equal(laze_graph_type(rewrite->target, product), node->types[0]);
  if (*replaced) laze_rewrite_map(rewrite, number, &product);
  return LAZE_OK;
}

laze_status laze_pass_transposes(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                                 laze_error *error) {
  int32_t *uses = laze_alloc_zero(graph->context, graph->node_count * (int64_t)sizeof *uses);
  const laze_rewrite_hooks hooks = {.self = uses, .node = replace};
  bool any = false;
  (void)options;
  if (!uses) return laze_fail_memory(error, "the uses of a graph's values", -1);
  count_uses(graph, uses);
  for (int64_t i = 0; i < graph->node_count && !any; i++) any = is_transposed_product(graph, uses, &graph->nodes[i]);
  const laze_status status = any ? laze_rewrite_graph(graph, &hooks, true, out, error) : LAZE_OK;
  laze_free(graph->context, uses);
  return status;
}
