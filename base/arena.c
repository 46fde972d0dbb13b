/* Blocks of growing size, each filled from its start; the newest is where the next allocation goes.
 *
 *   blocks ──> header | ........ used ........ cursor| free |end
 *                └──> header | used | given up when the next one was taken
 *                       └──> ...
 */
#include "base/arena.h"

#include "base/checked.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_BLOCK = 1024, LARGEST_BLOCK = 1 << 20 };

struct laze_arena_block {
  laze_arena_block *next;
  int64_t size;
};

void laze_arena_init(laze_arena *arena, laze_context *context) {
  memset(arena, 0, sizeof *arena);
  arena->context = context;
}

void laze_arena_deinit(laze_arena *arena) {
  laze_arena_block *block = arena->blocks;
  while (block) {
    laze_arena_block *next = block->next;
    laze_free(arena->context, block);
    block = next;
  }
  laze_arena_init(arena, arena->context);
}

void laze_arena_adopt(laze_arena *arena, laze_arena *other) {
  laze_arena_block **last = &other->blocks;
  while (*last) last = &(*last)->next;
  if (arena->blocks) {
    /* Behind the block that is being filled. */
    *last = arena->blocks->next;
    arena->blocks->next = other->blocks;
  } else {
    arena->blocks = other->blocks;
    arena->cursor = other->cursor;
    arena->end = other->end;
  }
  arena->bytes += other->bytes;
  laze_arena_init(other, other->context);
}

static int64_t header_size(void) {
  return (int64_t)((sizeof(laze_arena_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static bool add_block_of(laze_arena *arena, int64_t size) {
  laze_arena_block *block = laze_alloc(arena->context, size);
  if (!block) return false;
  block->next = arena->blocks;
  block->size = size;
  arena->blocks = block;
  arena->bytes += size;
  arena->cursor = (char *)block + header_size();
  arena->end = (char *)block + size;
  return true;
}

/* Makes room for `size` bytes. A block is as large as all before it, up to a limit, so that an arena has at most twice
 * what it needs: small graphs stay small, of which a module may have many, and large ones need few blocks. What is
 * larger than the limit gets a block of its own, as does everything while arenas are switched off. */
static bool add_block(laze_arena *arena, int64_t size) {
  int64_t wanted = arena->bytes < FIRST_BLOCK ? FIRST_BLOCK : arena->bytes;
  if (wanted > LARGEST_BLOCK) wanted = LARGEST_BLOCK;
  if (laze_context_debug(arena->context, LAZE_DEBUG_NO_ARENAS)) wanted = 0;
  if (laze_add_overflows(size, header_size(), &size)) return false;
  return add_block_of(arena, wanted < size ? size : wanted);
}

bool laze_arena_reserve(laze_arena *arena, int64_t size) {
  if (laze_context_debug(arena->context, LAZE_DEBUG_NO_ARENAS)) return true;
  return size >= 0 && !laze_add_overflows(size, header_size(), &size) && add_block_of(arena, size);
}

int64_t laze_arena_rounded(int64_t size) {
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *laze_arena_alloc(laze_arena *arena, int64_t size) {
  if (size < 0 || size > INT64_MAX - ALIGNMENT) return NULL;
  size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (size > arena->end - arena->cursor && !add_block(arena, size)) return NULL;
  if (!arena->cursor && !add_block(arena, size)) return NULL;
  void *memory = arena->cursor;
  arena->cursor += size;
  return memory;
}

void *laze_arena_alloc_zero(laze_arena *arena, int64_t size) {
  void *memory = laze_arena_alloc(arena, size);
  if (memory && size > 0) memset(memory, 0, (size_t)size);
  return memory;
}

void *laze_arena_alloc_array(laze_arena *arena, int64_t count, int64_t element_size) {
  int64_t size;
  if (laze_mul_overflows(count, element_size, &size)) return NULL;
  return laze_arena_alloc(arena, size);
}

void *laze_arena_copy(laze_arena *arena, const void *data, int64_t size) {
  void *memory = laze_arena_alloc(arena, size);
  if (memory && size > 0) memcpy(memory, data, (size_t)size);
  return memory;
}

char *laze_arena_copy_string(laze_arena *arena, const char *text) {
  return text ? laze_arena_copy(arena, text, (int64_t)strlen(text) + 1) : NULL;
}

char *laze_arena_format(laze_arena *arena, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = length < 0 ? NULL : laze_arena_alloc(arena, (int64_t)length + 1);
  if (!text) return NULL;
  va_start(arguments, format);
  vsnprintf(text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return text;
}
