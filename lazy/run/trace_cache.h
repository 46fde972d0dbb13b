/* The cache of executables by trace: a bounded cache (base/cache.h) of entries that hold the trace's words, by which a
 * hit is confirmed. All functions may be called from any thread. */
#ifndef LAZE_LAZY_RUN_TRACE_CACHE_H
#define LAZE_LAZY_RUN_TRACE_CACHE_H

#include "base/cache.h"
#include "runtime/program.h"

#define LAZE_TRACE_CACHE_MAX_ENTRIES 1024
#define LAZE_TRACE_CACHE_MAX_BYTES (INT64_C(128) << 20) /* of words, executables and what keeps them */

/* Refcounted by the cache, immutable. */
typedef struct laze_trace_entry {
  _Atomic int64_t references;
  laze_context *context;       /* borrowed: the context owns the cache */
  laze_executable *executable; /* retained */
  int64_t bytes;               /* of the entry and the executable, without its program */
  int64_t word_count;
  uint64_t words[];
} laze_trace_entry;

LAZE_MUST_USE laze_status laze_trace_cache_create(laze_context *context, laze_cache **out, laze_error *error);
/* The executable of these words, a new reference, or NULL. Entries with the same key and other words do not match. */
laze_executable *laze_trace_cache_find(laze_cache *cache, laze_hash key, const uint64_t *words, int64_t count);
/* Stores a copy of the words and a reference of the executable, unless they are there or memory is out. */
void laze_trace_cache_insert(laze_cache *cache, laze_hash key, const uint64_t *words, int64_t count,
                             laze_executable *executable);

#endif
