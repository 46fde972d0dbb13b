/* A safetensors file: what can be read is written and read again as the same tensors, and each is one of laze's. */
#include "laze/safetensors.h"

#include "laze/tensor.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_tensors(laze_context *context, laze_safetensors *file) {
  laze_scope *scope = laze_scope_begin(context);
  for (int32_t i = 0; i < laze_safetensors_count(file); i++) {
    const laze_safetensors_item *item = laze_safetensors_get(file, i);
    laze_tensor *tensor = laze_tensor_from_safetensors(context, file, item->name);
    const bool is_wrong = laze_tensor_status(tensor) == LAZE_DATA_LOSS && item->dtype == LAZE_BOOL;
    if (is_wrong) continue; /* a byte that is no bool */
    if (laze_tensor_dtype(tensor) != item->dtype || laze_tensor_rank(tensor) != item->rank)
      fuzz_fail("as a tensor, \"%s\" is %s", item->name, laze_tensor_error(tensor));
  }
  if (laze_scope_end(scope) != LAZE_OK) fuzz_fail("a tensor has an error");
}

static void check_same(const laze_safetensors *file, const laze_safetensors *again) {
  if (laze_safetensors_count(file) != laze_safetensors_count(again) ||
      laze_safetensors_note_count(file) != laze_safetensors_note_count(again))
    fuzz_fail("reads back with other numbers of tensors");
  for (int32_t i = 0; i < laze_safetensors_count(file); i++) {
    const laze_safetensors_item *one = laze_safetensors_get(file, i);
    const laze_safetensors_item *other = laze_safetensors_find(again, one->name);
    if (!other || other->dtype != one->dtype || other->rank != one->rank || other->size != one->size ||
        memcmp(other->dims, one->dims, sizeof one->dims) != 0 || memcmp(other->data, one->data, (size_t)one->size) != 0)
      fuzz_fail("\"%s\" reads back as another tensor", one->name);
  }
  for (int32_t i = 0; i < laze_safetensors_note_count(file); i++)
    if (strcmp(laze_safetensors_get_note(file, i)->key, laze_safetensors_get_note(again, i)->key) != 0 ||
        strcmp(laze_safetensors_get_note(file, i)->value, laze_safetensors_get_note(again, i)->value) != 0)
      fuzz_fail("metadata reads back as other metadata");
}

static void check_file(laze_context *context, laze_safetensors *file) {
  char path[256];
  laze_safetensors *again;
  laze_error error = {0};
  const int32_t count = laze_safetensors_count(file), note_count = laze_safetensors_note_count(file);
  snprintf(path, sizeof path, "%s/copy.safetensors", fuzz_folder());
  if (laze_safetensors_write(context, path, laze_safetensors_get(file, 0), count, laze_safetensors_get_note(file, 0),
                             note_count, &error) != LAZE_OK)
    fuzz_fail("is not written: %s", error.message);
  if (laze_safetensors_open(context, path, &again, &error) != LAZE_OK)
    fuzz_fail("is not read again: %s", error.message);
  check_same(file, again);
  laze_safetensors_release(again);
  check_tensors(context, file);
  fuzz_note_accepted();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[256];
  laze_safetensors *file;
  laze_error error = {0};
  laze_context *context = fuzz_context_create(NULL);
  fuzz_write_file("input.safetensors", data, size, path);
  const laze_status status = laze_safetensors_open(context, path, &file, &error);
  fuzz_check_refusal("file", status, &error);
  if (status == LAZE_OK) check_file(context, file);
  laze_safetensors_release(file);
  fuzz_context_destroy(context);
  return 0;
}
