#include "codegen/translation.h"

#include "ir/op.gen.h"

#include <string.h>

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
  return add_outputs(translation, error);
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
  if (status != LAZE_OK) laze_program_release(translation->program);
  translation->program = NULL;
  return status;
}
