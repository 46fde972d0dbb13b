#include "tests/property/check_graphs.h"

#include "ir/pass.h"
#include "ir/text/text.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

void test_seeded_inputs(laze_context *context, const laze_graph *graph, uint64_t seed, test_arrays *out) {
  test_random random = {.state = seed * 31 + 7};
  test_range range = {.low = -4, .high = 4, .special = seed % 2 == 1};
  test_inputs(context, graph, &random, &range, out);
}

/* A copy that returns one value, without what this does not need. NULL where there is none. */
static laze_graph *cut(const laze_graph *graph, laze_value value) {
  const laze_pass_options options = {.only = "dead_nodes"};
  laze_graph *copy;
  if (laze_graph_copy(graph, &copy, NULL) != LAZE_OK) return NULL;
  if (laze_block_set_results(copy, copy->body, &value, 1, NULL) == LAZE_OK &&
      laze_passes_run(&copy, &options, NULL) == LAZE_OK)
    return copy;
  laze_graph_destroy(copy);
  return NULL;
}

void test_print_failing(const laze_graph *graph, uint64_t seed, test_property property, void *self) {
  char message[1500];
  test_print_graph("this graph fails:", graph);
  for (int64_t i = 0; i < graph->body->node_count; i++) {
    int32_t node = graph->body->nodes[i];
    laze_graph *part = cut(graph, (laze_value){.node = node});
    bool right = !part || property(self, part, seed, message, sizeof message);
    if (!right) test_print_graph(message, part);
    laze_graph_destroy(part);
    if (!right) return;
  }
}

void test_check_graphs(laze_context *context, int64_t count, const test_graph_options *options, test_property property,
                       void *self) {
  uint64_t first = (uint64_t)test_setting("LAZE_TEST_SEED", 1);
  count = test_count(count);
  if (getenv("LAZE_TEST_ONE")) count = 1;
  for (uint64_t seed = first; seed < first + (uint64_t)count; seed++) {
    test_random random = {.state = seed};
    char message[1500] = "";
    laze_graph *graph = test_random_graph(context, &random, options);
    ck_assert_msg(graph != NULL, "seed %llu: no graph could be made", (unsigned long long)seed);
    bool right = property(self, graph, seed, message, sizeof message);
    if (!right) test_print_failing(graph, seed, property, self);
    laze_graph_destroy(graph);
    ck_assert_msg(right, "seed %llu (LAZE_TEST_SEED=%llu LAZE_TEST_ONE=1): %s", (unsigned long long)seed,
                  (unsigned long long)seed, message);
  }
}

/* What a failing index says: another context runs a copy of the graph, whose lines are others, and whose operator may
 * have got sizes that it was not recorded with. */
static const char *index_of(const char *message) {
  const char *index = strstr(message, "index ");
  return index ? index : message;
}

bool test_ways_agree(const test_way *a, const test_way *b, const laze_graph *graph, uint64_t seed, char *message,
                     size_t size) {
  test_arrays inputs, left, right;
  laze_error left_error = {0}, right_error = {0};
  test_seeded_inputs(a->context, graph, seed, &inputs);
  laze_status left_status = test_run(a->context, a->backend, graph, a->without, &inputs, &left, &left_error);
  laze_status right_status = test_run(b->context, b->backend, graph, b->without, &inputs, &right, &right_error);
  /* Where sizes were changed an index may be out of range: then it is for both. */
  bool same = left_status == right_status && (left_status == LAZE_OK || left_status == LAZE_OUT_OF_RANGE);
  if (same && left_status != LAZE_OK) same = strcmp(index_of(left_error.message), index_of(right_error.message)) == 0;
  if (!same)
    snprintf(message, size, "%s gives %s (%s), %s gives %s (%s)", a->backend->name, laze_status_name(left_status),
             left_error.message, b->backend->name, laze_status_name(right_status), right_error.message);
  else if (left_status == LAZE_OK)
    same = test_arrays_same(&left, &right, message, size);
  test_arrays_release(&left);
  test_arrays_release(&right);
  test_arrays_release(&inputs);
  return same;
}

laze_status test_way_status(const test_way *way, const laze_graph *graph, uint64_t seed) {
  test_arrays inputs, results;
  laze_error error;
  test_seeded_inputs(way->context, graph, seed, &inputs);
  laze_status status = test_run(way->context, way->backend, graph, way->without, &inputs, &results, &error);
  test_arrays_release(&results);
  test_arrays_release(&inputs);
  return status;
}

typedef struct {
  const test_way *a, *b;
} two_ways;

static bool agree(void *self, const laze_graph *graph, uint64_t seed, char *message, size_t size) {
  const two_ways *ways = self;
  return test_ways_agree(ways->a, ways->b, graph, seed, message, size);
}

void test_check_ways(const test_way *a, const test_way *b, int64_t count, const test_graph_options *options) {
  two_ways ways = {a, b};
  test_check_graphs(a->context, count, options, agree, &ways);
  if (b->context != a->context) laze_context_release(b->context);
  laze_context_release(a->context);
}

laze_module *test_random_module(laze_context *context, uint64_t seed, const test_text_options *options) {
  test_random random = {.state = seed};
  laze_text text;
  laze_module *module;
  laze_error error;
  laze_text_init(&text, context);
  test_write_random_module(&text, &random, options);
  const laze_text_source source = {.text = laze_text_get(&text), .size = text.size, .file = "random"};
  laze_status status = laze_module_parse(context, &source, &module, &error);
  if (status != LAZE_OK) fprintf(stderr, "%s\n", laze_text_get(&text));
  ck_assert_msg(status == LAZE_OK, "seed %llu: %s", (unsigned long long)seed, error.message);
  laze_text_deinit(&text);
  return module;
}

laze_graph *test_random_program(laze_context *context, uint64_t seed, const test_text_options *options) {
  laze_module *module = test_random_module(context, seed, options);
  laze_graph *chosen, *inlined;
  laze_error error;
  laze_status status = laze_module_choose(module, "main", &chosen, &error);
  if (status == LAZE_OK) status = laze_module_inline(chosen, &inlined, &error);
  ck_assert_msg(status == LAZE_OK, "seed %llu: %s", (unsigned long long)seed, error.message);
  laze_module_destroy(module);
  return inlined;
}

/* Steps that run regions. None may be the interpreter's. */
static int32_t count_control_steps(laze_context *context, const laze_backend *backend, const laze_graph *graph) {
  laze_executable *executable;
  laze_error error;
  int32_t count = 0;
  laze_status status = laze_compile(context, backend, graph, &executable, &error);
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
  const laze_program *program = laze_executable_program(executable);
  for (int32_t i = 0; i < laze_program_step_count(program); i++) {
    ck_assert_ptr_null(laze_program_step(program, i)->interpreted);
    count += laze_program_step(program, i)->control != NULL;
  }
  laze_executable_release(executable);
  return count;
}

/* Once an `if` is replaced by a region, what only its unused results, or its other region, needed is needed by nobody:
 * it goes as every unused operator does, which then does not fail (docs/semantics.md). So an index out of range may be
 * found with the `if` alone; nothing else may fail on one way only, and without the `if` nothing may. */
static bool fails_for_nobody(const test_way *a, const test_way *b, const laze_graph *graph, uint64_t seed) {
  bool folds = a->without && strcmp(a->without, "branches") == 0;
  return folds && test_way_status(a, graph, seed) == LAZE_OUT_OF_RANGE && test_way_status(b, graph, seed) == LAZE_OK;
}

void test_check_programs(const test_way *a, const test_way *b, const test_text_options *options, int64_t count,
                         bool native) {
  uint64_t first = (uint64_t)test_setting("LAZE_TEST_SEED", 1);
  int32_t steps = 0;
  two_ways ways = {a, b};
  for (uint64_t seed = first; seed < first + (uint64_t)test_count(count); seed++) {
    char message[4000] = "";
    laze_graph *graph = test_random_program(a->context, seed, options);
    bool right = agree(&ways, graph, seed, message, sizeof message) || fails_for_nobody(a, b, graph, seed);
    if (!right) test_print_failing(graph, seed, agree, &ways);
    ck_assert_msg(right, "LAZE_TEST_SEED=%llu: %s", (unsigned long long)seed, message);
    steps += count_control_steps(a->context, b->backend, graph);
    laze_graph_destroy(graph);
  }
  /* Otherwise two interpreters were compared, or two native programs. */
  ck_assert(steps > 0 || !native);
}
