/* Sizes that a run defines: a node gives a symbol of the graph's size table its number while the graph runs.
 *
 *   %0 = size_from %n, size=u0 : i64[]           defines u0
 *   %1 = slice %x, end=u0 : f32[min(u0,8)]       behind it, u0 may stand wherever a size may
 *   %2 = if %c, [%x], sizes=[u1], axes=[0] ...   defines u1: whichever branch ran says how long the result is
 *
 * Uses of the size are no operands: whoever moves or drops nodes asks here. A symbol has one definer. What uses it
 * comes behind the definer, in its block or in regions below.
 */
#ifndef LAZE_IR_DEFINED_SIZE_H
#define LAZE_IR_DEFINED_SIZE_H

#include "ir/graph.h"
#include "ir/recorder.h"

/* The symbols that a call defines, borrowed, and how many. */
const laze_size *laze_call_defined_sizes(const laze_call *call, int32_t *count);
bool laze_node_defines_size(const laze_node *node);
/* Whether it defines one by the number that its operand holds. */
static inline bool laze_node_reads_size(const laze_node *node) {
  return node->region_count == 0 && laze_op_get(node->op)->defines > 0;
}
/* Symbols of `to` for those that a call of a graph with the sizes `from` defines, of the same name where that is free,
 * in `map` by symbol of `from`. */
LAZE_MUST_USE laze_status laze_call_define_sizes(const laze_call *call, const laze_size_table *from,
                                                 laze_size_table *to, laze_size *map, laze_error *error);

/* The definer of each symbol of the graph's table, -1 for those that no node defines; allocated from `arena`. */
LAZE_MUST_USE laze_status laze_graph_find_definers(const laze_graph *graph, laze_arena *arena, int32_t **out,
                                                   laze_error *error);
/* Calls `visit` with each defined symbol in the node's types and attributes; one may come several times. */
LAZE_MUST_USE laze_status laze_node_each_defined(const laze_graph *graph, const laze_node *node,
                                                 void (*visit)(void *self, int64_t symbol), void *self,
                                                 laze_error *error);
/* Checks that every symbol has one definer, and is used only behind it. LAZE_INVALID_ARGUMENT names size and node. */
LAZE_MUST_USE laze_status laze_graph_check_defined(const laze_graph *graph, laze_error *error);

/* A number that a caller gives as a value: element `index` of a 0-d or 1-d tensor of integers. */
typedef struct laze_size_source {
  laze_value value;
  int64_t index;
  int64_t low, high; /* what it may be; LAZE_SIZE_CONSTANT_MIN and _MAX: anything, numbers beyond them count as these */
} laze_size_source;
/* The size that stands for it: an expression where the contents are known (ir/known_size.h), else a new symbol, for
 * which a `size_from` is recorded. */
LAZE_MUST_USE laze_status laze_record_size_from(laze_recorder *recorder, const laze_size_source *source, laze_size *out,
                                                laze_error *error);
/* The elements of a 1-d tensor of constant length, as sizes; at most `capacity`. */
LAZE_MUST_USE laze_status laze_record_sizes_from(laze_recorder *recorder, const laze_size_source *source,
                                                 laze_size *out, int32_t capacity, int32_t *count, laze_error *error);

#endif
