/* Results that share memory with an argument: views that nobody can write to. */
#ifndef LAZE_LAZY_LIBRARY_VIEW_H
#define LAZE_LAZY_LIBRARY_VIEW_H

#include "lazy/library/dispatch.h"

/* Makes the result of a call, a handle that was made just now, a view of the first argument. */
LAZE_MUST_USE laze_status laze_library_make_view(const laze_library_state *state, laze_tensor *result,
                                                 laze_error *error);

/* Whether two tensors are one, or views of one. */
bool laze_library_share_memory(const laze_library_state *state, laze_tensor *a, laze_tensor *b);

#endif
