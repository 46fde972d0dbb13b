/* What the tests of ir/ share: a context, graphs from text, and contexts whose memory runs out. */
#ifndef LAZE_TESTS_IR_TEST_H
#define LAZE_TESTS_IR_TEST_H

#include "ir/ir.h"
#include "ir/op.gen.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/status.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static laze_context *context;
static laze_error error;

static void set_up(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, &error), LAZE_OK);
}
static void tear_down(void) {
  laze_context_release(context);
}

static inline laze_graph *parse(const char *text) {
  laze_graph *graph = NULL;
  assert_ok(laze_graph_parse(context, text, (int64_t)strlen(text), "t.lz", &graph, &error));
  return graph;
}

/* The graph as text; to be freed by laze_free(context, ...). */
static inline char *print(const laze_graph *graph) {
  laze_text text;
  laze_text_init(&text, context);
  laze_graph_print(&text, graph, true);
  ck_assert(!text.failed);
  return text.data;
}

static inline void assert_prints(const laze_graph *graph, const char *expected) {
  char *text = print(graph);
  ck_assert_str_eq(text, expected);
  laze_free(context, text);
}

/* Equal, and with the same keys, as caches need it of what they find. */
static inline void assert_equal_graphs(const laze_graph *a, const laze_graph *b) {
  laze_text difference;
  laze_text_init(&difference, context);
  ck_assert_msg(laze_graph_equal(a, b, &difference), "%s", laze_text_get(&difference));
  for (int sizes = 0; sizes < 2; sizes++)
    ck_assert(laze_hash_equal(laze_graph_hash(a, sizes), laze_graph_hash(b, sizes)));
  laze_text_deinit(&difference);
}

/* A context of which `allowed` more allocations succeed, and none after them. */
static inline laze_context *starve(test_failing_allocator *memory, int64_t allowed) {
  laze_context *starved;
  *memory = (test_failing_allocator){.refuse_all_after = true};
  assert_ok(test_failing_context(memory, "interp", "", "", &starved));
  memory->refuse_at = memory->calls + 1 + allowed;
  return starved;
}

static inline int run_suite(const char *name, void (*add_tests)(TCase *)) {
  Suite *suite = suite_create(name);
  TCase *tests = tcase_create(name);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 0);
  add_tests(tests);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}

#endif
