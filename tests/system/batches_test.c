/* Kernels are generic in sizes: twenty batch sizes of one model compile what the first two needed and no more; and what
 * a product gives does not depend on the batch. Runs on the native backend without a disk cache. */
#include "tests/support/suite.h"

#include <laze/laze.h>

#include <check.h>
#include <stdlib.h>

static laze_context *context;

static int64_t metric(const char *name) {
  int64_t value = -1;
  ck_assert_int_eq(laze_metric_read(context, name, &value, NULL), LAZE_OK);
  return value;
}

/* One layer, softmax and a mean over the batch: products, broadcasting and reductions along both axes. */
static void run_batch(laze_tensor *weight, int64_t size) {
  float images[20 * 8], loss;
  for (int64_t i = 0; i < size * 8; i++) images[i] = (float)(i % 7);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(size, 8), images, (size_t)size * 8 * 4);
  laze_tensor *y = laze_neg(laze_mean(laze_log_softmax(laze_relu(laze_mm(x, weight)), 1)));
  ck_assert_msg(laze_tensor_read(y, LAZE_F32, &loss, sizeof loss) == LAZE_OK, "%s", laze_tensor_error(y));
  ck_assert_float_gt(loss, 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
}

START_TEST(twenty_batch_sizes_compile_once) {
  const laze_context_options options = {.struct_size = sizeof options, .backend = "llvm", .cache_directory = ""};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  float data[8 * 5];
  for (int i = 0; i < 8 * 5; i++) data[i] = (float)(i % 3);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *weight = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(8, 5), data, sizeof data);
  run_batch(weight, 1);
  run_batch(weight, 2);
  const int64_t compiled = metric("kernels_compiled");
  ck_assert_int_gt(compiled, 0);
  for (int64_t size = 3; size <= 20; size++) run_batch(weight, size);
  ck_assert_int_eq(metric("kernels_compiled"), compiled);
  ck_assert_int_ge(metric("program_cache_hits"), 18);
  ck_assert_int_eq(metric("fallbacks"), 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

enum { ROWS = 75, DEPTH = 300, COLUMNS = 3 }; /* more than a block of rows, and of depth */

/* The product of `rows` rows and `columns` columns of the same two matrices, the first ones. `turned`: the first comes
 * as its transpose's transpose, so that its rows lie next to each other. */
static void multiply(int64_t rows, int64_t columns, bool turned, float *out) {
  static float left[ROWS * DEPTH], right[DEPTH * COLUMNS];
  for (int64_t m = 0; m < rows; m++)
    for (int64_t k = 0; k < DEPTH; k++) left[turned ? k * rows + m : m * DEPTH + k] = 1.0F / (float)(1 + m * 7 + k * 3);
  for (int64_t k = 0; k < DEPTH; k++)
    for (int64_t n = 0; n < columns; n++) right[k * columns + n] = 1.0F / (float)(1 + k * 5 + n);
  laze_scope *scope = laze_scope_begin(context);
  laze_ints sizes = turned ? LAZE_SHAPE(DEPTH, rows) : LAZE_SHAPE(rows, DEPTH);
  laze_tensor *a = laze_tensor_from_data(context, LAZE_F32, sizes, left, (size_t)rows * DEPTH * 4);
  sizes = LAZE_SHAPE(DEPTH, columns);
  laze_tensor *b = laze_tensor_from_data(context, LAZE_F32, sizes, right, (size_t)columns * DEPTH * 4);
  laze_tensor *c = laze_mm(turned ? laze_t(a) : a, b);
  ck_assert_int_eq(laze_tensor_read(c, LAZE_F32, out, (size_t)(rows * columns) * 4), LAZE_OK);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
}

/* A vector is lowered in its own way, and must not be another vector than it is as a row or column of a matrix. */
START_TEST(a_row_or_column_alone_has_the_bits_it_has_among_others) {
  const laze_context_options options = {.struct_size = sizeof options, .backend = "llvm", .cache_directory = ""};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  for (int turned = 0; turned < 2; turned++) {
    float all[ROWS * COLUMNS], column[ROWS], row[COLUMNS];
    multiply(ROWS, COLUMNS, turned, all);
    multiply(ROWS, 1, turned, column);
    multiply(1, COLUMNS, turned, row);
    for (int m = 0; m < ROWS; m++) ck_assert_mem_eq(&column[m], &all[m * COLUMNS], sizeof *column);
    ck_assert_mem_eq(row, all, sizeof row);
  }
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *group = tcase_create("batches");
  tcase_set_timeout(group, 300);
  tcase_add_test(group, twenty_batch_sizes_compile_once);
  tcase_add_test(group, a_row_or_column_alone_has_the_bits_it_has_among_others);
  Suite *suite = suite_create("batches");
  suite_add_tcase(suite, group);
  return test_run_suite(suite);
}
