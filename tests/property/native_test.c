/* Native code of random graphs: against the interpreter of the same loop IR, and fused against one kernel per node. */
#include "ir/text/text.h"
#include "tests/property/check_graphs.h"
#include "tests/support/loop_backend.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const laze_backend *llvm(laze_context *context) {
  const laze_backend *backend;
  ck_assert_int_eq(laze_backend_find(context, "llvm", &backend, NULL), LAZE_OK);
  return backend;
}

/* Equal loop IR, exact operators: what differs is a lowering. */
START_TEST(native_code_gives_the_bits_of_its_loops) {
  test_way a = {test_context(NULL), &test_backend_loop, NULL}, b = {test_context("verify"), NULL, NULL};
  b.backend = llvm(b.context);
  test_check_ways(&a, &b, 900, &(test_graph_options){2, 16, true, TEST_SHAPES_WIDE, LAZE_DTYPE_NONE, false});
}
END_TEST

/* The same operator must give the same bits in every surrounding, inexact functions too. */
START_TEST(fusion_changes_no_bit_of_native_code) {
  test_way a = {test_context(NULL), NULL, NULL}, b = {test_context("nofusion"), NULL, NULL};
  a.backend = b.backend = llvm(a.context);
  test_check_ways(&a, &b, 500, &(test_graph_options){3, 12, false, TEST_SHAPES_WIDE, LAZE_DTYPE_NONE, false});
}
END_TEST

/* Nor of floats of 16 bits, which are rounded after each operator: a value that went on to the next one as f32, because
 * it happens to be in a register, would be more exact and another one. */
START_TEST(fusion_rounds_floats_of_16_bits_after_each_operator) {
  static const laze_dtype halves[] = {LAZE_F16, LAZE_BF16};
  test_way a = {test_context(NULL), NULL, NULL}, b = {test_context("nofusion"), NULL, NULL};
  a.backend = b.backend = llvm(a.context);
  test_check_ways(&a, &b, 200, &(test_graph_options){3, 12, false, TEST_SHAPES_WIDE, halves[_i], true});
}
END_TEST

/* Neither may the number of threads, nor where one's part ends. */
START_TEST(threads_change_no_bit) {
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .debug = "", .threads = 3};
  test_way a = {test_context(NULL), NULL, NULL}, b = {NULL, NULL, NULL};
  ck_assert_int_eq(laze_context_create(&options, &b.context, NULL), LAZE_OK);
  a.backend = b.backend = llvm(a.context);
  test_check_ways(&a, &b, 200, &(test_graph_options){2, 8, false, TEST_SHAPES_LARGE, LAZE_DTYPE_NONE, false});
}
END_TEST

/* What is read across goes through tiles of 128 by 32, whose last ones are cut off, and of which there may be none.
 * Random shapes are mostly smaller. */
START_TEST(reading_across_gives_the_elements_of_the_reference) {
  static const int64_t sizes[][3] = {{1, 33, 129}, {3, 128, 32}, {2, 0, 40}, {5, 31, 257}, {1, 1, 300}, {70, 130, 1}};
  const int64_t a = sizes[_i][0], b = sizes[_i][1], c = sizes[_i][2];
  test_way one = {test_context(NULL), NULL, NULL}, two = {test_context("verify"), NULL, NULL};
  laze_graph *graph;
  laze_error error = {0};
  char text[1024], message[1024] = "";
  ck_assert_int_eq(laze_backend_find(one.context, "interp", &one.backend, NULL), LAZE_OK);
  two.backend = llvm(two.context);
  snprintf(text, sizeof text,
           "laze 1\n"
           "graph @g(%%x: f32[%1$lld,%2$lld,%3$lld], %%y: f32[%1$lld,%3$lld,%2$lld], %%z: f64[%3$lld,%2$lld], "
           "%%w: i8[%3$lld,%2$lld]) -> f32[%1$lld,%3$lld,%2$lld], f32[%3$lld,%2$lld,%1$lld], f64[%2$lld,%3$lld], "
           "i8[%2$lld,%3$lld] {\n"
           "  %%0 = permute %%x, dims=[0, 2, 1]\n"
           "  %%1 = add %%0, %%y\n"
           "  %%2 = permute %%x, dims=[2, 1, 0]\n"
           "  %%3 = permute %%z, dims=[1, 0]\n"
           "  %%4 = permute %%w, dims=[1, 0]\n"
           "  %%5 = neg %%4\n"
           "  return %%1, %%2, %%3, %%5\n"
           "}\n",
           (long long)a, (long long)b, (long long)c);
  const laze_status status = laze_graph_parse(one.context, text, (int64_t)strlen(text), "across", &graph, &error);
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
  ck_assert_msg(test_ways_agree(&one, &two, graph, 7, message, sizeof message), "%s", message);
  laze_graph_destroy(graph);
  laze_context_release(one.context);
  laze_context_release(two.context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("native");
  TCase *tests = tcase_create("random graphs");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, native_code_gives_the_bits_of_its_loops);
  tcase_add_test(tests, fusion_changes_no_bit_of_native_code);
  tcase_add_loop_test(tests, fusion_rounds_floats_of_16_bits_after_each_operator, 0, 2);
  tcase_add_test(tests, threads_change_no_bit);
  tcase_add_loop_test(tests, reading_across_gives_the_elements_of_the_reference, 0, 6);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
