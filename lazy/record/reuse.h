/* Node reuse: which node a call is predicted to be, and whether it is. All functions are called with the context's lock
 * held. */
#ifndef LAZE_LAZY_RECORD_REUSE_H
#define LAZE_LAZY_RECORD_REUSE_H

#include "shape_inference/type.h"

typedef struct laze_call laze_call;
typedef struct laze_pending laze_pending;
typedef struct laze_record_state laze_record_state;

#define LAZE_SCRIPT_MAX_DEPTH 4    /* scopes deeper than this are not predicted */
#define LAZE_SCRIPT_MAX_NODES 4096 /* nor what is recorded in a scope after so many nodes */

/* What was recorded in the last scope of a depth, in order: the prediction of what the next one records. */
typedef struct laze_script {
  laze_pending **nodes; /* kept alive by it; NULL: nothing is predicted at this place */
  int64_t count, capacity;
} laze_script;

/* A type in a word: two types are equal when their words and their sizes are. */
static inline int64_t laze_type_word(const laze_type *type) {
  return (int64_t)type->kind | (int64_t)type->dtype << 8 | (int64_t)type->rank << 16;
}

/* The node recorded at this place of the last scope, if it is this call over operands of the same types; NULL
 * otherwise. Its types need no inference, and it can itself be linked again if nothing references it. */
laze_pending *laze_script_predict(laze_record_state *state, const laze_call *call);
/* Whatever was recorded at this place of the last scope, or NULL. */
laze_pending *laze_script_peek(laze_record_state *state);
/* Moves to the next place, for which `node` is predicted from now on. */
void laze_script_advance(laze_record_state *state, laze_pending *node);
/* Forgets nodes with unknown sizes. */
void laze_script_drop_unknown(laze_record_state *state);
/* Forgets everything. */
void laze_script_clear(laze_record_state *state);

#endif
