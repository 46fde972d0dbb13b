/* Native code of random graphs: against the interpreter of the same loop IR, and fused against one kernel per node. */
#include "tests/property/check_graphs.h"
#include "tests/support/loop_backend.h"
#include "tests/support/suite.h"

#include <check.h>

typedef struct {
  test_way a, b;
} two_ways;

static bool agree(void *self, const laze_graph *graph, uint64_t seed, char *message, size_t size) {
  const two_ways *ways = self;
  return test_ways_agree(&ways->a, &ways->b, graph, seed, message, size);
}

static const laze_backend *llvm(laze_context *context) {
  const laze_backend *backend;
  ck_assert_int_eq(laze_backend_find(context, "llvm", &backend, NULL), LAZE_OK);
  return backend;
}

/* Equal loop IR, exact operators: what differs is a lowering. */
START_TEST(native_code_gives_the_bits_of_its_loops) {
  two_ways ways = {{test_context(NULL), &test_backend_loop, NULL}, {test_context("verify"), NULL, NULL}};
  ways.b.backend = llvm(ways.b.context);
  test_check_graphs(ways.a.context, 160, &(test_graph_options){2, 16, true, TEST_SHAPES_WIDE}, agree, &ways);
  laze_context_release(ways.a.context);
  laze_context_release(ways.b.context);
}
END_TEST

/* The same operator must give the same bits in every surrounding, inexact functions too. */
START_TEST(fusion_changes_no_bit_of_native_code) {
  two_ways ways = {{test_context(NULL), NULL, NULL}, {test_context("nofusion"), NULL, NULL}};
  ways.a.backend = ways.b.backend = llvm(ways.a.context);
  test_check_graphs(ways.a.context, 80, &(test_graph_options){3, 12, false, TEST_SHAPES_WIDE}, agree, &ways);
  laze_context_release(ways.a.context);
  laze_context_release(ways.b.context);
}
END_TEST

/* Neither may the number of threads, nor where one's part ends. */
START_TEST(threads_change_no_bit) {
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .debug = "", .threads = 3};
  two_ways ways = {{test_context(NULL), NULL, NULL}, {NULL, NULL, NULL}};
  ck_assert_int_eq(laze_context_create(&options, &ways.b.context, NULL), LAZE_OK);
  ways.a.backend = ways.b.backend = llvm(ways.a.context);
  test_check_graphs(ways.a.context, 40, &(test_graph_options){2, 8, false, TEST_SHAPES_LARGE}, agree, &ways);
  laze_context_release(ways.a.context);
  laze_context_release(ways.b.context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("native");
  TCase *tests = tcase_create("random graphs");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, native_code_gives_the_bits_of_its_loops);
  tcase_add_test(tests, fusion_changes_no_bit_of_native_code);
  tcase_add_test(tests, threads_change_no_bit);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
