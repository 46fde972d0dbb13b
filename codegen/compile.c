/* The pipeline, from a graph of constant sizes to an executable:
 *
 *   structure ── program cache ── found, and its facts hold ──────────────────────────┐
 *       │ not found                                                                   v
 *   symbolise ──> passes ──> backend: schedule, kernels, program ──> program ──> executable
 *
 * The program is generic in sizes; the executable has them bound and its memory planned.
 */
#include "codegen/codegen.h"

#include "base/float_control.h"
#include "codegen/interp/interp.h"
#include "codegen/node_site.h"
#include "codegen/program_cache.h"
#include "ir/pass.h"
#include "ir/text/text.h"
#ifdef LAZE_NATIVE
#include "codegen/native/native.h"
#endif

#include <stdio.h>
#include <string.h>

static const laze_backend *const backends[] = {
#ifdef LAZE_NATIVE
    &laze_backend_llvm,
#endif
    &laze_backend_interp,
    NULL,
};

const laze_backend *laze_backend_at(int32_t index) {
  return index < 0 || index >= (int32_t)(sizeof backends / sizeof *backends) ? NULL : backends[index];
}

const char *laze_backend_name(const laze_backend *backend) {
  return backend ? backend->name : NULL;
}

const char *laze_backend_description(const laze_backend *backend) {
  return backend ? backend->description : NULL;
}

laze_status laze_backend_find(laze_context *context, const char *name, const laze_backend **out, laze_error *error) {
  char known[128] = "";
  size_t length = 0;
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_backend_find: out is NULL");
  if (!context) context = laze_context_default();
  if (!name && context) name = laze_context_backend_name(context);
  *out = backends[0];
  if (!name) return LAZE_OK;
  for (int i = 0; backends[i]; i++) {
    if (strcmp(backends[i]->name, name) == 0) {
      *out = backends[i];
      return LAZE_OK;
    }
    length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "", backends[i]->name);
  }
  *out = NULL;
  return laze_fail(error, LAZE_NOT_FOUND, "no backend is called '%s'; this build has: %s", name, known);
}

static void dump_graph(const laze_graph *graph, const char *title) {
  laze_text text;
  if (!laze_context_debug(graph->context, LAZE_DEBUG_GRAPH)) return;
  laze_text_init(&text, graph->context);
  laze_graph_print(&text, graph, true);
  laze_log_text(graph->context, LAZE_LOG_DEBUG, title, laze_text_get(&text));
  laze_text_deinit(&text);
}

static laze_status run_passes(laze_context *context, const laze_graph *graph, laze_graph **out,
                              const int64_t **bindings, laze_error *error) {
  const laze_pass_options options = {.fold = laze_interp_fold};
  laze_graph *symbolic;
  int64_t start = laze_clock();
  dump_graph(graph, "graph");
  LAZE_TRY(laze_graph_symbolise(graph, &symbolic, bindings, error));
  laze_status status = laze_passes_run(&symbolic, &options, error);
  if (status != LAZE_OK)
    laze_graph_destroy(symbolic);
  else
    *out = symbolic;
  laze_metrics_add(laze_context_metrics(context), LAZE_METRIC_TIME_PLAN_US, laze_clock() - start);
  return status;
}

laze_status laze_compile_passes(laze_context *context, const laze_graph *graph, laze_graph **out,
                                const int64_t **bindings, laze_error *error) {
  laze_float_control caller;
  laze_float_control_enter(&caller);
  laze_status status = run_passes(context, graph, out, bindings, error);
  laze_float_control_leave(&caller);
  return status;
}

static laze_site find_site(const void *self, int32_t number) {
  const laze_graph *graph = self;
  return laze_node_site(&graph->nodes[number - 1]);
}

laze_sites laze_graph_sites(const laze_graph *graph) {
  return (laze_sites){.self = graph, .find = find_site};
}

static laze_status compile_new(laze_context *context, const laze_backend *backend, const laze_graph *graph,
                               laze_program **out, laze_error *error) {
  laze_graph *symbolic;
  const int64_t *bindings;
  const int64_t begun = laze_clock();
  LAZE_TRY(run_passes(context, graph, &symbolic, &bindings, error));
  laze_metrics *metrics = laze_context_metrics(context);
  int64_t start = laze_clock(), compiling = laze_metrics_get(metrics, LAZE_METRIC_TIME_COMPILE_US);
  laze_status status = backend->compile(context, symbolic, out, error);
  /* What the backend did besides compiling kernels was planning. With other threads compiling this is an estimate. */
  compiling = laze_metrics_get(metrics, LAZE_METRIC_TIME_COMPILE_US) - compiling;
  const int64_t end = laze_clock(), planning = end - start - compiling;
  laze_metrics_add(metrics, LAZE_METRIC_TIME_PLAN_US, planning > 0 ? planning : 0);
  if (status == LAZE_OK) laze_metrics_sample(metrics, LAZE_SAMPLE_COMPILE_NS, end - begun);
  laze_graph_destroy(symbolic);
  return status;
}

static laze_status find_program(laze_context *context, const laze_backend *backend, const laze_graph *graph,
                                const int64_t *bindings, laze_program **out, laze_error *error) {
  laze_program_cache *cache;
  LAZE_TRY(laze_program_cache_get(context, &cache, error));
  laze_program_request request = laze_program_request_make(backend->name, graph, bindings);
  *out = laze_program_cache_find(cache, &request);
  if (*out) return LAZE_OK;
  LAZE_TRY(compile_new(context, backend, graph, out, error));
  laze_program_cache_keep(cache, &request, *out);
  return LAZE_OK;
}

laze_status laze_compile(laze_context *context, const laze_backend *backend, const laze_graph *graph,
                         laze_executable **out, laze_error *error) {
  *out = NULL;
  if (graph->context != context)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "graph %s belongs to another context than the one it is compiled in; make it with that one",
                     graph->name);
  int64_t count = laze_graph_bindings(graph, NULL, 0);
  int64_t *bindings = laze_alloc_array(context, count, sizeof *bindings);
  laze_program *program = NULL;
  if (!bindings) return laze_fail_memory(error, "the sizes of a graph", -1);
  laze_graph_bindings(graph, bindings, count);
  laze_float_control caller;
  laze_float_control_enter(&caller); /* folding, and LLVM's own, compute here */
  laze_status status = find_program(context, backend, graph, bindings, &program, error);
  int64_t start = laze_clock();
  laze_sites sites = laze_graph_sites(graph);
  if (status == LAZE_OK) status = laze_executable_create(program, bindings, &sites, out, error);
  laze_float_control_leave(&caller);
  laze_metrics_add(laze_context_metrics(context), LAZE_METRIC_TIME_PLAN_US, laze_clock() - start);
  laze_program_release(program);
  laze_free(context, bindings);
  return status;
}

laze_status laze_compile_emit(laze_context *context, const laze_backend *backend, const laze_graph *graph,
                              laze_emit_kind kind, laze_text *out, laze_error *error) {
  laze_graph *symbolic;
  const int64_t *bindings;
  laze_float_control caller;
  laze_float_control_enter(&caller);
  laze_status status = run_passes(context, graph, &symbolic, &bindings, error);
  if (status == LAZE_OK) {
    status = backend->emit(context, symbolic, kind, out, error);
    laze_graph_destroy(symbolic);
  }
  laze_float_control_leave(&caller);
  return status;
}

laze_status laze_compile_check_native(laze_context *context, const laze_backend *backend, const laze_graph *graph,
                                      laze_error *error) {
  laze_graph *symbolic;
  const int64_t *bindings;
  if (!backend->check) return LAZE_OK;
  LAZE_TRY(laze_compile_passes(context, graph, &symbolic, &bindings, error));
  const laze_status status = backend->check(context, symbolic, error);
  laze_graph_destroy(symbolic);
  return status;
}

laze_status laze_compile_pack(laze_context *context, const laze_backend *backend, const laze_graph *graph,
                              laze_disk_pack *pack, laze_error *error) {
  laze_graph *symbolic;
  const int64_t *bindings;
  if (!backend->pack) return LAZE_OK;
  laze_float_control caller;
  laze_float_control_enter(&caller);
  laze_status status = run_passes(context, graph, &symbolic, &bindings, error);
  if (status == LAZE_OK) {
    status = backend->pack(context, symbolic, pack, error);
    laze_graph_destroy(symbolic);
  }
  laze_float_control_leave(&caller);
  return status;
}
