/* How calls are typed and functions found. */
#ifndef LAZE_IR_MODULE_INTERNAL_H
#define LAZE_IR_MODULE_INTERNAL_H

#include "ir/module.h"

/* The function that a call node of the graph means: one that its module has before it; NULL: none. */
const laze_graph *laze_call_function(const laze_graph *graph, const laze_node *node);

/* What the symbols of a function are in one call. */
typedef struct laze_function_sizes {
  laze_size_table *table; /* the caller's */
  laze_size *map;         /* by symbol of the function; laze_size_table words of the caller's */
} laze_function_sizes;

/* Finds them from the operands' types, and asks the function's facts of the caller's sizes. The map is in `arena`. */
LAZE_MUST_USE laze_status laze_function_bind(const laze_graph *function, const laze_graph *caller,
                                             const laze_value *operands, int32_t count, laze_arena *arena,
                                             laze_size **map, laze_error *error);
/* A type or size of the function as the caller sees it. */
LAZE_MUST_USE laze_status laze_function_map_type(const laze_graph *function, laze_size_table *table,
                                                 const laze_size *map, laze_type *type, laze_error *error);
/* The types of a call's results, in `arena`. */
LAZE_MUST_USE laze_status laze_function_infer(const laze_graph *function, const laze_graph *caller,
                                              const laze_call *call, laze_arena *arena, const laze_type *const **types,
                                              laze_error *error);

#endif
