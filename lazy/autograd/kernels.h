/* Kernels (laze/opaque.h) that backward passes record, of every context that needs them. Called without the lock. */
#ifndef LAZE_LAZY_AUTOGRAD_KERNELS_H
#define LAZE_LAZY_AUTOGRAD_KERNELS_H

#include "base/status.h"
#include "laze/tensor.h"

/* The first operand, where the others are known: what is computed from it is computed after them, and is nothing that
 * was computed from the operand itself. */
#define LAZE_KERNEL_BARRIER "laze.barrier"
/* Its operand, where each element is a number; otherwise it fails with the call's first string. */
#define LAZE_KERNEL_NUMBERS "laze.numbers"

/* Has the context know them, which it may already. */
LAZE_MUST_USE laze_status laze_kernels_register(laze_context *context, laze_error *error);

#endif
