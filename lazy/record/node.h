/* Making nodes of calls. Called with the context's lock held. */
#ifndef LAZE_LAZY_RECORD_NODE_H
#define LAZE_LAZY_RECORD_NODE_H

typedef struct laze_call laze_call;
typedef struct laze_pending laze_pending;
typedef struct laze_record_state laze_record_state;
typedef struct laze_type laze_type;

/* Records a node with these result types; the call's operands are values of the frame. Its cells have one reference
 * each, for the caller. NULL when memory is out. */
laze_pending *laze_pending_create(laze_record_state *state, const laze_call *call, const laze_type *types);

/* Makes a filled node, whose operator, attributes and types are the call's, the newest of the context: sets its
 * operands and its location, makes its results pending. The part of creating a node that recording it again repeats. */
void laze_pending_link(laze_pending *node, const laze_call *call);

#endif
