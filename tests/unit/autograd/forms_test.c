/* Forms of calls that give their results to tensors there are, in place and out=, and what gradients make of them. */
#include "laze/laze.h"
#include "tests/unit/autograd/support.h"

/* The error is the scope's, too, until it is asked for. */
static void expect_refused(laze_tensor *result, laze_status status, const char *word) {
  ck_assert_int_eq(laze_tensor_status(result), status);
  ck_assert_msg(strstr(laze_tensor_error(result), word) != NULL, "\"%s\" is not in \"%s\"", word,
                laze_tensor_error(result));
}

static laze_tensor *integers(autograd_fixture *at, int32_t first, int32_t second) {
  const int32_t data[] = {first, second};
  return laze_tensor_from_data(at->context, LAZE_I32, LAZE_SHAPE(2), data, sizeof data);
}

static laze_tensor *call(const char *name, const laze_argument *arguments, int32_t count) {
  laze_tensor *results[2];
  ck_assert_int_ge(laze_call_by_name(NULL, name, arguments, count, results, 2), 1);
  return results[0];
}

static laze_argument pass(const char *name, laze_tensor *tensor) {
  return (laze_argument){.name = name, .kind = LAZE_PASS_TENSOR, .value.tensor = tensor};
}

START_TEST(row_5_5_a_form_in_place_changes_its_tensor_and_gives_it) {
  autograd_fixture at = begin();
  laze_tensor *x = constant(&at, (float[]){1, 2}), *y = constant(&at, (float[]){10, 20});
  laze_tensor *before = laze_mul(x, 2);
  ck_assert_ptr_eq(laze_add_(x, y), x);
  expect(x, 0, (float[]){11, 22});
  expect(before, 0, (float[]){2, 4});
  expect(laze_mul_(laze_add_with_(x, y, 0.5), 2), 0, (float[]){32, 64}); /* calls chain */
  laze_add_(x, x);                                                       /* operand and destination in one */
  expect(x, 0, (float[]){64, 128});
  laze_div_(x, 32);
  laze_pow_(x, 2);
  expect(laze_clamp_(x, 5, LAZE_NONE), 0, (float[]){5, 16});
  expect(laze_polygamma_(1, laze_fill_(x, 1)), 1e-6F, (float[]){1.644934F, 1.644934F}); /* self is its second */
  end(&at);
}
END_TEST

/* Rules of PyTorch: what is of a higher kind than the tensor cannot be cast to it. */
START_TEST(row_5_5_a_form_keeps_shape_and_dtype) {
  autograd_fixture at = begin();
  laze_tensor *n = integers(&at, 7, 8), *x = constant(&at, (float[]){1.5F, 2});
  laze_tensor *matrix = laze_tensor_from_data(at.context, LAZE_F32, LAZE_SHAPE(2, 2), (float[]){1, 2, 3, 4}, 16);
  expect_refused(laze_add_(n, x), LAZE_INVALID_ARGUMENT, "the result is f32 and cannot be cast to i32");
  expect_refused(laze_mul_(n, 0.5), LAZE_INVALID_ARGUMENT, "cannot be cast to i32");
  expect_refused(laze_div_(n, 2), LAZE_INVALID_ARGUMENT, "cannot be cast to i32");
  expect_refused(laze_add_(laze_gt(x, 0), 1), LAZE_INVALID_ARGUMENT, "cannot be cast to bool");
  expect_refused(laze_add_(x, matrix), LAZE_INVALID_ARGUMENT,
                 "the result is f32[2,2] and the tensor that gets it f32[2]");
  expect(n, 0, (float[]){7, 8});
  expect(x, 0, (float[]){1.5F, 2});
  expect(laze_add_(x, n), 0, (float[]){8.5F, 10});
  ck_assert_int_eq(laze_tensor_dtype(laze_eq_(x, 10)), LAZE_F32); /* bools are cast */
  expect(x, 0, (float[]){0, 1});
  expect(laze_add_(matrix, x), 0, (float[]){1, 3, 3, 5});
  end(&at);
}
END_TEST

START_TEST(out_gets_the_result_of_any_operator) {
  autograd_fixture at = begin();
  laze_tensor *x = constant(&at, (float[]){1, 2}), *z = constant(&at, (float[]){0, 0}), *n = integers(&at, 7, 8);
  ck_assert_ptr_eq(laze_out(z, laze_mul(x, 3)), z);
  expect(z, 0, (float[]){3, 6});
  laze_out(z, laze_add(z, x)); /* an argument as well */
  expect(z, 0, (float[]){4, 8});
  expect_refused(laze_out(n, laze_mul(x, 3)), LAZE_INVALID_ARGUMENT, "cannot be cast to i32");
  expect_refused(laze_out(z, laze_sum(x)), LAZE_INVALID_ARGUMENT, "one without elements, which takes it");
  expect(n, 0, (float[]){7, 8});
  expect(z, 0, (float[]){4, 8});
  laze_tensor *empty = laze_tensor_from_data(at.context, LAZE_F64, LAZE_SHAPE(0), NULL, 0);
  laze_out(empty, laze_add(x, 0.5));
  ck_assert_int_eq(laze_tensor_dtype(empty), LAZE_F64);
  expect(empty, 0, (float[]){1.5F, 2.5F});
  end(&at);
}
END_TEST

/* An error of the call itself is the one that is told, and the tensor is as it was. */
START_TEST(errors_of_the_call_are_passed_on) {
  autograd_fixture at = begin();
  laze_tensor *x = constant(&at, (float[]){1, 2}), *three = constant(&at, (float[]){1, 2, 3});
  laze_tensor *failed = laze_add(x, three);
  expect_refused(failed, LAZE_INVALID_ARGUMENT, "laze_add");
  expect_refused(laze_add_(x, three), LAZE_INVALID_ARGUMENT, "forms_test.c");
  expect_refused(laze_add_(x, failed), LAZE_INVALID_ARGUMENT, laze_tensor_error(failed));
  expect_refused(laze_add_(failed, x), LAZE_INVALID_ARGUMENT, laze_tensor_error(failed));
  expect_refused(laze_out(failed, laze_add(x, x)), LAZE_INVALID_ARGUMENT, laze_tensor_error(failed));
  expect_refused(laze_out(NULL, laze_add(x, x)), LAZE_INVALID_ARGUMENT, "NULL");
  expect_refused(laze_results_give_at(LAZE_OUT, "many", &x, &x, 9, NULL, 0), LAZE_INVALID_ARGUMENT, "9 results");
  expect(x, 0, (float[]){1, 2});
  end(&at);
}
END_TEST

START_TEST(forms_are_called_by_name) {
  autograd_fixture at = begin();
  laze_tensor *x = constant(&at, (float[]){1, 2}), *z = constant(&at, (float[]){0, 0}), *results[2];
  laze_argument two = {.kind = LAZE_PASS_INTEGER, .value.integer = 2};
  const laze_argument sum[] = {pass(NULL, x), pass(NULL, x), pass("out", z)}, power[] = {pass(NULL, x), two};
  ck_assert_ptr_eq(call("add_", sum, 2), x);
  ck_assert_ptr_eq(call("add_.Tensor", sum, 2), x);
  ck_assert_ptr_eq(call("pow_.Scalar", power, 2), x); /* that of pow.Tensor_Scalar */
  expect(x, 0, (float[]){16, 64});
  static const char *const outs[] = {"add", "add.out", "add.Tensor", "add.Tensor_out"};
  for (int i = 0; i < 4; i++) {
    ck_assert_ptr_eq(call(outs[i], sum, 3), z);
    expect(z, 0, (float[]){32, 128});
    laze_fill_(z, 0);
  }
  laze_tensor *values = constant(&at, (float[]){0, 0});
  laze_tensor *places = laze_tensor_from_data(at.context, LAZE_I64, LAZE_SHAPE(2), (int64_t[]){7, 7}, 16);
  laze_tensor *const both[] = {values, places}, *const one[] = {values};
  laze_argument sort[] = {pass(NULL, laze_neg(x)),
                          {.name = "out", .kind = LAZE_PASS_TENSORS, .count = 2, .value.tensors = both}};
  ck_assert_int_eq(laze_call_by_name(at.context, "sort", sort, 2, results, 2), 2);
  ck_assert(results[0] == values && results[1] == places);
  expect(values, 0, (float[]){-64, -16});
  expect(places, 0, (float[]){1, 0});
  sort[1].count = 1;
  sort[1].value.tensors = one;
  expect_refused(call("sort", sort, 2), LAZE_INVALID_ARGUMENT, "gives 2 results, but 'out' has 1");
  expect_refused(call("add_", sum, 3), LAZE_INVALID_ARGUMENT, "no argument 'out'");
  expect_refused(call("add.out", sum, 2), LAZE_INVALID_ARGUMENT, "'out' is missing");
  expect_refused(call("sum_", sum, 1), LAZE_NOT_FOUND, "sum_");
  expect_refused(call("pow_", (laze_argument[]){two, pass(NULL, x)}, 2), LAZE_INVALID_ARGUMENT, "no form in place");
  end(&at);
}
END_TEST

/* Of two results the second is refused: neither tensor has changed. */
START_TEST(either_all_results_are_given_or_none) {
  autograd_fixture at = begin();
  laze_tensor *values = constant(&at, (float[]){5, 6}), *places = laze_gt(values, 0), *results[2];
  laze_tensor *const both[] = {values, places};
  const laze_argument sort[] = {pass(NULL, constant(&at, (float[]){2, 1})),
                                {.name = "out", .kind = LAZE_PASS_TENSORS, .count = 2, .value.tensors = both}};
  ck_assert_int_eq(laze_call_by_name(at.context, "sort", sort, 2, results, 2), 1);
  expect_refused(results[0], LAZE_INVALID_ARGUMENT, "cannot be cast to bool");
  expect(values, 0, (float[]){5, 6});
  end(&at);
}
END_TEST

START_TEST(row_1_10_a_leaf_is_not_changed_while_gradients_are_recorded) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2});
  expect_refused(laze_mul_(x, 3), LAZE_FAILED_PRECONDITION, "leaf");
  expect(x, 0, (float[]){1, 2});
  laze_set_grad_enabled(at.context, 0);
  laze_mul_(x, 3);
  laze_set_grad_enabled(at.context, 1);
  expect(x, 0, (float[]){3, 6});
  ck_assert(laze_tensor_is_leaf(x) && laze_tensor_requires_grad(x));
  end(&at);
}
END_TEST

START_TEST(row_1_13_out_refuses_what_requires_a_gradient) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *c = constant(&at, (float[]){3, 4}), *z = laze_mul(c, 1);
  expect_refused(laze_out(z, laze_mul(x, c)), LAZE_FAILED_PRECONDITION, "an argument requires a gradient");
  expect_refused(laze_out(x, laze_mul(c, c)), LAZE_FAILED_PRECONDITION, "the tensor that gets the result");
  expect_refused(laze_out(laze_mul(x, 2), laze_mul(c, c)), LAZE_FAILED_PRECONDITION, "requires a gradient");
  expect(z, 0, (float[]){3, 4});
  expect(laze_out(z, laze_gt(x, 1)), 0, (float[]){0, 1}); /* of which there is no gradient */
  laze_set_grad_enabled(at.context, 0);
  laze_out(z, laze_mul(x, c));
  laze_set_grad_enabled(at.context, 1);
  expect(z, 0, (float[]){3, 8});
  end(&at);
}
END_TEST

/* The history of what was there goes on through the call: y = ((2 x) * x)^2 / 8, and its gradient is 2 x^3. */
START_TEST(gradients_go_through_forms_in_place) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2});
  laze_tensor *y = laze_mul(x, 2);
  laze_mul_(y, x);
  laze_mul_(y, y);
  laze_div_(y, 8);
  expect(y, 0, (float[]){0.5F, 8});
  backward(laze_sum(y));
  expect(laze_tensor_grad(x), 1e-6F, (float[]){2, 16});
  end(&at);
}
END_TEST

/* mul_ needs what y was for the gradient of w, and it is right though y has changed twice; lerp_ is made of several
 * calls. */
START_TEST(row_1_9_the_old_value_is_kept_where_a_formula_needs_it) {
  autograd_fixture at = begin();
  laze_tensor *w = leaf(&at, (float[]){3, 4}), *y = constant(&at, (float[]){5, 6});
  laze_mul_(y, w);
  laze_add_(y, 1);
  backward(laze_sum(y));
  expect(laze_tensor_grad(w), 0, (float[]){5, 6});
  laze_tensor *v = leaf(&at, (float[]){0.5F, 0.25F}), *z = constant(&at, (float[]){1, 2});
  laze_lerp_(z, constant(&at, (float[]){5, 10}), v);
  expect(z, 0, (float[]){3, 4});
  backward(laze_sum(z));
  expect(laze_tensor_grad(v), 0, (float[]){4, 8});
  end(&at);
}
END_TEST

/* Elsewhere nothing is kept: the old value of a large tensor goes when the new one is there. */
START_TEST(row_1_9_and_only_there) {
  autograd_fixture at = begin();
  const int64_t bytes = LEAF_ELEMENTS * (int64_t)sizeof(float);
  laze_tensor *x = large_leaf(&at);
  laze_tensor *y = laze_tensor_retain(laze_mul(x, 2));
  ck_assert_int_eq(laze_tensor_materialise(y), LAZE_OK);
  const int64_t before = metric(at.context, "current_bytes");
  for (int i = 0; i < 3; i++) {
    laze_add_(y, 1);
    ck_assert_int_eq(laze_tensor_materialise(y), LAZE_OK);
  }
  ck_assert_int_lt(metric(at.context, "current_bytes"), before + bytes);
  laze_mul_(y, x);
  laze_mul_(y, x);
  ck_assert_int_eq(laze_tensor_materialise(y), LAZE_OK);
  ck_assert_int_ge(metric(at.context, "current_bytes"), before + bytes); /* x's gradient needs y's */
  laze_tensor_release(y);
  end(&at);
}
END_TEST

/* What another call has kept of the tensor is another value now, as PyTorch says. */
START_TEST(row_1_8_what_others_kept_is_noticed) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = constant(&at, (float[]){3, 4});
  laze_tensor *product = laze_mul(x, w);
  laze_mul_(w, product);
  ck_assert_int_eq(laze_backward(laze_sum(w), &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "version 1, and was at version 0"));
  end(&at);
}
END_TEST

/* The handles of results are let go of, so that a loop in one scope needs no more of them: 10,000 are half a megabyte.
 */
START_TEST(results_leave_no_handles) {
  autograd_fixture at = begin();
  laze_tensor *x = constant(&at, (float[]){0, 0});
  int64_t before = 0;
  for (int i = 0; i < 20000; i++) {
    laze_add_(x, 1);
    ck_assert_int_eq(laze_tensor_materialise(x), LAZE_OK);
    if (i == 10000) before = metric(at.context, "node_bytes");
  }
  ck_assert_int_eq(metric(at.context, "node_bytes"), before);
  expect(x, 0, (float[]){20000, 20000});
  end(&at);
}
END_TEST

/* The handles of results go, so that none may be needed elsewhere: nothing is lost where one is. */
START_TEST(results_are_given_once) {
  autograd_fixture at = begin();
  laze_tensor *x = constant(&at, (float[]){1, 2}), *y = constant(&at, (float[]){3, 4});
  laze_tensor *empty = laze_tensor_from_data(at.context, LAZE_F32, LAZE_SHAPE(0), NULL, 0), *sum = laze_add(x, y);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_out(x, x)), "result 0 is a tensor that gets one"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_out(empty, empty)), "result 0 is a tensor that gets one"));
  laze_tensor *results[] = {sum, sum}, *destinations[] = {x, y};
  laze_tensor *given = laze_results_give_at(LAZE_OUT, NULL, destinations, results, 2, NULL, 0);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(given), "laze_results_give_at: result 1 is given twice"));
  laze_tensor *crossed[] = {y, sum}, *reached[] = {x, y};
  given = laze_results_give_at(LAZE_OUT, "both", reached, crossed, 2, NULL, 0);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(given), "both: result 0 is a tensor that gets one"));
  expect(x, 0, (float[]){1, 2});
  expect(y, 0, (float[]){3, 4});
  expect(sum, 0, (float[]){4, 6});
  (void)laze_scope_end(at.scope); /* has the errors */
  at.scope = laze_scope_begin(at.context);
  end(&at);
}
END_TEST

/* Each of several writes goes on from those before it where they share memory: none is lost, the later one wins, and
 * views that were there see all of them. */
START_TEST(results_go_to_parts_of_one_tensor) {
  autograd_fixture at = begin();
  laze_tensor *x = constant(&at, (float[]){0, 0, 0, 0}), *view = laze_slice(x, 0, 1, 3, 1);
  const float first[] = {1, 2, 3}, second[] = {7, 8};
  laze_tensor *parts[] = {laze_slice(x, 0, 0, 3, 1), laze_slice(x, 0, 2, 4, 1)};
  laze_tensor *results[] = {laze_neg(constant_of(&at, first, 3)), laze_neg(constant_of(&at, second, 2))};
  (void)laze_results_give_at(LAZE_OUT, "both", parts, results, 2, NULL, 0);
  expect(x, 0, (float[]){-1, -2, -7, -8});
  expect(view, 0, (float[]){-2, -7});
  expect(parts[0], 0, (float[]){-1, -2, -7});
  laze_tensor *all[] = {x, laze_slice(x, 0, 0, 2, 1)};
  laze_tensor *others[] = {laze_add(x, 10), laze_neg(constant_of(&at, second, 2))};
  (void)laze_results_give_at(LAZE_OUT, "both", all, others, 2, NULL, 0);
  expect(x, 0, (float[]){-7, -8, 3, 2});
  end(&at);
}
END_TEST

/* A write that a history could not notice is refused. */
START_TEST(what_inference_made_is_not_written_to_outside) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *two = constant(&at, (float[]){2, 2});
  laze_set_inference_mode(at.context, 1);
  laze_tensor *made = laze_add(two, 1);
  ck_assert_int_eq(laze_tensor_write(made, two, &error), LAZE_OK);
  laze_set_inference_mode(at.context, 0);
  ck_assert_int_eq(laze_tensor_write(made, two, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "made in inference mode"));
  end(&at);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      row_5_5_a_form_in_place_changes_its_tensor_and_gives_it,
      row_5_5_a_form_keeps_shape_and_dtype,
      out_gets_the_result_of_any_operator,
      errors_of_the_call_are_passed_on,
      forms_are_called_by_name,
      either_all_results_are_given_or_none,
      row_1_10_a_leaf_is_not_changed_while_gradients_are_recorded,
      row_1_13_out_refuses_what_requires_a_gradient,
      gradients_go_through_forms_in_place,
      row_1_9_the_old_value_is_kept_where_a_formula_needs_it,
      row_1_9_and_only_there,
      row_1_8_what_others_kept_is_noticed,
      results_leave_no_handles,
      results_are_given_once,
      results_go_to_parts_of_one_tensor,
      what_inference_made_is_not_written_to_outside,
  };
  return run_tests("forms", tests, sizeof tests / sizeof *tests);
}
