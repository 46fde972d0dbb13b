/* Which operator a call means, where several share a base name: one ranking for graph text, for calls by name, and for
 * the expressions of operator tables (ops/opgen links this file as well). Each describes what is passed, and what the
 * operators of that name take, in the terms below.
 *
 * A candidate fits where everything passed can stand for a parameter and nothing needed is missing. It costs what the
 * conversions cost:
 *
 *   0  a value for a value, a number for an attribute of its kind, a list for a list
 *   1  a number for a Scalar, an integer for a float, integers for a list of floats, one number for a list of N
 *   2  a Scalar argument for a Tensor; a tensor without dimensions for a Scalar; in C, where bools and dtypes are
 *      integers, one for a bool or dtype
 *   3  a number for a Tensor, in calls of programs only behind another operand; where a call may give sizes as values,
 * a tensor for a SymInt or SymInt[]
 *
 * The cheapest wins; among equals the one that has exactly the name called ("sum" before "sum.dim_IntList"), then the
 * first in the table.
 *
 * Everything is borrowed for the call: names, the array of what is passed, candidates. Nothing is allocated, and
 * nothing fails but the choice itself: false, and a reason for each candidate, of which the caller makes its error,
 * because only it knows where the call stands. Thread-safe where the callbacks are.
 */
#ifndef LAZE_BASE_OVERLOAD_H
#define LAZE_BASE_OVERLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an operator's argument is. */
typedef enum {
  LAZE_ARGUMENT_TENSOR,        /* operand segment of 1 */
  LAZE_ARGUMENT_TENSOR_LIST,   /* operand segment of any length */
  LAZE_ARGUMENT_OPTIONAL_LIST, /* Tensor?[]: the same, in which values may be absent; in calls that expand only */
  LAZE_ARGUMENT_SCALAR,        /* operand segment of 1: a 0-d value whose dtype promotes as a plain number */
  LAZE_ARGUMENT_INT,           /* from here on: attributes */
  LAZE_ARGUMENT_SIZE,          /* SymInt */
  LAZE_ARGUMENT_FLOAT,
  LAZE_ARGUMENT_BOOL,
  LAZE_ARGUMENT_DTYPE,
  LAZE_ARGUMENT_STRING,
  LAZE_ARGUMENT_INT_LIST,
  LAZE_ARGUMENT_SIZE_LIST, /* SymInt[] */
  LAZE_ARGUMENT_FLOAT_LIST,
  LAZE_ARGUMENT_STRING_LIST,
  LAZE_ARGUMENT_LITERAL, /* a Scalar that is an attribute */
  LAZE_ARGUMENT_DATA,    /* elements of a constant */
} laze_argument_kind;

static inline bool laze_argument_is_operand(laze_argument_kind kind) {
  return kind <= LAZE_ARGUMENT_SCALAR;
}
/* A list of operands. */
static inline bool laze_argument_is_operands(laze_argument_kind kind) {
  return kind == LAZE_ARGUMENT_TENSOR_LIST || kind == LAZE_ARGUMENT_OPTIONAL_LIST;
}

/* What a call passes. */
typedef enum {
  LAZE_PASSED_LEFT_OUT,      /* nothing, in this position */
  LAZE_PASSED_ABSENT,        /* none */
  LAZE_PASSED_TENSOR,        /* a value */
  LAZE_PASSED_SCALAR_TENSOR, /* a value without dimensions: it may stand for a Scalar */
  LAZE_PASSED_TENSOR_LIST,
  LAZE_PASSED_OPTIONAL_LIST, /* of tensors and none */
  LAZE_PASSED_SCALAR,        /* a Scalar argument of the operator whose expression this is */
  LAZE_PASSED_BOOL,          /* numbers */
  LAZE_PASSED_INTEGER,
  LAZE_PASSED_REAL,
  LAZE_PASSED_LITERAL, /* one whose kind is known only when the call runs */
  LAZE_PASSED_CODE,    /* an integer in C, where bools and dtypes are integers as well */
  LAZE_PASSED_SIZE,    /* a size expression */
  LAZE_PASSED_DTYPE,
  LAZE_PASSED_STRING,
  LAZE_PASSED_EMPTY_LIST, /* of any kind */
  LAZE_PASSED_INT_LIST,
  LAZE_PASSED_SIZE_LIST,
  LAZE_PASSED_FLOAT_LIST, /* numbers, of which one is no integer at least */
  LAZE_PASSED_STRING_LIST,
  LAZE_PASSED_MIXED_LIST, /* of sizes, and tensors that stand for some */
  LAZE_PASSED_OTHER,      /* what no argument takes */
} laze_passed_kind;

static inline bool laze_passed_is_number(laze_passed_kind kind) {
  return kind >= LAZE_PASSED_BOOL && kind <= LAZE_PASSED_SIZE;
}

typedef struct laze_passed {
  const char *name; /* NULL: by position. Not NUL-terminated */
  int32_t name_length;
  laze_passed_kind kind;
  bool may_be_absent; /* known only when the call runs */
  int32_t argument;   /* result: the index in the chosen operator's schema, -1 for what was left out */
} laze_passed;

/* Which arguments positions stand for. */
typedef enum {
  LAZE_POSITIONS_ALL,             /* every argument in schema order: calls by name */
  LAZE_POSITIONS_BEFORE_KEYWORDS, /* those before "*": expressions, and calls as Python has them */
  LAZE_POSITIONS_OPERANDS,        /* operands: graph text, which names attributes */
} laze_positions;

typedef struct laze_overload_call {
  const char *name; /* "sum", "sum.dim_IntList" */
  laze_positions positions;
  laze_passed *passed;
  int32_t count;
  bool sizes_from_values; /* tensors may stand for SymInt and SymInt[] */
  bool numbers_follow;    /* a number stands for a Tensor only behind an operand, or behind the "*" of a schema */
} laze_overload_call;

typedef struct laze_parameter {
  const char *name;
  laze_argument_kind kind;
  bool may_be_absent;   /* `none` can be passed */
  bool may_be_left_out; /* it has a default, or may be absent */
  bool keyword_only;
  int32_t list_size; /* one number stands for a list of that many; 0: for none */
} laze_parameter;

/* An operator as its owner sees it. */
typedef struct laze_candidate {
  const void *op;
  const char *name, *schema;
  int32_t parameter_count;
} laze_candidate;

/* The operators of a name: how their owner shows them. What they show lives as long as `self`. */
typedef struct laze_overloads {
  const void *self;
  /* The index-th operator that the name may mean, in table order; false behind the last. */
  bool (*candidate)(const void *self, const char *name, int32_t index, laze_candidate *out);
  void (*parameter)(const void *op, int32_t index, laze_parameter *out);
} laze_overloads;

/* Chooses an operator and sets the `argument` of each thing passed; these are undefined where none fits: false. */
bool laze_overload_choose(const laze_overloads *overloads, const laze_overload_call *call, laze_candidate *chosen);
/* Why a candidate does not fit, as a sentence about it ("argument 'dim' is int[], given a bool"); "" where it does.
 * Written into the caller's `reason`, cut where it is longer than `size`, and returned. */
const char *laze_overload_reason(const laze_overloads *overloads, const laze_overload_call *call,
                                 const laze_candidate *candidate, char *reason, size_t size);

#endif
