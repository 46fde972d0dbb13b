/* Tensors' values as arrays. */
#ifndef LAZE_LAZY_RUN_ARRAY_H
#define LAZE_LAZY_RUN_ARRAY_H

#include "laze/buffer.h"
#include "laze/tensor.h"
#include "lazy/run/force.h"

/* Computes the tensor; *out is the caller's, and shares its memory. Messages name the function of `force`. Locks. */
LAZE_MUST_USE laze_status laze_array_take(const laze_force *force, laze_tensor *tensor, laze_array **out,
                                          laze_error *error);

#endif
