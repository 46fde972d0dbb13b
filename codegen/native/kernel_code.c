/* From an object's bytes to kernels that can be called:
 *
 *   object ── runtime/object_loader ──> mapped code <── kernel laze_f276..., kernel laze_08ff...
 *
 * The last kernel that goes takes the code with it.
 */
#include "codegen/native/kernel_code.h"

#include "runtime/object_loader.h"

#include <stdatomic.h>
#include <string.h>

struct laze_kernel_code {
  _Atomic int64_t references;
  laze_context *context; /* borrowed */
  laze_object *object;
  int32_t kernel_count; /* that share it */
};

static void release(void *object) {
  laze_kernel_code *code = object;
  if (atomic_fetch_sub_explicit(&code->references, 1, memory_order_acq_rel) != 1) return;
  laze_object_destroy(code->object);
  laze_free(code->context, code);
}

void laze_kernel_code_release(laze_kernel_code *code) {
  release(code);
}

laze_status laze_kernel_code_load(laze_context *context, const void *object, int64_t size, int64_t kernel_count,
                                  laze_kernel_code **out, laze_error *error) {
  laze_object_options options = laze_object_options_from_environment();
  laze_kernel_code *made = laze_alloc_zero(context, sizeof *made);
  if (!made) return laze_fail_memory(error, "a kernel's code", sizeof *made);
  made->references = 1;
  made->context = context;
  made->kernel_count = (int32_t)kernel_count;
  laze_status status = laze_object_load(context, object, size, &options, &made->object, error);
  if (status != LAZE_OK)
    laze_free(context, made);
  else
    *out = made;
  return status;
}

laze_status laze_kernel_code_find(laze_kernel_code *code, laze_hash key, const char *symbol, laze_kernel **out,
                                  laze_error *error) {
  void *address = laze_object_find(code->object, symbol);
  laze_kernel_function function;
  if (!address) return laze_fail(error, LAZE_DATA_LOSS, "compiled code lacks its kernel %s", symbol);
  memcpy(&function, &address, sizeof function); /* ISO C has no conversion between the two kinds of pointer */
  atomic_fetch_add(&code->references, 1);
  LAZE_TRY(laze_kernel_create(code->context, symbol, function, NULL, code, release, out, error));
  (*out)->key = key;
  (*out)->bytes = laze_object_size(code->object) / (code->kernel_count > 0 ? code->kernel_count : 1);
  laze_kernel_count(*out);
  return LAZE_OK;
}
