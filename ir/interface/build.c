/* Graphs as programs build them (laze/graph.h): life, inputs, constants, results. */
#include "laze/graph.h"

#include "base/blob.h"
#include "base/float_control.h"
#include "base/status.h"
#include "ir/builder.h"
#include "ir/graph.h"
#include "ir/interface/interface.h"
#include "ir/op.gen.h"

#include <string.h>

void laze_graph_retain(laze_graph *graph) {
  if (graph) atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed);
}

void laze_graph_release(laze_graph *graph) {
  if (graph && atomic_fetch_sub_explicit(&graph->references, 1, memory_order_acq_rel) == 1) laze_graph_destroy(graph);
}

static laze_status parse_size(laze_size_table *sizes, const char *expression, int64_t *out, laze_error *error) {
  const char *cursor = expression;
  if (laze_size_parse(sizes, &cursor, out, error) != LAZE_OK) return laze_error_prefix(error, "laze_graph_size");
  while (*cursor == ' ') cursor++;
  if (*cursor == 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "laze_graph_size: '%.64s' is expected to end before '%.32s'; a size is written as in \"2*n+1\"",
                   expression, cursor);
}

laze_status laze_graph_size(laze_graph *graph, const char *expression, int64_t *out, laze_error *error) {
  laze_size_table *tried;
  int64_t size;
  if (!graph || !expression || !out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_size: graph, expression and out must not be NULL");
  LAZE_TRY(laze_size_table_create(graph->context, &tried, error)); /* one that is wrong names no size of the graph */
  const laze_status status = parse_size(tried, expression, &size, error);
  laze_size_table_destroy(tried);
  return status == LAZE_OK ? parse_size(graph->sizes, expression, out, error) : status;
}

laze_status laze_graph_hint_size(laze_graph *graph, const char *name, int64_t number, laze_error *error) {
  int64_t symbol = 0;
  laze_size made;
  if (!graph || !name || number < 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_graph_hint_size: %s, expected a graph, a name, and a number from 0 on",
                     !graph  ? "no graph"
                     : !name ? "no name"
                             : "the number is negative");
  if (laze_size_symbol(graph->sizes, name, &made, error) != LAZE_OK)
    return laze_error_prefix(error, "laze_graph_hint_size");
  while (laze_size_symbol_at(graph->sizes, symbol) != made) symbol++;
  return laze_size_set_hint(graph->sizes, symbol, number, error);
}

/* A type with sizes of the graph. */
static laze_status make_type(const laze_graph *graph, const char *what, laze_dtype dtype, laze_ints sizes,
                             laze_type *out, laze_error *error) {
  int64_t numbers[LAZE_MAX_RANK]; /* expressions as 1, to have the rest checked */
  for (int32_t i = 0; i < sizes.count && i < LAZE_MAX_RANK && sizes.items; i++) {
    const bool number = laze_size_is_constant(sizes.items[i]);
    numbers[i] = number ? sizes.items[i] : 1;
    if (!number && !laze_size_is_valid(graph->sizes, sizes.items[i]))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: axis %d has size %lld, which is no size of graph %s", what,
                       (int)i, (long long)sizes.items[i], graph->name);
  }
  LAZE_TRY(laze_type_init(out, what, dtype, sizes.count, sizes.items ? numbers : NULL, error));
  for (int32_t i = 0; i < sizes.count; i++) out->sizes[i] = sizes.items[i];
  return LAZE_OK;
}

laze_status laze_graph_add_input(laze_graph *graph, const char *name, laze_dtype dtype, laze_ints sizes,
                                 laze_value *out, laze_error *error) {
  laze_type type;
  if (!graph || !out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_add_input: graph and out must not be NULL");
  LAZE_TRY(make_type(graph, "laze_graph_add_input", dtype, sizes, &type, error));
  return laze_graph_add_parameter(graph, graph->body, name, &type, out, error);
}

/* --- Constants --- */

laze_status laze_graph_append_constant(laze_graph *graph, const laze_type *type, laze_data data, laze_value *out,
                                       laze_error *error) {
  laze_attribute attributes[] = {
      laze_attribute_dtype(type->dtype),
      laze_attribute_sizes(type->sizes, type->rank),
      {.kind = LAZE_ARGUMENT_DATA, .present = true, .value.data = data},
  };
  const laze_call call = {.op = LAZE_OP_CONSTANT, .attributes = attributes};
  return laze_graph_append(graph, graph->body, &call, out, error);
}

laze_status laze_graph_add_constant(laze_graph *graph, laze_dtype dtype, laze_ints sizes, const void *data, size_t size,
                                    laze_value *out, laze_error *error) {
  laze_type type;
  if (!graph || !out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_add_constant: graph and out must not be NULL");
  LAZE_TRY(laze_type_of_data(&type, "laze_graph_add_constant", dtype, sizes, data, size, error));
  laze_blob *blob = laze_blob_create(graph->context, (int64_t)size);
  if (!blob) return laze_fail_memory(error, "a constant", (int64_t)size);
  if (size > 0) memcpy((void *)(uintptr_t)laze_blob_bytes(blob), data, size); /* nobody else has them yet */
  const laze_status status =
      laze_graph_append_constant(graph, &type, (laze_data){laze_blob_bytes(blob), (int64_t)size, blob}, out, error);
  laze_blob_release(blob);
  return status;
}

laze_status laze_graph_borrow_constant(laze_graph *graph, laze_dtype dtype, laze_ints sizes, const void *data,
                                       size_t size, void (*release)(void *self), void *self, laze_value *out,
                                       laze_error *error) {
  laze_type type;
  laze_status status =
      graph && out
          ? laze_type_of_data(&type, "laze_graph_borrow_constant", dtype, sizes, data, size, error)
          : laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_borrow_constant: graph and out must not be NULL");
  if (status == LAZE_OK) status = laze_type_check_aligned("laze_graph_borrow_constant", dtype, data, error);
  laze_blob *blob = status == LAZE_OK ? laze_blob_borrow(graph->context, data, release, self) : NULL;
  if (status == LAZE_OK && !blob) status = laze_fail_memory(error, "a constant", -1);
  if (status == LAZE_OK)
    status = laze_graph_append_constant(graph, &type, (laze_data){data, (int64_t)size, blob}, out, error);
  if (blob)
    laze_blob_release(blob);
  else if (release)
    release(self);
  return status;
}

/* A parameter's node becomes a constant. */
static laze_status make_constant(laze_graph *graph, laze_node *node, laze_data data, laze_error *error) {
  const laze_type *type = node->types[0];
  laze_attribute *attributes = laze_arena_alloc_array(&graph->arena, 3, sizeof *attributes);
  const void *bytes = data.blob ? data.bytes : laze_arena_copy(&graph->arena, data.bytes, data.size);
  if (!attributes || !bytes) return laze_fail_memory(error, "a constant", data.size);
  if (data.blob) LAZE_TRY(laze_graph_hold(graph, data.blob, data.size, error));
  data.bytes = bytes;
  attributes[0] = laze_attribute_dtype(type->dtype);
  attributes[1] = laze_attribute_sizes(type->sizes, type->rank); /* the type lives as long as the graph */
  attributes[2] = (laze_attribute){.kind = LAZE_ARGUMENT_DATA, .present = true, .value.data = data};
  node->op = LAZE_OP_CONSTANT;
  node->attributes = attributes;
  node->name = NULL;
  return LAZE_OK;
}

laze_status laze_graph_bind_parameters(laze_graph *graph, const int32_t *parameters, const laze_data *elements,
                                       int64_t count, laze_error *error) {
  laze_block *body = graph->body;
  int32_t *nodes = laze_arena_alloc_array(&graph->arena, body->node_count + count, sizeof *nodes);
  if (!nodes) return laze_fail_memory(error, "the nodes of a graph", -1);
  for (int64_t i = 0; i < count; i++) {
    LAZE_TRY(make_constant(graph, &graph->nodes[parameters[i]], elements[i], error));
    nodes[i] = parameters[i];
  }
  if (body->node_count > 0) memcpy(nodes + count, body->nodes, (size_t)body->node_count * sizeof *nodes);
  body->nodes = nodes;
  body->node_count = body->node_capacity = body->node_count + count;
  int64_t kept = 0;
  for (int64_t i = 0; i < body->parameter_count; i++)
    if (graph->nodes[body->parameters[i]].op == LAZE_OP_PARAMETER) body->parameters[kept++] = body->parameters[i];
  body->parameter_count = kept;
  return LAZE_OK;
}

/* --- Results --- */

laze_status laze_graph_set_results(laze_graph *graph, laze_values values, laze_error *error) {
  if (!graph || values.count < 0 || (values.count > 0 && !values.items))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_graph_set_results: graph and values must not be NULL, nor their count negative");
  return laze_block_set_results(graph, graph->body, values.items, values.count, error);
}
