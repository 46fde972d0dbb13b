/* Calls that are nodes as they are. Called with the context's lock held. */
#ifndef LAZE_LAZY_RECORD_RECORD_NODE_H
#define LAZE_LAZY_RECORD_RECORD_NODE_H

#include "base/status.h"

typedef struct laze_call laze_call;
typedef struct laze_record_state laze_record_state;
typedef struct laze_value laze_value;

/* Records a call, whose operands are values of the frame, as one node; the results are further values of the frame.
 * Fails where inference refuses the types, and without memory. */
LAZE_MUST_USE laze_status laze_record_node(laze_record_state *state, const laze_call *call, laze_value *results,
                                           laze_error *error);

#endif
