/* The kernel that copies the pieces of a concatenation to their places. */
#ifndef LAZE_RUNTIME_COPY_KERNEL_H
#define LAZE_RUNTIME_COPY_KERNEL_H

#include "runtime/kernel.h"

/* Its buffers are `count` pieces, then the result; its run-time integers `count`, the bytes of a row of the result, and
 * those of each piece's part of a row. Iterations are the result's bytes.
 *
 * *out has one reference, the caller's, and borrows the context; LAZE_OUT_OF_MEMORY is all that can go wrong. The
 * kernel itself cannot fail, and may run on several threads at once. */
LAZE_MUST_USE laze_status laze_copy_kernel_create(laze_context *context, laze_kernel **out, laze_error *error);

#endif
