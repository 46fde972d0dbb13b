/* Makes the buffers and threads of a context on first use, as the context's object for the runtime. */
#include "runtime/runtime.h"

#include "runtime/buffer.h"
#include "runtime/thread_pool.h"

static void destroy_runtime(void *object) {
  laze_runtime *runtime = object;
  laze_thread_pool_destroy(runtime->threads);
  laze_buffer_pool_destroy(runtime->buffers);
  laze_free(runtime->context, runtime);
}

static laze_status fill_runtime(laze_runtime *runtime, laze_error *error) {
  LAZE_TRY(laze_buffer_pool_create(runtime->context, &runtime->buffers, error));
  return laze_thread_pool_create(runtime->context, &runtime->threads, error);
}

static laze_status create_runtime(laze_context *context, void **out, laze_error *error) {
  laze_runtime *runtime = laze_alloc_zero(context, sizeof *runtime);
  if (!runtime) return laze_fail_memory(error, "the runtime", sizeof *runtime);
  runtime->context = context;
  laze_status status = fill_runtime(runtime, error);
  if (status != LAZE_OK) {
    destroy_runtime(runtime);
    return status;
  }
  *out = runtime;
  return LAZE_OK;
}

laze_status laze_runtime_get(laze_context *context, laze_runtime **out, laze_error *error) {
  static const laze_context_object_class class = {LAZE_CONTEXT_RUNTIME, create_runtime, destroy_runtime};
  void *object;
  laze_status status = laze_context_object(context, &class, &object, error);
  *out = object;
  return status;
}
