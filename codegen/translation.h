/* A graph's values as a program's: what both backends need while they turn one into the other. */
#ifndef LAZE_CODEGEN_TRANSLATION_H
#define LAZE_CODEGEN_TRANSLATION_H

#include "ir/graph.h"
#include "runtime/program.h"

typedef struct laze_translation {
  const laze_graph *graph;
  laze_program *program; /* owned until laze_translation_end */
  laze_arena arena;      /* scratch for the time of the translation */
  int64_t *first;        /* by node: where its results begin in `values` */
  int32_t *values;       /* numbers in the program; -1: not yet added */
} laze_translation;

/* Creates the program, with a copy of the graph's size table, and adds the graph's inputs and, in the order of its
 * `return`, its outputs. laze_translation_end must follow, also after a failure. */
LAZE_MUST_USE laze_status laze_translation_begin(laze_translation *translation, const laze_graph *graph,
                                                 laze_error *error);
/* The number of a value in the program; one not yet seen becomes a constant or a temporary. */
LAZE_MUST_USE laze_status laze_translation_value(laze_translation *translation, laze_value value, int32_t *out,
                                                 laze_error *error);
/* Hands out the program where `status` is LAZE_OK, or releases it; frees the scratch. Returns `status`. */
laze_status laze_translation_end(laze_translation *translation, laze_status status, laze_program **out);

/* What a program knows of a node, and the call that the node itself knows of. */
laze_origin laze_node_origin(const laze_node *node);
laze_site laze_node_site(const laze_node *node);

#endif
