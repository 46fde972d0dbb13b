/* --input NAME=...: a .npy file, or a type with its elements. */
#include "tools/lazec/lazec.h"

#include <stdio.h>
#include <string.h>

static laze_status read_file(laze_context *context, const char *path, lazec_input *out, laze_error *error) {
  LAZE_TRY(laze_npy_read(context, path, &out->file, error));
  const laze_ints sizes = {out->file.dims, out->file.rank};
  return laze_array_borrow(context, out->file.dtype, sizes, out->file.data, (size_t)out->file.size, NULL, NULL,
                           &out->array, error);
}

static laze_status read_inline(laze_context *context, const char *text, lazec_input *out, laze_error *error) {
  const char *cursor = text;
  laze_type type;
  int64_t count;
  LAZE_TRY(laze_type_parse(NULL, &cursor, &type, error));
  if (type.kind != LAZE_TYPE_TENSOR)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "'%s' is no tensor; write its type, such as f32[2,3]:0", text);
  LAZE_TRY(laze_type_elements(NULL, &type, &count, error));
  if (*cursor != ':')
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "'%s': ':' and the elements are expected after the type, as in f32[2]:1,2", text);
  LAZE_TRY(laze_array_create(context, type.dtype, (laze_ints){type.sizes, type.rank}, &out->array, error));
  return lazec_values_parse(cursor + 1, type.dtype, count, laze_array_writable(out->array), error);
}

laze_status lazec_input_read(laze_context *context, const char *name, const char *text, lazec_input *out,
                             laze_error *error) {
  memset(out, 0, sizeof *out);
  laze_status status = *text == '@' ? read_file(context, text + 1, out, error) : read_inline(context, text, out, error);
  if (status == LAZE_OK) return LAZE_OK;
  lazec_input_deinit(out);
  return laze_error_prefix(error, "input %s", name);
}

void lazec_input_deinit(lazec_input *input) {
  laze_array_release(input->array);
  laze_npy_deinit(&input->file);
  input->array = NULL;
}
