#include "support.h"

START_TEST(overloads_follow_the_arguments) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 3);
  laze_argument tensors[] = {pass(x), pass(x)}, number[] = {pass(x), pass_real(2)};
  ck_assert_float_eq(first(call("mul", tensors, 2), 2), 9);
  ck_assert_float_eq(first(call("mul", number, 2), 2), 6);
  laze_argument integer[] = {pass(x), {.kind = LAZE_PASS_INTEGER, .value.integer = 4}};
  ck_assert_float_eq(first(call("mul", integer, 2), 2), 12);
  laze_argument given_default[] = {pass(x), pass(x), {.kind = LAZE_PASS_DEFAULT}};
  ck_assert_float_eq(first(call("add.Tensor", given_default, 3), 2), 6);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(wrong_calls_are_errors) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 3), *result = NULL;
  laze_argument one[] = {pass(x)};
  laze_argument wrong[] = {pass(x), {.kind = LAZE_PASS_STRING, .value.string = "x"}};
  laze_argument many[] = {pass(x), pass(x), pass(x)};
  ck_assert(strstr(laze_tensor_error(call("no_such_operator", one, 1)), "no operator is called 'no_such_operator'"));
  ck_assert(strstr(laze_tensor_error(call("mul.Tensor", one, 1)), "'other' is missing"));
  ck_assert(strstr(laze_tensor_error(call("mul.Tensor", wrong, 2)), "'other' has the wrong kind"));
  ck_assert(strstr(laze_tensor_error(call("neg", many, 3)), "3 arguments"));
  ck_assert(strstr(laze_tensor_error(call("mul", wrong, 2)), "no overload accepts"));
  ck_assert(strstr(laze_tensor_error(call(NULL, one, 1)), "NULL"));
  laze_argument no_list[] = {{.kind = LAZE_PASS_TENSORS, .count = 2}, {.kind = LAZE_PASS_INTEGER}};
  ck_assert_int_eq(laze_tensor_rank(call("cat", no_list, 2)), -1);
  laze_argument no_items[] = {pass(x), {.kind = LAZE_PASS_INTEGERS, .count = 2}};
  ck_assert(strstr(laze_tensor_error(call("sum.dim_IntList", no_items, 2)), "'dim'"));
  laze_argument no_number[] = {pass(x), {.kind = LAZE_PASS_SCALAR, .value.scalar = {.dtype = 77}}};
  ck_assert(strstr(laze_tensor_error(call("mul.Scalar", no_number, 2)), "dtype 77"));
  ck_assert_int_eq(laze_call_by_name(context, "neg", one, 1, &result, 0), 0);
  ck_assert_ptr_null(result);
  ck_assert_int_eq(laze_call_by_name(context, "neg", NULL, 0, &result, 1), 1);
  ck_assert_int_eq(laze_tensor_rank(result), -1);
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {overloads_follow_the_arguments, wrong_calls_are_errors};
  return run_tests("call_by_name", tests, sizeof tests / sizeof *tests);
}
