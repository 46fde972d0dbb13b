/* Programs by the structure of the graph they were compiled from: graphs that differ only in sizes share one where its
 * facts hold. One cache for each context, bounded in programs and bytes. Thread-safe. */
#ifndef LAZE_CODEGEN_PROGRAM_CACHE_H
#define LAZE_CODEGEN_PROGRAM_CACHE_H

#include "base/hash.h"
#include "ir/graph.h"
#include "runtime/program.h"

typedef struct laze_program_cache laze_program_cache;

/* What is looked for: a program of the backend of that name for this graph, at the sizes that `bindings` gives its
 * symbols (laze_graph_bindings). Everything is borrowed. */
typedef struct laze_program_request {
  const char *backend;
  uint32_t settings; /* of the context (base/fallback.h) */
  const laze_graph *graph;
  const int64_t *bindings;
  laze_hash key;
} laze_program_request;
laze_program_request laze_program_request_make(const char *backend, const laze_graph *graph, const int64_t *bindings);

/* The context's cache, made on first use; borrowed. */
LAZE_MUST_USE laze_status laze_program_cache_get(laze_context *context, laze_program_cache **out, laze_error *error);
/* A program that serves the request, as a new reference, or NULL. */
laze_program *laze_program_cache_find(laze_program_cache *cache, const laze_program_request *request);
/* Keeps a program, with copies of the request's graph and backend by which a hit is confirmed. Without memory it is
 * just not kept.
 */
void laze_program_cache_keep(laze_program_cache *cache, const laze_program_request *request, laze_program *program);

#endif
