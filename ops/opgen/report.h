/* Faults of the tables: every one of a run is printed, as it is found, not the first alone. */
#ifndef OPGEN_REPORT_H
#define OPGEN_REPORT_H

#include <stdio.h>

typedef struct gen_report {
  FILE *stream; /* NULL: standard error */
  int errors;   /* printed so far */
} gen_report;

/* Where something stands in a table. `name` is the operator, NULL where there is none. */
typedef struct gen_place {
  const char *file;
  int line;
  const char *name;
} gen_place;

/* Prints "file:line: operator: message". Messages say what is wrong and what to write instead. */
void report_error(gen_report *report, gen_place at, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
