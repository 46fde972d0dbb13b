/* How passes build graphs that share memory with the graph they rewrite. */
#ifndef LAZE_IR_GRAPH_INTERNAL_H
#define LAZE_IR_GRAPH_INTERNAL_H

#include "ir/graph.h"

/* A graph that uses another's size table (which may get new expressions and facts) until laze_graph_take. */
LAZE_MUST_USE laze_status laze_graph_create_sharing(laze_context *context, const char *name, laze_size_table *sizes,
                                                    laze_graph **out, laze_error *error);
/* Makes `graph` own what it shares with `source`: the memory of its nodes and, if `source` owned it, the size table.
 * Destroys `source`. */
void laze_graph_take(laze_graph *graph, laze_graph *source);
/* Appends a node whose arrays live at least as long as the graph, without inferring. */
LAZE_MUST_USE laze_status laze_graph_push_copy(laze_graph *graph, laze_block *block, const laze_node *node,
                                               laze_value *out, laze_error *error);

/* Appends a node without regions whose result types, in the graph's arena, are known and not inferred. */
LAZE_MUST_USE laze_status laze_graph_append_typed(laze_graph *graph, laze_block *block, const laze_call *call,
                                                  const laze_type *const *types, int32_t count, laze_value *first,
                                                  laze_error *error);

#endif
