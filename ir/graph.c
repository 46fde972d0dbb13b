/* Graphs: appending nodes, whose types are inferred here and nowhere else, and copying what a call borrows into the
 * arena.
 *
 *   one node's memory   operands | attributes | lists, strings, data | segments
 */
#include "ir/graph.h"

#include "base/blob.h"
#include "ir/attribute.h"
#include "ir/control.h"
#include "ir/graph_internal.h"
#include "ir/op.gen.h"

#include <string.h>

enum { MAX_RESULTS = 8, FEW_OPERANDS = 16, SHARED_OPERANDS = 4 };
enum { SEEN_AGAIN = 16 }; /* blobs held last, among which one is looked for before it is held once more */

static laze_status new_block(laze_graph *graph, laze_block *parent, laze_block **out, laze_error *error) {
  laze_block *block = laze_arena_alloc_zero(&graph->arena, sizeof *block);
  if (!block) return laze_fail_memory(error, "a block", sizeof *block);
  block->parent = parent;
  block->depth = parent ? parent->depth + 1 : 0;
  *out = block;
  return LAZE_OK;
}

static laze_status fill_graph(laze_graph *graph, const char *name, laze_size_table *sizes, laze_error *error) {
  graph->name = laze_arena_copy_string(&graph->arena, name ? name : "graph");
  if (!graph->name) return laze_fail_memory(error, "a graph", -1);
  LAZE_TRY(new_block(graph, NULL, &graph->body, error));
  graph->sizes = sizes;
  graph->shares_sizes = sizes != NULL;
  return sizes ? LAZE_OK : laze_size_table_create(graph->context, &graph->sizes, error);
}

laze_status laze_graph_create_sharing(laze_context *context, const char *name, laze_size_table *sizes, laze_graph **out,
                                      laze_error *error) {
  laze_graph *graph = laze_alloc_zero(context, sizeof *graph);
  if (!graph) return laze_fail_memory(error, "a graph", sizeof *graph);
  graph->references = 1;
  graph->context = context;
  laze_context_retain(context);
  laze_arena_init(&graph->arena, context);
  laze_status status = fill_graph(graph, name, sizes, error);
  if (status != LAZE_OK) {
    laze_graph_destroy(graph);
    return status;
  }
  *out = graph;
  return LAZE_OK;
}

laze_status laze_graph_create(laze_context *context, const char *name, laze_graph **out, laze_error *error) {
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_create: out must not be NULL");
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  return laze_graph_create_sharing(context, name, NULL, out, error);
}

laze_status laze_graph_hold(laze_graph *graph, struct laze_blob *blob, int64_t size, laze_error *error) {
  int seen = 0;
  for (const laze_held *other = graph->held; other && seen < SEEN_AGAIN; other = other->next, seen++)
    if (other->blob == blob) return LAZE_OK;
  laze_held *held = laze_arena_alloc(&graph->arena, sizeof *held);
  if (!held) return laze_fail_memory(error, "a constant", sizeof *held);
  *held = (laze_held){graph->held, blob, size};
  graph->held = held;
  laze_blob_hold(blob);
  return LAZE_OK;
}

void laze_graph_destroy(laze_graph *graph) {
  if (!graph) return;
  for (const laze_held *held = graph->held; held; held = held->next) laze_blob_release(held->blob);
  laze_context *context = graph->context;
  if (!graph->shares_sizes) laze_size_table_destroy(graph->sizes);
  laze_free(context, graph->nodes);
  laze_arena_deinit(&graph->arena);
  bool borrowed = graph->borrows_context;
  laze_free(context, graph);
  if (!borrowed) laze_context_release(context);
}

void laze_graph_trim(laze_graph *graph) {
  laze_trim(graph->context, (void **)&graph->nodes, &graph->node_capacity, graph->node_count, sizeof *graph->nodes);
}

int64_t laze_graph_bytes(const laze_graph *graph) {
  int64_t shared = 0;
  for (const laze_held *held = graph->held; held; held = held->next) shared += held->size;
  return (int64_t)sizeof *graph + shared + graph->arena.bytes + graph->node_capacity * (int64_t)sizeof *graph->nodes +
         (graph->shares_sizes ? 0 : laze_size_table_bytes(graph->sizes));
}

void laze_graph_give_to_context(laze_graph *graph) {
  graph->borrows_context = true;
  laze_context_release(graph->context);
}

void laze_graph_take_from_context(laze_graph *graph) {
  graph->borrows_context = false;
  laze_context_retain(graph->context);
}

void laze_graph_take(laze_graph *graph, laze_graph *source) {
  laze_held **last = &source->held;
  while (*last) last = &(*last)->next;
  *last = graph->held;
  graph->held = source->held;
  source->held = NULL;
  laze_arena_adopt(&graph->arena, &source->arena);
  if (graph->sizes == source->sizes) {
    graph->shares_sizes = source->shares_sizes;
    source->shares_sizes = true;
  }
  laze_graph_destroy(source);
}

/* Appends to an array of node numbers that lives in the arena: it doubles, and what it leaves behind is at most as
 * large as itself. */
static laze_status push_number(laze_graph *graph, int32_t **numbers, int64_t *count, int64_t *capacity, int32_t number,
                               laze_error *error) {
  if (*count == *capacity) {
    int64_t wanted = *capacity ? *capacity * 2 : 8;
    int32_t *grown = laze_arena_alloc_array(&graph->arena, wanted, sizeof *grown);
    if (!grown) return laze_fail_memory(error, "the node list of a block", wanted * 4);
    if (*count) memcpy(grown, *numbers, (size_t)*count * sizeof *grown);
    *numbers = grown;
    *capacity = wanted;
  }
  (*numbers)[(*count)++] = number;
  return LAZE_OK;
}

/* Adds the node to the graph and to the block's list. */
static laze_status push_node(laze_graph *graph, laze_block *block, const laze_node *node, laze_value *out,
                             laze_error *error) {
  if (graph->node_count >= INT32_MAX)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "graph %s: more than %d nodes; cut it into several graphs", graph->name,
                     INT32_MAX);
  LAZE_TRY(laze_grow(graph->context, (void **)&graph->nodes, &graph->node_capacity, graph->node_count + 1, sizeof *node,
                     error));
  int32_t number = (int32_t)graph->node_count;
  if (node->op == LAZE_OP_PARAMETER)
    LAZE_TRY(
        push_number(graph, &block->parameters, &block->parameter_count, &block->parameter_capacity, number, error));
  else
    LAZE_TRY(push_number(graph, &block->nodes, &block->node_count, &block->node_capacity, number, error));
  graph->nodes[graph->node_count++] = *node;
  *out = (laze_value){number, 0};
  return LAZE_OK;
}

laze_status laze_graph_push_copy(laze_graph *graph, laze_block *block, const laze_node *node, laze_value *out,
                                 laze_error *error) {
  return push_node(graph, block, node, out, error);
}

/* A list of one type that equals `type`: an operand's or the last new one where they are equal, for most nodes have
 * the type of their operand, and otherwise a copy. */
static laze_status share_type(laze_graph *graph, const laze_call *call, const laze_type *type,
                              const laze_type *const **out, laze_error *error) {
  for (int32_t i = 0; i < call->operand_count && i < SHARED_OPERANDS; i++) {
    const laze_type *const *candidate = graph->nodes[call->operands[i].node].types + call->operands[i].result;
    *out = candidate;
    if (laze_type_equal(*candidate, type)) return LAZE_OK;
  }
  *out = graph->last_types;
  if (*out && laze_type_equal(**out, type)) return LAZE_OK;
  struct {
    const laze_type *pointer;
    laze_type type;
  } *fresh = laze_arena_alloc(&graph->arena, sizeof *fresh);
  if (!fresh) return laze_fail_memory(error, "a type", sizeof *fresh);
  fresh->type = *type;
  fresh->pointer = &fresh->type;
  *out = graph->last_types = &fresh->pointer;
  return LAZE_OK;
}

static laze_status share_types(laze_graph *graph, const laze_call *call, const laze_type *types, int32_t count,
                               const laze_type *const **out, laze_error *error) {
  if (count == 1) return share_type(graph, call, types, out, error);
  const laze_type **list = laze_arena_alloc_array(&graph->arena, count, sizeof *list);
  if (!list) return laze_fail_memory(error, "result types", -1);
  for (int32_t i = 0; i < count; i++) {
    const laze_type *const *one;
    LAZE_TRY(share_type(graph, call, &types[i], &one, error));
    list[i] = *one;
  }
  *out = list;
  return LAZE_OK;
}

laze_status laze_graph_add_parameter(laze_graph *graph, laze_block *block, const char *name, const laze_type *type,
                                     laze_value *out, laze_error *error) {
  laze_node node = {.op = LAZE_OP_PARAMETER, .result_count = 1};
  laze_call call = {.op = LAZE_OP_PARAMETER};
  if (type->kind == LAZE_TYPE_NONE)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "graph %s: parameter %s has the type none, of results that are absent", graph->name,
                     name ? name : "");
  node.name = name ? laze_arena_copy_string(&graph->arena, name)
                   : laze_arena_format(&graph->arena, "arg%lld", (long long)block->parameter_count);
  if (!node.name) return laze_fail_memory(error, "a parameter's name", -1);
  LAZE_TRY(share_type(graph, &call, type, &node.types, error));
  LAZE_TRY(push_node(graph, block, &node, out, error));
  if (block == graph->body) graph->signature = NULL; /* it says nothing of this one */
  return LAZE_OK;
}

/* Segments that are all 1 are left out, so that equal nodes look equal. */
static bool segments_matter(const laze_call *call, int32_t count) {
  for (int32_t i = 0; call->segments && i < count; i++)
    if (call->segments[i] != 1) return true;
  return false;
}

static int64_t round_up(int64_t bytes) {
  return (bytes + 7) & -8;
}

static laze_blob *blob_of(const laze_attribute *attribute) {
  return attribute->kind == LAZE_ARGUMENT_DATA && attribute->present ? attribute->value.data.blob : NULL;
}

/* What is copied of what an attribute refers to. */
static int64_t copied_bytes(const laze_attribute *attribute) {
  return blob_of(attribute) ? 0 : round_up(laze_attribute_payload_bytes(attribute));
}

static laze_status copy_attributes(laze_graph *graph, const laze_call *call, int32_t count, laze_attribute *copies,
                                   laze_error *error) {
  char *payload = (char *)(copies + count);
  for (int32_t i = 0; i < count; i++) {
    const laze_attribute *attribute = &call->attributes[i];
    copies[i] = *attribute;
    if (blob_of(attribute)) {
      LAZE_TRY(laze_graph_hold(graph, blob_of(attribute), attribute->value.data.size, error));
      continue;
    }
    laze_attribute_copy_payload(&copies[i], payload);
    payload += copied_bytes(&copies[i]);
  }
  return LAZE_OK;
}

/* Copies what the call borrows into the arena, in one piece: operands, attributes, what they refer to, segments. */
static laze_status copy_call(laze_graph *graph, const laze_call *call, laze_node *node, laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  int64_t operand_bytes = call->operand_count * (int64_t)sizeof(laze_value), payload_bytes = 0;
  int64_t attribute_bytes = info->attribute_count * (int64_t)sizeof(laze_attribute);
  int64_t segment_bytes =
      segments_matter(call, info->segment_count) ? info->segment_count * (int64_t)sizeof(int32_t) : 0;
  for (int32_t i = 0; i < info->attribute_count; i++) payload_bytes += copied_bytes(&call->attributes[i]);
  char *memory = NULL;
  int64_t bytes = operand_bytes + attribute_bytes + payload_bytes + segment_bytes;
  if (bytes > 0) {
    memory = laze_arena_alloc(&graph->arena, bytes);
    if (!memory) return laze_fail_memory(error, "a node", bytes);
  }
  node->op = call->op;
  node->origin = call->origin;
  node->operand_count = call->operand_count;
  if (operand_bytes) node->operands = memcpy(memory, call->operands, (size_t)operand_bytes);
  if (segment_bytes)
    node->segments =
        memcpy(memory + operand_bytes + attribute_bytes + payload_bytes, call->segments, (size_t)segment_bytes);
  node->location = call->location;
  node->name = call->name;
  if (!attribute_bytes) return LAZE_OK;
  node->attributes = (laze_attribute *)(memory + operand_bytes);
  return copy_attributes(graph, call, info->attribute_count, (laze_attribute *)(memory + operand_bytes), error);
}

static laze_status check_operands(const laze_graph *graph, const laze_call *call, const laze_type **types,
                                  laze_error *error) {
  for (int32_t i = 0; i < call->operand_count; i++) {
    laze_value value = call->operands[i];
    if (value.node < 0 || value.node >= graph->node_count || value.result < 0 ||
        value.result >= graph->nodes[value.node].result_count)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: operand %d is (%d, %d), which is no value of the graph",
                       laze_op_get(call->op)->name, i, value.node, value.result);
    types[i] = graph->nodes[value.node].types[value.result];
    if (types[i]->kind == LAZE_TYPE_NONE)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: operand %d is a result that is absent",
                       laze_op_get(call->op)->name, i);
  }
  return LAZE_OK;
}

static laze_status infer_and_push(laze_graph *graph, laze_block *block, const laze_call *call,
                                  const laze_type **operand_types, laze_value *first, laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  laze_inference inference = {graph->sizes, info->name, error};
  laze_type types[MAX_RESULTS];
  laze_node node = {.result_count = laze_call_result_count(call)};
  LAZE_TRY(check_operands(graph, call, operand_types, error));
  LAZE_TRY(info->infer(&inference, call, operand_types, types));
  LAZE_TRY(share_types(graph, call, types, node.result_count, &node.types, error));
  LAZE_TRY(copy_call(graph, call, &node, error));
  return push_node(graph, block, &node, first, error);
}

laze_status laze_graph_append(laze_graph *graph, laze_block *block, const laze_call *call, laze_value *results,
                              laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  const laze_type *few[FEW_OPERANDS], **operand_types = few;
  if (call->op == LAZE_OP_CALL)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "call: @%s is called, and calls are inlined before anything else",
                     call->attributes[LAZE_CALL_FUNCTION].value.string);
  const int32_t count = laze_call_result_count(call);
  if (!info->infer || info->region_count > 0 || count < 1 || count > MAX_RESULTS)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: cannot be a node of its own; record it through a builder, which expands it", info->name);
  LAZE_TRY(laze_call_check(call, error));
  if (call->operand_count > FEW_OPERANDS)
    operand_types = laze_alloc_array(graph->context, call->operand_count, sizeof *operand_types);
  if (!operand_types) return laze_fail_memory(error, "the operands of a node", -1);
  laze_value first;
  laze_status status = infer_and_push(graph, block, call, operand_types, &first, error);
  if (operand_types != few) laze_free(graph->context, operand_types);
  if (status != LAZE_OK) return status;
  for (int32_t i = 0; i < count; i++) results[i] = (laze_value){first.node, i};
  return LAZE_OK;
}

laze_status laze_graph_add_region(laze_graph *graph, laze_block *parent, laze_block **out, laze_error *error) {
  if (parent->depth >= LAZE_MAX_NESTING)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "graph %s: regions nest more than %d deep; flatten it", graph->name,
                     LAZE_MAX_NESTING);
  return new_block(graph, parent, out, error);
}

laze_status laze_graph_append_region_node(laze_graph *graph, laze_block *block, const laze_call *call,
                                          laze_block *const *regions, laze_value *first_result, laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  laze_node node = {.region_count = info->region_count};
  LAZE_TRY(laze_call_check(call, error));
  for (int32_t i = 0; i < info->region_count; i++)
    if (regions[i]->parent != block)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: region %d was made for another block", info->name, i);
  for (int32_t i = 0; i < call->operand_count; i++) {
    const laze_type *type;
    laze_call one = {.op = call->op, .operands = call->operands + i, .operand_count = 1};
    LAZE_TRY(check_operands(graph, &one, &type, error));
  }
  LAZE_TRY(laze_control_infer(graph, &graph->arena, call, regions, &node.types, &node.result_count, error));
  LAZE_TRY(copy_call(graph, call, &node, error));
  node.regions = laze_arena_copy(&graph->arena, regions, info->region_count * (int64_t)sizeof *regions);
  if (!node.regions) return laze_fail_memory(error, "the regions of a node", -1);
  return push_node(graph, block, &node, first_result, error);
}

laze_status laze_graph_append_typed(laze_graph *graph, laze_block *block, const laze_call *call,
                                    const laze_type *const *types, int32_t count, laze_value *first,
                                    laze_error *error) {
  laze_node node = {.result_count = count, .types = types};
  LAZE_TRY(laze_call_check(call, error));
  LAZE_TRY(copy_call(graph, call, &node, error));
  return push_node(graph, block, &node, first, error);
}

laze_status laze_block_set_results(laze_graph *graph, laze_block *block, const laze_value *values, int64_t count,
                                   laze_error *error) {
  laze_value *copy = laze_arena_copy(&graph->arena, values, count * (int64_t)sizeof *values);
  if (!copy) return laze_fail_memory(error, "the results of a block", count * (int64_t)sizeof *values);
  for (int64_t i = 0; i < count; i++)
    if (values[i].node < 0 || values[i].node >= graph->node_count || values[i].result < 0 ||
        values[i].result >= graph->nodes[values[i].node].result_count)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "graph %s: result %lld is (%d, %d), which is no value of it",
                       graph->name, (long long)i, values[i].node, values[i].result);
  for (int64_t i = 0; i < count; i++)
    if (laze_graph_type(graph, values[i])->kind == LAZE_TYPE_NONE)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "graph %s: result %lld is one that is absent", graph->name,
                       (long long)i);
  if (block == graph->body && count != block->result_count) graph->signature = NULL;
  block->results = copy;
  block->result_count = count;
  return LAZE_OK;
}

const laze_data *laze_node_constant(const laze_node *node) {
  return node->op == LAZE_OP_CONSTANT ? &node->attributes[LAZE_CONSTANT_DATA].value.data : NULL;
}

laze_call laze_node_call(const laze_node *node) {
  return (laze_call){.op = node->op,
                     .operand_count = node->operand_count,
                     .operands = node->operands,
                     .segments = node->segments,
                     .attributes = node->attributes,
                     .location = node->location,
                     .origin = node->origin,
                     .name = node->op == LAZE_OP_PARAMETER ? NULL : node->name};
}

laze_status laze_node_name_error(const laze_node *node, laze_error *error) {
  if (node->name && node->op != LAZE_OP_PARAMETER) (void)laze_error_prefix(error, "\"%s\"", node->name);
  if (node->location.file && node->location.line == 0) return laze_error_prefix(error, "%s", node->location.file);
  return error ? error->code : LAZE_INTERNAL;
}
