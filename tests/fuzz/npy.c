/* A .npy file: what can be read is written and read again as the same array, and is a tensor of that type. */
#include "laze/npy.h"
#include "laze/tensor.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

static void check_tensor(laze_context *context, const char *path, const laze_npy *array) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *tensor = laze_tensor_load(context, path);
  if (laze_tensor_dtype(tensor) != array->dtype || laze_tensor_rank(tensor) != array->rank)
    fuzz_fail("as a tensor it is %s", laze_tensor_error(tensor));
  if (laze_scope_end(scope) != LAZE_OK) fuzz_fail("the tensor has an error");
}

static void check_array(laze_context *context, const char *path, const laze_npy *array) {
  char copy[256];
  laze_npy again;
  laze_error error = {0};
  snprintf(copy, sizeof copy, "%s/copy.npy", fuzz_folder());
  if (laze_npy_write(copy, array, &error) != LAZE_OK) fuzz_fail("is not written: %s", error.message);
  if (laze_npy_read(context, copy, &again, &error) != LAZE_OK) fuzz_fail("is not read again: %s", error.message);
  if (again.dtype != array->dtype || again.rank != array->rank || again.size != array->size ||
      memcmp(again.dims, array->dims, (size_t)array->rank * sizeof *array->dims) != 0 ||
      memcmp(again.data, array->data, (size_t)array->size) != 0)
    fuzz_fail("reads back as another array");
  laze_npy_deinit(&again);
  check_tensor(context, path, array);
  fuzz_note_accepted();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[256];
  laze_npy array;
  laze_error error = {0};
  laze_context *context = fuzz_context_create(NULL);
  fuzz_write_file("input.npy", data, size, path);
  laze_status status = laze_npy_read(context, path, &array, &error);
  fuzz_check_refusal("file", status, &error);
  if (status == LAZE_OK) check_array(context, path, &array);
  laze_npy_deinit(&array);
  fuzz_context_destroy(context);
  return 0;
}
