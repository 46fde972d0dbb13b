/* The rules of docs/ir.md, checked one node at a time. */
#include "ir/control.h"
#include "ir/defined_size.h"
#include "ir/module_internal.h"
#include "ir/op.gen.h"
#include "ir/signature.h"
#include "ir/walk.h"

#include <stdarg.h>
#include <stdio.h>

enum { MAX_RESULTS = 8, FEW_OPERANDS = 16 };

typedef struct {
  const laze_graph *graph;
  const laze_block **owners; /* of each node met so far; NULL: not met */
  laze_arena arena;
  laze_error *error;
} verifier;

static laze_status __attribute__((format(printf, 3, 4)))
fault(const verifier *state, int64_t number, const char *format, ...) {
  char message[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  const char *name = number >= 0 && number < state->graph->node_count && state->graph->nodes[number].op < laze_op_count
                         ? laze_op_get(state->graph->nodes[number].op)->name
                         : "?";
  laze_status status = laze_fail(state->error, LAZE_INTERNAL, "graph %s is not valid: node %lld (%s): %s",
                                 state->graph->name, (long long)number, name, message);
  return number >= 0 && number < state->graph->node_count
             ? laze_node_name_error(&state->graph->nodes[number], state->error)
             : status;
}

static laze_status meet(verifier *state, const laze_block *block, int32_t number) {
  if (number < 0 || number >= state->graph->node_count)
    return fault(state, number, "listed in a block, but there are only %lld nodes",
                 (long long)state->graph->node_count);
  if (state->owners[number]) return fault(state, number, "listed twice");
  if (state->graph->nodes[number].op == LAZE_OP_NONE || state->graph->nodes[number].op >= laze_op_count)
    return fault(state, number, "operator %d does not exist", state->graph->nodes[number].op);
  if (state->graph->nodes[number].result_count < 1) return fault(state, number, "gives no result");
  state->owners[number] = block;
  return LAZE_OK;
}

static laze_status check_value(verifier *state, const laze_block *block, int64_t user, const char *what,
                               laze_value value) {
  const laze_graph *graph = state->graph;
  if (value.node < 0 || value.node >= graph->node_count || value.result < 0 ||
      value.result >= graph->nodes[value.node].result_count)
    return fault(state, user, "%s (%d, %d) does not exist", what, value.node, value.result);
  if (laze_graph_type(graph, value)->kind == LAZE_TYPE_NONE)
    return fault(state, user, "%s (%d, %d) is a result that is absent", what, value.node, value.result);
  if (!state->owners[value.node]) return fault(state, user, "%s is node %d, which comes later", what, value.node);
  if (state->owners[value.node] != block)
    return fault(state, user, "%s is node %d of another block; regions see only their parameters", what, value.node);
  return LAZE_OK;
}

static laze_status check_parameters(verifier *state, const laze_block *block, const laze_block *parent) {
  if (block->parent != parent || block->depth > LAZE_MAX_NESTING)
    return fault(state, -1, "a block at depth %d has the wrong parent", block->depth);
  for (int64_t i = 0; i < block->parameter_count; i++) {
    LAZE_TRY(meet(state, block, block->parameters[i]));
    if (state->graph->nodes[block->parameters[i]].op != LAZE_OP_PARAMETER)
      return fault(state, block->parameters[i], "listed as a parameter");
  }
  return LAZE_OK;
}

static laze_status same_types(verifier *state, int32_t number, const laze_type *const *inferred) {
  const laze_node *node = &state->graph->nodes[number];
  char has[200], wanted[200];
  for (int32_t i = 0; i < node->result_count; i++) {
    bool same;
    LAZE_TRY(laze_graph_same_type(state->graph, node->types[i], inferred[i], &same, state->error));
    if (!same)
      return fault(state, number, "result %d has type %s, its rule says %s", i,
                   laze_type_format(state->graph->sizes, node->types[i], has, sizeof has),
                   laze_type_format(state->graph->sizes, inferred[i], wanted, sizeof wanted));
  }
  return LAZE_OK;
}

static laze_status infer_again(verifier *state, int32_t number, const laze_type **operand_types) {
  const laze_node *node = &state->graph->nodes[number];
  const laze_op_info *info = laze_op_get(node->op);
  laze_inference inference = {state->graph->sizes, info->name, state->error};
  laze_type types[MAX_RESULTS];
  const laze_type *pointers[MAX_RESULTS];
  laze_call call = laze_node_call(node);
  const int32_t count = laze_call_result_count(&call);
  if (!info->infer || count > MAX_RESULTS || count != node->result_count)
    return fault(state, number, "cannot be a node with %d results", node->result_count);
  for (int32_t i = 0; i < node->operand_count; i++) operand_types[i] = laze_graph_type(state->graph, node->operands[i]);
  LAZE_TRY(info->infer(&inference, &call, operand_types, types));
  for (int32_t i = 0; i < count; i++) pointers[i] = &types[i];
  return same_types(state, number, pointers);
}

static laze_status check_types(verifier *state, int32_t number) {
  const laze_type *few[FEW_OPERANDS], **types = few;
  int32_t count = state->graph->nodes[number].operand_count;
  if (count > FEW_OPERANDS) types = laze_alloc_array(state->graph->context, count, sizeof *types);
  if (!types) return laze_fail_memory(state->error, "the operands of a node", -1);
  laze_status status = infer_again(state, number, types);
  if (types != few) laze_free(state->graph->context, types);
  return status;
}

/* A call's types are those of the function with the call's sizes. */
static laze_status check_call(verifier *state, int32_t number) {
  const laze_node *node = &state->graph->nodes[number];
  const laze_graph *function = laze_call_function(state->graph, node);
  const laze_call call = laze_node_call(node);
  const laze_type *const *types;
  laze_error reason;
  if (!function || !function->is_function)
    return fault(state, number, "@%s is no function before it in its module",
                 node->attributes[LAZE_CALL_FUNCTION].value.string);
  laze_status status = laze_function_infer(function, state->graph, &call, &state->arena, &types, &reason);
  if (status == LAZE_OUT_OF_MEMORY) return laze_fail_memory(state->error, "the types of a call", -1);
  if (status != LAZE_OK) return fault(state, number, "%s", reason.message);
  if (function->body->result_count != node->result_count)
    return fault(state, number, "has %d results, not %lld", node->result_count,
                 (long long)function->body->result_count);
  return same_types(state, number, types);
}

static laze_status check_node(verifier *state, const laze_block *block, int32_t number) {
  const laze_node *node = &state->graph->nodes[number];
  LAZE_TRY(meet(state, block, number));
  state->owners[number] = NULL; /* a node is no operand of its own */
  if (node->op == LAZE_OP_PARAMETER) return fault(state, number, "a parameter among the nodes");
  for (int32_t i = 0; i < node->operand_count; i++)
    LAZE_TRY(check_value(state, block, number, "operand", node->operands[i]));
  laze_call call = laze_node_call(node);
  laze_error reason;
  if (laze_call_check(&call, &reason) != LAZE_OK) return fault(state, number, "%s", reason.message);
  if (node->region_count != laze_op_get(node->op)->region_count)
    return fault(state, number, "has %d regions", node->region_count);
  state->owners[number] = block;
  if (node->op == LAZE_OP_CALL) return check_call(state, number);
  return node->region_count ? LAZE_OK : check_types(state, number);
}

static laze_status check_regions(verifier *state, int32_t number) {
  const laze_node *node = &state->graph->nodes[number];
  laze_call call = laze_node_call(node);
  const laze_type *const *types;
  int32_t count;
  laze_error reason;
  laze_status status = laze_control_infer(state->graph, &state->arena, &call, node->regions, &types, &count, &reason);
  if (status == LAZE_OUT_OF_MEMORY) return laze_fail_memory(state->error, "the types of a node", -1);
  if (status != LAZE_OK) return fault(state, number, "%s", reason.message);
  if (count != node->result_count) return fault(state, number, "has %d results, not %d", node->result_count, count);
  return same_types(state, number, types);
}

static laze_status check_results(verifier *state, const laze_block *block) {
  for (int64_t i = 0; i < block->result_count; i++)
    LAZE_TRY(check_value(state, block, -1, "a result of a block", block->results[i]));
  return LAZE_OK;
}

static laze_status check_defined(verifier *state) {
  laze_error reason;
  laze_status status = laze_graph_check_defined(state->graph, &reason);
  if (status == LAZE_OUT_OF_MEMORY) return laze_fail_memory(state->error, "the sizes of a graph", -1);
  return status == LAZE_OK ? LAZE_OK : fault(state, -1, "%s", reason.message);
}

static laze_status check_signature(verifier *state) {
  laze_error reason;
  return laze_signature_check(state->graph, &reason) == LAZE_OK ? LAZE_OK : fault(state, -1, "%s", reason.message);
}

static laze_status check_graph(verifier *state) {
  laze_walk walk;
  laze_status status = LAZE_OK;
  laze_walk_begin(&walk, state->graph);
  for (laze_walk_event event; status == LAZE_OK && (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
    const laze_block *parent = walk.depth >= 2 ? walk.frames[walk.depth - 2].block : NULL;
    if (event == LAZE_WALK_BLOCK) status = check_parameters(state, walk.block, parent);
    if (event == LAZE_WALK_NODE) status = check_node(state, walk.block, walk.node);
    if (event == LAZE_WALK_NODE_END) status = check_regions(state, walk.node);
    if (event == LAZE_WALK_BLOCK_END) status = check_results(state, walk.block);
  }
  if (status == LAZE_OK) status = check_defined(state);
  if (status == LAZE_OK) status = check_signature(state);
  for (int64_t i = 0; status == LAZE_OK && i < state->graph->node_count; i++)
    if (!state->owners[i]) status = fault(state, i, "is in no block");
  return status;
}

laze_status laze_graph_verify(const laze_graph *graph, laze_error *error) {
  laze_error unwanted;
  if (!graph) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_verify: the graph is NULL");
  verifier state = {.graph = graph, .error = error ? error : &unwanted};
  state.owners = laze_alloc_zero(graph->context, graph->node_count * (int64_t)sizeof *state.owners);
  if (!state.owners) return laze_fail_memory(error, "the verifier", graph->node_count * (int64_t)sizeof *state.owners);
  laze_arena_init(&state.arena, graph->context);
  laze_status status = check_graph(&state);
  laze_arena_deinit(&state.arena);
  laze_free(graph->context, state.owners);
  return status;
}
