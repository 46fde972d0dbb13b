/* How operators that move or make elements join a kernel: entries name one of these (`lower: slice` is
 * laze_join_slice). */
#ifndef LAZE_CODEGEN_SCHEDULE_JOIN_H
#define LAZE_CODEGEN_SCHEDULE_JOIN_H

#include "codegen/schedule/schedule_internal.h"

struct laze_joiner;

typedef struct laze_join {
  bool pass_through; /* nothing is computed: readers look through the node at its operand */
  bool keeps_order;  /* whose elements are these, in this order */
  /* What the node needs of its operands at a map; *possible is false where no map says it. */
  laze_status (*needs)(struct laze_joiner *join, laze_needs *out, bool *possible);
} laze_join;

extern const laze_join laze_join_reshape, laze_join_expand, laze_join_permute, laze_join_slice, laze_join_cat,
    laze_join_iota, laze_join_size_tensor, laze_join_gather, laze_join_index_select;

/* By laze_op; NULL where operators join by class or not at all. Generated. */
extern const laze_join *const laze_joins[];

#endif
