#include "codegen/translation.h"

#include "ir/op.gen.h"

#include <stdlib.h>
#include <string.h>

laze_site laze_node_site(const laze_node *node) {
  const laze_op_info *called = laze_op_get(node->origin ? node->origin : node->op);
  return (laze_site){.called = called->base, .file = node->location.file, .line = node->location.line};
}

laze_origin laze_node_origin(const laze_node *node) {
  return (laze_origin){.node = node->location.node, .called = laze_node_site(node).called};
}

static int32_t *slot(const laze_translation *translation, laze_value value) {
  return &translation->values[translation->first[value.node] + value.result];
}

static laze_status number_values(laze_translation *translation, laze_error *error) {
  int64_t total = 0, count = translation->graph->node_count;
  translation->first = laze_arena_alloc_array(&translation->arena, count, sizeof *translation->first);
  if (!translation->first) return laze_fail_memory(error, "the values of a graph", count);
  for (int64_t i = 0; i < count; i++) {
    translation->first[i] = total;
    total += translation->graph->nodes[i].result_count;
  }
  translation->values = laze_arena_alloc_array(&translation->arena, total, sizeof *translation->values);
  if (!translation->values) return laze_fail_memory(error, "the values of a graph", total);
  for (int64_t i = 0; i < total; i++) translation->values[i] = -1;
  return LAZE_OK;
}

static laze_status add_value(const laze_translation *translation, laze_value_role role, laze_value value,
                             laze_error *error) {
  const laze_node *node = laze_graph_node(translation->graph, value);
  const void *data = role == LAZE_ROLE_CONSTANT ? node->attributes[LAZE_CONSTANT_DATA].value.data.bytes : NULL;
  return laze_program_add_value(translation->program, role, node->types[value.result], data, slot(translation, value),
                                error);
}

/* An input or constant that is returned, or a value returned twice, is one value under several output numbers. */
static laze_status add_outputs(laze_translation *translation, laze_error *error) {
  const laze_block *body = translation->graph->body;
  for (int64_t i = 0; i < body->result_count; i++) {
    laze_value value = body->results[i];
    bool constant = laze_graph_node(translation->graph, value)->op == LAZE_OP_CONSTANT;
    if (*slot(translation, value) < 0 && !constant) {
      LAZE_TRY(add_value(translation, LAZE_ROLE_OUTPUT, value, error));
      continue;
    }
    int32_t number;
    LAZE_TRY(laze_translation_value(translation, value, &number, error));
    LAZE_TRY(laze_program_add_output_alias(translation->program, number, error));
  }
  return LAZE_OK;
}

/* What a run executes, however the backend groups it: every node of the body but constants. */
static int64_t count_executed(const laze_graph *graph) {
  int64_t count = graph->body->node_count;
  for (int64_t i = 0; i < graph->body->node_count; i++)
    count -= graph->nodes[graph->body->nodes[i]].op == LAZE_OP_CONSTANT;
  return count;
}

/* Nodes that may fail, and which outputs fail with them. */

enum { MAX_CHECKED = 4096 }; /* of more, every output is taken to need each: looking is quadratic */

static int compare_numbers(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Lists the numbers, in the graph that was compiled, of nodes that may fail: ascending, each once. */
static laze_status list_checked(laze_translation *translation, int32_t **out, int64_t *count, laze_error *error) {
  const laze_graph *graph = translation->graph;
  int64_t found = 0, kept = 0;
  for (int64_t i = 0; i < graph->node_count; i++)
    found += laze_op_get(graph->nodes[i].op)->effect == LAZE_EFFECT_MAY_FAIL;
  *count = 0;
  *out = laze_arena_alloc_array(&translation->arena, found, sizeof **out);
  if (!*out) return laze_fail_memory(error, "the checks of a graph", found);
  if (found == 0) return LAZE_OK;
  for (int64_t i = 0; i < graph->node_count; i++)
    if (laze_op_get(graph->nodes[i].op)->effect == LAZE_EFFECT_MAY_FAIL)
      (*out)[(*count)++] = graph->nodes[i].location.node;
  qsort(*out, (size_t)*count, sizeof **out, compare_numbers);
  for (int64_t i = 0; i < *count; i++)
    if (kept == 0 || (*out)[kept - 1] != (*out)[i]) (*out)[kept++] = (*out)[i];
  *count = kept;
  return LAZE_OK;
}

/* Bit k of masks[node]: the node, or what it needs, may fail as numbers[k], of at most 64. No regions. */
static void spread(const laze_graph *graph, const int32_t *numbers, int64_t count, uint64_t *masks) {
  const laze_block *body = graph->body;
  memset(masks, 0, (size_t)graph->node_count * sizeof *masks);
  for (int64_t n = 0; n < body->node_count; n++) {
    const laze_node *node = &graph->nodes[body->nodes[n]];
    uint64_t *mask = &masks[body->nodes[n]];
    for (int32_t i = 0; i < node->operand_count; i++) *mask |= masks[node->operands[i].node];
    if (laze_op_get(node->op)->effect != LAZE_EFFECT_MAY_FAIL) continue;
    for (int64_t k = 0; k < count; k++)
      if (numbers[k] == node->location.node) *mask |= (uint64_t)1 << k;
  }
}

static bool has_regions(const laze_graph *graph) {
  for (int64_t i = 0; i < graph->node_count; i++)
    if (graph->nodes[i].region_count > 0) return true;
  return false;
}

static laze_status set_checks(laze_translation *translation, laze_error *error) {
  const laze_graph *graph = translation->graph;
  int32_t *checked;
  int64_t count;
  LAZE_TRY(list_checked(translation, &checked, &count, error));
  /* After a failure regions do not run, and what they would give is missing whatever it needs. */
  if (count == 0 || count > MAX_CHECKED || has_regions(graph))
    return laze_program_set_checks(translation->program, checked, count, NULL, error);
  int64_t words = (count + 63) / 64, results = graph->body->result_count;
  uint64_t *masks = laze_arena_alloc_array(&translation->arena, graph->node_count, sizeof *masks);
  uint64_t *depends = laze_arena_alloc_array(&translation->arena, results, words * (int64_t)sizeof *depends);
  if (!masks || !depends) return laze_fail_memory(error, "the checks of a graph", count);
  for (int64_t w = 0; w < words; w++) {
    spread(graph, checked + 64 * w, count - 64 * w < 64 ? count - 64 * w : 64, masks);
    for (int64_t i = 0; i < results; i++) depends[i * words + w] = masks[graph->body->results[i].node];
  }
  return laze_program_set_checks(translation->program, checked, count, depends, error);
}

laze_status laze_translation_begin(laze_translation *translation, const laze_graph *graph, laze_error *error) {
  laze_size_table *sizes;
  memset(translation, 0, sizeof *translation);
  translation->graph = graph;
  laze_arena_init(&translation->arena, graph->context);
  LAZE_TRY(laze_size_table_copy(graph->sizes, &sizes, error));
  LAZE_TRY(laze_program_create(graph->context, sizes, &translation->program, error));
  LAZE_TRY(number_values(translation, error));
  laze_program_set_node_count(translation->program, count_executed(graph));
  for (int64_t i = 0; i < graph->body->parameter_count; i++)
    LAZE_TRY(add_value(translation, LAZE_ROLE_INPUT, (laze_value){graph->body->parameters[i], 0}, error));
  LAZE_TRY(add_outputs(translation, error));
  return set_checks(translation, error);
}

laze_status laze_translation_value(laze_translation *translation, laze_value value, int32_t *out, laze_error *error) {
  bool constant = laze_graph_node(translation->graph, value)->op == LAZE_OP_CONSTANT;
  if (*slot(translation, value) < 0)
    LAZE_TRY(add_value(translation, constant ? LAZE_ROLE_CONSTANT : LAZE_ROLE_TEMPORARY, value, error));
  *out = *slot(translation, value);
  return LAZE_OK;
}

laze_status laze_translation_end(laze_translation *translation, laze_status status, laze_program **out) {
  laze_arena_deinit(&translation->arena);
  *out = status == LAZE_OK ? translation->program : NULL;
  if (status == LAZE_OK) laze_program_finish(translation->program);
  if (status != LAZE_OK) laze_program_release(translation->program);
  translation->program = NULL;
  return status;
}
