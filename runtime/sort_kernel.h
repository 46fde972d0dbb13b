/* The kernel that sorts the rows of a tensor along an axis, or finds the first elements of their order. */
#ifndef LAZE_RUNTIME_SORT_KERNEL_H
#define LAZE_RUNTIME_SORT_KERNEL_H

#include "runtime/kernel.h"

/* Its buffers are the tensor, of `dtype`, then the values in order, and with `places` as i64 the place along the axis
 * that each had, without which it takes less than half of the time.
 * Its run-time integers are the elements of a row, how far apart those lie, and how many of a row in order the results
 * have, up to all. Iterations are rows, in row-major order of the other axes; one takes LAZE_SORT_SCRATCH bytes of
 * scratch for each element of a row.
 *
 * Equal elements keep their order, also where it is descending; NaNs are equal to each other and greater than every
 * number, -0 equals 0. The time is at most proportional to the elements and the bytes of the dtype, whatever their
 * order, and of a few among many mostly to the elements.
 *
 * *out has one reference, the caller's, and borrows the context; LAZE_OUT_OF_MEMORY is all that can go wrong. The
 * kernel itself cannot fail, and may run on several threads at once. */
#define LAZE_SORT_SCRATCH 32
LAZE_MUST_USE laze_status laze_sort_kernel_create(laze_context *context, laze_dtype dtype, bool descending, bool places,
                                                  laze_kernel **out, laze_error *error);

#endif
