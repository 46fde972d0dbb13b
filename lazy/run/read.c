/* Reads: a tensor's value is computed if it is pending, then copied to host memory. */
#include "lazy/run/read.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "base/float_control.h"
#include "lazy/lazy.h"
#include "lazy/run/compile.h"
#include "lazy/run/materialise.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"
#include "runtime/backend.h"

#include <math.h>

/* Converts `count` elements. */
static void convert(laze_dtype from, const void *source, laze_dtype to, void *data, int64_t count) {
  for (int64_t i = 0; i < count; i++) laze_scalar_store(laze_scalar_load(from, source, i), to, data, i);
}

static laze_status copy_out(laze_lazy *lazy, const laze_value_out *value, int64_t elements, laze_dtype dtype,
                            void *data, laze_error *error) {
  laze_dtype own = value->type.dtype;
  if (!value->buffer) {
    int64_t number = 0; /* rounded to the tensor's own dtype first */
    laze_scalar_store(value->scalar, own, &number, 0);
    convert(own, &number, dtype, data, 1);
    return LAZE_OK;
  }
  int64_t bytes = elements * laze_dtype_size(own);
  if (own == dtype) return lazy->backend->copy_to_host(value->buffer, data, bytes, error);
  void *copy = laze_alloc(lazy->context, bytes);
  if (!copy) return laze_fail_memory(error, "converting a tensor that is read", bytes);
  laze_status status = lazy->backend->copy_to_host(value->buffer, copy, bytes, error);
  if (status == LAZE_OK) convert(own, copy, dtype, data, elements);
  laze_free(lazy->context, copy);
  return status;
}

static laze_status check_cell(const laze_cell *cell, laze_error *error) {
  if (cell->state != LAZE_CELL_ERROR) return LAZE_OK;
  return laze_fail(error, cell->value.failure->code, "%s", cell->value.failure->message);
}

/* Computes the slot's cell; with `out`, takes its value. */
static laze_status compute(laze_thread_state *thread, laze_cell *cell, const laze_force *force, laze_value_out *out,
                           laze_error *error) {
  const laze_backend *backend; /* borrowed memory is read through it, too */
  LAZE_TRY(check_cell(cell, error));
  LAZE_TRY(laze_lazy_backend(thread->lazy, &backend, error));
  LAZE_TRY(laze_materialise_cell(thread, cell, force, error));
  LAZE_TRY(check_cell(cell, error));
  if (!out) return LAZE_OK;
  if (thread->tracer) thread->tracer->read(thread->tracer, cell);
  laze_cell_type(cell, &out->type);
  if (cell->state == LAZE_CELL_SCALAR) {
    out->scalar = laze_cell_scalar(cell);
  } else {
    out->buffer = cell->value.buffer;
    laze_buffer_retain(out->buffer);
  }
  return LAZE_OK;
}

void laze_note_read_error(laze_thread_state *thread, laze_tensor *tensor, const laze_error *error, bool reported) {
  laze_lazy *lazy = thread->lazy;
  laze_slot *slot = laze_handle_slot(tensor);
  laze_cell *cell = slot ? slot->storage->cell : NULL;
  if (cell && cell->state == LAZE_CELL_ERROR) {
    if (reported) cell->value.failure->reported = true;
    return; /* noted in the scope when it arose */
  }
  laze_failure *failure = laze_failure_create(lazy, error);
  if (!reported || !failure) laze_scope_note(thread, failure);
  if (slot && failure) (void)laze_quotes_put(lazy, &slot->errors, failure);
  if (slot && !slot->errors) slot->unsaid = true;
  laze_failure_release(lazy, failure);
}

/* A read without a status had no tensor: the scope reports it, that of the default context where there is no handle. */
static laze_status note_missing(laze_thread_state *thread, laze_tensor *tensor, const char *function) {
  laze_error error;
  laze_status status = laze_fail(&error, LAZE_INVALID_ARGUMENT, "%s: the tensor is %s", function,
                                 tensor ? "a released handle; retain a tensor that is used after its scope" : "NULL");
  laze_note_read_error(thread, tensor, &error, false);
  return status;
}

/* What the caller asked for. */
typedef struct {
  laze_force force;
  laze_dtype dtype; /* LAZE_DTYPE_NONE: to compute, without copying */
  void *data;
  size_t size;
  bool reports; /* the function returns a status */
} read_request;

static laze_status check_read(const laze_cell *cell, const read_request *request, laze_error *error) {
  if (cell->state == LAZE_CELL_ERROR) return LAZE_OK; /* reported instead */
  const char *function = request->force.function;
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

/* The same for a tensor whose sizes were not known before it was computed; gives its value back where it fails. */
static laze_status check_found(const laze_cell *cell, const read_request *request, laze_value_out *value,
                               laze_error *error) {
  laze_status status = check_read(cell, request, error);
  if (status != LAZE_OK) {
    laze_buffer_release(value->buffer); /* the cell has another reference: nothing is called back under the lock */
    value->buffer = NULL;
  }
  return status;
}

static laze_status read_guarded(laze_tensor *tensor, const read_request *request) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (tensor == laze_handle_out_of_memory()) return LAZE_OUT_OF_MEMORY; /* noted when it arose */
  if (!lazy && request->reports) return LAZE_INVALID_ARGUMENT;
  if (!lazy) lazy = laze_lazy_get(NULL);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return LAZE_OUT_OF_MEMORY;
  laze_error error;
  laze_slot *slot = laze_handle_slot(tensor);
  if (!slot) {
    laze_status status =
        request->reports ? LAZE_INVALID_ARGUMENT : note_missing(thread, tensor, request->force.function);
    laze_lazy_unlock(lazy);
    return status;
  }
  bool copies = request->dtype != LAZE_DTYPE_NONE;
  laze_value_out value = {0};
  int64_t elements = 0;
  laze_status status = laze_slot_refresh(thread, slot, &error);
  if (status != LAZE_OK) {
    laze_note_read_error(thread, tensor, &error, request->reports);
    laze_lazy_unlock(lazy);
    return status;
  }
  laze_cell *cell = slot->storage->cell;
  laze_cell_retain(cell);
  bool sized = cell->state != LAZE_CELL_UNKNOWN; /* otherwise the same run finds the sizes */
  if (copies && sized) status = check_read(cell, request, &error);
  if (status == LAZE_OK) status = compute(thread, cell, &request->force, copies ? &value : NULL, &error);
  if (status == LAZE_OK && copies && !sized) status = check_found(cell, request, &value, &error);
  if (status == LAZE_OK) elements = laze_cell_elements(cell);
  laze_cell_release(lazy, cell);
  if (status == LAZE_OK && copies) {
    laze_lazy_unlock(lazy);
    status = copy_out(lazy, &value, elements, request->dtype, request->data, &error);
    laze_buffer_release(value.buffer);
    if (status == LAZE_OK) {
      laze_metrics_sample(laze_context_metrics(lazy->context), LAZE_SAMPLE_READ_BYTES, (int64_t)request->size);
      return LAZE_OK;
    }
    pthread_mutex_lock(&lazy->lock);
  }
  if (status != LAZE_OK) laze_note_read_error(thread, tensor, &error, request->reports);
  laze_lazy_unlock(lazy);
  return status;
}

static laze_status read_tensor(laze_tensor *tensor, const read_request *request) {
  laze_float_control caller;
  laze_float_control_enter(&caller);
  laze_status status = read_guarded(tensor, request);
  laze_float_control_leave(&caller);
  return status;
}

laze_status laze_tensor_read_at(laze_tensor *tensor, laze_dtype dtype, void *data, size_t size, const char *file,
                                int32_t line) {
  if (dtype == LAZE_DTYPE_NONE) dtype = -1;
  const laze_force force = {LAZE_FORCE_READ, "laze_tensor_read", file, line};
  return read_tensor(tensor, &(read_request){force, dtype, data, size, true});
}
laze_status laze_tensor_read(laze_tensor *tensor, laze_dtype dtype, void *data, size_t size) {
  return laze_tensor_read_at(tensor, dtype, data, size, NULL, 0);
}

double laze_tensor_item_at(laze_tensor *tensor, const char *file, int32_t line) {
  double value;
  const laze_force force = {LAZE_FORCE_READ, "laze_tensor_item", file, line};
  return read_tensor(tensor, &(read_request){force, LAZE_F64, &value, sizeof value, false}) == LAZE_OK ? value
                                                                                                       : (double)NAN;
}
double laze_tensor_item(laze_tensor *tensor) {
  return laze_tensor_item_at(tensor, NULL, 0);
}

laze_status laze_tensor_materialise_at(laze_tensor *tensor, const char *file, int32_t line) {
  const laze_force force = {LAZE_FORCE_VALUE, "laze_tensor_materialise", file, line};
  return read_tensor(tensor, &(read_request){force, LAZE_DTYPE_NONE, NULL, 0, true});
}
laze_status laze_tensor_materialise(laze_tensor *tensor) {
  return laze_tensor_materialise_at(tensor, NULL, 0);
}

static laze_status take_locked(const laze_force *force, laze_thread_state *thread, laze_tensor *tensor,
                               laze_value_out *out, laze_error *error) {
  laze_slot *slot = laze_handle_slot(tensor);
  if (!slot)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: the tensor is a released handle; retain a tensor that is used after its scope",
                     force->function);
  laze_status status = laze_slot_refresh(thread, slot, error);
  laze_cell *cell = slot->storage->cell;
  if (status == LAZE_OK) {
    laze_cell_retain(cell);
    status = compute(thread, cell, force, out, error);
    laze_cell_release(thread->lazy, cell);
  }
  if (status != LAZE_OK) laze_note_read_error(thread, tensor, error, true);
  return status;
}

laze_status laze_value_take(const laze_force *force, laze_tensor *tensor, laze_value_out *out, laze_error *error) {
  laze_error local;
  if (!error) error = &local;
  *out = (laze_value_out){0};
  if (tensor == laze_handle_out_of_memory())
    return laze_fail(error, LAZE_OUT_OF_MEMORY, "%s: there was no memory for the tensor", force->function);
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the tensor is %s", force->function,
                     tensor ? "a released handle; retain a tensor that is used after its scope" : "NULL");
  laze_thread_state *thread = laze_lazy_lock(lazy);
  if (!thread) return laze_fail_memory(error, "a thread's state", sizeof *thread);
  laze_float_control caller;
  laze_float_control_enter(&caller);
  laze_status status = take_locked(force, thread, tensor, out, error);
  laze_float_control_leave(&caller);
  if (status == LAZE_OK) out->context = lazy->context;
  if (status == LAZE_OK) laze_context_retain(out->context);
  laze_lazy_unlock(lazy);
  return status;
}

void laze_value_give(laze_value_out *value) {
  laze_context *context = value->context;
  laze_buffer_release(value->buffer);
  *value = (laze_value_out){0};
  laze_context_release(context);
}
