/* The allocation functions that LLVM, and the C++ library that is linked to it, call (the linker's --wrap, in
 * meson.build): the C library's, with the reserve behind them. */
#include "codegen/llvm/reserve.h"

#include <malloc.h>
#include <stdint.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size) {
  void *memory = __real_malloc(size);
  return memory ? memory : laze_reserve_take(size, 1);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  void *memory = __real_aligned_alloc(alignment, size);
  return memory ? memory : laze_reserve_take(size, alignment);
}

void *__wrap_calloc(size_t count, size_t size) {
  void *memory = __real_calloc(count, size);
  size_t bytes;
  if (memory || __builtin_mul_overflow(count, size, &bytes)) return memory;
  memory = laze_reserve_take(bytes, 1);
  return memory ? memset(memory, 0, bytes) : NULL;
}

void *__wrap_realloc(void *memory, size_t size) {
  bool reserved = laze_reserve_owns(memory);
  void *moved = reserved ? NULL : __real_realloc(memory, size);
  if (moved || (!reserved && size == 0)) return moved;
  size_t kept = !memory ? 0 : reserved ? laze_reserve_size(memory) : malloc_usable_size(memory);
  moved = laze_reserve_take(size, 1);
  if (!moved) return NULL;
  if (memory) memcpy(moved, memory, kept < size ? kept : size);
  __wrap_free(memory);
  return moved;
}

char *__wrap_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = __wrap_malloc(size);
  return copy ? memcpy(copy, text, size) : NULL;
}

void __wrap_free(void *memory) {
  if (laze_reserve_owns(memory))
    laze_reserve_give(memory);
  else
    __real_free(memory);
}
