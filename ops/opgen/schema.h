/* Schemas: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor". */
#ifndef OPGEN_SCHEMA_H
#define OPGEN_SCHEMA_H

#include "ops/opgen/kind.h"
#include "ops/opgen/report.h"

#include <stdint.h>

/* A default value. `form` tells which field holds it. */
typedef struct gen_literal {
  enum { LITERAL_NONE, LITERAL_INTEGER, LITERAL_REAL, LITERAL_BOOL, LITERAL_STRING, LITERAL_DTYPE, LITERAL_LIST } form;
  int64_t integer; /* INTEGER, BOOL */
  double real;
  const char *text; /* STRING, DTYPE: its name */
  int64_t *items;   /* LIST: of integers; those of numbers and strings are empty */
  int count;
} gen_literal;

typedef struct gen_argument {
  const char *name;
  gen_kind kind;
  bool optional; /* written with "?" */
  bool has_default, keyword_only;
  char alias;               /* the letter of "Tensor(a)"; 0: none */
  bool written;             /* "Tensor(a!)" */
  int list_size;            /* int[N] */
  int position;             /* among the operands, or among the attributes */
  bool is_further;          /* only the longer form of its C function takes it: laze_add_with(x, y, alpha) */
  bool as_integer;          /* a Scalar that C writes as int64_t */
  gen_literal value;        /* the default */
  const char *default_text; /* as the schema has it, "1" */
} gen_argument;

typedef struct gen_schema {
  const char *text;            /* as written, without surrounding blanks */
  const char *name;            /* "add.Tensor" */
  const char *base, *overload; /* "add", "Tensor" (may be "") */
  int count;
  gen_argument *arguments;
  int result_count;          /* -1: Tensor[] */
  const char **result_names; /* NULL where a result has none */
  int aliased; /* the argument whose memory results share without writing to it, "Tensor(a)" on both sides; -1: none */
} gen_schema;

/* Reads a schema; a rule's has no results ("reduce(Tensor self, bool keepdim)"). False when a fault was reported. */
bool schema_parse(const char *text, gen_place at, bool is_rule, gen_report *report, gen_schema *out);
/* Counts the positions of operands and attributes anew, after kinds changed. */
void schema_number(gen_schema *schema);
/* The position of an argument, or -1. */
int schema_find(const gen_schema *schema, const char *name);
/* Whether the operand may have no value in a call: "Tensor?", "Scalar?", or a Scalar with a default. */
bool argument_may_be_absent(const gen_argument *argument);
/* The type as a schema writes it, "int[2]?". */
const char *argument_type_text(const gen_argument *argument);
/* Of a literal that is a number: FLOAT, BOOL or INT. */
gen_kind literal_kind(const gen_literal *value);
bool literal_equal(const gen_literal *a, const gen_literal *b);

#endif
