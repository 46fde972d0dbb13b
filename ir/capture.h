/* Regions that use values of the block around them. In a graph they see their own parameters alone; whoever builds one
 * may use a value of the block around it as if it were inside, and gets a parameter that stands for it:
 *
 *   %1 = if %c { %2 = neg %x   return %2 } { return %x }
 *   %1 = if %c, [%x] (%3) { %2 = neg %3   return %2 } (%4) { return %4 }       what is appended
 *
 * Each captured value becomes an operand, and a parameter of every region of the node. A loop carries it unchanged, so
 * that its region returns it again, and the node has a result more that nobody uses; it is not copied when it runs. */
#ifndef LAZE_IR_CAPTURE_H
#define LAZE_IR_CAPTURE_H

#include "ir/graph.h"

#define LAZE_MAX_REGIONS 4 /* of a node */

typedef struct laze_capture {
  laze_value outside;
  int32_t parameters[LAZE_MAX_REGIONS]; /* what stands for it in each region; -1: nothing yet */
} laze_capture;

/* What the regions of one node, still to be appended, have captured. Zero-initialise but for the arena, in which the
 * list lives. */
typedef struct laze_captures {
  laze_arena *arena; /* borrowed */
  laze_capture *items;
  int32_t count, capacity;
  int32_t *slots; /* an open hash table over values, twice as large as the list: the item of each, or -1 */
} laze_captures;

/* The value that stands, in a region under construction, the node's `number`-th, for one of the block around it: a
 * parameter of the same type, made on the first use. */
LAZE_MUST_USE laze_status laze_capture_value(laze_graph *graph, laze_captures *captures, laze_block *region, int number,
                                             laze_value outside, laze_value *out, laze_error *error);
/* laze_graph_append_region_node with what the regions captured, which says how many results the caller knows of, and in
 * *results, in the captures' arena, which they are. */
LAZE_MUST_USE laze_status laze_graph_append_capturing(laze_graph *graph, laze_block *block, const laze_call *call,
                                                      laze_block *const *regions, laze_captures *captures,
                                                      laze_value **results, int32_t *count, laze_error *error);

#endif
