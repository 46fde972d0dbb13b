/* What every file of the generator uses: memory, and how faults are reported.
 *
 * Memory is freed when the process ends, and not before. Where there is none, it ends with a message. */
#ifndef OPGEN_BASE_H
#define OPGEN_BASE_H

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

/* What is wrong with the tables: every fault of a run is printed, not the first alone. */
typedef struct gen_report {
  int errors; /* printed so far */
} gen_report;

/* Where something stands in a table. `name` is the operator, NULL where there is none. */
typedef struct gen_place {
  const char *file;
  int line;
  const char *name;
} gen_place;

/* Prints "file:line: operator: message" on standard error. Messages say what is wrong and what to write instead. */
void report_error(gen_report *report, gen_place at, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
