/* Backward passes: from gradients of some values to those of leaves, or of what is asked for. Called with the context's
 * lock held. */
#ifndef LAZE_LAZY_AUTOGRAD_BACKWARD_H
#define LAZE_LAZY_AUTOGRAD_BACKWARD_H

#include "lazy/autograd/gradient.h"

typedef struct laze_backward_pass {
  int32_t root_count, target_count;
  const laze_edge *roots;        /* of what has been given a gradient */
  laze_gradient *root_gradients; /* one each; taken over, also on failure */
  const laze_edge *targets;      /* NULL: every leaf */
  laze_gradient *found; /* of each target; the caller's then. NULL: gradients are added to those that are kept */
  bool keeps_saved;     /* what nodes have saved stays for another pass */
  bool creates_history; /* gradients can themselves be differentiated */
  bool for_tangents;    /* by what they are given for alone, which is zeros (laze_jvp) */
} laze_backward_pass;

/* Records the pass. Hooks and functions are called with the lock free. On failure gradients that are kept are as they
 * were, and nodes keep what they have saved. */
LAZE_MUST_USE laze_status laze_backward_run(laze_thread_state *thread, const laze_backward_pass *pass,
                                            laze_error *error);

#endif
