/* Buffers by DLPack (laze/dlpack.h), for arrays and for tensors. `function` is what messages name. */
#ifndef LAZE_RUNTIME_DLPACK_H
#define LAZE_RUNTIME_DLPACK_H

#include "laze/dlpack.h"
#include "runtime/array.h"

/* The memory of an array, whose reference it takes over, also on failure: *managed is NULL then. */
LAZE_MUST_USE laze_status laze_dlpack_give(const char *function, laze_array *array, int32_t version, void **managed,
                                           laze_error *error);
/* The type and the memory of `managed`, which is taken over, also on failure. */
LAZE_MUST_USE laze_status laze_dlpack_take(const char *function, laze_context *context, int32_t version, void *managed,
                                           laze_type *type, laze_buffer **out, laze_error *error);

#endif
