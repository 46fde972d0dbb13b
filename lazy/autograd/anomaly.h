/* Looking for gradients that are no numbers. */
#ifndef LAZE_LAZY_AUTOGRAD_ANOMALY_H
#define LAZE_LAZY_AUTOGRAD_ANOMALY_H

#include "lazy/autograd/gradient.h"

/* Has each of the gradients that a node gives its operands fail where it is computed and has a NaN. Called with the
 * context's lock held and no frame being recorded; the lock is free meanwhile. */
LAZE_MUST_USE laze_status laze_anomaly_watch(laze_thread_state *thread, const laze_grad_node *node,
                                             laze_gradient *operands, laze_error *error);

#endif
