/* Looking at graphs (laze/graph.h): nodes, what they are called with, types, sizes. */
#include "laze/graph.h"

#include "ir/attribute.h"
#include "ir/graph.h"
#include "ir/op.gen.h"
#include "ir/text/text.h"

const char *laze_graph_name(const laze_graph *graph) {
  return graph ? graph->name : NULL;
}

int32_t laze_graph_input_count(const laze_graph *graph) {
  return graph ? (int32_t)graph->body->parameter_count : 0;
}

int32_t laze_graph_result_count(const laze_graph *graph) {
  return graph ? (int32_t)graph->body->result_count : 0;
}

laze_value laze_graph_input(const laze_graph *graph, int32_t index) {
  if (index < 0 || index >= laze_graph_input_count(graph)) return LAZE_VALUE_NONE;
  return (laze_value){graph->body->parameters[index], 0};
}

laze_value laze_graph_result(const laze_graph *graph, int32_t index) {
  return index < 0 || index >= laze_graph_result_count(graph) ? LAZE_VALUE_NONE : graph->body->results[index];
}

int32_t laze_graph_node_count(const laze_graph *graph) {
  return graph ? (int32_t)graph->body->node_count : 0;
}

int32_t laze_graph_node_at(const laze_graph *graph, int32_t index) {
  return index < 0 || index >= laze_graph_node_count(graph) ? -1 : graph->body->nodes[index];
}

static laze_status find_node(const laze_graph *graph, int32_t node, const laze_node **out, laze_error *error) {
  if (!graph) return laze_fail(error, LAZE_INVALID_ARGUMENT, "the graph to look at is NULL");
  if (node < 0 || node >= graph->node_count)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "graph %s: there is no node %d; it has %lld, inputs included",
                     graph->name, (int)node, (long long)graph->node_count);
  *out = &graph->nodes[node];
  return LAZE_OK;
}

laze_status laze_graph_get_node(const laze_graph *graph, int32_t node, laze_node_info *out, laze_error *error) {
  const laze_node *found = NULL;
  if (!out || out->struct_size < sizeof *out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_graph_get_node: out is NULL, or its struct_size is not sizeof(laze_node_info)");
  LAZE_TRY(find_node(graph, node, &found, error));
  const bool is_parameter = found->op == LAZE_OP_PARAMETER;
  const laze_op_info *info = laze_op_get(found->op);
  *out = (laze_node_info){.struct_size = sizeof *out,
                          .operator_name = is_parameter ? NULL : info->name,
                          .name = found->name,
                          .file = found->location.file,
                          .origin = found->origin == LAZE_OP_NONE ? NULL : laze_op_get(found->origin)->name,
                          .line = found->location.line,
                          .operand_count = found->operand_count,
                          .result_count = found->result_count,
                          .argument_count = info->argument_count,
                          .region_count = found->region_count};
  return LAZE_OK;
}

laze_value laze_graph_operand(const laze_graph *graph, int32_t node, int32_t index) {
  const laze_node *found = NULL;
  if (find_node(graph, node, &found, NULL) != LAZE_OK) return LAZE_VALUE_NONE;
  return index < 0 || index >= found->operand_count ? LAZE_VALUE_NONE : found->operands[index];
}

/* --- Arguments --- */

static void show_operands(const laze_node *node, const laze_argument_info *info, laze_argument *out) {
  const laze_call call = laze_node_call(node);
  int32_t first;
  const int32_t count = laze_call_segment(&call, info->position, &first);
  out->kind = LAZE_PASS_NONE;
  if (count < 0) return;
  out->kind = laze_argument_is_operands(info->kind) ? LAZE_PASS_VALUES : LAZE_PASS_VALUE;
  out->count = count;
  if (out->kind == LAZE_PASS_VALUES)
    out->value.values = node->operands + first;
  else
    out->value.value = node->operands[first];
}

static laze_status show_attribute(const laze_argument_info *info, const laze_attribute *attribute, laze_argument *out,
                                  laze_error *error) {
  out->kind = LAZE_PASS_NONE;
  if (!attribute->present) return LAZE_OK;
  out->count = attribute->count;
  switch (info->kind) {
  case LAZE_ARGUMENT_INT:
  case LAZE_ARGUMENT_SIZE:
    out->kind = LAZE_PASS_INTEGER;
    out->value.integer = attribute->value.integer;
    return LAZE_OK;
  case LAZE_ARGUMENT_BOOL:
  case LAZE_ARGUMENT_DTYPE:
    out->kind = info->kind == LAZE_ARGUMENT_BOOL ? LAZE_PASS_BOOL : LAZE_PASS_DTYPE;
    out->value.integer = attribute->value.integer;
    return LAZE_OK;
  case LAZE_ARGUMENT_FLOAT:
    out->kind = LAZE_PASS_REAL;
    out->value.real = attribute->value.real;
    return LAZE_OK;
  case LAZE_ARGUMENT_LITERAL:
    out->kind = LAZE_PASS_SCALAR;
    out->value.scalar = attribute->value.literal;
    return LAZE_OK;
  case LAZE_ARGUMENT_STRING:
    out->kind = LAZE_PASS_STRING;
    out->value.string = attribute->value.string;
    return LAZE_OK;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST:
    out->kind = LAZE_PASS_INTEGERS;
    out->value.integers = attribute->value.items;
    return LAZE_OK;
  case LAZE_ARGUMENT_FLOAT_LIST:
    out->kind = LAZE_PASS_REALS;
    out->value.reals = attribute->value.reals;
    return LAZE_OK;
  case LAZE_ARGUMENT_STRING_LIST:
    return laze_fail(error, LAZE_UNSUPPORTED, "argument '%s' is a list of strings, which the text form shows",
                     info->name);
  case LAZE_ARGUMENT_DATA: out->kind = LAZE_PASS_DEFAULT; return LAZE_OK;
  case LAZE_ARGUMENT_TENSOR:
  case LAZE_ARGUMENT_TENSOR_LIST:
  case LAZE_ARGUMENT_OPTIONAL_LIST:
  case LAZE_ARGUMENT_SCALAR: break; /* operands */
  }
  return laze_fail(error, LAZE_INTERNAL, "argument '%s' is no attribute", info->name);
}

laze_status laze_graph_get_argument(const laze_graph *graph, int32_t node, int32_t index, laze_argument *out,
                                    laze_error *error) {
  const laze_node *found = NULL;
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_get_argument: out is NULL");
  LAZE_TRY(find_node(graph, node, &found, error));
  const laze_op_info *info = laze_op_get(found->op);
  if (index < 0 || index >= info->argument_count)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "laze_graph_get_argument: %s has %d arguments, and none numbered %d",
                     info->name, (int)info->argument_count, (int)index);
  const laze_argument_info *argument = &info->arguments[index];
  *out = (laze_argument){.name = argument->name};
  if (!laze_argument_is_operand(argument->kind))
    return show_attribute(argument, &found->attributes[argument->position], out, error);
  show_operands(found, argument, out);
  return LAZE_OK;
}

/* --- Types, constants, sizes --- */

laze_status laze_graph_get_type(const laze_graph *graph, laze_value value, laze_value_type *out, laze_error *error) {
  const laze_node *found = NULL;
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_get_type: out is NULL");
  LAZE_TRY(find_node(graph, value.node, &found, error));
  if (value.result < 0 || value.result >= found->result_count)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "graph %s: node %d has %d results, and none numbered %d", graph->name,
                     (int)value.node, (int)found->result_count, (int)value.result);
  const laze_type *type = found->types[value.result];
  const bool is_tensor = type->kind == LAZE_TYPE_TENSOR;
  *out = (laze_value_type){is_tensor ? type->dtype : LAZE_DTYPE_NONE, is_tensor ? type->rank : 0, type->sizes};
  return LAZE_OK;
}

const void *laze_graph_constant(const laze_graph *graph, laze_value value, int64_t *size) {
  const laze_node *found = NULL;
  const laze_data *data =
      find_node(graph, value.node, &found, NULL) == LAZE_OK && value.result == 0 ? laze_node_constant(found) : NULL;
  if (!data) return NULL;
  if (size) *size = data->size;
  return data->bytes ? data->bytes : "";
}

int32_t laze_graph_symbol_count(const laze_graph *graph) {
  return graph ? (int32_t)laze_size_symbol_count(graph->sizes) : 0;
}

const char *laze_graph_symbol(const laze_graph *graph, int32_t index) {
  return index < 0 || index >= laze_graph_symbol_count(graph) ? NULL : laze_size_symbol_name(graph->sizes, index);
}

laze_status laze_graph_format_size(const laze_graph *graph, int64_t size, char *text, size_t text_size, size_t *needed,
                                   laze_error *error) {
  if (!graph || (!text && text_size > 0))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_format_size: the graph, or text for %zu bytes, is NULL",
                     text_size);
  if (!laze_size_is_valid(graph->sizes, size))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_format_size: %lld is no size of graph %s",
                     (long long)size, graph->name);
  laze_text written;
  laze_text_init(&written, graph->context);
  laze_size_print(&written, graph->sizes, size);
  const laze_status status = laze_text_give(&written, text, text_size, needed, error);
  laze_text_deinit(&written);
  return status;
}

laze_status laze_graph_format(const laze_graph *graph, char *text, size_t size, size_t *needed, laze_error *error) {
  if (!graph || (!text && size > 0))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_format: the graph, or text for %zu bytes, is NULL",
                     size);
  laze_text written;
  laze_text_init(&written, graph->context);
  laze_graph_print(&written, graph, true);
  const laze_status status = laze_text_give(&written, text, size, needed, error);
  laze_text_deinit(&written);
  return status;
}

laze_status laze_graph_compare(const laze_graph *a, const laze_graph *b, laze_error *error) {
  if (!a || !b) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_compare: a graph is NULL");
  laze_text difference;
  laze_text_init(&difference, a->context);
  laze_status status = LAZE_OK;
  if (!laze_graph_equal(a, b, &difference))
    status = difference.size > 0
                 ? laze_fail(error, LAZE_FAILED_PRECONDITION, "the graphs differ: %s", laze_text_get(&difference))
                 : laze_fail_memory(error, "comparing graphs", -1);
  laze_text_deinit(&difference);
  return status;
}
