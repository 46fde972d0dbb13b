/* What tests that run on every backend expect of one, besides what all have in common. */
#ifndef LAZE_TESTS_SUPPORT_FUSES_H
#define LAZE_TESTS_SUPPORT_FUSES_H

#include "runtime/backend.h"

#include <string.h>

/* Whether it compiles kernels for groups of nodes: then values inside of a group have no memory, and a step of the
 * interpreter is a fallback. */
static inline bool test_fuses(const laze_backend *backend) {
  return strcmp(backend->name, "llvm") == 0;
}

#endif
