/* Runs a suite and gives the program's exit status: 0 when every check passed. */
#ifndef LAZE_TESTS_SUPPORT_SUITE_H
#define LAZE_TESTS_SUPPORT_SUITE_H

#include <check.h>

static inline int test_run_suite(Suite *suite) {
  SRunner *program = srunner_create(suite);
  srunner_run_all(program, CK_NORMAL);
  int failed = srunner_ntests_failed(program);
  srunner_free(program);
  return failed != 0;
}

#endif
