/*   buckets: key.low mod size ─> entry ─> entry          chained through next_in_bucket
 *   use order: newest ⇄ ... ⇄ oldest                     evicted from the oldest
 */
#include "base/cache.h"

#include <pthread.h>
#include <string.h>

typedef struct cache_entry {
  struct cache_entry *next_in_bucket, *newer, *older;
  laze_hash key;
  void *object;
  int64_t bytes;
} cache_entry;

struct laze_cache {
  laze_context *context; /* borrowed: caches belong to objects of the context */
  laze_cache_options options;
  pthread_mutex_t lock;
  cache_entry **buckets;
  int64_t bucket_count; /* a power of two */
  cache_entry *newest, *oldest;
  int64_t count, bytes;
};

laze_status laze_cache_create(laze_context *context, const laze_cache_options *options, laze_cache **out,
                              laze_error *error) {
  enum { FIRST_BUCKETS = 64 };
  laze_cache *cache = laze_alloc_zero(context, sizeof *cache);
  cache_entry **buckets = laze_alloc_zero(context, FIRST_BUCKETS * (int64_t)sizeof *buckets);
  if (!cache || !buckets) {
    laze_free(context, cache);
    laze_free(context, buckets);
    return laze_fail_memory(error, "a cache", sizeof *cache);
  }
  cache->context = context;
  cache->options = *options;
  cache->buckets = buckets;
  cache->bucket_count = FIRST_BUCKETS;
  pthread_mutex_init(&cache->lock, NULL);
  *out = cache;
  return LAZE_OK;
}

laze_context *laze_cache_context(const laze_cache *cache) {
  return cache->context;
}

static cache_entry **bucket_of(const laze_cache *cache, laze_hash key) {
  return &cache->buckets[key.low & (uint64_t)(cache->bucket_count - 1)];
}

static void unlink_use(laze_cache *cache, cache_entry *entry) {
  *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
  *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(laze_cache *cache, cache_entry *entry) {
  entry->newer = NULL;
  entry->older = cache->newest;
  *(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
  cache->newest = entry;
}

/* Takes an entry out and returns it; the caller releases the object outside the lock where it can. */
static cache_entry *remove_oldest(laze_cache *cache) {
  cache_entry *entry = cache->oldest, **link = bucket_of(cache, entry->key);
  while (*link != entry) link = &(*link)->next_in_bucket;
  *link = entry->next_in_bucket;
  unlink_use(cache, entry);
  cache->count--;
  cache->bytes -= entry->bytes;
  return entry;
}

void laze_cache_destroy(laze_cache *cache) {
  if (!cache) return;
  while (cache->oldest) {
    cache_entry *entry = remove_oldest(cache);
    cache->options.release(entry->object);
    laze_free(cache->context, entry);
  }
  pthread_mutex_destroy(&cache->lock);
  laze_free(cache->context, cache->buckets);
  laze_free(cache->context, cache);
}

void *laze_cache_find(laze_cache *cache, laze_hash key, laze_cache_match match, void *self) {
  void *found = NULL;
  pthread_mutex_lock(&cache->lock);
  cache_entry *entry = *bucket_of(cache, key);
  while (entry && !(laze_hash_equal(entry->key, key) && (!match || match(self, entry->object))))
    entry = entry->next_in_bucket;
  if (entry) {
    unlink_use(cache, entry);
    link_newest(cache, entry);
    found = entry->object;
    cache->options.retain(found);
  }
  pthread_mutex_unlock(&cache->lock);
  return found;
}

/* Doubles the buckets when there is more than one entry for each. Without memory the chains just grow longer. */
static void grow_buckets(laze_cache *cache) {
  if (cache->count < cache->bucket_count) return;
  int64_t old_count = cache->bucket_count;
  cache_entry **old = cache->buckets;
  cache_entry **grown = laze_alloc_zero(cache->context, 2 * old_count * (int64_t)sizeof *grown);
  if (!grown) return;
  cache->buckets = grown;
  cache->bucket_count = 2 * old_count;
  for (int64_t i = 0; i < old_count; i++) {
    for (cache_entry *entry = old[i], *next; entry; entry = next) {
      next = entry->next_in_bucket;
      cache_entry **bucket = bucket_of(cache, entry->key);
      entry->next_in_bucket = *bucket;
      *bucket = entry;
    }
  }
  laze_free(cache->context, old);
}

void laze_cache_insert(laze_cache *cache, laze_hash key, void *object, int64_t bytes) {
  cache_entry *entry = laze_alloc(cache->context, sizeof *entry), *evicted = NULL;
  if (!entry) return;
  cache->options.retain(object);
  pthread_mutex_lock(&cache->lock);
  grow_buckets(cache);
  cache_entry **bucket = bucket_of(cache, key);
  *entry = (cache_entry){.next_in_bucket = *bucket, .key = key, .object = object, .bytes = bytes};
  *bucket = entry;
  link_newest(cache, entry);
  cache->count++;
  cache->bytes += bytes;
  while (cache->count > 1 && (cache->count > cache->options.max_entries || cache->bytes > cache->options.max_bytes)) {
    cache_entry *removed = remove_oldest(cache);
    removed->next_in_bucket = evicted;
    evicted = removed;
  }
  pthread_mutex_unlock(&cache->lock);
  /* Releasing may free programs and unmap code: not under the lock. */
  while (evicted) {
    cache_entry *next = evicted->next_in_bucket;
    cache->options.release(evicted->object);
    laze_free(cache->context, evicted);
    laze_metrics_add(laze_context_metrics(cache->context), LAZE_METRIC_CACHE_EVICTIONS, 1);
    evicted = next;
  }
}

void laze_cache_each(laze_cache *cache, bool (*visit)(void *self, void *object), void *self) {
  pthread_mutex_lock(&cache->lock);
  for (cache_entry *entry = cache->newest; entry && visit(self, entry->object); entry = entry->older) continue;
  pthread_mutex_unlock(&cache->lock);
}

int64_t laze_cache_count(laze_cache *cache) {
  pthread_mutex_lock(&cache->lock);
  int64_t count = cache->count;
  pthread_mutex_unlock(&cache->lock);
  return count;
}
