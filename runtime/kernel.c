#include "runtime/kernel.h"

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

void laze_kernel_retain(laze_kernel *kernel) {
  atomic_fetch_add_explicit(&kernel->references, 1, memory_order_relaxed);
}

void laze_kernel_release(laze_kernel *kernel) {
  if (!kernel || atomic_fetch_sub_explicit(&kernel->references, 1, memory_order_acq_rel) != 1) return;
  if (kernel->release_owner) kernel->release_owner(kernel->owner);
  laze_free(kernel->context, (void *)kernel->name);
  laze_free(kernel->context, kernel);
}
