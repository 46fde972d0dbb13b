/* The generated functions of laze/functions.h, called as a program would: what they pack must arrive. */
#include "laze/laze.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static laze_context *context;
static laze_scope *scope;
static laze_error error;

static void set_up(void) {
  const laze_context_options options = {.struct_size = sizeof(options), .backend = "interp", .cache_directory = ""};
  ck_assert_int_eq(laze_context_create(&options, &context, &error), LAZE_OK);
  scope = laze_scope_begin(context);
}

static void tear_down(void) {
  laze_scope_end(scope);
  laze_context_release(context);
}

static laze_tensor *vector(double first, double second) {
  const double data[] = {first, second};
  return laze_tensor_from_data(context, LAZE_F64, LAZE_SHAPE(2), data, sizeof(data));
}

static void assert_values(laze_tensor *tensor, double first, double second) {
  double data[2];
  ck_assert_msg(laze_tensor_read(tensor, LAZE_F64, data, sizeof(data)) == LAZE_OK, "%s", laze_tensor_error(tensor));
  ck_assert_double_eq(data[0], first);
  ck_assert_double_eq(data[1], second);
}

START_TEST(plain_forms_use_defaults) {
  assert_values(laze_add(vector(1, 2), vector(10, 20)), 11, 22);
  ck_assert_double_eq(laze_tensor_item(laze_sum(vector(1, 2))), 3);
  ck_assert_int_eq(laze_tensor_rank(laze_sum_dim(vector(1, 2), LAZE_INTS(0), true)), 1);
  ck_assert_int_eq(laze_tensor_rank(laze_sum_dim(vector(1, 2), 0, false)), 0);
}
END_TEST

/* Whatever type a number has in C: it is the same number. A loop's counter and a size must not need a cast. */
START_TEST(numbers_are_written_as_numbers) {
  const float real = 0.5f;
  const int64_t wide = 3;
  const size_t size = 3;
  const unsigned char small = 3;
  laze_tensor *a = vector(1, 2);
  assert_values(laze_mul(a, 0.5), 0.5, 1);
  assert_values(laze_mul(a, real), 0.5, 1);
  assert_values(laze_mul(a, -3), -3, -6);
  assert_values(laze_mul(a, wide), 3, 6);
  assert_values(laze_mul(a, size), 3, 6);
  assert_values(laze_mul(a, small), 3, 6);
  assert_values(laze_mul(a, (bool)1), 1, 2);
  assert_values(laze_mul(a, LAZE_NUMBER(3)), 3, 6);
  assert_values(laze_mul(a, a), 1, 4);
  assert_values(laze_mul(a, UINT64_MAX), 0x1p64, 0x1p65); /* no int64_t: wrapped, it would be -1 */
}
END_TEST

/* A number of C decides about the dtype as one of Python does in PyTorch: an integer leaves integers alone. */
START_TEST(kinds_of_numbers_are_kept) {
  const int64_t data[] = {4, 6};
  laze_tensor *integers = laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(2), data, sizeof(data));
  ck_assert_int_eq(laze_tensor_dtype(laze_add(integers, 1)), LAZE_I64);
  ck_assert_int_eq(laze_tensor_dtype(laze_add(integers, 1.0)), LAZE_F32);
  ck_assert_int_eq(laze_tensor_dtype(laze_eq(integers, 4)), LAZE_BOOL);
  ck_assert_int_eq(laze_tensor_dtype(laze_full(context, LAZE_SHAPE(2), 7, LAZE_DTYPE_NONE)), LAZE_I64);
}
END_TEST

/* Operators that take a number on either side, or two. */
START_TEST(tensors_and_numbers_are_told_apart_everywhere) {
  laze_tensor *a = vector(1, 3), *first = laze_lt(a, 2);
  assert_values(laze_pow(a, 2), 1, 9);
  assert_values(laze_pow(2, a), 2, 8);
  assert_values(laze_pow(a, a), 1, 27);
  assert_values(laze_where(first, a, 7), 1, 7);
  assert_values(laze_where(first, 7, a), 7, 3);
  assert_values(laze_where(first, 7, 8.0), 7, 8);
  assert_values(laze_where(first, a, vector(5, 6)), 1, 6);
  assert_values(laze_rsub(a, 1), 0, -2);
}
END_TEST

/* Either limit may be left out, and neither of them is no call. A number beside a tensor has no operator: were it taken
 * for absent, one limit would be lost. */
START_TEST(limits_are_tensors_or_numbers) {
  laze_tensor *a = vector(-1, 3);
  assert_values(laze_clamp(a, 0, 2.5), 0, 2.5);
  assert_values(laze_clamp(a, LAZE_NONE, 2), -1, 2);
  assert_values(laze_clamp(a, 0, NULL), 0, 3);
  assert_values(laze_clamp(a, vector(0, 0), vector(1, 1)), 0, 1);
  assert_values(laze_clamp(a, NULL, vector(-5, 5)), -5, 3);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_clamp(a, LAZE_NONE, LAZE_NONE)), "pass at least one"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_clamp(a, 0, vector(1, 1))), "argument 'min' is a number"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_pow(2, 3)), "argument 'self' is a number"));
}
END_TEST

/* What is given counts, with nothing beside it to say so. */
START_TEST(numbers_that_may_be_absent_are_given_or_absent) {
  laze_tensor *a = vector(1, 3);
  ck_assert_int_eq(laze_tensor_size(laze_slice(a, 0, 1, 2, 1), 0), 1);
  ck_assert_int_eq(laze_tensor_size(laze_slice(a, 0, LAZE_NONE, -1, 1), 0), 1);
  ck_assert_int_eq(laze_tensor_size(laze_slice(a, 0, 0, 0, 1), 0), 0);
  ck_assert_double_eq(laze_tensor_item(laze_var(a, true)), 2);
  ck_assert_double_eq(laze_tensor_item(laze_var(a, false)), 1);
  ck_assert_double_eq(laze_tensor_item(laze_argmax(a, LAZE_NONE, false)), 1);
  ck_assert_double_eq(laze_tensor_item(laze_argmax(a, 0, false)), 1);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_slice(a, 0, 0.5, LAZE_NONE, 1)), "'start' is a real number"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_argmax(a, 1.0, false)), "'dim' is a real number"));
}
END_TEST

/* The longer forms take what the short ones leave out, zero as well. */
START_TEST(further_arguments_are_passed) {
  laze_tensor *a = vector(1, 2), *b = vector(10, 20);
  assert_values(laze_add_with(a, b, 2), 21, 42);
  assert_values(laze_add_with(a, 10, 2), 21, 22);
  assert_values(laze_add_with(a, b, 0), 1, 2);
  assert_values(laze_add_with(a, b, LAZE_NONE), 11, 22);
  ck_assert_int_eq(laze_tensor_dtype(laze_sum_with(a, LAZE_I64)), LAZE_I64);
  ck_assert_int_eq(laze_tensor_dtype(laze_zeros_like_with(a, LAZE_BOOL)), LAZE_BOOL);
  ck_assert_double_eq(laze_tensor_item(laze_var_dim_with(a, LAZE_ALL_DIMS, false, 0)), 0.25);
  ck_assert_double_eq(laze_tensor_item(laze_var_dim(a, LAZE_ALL_DIMS, false)), 0.5);
  assert_values(laze_rsub_with(a, 1, 2), -1, -3);
}
END_TEST

/* The same seed gives the same numbers, whether it is a number or a tensor that counts on. */
START_TEST(seeds_are_integers) {
  double first[2], again[2];
  laze_tensor *seed = laze_tensor_from_scalar(context, LAZE_I64, 7),
              *offset = laze_tensor_from_scalar(context, LAZE_I64, 1);
  laze_tensor *numbers = laze_randn(context, 2, 7, 1, LAZE_F64);
  ck_assert_int_eq(laze_tensor_read(numbers, LAZE_F64, first, sizeof(first)), LAZE_OK);
  ck_assert_int_eq(laze_tensor_read(laze_randn_from(2, seed, offset, LAZE_F64), LAZE_F64, again, sizeof(again)),
                   LAZE_OK);
  ck_assert_mem_eq(first, again, sizeof(first));
  ck_assert_int_eq(laze_tensor_read(laze_rand(context, 2, -1, INT64_MAX, LAZE_F64), LAZE_F64, again, sizeof(again)),
                   LAZE_OK);
}
END_TEST

START_TEST(several_results_are_written) {
  laze_tensor *results[2] = {NULL, NULL};
  const double data[] = {1, 5, 7, 2};
  laze_tensor *matrix = laze_tensor_from_data(context, LAZE_F64, LAZE_SHAPE(2, 2), data, sizeof(data));
  laze_max_dim(matrix, 1, false, results);
  assert_values(results[0], 5, 7);
  assert_values(results[1], 1, 0);
}
END_TEST

/* More tensors than the function keeps room for on its stack. */
START_TEST(long_tensor_lists_are_passed) {
  laze_tensor *tensors[100];
  for (int i = 0; i < 100; i++) tensors[i] = vector(i, -i);
  double data[200];
  laze_tensor *joined = laze_cat(tensors, 100, 0);
  ck_assert_msg(laze_tensor_read(joined, LAZE_F64, data, sizeof(data)) == LAZE_OK, "%s", laze_tensor_error(joined));
  ck_assert_double_eq(data[198], 99);
  ck_assert_double_eq(data[199], -99);
}
END_TEST

/* Lists of tensors that may be absent, and of numbers. */
START_TEST(lists_of_other_kinds_are_passed) {
  const int64_t last = -1;
  double data[3];
  laze_tensor *matrix = laze_reshape(laze_arange(context, 6, LAZE_F64), LAZE_SHAPE(2, 3)), *results[2];
  laze_tensor *index = laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE_SCALAR, &last, sizeof(last));
  assert_values(laze_index(matrix, LAZE_TENSORS(NULL, index)), 2, 5);
  laze_histogram_with(vector(1, 3), 2, results, LAZE_REALS(0, 4), NULL, false);
  assert_values(results[0], 1, 1);
  ck_assert_int_eq(laze_tensor_read(results[1], LAZE_F64, data, sizeof(data)), LAZE_OK);
  ck_assert(data[0] == 0 && data[1] == 2 && data[2] == 4);
  laze_histogram(vector(1, 3), 2, results);
  assert_values(results[0], 1, 1);
  ck_assert_ptr_nonnull(
      strstr(laze_tensor_error(laze_index(matrix, NULL, 2)), "laze_index: argument 'indices' is no list"));
  laze_histogram_with(vector(1, 3), 2, results, (laze_reals){NULL, 2}, NULL, false);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(results[0]), "argument 'range' is no list"));
}
END_TEST

/* What is wrong becomes an error handle that names the operator; nothing is read through a bad pointer. */
START_TEST(wrong_arguments_are_reported) {
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_add(vector(1, 2), NULL)), "add"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_cat(NULL, 3, 0)), "cat"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_cat(NULL, -1, 0)), "cat"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_reshape(vector(1, 2), (laze_ints){NULL, 3})), "reshape"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_reshape(vector(1, 2), (laze_ints){NULL, -3})), "reshape"));
  const int64_t huge[] = {INT64_MIN, INT64_MIN};
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_reshape(vector(1, 2), (laze_ints){huge, 2})), "reshape"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_narrow(vector(1, 2), 0, INT64_MIN, 1)), "narrow"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_mul(vector(1, 2), LAZE_NONE)), "mul"));
}
END_TEST

/* Creation needs to be told its context. */
START_TEST(creation_takes_a_context) {
  assert_values(laze_full(context, LAZE_SHAPE(2), 2.5, LAZE_F64), 2.5, 2.5);
  laze_tensor *numbers = laze_arange(context, 2, LAZE_DTYPE_NONE);
  ck_assert_int_eq(laze_tensor_dtype(numbers), LAZE_I64);
  assert_values(numbers, 0, 1);
}
END_TEST

/* Functions are there beside the macros, for callers that need an address. */
START_TEST(functions_have_addresses) {
  laze_tensor *(*function)(laze_tensor *, laze_tensor *) = laze_mul;
  assert_values(function(vector(1, 2), vector(3, 4)), 3, 8);
  assert_values((laze_cat)(LAZE_TENSORS(laze_slice(vector(1, 2), 0, 0, 1, 1), laze_slice(vector(3, 4), 0, 1, 2, 1)), 0),
                1, 4);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("functions");
  TCase *cases = tcase_create("functions");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, plain_forms_use_defaults);
  tcase_add_test(cases, numbers_are_written_as_numbers);
  tcase_add_test(cases, kinds_of_numbers_are_kept);
  tcase_add_test(cases, tensors_and_numbers_are_told_apart_everywhere);
  tcase_add_test(cases, limits_are_tensors_or_numbers);
  tcase_add_test(cases, numbers_that_may_be_absent_are_given_or_absent);
  tcase_add_test(cases, further_arguments_are_passed);
  tcase_add_test(cases, seeds_are_integers);
  tcase_add_test(cases, lists_of_other_kinds_are_passed);
  tcase_add_test(cases, several_results_are_written);
  tcase_add_test(cases, long_tensor_lists_are_passed);
  tcase_add_test(cases, wrong_arguments_are_reported);
  tcase_add_test(cases, creation_takes_a_context);
  tcase_add_test(cases, functions_have_addresses);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
