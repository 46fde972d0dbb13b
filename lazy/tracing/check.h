/* What control flow that was baked in looks like: another graph for other values. */
#ifndef LAZE_LAZY_TRACING_CHECK_H
#define LAZE_LAZY_TRACING_CHECK_H

#include "ir/graph.h"
#include "laze/tensor.h"

/* A tensor of the same type with other elements (laze/trace.h), of the current scope. */
laze_tensor *laze_other_values(laze_tensor *tensor);
/* LAZE_OK where both traces of a function are one graph; LAZE_FAILED_PRECONDITION with the first node that differs, and
 * where each was recorded. */
LAZE_MUST_USE laze_status laze_traces_compare(const laze_graph *first, const laze_graph *second, laze_error *error);

#endif
