/* A child of fork() goes on with its parent's tensors, kernels and caches; only the parent's worker threads are gone,
 * and the first parallel loop starts new ones. */
#include "tests/support/suite.h"

#include <laze/laze.h>

#include <check.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1 << 20 };

static laze_context *context;
static float result[COUNT];

/* Sums x to itself `times` times and reads all of it; true when every element is right. Long enough to be parallel. */
static int runs_right(laze_tensor *x, int times) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *y = x;
  for (int i = 0; i < times; i++) y = laze_add(y, x);
  int right = laze_tensor_read(y, LAZE_F32, result, sizeof result) == LAZE_OK;
  for (int i = 0; right && i < COUNT; i++) right = result[i] == (float)(1 + times) * 3;
  return laze_scope_end(scope) == LAZE_OK && right;
}

/* The exit status of a child that runs `times` additions; `times` known to the parent or new. */
static int run_child(laze_tensor *x, int times) {
  int status = -1;
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) _exit(runs_right(x, times) ? 0 : 7);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* Under AddressSanitizer a thread that is starting holds a lock of its allocator, which a child forked at that moment
 * would find held for ever. No call waits until the workers have started, so there are none. */
#ifdef __SANITIZE_ADDRESS__
enum { THREADS = 1 };
#else
enum { THREADS = 3 };
#endif

START_TEST(a_child_goes_on) {
  const laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .threads = THREADS};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *three = laze_full(context, LAZE_SHAPE(COUNT), 3.0, LAZE_F32);
  laze_tensor *pending = laze_to(three, LAZE_F32);
  ck_assert_int_eq(run_child(pending, 1), 0); /* before the parent ran anything */
  ck_assert(runs_right(pending, 1));
  ck_assert_int_eq(run_child(pending, 1), 0);
  ck_assert_int_eq(run_child(pending, 5), 0);
  ck_assert(runs_right(pending, 2)); /* the parent has its workers still */
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *group = tcase_create("fork");
  tcase_set_timeout(group, 300);
  tcase_add_test(group, a_child_goes_on);
  Suite *suite = suite_create("fork");
  suite_add_tcase(suite, group);
  return test_run_suite(suite);
}
