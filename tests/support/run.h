/* Compiles and runs graphs for tests, and compares what comes out. */
#ifndef LAZE_TESTS_SUPPORT_RUN_H
#define LAZE_TESTS_SUPPORT_RUN_H

#include "codegen/codegen.h"
#include "tests/support/values.h"

enum { TEST_MAX_VALUES = 256 };

/* The inputs or outputs of a graph. */
typedef struct test_arrays {
  int32_t count;
  laze_type types[TEST_MAX_VALUES];
  laze_buffer *buffers[TEST_MAX_VALUES]; /* owned */
} test_arrays;

/* A context without disk cache on one thread; `debug` as in LAZE_DEBUG, may be NULL. Ends the process on failure. */
laze_context *test_context(const char *debug);
int64_t test_elements(const laze_type *type);
/* A buffer at the end of its memory: reading one byte behind it ends the process. The other one lies at the front, with
 * nothing before it. Ends the process on failure. */
laze_buffer *test_guarded_buffer(laze_context *context, int64_t size);
laze_buffer *test_guarded_front_buffer(laze_context *context, int64_t size);
/* Releases a buffer, in the form that a borrowed buffer's release takes. */
void test_release_buffer(void *buffer, void *data);

/* Makes an input for every parameter of a graph of constant sizes. A parameter whose name ends in "_below<n>" gets
 * valid indices for an axis of size n; the others follow `range`. */
void test_inputs(laze_context *context, const laze_graph *graph, test_random *random, const test_range *range,
                 test_arrays *out);
void test_arrays_release(test_arrays *arrays);

/* Compiles and runs a graph, which must not fall back but for the operators that tests/support/fallbacks.c lists.
 * `without` names a pass to be left out (then the program cache is passed by), or NULL. A type of an output that is not
 * the one the graph infers is LAZE_INTERNAL. On failure `out` is empty. */
laze_status test_run(laze_context *context, const laze_backend *backend, const laze_graph *graph, const char *without,
                     const test_arrays *inputs, test_arrays *out, laze_error *error);
/* False, with what differs first in `message`, unless both have the same types and bits. */
bool test_arrays_same(const test_arrays *a, const test_arrays *b, char *message, size_t size);

/* Prints the graph in text form to standard error, after `title`: what a failing random test ends with. */
void test_print_graph(const char *title, const laze_graph *graph);

#endif
