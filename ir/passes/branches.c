/* Puts the region that an `if` takes in its place, where the condition is known.
 *
 *   %0 = size_tensor n                     n has the value 5, or is 5
 *   %1 = gt %0, 1
 *   %2 = if %1, [%x] (%3) {          =>     %4 = neg %x
 *     %4 = neg %3                           return %4
 *     return %4
 *   } (%5) { return %5 }
 *   return %2
 *
 * A condition is known where it is a constant, or compares sizes as i64: that asks a fact, which what is compiled rests
 * on. Where sizes have no values, only what is so for all of them is known.
 */
#include "ir/passes/passes.h"

#include "ir/attribute.h"
#include "ir/op.gen.h"
#include "ir/rewrite.h"

enum { FIRST, SECOND, UNKNOWN }; /* the region that an `if` takes */

/* A number that is known as a size: of an i64 constant, or a size itself. */
static bool find_size(const laze_graph *graph, laze_value value, laze_size *out) {
  const laze_node *node = laze_graph_node(graph, value);
  while (node->op == LAZE_OP_TO_DTYPE && node->types[0]->dtype == LAZE_I64) {
    if (laze_graph_type(graph, node->operands[0])->dtype != LAZE_I64) return false;
    node = laze_graph_node(graph, node->operands[0]);
  }
  if (node->types[0]->dtype != LAZE_I64 || node->types[0]->rank > 0) return false;
  const laze_data *data = laze_node_constant(node);
  if (data) *out = laze_scalar_load(LAZE_I64, data->bytes, 0).value.integer;
  if (data) return *out >= -LAZE_SIZE_CONSTANT_MAX && *out <= LAZE_SIZE_CONSTANT_MAX;
  if (node->op != LAZE_OP_SIZE_TENSOR) return false;
  *out = node->attributes[LAZE_SIZE_TENSOR_VALUE].value.size;
  return true;
}

typedef struct {
  bool orders, swaps, negates; /* a = b, or a <= b; b with a; not so */
} comparison;

static const comparison *find_comparison(laze_op op) {
  static const comparison equal = {0}, less_equal = {.orders = true}, greater_equal = {.orders = true, .swaps = true};
  static const comparison unequal = {.negates = true}, greater = {.orders = true, .negates = true};
  static const comparison less = {.orders = true, .swaps = true, .negates = true};
  switch (op) {
  case LAZE_OP_EQ: return &equal;
  case LAZE_OP_NE: return &unequal;
  case LAZE_OP_LE: return &less_equal;
  case LAZE_OP_GE: return &greater_equal;
  case LAZE_OP_GT: return &greater;
  case LAZE_OP_LT: return &less;
  default: return NULL;
  }
}

/* Compares two sizes; *known is false where they are not, or would be assumed for what has no value. */
static laze_status compare(const laze_graph *graph, const laze_node *node, const comparison *how, bool *known,
                           bool *out, laze_error *error) {
  laze_size a, b;
  *known = false;
  if (!find_size(graph, node->operands[how->swaps], &a) || !find_size(graph, node->operands[!how->swaps], &b))
    return LAZE_OK;
  bool defined = laze_size_is_defined(graph->sizes, a) || laze_size_is_defined(graph->sizes, b);
  *known = a == b || (laze_size_is_constant(a) && laze_size_is_constant(b)) ||
           (laze_size_has_hints(graph->sizes) && !defined); /* "no" about a size of a value is no answer */
  if (!*known) return LAZE_OK;
  return how->orders ? laze_size_ask_less_equal(graph->sizes, a, b, out, error)
                     : laze_size_ask_equal(graph->sizes, a, b, out, error);
}

static laze_status find_branch(const laze_graph *graph, laze_value condition, int *out, laze_error *error) {
  const laze_node *node = laze_graph_node(graph, condition);
  bool negated = false, known = false, holds = false;
  for (; node->op == LAZE_OP_LOGICAL_NOT; node = laze_graph_node(graph, node->operands[0])) negated = !negated;
  const laze_data *data = laze_node_constant(node);
  const comparison *how = find_comparison(node->op);
  if (data && node->types[0]->dtype == LAZE_BOOL) {
    known = true;
    holds = *(const char *)data->bytes != 0;
  } else if (how) {
    LAZE_TRY(compare(graph, node, how, &known, &holds, error));
    negated = negated != how->negates;
  }
  *out = !known ? UNKNOWN : holds != negated ? FIRST : SECOND;
  return LAZE_OK;
}

static laze_status choose(laze_rewrite *rewrite, void *self, int32_t number, int32_t *region, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  int branch;
  (void)self;
  if (node->op != LAZE_OP_IF) return LAZE_OK;
  LAZE_TRY(find_branch(rewrite->target, laze_rewrite_value(rewrite, node->operands[0]), &branch, error));
  if (branch != UNKNOWN) *region = branch;
  return LAZE_OK;
}

laze_status laze_pass_branches(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                               laze_error *error) {
  laze_rewrite_hooks hooks = {.region = choose};
  (void)options;
  for (int64_t i = 0; i < graph->node_count; i++) {
    int branch = UNKNOWN;
    if (graph->nodes[i].op == LAZE_OP_IF) LAZE_TRY(find_branch(graph, graph->nodes[i].operands[0], &branch, error));
    if (branch != UNKNOWN) return laze_rewrite_graph(graph, &hooks, true, out, error);
  }
  return LAZE_OK;
}
