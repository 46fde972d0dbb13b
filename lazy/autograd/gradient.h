/* Gradients on their way through a backward pass. All functions are called with the context's lock held, and no frame
 * being recorded. */
#ifndef LAZE_LAZY_AUTOGRAD_GRADIENT_H
#define LAZE_LAZY_AUTOGRAD_GRADIENT_H

#include "base/status.h"
#include "lazy/value/grad_node.h"

typedef struct laze_thread_state laze_thread_state;

/* A value, which is the owner's reference, and where its own gradient goes. */
typedef struct laze_gradient {
  laze_cell *cell; /* NULL: none, which stands for zeros */
  laze_edge history;
} laze_gradient;

void laze_gradient_release(laze_lazy *lazy, laze_gradient *gradient);
/* A value of that type, of which each element is a number. */
LAZE_MUST_USE laze_status laze_gradient_fill(laze_thread_state *thread, const laze_type *type, int64_t number,
                                             laze_gradient *out, laze_error *error);

/* Handles of gradients, NULL where there is none; on failure there are none at all. */
LAZE_MUST_USE laze_status laze_gradient_handles(laze_thread_state *thread, const laze_gradient *gradients,
                                                int32_t count, laze_tensor **out, laze_error *error);
/* Lets go of handles, unless somebody has retained them. Unlocks and locks. */
void laze_gradient_handles_drop(laze_thread_state *thread, laze_tensor **handles, int32_t count);
/* A handle of what a leaf keeps, which has one: a view of it. */
LAZE_MUST_USE laze_status laze_gradient_of_leaf(laze_thread_state *thread, const laze_grad_node *leaf,
                                                laze_tensor **out, laze_error *error);
/* What a tensor is as a gradient; `what` is what messages name. */
LAZE_MUST_USE laze_status laze_gradient_from_handle(laze_thread_state *thread, const char *what, laze_tensor *tensor,
                                                    laze_gradient *out, laze_error *error);

#endif
