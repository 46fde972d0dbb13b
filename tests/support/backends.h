/* For tests that every backend of this build has to pass: tcase_add_loop_test(tests, test, 0, test_backend_count()),
 * with laze_backend_at(_i) in the test. */
#ifndef LAZE_TESTS_SUPPORT_BACKENDS_H
#define LAZE_TESTS_SUPPORT_BACKENDS_H

#include "codegen/codegen.h"

static inline int test_backend_count(void) {
  int count = 0;
  while (laze_backend_at(count)) count++;
  return count;
}

#endif
