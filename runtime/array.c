/* Arrays as callers have them: a buffer with its type. */
#include "runtime/array.h"

#include "base/dtype.h"
#include "base/float_control.h"

#include <string.h>

/* What an array without elements points to. */
static const _Alignas(LAZE_BUFFER_ALIGNMENT) char nothing[LAZE_BUFFER_ALIGNMENT];

laze_status laze_array_wrap(laze_context *context, const laze_type *type, laze_buffer *buffer, laze_array **out,
                            laze_error *error) {
  laze_array *array = laze_alloc(context, sizeof *array);
  *out = array;
  if (!array) {
    laze_buffer_release(buffer);
    return laze_fail_memory(error, "an array", sizeof *array);
  }
  *array = (laze_array){.references = 1, .context = context, .buffer = buffer, .type = *type};
  laze_context_retain(context);
  return LAZE_OK;
}

static int64_t bytes_of(const laze_type *type) {
  int64_t bytes = laze_dtype_size(type->dtype); /* of all it fits: the type was checked */
  for (int i = 0; i < type->rank; i++) bytes *= type->sizes[i];
  return bytes;
}

static laze_status find_context(laze_context **context, laze_error *error) {
  if (!*context) *context = laze_context_default();
  return *context ? LAZE_OK : laze_fail_memory(error, "the default context", -1);
}

laze_status laze_array_create(laze_context *context, laze_dtype dtype, laze_ints sizes, laze_array **out,
                              laze_error *error) {
  laze_type type;
  laze_buffer *buffer;
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_array_create: out is NULL");
  *out = NULL;
  LAZE_TRY(find_context(&context, error));
  LAZE_TRY(laze_type_init(&type, "laze_array_create", dtype, sizes.count, sizes.items, error));
  LAZE_TRY(laze_buffer_create(context, bytes_of(&type), &buffer, error));
  return laze_array_wrap(context, &type, buffer, out, error);
}

laze_status laze_array_from_data(laze_context *context, laze_dtype dtype, laze_ints sizes, const void *data,
                                 size_t size, laze_array **out, laze_error *error) {
  laze_type type;
  laze_buffer *buffer;
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_array_from_data: out is NULL");
  *out = NULL;
  LAZE_TRY(find_context(&context, error));
  LAZE_TRY(laze_type_of_data(&type, "laze_array_from_data", dtype, sizes, data, size, error));
  LAZE_TRY(laze_buffer_create(context, (int64_t)size, &buffer, error));
  if (size > 0) memcpy(buffer->data, data, size);
  return laze_array_wrap(context, &type, buffer, out, error);
}

laze_status laze_array_borrow(laze_context *context, laze_dtype dtype, laze_ints sizes, void *data, size_t size,
                              void (*release)(void *self), void *self, laze_array **out, laze_error *error) {
  laze_type type;
  laze_buffer *buffer = NULL;
  laze_status status =
      out ? find_context(&context, error) : laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_array_borrow: out is NULL");
  if (out) *out = NULL;
  if (status == LAZE_OK) status = laze_type_of_data(&type, "laze_array_borrow", dtype, sizes, data, size, error);
  if (status == LAZE_OK) status = laze_type_check_aligned("laze_array_borrow", dtype, data, error);
  if (status == LAZE_OK) status = laze_buffer_lend(context, data, (int64_t)size, release, self, &buffer, error);
  if (status == LAZE_OK) return laze_array_wrap(context, &type, buffer, out, error);
  if (release) release(self);
  return status;
}

void laze_array_retain(laze_array *array) {
  if (array) atomic_fetch_add_explicit(&array->references, 1, memory_order_relaxed);
}

void laze_array_release(laze_array *array) {
  if (!array || atomic_fetch_sub_explicit(&array->references, 1, memory_order_acq_rel) != 1) return;
  laze_context *context = array->context;
  laze_buffer_release(array->buffer);
  laze_free(context, array);
  laze_context_release(context);
}

laze_dtype laze_array_dtype(const laze_array *array) {
  return array ? array->type.dtype : LAZE_DTYPE_NONE;
}

laze_ints laze_array_sizes(const laze_array *array) {
  return array ? (laze_ints){array->type.sizes, array->type.rank} : (laze_ints){NULL, 0};
}

int64_t laze_array_bytes(const laze_array *array) {
  return array ? bytes_of(&array->type) : 0;
}

const void *laze_array_data(const laze_array *array) {
  if (!array) return NULL;
  return array->buffer->data ? array->buffer->data : nothing;
}

void *laze_array_writable(laze_array *array) {
  const bool alone = array && atomic_load_explicit(&array->references, memory_order_acquire) == 1;
  return alone && laze_buffer_is_exclusive(array->buffer) ? array->buffer->data : NULL;
}

laze_status laze_array_read(const laze_array *array, laze_dtype dtype, void *data, size_t size, laze_error *error) {
  if (!array) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_array_read: array is NULL");
  const laze_dtype own = array->type.dtype;
  const int64_t elements = laze_array_bytes(array) / laze_dtype_size(own);
  char text[128];
  if (!laze_dtype_is_valid(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_array_read: %d is no dtype; use one of %s", (int)dtype,
                     laze_dtype_constants());
  if ((uint64_t)(elements * laze_dtype_size(dtype)) != (uint64_t)size || (!data && size > 0))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_array_read: %s, read as %s, takes %lld bytes, but data is %s of %zu",
                     laze_type_format(NULL, &array->type, text, sizeof text), laze_dtype_name(dtype),
                     (long long)(elements * laze_dtype_size(dtype)), data ? "memory" : "NULL", size);
  if (own == dtype) {
    if (size > 0) memcpy(data, array->buffer->data, size);
    return LAZE_OK;
  }
  laze_float_control caller;
  laze_float_control_enter(&caller);
  for (int64_t i = 0; i < elements; i++)
    laze_scalar_store(laze_scalar_load(own, array->buffer->data, i), dtype, data, i);
  laze_float_control_leave(&caller);
  return LAZE_OK;
}
