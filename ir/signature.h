/* What the inputs and results of a graph are for (laze_graph_set_signature): parameters, gradients, what is saved. It
 * is no part of equality and keys, and only the text form and whoever asks know of it. */
#ifndef LAZE_IR_SIGNATURE_H
#define LAZE_IR_SIGNATURE_H

#include "ir/graph.h"

/* In the graph's arena. */
typedef struct laze_signature {
  laze_role *inputs, *results;
  int32_t input_count, result_count;
} laze_signature;

/* "parameter"; NULL: there is no such kind. */
const char *laze_role_name(int32_t kind);
/* The kind of that name; -1: none has it. */
int32_t laze_role_find(const char *name, int32_t length);
/* Appends "signature (parameter, input) -> (loss, gradient(w))" and a newline; nothing where the graph has none. */
void laze_signature_print(laze_text *text, const laze_graph *graph);
/* Whether it is one that this graph may have; LAZE_OK where it has none. */
LAZE_MUST_USE laze_status laze_signature_check(const laze_graph *graph, laze_error *error);
/* Gives `to` the signature of a graph with as many inputs and results; nothing where that has none. */
LAZE_MUST_USE laze_status laze_signature_copy(const laze_graph *from, laze_graph *to, laze_error *error);

#endif
