/* The pieces of a concatenation, one after the other. */
#ifndef LAZE_CODEGEN_SCHEDULE_PIECES_H
#define LAZE_CODEGEN_SCHEDULE_PIECES_H

#include "ir/graph.h"

struct laze_scheduler;

/* Where a piece begins is a sum of the sizes before it, and all these sums are a quadratic amount of work. More pieces
 * are stored and copied by one step, which adds up their sizes when it runs. */
#define LAZE_PIECES_MAX_GROUPS 64

/* A concatenation while its pieces are laid out: a value on the stack of whoever lays them out, which owns nothing. */
typedef struct laze_pieces {
  struct laze_scheduler *scheduler; /* borrowed, and with it the graph, in whose table the sizes are */
  const laze_node *node;            /* the graph's */
  int axis;
  laze_size rows, inner; /* elements outside and inside the axis */
  laze_size row;         /* bytes in a row of one element along the axis */
  laze_size low;         /* of the next piece along the axis */
} laze_pieces;

/* The axis along which the operands of a concatenation lie. */
LAZE_MUST_USE laze_status laze_pieces_axis(struct laze_scheduler *scheduler, const laze_node *node, int *out);
LAZE_MUST_USE laze_status laze_pieces_begin(struct laze_scheduler *scheduler, int32_t node_index, laze_pieces *out);
/* Whether the operand is a piece: operands without elements are none, and those of another rank have none. */
bool laze_pieces_has(const laze_pieces *pieces, laze_value operand);
LAZE_MUST_USE laze_status laze_pieces_multiply(struct laze_scheduler *scheduler, laze_size a, laze_size b,
                                               laze_size *out);

#endif
