/* Handles of tensors that come from the host. */
#ifndef LAZE_LAZY_RUN_FROM_HOST_H
#define LAZE_LAZY_RUN_FROM_HOST_H

#include "laze/tensor.h"
#include "shape_inference/type.h"

typedef struct laze_buffer laze_buffer;
typedef struct laze_cell laze_cell;
typedef struct laze_lazy laze_lazy;

/* The handle of a buffer of that type, whose reference it takes over, or, where `status` is not LAZE_OK, of `error`
 * (then there is no buffer). Locks. */
laze_tensor *laze_from_host_handle(laze_lazy *lazy, laze_status status, const laze_type *type, laze_buffer *buffer,
                                   const laze_error *error);

/* A cell of a number, with one reference, for numbers that do not fit in a cell. Called with the lock. */
LAZE_MUST_USE laze_status laze_from_host_number(laze_lazy *lazy, laze_dtype dtype, laze_scalar scalar, laze_cell **out,
                                                laze_error *error);

#endif
