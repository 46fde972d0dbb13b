/* The recorder interface (ir/recorder.h) over the values of a frame. A value's number is its index in the frame:
 * operands first, then every result that was recorded so far. Called with the context's lock held. */
#ifndef LAZE_LAZY_RECORD_EXPANDER_H
#define LAZE_LAZY_RECORD_EXPANDER_H

#include "base/arena.h"
#include "ir/recorder.h"

typedef struct laze_frame_size laze_frame_size;
typedef struct laze_record_state laze_record_state;

typedef struct laze_expander {
  laze_recorder recorder; /* first: an expander is a laze_recorder */
  laze_record_state *state;
  bool tracks; /* what it records is differentiated call by call */
  bool has_arena;
  laze_arena arena; /* of what call_of gives; made when it is first asked */
} laze_expander;

/* What it records comes from `location`, and from the composite `origin` if there is one. */
void laze_expander_init(laze_expander *expander, laze_record_state *state, laze_location location, laze_op origin);
static inline void laze_expander_deinit(laze_expander *expander) {
  if (expander->has_arena) laze_arena_deinit(&expander->arena);
}

/* Records what a call consists of. With `tracks`, each call of that is differentiated by itself. */
LAZE_MUST_USE laze_status laze_record_expansion(laze_record_state *state, const laze_call *call, bool tracks,
                                                laze_value *results, laze_error *error);

/* Writes a size of a frame, which value `value` of the frame says, for the call whose size it is. */
LAZE_MUST_USE laze_status laze_record_frame_size(laze_record_state *state, const laze_frame_size *size,
                                                 laze_value value, const laze_call *call, laze_error *error);

#endif
