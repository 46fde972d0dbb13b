/* The loop that property tests share: random graphs, and what is printed when one fails. */
#ifndef LAZE_TESTS_PROPERTY_CHECK_GRAPHS_H
#define LAZE_TESTS_PROPERTY_CHECK_GRAPHS_H

#include "tests/support/random_graph.h"
#include "tests/support/run.h"

/* Looks at one graph. False, with what is wrong in `message`, fails the test.
 */
typedef bool (*test_property)(void *self, const laze_graph *graph, uint64_t seed, char *message, size_t size);

/* Checks `count` graphs (times LAZE_TEST_FACTOR) from seed LAZE_TEST_SEED on, each made in `context`. A failure prints
 * its seed and the graph in text form, and fails the running Check test. */
void test_check_graphs(laze_context *context, int64_t count, const test_graph_options *options, test_property property,
                       void *self);
/* Inputs for a graph that follow from the seed; half of the seeds have special values among them. */
void test_seeded_inputs(laze_context *context, const laze_graph *graph, uint64_t seed, test_arrays *out);

/* Two ways to run a graph, which must agree: same outcome, types and bits. */
typedef struct test_way {
  laze_context *context;
  const laze_backend *backend;
  const char *without; /* a pass left out, or NULL */
} test_way;
bool test_ways_agree(const test_way *a, const test_way *b, const laze_graph *graph, uint64_t seed, char *message,
                     size_t size);
/* Whether a graph fails on one way, with the inputs of that seed. */
bool test_way_fails(const test_way *way, const laze_graph *graph, uint64_t seed);
/* Checks that they agree about random graphs, made in a's context, and releases the contexts. */
void test_check_ways(const test_way *a, const test_way *b, int64_t count, const test_graph_options *options);

#endif
