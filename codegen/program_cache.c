/* Programs found again:
 *
 *   graph (constant sizes) ─ structure, backend ─ hash ─> candidates
 *                                                 │ of that backend? equal but for sizes? do the program's facts hold
 *                                                 │ for these sizes?
 *                                                 v
 *                                              program
 */
#include "codegen/program_cache.h"

#include "base/cache.h"
#include "base/fallback.h"

#include <stdatomic.h>
#include <string.h>

enum { MAX_PROGRAMS = 1024, MAX_PROGRAM_BYTES = 128 << 20 };

struct laze_program_cache {
  laze_context *context; /* borrowed: this structure is part of it */
  laze_cache *programs;  /* cached_program by the request's key */
};

/* A program with the graph and the backend it was compiled from and by, by which a hit is confirmed. Refcounted,
 * immutable. */
typedef struct {
  _Atomic int64_t references;
  int64_t bytes;         /* without the program, which counts itself */
  laze_program *program; /* retained */
  laze_graph *graph;     /* owned: a copy */
  uint32_t settings;     /* under which it was compiled */
  char backend[];        /* its name */
} cached_program;

static void retain(void *object) {
  cached_program *cached = object;
  atomic_fetch_add_explicit(&cached->references, 1, memory_order_relaxed);
}

static void release(void *object) {
  cached_program *cached = object;
  if (atomic_fetch_sub_explicit(&cached->references, 1, memory_order_acq_rel) != 1) return;
  laze_context *context = cached->graph->context;
  laze_metrics_add(laze_context_metrics(context), LAZE_METRIC_PROGRAM_CACHE_BYTES, -cached->bytes);
  laze_program_release(cached->program);
  laze_graph_destroy(cached->graph);
  laze_free(context, cached);
}

static void destroy_cache(void *object) {
  laze_program_cache *cache = object;
  laze_cache_destroy(cache->programs);
  laze_free(cache->context, cache);
}

static laze_status create_cache(laze_context *context, void **out, laze_error *error) {
  const laze_cache_options options = {MAX_PROGRAMS, MAX_PROGRAM_BYTES, retain, release};
  laze_program_cache *cache = laze_alloc_zero(context, sizeof *cache);
  if (!cache) return laze_fail_memory(error, "the program cache", sizeof *cache);
  cache->context = context;
  laze_status status = laze_cache_create(context, &options, &cache->programs, error);
  if (status != LAZE_OK)
    destroy_cache(cache);
  else
    *out = cache;
  return status;
}

laze_status laze_program_cache_get(laze_context *context, laze_program_cache **out, laze_error *error) {
  static const laze_context_object_class class = {LAZE_CONTEXT_PROGRAMS, create_cache, destroy_cache};
  void *object;
  laze_status status = laze_context_object(context, &class, &object, error);
  *out = object;
  return status;
}

laze_program_request laze_program_request_make(const char *backend, const laze_graph *graph, const int64_t *bindings) {
  laze_hash name = laze_hash_bytes(backend, strlen(backend));
  const uint32_t settings = atomic_load(&laze_context_fallbacks(graph->context)->settings);
  return (laze_program_request){.backend = backend,
                                .settings = settings,
                                .graph = graph,
                                .bindings = bindings,
                                .key = laze_hash_combine(laze_graph_hash(graph, false), name)};
}

static bool serves(void *self, void *object) {
  const laze_program_request *request = self;
  const cached_program *cached = object;
  /* In this order: the bindings are those of the program's symbols only where the structures are equal. */
  return cached->settings == request->settings && strcmp(cached->backend, request->backend) == 0 &&
         laze_graph_equal_but_sizes(cached->graph, request->graph, NULL) &&
         laze_facts_hold(laze_program_sizes(cached->program), request->bindings);
}

laze_program *laze_program_cache_find(laze_program_cache *cache, const laze_program_request *request) {
  laze_program_request wanted = *request;
  cached_program *cached = laze_cache_find(cache->programs, request->key, serves, &wanted);
  if (!cached) return NULL;
  laze_program *program = cached->program;
  laze_program_retain(program);
  release(cached);
  laze_metrics_add(laze_context_metrics(cache->context), LAZE_METRIC_PROGRAM_CACHE_HITS, 1);
  return program;
}

void laze_program_cache_keep(laze_program_cache *cache, const laze_program_request *request, laze_program *program) {
  laze_graph *copy;
  if (laze_graph_copy(request->graph, &copy, NULL) != LAZE_OK) return;
  laze_graph_trim(copy);
  size_t name = strlen(request->backend) + 1;
  int64_t bytes = (int64_t)(sizeof(cached_program) + name);
  cached_program *cached = laze_alloc(cache->context, bytes);
  if (!cached) {
    laze_graph_destroy(copy);
    return;
  }
  laze_graph_give_to_context(copy);
  *cached = (cached_program){.references = 1,
                             .bytes = bytes + laze_graph_bytes(copy),
                             .program = program,
                             .graph = copy,
                             .settings = request->settings};
  memcpy(cached->backend, request->backend, name);
  laze_metrics_add(laze_context_metrics(cache->context), LAZE_METRIC_PROGRAM_CACHE_BYTES, cached->bytes);
  laze_program_retain(program);
  laze_cache_insert(cache->programs, request->key, cached, cached->bytes + laze_program_bytes(program));
  release(cached);
}
