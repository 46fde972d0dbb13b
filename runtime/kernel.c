/* Kernels as reference-counted objects: a function, its closure, and whatever owns the code. */
#include "runtime/kernel.h"

#include <string.h>

laze_status laze_kernel_create(laze_context *context, const char *name, laze_kernel_function function,
                               const void *closure, void *owner, void (*release_owner)(void *owner), laze_kernel **out,
                               laze_error *error) {
  laze_kernel *kernel = laze_alloc_zero(context, sizeof *kernel);
  char *copy = kernel ? laze_copy_string(context, name) : NULL;
  if (!copy) {
    laze_free(context, kernel);
    if (release_owner) release_owner(owner);
    return laze_fail_memory(error, "a kernel", sizeof *kernel);
  }
  kernel->references = 1;
  kernel->context = context;
  kernel->function = function;
  kernel->closure = closure;
  kernel->owner = owner;
  kernel->release_owner = release_owner;
  kernel->name = copy;
  *out = kernel;
  return LAZE_OK;
}

int64_t laze_kernel_weight(const laze_kernel *kernel) {
  return (int64_t)sizeof *kernel + (int64_t)strlen(kernel->name) + 1 + kernel->bytes;
}

void laze_kernel_count(laze_kernel *kernel) {
  kernel->counted = true;
  laze_metrics_add(laze_context_metrics(kernel->context), LAZE_METRIC_KERNEL_CACHE_BYTES, laze_kernel_weight(kernel));
}

void laze_kernel_retain(laze_kernel *kernel) {
  atomic_fetch_add_explicit(&kernel->references, 1, memory_order_relaxed);
}

void laze_kernel_release(laze_kernel *kernel) {
  if (!kernel || atomic_fetch_sub_explicit(&kernel->references, 1, memory_order_acq_rel) != 1) return;
  laze_metrics *metrics = laze_context_metrics(kernel->context);
  if (kernel->counted) laze_metrics_add(metrics, LAZE_METRIC_KERNEL_CACHE_BYTES, -laze_kernel_weight(kernel));
  if (kernel->release_owner) kernel->release_owner(kernel->owner);
  laze_free(kernel->context, (void *)kernel->name);
  laze_free(kernel->context, kernel);
}
