/* Blocks are cut from slabs, and wait in a list for each size class once they are given back:
 *
 *   slab   next | block | block | block | cursor -> free bytes ... end
 */
#include "lazy/value/pool.h"

#include <string.h>

#define SLAB_BYTES (64 * 1024)

void laze_pool_init(laze_pool *pool, laze_context *context) {
  memset(pool, 0, sizeof *pool);
  pool->context = context;
}

void laze_pool_deinit(laze_pool *pool) {
  for (void *slab = pool->slabs, *next; slab; slab = next) {
    next = *(void **)slab;
    laze_free(pool->context, slab);
  }
  laze_pool_init(pool, pool->context);
}

/* Starts a new slab; what is left of the old one (less than a block of the largest class) is wasted. */
static bool add_slab(laze_pool *pool) {
  char *slab = laze_alloc(pool->context, SLAB_BYTES);
  if (!slab) return false;
  *(void **)(void *)slab = pool->slabs;
  pool->slabs = slab;
  laze_metrics_add(laze_context_metrics(pool->context), LAZE_METRIC_NODE_BYTES, SLAB_BYTES);
  uintptr_t first = ((uintptr_t)slab + sizeof(void *) + LAZE_POOL_CLASS_BYTES - 1) & -(uintptr_t)LAZE_POOL_CLASS_BYTES;
  pool->cursor = slab + (first - (uintptr_t)slab);
  pool->end = slab + SLAB_BYTES;
  return true;
}

void *laze_pool_take(laze_pool *pool, int64_t size) {
  int64_t class = (size + LAZE_POOL_CLASS_BYTES - 1) / LAZE_POOL_CLASS_BYTES;
  if (class > LAZE_POOL_CLASSES) return laze_alloc(pool->context, size);
  void *block = pool->free_blocks[class];
  if (block) {
    pool->free_blocks[class] = *(void **)block;
    return block;
  }
  int64_t bytes = class * LAZE_POOL_CLASS_BYTES;
  if (pool->end - pool->cursor < bytes && !add_slab(pool)) return NULL;
  block = pool->cursor;
  pool->cursor += bytes;
  return block;
}

void laze_pool_give(laze_pool *pool, void *block, int64_t size) {
  int64_t class = (size + LAZE_POOL_CLASS_BYTES - 1) / LAZE_POOL_CLASS_BYTES;
  if (class > LAZE_POOL_CLASSES) {
    laze_free(pool->context, block);
    return;
  }
  *(void **)block = pool->free_blocks[class];
  pool->free_blocks[class] = block;
}
