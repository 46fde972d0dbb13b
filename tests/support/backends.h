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

/* The first of them: those whose programs have the nodes of regions as steps. One that leaves a node with its regions
 * to a single step of the interpreter has no place for sizes that are defined within. */
static inline int test_region_backend_count(void) {
  int count = 0;
  for (const laze_backend *backend; (backend = laze_backend_at(count)); count++)
    if (strcmp(backend->name, "interp") != 0 && strcmp(backend->name, "llvm") != 0) break;
  return count;
}

/* Whether it compiles kernels for groups of nodes: then values inside of a group have no memory, and a step of the
 * interpreter is a fallback. */
static inline bool test_fuses(const laze_backend *backend) {
  return strcmp(backend->name, "llvm") == 0;
}

#endif
