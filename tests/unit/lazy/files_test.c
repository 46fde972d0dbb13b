/* Tensors that are kept: in files, in variables, and on paper. */
#include "support.h"

#include <unistd.h>

static char path[] = "/tmp/laze-files-XXXXXX";

static void new_path(void) {
  memcpy(strrchr(path, '-') + 1, "XXXXXX", 6);
  int file = mkstemp(path);
  ck_assert_int_ge(file, 0);
  close(file);
}

/* Saved and loaded, a tensor has the same type and the same bits, in any context. */
START_TEST(what_was_saved_can_be_loaded) {
  static const laze_dtype dtypes[] = {LAZE_BOOL, LAZE_I8,  LAZE_U8,  LAZE_I16, LAZE_I32, LAZE_I64,
                                      LAZE_U16,  LAZE_U32, LAZE_U64, LAZE_F16, LAZE_F32, LAZE_F64};
  laze_context *context = new_context(), *other = new_context();
  laze_scope *scope = laze_scope_begin(context), *there = laze_scope_begin(other);
  laze_error error;
  new_path();
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    const int64_t zeros[6] = {0};
    size_t size = 6 * (size_t)laze_dtype_size(dtypes[i]);
    laze_tensor *x = laze_tensor_from_data(context, dtypes[i], LAZE_SHAPE(3, 2), zeros, size);
    ck_assert_msg(laze_tensor_save(x, path, &error) == LAZE_OK, "%s", error.message);
    laze_tensor *back = laze_tensor_load(other, path);
    ck_assert_int_eq(laze_tensor_dtype(back), dtypes[i]);
    ck_assert_int_eq(laze_tensor_size(back, 0), 3);
    ck_assert_int_eq(laze_tensor_size(back, 1), 2);
  }
  ck_assert_int_eq(laze_tensor_save(scale(filled(context, 3, 1.5f), 2), path, &error), LAZE_OK);
  ck_assert_float_eq(first(neg(laze_tensor_load(other, path)), 3), -3);
  ck_assert_int_eq(laze_tensor_save(laze_tensor_from_scalar(context, LAZE_F64, laze_scalar_real(0.1)), path, &error),
                   LAZE_OK);
  ck_assert_double_eq(laze_tensor_item(laze_tensor_load(other, path)), 0.1);
  laze_tensor *kept = laze_tensor_retain(laze_tensor_load(other, path));
  unlink(path);
  ck_assert_int_eq(laze_scope_end(there), LAZE_OK);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(other);
  ck_assert_double_eq(laze_tensor_item(kept), 0.1); /* of the file there is no more need */
  laze_tensor_release(kept);
  laze_context_release(context);
}
END_TEST

START_TEST(files_that_are_wrong_are_errors) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1), *none = laze_tensor_load(context, "/nowhere/at/all.npy");
  laze_error error;
  ck_assert_int_eq(laze_tensor_status(none), LAZE_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(neg(none)), "/nowhere/at/all.npy"));
  laze_tensor *unnamed = laze_tensor_load(context, NULL);
  ck_assert_int_eq(laze_tensor_status(unnamed), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(laze_tensor_error(unnamed), "laze_tensor_load: path is NULL: expected a file name");
  ck_assert_int_eq(laze_tensor_save(x, "/nowhere/at/all.npy", &error), LAZE_IO_ERROR);
  ck_assert_ptr_nonnull(strstr(error.message, "/nowhere/at/all.npy"));
  ck_assert_int_eq(laze_tensor_save(x, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "laze_tensor_save: path is NULL: expected a file name");
  ck_assert_int_eq(laze_tensor_save(NULL, "x.npy", &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "laze_tensor_save: the tensor is NULL");
  ck_assert_int_eq(laze_tensor_save(out_of_range(context, x), "x.npy", &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_ne(access("x.npy", F_OK), 0);
  new_path();
  FILE *file = fopen(path, "w");
  fputs("no array", file);
  fclose(file);
  ck_assert_int_eq(laze_tensor_status(laze_tensor_load(context, path)), LAZE_DATA_LOSS);
  unlink(path);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A context that only a loaded tensor would keep goes with its owner. */
START_TEST(a_loaded_tensor_does_not_keep_its_context) {
  laze_context *context = new_context();
  new_path();
  laze_tensor *x = filled(context, 4, 2);
  ck_assert_int_eq(laze_tensor_save(x, path, NULL), LAZE_OK);
  laze_tensor *back = laze_tensor_load(context, path);
  ck_assert_float_eq(first(back, 4), 2);
  unlink(path);
  laze_context_release(context);
  ck_assert_int_eq(laze_tensor_rank(back), -1);
}
END_TEST

/* A cache that has a row more each step. */
START_TEST(a_variable_can_grow) {
  laze_context *context = new_context();
  laze_tensor *cache = NULL;
  for (int step = 0; step < 4; step++) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *both[] = {cache ? cache : filled(context, 1, 0), filled(context, 1, (float)step)};
    laze_argument arguments[] = {{.kind = LAZE_PASS_TENSORS, .count = 2, .value.tensors = both}};
    laze_tensor_replace(&cache, call("cat", arguments, 1));
    ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
  }
  float values[5];
  ck_assert_int_eq(laze_tensor_read(cache, LAZE_F32, values, sizeof values), LAZE_OK);
  ck_assert(values[0] == 0 && values[1] == 0 && values[4] == 3);
  laze_tensor *before = cache;
  laze_tensor_replace(&cache, cache); /* by itself */
  ck_assert_ptr_eq(cache, before);
  ck_assert_int_eq(laze_tensor_rank(cache), 1);
  laze_tensor_replace(&cache, NULL);
  ck_assert_ptr_null(cache);
  ck_assert_int_eq(laze_tensor_rank(before), -1);
  laze_tensor_replace(NULL, NULL);
  laze_context_release(context);
}
END_TEST

static void assert_prints(laze_tensor *tensor, laze_status status, const char *expected) {
  char text[512] = "";
  FILE *stream = fmemopen(text, sizeof text, "w");
  ck_assert_int_eq(laze_tensor_print(tensor, stream), status);
  fclose(stream);
  ck_assert_str_eq(text, expected);
}

START_TEST(tensors_are_printed_with_their_type) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  const int32_t numbers[] = {1, -2, 3, 40};
  assert_prints(laze_tensor_from_data(context, LAZE_I32, LAZE_SHAPE(2, 2), numbers, sizeof numbers), LAZE_OK,
                "i32[2,2]\n[[ 1 -2]\n [ 3 40]]\n");
  assert_prints(filled(context, 3, 1.5f), LAZE_OK, "f32[3] [1.5 1.5 1.5]\n");
  assert_prints(laze_tensor_from_scalar(context, LAZE_F64, laze_scalar_real(2)), LAZE_OK, "f64[] 2.0\n");
  assert_prints(unary("nothing", filled(context, 1, 1)), LAZE_NOT_FOUND,
                "error: there is no operator 'nothing'; docs list them by name\n");
  assert_prints(NULL, LAZE_INVALID_ARGUMENT, "error: laze_tensor_print: the tensor is NULL\n");
  ck_assert_int_eq(laze_tensor_print(filled(context, 1, 1), NULL), LAZE_INVALID_ARGUMENT);
  FILE *full = fopen("/dev/full", "w");
  if (full) {
    setvbuf(full, NULL, _IONBF, 0);
    ck_assert_int_eq(laze_tensor_print(filled(context, 3, 1), full), LAZE_IO_ERROR);
    fclose(full);
  }
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Tensors of a safetensors file are its mapping, and hold it. */
START_TEST(tensors_with_names) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_error error;
  laze_safetensors *file;
  new_path();
  const laze_named_tensor all[] = {{"x", scale(filled(context, 3, 1.5f), 2)},
                                   {"flag", laze_tensor_from_scalar(context, LAZE_BOOL, laze_scalar_boolean(1))}};
  const laze_safetensors_note note = {"step", "3"};
  ck_assert_msg(laze_tensors_save(context, all, 2, &note, 1, path, &error) == LAZE_OK, "%s", error.message);
  ck_assert_msg(laze_safetensors_open(context, path, &file, &error) == LAZE_OK, "%s", error.message);
  ck_assert_str_eq(laze_safetensors_get_note(file, 0)->value, "3");
  laze_tensor *x = laze_tensor_retain(laze_tensor_from_safetensors(context, file, "x"));
  laze_export export;
  ck_assert_int_eq(laze_tensor_export(x, &export, &error), LAZE_OK);
  ck_assert_ptr_eq(export.data, laze_safetensors_find(file, "x")->data); /* no copy */
  laze_export_release(&export);
  ck_assert_double_eq(laze_tensor_item(laze_tensor_from_safetensors(context, file, "flag")), 1);
  laze_tensor *none = laze_tensor_from_safetensors(context, file, "y");
  ck_assert_int_eq(laze_tensor_status(none), LAZE_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(none), "no tensor \"y\""));
  ck_assert_int_eq(laze_tensor_status(laze_tensor_from_safetensors(context, NULL, "y")), LAZE_NOT_FOUND);
  laze_safetensors_release(file);
  unlink(path);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  scope = laze_scope_begin(context);
  ck_assert_float_eq(first(neg(x), 3), -3);
  laze_tensor_release(x);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Elements that lie askew are copied, and bytes that are no bools refused. */
START_TEST(safetensors_of_others) {
  static const char header[] = "{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]},"
                               "\"x\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[1,9]}}";
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  const uint64_t length = sizeof header - 1;
  const double value = 1.25;
  laze_safetensors *made;
  new_path();
  FILE *file = fopen(path, "wb");
  fwrite(&length, 1, 8, file);
  fwrite(header, 1, length, file);
  fputc(2, file);
  fwrite(&value, 1, 8, file);
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_int_eq(laze_safetensors_open(context, path, &made, NULL), LAZE_OK);
  ck_assert_double_eq(laze_tensor_item(laze_tensor_from_safetensors(context, made, "x")), 1.25);
  laze_tensor *wrong = laze_tensor_from_safetensors(context, made, "a");
  ck_assert_int_eq(laze_tensor_status(wrong), LAZE_DATA_LOSS);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(wrong), "the byte 2 among its bools"));
  laze_safetensors_release(made);
  unlink(path);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(what_cannot_be_saved_under_a_name) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_error error;
  new_path();
  unlink(path);
  const laze_named_tensor missing = {"x", NULL}, fine = {"x", filled(context, 3, 1)}, twice[] = {fine, fine};
  ck_assert_int_eq(laze_tensors_save(context, &missing, 1, NULL, 0, path, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensors_save(context, twice, 2, NULL, 0, path, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensors_save(context, NULL, 2, NULL, 0, path, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensors_save(context, &fine, 1, NULL, 0, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "laze_tensors_save: expected a path, and a list of notes");
  ck_assert_int_eq(laze_tensors_save(context, &fine, 1, NULL, 0, "/nowhere/at/all", &error), LAZE_IO_ERROR);
  ck_assert_int_ne(access(path, F_OK), 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      what_was_saved_can_be_loaded, files_that_are_wrong_are_errors,     a_loaded_tensor_does_not_keep_its_context,
      a_variable_can_grow,          tensors_are_printed_with_their_type, tensors_with_names,
      safetensors_of_others,        what_cannot_be_saved_under_a_name};
  return run_tests("files", tests, sizeof tests / sizeof *tests);
}
