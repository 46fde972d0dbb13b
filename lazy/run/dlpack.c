/* Tensors by DLPack: as arrays are (runtime/dlpack.h), computed first. */
#include "runtime/dlpack.h"

#include "laze/tensor.h"
#include "lazy/lazy.h"
#include "lazy/run/array.h"
#include "lazy/run/from_host.h"
#include "lazy/value/handle.h"

laze_status laze_tensor_to_dlpack(laze_tensor *tensor, int32_t version, void **managed, laze_error *error) {
  static const laze_force force = {.reason = LAZE_FORCE_EXPORT, .function = "laze_tensor_to_dlpack"};
  laze_array *array;
  if (!managed) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_tensor_to_dlpack: managed is NULL");
  *managed = NULL;
  LAZE_TRY(laze_array_take(&force, tensor, &array, error));
  return laze_dlpack_give(force.function, array, version, managed, error);
}

laze_tensor *laze_tensor_from_dlpack(laze_context *context, int32_t version, void *managed) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_error error;
  laze_type type;
  laze_buffer *buffer;
  if (!context && lazy) context = lazy->context;
  const laze_status status =
      laze_dlpack_take("laze_tensor_from_dlpack", context, version, managed, &type, &buffer, &error);
  if (lazy) return laze_from_host_handle(lazy, status, &type, buffer, &error);
  if (status == LAZE_OK) laze_buffer_release(buffer);
  return laze_handle_out_of_memory();
}
