/* What the tests of ir/ share: a context, and graphs from text. */
#ifndef LAZE_TESTS_IR_TEST_H
#define LAZE_TESTS_IR_TEST_H

#include "ir/ir.h"
#include "ir/op.gen.h"
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

/* Fails the test with the message where a status is not LAZE_OK. */
#define assert_ok(expression)                                                                                          \
  do {                                                                                                                 \
    error.message[0] = 0;                                                                                              \
    laze_status assert_status = (expression);                                                                          \
    ck_assert_msg(assert_status == LAZE_OK, "%s: %s", #expression, error.message);                                     \
  } while (0)

/* Fails the test unless the expression fails with a message that contains `part`. */
#define assert_fails(expression, part)                                                                                 \
  do {                                                                                                                 \
    error.message[0] = 0;                                                                                              \
    ck_assert_int_ne((expression), LAZE_OK);                                                                           \
    ck_assert_msg(strstr(error.message, part) != NULL, "'%s' lacks '%s'", error.message, part);                        \
  } while (0)

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
