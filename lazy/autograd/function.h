/* Functions whose gradients the caller computes (laze/gradient_node.h), as a backward pass calls them. */
#ifndef LAZE_LAZY_AUTOGRAD_FUNCTION_H
#define LAZE_LAZY_AUTOGRAD_FUNCTION_H

#include "lazy/autograd/gradient.h"

/* What a function's node is asked for. */
typedef struct laze_function_request {
  laze_grad_node *node;
  const laze_gradient *given; /* of each result */
  int32_t *needed;            /* of each operand: whether its gradient is asked for */
  bool records;               /* gradients have histories */
  bool keeps;                 /* what was saved stays for another pass */
  bool for_tangents;          /* which are asked of these histories next */
} laze_function_request;

/* Gives the gradients of the node's operands, which are the caller's: none where there is none, of any type that the
 * function's code gives. Called with the context's lock held, and no frame being recorded; the lock is free while the
 * code runs. */
LAZE_MUST_USE laze_status laze_function_run(laze_thread_state *thread, const laze_function_request *asked,
                                            laze_gradient *out, laze_error *error);
/* Whether a node still has what it saved: a message names it otherwise. */
LAZE_MUST_USE laze_status laze_released_check(const laze_grad_node *node, laze_error *error);
/* Whether what a tensor was when it was saved is what it is: a message names the node and both versions otherwise. */
LAZE_MUST_USE laze_status laze_saved_check(const laze_grad_node *node, const laze_saved *saved, laze_error *error);

#endif
