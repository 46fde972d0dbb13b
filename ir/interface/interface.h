/* What laze/graph.h is made of, for who makes graphs as callers do. */
#ifndef LAZE_IR_INTERFACE_INTERFACE_H
#define LAZE_IR_INTERFACE_INTERFACE_H

#include "ir/graph.h"

/* Appends a constant to the body; what `data` has no blob for is copied. */
LAZE_MUST_USE laze_status laze_graph_append_constant(laze_graph *graph, const laze_type *type, laze_data data,
                                                     laze_value *out, laze_error *error);
/* Turns parameters of the body into constants with these elements, of their types, which come before all other nodes.
 * Nodes keep their numbers. On failure some of them are. */
LAZE_MUST_USE laze_status laze_graph_bind_parameters(laze_graph *graph, const int32_t *parameters,
                                                     const laze_data *elements, int64_t count, laze_error *error);

#endif
