/* The recorder that appends to a graph. */
#ifndef LAZE_IR_BUILDER_H
#define LAZE_IR_BUILDER_H

#include "ir/graph.h"
#include "ir/recorder.h"

typedef struct laze_builder {
  laze_recorder recorder; /* first: a laze_builder is a laze_recorder */
  laze_graph *graph;      /* borrowed */
  laze_block *block;      /* where nodes are appended */
  bool expand_late;       /* late composites too: the expand pass */
  int depth;              /* of composites being expanded */
} laze_builder;

/* Results are written to `results` as the recorder interface says. Operators with regions are appended with
 * laze_graph_append_region_node instead. */

/* Appends a reduction or scan of complex numbers as an operator with a region (complex_fold.c). */
LAZE_MUST_USE laze_status laze_builder_fold_complex(laze_builder *builder, const laze_call *call, laze_value *result,
                                                    laze_error *error);

void laze_builder_init(laze_builder *builder, laze_graph *graph, laze_block *block);

#endif
