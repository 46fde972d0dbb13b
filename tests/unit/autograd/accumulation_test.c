/* Gradients of leaves as tensors: who has asked for one sees what passes add to it, and what anybody writes to it. */
#include "laze/gradient_node.h"
#include "laze/optim.h"
#include "tests/unit/autograd/support.h"

static void write_to(laze_tensor *tensor, laze_tensor *value) {
  laze_error error;
  ck_assert_msg(laze_tensor_write(tensor, value, &error) == LAZE_OK, "%s", error.message);
}

static void set_grad(laze_tensor *tensor, laze_tensor *gradient) {
  laze_error error;
  ck_assert_msg(laze_tensor_set_grad(tensor, gradient, &error) == LAZE_OK, "%s", error.message);
}

/* What scales or clears a gradient in place would be lost on the optimiser, if each handle had a value of its own. */
START_TEST(a_gradient_is_one_tensor) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *two = constant(&at, (float[]){2, 2});
  backward(laze_sum(laze_mul(x, x)));
  laze_tensor *first = laze_tensor_grad(x), *part = laze_slice(first, 0, 0, 1, 1);
  write_to(laze_tensor_grad(x), laze_mul(first, 0.5));
  expect(first, 0, (float[]){1, 2});
  expect(part, 0, (float[]){1});
  backward(laze_sum(laze_mul(x, two)));
  expect(first, 0, (float[]){3, 4});
  expect(part, 0, (float[]){3});
  write_to(part, laze_slice(two, 0, 0, 1, 1));
  expect(laze_tensor_grad(x), 0, (float[]){2, 4});
  set_grad(x, first); /* as x.grad *= 2 does in Python */
  backward(laze_sum(x));
  expect(laze_tensor_grad(x), 0, (float[]){3, 5});
  expect(first, 0, (float[]){3, 5});
  end(&at);
}
END_TEST

/* A gradient that was kept for comparison must not change once the leaf has another. */
START_TEST(what_was_asked_for_before_stays) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *loss = laze_sum(laze_mul(x, x));
  backward(loss);
  laze_tensor *first = laze_tensor_grad(x);
  set_grad(x, NULL);
  ck_assert_ptr_null(laze_tensor_grad(x));
  loss = laze_sum(laze_mul(x, laze_mul(x, x)));
  ck_assert_int_eq(laze_backward_with(&loss, NULL, 1, LAZE_CREATE_GRAPH, &error), LAZE_OK);
  laze_tensor *second = laze_tensor_grad(x);
  ck_assert_int_eq(laze_backward_with(&loss, NULL, 1, LAZE_CREATE_GRAPH, &error), LAZE_OK);
  expect(first, 0, (float[]){2, 4});
  expect(second, 0, (float[]){3, 12});
  expect(laze_tensor_grad(x), 0, (float[]){6, 24});
  laze_tensor *sum = laze_sum(laze_tensor_grad(x)), *slope;
  ck_assert_int_eq(laze_grad(&sum, NULL, 1, &x, 1, 0, &slope, &error), LAZE_OK);
  expect(slope, 0, (float[]){12, 24});
  end(&at);
}
END_TEST

/* As programs do that keep all gradients in one buffer, to send or to clear it as a whole. */
START_TEST(gradients_are_parts_of_a_buffer) {
  autograd_fixture at = begin();
  laze_tensor *buffer = constant(&at, (float[]){1, 1, 1, 10});
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3}), *y = leaf(&at, (float[]){4});
  set_grad(x, laze_slice(buffer, 0, 0, 3, 1));
  set_grad(y, laze_slice(buffer, 0, 3, 4, 1));
  for (int i = 0; i < 2; i++) backward(laze_sum(laze_mul(x, y)));
  expect(buffer, 0, (float[]){9, 9, 9, 22});
  write_to(buffer, laze_zeros_like(buffer));
  expect(laze_tensor_grad(x), 0, (float[]){0, 0, 0});
  backward(laze_sum(x));
  expect(buffer, 0, (float[]){1, 1, 1, 0});
  end(&at);
}
END_TEST

/* What cannot be written to is no error of a pass that adds to it. */
START_TEST(a_gradient_of_one_number_is_replaced) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *one = constant(&at, (float[]){1});
  laze_tensor *same = laze_expand(one, LAZE_SHAPE(2));
  set_grad(x, same);
  backward(laze_sum(laze_mul(x, x)));
  expect(laze_tensor_grad(x), 0, (float[]){3, 5});
  expect(one, 0, (float[]){1});
  end(&at);
}
END_TEST

/* The second derivative is that of what is there, and not of what was there before the write. */
START_TEST(a_write_to_a_gradient_is_in_its_history) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *loss = laze_sum(laze_mul(x, x)), *slope;
  ck_assert_int_eq(laze_backward_with(&loss, NULL, 1, LAZE_CREATE_GRAPH, &error), LAZE_OK);
  write_to(laze_tensor_grad(x), laze_mul(laze_clone(laze_tensor_grad(x)), x));
  laze_tensor *sum = laze_sum(laze_tensor_grad(x));
  ck_assert_int_eq(laze_grad(&sum, NULL, 1, &x, 1, 0, &slope, &error), LAZE_OK);
  expect(slope, 0, (float[]){4, 8});
  end(&at);
}
END_TEST

static laze_status halve(void *self, laze_tensor *gradient, laze_tensor **replacement, laze_error *error) {
  (void)self, (void)replacement;
  return laze_tensor_write(gradient, laze_mul(gradient, 0.5), error);
}

/* Both are how gradients are limited before an optimiser looks at them. */
START_TEST(hooks_and_clipping_write_in_place) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){3, 4});
  ck_assert_int_eq(laze_tensor_register_hook(x, LAZE_HOOK_ACCUMULATED, halve, NULL, NULL, NULL, &error), LAZE_OK);
  backward(laze_sum(laze_mul(x, laze_mul(laze_detach(x), 2))));
  laze_tensor *first = laze_tensor_grad(x);
  expect(first, 0, (float[]){3, 4});
  ck_assert_int_eq(laze_clip_grad_norm(at.context, &x, 1, 1, 2, NULL, &error), LAZE_OK);
  expect(first, 1e-6F, (float[]){0.6F, 0.8F});
  ck_assert_int_eq(laze_clip_grad_value(at.context, &x, 1, 0.7, &error), LAZE_OK);
  expect(first, 1e-6F, (float[]){0.6F, 0.7F});
  end(&at);
}
END_TEST

/* Leaves that are each other's gradients refer to each other, and must not keep each other alive: end() counts. */
START_TEST(gradients_of_each_other_are_let_go_of) {
  autograd_fixture at = begin();
  laze_tensor *x = laze_tensor_retain(leaf(&at, (float[]){1, 2})), *y = leaf(&at, (float[]){3, 4});
  laze_tensor *z = laze_mul(x, 2);
  laze_error error;
  set_grad(x, y);
  set_grad(y, x);
  ck_assert_int_eq(laze_tensor_retain_grad(z, &error), LAZE_OK);
  set_grad(z, laze_mul(z, 3));
  backward(laze_sum(z));
  expect(y, 0, (float[]){5, 6});
  expect(laze_tensor_grad(z), 0, (float[]){7, 13});
  laze_tensor_release(x);
  set_grad(y, y);
  end(&at);
}
END_TEST

/* Steps that add to the same gradient for ever keep nothing of those before. */
START_TEST(steps_that_add_do_not_grow) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2});
  backward(laze_sum(x));
  int64_t bytes = 0, alive = 0;
  for (int i = 0; i < 60; i++) {
    laze_scope *scope = laze_scope_begin(at.context);
    backward(laze_sum(laze_mul(x, 2)));
    write_to(laze_tensor_grad(x), laze_mul(laze_tensor_grad(x), 0.5));
    ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
    if (i == 10) bytes = metric(at.context, "node_bytes"), alive = metric(at.context, "autograd_nodes_alive");
  }
  ck_assert_int_eq(metric(at.context, "node_bytes"), bytes);
  ck_assert_int_eq(metric(at.context, "autograd_nodes_alive"), alive);
  expect(laze_tensor_grad(x), 0, (float[]){2, 2});
  end(&at);
}
END_TEST

/* Whether a tensor requires a gradient is one thing, whether it has one another: an optimiser steps with what was
 * computed before a parameter was frozen, and a program may bring a gradient of its own. */
START_TEST(a_tensor_that_requires_no_gradient_keeps_one) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = constant(&at, (float[]){5, 6});
  backward(laze_sum(laze_mul(x, x)));
  laze_tensor *first = laze_tensor_grad(x);
  ck_assert_int_eq(laze_tensor_require_grad(x, 0, &error), LAZE_OK);
  ck_assert_int_eq(laze_tensor_requires_grad(x), 0);
  expect(laze_tensor_grad(x), 0, (float[]){2, 4});
  ck_assert_int_eq(laze_tensor_requires_grad(laze_mul(x, x)), 0);
  ck_assert_int_eq(laze_tensor_require_grad(x, 1, &error), LAZE_OK);
  backward(laze_sum(x));
  expect(laze_tensor_grad(x), 0, (float[]){3, 5});
  expect(first, 0, (float[]){3, 5});
  set_grad(y, constant(&at, (float[]){7, 8}));
  ck_assert_int_eq(laze_tensor_requires_grad(y), 0);
  expect(laze_tensor_grad(y), 0, (float[]){7, 8});
  set_grad(y, NULL);
  ck_assert_ptr_null(laze_tensor_grad(y));
  set_grad(y, laze_mul(x, y)); /* whose history goes with it */
  laze_tensor *whole = constant(&at, (float[]){1});
  ck_assert_int_eq(laze_tensor_set_grad(laze_to(whole, LAZE_I32), laze_to(whole, LAZE_I32), &error),
                   LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "only floats and complex numbers have gradients"));
  ck_assert_int_eq(laze_tensor_set_grad(y, whole, &error), LAZE_INVALID_ARGUMENT);
  laze_tensor *result = laze_mul(x, y);
  ck_assert_int_eq(laze_tensor_set_grad(result, y, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "laze_tensor_retain_grad"));
  ck_assert_int_eq(laze_tensor_set_grad(result, NULL, &error), LAZE_OK);
  end(&at);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_gradient_is_one_tensor,
                                what_was_asked_for_before_stays,
                                gradients_are_parts_of_a_buffer,
                                a_gradient_of_one_number_is_replaced,
                                a_write_to_a_gradient_is_in_its_history,
                                hooks_and_clipping_write_in_place,
                                gradients_of_each_other_are_let_go_of,
                                a_tensor_that_requires_no_gradient_keeps_one,
                                steps_that_add_do_not_grow};
  return run_tests("accumulation", tests, sizeof tests / sizeof *tests);
}
