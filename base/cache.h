/* A bounded cache: reference-counted objects by 128-bit key, the least recently used dropped first. The one component
 * behind the trace cache, the program cache and the kernel cache. All functions may be called from any thread.
 *
 * Several objects may share a key (a collision, or programs that differ in the facts they rest on): a `match` function
 * tells them apart, so that a hit is always confirmed.
 */
#ifndef LAZE_BASE_CACHE_H
#define LAZE_BASE_CACHE_H

#include "base/context.h"
#include "base/hash.h"

typedef struct laze_cache laze_cache;

typedef struct laze_cache_options {
  int64_t max_entries, max_bytes;
  void (*retain)(void *object);
  void (*release)(void *object);
} laze_cache_options;

/* Whether `object` is what `self` looks for. Called under the cache's lock: must not use the cache. */
typedef bool (*laze_cache_match)(void *self, void *object);

LAZE_MUST_USE laze_status laze_cache_create(laze_context *context, const laze_cache_options *options, laze_cache **out,
                                            laze_error *error);
laze_context *laze_cache_context(const laze_cache *cache); /* borrowed */
/* Releases every object. NULL is ignored. */
void laze_cache_destroy(laze_cache *cache);
/* The most recently used object with that key for which `match` is true (NULL: any), retained for the caller; NULL if
 * there is none. */
void *laze_cache_find(laze_cache *cache, laze_hash key, laze_cache_match match, void *self);
/* Adds an object, which the cache retains; `bytes` is what it counts for. Evicts as needed (counted in
 * cache_evictions), but never the object itself: one that is too large for the cache stays until the next is added, so
 * that a loop over it finds it. Without memory the object is just not cached. */
void laze_cache_insert(laze_cache *cache, laze_hash key, void *object, int64_t bytes);
/* Calls `visit` for every object, most recently used first, until it returns false; under the lock. */
void laze_cache_each(laze_cache *cache, bool (*visit)(void *self, void *object), void *self);
int64_t laze_cache_count(laze_cache *cache);

#endif
