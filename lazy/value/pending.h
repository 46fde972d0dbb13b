/* A recorded operator, of which some result is pending. It lives as long as a result of it is referenced, a script
 * predicts it (lazy/record/reuse.h), or a size symbol is its (lazy/value/unknown.h); cell.c ends it. */
#ifndef LAZE_LAZY_VALUE_PENDING_H
#define LAZE_LAZY_VALUE_PENDING_H

#include "ir/op.h"
#include "lazy/value/cell.h"

typedef struct laze_thread_state laze_thread_state;

#define LAZE_PENDING_MAX_RESULTS 8 /* results an operator has at most when called on tensors */

/* A script, or the table of unknown sizes. */
typedef enum { LAZE_KEPT_BY_SCRIPT = 1, LAZE_KEPT_BY_SYMBOL = 2 } laze_pending_keeper;

/* One block holds it, its cells, operands, segments, attributes and what they refer to (lazy/record/node.c). */
typedef struct laze_pending {
  struct laze_pending *older, *newer; /* the context's nodes with pending results, in the order of recording */
  laze_thread_state *thread;          /* in whose backlog it counts */
  laze_cell **operands;    /* each referenced: those of the call, then the definers of sizes in its attributes */
  const int32_t *segments; /* NULL: each is 1 */
  const laze_attribute *attributes;
  laze_location location;
  int64_t block_size;
  int64_t bytes;     /* of its results */
  uint64_t mark;     /* the trace in which it is node `position` */
  uint64_t selected; /* the cut that stores it */
  int32_t position;
  int32_t operand_count; /* 0: it needs them no longer */
  int16_t result_count;
  int16_t definer_count;        /* of the operands, the last ones */
  int32_t referenced;           /* result cells that are referenced */
  const int64_t *operand_types; /* for the script: laze_type_word() and sizes of each operand */
  laze_op op, origin;
  bool listed, dying;
  bool computed;   /* a run that has it has begun */
  uint8_t kept_by; /* who has it, also while nothing references it: laze_pending_keeper */
  bool unknown;    /* sizes in its types or attributes are, or were, those of lazy/value/unknown.h */
  laze_cell cells[];
} laze_pending;

/* A keeper has the node no longer. */
void laze_pending_let_go(laze_lazy *lazy, laze_pending *node, laze_pending_keeper keeper);

/* How many of its operands are the call's own. */
static inline int32_t laze_pending_call_operands(const laze_pending *node) {
  return node->operand_count - node->definer_count;
}

/* Which of its node's results the cell is. */
static inline int32_t laze_cell_result(const laze_cell *cell) {
  return (int32_t)(cell - cell->node->cells);
}

#endif
