/* Finding sizes that are not known. Called with the lock held, which is released while the graph that finds them runs
 * and taken again. Each such run is counted in size_syncs. */
#ifndef LAZE_LAZY_RUN_SIZE_SYNC_H
#define LAZE_LAZY_RUN_SIZE_SYNC_H

#include "shape_inference/type.h"

typedef struct laze_cell laze_cell;
typedef struct laze_lazy laze_lazy;
typedef struct laze_thread_state laze_thread_state;

/* Finds all sizes of a cell, which the caller references, unless they are known: in one graph, which computes nothing
 * else. Where a value that defines one fails, the cell is an error from then on, and this succeeds. */
LAZE_MUST_USE laze_status laze_sync_cell(laze_thread_state *thread, laze_cell *cell, laze_error *error);

/* The same for sizes of a call that has to be recorded anew when they are known, in two parts, between which what was
 * recorded of it goes: selects what defines the sizes, and the values of which those are elements; computes of these
 * what is still there. *found false: nothing is. */
LAZE_MUST_USE laze_status laze_sync_select(laze_lazy *lazy, const laze_size *sizes, int32_t count, uint64_t *selection,
                                           laze_error *error);
LAZE_MUST_USE laze_status laze_sync_selected(laze_thread_state *thread, uint64_t selection, bool *found,
                                             laze_error *error);

#endif
