/* Finding the backend, and compiling with it a graph that was recorded. */
#include "lazy/run/compile.h"

#include "codegen/codegen.h"
#include "ir/graph.h"
#include "lazy/lazy.h"

laze_status laze_lazy_backend(laze_lazy *lazy, const laze_backend **out, laze_error *error) {
  if (!lazy->backend) LAZE_TRY(laze_backend_find(lazy->context, NULL, &lazy->backend, error));
  *out = lazy->backend;
  return LAZE_OK;
}

/* Whether two types of different tables agree in what is known of both. */
static bool may_be_equal(const laze_type *a, const laze_type *b) {
  bool same = a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank;
  for (int i = 0; same && i < a->rank; i++)
    same = a->sizes[i] == b->sizes[i] || !laze_size_is_constant(a->sizes[i]) || !laze_size_is_constant(b->sizes[i]);
  return same;
}

/* The executable's outputs must be what was promised when the operators were recorded. */
static laze_status check_outputs(const laze_graph *graph, const laze_executable *executable, laze_error *error) {
  for (int64_t i = 0; i < graph->body->result_count; i++) {
    const laze_type *expected = laze_graph_type(graph, graph->body->results[i]);
    laze_type type;
    laze_executable_output_type(executable, (int32_t)i, &type);
    if (may_be_equal(&type, expected)) continue;
    char text[2][128];
    return laze_fail(error, LAZE_INTERNAL, "output %lld of a compiled graph is %s, but was recorded as %s",
                     (long long)i, laze_type_format(NULL, &type, text[0], sizeof text[0]),
                     laze_type_format(NULL, expected, text[1], sizeof text[1]));
  }
  return LAZE_OK;
}

laze_status laze_lazy_compile(laze_lazy *lazy, const laze_graph *graph, laze_executable **out, laze_error *error) {
  laze_executable *executable;
  LAZE_TRY(laze_compile(lazy->context, lazy->backend, graph, &executable, error));
  laze_status status = check_outputs(graph, executable, error);
  if (status != LAZE_OK)
    laze_executable_release(executable);
  else
    *out = executable;
  return status;
}

laze_status laze_lazy_emit(laze_lazy *lazy, const laze_graph *graph, laze_save_form form, laze_text *out,
                           laze_error *error) {
  const laze_emit_kind kind = form == LAZE_SAVE_SCHEDULE ? LAZE_EMIT_SCHEDULE
                              : form == LAZE_SAVE_LLVM   ? LAZE_EMIT_LLVM
                                                         : LAZE_EMIT_ASSEMBLY;
  return laze_compile_emit(lazy->context, lazy->backend, graph, kind, out, error);
}
