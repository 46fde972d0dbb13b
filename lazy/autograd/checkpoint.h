/* Checkpoints (laze/gradient_node.h) in backward passes. Called with the context's lock held and no frame being
 * recorded. */
#ifndef LAZE_LAZY_AUTOGRAD_CHECKPOINT_H
#define LAZE_LAZY_AUTOGRAD_CHECKPOINT_H

#include "lazy/autograd/gradient.h"

/* Gives the nodes of a checkpoint what they need, by calling its code again, after `gradients` are known. The lock is
 * free meanwhile. */
LAZE_MUST_USE laze_status laze_checkpoint_fill(laze_thread_state *thread, laze_grad_checkpoint *checkpoint,
                                               const laze_gradient *gradients, int32_t gradient_count,
                                               laze_error *error);
/* Takes it from them again. */
void laze_checkpoint_drop(laze_lazy *lazy, laze_grad_checkpoint *checkpoint);

#endif
