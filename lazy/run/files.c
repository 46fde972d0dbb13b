/* Tensors in .npy files: written from an export, read into memory that the tensor borrows. */
#include "base/context.h"
#include "laze/npy.h"
#include "lazy/lazy.h"
#include "lazy/run/export.h"
#include "lazy/run/from_host.h"

laze_status laze_tensor_save(laze_tensor *tensor, const char *path, laze_error *error) {
  laze_export export;
  LAZE_TRY(laze_export_take("laze_tensor_save", tensor, &export, error));
  laze_npy array = {.dtype = export.dtype,
                    .rank = export.rank,
                    .data = (void *)(uintptr_t) export.data, /* which is only read */
                    .size = export.size};
  for (int32_t i = 0; i < export.rank; i++) array.dims[i] = export.sizes[i];
  laze_status status = laze_npy_write(path, &array, error);
  laze_export_release(&export);
  return status;
}

/* What a file held, without the reference of the context, which has the tensor. */
typedef struct {
  laze_context *context;
  void *data;
} file_memory;

static void release_memory(void *self) {
  file_memory *memory = self;
  laze_free(memory->context, memory->data);
  laze_free(memory->context, memory);
}

static laze_tensor *borrow_array(laze_lazy *lazy, laze_npy *array, file_memory *memory) {
  *memory = (file_memory){lazy->context, array->data};
  laze_tensor *tensor = laze_tensor_borrow(lazy->context, array->dtype, (laze_ints){array->dims, array->rank},
                                           array->data, (size_t)array->size, release_memory, memory);
  laze_context_release(array->context);
  return tensor;
}

laze_tensor *laze_tensor_load(laze_context *context, const char *path) {
  laze_lazy *lazy = laze_lazy_get(context);
  if (!lazy) return laze_handle_out_of_memory();
  laze_error error;
  laze_npy array;
  laze_status status = laze_npy_read(lazy->context, path, &array, &error);
  if (status != LAZE_OK) return laze_from_host_handle(lazy, status, NULL, NULL, &error);
  file_memory *memory = laze_alloc(lazy->context, sizeof *memory);
  if (memory) return borrow_array(lazy, &array, memory);
  laze_npy_deinit(&array);
  status = laze_fail_memory(&error, "a tensor from a file", sizeof *memory);
  return laze_from_host_handle(lazy, status, NULL, NULL, &error);
}
