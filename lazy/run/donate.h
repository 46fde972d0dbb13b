/* Inputs whose memory a run may take, and who has to wait for it (donate.c). All functions are called with the
 * context's lock held. */
#ifndef LAZE_LAZY_RUN_DONATE_H
#define LAZE_LAZY_RUN_DONATE_H

#include "base/status.h"

#include <stdbool.h>

typedef struct laze_lazy laze_lazy;
typedef struct laze_thread_state laze_thread_state;
typedef struct laze_trace laze_trace;

/* Notes which inputs of a trace nobody needs behind its run, and references these; for want of memory none. Their
 * buffers are to have no reference but the cell's. Inputs have no numbers any more. */
void laze_trace_donate(laze_trace *trace, laze_lazy *lazy);
/* Behind the run, once its outputs have their values: lets go of donated inputs. What needs one still, because the run
 * ended half-way, becomes an error. */
void laze_trace_end_donation(laze_trace *trace, laze_lazy *lazy);
/* Waits, without the lock, if a run of another thread may be writing to an input of the trace: *waited, and the trace
 * is to be taken again. Fails in a callback of such a run. */
LAZE_MUST_USE laze_status laze_trace_await_writer(const laze_trace *trace, laze_thread_state *thread, bool *waited,
                                                  laze_error *error);

#endif
