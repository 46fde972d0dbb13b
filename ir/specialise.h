/* Gives the symbols of a graph their values: for programs that run a graph file on inputs of known sizes. */
#ifndef LAZE_IR_SPECIALISE_H
#define LAZE_IR_SPECIALISE_H

#include "ir/graph.h"

/* Finds the values of symbols from the types of the inputs: `types[i]`, with constant sizes, is what input i is given.
 * `bindings` has one entry per symbol of the graph: -1 where the value is not known, or a value the caller asks for.
 * Those that an input gives are filled in; symbols that stand alone in no input's type stay -1. A type that is not as
 * declared, or that contradicts another input or the caller: LAZE_INVALID_ARGUMENT, naming the input, both types and
 * the difference. */
LAZE_MUST_USE laze_status laze_graph_bind_inputs(const laze_graph *graph, const laze_type *types, int64_t *bindings,
                                                 laze_error *error);

/* A copy without symbols: symbol i is replaced by `bindings[i]` and every type is inferred anew. LAZE_INVALID_ARGUMENT
 * when a value is negative, or contradicts a fact that the graph's types rest on. Symbols that nodes define stay. *out
 * is owned by the caller; source locations in it are those of `graph`, so it lives no longer. */
LAZE_MUST_USE laze_status laze_graph_specialise(const laze_graph *graph, const int64_t *bindings, laze_graph **out,
                                                laze_error *error);

#endif
