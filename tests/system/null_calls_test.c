/* Every function of the installed headers, called with NULL for each pointer and 0 for each number. What a program
 * passes by mistake is an answer or a status, and no crash: the table of calls is generated from the headers, so that
 * no function is forgotten. */
#define LAZE_NO_MACROS
#include "tests/support/suite.h"

#include <check.h>
#include <laze/aot.h>
#include <laze/buffer.h>
#include <laze/compile.h>
#include <laze/graph.h>
#include <laze/laze.h>
#include <laze/library.h>
#include <laze/opaque.h>
#include <laze/optim.h>
#include <laze/schema.h>
#include <laze/trace.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
#include "null_calls.gen.h"
/* clang-format on */

enum { CALLS = sizeof calls / sizeof *calls };

/* Calls functions from the index-th on, each of which is noted before; returns how the child ended. */
static int call_from(int index, volatile int *current) {
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    for (*current = index; *current < CALLS; ++*current) calls[*current].call();
    _exit(0);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  return status;
}

START_TEST(no_function_crashes) {
  volatile int *current = mmap(NULL, sizeof *current, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert(current != MAP_FAILED);
  char crashed[4096] = "";
  ck_assert_int_gt(CALLS, 1000); /* those of operators, too */
  for (int next = 0; next < CALLS; next = *current + 1) {
    if (call_from(next, current) == 0) continue;
    strncat(crashed, calls[*current].name, sizeof crashed - strlen(crashed) - 1);
    strncat(crashed, " ", sizeof crashed - strlen(crashed) - 1);
  }
  ck_assert_str_eq(crashed, "");
  ck_assert_int_eq(munmap((void *)current, sizeof *current), 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("null calls");
  TCase *tests = tcase_create("null calls");
  tcase_add_test(tests, no_function_crashes);
  tcase_set_timeout(tests, 0);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
