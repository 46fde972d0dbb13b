#include "tests/property/check_graphs.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

void test_seeded_inputs(laze_context *context, const laze_graph *graph, uint64_t seed, test_arrays *out) {
  test_random random = {.state = seed * 31 + 7};
  test_range range = {.low = -4, .high = 4, .special = seed % 2 == 1};
  test_inputs(context, graph, &random, &range, out);
}

void test_check_graphs(laze_context *context, int64_t count, const test_graph_options *options, test_property property,
                       void *self) {
  uint64_t first = (uint64_t)test_setting("LAZE_TEST_SEED", 1);
  count *= test_setting("LAZE_TEST_FACTOR", 1);
  if (getenv("LAZE_TEST_ONE")) count = 1;
  for (uint64_t seed = first; seed < first + (uint64_t)count; seed++) {
    test_random random = {.state = seed};
    char message[1500] = "";
    laze_graph *graph = test_random_graph(context, &random, options);
    ck_assert_msg(graph != NULL, "seed %llu: no graph could be made", (unsigned long long)seed);
    bool right = property(self, graph, seed, message, sizeof message);
    if (!right) test_print_graph("this graph fails:", graph);
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

bool test_way_fails(const test_way *way, const laze_graph *graph, uint64_t seed) {
  test_arrays inputs, results;
  laze_error error;
  test_seeded_inputs(way->context, graph, seed, &inputs);
  laze_status status = test_run(way->context, way->backend, graph, way->without, &inputs, &results, &error);
  test_arrays_release(&results);
  test_arrays_release(&inputs);
  return status != LAZE_OK;
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
