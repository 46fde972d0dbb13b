/* Memory of a process that lives for milliseconds:
 *
 *   take, copy, format ──> block <──> block <──> block      all freed at exit, or earlier by who says so
 *
 * The list is there so that a leak checker sees an empty heap. */
#include "ops/opgen/allocate.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct block {
  struct block *previous, *next;
  max_align_t contents[];
} block;

static block blocks = {&blocks, &blocks};

void memory_free_all(void) {
  while (blocks.next != &blocks) {
    block *first = blocks.next;
    blocks.next = first->next;
    free(first);
  }
  blocks.previous = &blocks;
}

static void *check(void *memory) {
  if (memory != NULL) return memory;
  fputs("opgen: out of memory\n", stderr);
  exit(1);
}

static void *link_block(block *made) {
  static bool registered;
  if (!registered) registered = atexit(memory_free_all) == 0;
  made->previous = &blocks;
  made->next = blocks.next;
  made->next->previous = made;
  blocks.next = made;
  return made->contents;
}

void *memory_take(size_t size) {
  return link_block(check(calloc(1, sizeof(block) + (size == 0 ? 1 : size))));
}

char *memory_copy(const char *text, size_t size) {
  char *copy = memory_take(size + 1);
  memcpy(copy, text, size);
  return copy;
}

char *memory_format(const char *format, ...) {
  va_list arguments;
  char *text = NULL;
  va_start(arguments, format);
  if (vasprintf(&text, format, arguments) < 0) text = NULL;
  va_end(arguments);
  char *copy = memory_copy(check(text), strlen(text));
  free(text);
  return copy;
}

FILE *memory_stream(char **text, size_t *size) {
  *text = NULL;
  return check(open_memstream(text, size));
}

void memory_stream_close(FILE *stream, char **text) {
  fclose(stream);
  char *written = check(*text);
  *text = memory_copy(written, strlen(written));
  free(written);
}

void *memory_grow(void *array, int count, size_t element_size) {
  /* Doubles whenever the count reaches a power of two, so that no capacity has to be kept. */
  if (count > 0 && (count & (count - 1)) != 0) return array;
  size_t capacity = count == 0 ? 1 : (size_t)count * 2;
  void *grown = memory_take(capacity * element_size);
  if (array == NULL) return grown;
  memcpy(grown, array, (size_t)count * element_size);
  block *old = (block *)((char *)array - offsetof(block, contents));
  old->previous->next = old->next;
  old->next->previous = old->previous;
  free(old);
  return grown;
}
