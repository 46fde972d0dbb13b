/* Taking a trace: one walk collects the nodes, another numbers what they use and writes the words. And the graph of a
 * trace that no executable was found for. */
#include "lazy/run/trace.h"

#include "base/fallback.h"
#include "ir/attribute.h"
#include "ir/graph.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/pending.h"
#include "runtime/backend.h"

#include <assert.h>
#include <string.h>

static laze_status push_node(laze_trace *trace, laze_context *context, laze_pending *node, laze_error *error) {
  void *array = trace->nodes;
  LAZE_TRY(laze_grow(context, &array, &trace->node_capacity, trace->node_count + 1, sizeof *trace->nodes, error));
  trace->nodes = array;
  trace->nodes[trace->node_count++] = node;
  return LAZE_OK;
}

static laze_status push_leaf(laze_trace *trace, laze_context *context, laze_cell *cell, laze_error *error) {
  void *array = trace->leaves;
  LAZE_TRY(laze_grow(context, &array, &trace->leaf_capacity, trace->leaf_count + 1, sizeof *trace->leaves, error));
  trace->leaves = array;
  trace->leaves[trace->leaf_count++] = cell;
  return LAZE_OK;
}

static laze_status push_output(laze_trace *trace, laze_context *context, laze_cell *cell, laze_error *error) {
  void *array = trace->outputs;
  LAZE_TRY(laze_grow(context, &array, &trace->output_capacity, trace->output_count + 1, sizeof *trace->outputs, error));
  trace->outputs = array;
  trace->outputs[trace->output_count++] = cell;
  return LAZE_OK;
}

/* Whether a cell is to be computed, where nothing else needs it. */
static bool is_wanted(const laze_cell *cell, const laze_trace_wish *wish) {
  if (cell->references == 0 || !laze_cell_is_pending(cell)) return false;
  if (wish->selection) return cell->node->selected == wish->selection;
  return cell == wish->cell || laze_cell_is_held(cell);
}

/* Whether a cell that is computed is stored, too. */
static bool is_stored(const laze_cell *cell, const laze_trace_wish *wish) {
  if (is_wanted(cell, wish)) return true;
  return wish->selection && wish->held && cell->references > 0 && laze_cell_is_pending(cell) && laze_cell_is_held(cell);
}

static bool has_wanted_result(const laze_pending *node, const laze_trace_wish *wish) {
  for (int i = 0; i < node->result_count; i++)
    if (is_wanted(&node->cells[i], wish)) return true;
  return false;
}

/* Marks the operands' pending nodes; returns how many were not marked before. */
static int64_t mark_operands(const laze_pending *node, uint64_t mark) {
  int64_t count = 0;
  for (int32_t i = 0; i < node->operand_count; i++) {
    laze_cell *cell = node->operands[i];
    if (!laze_cell_is_pending(cell) || cell->node->mark == mark) continue;
    cell->node->mark = mark;
    count++;
  }
  return count;
}

/* Collects the nodes that are needed, newest first: operands are older than their users, so that one walk from the
 * newest wanted node finds all, and ends with the last that is needed. */
static laze_status collect(laze_trace *trace, laze_thread_state *thread, const laze_trace_wish *wish,
                           laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  int64_t outstanding = 0;
  trace->mark = ++lazy->mark;
  trace->node_count = 0;
  if (wish->cell) {
    wish->cell->node->mark = trace->mark;
    outstanding = 1;
  }
  for (laze_pending *node = wish->cell ? wish->cell->node : lazy->newest; node; node = node->older) {
    if (node->mark == trace->mark)
      outstanding--;
    else if (wish->cell || (wish->held && !wish->selection && node->thread != thread) || !has_wanted_result(node, wish))
      continue;
    LAZE_TRY(push_node(trace, lazy->context, node, error));
    outstanding += mark_operands(node, trace->mark);
    if (outstanding == 0 && wish->cell) break;
  }
  return LAZE_OK;
}

/* The most words the node can take: its block (lazy/record/node.c) has as much for each of them. */
static int64_t most_words(const laze_pending *node) {
  return node->block_size / (int64_t)sizeof(uint64_t);
}

static uint64_t *write_type(uint64_t *words, const laze_cell *cell) {
  *words++ = (uint64_t)cell->kind | (uint64_t)cell->dtype << 8 | (uint64_t)cell->rank << 16;
  for (int i = 0; i < cell->rank; i++) *words++ = (uint64_t)cell->sizes[i];
  return words;
}

static laze_status write_operand(laze_trace *trace, laze_lazy *lazy, uint64_t **words, laze_cell *cell,
                                 laze_error *error) {
  if (laze_cell_is_pending(cell)) {
    *(*words)++ = (uint64_t)cell->node->position << 9 | (uint64_t)laze_cell_result(cell) << 1;
    return LAZE_OK;
  }
  bool first = cell->mark != trace->mark;
  if (first) {
    cell->mark = trace->mark;
    cell->number = (int32_t)trace->leaf_count;
    LAZE_TRY(push_leaf(trace, lazy->context, cell, error));
  }
  *(*words)++ = (uint64_t)cell->number << 1 | 1;
  if (first) *words = write_type(*words, cell);
  return LAZE_OK;
}

static uint64_t *write_segments(uint64_t *words, const laze_pending *node, const laze_op_info *info) {
  for (int i = 0; node->segments && i < info->segment_count; i += 2) {
    uint64_t second = i + 1 < info->segment_count ? (uint32_t)node->segments[i + 1] : 0;
    *words++ = (uint32_t)node->segments[i] | second << 32;
  }
  return words;
}

static laze_status reserve_words(laze_trace *trace, laze_lazy *lazy, int64_t count, laze_error *error) {
  if (trace->word_count + count <= trace->word_capacity) return LAZE_OK;
  void *array = trace->words;
  LAZE_TRY(
      laze_grow(lazy->context, &array, &trace->word_capacity, trace->word_count + count, sizeof *trace->words, error));
  trace->words = array;
  return LAZE_OK;
}

/* Attributes and types of results with unknown sizes, in the trace's own table. */
static laze_status write_unknown(laze_trace *trace, laze_lazy *lazy, const laze_pending *node, uint64_t **words,
                                 laze_error *error) {
  laze_size_mapping *sizes = &trace->sizes;
  laze_size symbol;
  if (!sizes->to) LAZE_TRY(laze_size_table_create(lazy->context, &sizes->to, error));
  if (laze_pending_defines(node) != 0) LAZE_TRY(laze_size_mapping_define(sizes, lazy, node, &symbol, error));
  for (int i = 0; i < laze_op_get(node->op)->attribute_count; i++) {
    laze_attribute mapped;
    LAZE_TRY(laze_size_mapping_attribute(sizes, lazy, &node->attributes[i], &mapped, error));
    *words = laze_attribute_write(&mapped, *words);
  }
  for (int i = 0; i < node->result_count; i++) {
    uint64_t *at = *words + 1;
    *words = write_type(*words, &node->cells[i]);
    for (; at < *words; at++) {
      LAZE_TRY(laze_size_mapping_map(sizes, lazy, (laze_size)*at, &symbol, error));
      *at = (uint64_t)symbol;
    }
  }
  return LAZE_OK;
}

static laze_status write_node(laze_trace *trace, laze_lazy *lazy, const laze_pending *node, laze_error *error) {
  const laze_op_info *info = laze_op_get(node->op);
  LAZE_TRY(reserve_words(trace, lazy, most_words(node), error));
  uint64_t *words = trace->words + trace->word_count;
  int32_t operand_count = laze_pending_call_operands(node); /* the sizes tell their definers */
  *words++ = (uint64_t)node->op | (uint64_t)node->result_count << 32;
  *words++ = (uint64_t)operand_count | (uint64_t)(node->segments ? info->segment_count : 0) << 32;
  for (int32_t i = 0; i < operand_count; i++) LAZE_TRY(write_operand(trace, lazy, &words, node->operands[i], error));
  words = write_segments(words, node, info);
  if (node->unknown) {
    LAZE_TRY(write_unknown(trace, lazy, node, &words, error));
  } else {
    for (int i = 0; i < info->attribute_count; i++) words = laze_attribute_write(&node->attributes[i], words);
    for (int i = 0; i < node->result_count; i++) words = write_type(words, &node->cells[i]);
  }
  trace->word_count = words - trace->words;
  assert(trace->word_count <= trace->word_capacity);
  return LAZE_OK;
}

/* Also the numbers that unknown sizes are: who runs the graph learns them. */
static laze_status add_outputs(laze_trace *trace, laze_lazy *lazy, laze_pending *node, const laze_trace_wish *wish,
                               laze_error *error) {
  bool defines = node->unknown && laze_pending_defines(node) != 0;
  for (int i = 0; i < node->result_count; i++) {
    laze_cell *cell = &node->cells[i];
    if (defines || is_stored(cell, wish)) LAZE_TRY(push_output(trace, lazy->context, cell, error));
  }
  return LAZE_OK;
}

static laze_status reserve_sites(laze_trace *trace, laze_lazy *lazy, laze_error *error) {
  void *array = trace->sites;
  LAZE_TRY(laze_grow(lazy->context, &array, &trace->site_capacity, trace->node_count, sizeof *trace->sites, error));
  trace->sites = array;
  return LAZE_OK;
}

static laze_status write_sizes(laze_trace *trace, laze_lazy *lazy, laze_error *error) {
  int64_t count = trace->sizes.to ? laze_size_table_words(trace->sizes.to, NULL) : 0;
  LAZE_TRY(reserve_words(trace, lazy, count + 1, error));
  if (count > 0) trace->word_count += laze_size_table_words(trace->sizes.to, trace->words + trace->word_count);
  trace->words[trace->word_count++] = (uint64_t)count;
  laze_size_table_destroy(trace->sizes.to);
  trace->sizes.to = NULL;
  return LAZE_OK;
}

laze_status laze_trace_take(laze_trace *trace, laze_thread_state *thread, const laze_trace_wish *wish,
                            const laze_backend *backend, laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  LAZE_TRY(collect(trace, thread, wish, error));
  laze_size_table_destroy(trace->sizes.to); /* of a trace that failed */
  trace->sizes.to = NULL;
  trace->leaf_count = trace->output_count = trace->word_count = trace->recomputed = 0;
  LAZE_TRY(reserve_sites(trace, lazy, error));
  LAZE_TRY(reserve_words(trace, lazy, 1, error));
  const uint64_t settings = atomic_load(&laze_context_fallbacks(lazy->context)->settings);
  trace->words[trace->word_count++] = laze_hash_bytes(backend->name, strlen(backend->name)).low ^ settings;
  for (int64_t i = trace->node_count; i-- > 0;) {
    laze_pending *node = trace->nodes[i];
    node->position = (int32_t)(trace->node_count - 1 - i);
    trace->recomputed += node->computed;
    node->computed = true;
    LAZE_TRY(write_node(trace, lazy, node, error));
    LAZE_TRY(add_outputs(trace, lazy, node, wish, error));
  }
  LAZE_TRY(reserve_words(trace, lazy, 1 + trace->output_count, error));
  trace->words[trace->word_count++] = (uint64_t)trace->output_count;
  for (int64_t i = 0; i < trace->output_count; i++) {
    laze_cell *cell = trace->outputs[i];
    trace->words[trace->word_count++] = (uint64_t)cell->node->position << 9 | (uint64_t)laze_cell_result(cell) << 1;
  }
  return write_sizes(trace, lazy, error);
}

/* Where the values of a trace are in its graph. */
typedef struct {
  laze_lazy *lazy;
  laze_value *leaves;
  int32_t *nodes; /* by position */
  laze_value *scratch;
  int64_t scratch_capacity;
  laze_size_mapping sizes;
  laze_attribute *attributes; /* of a node with unknown sizes */
  int64_t attribute_capacity;
  laze_arena arena; /* of their lists */
} graph_values;

static laze_value value_of(const graph_values *values, const laze_cell *cell) {
  if (!laze_cell_is_pending(cell)) return values->leaves[cell->number];
  return (laze_value){values->nodes[cell->node->position], laze_cell_result(cell)};
}

/* Attributes in the graph's table of sizes. */
static laze_status map_attributes(graph_values *values, const laze_pending *node, laze_error *error) {
  int32_t count = laze_op_get(node->op)->attribute_count;
  void *array = values->attributes;
  laze_size symbol;
  LAZE_TRY(
      laze_grow(values->lazy->context, &array, &values->attribute_capacity, count, sizeof *values->attributes, error));
  values->attributes = array;
  if (laze_pending_defines(node) != 0)
    LAZE_TRY(laze_size_mapping_define(&values->sizes, values->lazy, node, &symbol, error));
  for (int32_t i = 0; i < count; i++) {
    laze_attribute *mapped = &values->attributes[i];
    laze_size *owned;
    int32_t owned_count;
    LAZE_TRY(laze_size_mapping_attribute(&values->sizes, values->lazy, &node->attributes[i], mapped, error));
    LAZE_TRY(laze_attribute_own_sizes(mapped, &values->arena, &owned, &owned_count, error));
  }
  return LAZE_OK;
}

static laze_status append_node(laze_graph *graph, graph_values *values, const laze_pending *node, laze_error *error) {
  void *array = values->scratch;
  int32_t operand_count = laze_pending_call_operands(node);
  LAZE_TRY(laze_grow(graph->context, &array, &values->scratch_capacity, operand_count, sizeof(laze_value), error));
  values->scratch = array;
  for (int32_t i = 0; i < operand_count; i++) values->scratch[i] = value_of(values, node->operands[i]);
  if (node->unknown) LAZE_TRY(map_attributes(values, node, error));
  laze_call call = {.op = node->op,
                    .operand_count = operand_count,
                    .operands = values->scratch,
                    .segments = node->segments,
                    .attributes = node->unknown ? values->attributes : node->attributes,
                    .location = node->location,
                    .origin = node->origin};
  laze_value results[LAZE_PENDING_MAX_RESULTS];
  LAZE_TRY(laze_graph_append(graph, graph->body, &call, results, error));
  values->nodes[node->position] = results[0].node;
  return LAZE_OK;
}

static laze_status fill_graph(const laze_trace *trace, laze_graph *graph, graph_values *values, laze_error *error) {
  for (int64_t i = 0; i < trace->leaf_count; i++) {
    laze_type type;
    laze_cell_type(trace->leaves[i], &type);
    LAZE_TRY(laze_graph_add_parameter(graph, graph->body, NULL, &type, &values->leaves[i], error));
  }
  for (int64_t i = trace->node_count; i-- > 0;) LAZE_TRY(append_node(graph, values, trace->nodes[i], error));
  void *array = values->scratch;
  LAZE_TRY(
      laze_grow(graph->context, &array, &values->scratch_capacity, trace->output_count, sizeof(laze_value), error));
  values->scratch = array;
  for (int64_t i = 0; i < trace->output_count; i++) values->scratch[i] = value_of(values, trace->outputs[i]);
  return laze_block_set_results(graph, graph->body, values->scratch, trace->output_count, error);
}

laze_status laze_trace_graph(const laze_trace *trace, laze_lazy *lazy, laze_graph **out, laze_error *error) {
  laze_graph *graph = NULL;
  LAZE_TRY(laze_graph_create(lazy->context, "lazy", &graph, error));
  graph_values values = {
      .lazy = lazy,
      .sizes.to = graph->sizes,
      .leaves = laze_alloc_array(lazy->context, trace->leaf_count, sizeof *values.leaves),
      .nodes = laze_alloc_array(lazy->context, trace->node_count, sizeof *values.nodes),
  };
  laze_arena_init(&values.arena, lazy->context);
  laze_status status = values.leaves && values.nodes ? fill_graph(trace, graph, &values, error)
                                                     : laze_fail_memory(error, "a graph's values", -1);
  laze_free(lazy->context, values.leaves);
  laze_free(lazy->context, values.nodes);
  laze_free(lazy->context, values.scratch);
  laze_free(lazy->context, values.attributes);
  laze_size_mapping_deinit(&values.sizes, lazy->context);
  laze_arena_deinit(&values.arena);
  if (status != LAZE_OK)
    laze_graph_destroy(graph);
  else
    *out = graph;
  return status;
}

void laze_trace_deinit(laze_trace *trace, laze_context *context) {
  laze_free(context, trace->nodes);
  laze_free(context, trace->sites);
  laze_free(context, trace->leaves);
  laze_free(context, trace->outputs);
  laze_free(context, trace->words);
  laze_free(context, trace->buffers);
  laze_free(context, trace->donated);
  laze_size_table_destroy(trace->sizes.to);
  laze_size_mapping_deinit(&trace->sizes, context);
  memset(trace, 0, sizeof *trace);
}
