/* An object in memory and the kernels in it, which keep it alive. */
#ifndef LAZE_CODEGEN_NATIVE_KERNEL_CODE_H
#define LAZE_CODEGEN_NATIVE_KERNEL_CODE_H

#include "base/hash.h"
#include "runtime/kernel.h"

typedef struct laze_kernel_code laze_kernel_code;

/* Maps an object of `kernel_count` kernels. *out is one reference. */
LAZE_MUST_USE laze_status laze_kernel_code_load(laze_context *context, const void *object, int64_t size,
                                                int64_t kernel_count, laze_kernel_code **out, laze_error *error);
void laze_kernel_code_release(laze_kernel_code *code);

/* Its kernel `symbol`, as a new reference that keeps the code; `key` is what it is found by. LAZE_DATA_LOSS where the
 * object has no such function. */
LAZE_MUST_USE laze_status laze_kernel_code_find(laze_kernel_code *code, laze_hash key, const char *symbol,
                                                laze_kernel **out, laze_error *error);

#endif
