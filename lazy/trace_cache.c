#include "lazy/trace_cache.h"

#include "base/checked.h"

#include <string.h>

#define BUCKETS (2 * LAZE_TRACE_CACHE_ENTRIES) /* a power of two */

struct laze_trace_cache {
  laze_context *context; /* borrowed */
  laze_trace_entry *newest, *oldest;
  int64_t entry_count, bytes;
  laze_trace_entry *buckets[BUCKETS];
};

static laze_trace_entry **bucket_of(laze_trace_cache *cache, laze_hash key) {
  return &cache->buckets[key.low & (BUCKETS - 1)];
}

static int64_t entry_bytes(int64_t word_count) {
  return (int64_t)sizeof(laze_trace_entry) + word_count * (int64_t)sizeof(uint64_t);
}

static void list_remove(laze_trace_cache *cache, laze_trace_entry *entry) {
  *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
  *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void list_add(laze_trace_cache *cache, laze_trace_entry *entry) {
  entry->newer = NULL;
  entry->older = cache->newest;
  *(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
  cache->newest = entry;
}

static void entry_destroy(laze_trace_cache *cache, laze_trace_entry *entry) {
  laze_trace_entry **link = bucket_of(cache, entry->key);
  while (*link != entry) link = &(*link)->chain;
  *link = entry->chain;
  list_remove(cache, entry);
  cache->entry_count--;
  cache->bytes -= entry_bytes(entry->word_count);
  laze_executable_release(entry->executable);
  laze_free(cache->context, entry);
}

laze_status laze_trace_cache_create(laze_context *context, laze_trace_cache **out, laze_error *error) {
  laze_trace_cache *cache = laze_alloc_zero(context, sizeof *cache);
  if (!cache) return laze_fail_memory(error, "the trace cache", sizeof *cache);
  cache->context = context;
  *out = cache;
  return LAZE_OK;
}

void laze_trace_cache_destroy(laze_trace_cache *cache) {
  if (!cache) return;
  while (cache->newest) entry_destroy(cache, cache->newest);
  laze_free(cache->context, cache);
}

static laze_trace_entry *find_entry(laze_trace_cache *cache, laze_hash key, const uint64_t *words, int64_t count) {
  for (laze_trace_entry *entry = *bucket_of(cache, key); entry; entry = entry->chain)
    if (laze_hash_equal(entry->key, key) && entry->word_count == count &&
        memcmp(entry->words, words, (size_t)count * sizeof *words) == 0)
      return entry;
  return NULL;
}

laze_executable *laze_trace_cache_find(laze_trace_cache *cache, laze_hash key, const uint64_t *words, int64_t count) {
  laze_trace_entry *entry = find_entry(cache, key, words, count);
  if (!entry) return NULL;
  if (entry != cache->newest) {
    list_remove(cache, entry);
    list_add(cache, entry);
  }
  laze_executable_retain(entry->executable);
  return entry->executable;
}

void laze_trace_cache_insert(laze_trace_cache *cache, laze_hash key, const uint64_t *words, int64_t count,
                             laze_executable *executable) {
  int64_t bytes = entry_bytes(count);
  if (bytes > LAZE_TRACE_CACHE_BYTES || find_entry(cache, key, words, count)) return;
  while (cache->entry_count == LAZE_TRACE_CACHE_ENTRIES || cache->bytes + bytes > LAZE_TRACE_CACHE_BYTES) {
    entry_destroy(cache, cache->oldest);
    laze_metrics_add(laze_context_metrics(cache->context), LAZE_METRIC_CACHE_EVICTIONS, 1);
  }
  laze_trace_entry *entry = laze_alloc(cache->context, bytes);
  if (!entry) return; /* the next run misses again */
  *entry = (laze_trace_entry){.key = key, .executable = executable, .word_count = count};
  laze_executable_retain(executable);
  memcpy(entry->words, words, (size_t)count * sizeof *words);
  entry->chain = *bucket_of(cache, key);
  *bucket_of(cache, key) = entry;
  list_add(cache, entry);
  cache->entry_count++;
  cache->bytes += bytes;
}

const laze_trace_entry *laze_trace_cache_first(const laze_trace_cache *cache) {
  return cache->newest;
}
