/* Calls of the caller's code from within a backward pass: the lock is free meanwhile. All functions
 * are called with the context's lock held, and no frame being recorded. */
#ifndef LAZE_LAZY_AUTOGRAD_CALL_OUT_H
#define LAZE_LAZY_AUTOGRAD_CALL_OUT_H

#include "base/status.h"

#include <stdbool.h>

typedef struct laze_callback laze_callback;
typedef struct laze_thread_state laze_thread_state;

/* One call, with what the thread's mode was before. */
typedef struct laze_call_out {
  laze_thread_state *thread;
  laze_callback *callback; /* referenced meanwhile */
  const char *what;        /* what is called, for messages */
  laze_error error;        /* what the code says */
  bool no_grad;
} laze_call_out;

/* Unlocks. `records`: calls of tensors that it makes leave histories behind. */
void laze_call_out_begin(laze_call_out *out, laze_thread_state *thread, laze_callback *callback, bool records);
/* Locks; `status` is what the code returned. */
LAZE_MUST_USE laze_status laze_call_out_end(laze_call_out *out, laze_status status, laze_error *error);

#endif
