/* Schedules of random graphs, run on the interpreter of loop IR: against the reference interpreter, against one kernel
 * per node, and with each pass left out. What fails here is a pass, the scheduler or a description of loops; native
 * code is not part of it (native_test.c). */
#include "ir/pass.h"
#include "tests/property/check_graphs.h"
#include "tests/support/loop_backend.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const laze_backend *interp(laze_context *context) {
  const laze_backend *backend;
  ck_assert_int_eq(laze_backend_find(context, "interp", &backend, NULL), LAZE_OK);
  return backend;
}

static void check_two(const char *debug_a, const laze_backend *a, const char *debug_b, const laze_backend *b,
                      int64_t count, const test_graph_options *options) {
  test_way first = {test_context(debug_a), a, NULL}, second = {test_context(debug_b), b, NULL};
  if (!a) first.backend = interp(first.context);
  test_check_ways(&first, &second, count, options);
}

/* Exact operators have one right result: whatever shares a kernel, it must come out. */
START_TEST(small_graphs_give_the_reference_bits) {
  check_two(NULL, NULL, "verify", &test_backend_loop, 10000,
            &(test_graph_options){1, 5, true, TEST_SHAPES_SMALL, LAZE_DTYPE_NONE, false});
}
END_TEST

START_TEST(large_graphs_give_the_reference_bits) {
  check_two(NULL, NULL, "verify", &test_backend_loop, 4000,
            &(test_graph_options){6, 40, true, TEST_SHAPES_SMALL, LAZE_DTYPE_NONE, false});
}
END_TEST

/* Fusing must not change a bit, of inexact functions neither. */
START_TEST(fusion_changes_no_bit) {
  check_two("verify", &test_backend_loop, "nofusion,verify", &test_backend_loop, 4000,
            &(test_graph_options){3, 20, false, TEST_SHAPES_WIDE, LAZE_DTYPE_NONE, false});
}
END_TEST

START_TEST(each_pass_preserves_bits) {
  test_graph_options options = {3, 20, false, TEST_SHAPES_WIDE, LAZE_DTYPE_NONE, false};
  for (int i = 0; laze_pass_name(i); i++) {
    /* Nothing but this pass can run softmax and its like. */
    if (!strcmp(laze_pass_name(i), "expand")) continue;
    test_way a = {test_context("verify"), &test_backend_loop, NULL};
    test_check_ways(&a, &(test_way){a.context, &test_backend_loop, laze_pass_name(i)}, 400, &options);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("schedule");
  TCase *tests = tcase_create("random graphs");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, small_graphs_give_the_reference_bits);
  tcase_add_test(tests, large_graphs_give_the_reference_bits);
  tcase_add_test(tests, fusion_changes_no_bit);
  tcase_add_test(tests, each_pass_preserves_bits);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
