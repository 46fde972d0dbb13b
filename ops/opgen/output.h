/* Generated files. */
#ifndef OPGEN_OUTPUT_H
#define OPGEN_OUTPUT_H

#include "ops/opgen/table.h"

#include <stdio.h>

/* A range of first letters of symbols: long files are split by name, so that each stays readable. */
typedef struct gen_shard {
  char first, last;
} gen_shard;

static inline bool shard_holds(const gen_shard *shard, const gen_operator *op) {
  const char letter = op->symbol[0] == '_' ? op->symbol[1] : op->symbol[0];
  return shard == NULL || (letter >= shard->first && letter <= shard->last);
}

/* Writes one file's text; `shard` is NULL where the file is not split. */
typedef void (*gen_writer)(const gen_table *table, const gen_shard *shard, FILE *out);

void write_op_header(const gen_table *table, const gen_shard *shard, FILE *out);
void write_op_table(const gen_table *table, const gen_shard *shard, FILE *out);
void write_inference_header(const gen_table *table, const gen_shard *shard, FILE *out);
void write_inference(const gen_table *table, const gen_shard *shard, FILE *out);
void write_control_rules(const gen_table *table, const gen_shard *shard, FILE *out);
void write_composite_header(const gen_table *table, const gen_shard *shard, FILE *out);
void write_composite(const gen_table *table, const gen_shard *shard, FILE *out);
void write_eval(const gen_table *table, const gen_shard *shard, FILE *out);
void write_execute(const gen_table *table, const gen_shard *shard, FILE *out);
void write_joins(const gen_table *table, const gen_shard *shard, FILE *out);
void write_lowerings(const gen_table *table, const gen_shard *shard, FILE *out);
void write_functions_header(const gen_table *table, const gen_shard *shard, FILE *out);
void write_functions(const gen_table *table, const gen_shard *shard, FILE *out);
void write_page(const gen_table *table, const gen_shard *shard, FILE *out);
void write_cases(const gen_table *table, const gen_shard *shard, FILE *out);

/* The line above everything written for an operator: its source and schema. */
void write_origin(const gen_operator *op, FILE *out);
/* A C string literal, with quotes. */
const char *c_string(const char *text);
/* A number that reads back to the same double: "1.0", "1e-05". */
const char *c_real(double value);
/* An int64_t constant expression. */
const char *c_integer(int64_t value);
/* The initialiser of a laze_scalar with the value of a Scalar's default: "laze_scalar_integer(1)". */
const char *c_scalar_call(const gen_literal *value);
/* The name, with "_" after it where C or C++ reserve it or the generated code around it uses it. */
const char *c_name(const char *name);

/* Breaks lines longer than 120 columns where a person would and writes the text to "path", unless the file has it
 * already. Text beyond `line_limit` lines (0: none) is refused. */
void output_write(gen_report *report, const char *path, const char *text, int line_limit);

#endif
