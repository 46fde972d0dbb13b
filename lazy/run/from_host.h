/* Handles of tensors that come from the host. */
#ifndef LAZE_LAZY_RUN_FROM_HOST_H
#define LAZE_LAZY_RUN_FROM_HOST_H

#include "laze/tensor.h"
#include "shape_inference/type.h"

typedef struct laze_buffer laze_buffer;
typedef struct laze_lazy laze_lazy;

/* The handle of a buffer of that type, whose reference it takes over, or, where `status` is not LAZE_OK, of `error`
 * (then there is no buffer). Locks. */
laze_tensor *laze_from_host_handle(laze_lazy *lazy, laze_status status, const laze_type *type, laze_buffer *buffer,
                                   const laze_error *error);

#endif
