#include "ops/opgen/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *check(void *memory) {
  if (memory != NULL) return memory;
  fputs("opgen: out of memory\n", stderr);
  exit(1);
}

void *memory_take(size_t size) {
  return check(calloc(1, size == 0 ? 1 : size));
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
  return check(text);
}

void *memory_grow(void *array, int count, size_t element_size) {
  /* Doubles whenever the count reaches a power of two, so that no capacity has to be kept. */
  if (count > 0 && (count & (count - 1)) != 0) return array;
  size_t capacity = count == 0 ? 1 : (size_t)count * 2;
  void *grown = check(realloc(array, capacity * element_size));
  memset((char *)grown + (size_t)count * element_size, 0, (capacity - (size_t)count) * element_size);
  return grown;
}
