/* Derivatives of operators, as tables say them (ops/derivatives/). */
#ifndef OPGEN_DERIVATIVE_H
#define OPGEN_DERIVATIVE_H

#include "ops/opgen/table.h"

/* How the gradients of some arguments follow from those of the results. */
typedef struct gen_formula {
  gen_place at;
  const char *text;       /* as the table has it */
  const char *symbol;     /* "mul_self" of laze_gradient_mul_self */
  uint64_t gives;         /* bit i: the gradient of argument i */
  bool by_hand;           /* `c`, or `c(types)`, which reads no value but gradients */
  gen_operator *function; /* an operator whose arguments are all that the formula may name, and which expands to it:
                             the operator's own, its results, and their gradients */
  uint64_t reads;         /* bit i: values of its argument i, and not just their type */
} gen_formula;

struct gen_derivative {
  gen_place at;
  const gen_tree *entry;
  gen_operator *op;
  bool none;                   /* on the list of those whose results never have a gradient */
  uint64_t constant;           /* bit i: argument i has none */
  unsigned differentiable;     /* bit i: result i may have one */
  const char *not_implemented; /* why there is none; NULL: there is */
  int formula_count;
  gen_formula *formulas;
};

/* Reads a table of derivatives; after every table of operators was read. */
void table_read_derivatives(gen_table *table, const char *path);
/* Checks formulas; after every operator was checked. */
void table_check_derivatives(gen_table *table);

#endif
