/* The type checker of composites and `when` conditions: resolves names, functions and overloads, and notes kinds in the
 * syntax tree. */
#ifndef OPGEN_CHECK_H
#define OPGEN_CHECK_H

#include "base/overload.h"
#include "ops/opgen/table.h"

/* The functions of the expression language that are no operators. */
typedef enum {
  BUILTIN_PRESENT,
  BUILTIN_DTYPE,
  BUILTIN_RANK,
  BUILTIN_SIZE,
  BUILTIN_SIZES,
  BUILTIN_NUMEL,
  BUILTIN_IS_FLOAT,
  BUILTIN_PROMOTED,
  BUILTIN_FLOAT_OF,
  BUILTIN_IS_COMPLEX,
  BUILTIN_PART_OF,
  BUILTIN_COMPLEX_OF,
  BUILTIN_COUNT,
} gen_builtin_number;

typedef struct gen_builtin {
  const char *name;
  gen_builtin_number number;
  gen_kind kind;
  int minimum, maximum; /* arguments */
  const char *usage;
} gen_builtin;

/* What is known while one operator's expressions are checked. */
typedef struct gen_scope {
  gen_table *table;
  gen_operator *op;
  gen_place at;
  bool in_condition;  /* a `when`: attributes and present() only */
  bool may_be_absent; /* what is returned */
  uint64_t known;     /* bit i: argument i is known to be present here */
  uint64_t used;      /* bit i: argument i was used */
  int variable_count;
  gen_variable **variables;
} gen_scope;

/* Checks the composite and the condition of an operator. */
void check_operator(gen_table *table, gen_operator *op);
/* Checks the composite of a formula, which need not use what it may name, and whose results may be absent. `when`: it
 * is for calls for which this does not hold (NULL: for all). */
void check_formula_of(gen_table *table, gen_operator *function, const gen_expression *when);
/* Reports composites that expand into themselves. After every operator was checked. */
void check_recursion(gen_table *table);

/* The parts, in check_*.c. Each fills in expression->kind, KIND_WRONG once a fault was reported. */
void check_expression(gen_scope *scope, gen_expression *expression);
void check_call(gen_scope *scope, gen_expression *call);
void check_builtin(gen_scope *scope, gen_expression *call, const gen_builtin *builtin);
const gen_builtin *builtin_find(const char *name);
/* Chooses among the operators called `base` for items that are checked already. `call` is a call, or an arithmetic
 * expression on tensors. */
void check_overload(gen_scope *scope, gen_expression *call, const char *base);
void check_fault(gen_scope *scope, gen_expression *expression, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Bits of arguments that are present where the condition holds (or, negated, where it does not). */
uint64_t check_presence(const gen_expression *condition, bool holds);

#endif
