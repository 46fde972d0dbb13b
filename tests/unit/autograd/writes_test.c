/* Writes in place and gradients: what is refused before anything changes, and what flows where. */
#include "laze/laze.h"
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

/* Shape and dtype are the destination's: 1.5 is cut to 1 in an integer, and one row is written to both. */
START_TEST(row_5_5_a_write_keeps_shape_and_dtype) {
  autograd_fixture at = begin();
  const int32_t data[] = {1, 2, 3, 4};
  laze_tensor *x = laze_tensor_from_data(at.context, LAZE_I32, LAZE_SHAPE(2, 2), data, sizeof data);
  laze_tensor *before = laze_add(x, 10);
  write_to(x, constant(&at, (float[]){1.5F, -2.5F}));
  ck_assert_int_eq(laze_tensor_dtype(x), LAZE_I32);
  expect(x, 0, (float[]){1, -2, 1, -2});
  expect(before, 0, (float[]){11, 12, 13, 14});
  expect_refused(x, constant(&at, (float[]){1, 2, 3}), LAZE_INVALID_ARGUMENT, "i32[2,2]");
  expect(x, 0, (float[]){1, -2, 1, -2});
  end(&at);
}
END_TEST

START_TEST(row_1_10_a_leaf_is_written_to_only_without_gradients) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *other = constant(&at, (float[]){5, 6});
  laze_tensor *loss = laze_sum(laze_mul(x, other));
  expect_refused(x, other, LAZE_FAILED_PRECONDITION, "leaf");
  expect(x, 0, (float[]){1, 2});
  backward(loss); /* its version is what it was */
  expect(laze_tensor_grad(x), 0, (float[]){5, 6});
  laze_set_grad_enabled(at.context, 0);
  write_to(x, other);
  laze_set_grad_enabled(at.context, 1);
  expect(x, 0, (float[]){5, 6});
  ck_assert(laze_tensor_is_leaf(x) && laze_tensor_requires_grad(x));
  end(&at);
}
END_TEST

START_TEST(gradients_go_to_what_was_written) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = leaf(&at, (float[]){3});
  laze_tensor *y = laze_mul(x, 2.0);
  write_to(y, w); /* one number for both */
  laze_tensor *loss = laze_sum(laze_mul(y, constant(&at, (float[]){10, 100})));
  backward(loss);
  expect(laze_tensor_grad(w), 0, (float[]){110});
  ck_assert_ptr_null(laze_tensor_grad(x));
  ck_assert(!laze_tensor_is_leaf(y)); /* also where the value is that of a leaf as it is */
  laze_tensor *z = laze_mul(x, 2.0);
  write_to(z, x);
  ck_assert(!laze_tensor_is_leaf(z));
  end(&at);
}
END_TEST

/* What has no gradient is written to something that has: that still requires one, which is 0. */
START_TEST(what_is_overwritten_has_a_gradient_of_zeros) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2});
  laze_tensor *y = laze_mul(x, x);
  write_to(y, constant(&at, (float[]){7, 8}));
  ck_assert(laze_tensor_requires_grad(y));
  expect(y, 0, (float[]){7, 8});
  backward(laze_sum(y));
  expect(laze_tensor_grad(x), 0, (float[]){0, 0});
  end(&at);
}
END_TEST

START_TEST(row_1_8_a_kept_tensor_that_was_written_to_is_noticed) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = constant(&at, (float[]){3, 4});
  laze_tensor *loss = laze_sum(laze_mul(x, w));
  write_to(w, x);
  ck_assert_int_eq(laze_backward(loss, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "mul"));
  ck_assert_ptr_nonnull(strstr(error.message, "version 1, and was at version 0"));
  end(&at);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      row_5_5_a_write_keeps_shape_and_dtype,
      row_1_10_a_leaf_is_written_to_only_without_gradients,
      gradients_go_to_what_was_written,
      what_is_overwritten_has_a_gradient_of_zeros,
      row_1_8_a_kept_tensor_that_was_written_to_is_noticed,
  };
  return run_tests("writes", tests, sizeof tests / sizeof *tests);
}
