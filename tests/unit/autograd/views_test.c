/* Views, writes through them, and gradients: what is refused before anything changes, and where gradients go. Each
 * program that writes is compared with one that does not. */
#include "laze/laze.h"
#include "tests/support/failing_allocator.h"
#include "tests/unit/autograd/support.h"

static void write_to(laze_tensor *destination, laze_tensor *source) {
  laze_error error;
  ck_assert_msg(laze_tensor_write(destination, source, &error) == LAZE_OK, "%s", error.message);
}

static void expect_refused(laze_tensor *destination, laze_tensor *source, laze_status status, const char *word) {
  laze_error error;
  ck_assert_int_eq(laze_tensor_write(destination, source, &error), status);
  ck_assert_msg(strstr(error.message, word) != NULL, "\"%s\" is not in \"%s\"", word, error.message);
}

static int32_t split_in_two(autograd_fixture *at, laze_tensor *x, laze_tensor **halves) {
  const laze_argument arguments[] = {{.kind = LAZE_PASS_TENSOR, .value.tensor = x},
                                     {.kind = LAZE_PASS_INTEGER, .value.integer = 2}};
  return laze_call_by_name(at->context, "split", arguments, 2, halves, 2);
}

/* --- what is refused --- */

START_TEST(row_1_10_bad_kinds_of_views_are_refused_before_anything_changes) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3, 4}), *one = constant(&at, (float[]){9});
  expect_refused(laze_narrow(x, 0, 1, 2), one, LAZE_FAILED_PRECONDITION, "a view of a leaf");
  laze_tensor *y = laze_mul(x, 2.0), *halves[2];
  ck_assert_int_eq(split_in_two(&at, y, halves), 2);
  expect_refused(halves[0], one, LAZE_FAILED_PRECONDITION, "one of several views");
  expect_refused(laze_expand(laze_narrow(y, 0, 0, 1), LAZE_SHAPE(3)), one, LAZE_INVALID_ARGUMENT, "one place");
  laze_set_grad_enabled(at.context, 0);
  laze_tensor *quiet = laze_narrow(y, 0, 0, 2);
  laze_set_grad_enabled(at.context, 1);
  expect_refused(quiet, one, LAZE_FAILED_PRECONDITION, "where no gradients are recorded");
  expect(x, 0, (float[]){1, 2, 3, 4});
  expect(y, 0, (float[]){2, 4, 6, 8});
  backward(laze_sum(laze_mul(y, y))); /* its version is what it was */
  expect(laze_tensor_grad(x), 0, (float[]){8, 16, 24, 32});
  end(&at);
}
END_TEST

/* Where no gradients are recorded a leaf may be written to, through a view as well, and stays one. */
START_TEST(row_1_10_a_leaf_is_written_to_through_a_view_without_gradients) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3});
  laze_set_grad_enabled(at.context, 0);
  write_to(laze_narrow(x, 0, 1, 2), constant(&at, (float[]){7}));
  laze_set_grad_enabled(at.context, 1);
  ck_assert(laze_tensor_is_leaf(x) && laze_tensor_requires_grad(x));
  backward(laze_sum(laze_mul(x, x)));
  expect(laze_tensor_grad(x), 0, (float[]){2, 14, 14});
  end(&at);
}
END_TEST

/* --- histories --- */

START_TEST(row_1_11_a_write_through_a_view_rebases_the_history_of_the_base) {
  for (int in_place = 0; in_place < 2; in_place++) {
    autograd_fixture at = begin();
    laze_tensor *x = leaf(&at, (float[]){1, 2, 3, 4}), *w = leaf(&at, (float[]){3, 5});
    laze_tensor *y = laze_mul(x, x);
    if (in_place) {
      laze_tensor *all = laze_reshape(y, LAZE_SHAPE(2, 2)), *column = laze_select(all, 1, 1); /* of a view a view */
      laze_mul_(column, w);
      expect(column, 0, (float[]){12, 80});
      expect(all, 0, (float[]){1, 12, 9, 80});
    } else {
      y = laze_mul(y, laze_reshape(laze_stack(LAZE_TENSORS(laze_add(laze_mul(w, 0.0), 1.0), w), 1), LAZE_SHAPE(4)));
    }
    expect(y, 0, (float[]){1, 12, 9, 80});
    backward(laze_sum(laze_mul(y, constant(&at, (float[]){1, 10, 100, 1000}))));
    expect(laze_tensor_grad(x), 0, (float[]){2, 120, 600, 40000});
    expect(laze_tensor_grad(w), 0, (float[]){40, 16000});
    end(&at);
  }
}
END_TEST

/* The view was made before the base was written to, and has the new value and its history. */
START_TEST(row_1_12_a_view_is_recorded_again_on_the_base_as_it_is) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3}), *w = leaf(&at, (float[]){10});
  laze_tensor *y = laze_mul(x, 2.0), *v = laze_narrow(y, 0, 1, 2);
  laze_mul_(y, w);
  expect(v, 0, (float[]){40, 60});
  ck_assert(laze_tensor_requires_grad(v) && !laze_tensor_is_leaf(v));
  backward(laze_sum(v));
  expect(laze_tensor_grad(x), 0, (float[]){0, 20, 20});
  expect(laze_tensor_grad(w), 0, (float[]){10});
  end(&at);
}
END_TEST

/* Without gradients parts are as good as any view. */
START_TEST(row_1_12_parts_without_gradients_are_written_to) {
  autograd_fixture at = begin();
  laze_tensor *x = constant(&at, (float[]){1, 2, 3, 4}), *halves[2];
  ck_assert_int_eq(split_in_two(&at, x, halves), 2);
  write_to(halves[1], constant(&at, (float[]){9}));
  expect(x, 0, (float[]){1, 2, 9, 9});
  expect(halves[0], 0, (float[]){1, 2});
  end(&at);
}
END_TEST

/* The parts lose their base, and are still parts. */
START_TEST(row_1_12_parts_of_what_is_gone_are_refused_as_well) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3, 4}), *halves[2];
  laze_tensor *y = laze_tensor_take(laze_mul(x, 2.0));
  ck_assert_int_eq(split_in_two(&at, y, halves), 2);
  laze_tensor_release(y);
  expect_refused(halves[0], constant(&at, (float[]){9}), LAZE_FAILED_PRECONDITION, "one of several views");
  laze_set_grad_enabled(at.context, 0);
  write_to(halves[0], constant(&at, (float[]){9}));
  laze_set_grad_enabled(at.context, 1);
  expect(halves[0], 0, (float[]){9, 9});
  expect(halves[1], 0, (float[]){6, 8});
  end(&at);
}
END_TEST

START_TEST(row_1_8_versions_are_those_of_the_base) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = constant(&at, (float[]){3, 4, 5});
  laze_tensor *loss = laze_sum(laze_mul(x, laze_narrow(w, 0, 0, 2)));
  write_to(laze_narrow(w, 0, 2, 1), constant(&at, (float[]){6})); /* an element that the loss does not need */
  ck_assert_int_eq(laze_backward(loss, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "mul"));
  ck_assert_ptr_nonnull(strstr(error.message, "version 1, and was at version 0"));
  end(&at);
}
END_TEST

/* A detached tensor shares memory and versions, and no history: what is written to it has none for the other. */
START_TEST(detached_tensors_share_memory_alone) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = leaf(&at, (float[]){5});
  laze_tensor *loss = laze_sum(laze_mul(x, x)), *quiet = laze_detach(x);
  write_to(laze_narrow(quiet, 0, 1, 1), w);
  expect(x, 0, (float[]){1, 5});
  expect(quiet, 0, (float[]){1, 5});
  ck_assert(laze_tensor_is_leaf(x) && laze_tensor_requires_grad(quiet));
  backward(laze_sum(quiet));
  expect(laze_tensor_grad(w), 0, (float[]){1});
  ck_assert_ptr_null(laze_tensor_grad(x));
  ck_assert_int_eq(laze_backward(loss, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "version"));
  end(&at);
}
END_TEST

/* Parts of complex numbers, diagonals and windows: gradients of what is written, and of what stays. */
START_TEST(gradients_flow_through_every_kind_of_step) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3, 4, 5, 6, 7, 8, 9}), *w = leaf(&at, (float[]){2, 3, 4});
  laze_tensor *y = laze_reshape(laze_mul(x, 1.0), LAZE_SHAPE(3, 3));
  laze_mul_(laze_diagonal(laze_t(y), 0, 0, 1), w);
  backward(laze_sum(laze_mul(y, y)));
  expect(laze_tensor_grad(w), 0, (float[]){2 * 1 * 2, 2 * 25 * 3, 2 * 81 * 4});
  expect(laze_tensor_grad(x), 0, (float[]){2 * 4, 4, 6, 8, 2 * 5 * 9, 12, 14, 16, 2 * 9 * 16});
  end(&at);
}
END_TEST

/* --- memory that runs out --- */

static void run_program(test_failing_allocator *state, bool *succeeded) {
  laze_context *context;
  laze_error error;
  const float data[] = {1, 2, 3, 4};
  float got[4];
  *succeeded = false;
  if (test_failing_context(state, "interp", "noarenas", "", &context) != LAZE_OK) return;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(4), data, sizeof data);
  bool right = laze_tensor_require_grad(x, 1, &error) == LAZE_OK;
  laze_tensor *y = laze_mul(x, 2.0), *v = laze_reshape(y, LAZE_SHAPE(2, 2)), *row = laze_select(v, 0, 1);
  const bool written = laze_tensor_write(row, laze_select(v, 0, 0), &error) == LAZE_OK;
  const bool read = laze_tensor_read(v, LAZE_F32, got, sizeof got) == LAZE_OK;
  for (int i = 0; i < 4 && read && right; i++)
    ck_assert_float_eq(got[i], written ? 2 * data[i % 2] : 2 * data[i]); /* all of it, or nothing */
  right = right && written && read && laze_backward(laze_sum(y), &error) == LAZE_OK;
  *succeeded = right && laze_scope_end(scope) == LAZE_OK;
  if (!*succeeded && scope) (void)laze_scope_end(scope);
  laze_context_release(context);
}

START_TEST(any_allocation_may_fail) {
  bool succeeded = false;
  for (int all_after = 0; all_after < 2; all_after++) {
    succeeded = false;
    for (int64_t refused = 1; !succeeded && refused < 10000; refused++) {
      test_failing_allocator state = {.refuse_at = refused, .refuse_all_after = all_after == 1};
      run_program(&state, &succeeded);
      succeeded = succeeded && state.calls < refused;
      ck_assert_int_eq(state.live, 0);
    }
    ck_assert(succeeded);
  }
}
END_TEST

/* A part that was detached has a history of its own, and the tensor whose memory it shares has no part in it. */
START_TEST(detached_parts_have_histories_of_their_own) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = constant(&at, (float[]){1, 2, 3, 4}), *w = leaf(&at, (float[]){2, 3});
  laze_tensor *own = laze_detach(laze_slice(x, 0, 1, 4, 1)), *part = laze_slice(own, 0, 0, 2, 1);
  laze_tensor *stale = laze_slice(own, 0, 1, 3, 1);
  ck_assert_msg(laze_tensor_write(part, laze_mul(laze_clone(part), w), &error) == LAZE_OK, "%s", error.message);
  expect(x, 0, (float[]){1, 4, 9, 4});
  ck_assert(laze_tensor_requires_grad(own) && !laze_tensor_requires_grad(x));
  backward(laze_add(laze_sum(laze_mul(own, own)), laze_sum(laze_mul(stale, 10))));
  expect(laze_tensor_grad(w), 0, (float[]){2 * 4 * 2, 2 * 9 * 3 + 30});
  laze_tensor *row = laze_slice(x, 0, 0, 2, 1); /* a leaf, though it is a view */
  ck_assert_int_eq(laze_tensor_require_grad(row, 1, &error), LAZE_OK);
  ck_assert_int_eq(laze_tensor_write(laze_slice(row, 0, 0, 1, 1), laze_slice(x, 0, 1, 2, 1), &error),
                   LAZE_FAILED_PRECONDITION);
  laze_tensor *first = laze_slice(row, 0, 0, 1, 1);
  ck_assert_int_eq(laze_tensor_write(x, laze_mul(x, 2), &error), LAZE_OK);
  backward(laze_sum(laze_mul(first, first)));
  expect(laze_tensor_grad(row), 0, (float[]){4, 0});
  end(&at);
}
END_TEST

/* A call whose formulas need nothing of it can be gone through again, as parts of two losses are. */
START_TEST(what_keeps_nothing_serves_two_passes) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *twice = laze_add(x, x), *row = laze_reshape(twice, LAZE_INTS(1, 2));
  laze_tensor *first = laze_mul(row, row);
  backward(laze_sum(first));
  backward(laze_sum(laze_mul(row, 3)));
  expect(laze_tensor_grad(x), 0, (float[]){8 + 6, 16 + 6});
  ck_assert_int_eq(laze_backward(laze_sum(first), &error), LAZE_FAILED_PRECONDITION);
  end(&at);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      detached_parts_have_histories_of_their_own,
      what_keeps_nothing_serves_two_passes,
      row_1_10_bad_kinds_of_views_are_refused_before_anything_changes,
      row_1_10_a_leaf_is_written_to_through_a_view_without_gradients,
      row_1_11_a_write_through_a_view_rebases_the_history_of_the_base,
      row_1_12_a_view_is_recorded_again_on_the_base_as_it_is,
      row_1_12_parts_without_gradients_are_written_to,
      row_1_12_parts_of_what_is_gone_are_refused_as_well,
      row_1_8_versions_are_those_of_the_base,
      detached_tensors_share_memory_alone,
      gradients_flow_through_every_kind_of_step,
      any_allocation_may_fail,
  };
  return run_tests("views", tests, sizeof tests / sizeof *tests);
}
