/* Memory, which is freed all at once, at the latest when the process ends. Where there is none, that ends with a
 * message. */
#ifndef OPGEN_ALLOCATE_H
#define OPGEN_ALLOCATE_H

#include <stddef.h>
#include <stdio.h>

/* Zeroed; never NULL. */
void *memory_take(size_t size);
char *memory_copy(const char *text, size_t size);
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A stream into memory; closing it leaves what was written in *text. */
FILE *memory_stream(char **text, size_t *size);
void memory_stream_close(FILE *stream, char **text);
/* Makes room for one more element of `element_size` bytes in an array of `count`; returns the array. */
void *memory_grow(void *array, int count, size_t element_size);
/* Frees all that was taken. */
void memory_free_all(void);

#endif
