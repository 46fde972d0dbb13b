/* What control flow that was baked in looks like: another graph for other values (laze_trace_compare). */
#ifndef LAZE_LAZY_TRACING_CHECK_H
#define LAZE_LAZY_TRACING_CHECK_H

#include "laze/tensor.h"

/* A tensor of the same type with other elements (laze/trace.h), of the current scope. */
laze_tensor *laze_other_values(laze_tensor *tensor);

#endif
