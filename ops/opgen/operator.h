/* An entry of the operator tables, read and checked. */
#ifndef OPGEN_OPERATOR_H
#define OPGEN_OPERATOR_H

#include "ops/opgen/expression.h"
#include "ops/opgen/tree.h"

#include <stddef.h>

/* In the order of laze_op_class (ir/op.h). */
typedef enum {
  CLASS_COMPOSITE,
  CLASS_ELEMENTWISE,
  CLASS_REDUCTION,
  CLASS_SCAN,
  CLASS_MOVEMENT,
  CLASS_INDEXING,
  CLASS_PRODUCT,
  CLASS_CREATION,
  CLASS_RANDOM,
  CLASS_LIBRARY,
  CLASS_CONTROL,
  CLASS_STRUCTURE,
  CLASS_COUNT,
} gen_class;

/* In the order of laze_compute (ir/op.h). */
typedef enum {
  COMPUTE_NONE,
  COMPUTE_PROMOTED,
  COMPUTE_FLOAT,
  COMPUTE_COMPARE,
  COMPUTE_LOGICAL,
  COMPUTE_SELECT,
  COMPUTE_CONVERT,
  COMPUTE_BITS,
  COMPUTE_PART,
  COMPUTE_PAIR,
  COMPUTE_COUNT,
} gen_compute;

/* In the order of laze_complex_form (ir/op.h). */
typedef enum {
  COMPLEX_REFUSED,
  COMPLEX_MOVED,
  COMPLEX_PARTS,
  COMPLEX_FOLDED,
  COMPLEX_OTHER,
} gen_complex;

typedef struct gen_rule {
  gen_schema schema;
  gen_place at;
} gen_rule;

/* A rule with the expressions that stand for its parameters: parameter i takes `counts[i]` items of `call` from
 * `firsts[i]` on (more than one only for Tensor[]). */
typedef struct gen_rule_call {
  const gen_rule *rule;
  gen_expression *call;
  int *firsts, *counts;
} gen_rule_call;

typedef struct gen_test {
  bool exact;
  bool recorded; /* arguments drawn at random seldom fit: recorded calls are the test */
  bool cancels;  /* no digits are left of a difference: backends are not compared */
  double ulp, low, high;
  unsigned skipped; /* mask over dtype_infos */
  int line;
} gen_test;

typedef struct gen_derivative gen_derivative; /* derivative.h */
typedef struct gen_operator gen_operator;
struct gen_operator {
  gen_place at;
  const gen_tree *entry;
  gen_schema schema;
  const char *symbol, *upper; /* "sum_dim_intlist", "SUM_DIM_INTLIST": names inside the library */
  const char *c_name;         /* "sum_dim": its C function; NULL: it has none */
  const char *function;       /* what the library exports for it: the C name, "mul_number" beside "mul" */
  const gen_operator *lead;   /* whose C name it shares: the one that takes tensors only, or itself */
  gen_class op_class;
  gen_compute compute;
  int shape_count, dtype_count; /* of rules: 0, 1 (for all results), or one per result */
  gen_rule_call *shapes, *dtype_rules;
  const char *evals[DTYPE_COUNT]; /* by position in dtype_infos; NULL: refused */
  int eval_lines[DTYPE_COUNT];    /* where they stand */
  unsigned dtypes;                /* elementwise: mask of the dtypes it computes in */
  const char *lower;              /* NAME of laze_lower_NAME, or of laze_join_NAME, or "none" */
  const char *infer;              /* NAME of laze_control_rule_NAME, in class library of laze_infer_NAME, by hand */
  const char *interpret;          /* NAME of interp_execute_NAME, in class control of interp_control_NAME */
  gen_operator *combine;
  const char *initial;            /* "ZERO" */
  const char *state;              /* scan: "RESULT" */
  const char *effect;             /* "NONE" */
  bool late, by_hand;             /* by_hand: `composite: c` */
  bool takes_numbers;             /* a call by name may pass numbers alone */
  bool keeps_dtype;               /* `compute: dtype` of a composite */
  gen_complex complex;            /* what complex operands make of it */
  gen_operator *complex_operator; /* COMPLEX_OTHER: which it is then */
  bool is_method;                 /* `variants: method` */
  const char *in_place;           /* "add_.Tensor": the form that changes its target; NULL: it has none */
  int in_place_at;                /* where the text of all these names has it */
  bool is_named;                  /* `variants` are given: public, whatever its name begins with */
  int regions;
  const char *contents; /* NAME of laze_contents_NAME; NULL: none */
  int defines;          /* the SymInt or SymInt[] argument that names the sizes it defines, counted from 1; 0: none */
  gen_program *composite;
  gen_expression *when;
  const gen_test *test;
  const char *doc;
  gen_derivative *derivative; /* NULL: it has none of its own */
  bool complex_gradient;      /* its formulas are right where results are complex (ops/derivatives/complex.yaml) */
  bool reached;               /* by the search for composites that expand into themselves */
  bool left;
};

const char *class_name(gen_class op_class);          /* "elementwise" */
const char *class_enumerator(gen_class op_class);    /* "LAZE_CLASS_ELEMENTWISE" */
gen_class class_find(const char *name);              /* CLASS_COUNT: none */
const char *compute_enumerator(gen_compute compute); /* "LAZE_COMPUTE_PROMOTED" */
gen_compute compute_find(const char *name);          /* by the name in entries; COMPUTE_COUNT: none */

static inline bool operator_has_expansion(const gen_operator *op) {
  return op->composite != NULL || op->by_hand;
}
/* Whether its result types follow from rules, so that it can be a node. */
static inline bool operator_has_inference(const gen_operator *op) {
  return (op->infer != NULL && op->op_class != CLASS_CONTROL) || op->op_class == CLASS_ELEMENTWISE ||
         op->dtype_count > 0;
}
/* Whether expressions may call it: regions and raw elements cannot be passed. */
bool operator_is_callable(const gen_operator *op);
/* Whether users may call it: those whose name starts with "_" are ours, but for PyTorch's, which name their variants.
 */
static inline bool operator_is_public(const gen_operator *op) {
  return operator_is_callable(op) && (op->is_named || op->schema.base[0] != '_');
}
/* Whether they do so through a function of its own (laze/functions/). */
static inline bool operator_has_function(const gen_operator *op) {
  return operator_is_public(op) && op->schema.base[0] != '_' && op->c_name != NULL && op->schema.result_count >= 0;
}
/* The argument that a form in place changes: "self", or else the first. */
int operator_target(const gen_operator *op);
/* Number of operand arguments, and of attributes. */
int operator_segments(const gen_operator *op);
int operator_attributes(const gen_operator *op);
/* Whether the operand's index in a call is its position: nothing before it may be absent or a list. */
bool operator_is_fixed(const gen_operator *op, int argument);
/* Enumerator of an attribute's position, "LAZE_SUM_DIM". */
const char *operator_attribute_name(const gen_operator *op, int argument);
/* "ops/native_functions/reductions.yaml:12", without what stands before "ops/". */
const char *operator_source(const gen_operator *op);

#endif
