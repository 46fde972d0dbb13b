/* The orders in which reductions and products combine their elements, and what reductions start from: part of the
 * semantics (docs/semantics.md). The reference interpreter and what runs loop IR follow them alike, so that both give
 * the same bits.
 */
#ifndef LAZE_CODEGEN_ORDER_H
#define LAZE_CODEGEN_ORDER_H

#include "ir/op.h"

/* Of a reduction. Every element has a place. The innermost reduced axes are run through once for each position of the
 * reduced axes around them; each run takes as many places as it has elements, in lanes16 rounded up to a multiple of
 * 32, and its r-th element the r-th of them. Places are cut into blocks, and a block's state starts at the initial
 * value: each element makes it combine(state, element).
 *
 * The result is the tree over the blocks, tree(B[0], ..., B[m-1]): of one block it is that block, otherwise
 * combine(tree(the first p), tree(the rest)), p the greatest power of two below m.
 *
 * lanes16: blocks of 2048 places; 16 lanes, place p in lane p mod 16, each with a tree of its own. Then the lanes are
 * combined in pairs (l, l+8), then (l, l+4), (l, l+2), (l, l+1).
 * rows: blocks of 64 places.
 * sequence: no blocks; a state takes one element after the other, and is a result after each of them. Of scans alone.
 */
typedef enum { LAZE_ORDER_LANES16, LAZE_ORDER_ROWS, LAZE_ORDER_SEQUENCE } laze_order;
#define LAZE_ORDER_LANES 16
#define LAZE_ORDER_LANES_BLOCK 2048
#define LAZE_ORDER_LANES_RUN 32
#define LAZE_ORDER_ROWS_BLOCK 64
/* Levels of a tree over all blocks that 2^63 places can have. */
#define LAZE_ORDER_LEVELS 58

/* Of a matrix product, which its depth K alone decides. Below 256 an element is one chain of fused multiply-adds over
 * ascending k, from 0. From there on k is cut into blocks of 1024. A block is 4 chains, of the k with k mod 4 = 0, 1,
 * 2, 3, whose ends are joined in pairs (l, l+2), then (0, 1). The element is the first block's total, to which the
 * others are added one after the other. */
#define LAZE_PRODUCT_CHAIN 256
#define LAZE_PRODUCT_LANES 4
#define LAZE_PRODUCT_BLOCK 1024

/* What a reduction whose states have `dtype` starts from. */
static inline laze_scalar laze_initial_value(laze_initial initial, laze_dtype dtype) {
  uint64_t element = 0;
  switch (initial) {
  case LAZE_INITIAL_ZERO:
  case LAZE_INITIAL_ONE: break;
  case LAZE_INITIAL_LOWEST: return laze_dtype_lowest(dtype);
  case LAZE_INITIAL_HIGHEST: return laze_dtype_highest(dtype);
  }
  laze_scalar_store(laze_scalar_integer(initial == LAZE_INITIAL_ONE), dtype, &element, 0);
  return laze_scalar_load(dtype, &element, 0);
}

/* The dtype of a reduction's or scan's states: elements are converted to it, and states that are results to theirs. */
static inline laze_dtype laze_reduction_state(const laze_op_info *info, laze_dtype result) {
  return info->state == LAZE_STATE_DOUBLE && laze_dtype_is_float(result) ? LAZE_F64 : laze_dtype_computes(result);
}

#endif
