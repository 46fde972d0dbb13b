/* A recorded operator, of which some result is pending. It lives as long as a result of it is referenced, or as a
 * script predicts it (lazy/record/reuse.h); cell.c ends it. */
#ifndef LAZE_LAZY_VALUE_PENDING_H
#define LAZE_LAZY_VALUE_PENDING_H

#include "ir/op.h"
#include "lazy/value/cell.h"

typedef struct laze_thread_state laze_thread_state;

#define LAZE_PENDING_MAX_RESULTS 8 /* results an operator has at most when called on tensors */

/* One block holds it, its cells, operands, segments, attributes and what they refer to (lazy/record/node.c). */
typedef struct laze_pending {
  struct laze_pending *older, *newer; /* the context's nodes with pending results, in the order of recording */
  laze_thread_state *thread;          /* in whose backlog it counts */
  laze_cell **operands;               /* each referenced */
  const int32_t *segments;            /* NULL: each is 1 */
  const laze_attribute *attributes;
  laze_location location;
  int64_t block_size;
  int64_t bytes;     /* of its results */
  uint64_t mark;     /* the trace in which it is node `position` */
  uint64_t selected; /* the cut that stores it */
  int32_t position;
  int32_t operand_count;
  int32_t result_count;
  int32_t referenced;           /* result cells that are referenced */
  const int64_t *operand_types; /* for the script: laze_type_word() and sizes of each operand */
  laze_op op, origin;
  bool listed, dying;
  bool predicted; /* a script has it, also while nothing references it */
  laze_cell cells[];
} laze_pending;

/* Which of its node's results the cell is. */
static inline int32_t laze_cell_result(const laze_cell *cell) {
  return (int32_t)(cell - cell->node->cells);
}

#endif
