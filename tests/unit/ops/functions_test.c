/* The generated functions of laze/functions.h, called as a program would: what they pack must arrive. */
#include "laze/functions.h"
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
  assert_values(laze_mul_scalar(vector(1, 2), laze_scalar_real(0.5)), 0.5, 1);
  ck_assert_double_eq(laze_tensor_item(laze_sum(vector(1, 2))), 3);
}
END_TEST

/* Options reach the operator one by one, and what is left zero is the schema's default. */
START_TEST(options_are_passed) {
  laze_tensor *a = vector(1, 2), *b = vector(10, 20);
  assert_values(
      laze_add_with(a, b,
                    &(laze_add_options){.struct_size = sizeof(laze_add_options), .alpha = laze_scalar_integer(2)}),
      21, 42);
  assert_values(laze_add_with(a, b, &(laze_add_options){.struct_size = sizeof(laze_add_options)}), 11, 22);
  assert_values(laze_add_with(a, b, NULL), 11, 22);
  laze_tensor *kept = laze_sum_dim_intlist_with(
      a, &(laze_sum_dim_intlist_options){
             .struct_size = sizeof(laze_sum_dim_intlist_options), .dim = LAZE_INTS(0), .keepdim = true});
  ck_assert_int_eq(laze_tensor_rank(kept), 1);
  laze_tensor *integers =
      laze_sum_with(a, &(laze_sum_options){.struct_size = sizeof(laze_sum_options), .dtype = LAZE_I64});
  ck_assert_int_eq(laze_tensor_dtype(integers), LAZE_I64);
}
END_TEST

/* A default that is not zero has a flag: variance by default divides by n - 1. */
START_TEST(flags_pass_zero) {
  laze_tensor *a = vector(1, 3);
  ck_assert_double_eq(laze_tensor_item(laze_var(a)), 2);
  const laze_var_options biased = {.struct_size = sizeof(biased), .has_unbiased = true, .unbiased = false};
  ck_assert_double_eq(laze_tensor_item(laze_var_with(a, &biased)), 1);
}
END_TEST

/* A program built with an older header has a shorter structure: what lies behind it must not be read. */
START_TEST(short_options_are_read_as_far_as_they_go) {
  laze_add_options options = {.struct_size = sizeof(size_t), .alpha = laze_scalar_integer(100)};
  assert_values(laze_add_with(vector(1, 2), vector(10, 20), &options), 11, 22);
  options.struct_size = 0;
  assert_values(laze_add_with(vector(1, 2), vector(1, 1), &options), 101, 102);
}
END_TEST

START_TEST(several_results_are_written) {
  laze_tensor *results[2] = {NULL, NULL};
  const double data[] = {1, 5, 7, 2};
  laze_tensor *matrix = laze_tensor_from_data(context, LAZE_F64, LAZE_SHAPE(2, 2), data, sizeof(data));
  laze_max_dim(matrix, 1, results);
  assert_values(results[0], 5, 7);
  assert_values(results[1], 1, 0);
}
END_TEST

/* More tensors than the function keeps room for on its stack. */
START_TEST(long_tensor_lists_are_passed) {
  laze_tensor *tensors[100];
  for (int i = 0; i < 100; i++) tensors[i] = vector(i, -i);
  double data[200];
  laze_tensor *joined = laze_cat(tensors, 100);
  ck_assert_msg(laze_tensor_read(joined, LAZE_F64, data, sizeof(data)) == LAZE_OK, "%s", laze_tensor_error(joined));
  ck_assert_double_eq(data[198], 99);
  ck_assert_double_eq(data[199], -99);
}
END_TEST

/* What is wrong becomes an error handle that names the operator; nothing is read through a bad pointer. */
START_TEST(wrong_arguments_are_reported) {
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_add(vector(1, 2), NULL)), "add"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_cat(NULL, 3)), "cat"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_cat(NULL, -1)), "cat"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_reshape(vector(1, 2), (laze_ints){NULL, 3})), "reshape"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_reshape(vector(1, 2), (laze_ints){NULL, -3})), "reshape"));
  const int64_t huge[] = {INT64_MIN, INT64_MIN};
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_reshape(vector(1, 2), (laze_ints){huge, 2})), "reshape"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_narrow(vector(1, 2), 0, INT64_MIN, 1)), "narrow"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_mul_scalar(vector(1, 2), (laze_scalar){0})), "mul"));
}
END_TEST

/* Creation needs to be told its context. */
START_TEST(creation_takes_a_context) {
  assert_values(laze_full(context, LAZE_SHAPE(2), laze_scalar_real(2.5)), 2.5, 2.5);
  laze_tensor *numbers = laze_arange(context, laze_scalar_integer(2));
  ck_assert_int_eq(laze_tensor_dtype(numbers), LAZE_I64);
  assert_values(numbers, 0, 1);
}
END_TEST

/* Functions are there beside the macros, for callers that need an address. */
START_TEST(functions_have_addresses) {
  laze_tensor *(*function)(laze_tensor *, laze_tensor *) = laze_mul;
  assert_values(function(vector(1, 2), vector(3, 4)), 3, 8);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("functions");
  TCase *cases = tcase_create("functions");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, plain_forms_use_defaults);
  tcase_add_test(cases, options_are_passed);
  tcase_add_test(cases, flags_pass_zero);
  tcase_add_test(cases, short_options_are_read_as_far_as_they_go);
  tcase_add_test(cases, several_results_are_written);
  tcase_add_test(cases, long_tensor_lists_are_passed);
  tcase_add_test(cases, wrong_arguments_are_reported);
  tcase_add_test(cases, creation_takes_a_context);
  tcase_add_test(cases, functions_have_addresses);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
