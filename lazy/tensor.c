/* Tensors from host memory, and back. */
#include "laze/tensor.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "base/float_control.h"
#include "lazy/handle_table.h"

#include <math.h>
#include <string.h>

/* A handle of a value that is there; takes over the reference of `buffer` (NULL: none), also on failure. */
static laze_tensor *create_value(laze_lazy_recorder *recorder, laze_cell_state state, const laze_type *type,
                                 laze_buffer *buffer, laze_scalar scalar) {
  laze_lazy *lazy = recorder->lazy;
  laze_cell *cell = laze_cell_create(lazy, state, type);
  if (!cell) {
    if (buffer) laze_lazy_drop_buffer(lazy, buffer);
    laze_scope_note(recorder, NULL);
    return laze_handle_out_of_memory();
  }
  if (state == LAZE_CELL_BUFFER)
    cell->value.buffer = buffer;
  else
    cell->value.scalar = scalar;
  laze_tensor *handle = laze_handle_create(recorder, cell);
  laze_cell_release(lazy, cell);
  return handle;
}

/* The handle of a buffer, or of the error. Locks. */
static laze_tensor *finish(laze_lazy *lazy, laze_status status, const laze_type *type, laze_buffer *buffer,
                           const laze_error *error) {
  laze_lazy_recorder *recorder = laze_lazy_lock(lazy);
  if (!recorder) {
    if (status == LAZE_OK) laze_buffer_release(buffer);
    return laze_handle_out_of_memory();
  }
  laze_tensor *handle = status == LAZE_OK ? create_value(recorder, LAZE_CELL_BUFFER, type, buffer, (laze_scalar){0})
                                          : laze_handle_fail(recorder, error);
  laze_lazy_unlock(lazy);
  return handle;
}

static laze_status find_backend(laze_lazy *lazy, const laze_backend **out, laze_error *error) {
  pthread_mutex_lock(&lazy->lock);
  laze_status status = laze_lazy_backend(lazy, out, error);
  pthread_mutex_unlock(&lazy->lock);
  return status;
}

/* Kernels rely on it. */
static laze_status check_bools(const char *function, const void *data, int64_t count, laze_error *error) {
  const uint8_t *bytes = data;
  for (int64_t i = 0; i < count; i++)
    if (bytes[i] > 1)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: element %lld is the byte %d, but a bool is 0 or 1", function,
                       (long long)i, (int)bytes[i]);
  return LAZE_OK;
}

/* The type of `shape`, whose bytes must be `size`. */
static laze_status check_data(const char *function, laze_dtype dtype, laze_ints shape, const void *data, size_t size,
                              laze_type *type, laze_error *error) {
  laze_size elements;
  LAZE_TRY(laze_type_init(type, function, dtype, shape.count, shape.items, error));
  LAZE_TRY(laze_type_elements(NULL, type, &elements, error));
  int64_t bytes = elements * laze_dtype_size(dtype); /* fits: laze_type_init has checked it */
  char text[128];
  if ((uint64_t)bytes != (uint64_t)size)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s takes %lld bytes, but size is %zu", function,
                     laze_type_format(NULL, type, text, sizeof text), (long long)bytes, size);
  if (!data && size > 0) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: data is NULL", function);
  return dtype == LAZE_BOOL ? check_bools(function, data, elements, error) : LAZE_OK;
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
  laze_status status = check_data("laze_tensor_from_data", dtype, shape, data, size, &type, &error);
  if (status == LAZE_OK) status = copy_in(lazy, data, size, &buffer, &error);
  return finish(lazy, status, &type, buffer, &error);
}

/* What a borrowed buffer calls when it goes. */
typedef struct {
  laze_context *context;
  void (*release)(void *self);
  void *self;
} borrowed;

static void release_borrowed(void *self, void *data) {
  (void)data;
  borrowed *owner = self;
  owner->release(owner->self);
  laze_free(owner->context, owner);
}

static laze_status wrap(laze_context *context, const void *data, size_t size, void (*release)(void *self), void *self,
                        laze_buffer **out, laze_error *error) {
  borrowed *owner = NULL;
  if (release) {
    owner = laze_alloc(context, sizeof *owner);
    if (!owner) return laze_fail_memory(error, "a borrowed tensor", sizeof *owner);
    *owner = (borrowed){context, release, self};
  }
  /* Inputs are only read. */
  laze_status status = laze_buffer_borrow(context, (void *)(uintptr_t)data, (int64_t)size,
                                          release ? release_borrowed : NULL, owner, out, error);
  if (status != LAZE_OK) laze_free(context, owner);
  return status;
}

laze_tensor *laze_tensor_borrow(laze_context *context, laze_dtype dtype, laze_ints shape, const void *data, size_t size,
                                void (*release)(void *self), void *self) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_error error;
  laze_type type;
  laze_buffer *buffer = NULL;
  laze_status status =
      lazy ? check_data("laze_tensor_borrow", dtype, shape, data, size, &type, &error) : LAZE_OUT_OF_MEMORY;
  if (status == LAZE_OK && (uintptr_t)data % (uintptr_t)laze_dtype_size(dtype) != 0)
    status =
        laze_fail(&error, LAZE_INVALID_ARGUMENT,
                  "laze_tensor_borrow: data at %p is not aligned to the %d bytes of a %s; align it, or copy it with "
                  "laze_tensor_from_data",
                  data, (int)laze_dtype_size(dtype), laze_dtype_name(dtype));
  if (status == LAZE_OK) status = wrap(lazy->context, data, size, release, self, &buffer, &error);
  if (status != LAZE_OK && release) release(self);
  return lazy ? finish(lazy, status, &type, buffer, &error) : laze_handle_out_of_memory();
}

laze_tensor *laze_tensor_from_scalar(laze_context *context, laze_dtype dtype, laze_scalar value) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_lazy_recorder *recorder = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!recorder) return laze_handle_out_of_memory();
  laze_error error;
  laze_type type;
  laze_status status = laze_type_init(&type, "laze_tensor_from_scalar", dtype, 0, NULL, &error);
  if (status == LAZE_OK && value.dtype != LAZE_F64 && value.dtype != LAZE_I64 && value.dtype != LAZE_BOOL)
    status = laze_fail(&error, LAZE_INVALID_ARGUMENT,
                       "laze_tensor_from_scalar: the number is of dtype %d; use laze_scalar_real, _integer or _boolean",
                       (int)value.dtype);
  if (value.dtype == LAZE_BOOL) value = laze_scalar_boolean(value.value.integer != 0);
  laze_tensor *handle = status == LAZE_OK ? create_value(recorder, LAZE_CELL_SCALAR, &type, NULL, value)
                                          : laze_handle_fail(recorder, &error);
  laze_lazy_unlock(lazy);
  return handle;
}

/* A value to copy out, referenced: it needs no lock any more. */
typedef struct {
  laze_dtype dtype;
  int64_t elements;
  laze_buffer *buffer; /* NULL: `scalar` */
  laze_scalar scalar;
} value_out;

/* Converts `count` elements. */
static void convert(laze_dtype from, const void *source, laze_dtype to, void *data, int64_t count) {
  for (int64_t i = 0; i < count; i++) laze_scalar_store(laze_scalar_load(from, source, i), to, data, i);
}

static laze_status copy_out(laze_lazy *lazy, const value_out *value, laze_dtype dtype, void *data, laze_error *error) {
  if (!value->buffer) {
    int64_t number = 0; /* rounded to the tensor's own dtype first */
    laze_scalar_store(value->scalar, value->dtype, &number, 0);
    convert(value->dtype, &number, dtype, data, 1);
    return LAZE_OK;
  }
  int64_t bytes = value->elements * laze_dtype_size(value->dtype);
  if (value->dtype == dtype) return lazy->backend->copy_to_host(value->buffer, data, bytes, error);
  void *copy = laze_alloc(lazy->context, bytes);
  if (!copy) return laze_fail_memory(error, "converting a tensor that is read", bytes);
  laze_status status = lazy->backend->copy_to_host(value->buffer, copy, bytes, error);
  if (status == LAZE_OK) convert(value->dtype, copy, dtype, data, value->elements);
  laze_free(lazy->context, copy);
  return status;
}

static laze_status check_cell(const laze_cell *cell, laze_error *error) {
  if (cell->state != LAZE_CELL_ERROR) return LAZE_OK;
  return laze_fail(error, cell->value.failure->code, "%s", cell->value.failure->message);
}

/* Computes the slot's cell; with `out`, takes its value. */
static laze_status compute(laze_lazy_recorder *recorder, laze_cell *cell, value_out *out, laze_error *error) {
  const laze_backend *backend; /* borrowed memory is read through it, too */
  LAZE_TRY(check_cell(cell, error));
  LAZE_TRY(laze_lazy_backend(recorder->lazy, &backend, error));
  LAZE_TRY(laze_materialise_cell(recorder, cell, error));
  LAZE_TRY(check_cell(cell, error));
  if (!out) return LAZE_OK;
  *out = (value_out){.dtype = cell->dtype, .elements = laze_cell_elements(cell)};
  if (cell->state == LAZE_CELL_SCALAR) {
    out->scalar = cell->value.scalar;
  } else {
    out->buffer = cell->value.buffer;
    laze_buffer_retain(out->buffer);
  }
  return LAZE_OK;
}

/* Keeps the error of a read in its handle. A read that returns a status has reported it; otherwise it is the scope's.
 */
static void note_read_error(laze_lazy_recorder *recorder, laze_tensor *tensor, const laze_error *error, bool reported) {
  laze_lazy *lazy = recorder->lazy;
  laze_slot *slot = laze_handle_slot(tensor);
  laze_cell *cell = slot ? slot->storage->cell : NULL;
  if (cell && cell->state == LAZE_CELL_ERROR) {
    if (reported) cell->value.failure->reported = true;
    return; /* noted in the scope when it arose */
  }
  laze_failure *failure = laze_failure_create(lazy, error);
  if (!reported || !failure) laze_scope_note(recorder, failure);
  if (slot && failure) (void)laze_quotes_put(lazy, &slot->errors, failure);
  laze_failure_release(lazy, failure);
}

/* A read without a status had no tensor: the scope reports it, that of the default context where there is no handle. */
static laze_status note_missing(laze_lazy_recorder *recorder, laze_tensor *tensor, const char *function) {
  laze_error error;
  laze_status status = laze_fail(&error, LAZE_INVALID_ARGUMENT, "%s: the tensor is %s", function,
                                 tensor ? "a released handle; retain a tensor that is used after its scope" : "NULL");
  note_read_error(recorder, tensor, &error, false);
  return status;
}

/* What the caller asked for. */
typedef struct {
  const char *function; /* which the caller called: for messages */
  laze_dtype dtype;     /* LAZE_DTYPE_NONE: to compute, without copying */
  void *data;
  size_t size;
  bool reports; /* the function returns a status */
} read_request;

static laze_status check_read(const laze_cell *cell, const read_request *request, laze_error *error) {
  if (cell->state == LAZE_CELL_ERROR) return LAZE_OK; /* reported instead */
  const char *function = request->function;
  laze_dtype dtype = request->dtype;
  if (!laze_dtype_is_valid(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d is no dtype", function, (int)dtype);
  int64_t bytes;
  if (laze_mul_overflows(laze_cell_elements(cell), laze_dtype_size(dtype), &bytes)) bytes = -1;
  laze_type type;
  char text[128];
  laze_cell_type(cell, &type);
  bool fits = bytes >= 0 && (uint64_t)bytes == (uint64_t)request->size;
  if (!fits && !request->reports)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the tensor is %s; it must have one element", function,
                     laze_type_format(NULL, &type, text, sizeof text));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s read as %s takes %lld bytes, but size is %zu", function,
                     laze_type_format(NULL, &type, text, sizeof text), laze_dtype_name(dtype), (long long)bytes,
                     request->size);
  if (!request->data && request->size > 0) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: data is NULL", function);
  return LAZE_OK;
}

static laze_status read_guarded(laze_tensor *tensor, const read_request *request) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (tensor == laze_handle_out_of_memory()) return LAZE_OUT_OF_MEMORY; /* noted when it arose */
  if (!lazy && request->reports) return LAZE_INVALID_ARGUMENT;
  if (!lazy) lazy = laze_lazy_get(NULL);
  laze_lazy_recorder *recorder = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!recorder) return LAZE_OUT_OF_MEMORY;
  laze_error error;
  laze_slot *slot = laze_handle_slot(tensor);
  if (!slot) {
    laze_status status = request->reports ? LAZE_INVALID_ARGUMENT : note_missing(recorder, tensor, request->function);
    laze_lazy_unlock(lazy);
    return status;
  }
  bool copies = request->dtype != LAZE_DTYPE_NONE;
  value_out value = {0};
  laze_cell *cell = slot->storage->cell;
  laze_cell_retain(cell);
  laze_status status = copies ? check_read(cell, request, &error) : LAZE_OK;
  if (status == LAZE_OK) status = compute(recorder, cell, copies ? &value : NULL, &error);
  laze_cell_release(lazy, cell);
  if (status == LAZE_OK && copies) {
    laze_lazy_unlock(lazy);
    status = copy_out(lazy, &value, request->dtype, request->data, &error);
    laze_buffer_release(value.buffer);
    if (status == LAZE_OK) return LAZE_OK;
    pthread_mutex_lock(&lazy->lock);
  }
  if (status != LAZE_OK) note_read_error(recorder, tensor, &error, request->reports);
  laze_lazy_unlock(lazy);
  return status;
}

static laze_status read_tensor(laze_tensor *tensor, const read_request *request) {
  laze_float_control caller = laze_float_control_enter();
  laze_status status = read_guarded(tensor, request);
  laze_float_control_leave(&caller);
  return status;
}

laze_status laze_tensor_read(laze_tensor *tensor, laze_dtype dtype, void *data, size_t size) {
  if (dtype == LAZE_DTYPE_NONE) dtype = -1;
  return read_tensor(tensor, &(read_request){__func__, dtype, data, size, true});
}

double laze_tensor_item(laze_tensor *tensor) {
  double value;
  const read_request request = {__func__, LAZE_F64, &value, sizeof value, false};
  return read_tensor(tensor, &request) == LAZE_OK ? value : (double)NAN;
}

laze_status laze_tensor_materialise(laze_tensor *tensor) {
  return read_tensor(tensor, &(read_request){__func__, LAZE_DTYPE_NONE, NULL, 0, true});
}

const char *laze_tensor_error(laze_tensor *tensor) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  const char *message = "the handle was released; retain a tensor that is used after its scope";
  if (!tensor) return "the tensor is NULL";
  if (tensor == laze_handle_out_of_memory()) return "out of memory: there was none for this tensor";
  if (!lazy) return message; /* with its context */
  pthread_mutex_lock(&lazy->lock);
  laze_slot *slot = laze_handle_slot(tensor);
  if (slot) {
    const laze_cell *cell = slot->storage->cell;
    message = slot->errors ? slot->errors->failure->message : "";
    if (cell->state == LAZE_CELL_ERROR) message = laze_quotes_put(lazy, &slot->errors, cell->value.failure);
    if (slot->errors) slot->errors->given_out = true;
  }
  pthread_mutex_unlock(&lazy->lock);
  return message;
}

/* The type of the tensor; false for the handle of a failed call. A value that failed when it ran keeps its type. */
static bool find_type(laze_tensor *tensor, laze_type *out) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy) return false;
  pthread_mutex_lock(&lazy->lock);
  const laze_slot *slot = laze_handle_slot(tensor);
  bool found = slot && slot->storage->cell->dtype != LAZE_DTYPE_NONE;
  if (found) laze_cell_type(slot->storage->cell, out);
  pthread_mutex_unlock(&lazy->lock);
  return found;
}

laze_dtype laze_tensor_dtype(laze_tensor *tensor) {
  laze_type type;
  return find_type(tensor, &type) ? type.dtype : LAZE_DTYPE_NONE;
}

int32_t laze_tensor_rank(laze_tensor *tensor) {
  laze_type type;
  return find_type(tensor, &type) ? type.rank : -1;
}

int64_t laze_tensor_size(laze_tensor *tensor, int32_t axis) {
  laze_type type;
  if (!find_type(tensor, &type)) return -1;
  if (axis < 0) axis += type.rank;
  return axis >= 0 && axis < type.rank ? type.sizes[axis] : -1;
}

int64_t laze_tensor_elements(laze_tensor *tensor) {
  laze_type type;
  laze_size elements;
  return find_type(tensor, &type) && laze_type_elements(NULL, &type, &elements, NULL) == LAZE_OK ? elements : -1;
}
