/* What backends whose tensors lie in host memory share: allocation and copies with checked sizes. */
#include "runtime/backend.h"

#include <string.h>

laze_status laze_host_allocate(laze_context *context, int64_t size, laze_buffer **out, laze_error *error) {
  return laze_buffer_create(context, size, out, error);
}

static laze_status check_copy(const laze_buffer *buffer, int64_t size, laze_error *error) {
  if (size >= 0 && size <= buffer->size) return LAZE_OK;
  return laze_fail(error, LAZE_OUT_OF_RANGE, "copying %lld bytes: the buffer has %lld", (long long)size,
                   (long long)buffer->size);
}

laze_status laze_host_copy_from(laze_buffer *buffer, const void *data, int64_t size, laze_error *error) {
  LAZE_TRY(check_copy(buffer, size, error));
  if (size > 0) memcpy(buffer->data, data, (size_t)size);
  return LAZE_OK;
}

laze_status laze_host_copy_to(const laze_buffer *buffer, void *data, int64_t size, laze_error *error) {
  LAZE_TRY(check_copy(buffer, size, error));
  if (size > 0) memcpy(data, buffer->data, (size_t)size);
  return LAZE_OK;
}
