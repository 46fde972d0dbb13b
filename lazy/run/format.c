/* A tensor's value as text: taken as a read takes it, printed as lazec prints results. */
#include "base/dtype.h"
#include "lazy/run/read.h"
#include "runtime/array_text.h"
#include "runtime/buffer.h"

#include <errno.h>
#include <string.h>

static void append_value(laze_text *text, const laze_value_out *value) {
  int64_t number = 0;
  if (!value->buffer) laze_scalar_store(value->scalar, value->type.dtype, &number, 0);
  laze_array_print(text, &value->type, value->buffer ? value->buffer->data : &number);
}

laze_status laze_tensor_format_at(laze_tensor *tensor, char *text, size_t size, size_t *needed, laze_error *error,
                                  const char *file, int32_t line) {
  if (needed) *needed = 0;
  if (size > 0 && !text)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_tensor_format: text is NULL, but size is %zu", size);
  if (size > 0) *text = 0;
  laze_value_out value;
  const laze_force force = {LAZE_FORCE_PRINT, "laze_tensor_format", file, line};
  LAZE_TRY(laze_value_take(&force, tensor, &value, error));
  laze_text written;
  laze_text_init(&written, value.context);
  append_value(&written, &value);
  laze_status status = laze_text_give(&written, text, size, needed, error);
  laze_text_deinit(&written);
  laze_value_give(&value);
  return status;
}

laze_status laze_tensor_format(laze_tensor *tensor, char *text, size_t size, size_t *needed, laze_error *error) {
  return laze_tensor_format_at(tensor, text, size, needed, error, NULL, 0);
}

/* The type, and the elements behind it, where rows have to stand below each other below it. */
static laze_status print_value(const laze_value_out *value, FILE *stream, laze_error *error) {
  laze_text text;
  laze_text_init(&text, value->context);
  laze_type_print(&text, NULL, &value->type);
  laze_text_append(&text, value->type.rank < 2 ? " " : "\n");
  append_value(&text, value);
  laze_text_append(&text, "\n");
  laze_status status = laze_text_check(&text, error);
  if (status == LAZE_OK && fwrite(laze_text_get(&text), 1, (size_t)text.size, stream) != (size_t)text.size)
    status = laze_fail(error, LAZE_IO_ERROR, "laze_tensor_print: the stream cannot be written (%s)", strerror(errno));
  laze_text_deinit(&text);
  return status;
}

laze_status laze_tensor_print_at(laze_tensor *tensor, FILE *stream, const char *file, int32_t line) {
  laze_value_out value;
  laze_error error;
  if (!stream) return LAZE_INVALID_ARGUMENT;
  const laze_force force = {LAZE_FORCE_PRINT, "laze_tensor_print", file, line};
  laze_status status = laze_value_take(&force, tensor, &value, &error);
  if (status == LAZE_OK) {
    status = print_value(&value, stream, &error);
    laze_value_give(&value);
  }
  if (status != LAZE_OK) fprintf(stream, "error: %s\n", error.message);
  return status;
}
laze_status laze_tensor_print(laze_tensor *tensor, FILE *stream) {
  return laze_tensor_print_at(tensor, stream, NULL, 0);
}
