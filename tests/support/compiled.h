/* Graphs from text, compiled and run through laze/compile.h. */
#ifndef LAZE_TESTS_SUPPORT_COMPILED_H
#define LAZE_TESTS_SUPPORT_COMPILED_H

#include "laze/compile.h"
#include "tests/support/status.h"

static inline laze_compiled *test_compile(laze_context *context, const laze_backend *backend, const char *text) {
  laze_error error;
  laze_graph *graph;
  laze_compiled *compiled;
  const laze_compile_options options = {.struct_size = sizeof options, .backend = backend};
  assert_ok(laze_graph_parse(context, text, (int64_t)strlen(text), "test", &graph, &error));
  assert_ok(laze_compile_graph(graph, &options, &compiled, &error));
  laze_graph_release(graph);
  return compiled;
}

static inline int64_t test_array_bytes(const laze_array *array) {
  const laze_ints sizes = laze_array_sizes(array);
  int64_t bytes = laze_dtype_size(laze_array_dtype(array));
  for (int i = 0; i < sizes.count; i++) bytes *= sizes.items[i];
  return bytes;
}

#endif
