/* Calls over a frame's values, and composites among them, become nodes. Called with the context's lock held. */
#ifndef LAZE_LAZY_RECORD_EXPAND_H
#define LAZE_LAZY_RECORD_EXPAND_H

#include "ir/op.h"

typedef struct laze_record_state laze_record_state;

/* Records a call whose operands are values of the frame, expanding composites; the results are further values of the
 * frame. */
LAZE_MUST_USE laze_status laze_lazy_record(laze_record_state *state, const laze_call *call, laze_value *results,
                                           laze_error *error);

#endif
