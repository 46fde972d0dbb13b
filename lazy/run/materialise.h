/* Pending values become buffers, or errors. All functions are called with the lock held, which is released while code
 * is compiled or runs and taken again. An error that is returned left its values pending; one of a value is in its
 * cell, and noted in the scope. */
#ifndef LAZE_LAZY_RUN_MATERIALISE_H
#define LAZE_LAZY_RUN_MATERIALISE_H

#include "base/status.h"
#include "lazy/run/force.h"

#include <stdbool.h>

typedef struct laze_cell laze_cell;
typedef struct laze_tensor laze_tensor;
typedef struct laze_thread_state laze_thread_state;

/* Computes `cell`, which the caller references, and the held cells on the way. */
LAZE_MUST_USE laze_status laze_materialise_cell(laze_thread_state *thread, laze_cell *cell, const laze_force *force,
                                                laze_error *error);
/* Computes the held cells of this thread in one graph. */
LAZE_MUST_USE laze_status laze_materialise_held(laze_thread_state *thread, const laze_force *force, laze_error *error);
/* Computes the results of the nodes with this selection, and stores nothing else; with `held`, the held cells on the
 * way as well. */
LAZE_MUST_USE laze_status laze_materialise_selected(laze_thread_state *thread, uint64_t selection, bool held,
                                                    const laze_force *force, laze_error *error);
/* laze_tensors_materialise() for another function, that of `force`. Locks. */
LAZE_MUST_USE laze_status laze_materialise_tensors(laze_tensor *const *tensors, int32_t count, const laze_force *force,
                                                   laze_error *error);

#endif
