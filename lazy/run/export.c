/* Lending a tensor's memory: an export holds a reference of the buffer, and the context.
 *
 *   tensor ─> storage ─> cell ─> buffer <─ owner <─ laze_export (or a DLPack structure around it)
 *
 * Buffers are immutable and counted, so that it stays right when the tensor is assigned to or goes.
 */
#include "lazy/run/export.h"

#include "base/context.h"
#include "lazy/run/read.h"
#include "runtime/buffer.h"

/* What an array without elements points to. */
static const _Alignas(LAZE_BUFFER_ALIGNMENT) char nothing[LAZE_BUFFER_ALIGNMENT];

/* Takes the value, of so many elements, over. */
static void fill(laze_export *out, laze_export_owner *owner, laze_value_out *value, int64_t elements) {
  const laze_type *type = &value->type;
  for (int i = 0; i < type->rank; i++) owner->sizes[i] = type->sizes[i];
  owner->context = value->context;
  owner->buffer = value->buffer;
  owner->number = 0;
  if (!value->buffer) laze_scalar_store(value->scalar, type->dtype, &owner->number, 0);
  const void *data = value->buffer ? value->buffer->data : &owner->number;
  *out = (laze_export){.data = data ? data : nothing,
                       .size = elements * laze_dtype_size(type->dtype),
                       .dtype = type->dtype,
                       .rank = type->rank,
                       .sizes = owner->sizes,
                       .owner = owner};
}

laze_status laze_export_take(const laze_force *force, laze_tensor *tensor, laze_export *out, laze_error *error) {
  *out = (laze_export){0};
  laze_value_out value;
  LAZE_TRY(laze_value_take(force, tensor, &value, error));
  laze_size elements;
  laze_status status = laze_type_elements(NULL, &value.type, &elements, error);
  int64_t size = (int64_t)sizeof(laze_export_owner) + value.type.rank * (int64_t)sizeof(int64_t);
  laze_export_owner *owner = status == LAZE_OK ? laze_alloc(value.context, size) : NULL;
  if (status == LAZE_OK && !owner) status = laze_fail_memory(error, "the export of a tensor", size);
  if (status == LAZE_OK)
    fill(out, owner, &value, elements);
  else
    laze_value_give(&value);
  return status;
}

laze_status laze_tensor_export_at(laze_tensor *tensor, laze_export *out, laze_error *error, const char *file,
                                  int32_t line) {
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_tensor_export: out is NULL");
  return laze_export_take(&(laze_force){LAZE_FORCE_EXPORT, "laze_tensor_export", file, line}, tensor, out, error);
}
laze_status laze_tensor_export(laze_tensor *tensor, laze_export *out, laze_error *error) {
  return laze_tensor_export_at(tensor, out, error, NULL, 0);
}

void laze_export_release(laze_export *out) {
  laze_export_owner *owner = out ? out->owner : NULL;
  if (!owner) return;
  laze_context *context = owner->context;
  *out = (laze_export){0};
  laze_buffer_release(owner->buffer);
  laze_free(context, owner);
  laze_context_release(context);
}
