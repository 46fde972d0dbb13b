/* A pool of small blocks in size classes of 64 bytes. Blocks that are given back are reused, last in first out, and go
 * back to the allocator only with the pool. Not thread-safe. */
#ifndef LAZE_LAZY_VALUE_POOL_H
#define LAZE_LAZY_VALUE_POOL_H

#include "base/context.h"

#define LAZE_POOL_CLASS_BYTES 64
#define LAZE_POOL_CLASSES 24 /* larger blocks come from the allocator one by one */

typedef struct laze_pool {
  laze_context *context; /* borrowed */
  void *slabs;           /* each begins with a pointer to the next */
  char *cursor, *end;    /* what is left of the newest slab */
  void *free_blocks[LAZE_POOL_CLASSES + 1];
} laze_pool;

void laze_pool_init(laze_pool *pool, laze_context *context);
/* Frees everything, blocks in use included, except those larger than the largest class. */
void laze_pool_deinit(laze_pool *pool);
/* A block of `size` > 0 bytes, contents undefined, or NULL when memory is out. Blocks of up to the largest class are
 * aligned to 64 bytes. */
void *laze_pool_take(laze_pool *pool, int64_t size);
/* `size` as it was taken. */
void laze_pool_give(laze_pool *pool, void *block, int64_t size);

#endif
