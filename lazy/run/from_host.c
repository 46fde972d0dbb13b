/* Tensors from what the host has: copied into a buffer of the backend, borrowed, or a number that waits in its cell. */
#include "lazy/run/from_host.h"

#include "base/dtype.h"
#include "lazy/lazy.h"
#include "lazy/run/compile.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"
#include "runtime/backend.h"

/* A handle of a value that is there; takes over the reference of `buffer` (NULL: none), also on failure. */
static laze_tensor *create_value(laze_thread_state *thread, laze_cell_state state, const laze_type *type,
                                 laze_buffer *buffer, laze_scalar scalar) {
  laze_lazy *lazy = thread->lazy;
  laze_cell *cell = laze_cell_create(lazy, state, type);
  if (!cell) {
    if (buffer) laze_lazy_drop_buffer(lazy, buffer);
    laze_scope_note(thread, NULL);
    return laze_handle_out_of_memory();
  }
  if (state == LAZE_CELL_BUFFER)
    cell->value.buffer = buffer;
  else
    laze_cell_set_scalar(cell, scalar);
  laze_tensor *handle = laze_handle_create(thread, cell);
  laze_cell_release(lazy, cell);
  return handle;
}

laze_tensor *laze_from_host_handle(laze_lazy *lazy, laze_status status, const laze_type *type, laze_buffer *buffer,
                                   const laze_error *error) {
  laze_thread_state *thread = laze_lazy_lock(lazy);
  if (!thread) {
    if (status == LAZE_OK) laze_buffer_release(buffer);
    return laze_handle_out_of_memory();
  }
  laze_tensor *handle = status == LAZE_OK ? create_value(thread, LAZE_CELL_BUFFER, type, buffer, (laze_scalar){0})
                                          : laze_handle_fail(thread, error);
  laze_lazy_unlock(lazy);
  return handle;
}

static laze_status find_backend(laze_lazy *lazy, const laze_backend **out, laze_error *error) {
  pthread_mutex_lock(&lazy->lock);
  laze_status status = laze_lazy_backend(lazy, out, error);
  pthread_mutex_unlock(&lazy->lock);
  return status;
}

static laze_status copy_in(laze_lazy *lazy, const void *data, size_t size, laze_buffer **out, laze_error *error) {
  const laze_backend *backend;
  LAZE_TRY(find_backend(lazy, &backend, error));
  LAZE_TRY(backend->allocate(lazy->context, (int64_t)size, out, error));
  laze_status status = backend->copy_from_host(*out, data, (int64_t)size, error);
  if (status != LAZE_OK) laze_buffer_release(*out);
  return status;
}

laze_tensor *laze_tensor_from_data(laze_context *context, laze_dtype dtype, laze_ints shape, const void *data,
                                   size_t size) {
  laze_lazy *lazy = laze_lazy_get(context);
  if (!lazy) return laze_handle_out_of_memory();
  laze_error error;
  laze_type type;
  laze_buffer *buffer = NULL;
  laze_status status = laze_type_of_data(&type, "laze_tensor_from_data", dtype, shape, data, size, &error);
  if (status == LAZE_OK) status = copy_in(lazy, data, size, &buffer, &error);
  return laze_from_host_handle(lazy, status, &type, buffer, &error);
}

laze_tensor *laze_tensor_borrow(laze_context *context, laze_dtype dtype, laze_ints shape, const void *data, size_t size,
                                void (*release)(void *self), void *self) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_error error;
  laze_type type;
  laze_buffer *buffer = NULL;
  laze_status status =
      lazy ? laze_type_of_data(&type, "laze_tensor_borrow", dtype, shape, data, size, &error) : LAZE_OUT_OF_MEMORY;
  if (status == LAZE_OK) status = laze_type_check_aligned("laze_tensor_borrow", dtype, data, &error);
  if (status == LAZE_OK)
    status = laze_buffer_lend(lazy->context, (void *)(uintptr_t)data, (int64_t)size, release, self, &buffer, &error);
  if (status != LAZE_OK && release) release(self);
  return lazy ? laze_from_host_handle(lazy, status, &type, buffer, &error) : laze_handle_out_of_memory();
}

laze_status laze_from_host_number(laze_lazy *lazy, laze_dtype dtype, laze_scalar scalar, laze_cell **out,
                                  laze_error *error) {
  const laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = (uint8_t)dtype, .rank = 0};
  const laze_backend *backend;
  laze_buffer *buffer;
  double number[2];
  laze_scalar_store(scalar, dtype, number, 0);
  LAZE_TRY(laze_lazy_backend(lazy, &backend, error));
  LAZE_TRY(backend->allocate(lazy->context, laze_dtype_size(dtype), &buffer, error));
  laze_status status = backend->copy_from_host(buffer, number, laze_dtype_size(dtype), error);
  *out = status == LAZE_OK ? laze_cell_create(lazy, LAZE_CELL_BUFFER, &type) : NULL;
  if (*out) {
    (*out)->value.buffer = buffer;
    return LAZE_OK;
  }
  laze_buffer_release(buffer);
  return status == LAZE_OK ? laze_fail_memory(error, "a number", sizeof **out) : status;
}

/* A handle of a number that is or becomes complex. */
static laze_tensor *create_complex(laze_thread_state *thread, laze_dtype dtype, laze_scalar value, laze_error *error) {
  laze_cell *cell;
  if (laze_from_host_number(thread->lazy, dtype, value, &cell, error) != LAZE_OK)
    return laze_handle_fail(thread, error);
  laze_tensor *handle = laze_handle_create(thread, cell);
  laze_cell_release(thread->lazy, cell);
  return handle;
}

laze_tensor *laze_tensor_from_scalar(laze_context *context, laze_dtype dtype, laze_scalar value) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return laze_handle_out_of_memory();
  laze_error error;
  laze_type type;
  laze_status status = laze_type_init(&type, "laze_tensor_from_scalar", dtype, 0, NULL, &error);
  if (status == LAZE_OK && !laze_scalar_is_real(value) && value.dtype != LAZE_I64 && value.dtype != LAZE_U64 &&
      value.dtype != LAZE_BOOL)
    status = laze_fail(&error, LAZE_INVALID_ARGUMENT,
                       "laze_tensor_from_scalar: the number is of dtype %d; use laze_scalar_real, _integer, _unsigned, "
                       "_boolean or _complex",
                       (int)value.dtype);
  if (value.dtype == LAZE_BOOL) value = laze_scalar_boolean(value.value.integer != 0);
  const bool complex = laze_dtype_is_complex(dtype) || laze_dtype_is_complex(value.dtype);
  laze_tensor *handle = status != LAZE_OK ? laze_handle_fail(thread, &error)
                        : complex         ? create_complex(thread, dtype, value, &error)
                                          : create_value(thread, LAZE_CELL_SCALAR, &type, NULL, value);
  laze_lazy_unlock(lazy);
  return handle;
}
