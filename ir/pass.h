/* Passes: graph to graph. One per file in ir/passes/, one row each in the table of ir/passes/manager.c. */
#ifndef LAZE_IR_PASS_H
#define LAZE_IR_PASS_H

#include "ir/graph.h"

/* Evaluates a node whose operands are all constants: `operands[i]` points to row-major elements of the operand's type,
 * `results[i]` to memory for the result's. Given by the backend, so that ir/ needs none. */
typedef laze_status (*laze_fold_function)(void *self, const laze_graph *graph, const laze_node *node,
                                          const void *const *operands, void *const *results, laze_error *error);

typedef struct laze_pass_options {
  laze_fold_function fold; /* NULL: no folding */
  void *fold_self;
  const char *only;    /* run just the pass of that name (tests); NULL: all */
  const char *without; /* leave that pass out (tests); NULL: none */
} laze_pass_options;

/* Runs the pipeline: fold, decide branches, simplify, merge common nodes, drop dead ones, expand, and again what
 * expansion opened up. *graph is replaced by the result (the old one destroyed); on failure it is unchanged. Verifies,
 * times, dumps as the context's debug switches say. */
LAZE_MUST_USE laze_status laze_passes_run(laze_graph **graph, const laze_pass_options *options, laze_error *error);
/* Name of the index-th pass, NULL past the end. */
const char *laze_pass_name(int index);

#endif
