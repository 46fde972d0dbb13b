/* Memory below LAZE_BUFFER_RECYCLE_MINIMUM that waits for the next buffer of its size: the C library cuts an aligned
 * block out of a larger one each time. Whoever owns the lists guards them. */
#ifndef LAZE_RUNTIME_SMALL_BLOCKS_H
#define LAZE_RUNTIME_SMALL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Multiples of 64 bytes up to 1 KiB, and from there to 64 KiB eight sizes between two powers of two. */
enum { LAZE_SMALL_SIZES = 16 + 6 * 8 };

typedef struct laze_small_blocks {
  struct laze_small_block *lists[LAZE_SMALL_SIZES]; /* the latest first: it is the warmest */
  int64_t bytes;
} laze_small_blocks;

/* The size of blocks for so many bytes, which are 1 or more, and less than LAZE_BUFFER_RECYCLE_MINIMUM. */
int64_t laze_small_size(int64_t bytes);
/* A block of one of these sizes; NULL where none waits. */
void *laze_small_take(laze_small_blocks *self, int64_t size);
/* Has a block wait; false: there are enough, and it is still the caller's. */
bool laze_small_give(laze_small_blocks *self, void *block, int64_t size);
/* Frees all that wait. */
void laze_small_clear(laze_small_blocks *self);

#endif
