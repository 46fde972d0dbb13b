/* Graphs in stages: what defines sizes runs before what has them. Called with the lock held, as materialise.h. */
#ifndef LAZE_LAZY_RUN_STAGE_H
#define LAZE_LAZY_RUN_STAGE_H

#include "base/status.h"

typedef struct laze_pending laze_pending;
typedef struct laze_thread_state laze_thread_state;
typedef struct laze_trace laze_trace;

/* The oldest node of a trace that defines a size; NULL: there is none. */
laze_pending *laze_trace_definer(const laze_trace *trace);
/* Computes the number that it defines, on which no other definer's depends, and has everything learn it. */
LAZE_MUST_USE laze_status laze_run_definer(laze_thread_state *thread, laze_pending *definer, laze_error *error);

#endif
