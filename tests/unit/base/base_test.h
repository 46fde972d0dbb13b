/* What the tests of base/ share. */
#ifndef LAZE_TESTS_UNIT_BASE_BASE_TEST_H
#define LAZE_TESTS_UNIT_BASE_BASE_TEST_H

#include "base/context.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static inline laze_context *new_context(const char *debug) {
  laze_context *context;
  laze_context_options options = {.struct_size = sizeof options, .debug = debug, .cache_directory = "", .threads = 1};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  return context;
}

static inline int run_suite(const char *name, const TTest *const *tests, size_t count) {
  Suite *suite = suite_create(name);
  TCase *cases = tcase_create(name);
  for (size_t i = 0; i < count; i++) tcase_add_test(cases, tests[i]);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
#define RUN_SUITE(name, ...)                                                                                           \
  run_suite(name, (const TTest *const[]){__VA_ARGS__}, sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(TTest *))

#endif
