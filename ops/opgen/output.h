/* Generated files. */
#ifndef OPGEN_OUTPUT_H
#define OPGEN_OUTPUT_H

#include "ops/opgen/table.h"

#include <stdio.h>

/* A part of the operators, or of the derivatives, those of one table: so long files are split, and each stays readable.
 */
typedef struct gen_shard {
  const char *table; /* its path */
} gen_shard;

/* Whether an operator is written to the part; NULL: all are. */
bool shard_holds(const gen_shard *shard, const gen_operator *op);

/* Writes one file's text; `shard` is NULL where the file is not split. */
typedef void (*gen_writer)(const gen_table *table, const gen_shard *shard, FILE *out);

void write_op_header(const gen_table *table, const gen_shard *shard, FILE *out);
void write_op_table(const gen_table *table, const gen_shard *shard, FILE *out);
void write_schema(const gen_table *table, const gen_shard *shard, FILE *out);
void write_inference_header(const gen_table *table, const gen_shard *shard, FILE *out);
void write_inference(const gen_table *table, const gen_shard *shard, FILE *out);
void write_control_rules(const gen_table *table, const gen_shard *shard, FILE *out);
void write_composite_header(const gen_table *table, const gen_shard *shard, FILE *out);
void write_composite(const gen_table *table, const gen_shard *shard, FILE *out);
void write_derivative_header(const gen_table *table, const gen_shard *shard, FILE *out);
void write_derivatives(const gen_table *table, const gen_shard *shard, FILE *out);
void write_eval(const gen_table *table, const gen_shard *shard, FILE *out);
void write_execute(const gen_table *table, const gen_shard *shard, FILE *out);
void write_joins(const gen_table *table, const gen_shard *shard, FILE *out);
void write_lowerings(const gen_table *table, const gen_shard *shard, FILE *out);
void write_family_header(const gen_table *table, const gen_shard *shard, FILE *out);
void write_functions_header(const gen_table *table, const gen_shard *shard, FILE *out);
void write_functions(const gen_table *table, const gen_shard *shard, FILE *out);
void write_page(const gen_table *table, const gen_shard *shard, FILE *out);
void write_cases(const gen_table *table, const gen_shard *shard, FILE *out);

/* "arithmetic" for ops/native_functions/arithmetic.yaml, and whether an operator is the first with a C function of its
 * table, so that there is a header of that name. */
const char *output_family(const char *table_path);
bool output_starts_family(const gen_table *table, int index);
/* How an operator is called in C: "laze_sum_dim(self, dim, keepdim)", and what is more about its arguments. */
void write_call_form(const gen_table *table, const gen_operator *op, FILE *out);

/* The line above everything written for an operator: its source and schema. */
void write_origin(const gen_operator *op, FILE *out);
/* What is written next says what an entry says at `line`: compilers and debuggers name that line of the table... */
void write_entry_line(const gen_operator *op, int line, FILE *out);
/* ... and from here on the generated file again. */
void write_own_line(FILE *out);
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

/* Constant arrays of a file, of which equal ones are written once. */
typedef struct gen_arrays {
  int count;
  const char **texts, **names; /* "TYPE items", and what the array is called */
} gen_arrays;

/* The name of the array with these items: of one that was written before, or `name`, as which it is written now. */
const char *array_name(gen_arrays *arrays, const char *type, const char *items, const char *name, FILE *out);

/* A generated file: "ir/op.gen.c" is its name for a compiler, which is run where that is its path. */
typedef struct gen_output {
  const char *path, *name;
  int line_limit; /* longer text is refused; 0: none is */
} gen_output;

/* Breaks lines longer than 120 columns where a person would, drops each #line that tells what holds anyway, and writes
 * the text, unless the file has it already. */
void output_write(gen_report *report, const gen_output *output, const char *text);

/* Writes every file below `directory`, or, where `only` names a folder ("ir"), that folder's files into `directory`
 * itself. False when no file is in a folder of that name. */
bool files_write(gen_table *table, const char *directory, const char *only);
/* Prints the names of the folder's files (NULL: of all, with their folders), one a line. */
bool files_list(const gen_table *table, const char *only);

#endif
