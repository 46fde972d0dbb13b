/* What a thread keeps from one run to the next. Guarded by the context's lock. */
#ifndef LAZE_LAZY_RUN_RUN_STATE_H
#define LAZE_LAZY_RUN_RUN_STATE_H

#include "lazy/run/trace.h"

/* Owned by the thread's state. */
typedef struct laze_run_state {
  laze_trace trace;       /* its arrays are used again; empty while a run has them */
  int64_t missed_nodes;   /* of the last graph that was not found */
  int32_t longer_misses;  /* how many misses in a row were each of a longer graph */
  int32_t growing_scopes; /* how many scopes in a row left more pending than the one before */
  int64_t scope_nodes;    /* pending after the last scope's end */
} laze_run_state;

static inline void laze_run_state_deinit(laze_run_state *state, laze_context *context) {
  laze_trace_deinit(&state->trace, context);
}

#endif
