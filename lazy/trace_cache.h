/* The cache of executables by trace: bounded in entries and in bytes of words, least recently used out first. Guarded
 * by the lazy lock; it needs no other. */
#ifndef LAZE_LAZY_TRACE_CACHE_H
#define LAZE_LAZY_TRACE_CACHE_H

#include "base/hash.h"
#include "runtime/program.h"

#define LAZE_TRACE_CACHE_ENTRIES 1024
#define LAZE_TRACE_CACHE_BYTES (INT64_C(128) << 20)

typedef struct laze_trace_cache laze_trace_cache;

typedef struct laze_trace_entry {
  struct laze_trace_entry *newer, *older; /* in the order of use */
  struct laze_trace_entry *chain;         /* of the same bucket */
  laze_hash key;
  laze_executable *executable; /* retained */
  int64_t word_count;
  uint64_t words[];
} laze_trace_entry;

LAZE_MUST_USE laze_status laze_trace_cache_create(laze_context *context, laze_trace_cache **out, laze_error *error);
void laze_trace_cache_destroy(laze_trace_cache *cache); /* NULL is ignored */
/* The executable of these words, a new reference, or NULL. Entries with the same key and other words do not match. */
laze_executable *laze_trace_cache_find(laze_trace_cache *cache, laze_hash key, const uint64_t *words, int64_t count);
/* Stores a copy of the words and a reference of the executable, unless they are there or memory is out. */
void laze_trace_cache_insert(laze_trace_cache *cache, laze_hash key, const uint64_t *words, int64_t count,
                             laze_executable *executable);
/* The most recently used entry, NULL if there is none; the others follow by `older`. */
const laze_trace_entry *laze_trace_cache_first(const laze_trace_cache *cache);

#endif
