/* What holds for every graph, whatever runs it: text, keys, and programs reused for other sizes. */
#include "ir/op.gen.h"
#include "ir/specialise.h"
#include "ir/text/text.h"
#include "tests/property/check_graphs.h"
#include "tests/support/loop_backend.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Text */

/* Whether the graph prints as `expected`: text is a fixed point of printing and reading. */
static bool prints_as(laze_context *context, const laze_graph *graph, const laze_text *expected, char *message,
                      size_t size) {
  laze_text text;
  laze_text_init(&text, context);
  laze_graph_print(&text, graph, true);
  bool same = strcmp(laze_text_get(&text), laze_text_get(expected)) == 0;
  if (!same) snprintf(message, size, "prints otherwise once it was read back:\n%.3000s", laze_text_get(&text));
  laze_text_deinit(&text);
  return same;
}

/* In hexadecimal the elements of every constant are in the text, bit by bit. */
static bool hexadecimal_reads_back(laze_context *context, const laze_graph *graph, char *message, size_t size) {
  laze_text text;
  laze_graph *parsed;
  laze_error error;
  laze_text_init(&text, context);
  laze_graph_print_with(&text, graph, &(laze_print_options){.hexadecimal = true});
  laze_status status = laze_graph_parse(context, laze_text_get(&text), text.size, "printed", &parsed, &error);
  laze_text_deinit(&text);
  if (status != LAZE_OK) snprintf(message, size, "does not parse in hexadecimal: %s", error.message);
  if (status != LAZE_OK) return false;
  bool equal = laze_graph_equal(graph, parsed, NULL);
  if (!equal) snprintf(message, size, "reads back from hexadecimal as another graph");
  laze_graph_destroy(parsed);
  return equal;
}

static bool reads_back(laze_context *context, const laze_graph *graph, char *message, size_t size) {
  laze_text text, difference;
  laze_graph *parsed;
  laze_error error;
  if (!hexadecimal_reads_back(context, graph, message, size)) return false;
  laze_text_init(&text, context);
  laze_graph_print(&text, graph, true);
  laze_status status = laze_graph_parse(context, laze_text_get(&text), text.size, "printed", &parsed, &error);
  if (status != LAZE_OK) snprintf(message, size, "does not parse: %s", error.message);
  bool stable = status == LAZE_OK && prints_as(context, parsed, &text, message, size);
  laze_text_deinit(&text);
  if (!stable && status == LAZE_OK) laze_graph_destroy(parsed);
  if (!stable) return false;
  laze_text_init(&difference, context);
  bool equal = laze_graph_equal(graph, parsed, &difference);
  if (!equal) snprintf(message, size, "reads back as another graph: %s", laze_text_get(&difference));
  if (equal && !laze_hash_equal(laze_graph_hash(graph, true), laze_graph_hash(parsed, true))) {
    snprintf(message, size, "the graph read back is equal and has another key");
    equal = false;
  }
  laze_text_deinit(&difference);
  laze_graph_destroy(parsed);
  return equal;
}

/* As recorded, and with symbols and expressions for sizes. */
static bool round_trip(void *self, const laze_graph *graph, uint64_t seed, char *message, size_t size) {
  laze_context *context = self;
  laze_graph *symbolic;
  const int64_t *bindings;
  laze_error error;
  (void)seed;
  if (!reads_back(context, graph, message, size)) return false;
  if (laze_graph_symbolise(graph, &symbolic, &bindings, &error) != LAZE_OK) {
    snprintf(message, size, "cannot be made symbolic: %s", error.message);
    return false;
  }
  bool right = reads_back(context, symbolic, message, size);
  if (!right) test_print_graph("symbolic:", symbolic);
  laze_graph_destroy(symbolic);
  return right;
}

START_TEST(printing_and_parsing_gives_an_equal_graph) {
  laze_context *context = test_context(NULL);
  test_check_graphs(context, 1000, &(test_graph_options){1, 40, false, TEST_SHAPES_SMALL, LAZE_DTYPE_NONE, false},
                    round_trip, context);
  laze_context_release(context);
}
END_TEST

/* Keys */

typedef struct {
  laze_context *context;
  test_random random;
  int64_t mutants;
} mutation;

static laze_op other_operator(mutation *state, laze_op op) {
  const laze_op_info *info = laze_op_get(op);
  for (int i = 0; i < 50; i++) {
    laze_op other = (laze_op)(1 + test_random_below(&state->random, laze_op_count - 1));
    const laze_op_info *candidate = laze_op_get(other);
    if (other != op && candidate->infer && candidate->op_class == info->op_class &&
        candidate->segment_count == info->segment_count && candidate->attribute_count == info->attribute_count &&
        candidate->result_count == info->result_count)
      return other;
  }
  return op;
}

/* Changes a call in one way; what is changed lives in the arrays given. False where this way does not apply. */
static bool mutate(mutation *state, laze_call *call, laze_value *operands, laze_attribute *attributes, bool *changed) {
  const laze_op_info *info = laze_op_get(call->op);
  switch (test_random_below(&state->random, 3)) {
  case 0: {
    laze_op other = other_operator(state, call->op);
    *changed = other != call->op;
    call->op = other;
    break;
  }
  case 1: {
    if (call->operand_count < 2) break;
    laze_value first = operands[0];
    *changed = !laze_value_equal(first, operands[1]);
    operands[0] = operands[1];
    operands[1] = first;
    break;
  }
  default:
    if (info->attribute_count == 0) break;
    laze_attribute *attribute = &attributes[test_random_below(&state->random, info->attribute_count)];
    if (!attribute->present || attribute->kind == LAZE_ARGUMENT_STRING || attribute->count) break;
    if (attribute->kind == LAZE_ARGUMENT_INT || attribute->kind == LAZE_ARGUMENT_SIZE)
      attribute->value.integer++;
    else if (attribute->kind == LAZE_ARGUMENT_BOOL)
      attribute->value.integer ^= 1;
    else
      break;
    *changed = true;
  }
  return *changed;
}

/* A copy of the graph in which node number `at` is another one. NULL where that is refused. */
static laze_graph *copy_mutated(mutation *state, const laze_graph *graph, int32_t at) {
  laze_graph *copy;
  laze_error error;
  bool changed = false;
  if (graph->nodes[at].op == LAZE_OP_PARAMETER) return NULL;
  ck_assert_int_eq(laze_graph_create(state->context, "mutant", &copy, &error), LAZE_OK);
  for (int32_t i = 0; i < graph->node_count; i++) {
    const laze_node *node = &graph->nodes[i];
    laze_value results[8] = {{0}}, operands[32];
    laze_attribute attributes[8];
    laze_call call = laze_node_call(node);
    laze_status status;
    if (node->op == LAZE_OP_PARAMETER) {
      status = laze_graph_add_parameter(copy, copy->body, node->name, node->types[0], results, &error);
    } else {
      if (call.operand_count) memcpy(operands, call.operands, (size_t)call.operand_count * sizeof *operands);
      if (call.attributes)
        memcpy(attributes, call.attributes, (size_t)laze_op_get(call.op)->attribute_count * sizeof *attributes);
      call.operands = operands;
      call.attributes = attributes;
      if (i == at && !mutate(state, &call, operands, attributes, &changed))
        status = LAZE_NOT_FOUND;
      else
        status = laze_graph_append(copy, copy->body, &call, results, &error);
    }
    if (status == LAZE_OK && results[0].node == i) continue;
    laze_graph_destroy(copy);
    return NULL;
  }
  if (laze_block_set_results(copy, copy->body, graph->body->results, graph->body->result_count, &error) == LAZE_OK)
    return copy;
  laze_graph_destroy(copy);
  return NULL;
}

static bool mutations_differ(void *self, const laze_graph *graph, uint64_t seed, char *message, size_t size) {
  mutation *state = self;
  state->random = (test_random){.state = seed};
  for (int i = 0; i < 6; i++) {
    laze_graph *mutant = copy_mutated(state, graph, (int32_t)test_random_below(&state->random, graph->node_count));
    if (!mutant) continue;
    state->mutants++;
    bool equal = laze_graph_equal(graph, mutant, NULL);
    bool same_key = laze_hash_equal(laze_graph_hash(graph, true), laze_graph_hash(mutant, true));
    if (equal || same_key) test_print_graph("mutant:", mutant);
    laze_graph_destroy(mutant);
    if (!equal && !same_key) continue;
    snprintf(message, size, "a mutant %s", equal ? "is found equal" : "has the same key");
    return false;
  }
  return true;
}

/* Dead nodes are part of a graph: a change anywhere in it must show. */
START_TEST(a_change_of_any_node_changes_the_key) {
  mutation state = {.context = test_context(NULL)};
  test_check_graphs(state.context, 500, &(test_graph_options){1, 20, false, TEST_SHAPES_SMALL, LAZE_DTYPE_NONE, false},
                    mutations_differ, &state);
  ck_assert_int_gt(state.mutants, test_count(300));
  laze_context_release(state.context);
}
END_TEST

/* Other sizes */

typedef struct {
  laze_context *context;
  const laze_backend *backend;
  int64_t compared;
} resizing;

/* The same structure with other sizes: all larger ones grown by 2, or all that have one of the values shrunk to 1. NULL
 * where the sizes contradict each other then. */
static laze_graph *resize(const laze_graph *graph, uint64_t seed) {
  laze_graph *symbolic, *resized = NULL;
  const int64_t *bindings;
  laze_error error;
  ck_assert_int_eq(laze_graph_symbolise(graph, &symbolic, &bindings, &error), LAZE_OK);
  int64_t count = laze_size_symbol_count(symbolic->sizes);
  int64_t *other = calloc((size_t)count + 1, sizeof *other);
  for (int64_t i = 0; i < count; i++) {
    bool shrinks = seed % 3 == 0, chosen = bindings[i] == bindings[seed % (uint64_t)count];
    other[i] = !shrinks ? bindings[i] + 2 : chosen ? 1 : bindings[i];
  }
  if (laze_graph_specialise(symbolic, other, &resized, &error) != LAZE_OK) resized = NULL;
  free(other);
  laze_graph_destroy(symbolic);
  return resized;
}

static bool reuse_agrees(void *self, const laze_graph *graph, uint64_t seed, char *message, size_t size) {
  resizing *state = self;
  laze_error error;
  test_arrays inputs, outputs;
  laze_graph *resized = resize(graph, seed);
  if (!resized) return true;
  /* Compiles and runs the first sizes, so that the second ones meet its program. */
  test_seeded_inputs(state->context, graph, seed, &inputs);
  laze_status status = test_run(state->context, state->backend, graph, NULL, &inputs, &outputs, &error);
  test_arrays_release(&inputs);
  test_arrays_release(&outputs);
  test_way reused = {state->context, state->backend, NULL}, fresh = {test_context("verify"), state->backend, NULL};
  bool same = status == LAZE_OK && test_ways_agree(&reused, &fresh, resized, seed, message, size);
  if (status != LAZE_OK) snprintf(message, size, "%s", error.message);
  if (!same) test_print_graph("with other sizes:", resized);
  laze_context_release(fresh.context);
  laze_graph_destroy(resized);
  state->compared++;
  return same;
}

static void check_reuse(const laze_backend *backend, int64_t count) {
  resizing state = {.context = test_context("verify"), .backend = backend};
  int64_t reused;
  if (!backend) ck_assert_int_eq(laze_backend_find(state.context, "interp", &state.backend, NULL), LAZE_OK);
  test_check_graphs(state.context, count, &(test_graph_options){1, 12, true, TEST_SHAPES_SMALL, LAZE_DTYPE_NONE, false},
                    reuse_agrees, &state);
  ck_assert_int_eq(laze_metric_read(state.context, "program_cache_hits", &reused, NULL), LAZE_OK);
  /* Otherwise the test would not test anything. */
  ck_assert_int_gt(state.compared, test_count(count / 4));
  ck_assert_int_gt(reused, state.compared / 3);
  laze_context_release(state.context);
}

START_TEST(a_program_serves_other_sizes) {
  check_reuse(NULL, 400);
}
END_TEST

START_TEST(a_schedule_serves_other_sizes) {
  check_reuse(&test_backend_loop, 400);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("graphs");
  TCase *tests = tcase_create("random graphs");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, printing_and_parsing_gives_an_equal_graph);
  tcase_add_test(tests, a_change_of_any_node_changes_the_key);
  tcase_add_test(tests, a_program_serves_other_sizes);
  tcase_add_test(tests, a_schedule_serves_other_sizes);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
