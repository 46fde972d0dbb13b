/* Entries of the trace cache: a copy of the words and the executable, which an entry keeps alive while someone runs it.
 */
#include "lazy/run/trace_cache.h"

#include <string.h>

static void retain_entry(void *object) {
  laze_trace_entry *entry = object;
  atomic_fetch_add_explicit(&entry->references, 1, memory_order_relaxed);
}

static void release_entry(void *object) {
  laze_trace_entry *entry = object;
  if (atomic_fetch_sub_explicit(&entry->references, 1, memory_order_acq_rel) != 1) return;
  laze_metrics_add(laze_context_metrics(entry->context), LAZE_METRIC_TRACE_CACHE_BYTES, -entry->bytes);
  laze_executable_release(entry->executable);
  laze_free(entry->context, entry);
}

laze_status laze_trace_cache_create(laze_context *context, laze_cache **out, laze_error *error) {
  const laze_cache_options options = {LAZE_TRACE_CACHE_MAX_ENTRIES, LAZE_TRACE_CACHE_MAX_BYTES, retain_entry,
                                      release_entry};
  return laze_cache_create(context, &options, out, error);
}

typedef struct {
  const uint64_t *words;
  int64_t count;
} wanted_words;

static bool has_words(void *self, void *object) {
  const wanted_words *wanted = self;
  const laze_trace_entry *entry = object;
  return entry->word_count == wanted->count &&
         memcmp(entry->words, wanted->words, (size_t)wanted->count * sizeof *wanted->words) == 0;
}

static laze_trace_entry *find_entry(laze_cache *cache, laze_hash key, const uint64_t *words, int64_t count) {
  wanted_words wanted = {words, count};
  return laze_cache_find(cache, key, has_words, &wanted);
}

laze_executable *laze_trace_cache_find(laze_cache *cache, laze_hash key, const uint64_t *words, int64_t count) {
  laze_trace_entry *entry = find_entry(cache, key, words, count);
  if (!entry) return NULL;
  laze_executable *executable = entry->executable;
  laze_executable_retain(executable);
  release_entry(entry);
  return executable;
}

void laze_trace_cache_insert(laze_cache *cache, laze_hash key, const uint64_t *words, int64_t count,
                             laze_executable *executable) {
  laze_trace_entry *entry = find_entry(cache, key, words, count);
  if (entry) { /* another thread was faster */
    release_entry(entry);
    return;
  }
  laze_context *context = laze_cache_context(cache);
  int64_t bytes = (int64_t)sizeof *entry + count * (int64_t)sizeof *words;
  entry = laze_alloc(context, bytes);
  if (!entry) return; /* the next run misses again */
  *entry = (laze_trace_entry){.references = 1,
                              .context = context,
                              .executable = executable,
                              .bytes = bytes + laze_executable_bytes(executable),
                              .word_count = count};
  laze_metrics_add(laze_context_metrics(context), LAZE_METRIC_TRACE_CACHE_BYTES, entry->bytes);
  laze_executable_retain(executable);
  memcpy(entry->words, words, (size_t)count * sizeof *words);
  laze_cache_insert(cache, key, entry, bytes + laze_executable_weight(executable));
  release_entry(entry);
}
