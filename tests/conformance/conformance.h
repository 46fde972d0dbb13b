/* What conformance tests share: graphs from text, run on the backend under test. Everything fails the running Check
 * test where it does not succeed. */
#ifndef LAZE_TESTS_CONFORMANCE_CONFORMANCE_H
#define LAZE_TESTS_CONFORMANCE_CONFORMANCE_H

#include "tests/support/backends.h"
#include "tests/support/run.h"

#include <check.h>

/* A graph from its text, without the first line. */
laze_graph *conformance_parse(laze_context *context, const char *text);
/* Compiles such a text on the backend. */
laze_executable *conformance_compile(laze_context *context, const laze_backend *backend, const char *text);
/* A buffer with a copy of `data`. */
laze_buffer *conformance_buffer(laze_context *context, const laze_backend *backend, const void *data, int64_t size);
/* Runs and demands success. */
void conformance_execute(const laze_backend *backend, laze_executable *executable, laze_buffer *const *inputs,
                         laze_buffer **outputs);
/* Adds the test once per backend: `_i` is the backend's number. */
#define conformance_add(tests, test) tcase_add_loop_test(tests, test, 0, test_backend_count())
/* Runs the tests of one case; the exit status of main. */
int conformance_main(TCase *tests);

#endif
