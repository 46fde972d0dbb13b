#include "runtime/small_blocks.h"

#include <stdlib.h>

enum { UNIT = 64, STEPS = 8, LIMIT = 4 << 20 /* bytes that wait at most */ };

typedef struct laze_small_block {
  struct laze_small_block *next;
} laze_small_block;

/* How far apart sizes are there. */
static int64_t step_of(int64_t bytes) {
  int64_t step = UNIT;
  while (bytes > 2 * STEPS * step) step *= 2;
  return step;
}

int64_t laze_small_size(int64_t bytes) {
  const int64_t step = step_of(bytes);
  return (bytes + step - 1) & -step;
}

static laze_small_block **list_of(laze_small_blocks *self, int64_t size) {
  const int64_t step = step_of(size);
  int64_t index = size / step - 1;
  for (int64_t wider = step; wider > UNIT; wider /= 2) index += STEPS;
  return &self->lists[index];
}

void *laze_small_take(laze_small_blocks *self, int64_t size) {
  laze_small_block **list = list_of(self, size), *block = *list;
  if (!block) return NULL;
  *list = block->next;
  self->bytes -= size;
  return block;
}

/* Tools that look for uses of memory after its end see those of blocks that the C library has back. */
#ifdef __has_feature /* clang's */
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(SANITIZED) || defined(__SANITIZE_ADDRESS__)
static const bool keeps = false;
#else
static const bool keeps = true;
#endif

bool laze_small_give(laze_small_blocks *self, void *block, int64_t size) {
  if (!keeps || self->bytes + size > LIMIT) return false;
  laze_small_block **list = list_of(self, size);
  *(laze_small_block *)block = (laze_small_block){*list};
  *list = block;
  self->bytes += size;
  return true;
}

void laze_small_clear(laze_small_blocks *self) {
  for (int i = 0; i < LAZE_SMALL_SIZES; i++) {
    for (laze_small_block *block = self->lists[i], *next; block; block = next) {
      next = block->next;
      free(block);
    }
    self->lists[i] = NULL;
  }
  self->bytes = 0;
}
