/* The passes, as the manager calls them. Each gives a graph that shares memory and size table with its source
 * (ir/rewrite.h), or sets *out to NULL where nothing is to be changed. */
#ifndef LAZE_IR_PASSES_PASSES_H
#define LAZE_IR_PASSES_PASSES_H

#include "ir/pass.h"

typedef laze_status (*laze_pass_function)(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                                          laze_error *error);

laze_status laze_pass_simplify(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                               laze_error *error);
laze_status laze_pass_fold(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                           laze_error *error);
laze_status laze_pass_branches(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                               laze_error *error);
laze_status laze_pass_transposes(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                                 laze_error *error);
laze_status laze_pass_common_nodes(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                                   laze_error *error);
laze_status laze_pass_dead_nodes(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                                 laze_error *error);
/* A product of floats of 16 bits, which no backend computes: `expand` makes one of f32 of it, rounded once. */
bool laze_pass_is_half_product(const laze_node *node);
laze_status laze_pass_expand(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                             laze_error *error);

#endif
