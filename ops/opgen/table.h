/* The operator tables as a whole. */
#ifndef OPGEN_TABLE_H
#define OPGEN_TABLE_H

#include "ops/opgen/known.h"
#include "ops/opgen/operator.h"

typedef struct gen_table {
  gen_report report;
  int count;
  gen_operator **operators; /* in the order of the files and entries */
  int shape_count, dtype_count;
  gen_rule *shapes, *dtypes;
  gen_known known;
  int derivative_file_count;
  const char **derivative_files; /* tables of derivatives, in the order in which they were read */
} gen_table;

/* Reads rules.yaml. */
void table_read_rules(gen_table *table, const char *path);
/* Reads a table of operators: schemas and keys, without what refers to other operators. */
void table_read_operators(gen_table *table, const char *path);
/* Gives symbols and refuses duplicates; to be called after the last table was read. */
void table_name_operators(gen_table *table);
/* Whether the operators keep to their class: required and forbidden keys, evals, results. Before expressions are
 * checked. */
void table_check_entries(gen_table *table);

/* The operator of that exact name, or NULL. */
gen_operator *table_find(const gen_table *table, const char *name);
/* The next operator with that base name from *index on, advancing it; NULL at the end. */
gen_operator *table_next(const gen_table *table, const char *base, int *index);
/* The operator that converts to a dtype (compute: convert), or NULL. */
const gen_operator *table_conversion(const gen_table *table);
const gen_rule *table_shape(const gen_table *table, const char *name);
const gen_rule *table_dtype(const gen_table *table, const char *name);
/* The operator name closest in spelling, for messages; NULL when none is near. */
const char *table_suggest(const gen_table *table, const char *name);

/* Of one entry: entry*.c. */

/* Reads the keys of `op->entry` into `op`, whose schema was read. */
void entry_read(gen_table *table, gen_operator *op);
/* Whether a class allows the key, for messages that say what is missing. */
bool entry_has(const gen_operator *op, const char *key);
/* Looks up the shape and dtype rules that an entry names and matches their parameters. */
void rules_check(gen_table *table, gen_operator *op);

#endif
