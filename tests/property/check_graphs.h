/* The loop that property tests share: random graphs, and what is printed when one fails. */
#ifndef LAZE_TESTS_PROPERTY_CHECK_GRAPHS_H
#define LAZE_TESTS_PROPERTY_CHECK_GRAPHS_H

#include "tests/support/random_graph.h"
#include "ir/module.h"
#include "tests/support/random_text.h"
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

/* Prints the graph, and the part of it that alone fails: what the first failing of its values is made from. */
void test_print_failing(const laze_graph *graph, uint64_t seed, test_property property, void *self);

/* Two ways to run a graph, which must agree: same outcome, types and bits. */
typedef struct test_way {
  laze_context *context;
  const laze_backend *backend;
  const char *without; /* a pass left out, or NULL */
} test_way;
bool test_ways_agree(const test_way *a, const test_way *b, const laze_graph *graph, uint64_t seed, char *message,
                     size_t size);
/* How a graph ends on one way, with the inputs of that seed. */
laze_status test_way_status(const test_way *way, const laze_graph *graph, uint64_t seed);
/* Checks that they agree about random graphs, made in a's context, and releases the contexts. */
void test_check_ways(const test_way *a, const test_way *b, int64_t count, const test_graph_options *options);

/* A random module (tests/support/random_text.h), and its graph with calls inlined. A module that is refused fails the
 * running Check test. */
laze_module *test_random_module(laze_context *context, uint64_t seed, const test_text_options *options);
laze_graph *test_random_program(laze_context *context, uint64_t seed, const test_text_options *options);
/* Checks that both ways agree about `count` of them (times LAZE_TEST_FACTOR), and that b's programs run nothing on the
 * interpreter of graphs. `native`: b has steps that run regions, so that the ways are two. */
void test_check_programs(const test_way *a, const test_way *b, const test_text_options *options, int64_t count,
                         bool native);

#endif
