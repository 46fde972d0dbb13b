#include "tests/conformance/conformance.h"

#include "ir/text/text.h"
#include "tests/support/fallbacks.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

laze_graph *conformance_parse(laze_context *context, const char *text) {
  char whole[16384];
  laze_graph *graph;
  laze_error error;
  int length = snprintf(whole, sizeof whole, "laze 1\n%s", text);
  ck_assert_int_lt(length, (int)sizeof whole);
  laze_status status = laze_graph_parse(context, whole, length, "test", &graph, &error);
  ck_assert_msg(status == LAZE_OK, "%s\n%s", error.message, text);
  return graph;
}

laze_executable *conformance_compile(laze_context *context, const laze_backend *backend, const char *text) {
  laze_graph *graph = conformance_parse(context, text);
  laze_executable *executable;
  laze_error error;
  laze_status status = laze_compile(context, backend, graph, &executable, &error);
  laze_graph_destroy(graph);
  ck_assert_msg(status == LAZE_OK, "%s: %s\n%s", backend->name, error.message, text);
  status = test_check_fallbacks(laze_executable_program(executable), &error);
  ck_assert_msg(status == LAZE_OK, "%s\n%s", error.message, text);
  return executable;
}

laze_buffer *conformance_buffer(laze_context *context, const laze_backend *backend, const void *data, int64_t size) {
  laze_buffer *buffer;
  laze_error error;
  ck_assert_msg(backend->allocate(context, size, &buffer, &error) == LAZE_OK, "%s", error.message);
  ck_assert_msg(backend->copy_from_host(buffer, data, size, &error) == LAZE_OK, "%s", error.message);
  return buffer;
}

void conformance_execute(const laze_backend *backend, laze_executable *executable, laze_buffer *const *inputs,
                         laze_buffer **outputs) {
  laze_error error;
  laze_status status = backend->execute(executable, &(laze_run){.inputs = inputs, .outputs = outputs}, &error);
  ck_assert_msg(status == LAZE_OK, "%s: %s", backend->name, error.message);
}

int conformance_main(TCase *tests) {
  Suite *suite = suite_create("conformance");
  tcase_set_timeout(tests, 0);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
