/* Tensors in files, .npy and safetensors: written from exports, read as memory that tensors borrow. */
#include "base/context.h"
#include "laze/npy.h"
#include "laze/safetensors.h"
#include "lazy/lazy.h"
#include "lazy/run/export.h"
#include "lazy/run/from_host.h"
#include "lazy/run/materialise.h"

laze_status laze_tensor_save(laze_tensor *tensor, const char *path, laze_error *error) {
  laze_export export;
  const laze_force force = {.reason = LAZE_FORCE_SAVE, .function = __func__};
  if (!path) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: path is NULL: expected a file name", __func__);
  LAZE_TRY(laze_export_take(&force, tensor, &export, error));
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
  laze_status status =
      path ? laze_npy_read(lazy->context, path, &array, &error)
           : laze_fail(&error, LAZE_INVALID_ARGUMENT, "%s: path is NULL: expected a file name", __func__);
  if (status != LAZE_OK) return laze_from_host_handle(lazy, status, NULL, NULL, &error);
  file_memory *memory = laze_alloc(lazy->context, sizeof *memory);
  if (memory) return borrow_array(lazy, &array, memory);
  laze_npy_deinit(&array);
  status = laze_fail_memory(&error, "a tensor from a file", sizeof *memory);
  return laze_from_host_handle(lazy, status, NULL, NULL, &error);
}

static void release_file(void *self) {
  laze_safetensors_release(self);
}

/* The bytes of a bool are 0 or 1, which kernels rely on. */
static laze_status check_bytes(const laze_safetensors_item *item, laze_error *error) {
  const unsigned char *bytes = item->data;
  for (int64_t i = 0; item->dtype == LAZE_BOOL && i < item->size; i++)
    if (bytes[i] > 1)
      return laze_fail(error, LAZE_DATA_LOSS, "\"%.64s\" of a safetensors file has the byte %d among its bools",
                       item->name, bytes[i]);
  return LAZE_OK;
}

laze_tensor *laze_tensor_from_safetensors(laze_context *context, laze_safetensors *file, const char *name) {
  laze_lazy *lazy = laze_lazy_get(context);
  if (!lazy) return laze_handle_out_of_memory();
  laze_error error;
  const laze_safetensors_item *item = file ? laze_safetensors_find(file, name) : NULL;
  laze_status status =
      item ? check_bytes(item, &error)
           : laze_fail(&error, LAZE_NOT_FOUND, "the safetensors file has no tensor \"%.64s\"", name ? name : "(NULL)");
  if (status != LAZE_OK) return laze_from_host_handle(lazy, status, NULL, NULL, &error);
  const laze_ints shape = {item->dims, item->rank};
  if ((uintptr_t)item->data % (uintptr_t)laze_dtype_size(item->dtype) != 0)
    return laze_tensor_from_data(lazy->context, item->dtype, shape, item->data, (size_t)item->size);
  laze_safetensors_retain(file);
  return laze_tensor_borrow(lazy->context, item->dtype, shape, item->data, (size_t)item->size, release_file, file);
}

static const laze_force saving = {.reason = LAZE_FORCE_SAVE, .function = "laze_tensors_save"};

/* Lends the memory of all tensors; those before a failure too are to be given back. */
static laze_status lend(const laze_named_tensor *tensors, int32_t count, laze_export *exports,
                        laze_safetensors_item *items, laze_error *error) {
  for (int32_t i = 0; i < count; i++) {
    laze_export *export = &exports[i];
    LAZE_TRY(laze_export_take(&saving, tensors[i].tensor, export, error));
    if (export->rank > LAZE_SAFETENSORS_MAX_RANK)
      return laze_fail(error, LAZE_UNSUPPORTED, "laze_tensors_save: tensor %d has %d axes; %d can be saved", (int)i,
                       (int)export->rank, LAZE_SAFETENSORS_MAX_RANK);
    items[i] = (laze_safetensors_item){tensors[i].name, export->dtype, export->rank, {0}, export->data, export->size};
    for (int32_t axis = 0; axis < export->rank; axis++) items[i].dims[axis] = export->sizes[axis];
  }
  return LAZE_OK;
}

laze_status laze_tensors_save(laze_context *context, const laze_named_tensor *tensors, int32_t count,
                              const laze_safetensors_note *notes, int32_t note_count, const char *path,
                              laze_error *error) {
  if (count < 0 || (count > 0 && !tensors))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_tensors_save: %d tensors at %p are no list", (int)count,
                     (const void *)tensors);
  if (!path || note_count < 0 || (note_count > 0 && !notes))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_tensors_save: expected a path, and a list of notes");
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  laze_tensor **handles = laze_alloc_array(context, count, sizeof *handles);
  laze_export *exports = laze_alloc_zero(context, count * (int64_t)sizeof *exports);
  laze_safetensors_item *items = laze_alloc_array(context, count, sizeof *items);
  laze_status status = handles && exports && items ? LAZE_OK : laze_fail_memory(error, "a list of tensors", count);
  for (int32_t i = 0; status == LAZE_OK && i < count; i++) handles[i] = tensors[i].tensor;
  if (status == LAZE_OK) status = laze_materialise_tensors(handles, count, &saving, error);
  if (status == LAZE_OK) status = lend(tensors, count, exports, items, error);
  if (status == LAZE_OK) status = laze_safetensors_write(context, path, items, count, notes, note_count, error);
  for (int32_t i = 0; exports && i < count; i++) laze_export_release(&exports[i]);
  laze_free(context, handles);
  laze_free(context, exports);
  laze_free(context, items);
  return status;
}
