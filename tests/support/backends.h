/* For tests that every backend of this build has to pass: tcase_add_loop_test(tests, test, 0, test_backend_count()),
 * with laze_backend_at(_i) in the test. */
#ifndef LAZE_TESTS_SUPPORT_BACKENDS_H
#define LAZE_TESTS_SUPPORT_BACKENDS_H

#include "codegen/codegen.h"

#include <string.h>

static inline int test_backend_count(void) {
  int count = 0;
  while (laze_backend_at(count)) count++;
  return count;
}

/* Whether it compiles kernels for groups of nodes: then values inside of a group have no memory, and a step of the
 * interpreter is a fallback. */
static inline bool test_fuses(const laze_backend *backend) {
  return strcmp(backend->name, "llvm") == 0;
}

#endif
