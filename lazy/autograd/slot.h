/* Tensors that functions of gradients are given. Called with the context's lock held, but for the one that takes it. */
#ifndef LAZE_LAZY_AUTOGRAD_SLOT_H
#define LAZE_LAZY_AUTOGRAD_SLOT_H

#include "base/status.h"
#include "laze/tensor.h"

typedef struct laze_cell laze_cell;
typedef struct laze_slot laze_slot;
typedef struct laze_thread_state laze_thread_state;

/* Locks the context of a tensor and gives the thread's state. `function` is what messages name. */
LAZE_MUST_USE laze_status laze_grad_lock(const char *function, laze_tensor *tensor, laze_thread_state **out,
                                         laze_error *error);
/* The slot of a tensor whose call did not fail; it has a cell. */
LAZE_MUST_USE laze_status laze_grad_slot(laze_thread_state *thread, const char *function, laze_tensor *tensor,
                                         laze_slot **out, laze_error *error);
/* Finds sizes that have to be known to compare a tensor with its gradient, or with one element where that is NULL. The
 * lock may be free meanwhile, so that slots are to be looked up afterwards. */
LAZE_MUST_USE laze_status laze_grad_find_sizes(const char *function, laze_thread_state *thread, laze_tensor *tensor,
                                               laze_tensor *gradient, laze_error *error);
/* Whether a gradient, or a tangent, has shape and dtype of what it is for. */
LAZE_MUST_USE laze_status laze_grad_check(const char *function, const laze_cell *tensor, const laze_cell *gradient,
                                          laze_error *error);

#endif
