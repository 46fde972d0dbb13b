/* The expression language of composites, `when` and rule calls (ops/README.md), as a syntax tree. The checker
 * (check.h) fills in the types. */
#ifndef OPGEN_EXPRESSION_H
#define OPGEN_EXPRESSION_H

#include "ops/opgen/schema.h"

struct gen_operator;
struct gen_builtin;
struct gen_variable;

typedef enum {
  FORM_INTEGER,
  FORM_REAL,
  FORM_BOOL,
  FORM_STRING,
  FORM_DTYPE,
  FORM_NONE,
  FORM_NAME,
  FORM_LIST,
  FORM_CALL,        /* an operator or a function */
  FORM_UNARY,       /* - ! */
  FORM_BINARY,      /* arithmetic, comparison, && || */
  FORM_CONDITIONAL, /* items: condition, then, otherwise */
} gen_form;

typedef struct gen_expression gen_expression;
struct gen_expression {
  gen_form form;
  int line;
  const char *text; /* NAME, CALL, STRING, DTYPE: the word; UNARY, BINARY: the operator's spelling */
  int64_t integer;  /* INTEGER, BOOL */
  double real;
  int count;
  gen_expression **items;
  const char **keywords; /* CALL: one per item, NULL for a positional argument */

  /* From here on the checker's. */
  gen_kind kind;
  bool optional;                     /* the value may be absent */
  int argument;                      /* NAME: the operator's argument, or -1 */
  struct gen_variable *variable;     /* NAME: what a statement assigned, or NULL */
  const struct gen_operator *callee; /* CALL, and UNARY and BINARY on tensors: the overload */
  const struct gen_builtin *builtin; /* CALL of a function */
  gen_expression **bound;            /* per argument of the callee; NULL: its default */
};

typedef struct gen_variable {
  const char *name;
  int line;
  gen_kind kind;
  bool optional, used;
} gen_variable;

typedef struct gen_statement {
  int count; /* of variables: several for a call with several results; none: the value is required to hold */
  gen_variable **variables;
  gen_expression *value;
  const char *text; /* of what is required */
} gen_statement;

typedef struct gen_program {
  int count;
  gen_statement *statements;
  int result_count;
  gen_expression **results;
} gen_program;

/* Reads statements and what they return. NULL when a fault was reported. `at` is the place of the first line. */
gen_program *program_parse(const char *text, gen_place at, gen_report *report);
/* Reads one expression. NULL when a fault was reported. */
gen_expression *expression_parse(const char *text, gen_place at, gen_report *report);

#endif
