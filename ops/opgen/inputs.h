/* The files that a run of opgen reads. */
#ifndef OPGEN_INPUTS_H
#define OPGEN_INPUTS_H

#include "ops/opgen/table.h"

/* A hand-written header and what is read from it. */
typedef struct gen_header {
  gen_known_kind kind;
  const char *path;
} gen_header;

typedef struct gen_inputs {
  const char *rules;
  int table_count, derivative_count, header_count;
  const char **tables, **derivatives;
  gen_header *headers;
} gen_inputs;

/* Reads and checks them all: the table is right where its report has no errors. */
void inputs_read(gen_table *table, const gen_inputs *inputs);

#endif
