/* An arena: many small allocations, freed together. Not thread-safe: one owner at a time. */
#ifndef LAZE_BASE_ARENA_H
#define LAZE_BASE_ARENA_H

#include "base/context.h"

typedef struct laze_arena_block laze_arena_block;

typedef struct laze_arena {
  laze_context *context; /* borrowed */
  laze_arena_block *blocks;
  char *cursor, *end;
  int64_t bytes; /* taken from the allocator */
} laze_arena;

void laze_arena_init(laze_arena *arena, laze_context *context);
/* Takes one block in which `size` bytes fit, where it is known how much will be allocated, of an arena that is empty;
 * false when memory is out. */
bool laze_arena_reserve(laze_arena *arena, int64_t size);
/* What an allocation of `size` bytes takes of a block. */
int64_t laze_arena_rounded(int64_t size);
/* Frees everything; the arena may be used again. */
void laze_arena_deinit(laze_arena *arena);
/* Moves everything allocated from `other` into `arena`, where it keeps its place; `other` is empty afterwards. Both
 * have the same context. */
void laze_arena_adopt(laze_arena *arena, laze_arena *other);
/* Memory aligned to 16 bytes, or NULL when memory is out or size is negative. Zero bytes give a valid pointer. */
void *laze_arena_alloc(laze_arena *arena, int64_t size);
void *laze_arena_alloc_zero(laze_arena *arena, int64_t size);
/* NULL as well when count * element_size overflows. */
void *laze_arena_alloc_array(laze_arena *arena, int64_t count, int64_t element_size);
void *laze_arena_copy(laze_arena *arena, const void *data, int64_t size);
char *laze_arena_copy_string(laze_arena *arena, const char *text);
/* Printf into the arena; NULL when memory is out. */
char *laze_arena_format(laze_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
