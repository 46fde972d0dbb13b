/* Random graphs for property tests. */
#ifndef LAZE_TESTS_SUPPORT_RANDOM_GRAPH_H
#define LAZE_TESTS_SUPPORT_RANDOM_GRAPH_H

#include "ir/graph.h"
#include "tests/support/random_call.h"

typedef struct test_graph_options {
  int32_t least_calls, most_calls;
  bool exact; /* operators with the same bits everywhere */
  test_shapes shapes;
  laze_dtype dtype; /* of what is made for calls; LAZE_DTYPE_NONE: any */
  bool hides_bits;  /* no operators that show the sign of a NaN; so do those that are exact */
} test_graph_options;

/* A graph of random calls, with random values as outputs. Owned by the caller; NULL when memory is out. */
laze_graph *test_random_graph(laze_context *context, test_random *random, const test_graph_options *options);

#endif
