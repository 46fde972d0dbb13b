#include "support.h"

/* One step: `count` operators over `x`; returns the first element. */
static float step(laze_context *context, laze_tensor *x, int count, int64_t size) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *y = x;
  for (int i = 0; i < count; i++) y = i % 2 ? mul(y, x) : add(y, x);
  float value = first(y, size);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  return value;
}

static int64_t reused(laze_context *context) {
  return metric(context, "nodes_reused");
}

/* The second of two equal steps finds every node of the first again. */
START_TEST(equal_steps_reuse_every_node) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 3, 2);
  ck_assert_float_eq(step(context, x, 4, 3), 20); /* ((2 + 2) * 2 + 2) * 2 */
  ck_assert_int_eq(reused(context), 0);
  ck_assert_float_eq(step(context, x, 4, 3), 20);
  ck_assert_int_eq(reused(context), 4);
  ck_assert_float_eq(step(context, filled(context, 3, 1), 4, 3), 3); /* other values, the same nodes */
  ck_assert_int_eq(reused(context), 8);
  ck_assert_int_eq(metric(context, "nodes_recorded"), 12);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Another size is another node, and its successors too. */
START_TEST(other_types_are_not_taken_for_the_same) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  step(context, filled(context, 3, 2), 4, 3);
  ck_assert_float_eq(step(context, filled(context, 5, 2), 4, 5), 20);
  ck_assert_int_eq(reused(context), 0);
  ck_assert_float_eq(step(context, filled(context, 5, 2), 4, 5), 20);
  ck_assert_int_eq(reused(context), 4);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

static float sum_of_axis(laze_context *context, int64_t axis) {
  float data[6] = {1, 2, 3, 4, 5, 6}, result[3] = {0};
  laze_scope *scope = laze_scope_begin(context);
  laze_argument arguments[] = {pass(laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2, 3), data, sizeof data)),
                               {.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = &axis}};
  laze_tensor *sum = call("sum.dim_IntList", arguments, 2);
  ck_assert_msg(laze_tensor_read(sum, LAZE_F32, result, axis ? 8 : 12) == LAZE_OK, "%s", laze_tensor_error(sum));
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  return result[0];
}

/* Attributes are compared as well. */
START_TEST(other_attributes_are_not_taken_for_the_same) {
  laze_context *context = new_context();
  ck_assert_float_eq(sum_of_axis(context, 0), 5);
  ck_assert_float_eq(sum_of_axis(context, 1), 6);
  int64_t before = reused(context);
  ck_assert_float_eq(sum_of_axis(context, 1), 6);
  ck_assert_int_gt(reused(context), before);
  ck_assert_float_eq(sum_of_axis(context, 0), 5);
  laze_context_release(context);
}
END_TEST

/* A value of the step before that is still in use keeps its node: only its types are taken over. */
START_TEST(values_in_use_are_not_overwritten) {
  laze_context *context = new_context();
  laze_tensor *kept[3];
  laze_scope *outer = laze_scope_begin(context);
  for (int i = 0; i < 3; i++) {
    laze_scope *scope = laze_scope_begin(context);
    kept[i] = laze_tensor_retain(neg(filled(context, 2, (float)i)));
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  }
  ck_assert_int_eq(reused(context), 2);
  for (int i = 0; i < 3; i++) {
    ck_assert_float_eq(first(kept[i], 2), (float)-i);
    laze_tensor_release(kept[i]);
  }
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {equal_steps_reuse_every_node, other_types_are_not_taken_for_the_same,
                                other_attributes_are_not_taken_for_the_same, values_in_use_are_not_overwritten};
  return run_tests("reuse", tests, sizeof tests / sizeof *tests);
}
