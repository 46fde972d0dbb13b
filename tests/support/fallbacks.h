/* What may run on the interpreter in a native program: the one list, checked in both directions. Whatever else falls
 * back fails every test that runs a graph (tests/support/run.h), for a result that is right and slow would show
 * nowhere; and an entry whose graph no longer falls back fails conformance/fallbacks_test.c. */
#ifndef LAZE_TESTS_SUPPORT_FALLBACKS_H
#define LAZE_TESTS_SUPPORT_FALLBACKS_H

#include "runtime/program.h"

typedef struct test_fallback {
  const char *op;     /* by name */
  const char *reason; /* as the step gives it */
  const char *graph;  /* text of one that falls back, without its first line; every input may be zeros */
} test_fallback;

/* Ends with an entry without an operator. */
extern const test_fallback test_fallbacks[];

/* LAZE_INTERNAL, naming operator and reason, where a step of the program is interpreted and not listed. */
laze_status test_check_fallbacks(const laze_program *program, laze_error *error);

#endif
