/* What a thread keeps for recording: the values of the frame being recorded, and what the steps before recorded. All
 * functions are called with the context's lock held. */
#ifndef LAZE_LAZY_RECORD_RECORD_STATE_H
#define LAZE_LAZY_RECORD_RECORD_STATE_H

#include "ir/op.h"
#include "lazy/record/reuse.h"
#include "lazy/value/grad_node.h"

typedef struct laze_cell laze_cell;
typedef struct laze_pending laze_pending;
typedef struct laze_thread_state laze_thread_state;

/* A value of the frame being recorded: an operand, or what an expansion has recorded so far. */
typedef struct laze_frame_value {
  laze_cell *cell;       /* referenced; NULL: only its type is known, for formulas that need no more */
  laze_edge edge;        /* where its gradient goes, a reference; of no node where it needs none */
  laze_storage *storage; /* of an operand that is a tensor of the caller's, borrowed; NULL: of another value */
  laze_type type;
} laze_frame_value;

/* Owned by the thread's state; arrays are reused from one frame to the next. */
typedef struct laze_record_state {
  laze_thread_state *thread; /* whose it is */
  laze_frame_value *values;
  int64_t value_count, value_capacity;
  const laze_type **types;
  int64_t type_capacity;
  laze_value *operands;
  int64_t operand_capacity;
  uint64_t grad_nodes;                        /* the youngest node of a backward graph when the last call began */
  laze_script scripts[LAZE_SCRIPT_MAX_DEPTH]; /* by depth of the scope */
  /* Where the frame has unknown sizes (lazy/value/unknown.h); of the node being recorded: whether it has some, and what
   * defines those in its attributes. */
  laze_size_table *sizes; /* NULL: it has none */
  laze_pending **definers;
  int64_t definer_count, definer_capacity;
  bool unknown;
} laze_record_state;

/* Appends a value to the frame; takes over a reference of `cell`, also on failure. */
LAZE_MUST_USE laze_status laze_frame_push(laze_record_state *state, laze_cell *cell, const laze_type *type,
                                          laze_error *error);
/* Has room for `count` values more than now; addresses of values change. */
LAZE_MUST_USE laze_status laze_frame_grow(laze_record_state *state, int64_t count, laze_error *error);
/* Makes sure of such room, so that addresses of values stay while so many are appended: asked for each call. */
LAZE_MUST_USE static inline laze_status laze_frame_reserve(laze_record_state *state, int64_t count, laze_error *error) {
  return state->value_capacity - state->value_count >= count ? LAZE_OK : laze_frame_grow(state, count, error);
}
/* Releases the frame's values. */
void laze_frame_clear(laze_record_state *state);
/* Frees what the state owns; no frame is being recorded. */
void laze_record_state_deinit(laze_record_state *state);

#endif
