/* Backward passes: from gradients of some values to those of leaves, or of what is asked for. Called with the context's
 * lock held. */
#ifndef LAZE_LAZY_AUTOGRAD_BACKWARD_H
#define LAZE_LAZY_AUTOGRAD_BACKWARD_H

#include "lazy/value/grad_node.h"

#include "base/status.h"

typedef struct laze_thread_state laze_thread_state;

/* A gradient on its way: a value, which is the caller's reference, and where its own gradient goes. */
typedef struct laze_gradient {
  laze_cell *cell; /* NULL: none, which stands for zeros */
  laze_edge history;
} laze_gradient;

void laze_gradient_release(laze_lazy *lazy, laze_gradient *gradient);

typedef struct laze_backward_pass {
  int32_t root_count, target_count;
  const laze_edge *roots;        /* of what has been given a gradient */
  laze_gradient *root_gradients; /* one each; taken over, also on failure */
  const laze_edge *targets;      /* NULL: every leaf, which adds the gradient to the one that it has */
  laze_gradient *found;          /* of each target; the caller's then */
  bool keeps_saved;              /* what nodes have saved stays for another pass */
  bool creates_history;          /* gradients can themselves be differentiated */
} laze_backward_pass;

/* Records the pass. On failure leaves are as they were, but for those that were reached before. */
LAZE_MUST_USE laze_status laze_backward_run(laze_thread_state *thread, const laze_backward_pass *pass,
                                            laze_error *error);

#endif
