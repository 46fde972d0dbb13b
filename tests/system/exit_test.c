/* exit() while other threads compile: it waits for them, nothing more is compiled, and the process ends with the status
 * it was given. Every case is a process of its own, forked before anything was compiled. */
#include "tests/support/suite.h"

#include <laze/laze.h>

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/* Threads that are in the middle of something when the process ends have not freed what they had, and a child of fork()
 * has the memory of threads that it has not. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
  return 1;
}
#endif

enum { STATUS = 42, THREADS = 3, ROUNDS = 24, LINKS = 12, DEADLINE_SECONDS = 120 };

static laze_context *context;

static laze_context *new_context(const laze_allocator *allocator, laze_log_function log, const char *debug) {
  laze_context *made = NULL;
  laze_context_options options = {.struct_size = sizeof options,
                                  .allocator = allocator,
                                  .log = log,
                                  .debug = debug,
                                  .backend = "llvm",
                                  .cache_directory = "",
                                  .threads = 1};
  if (laze_context_create(&options, &made, NULL) != LAZE_OK) _exit(1);
  return made;
}

/* Reads the number-th of many graphs, each of which needs kernels of its own. */
static laze_status compute(unsigned number) {
  double value;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_scalar(context, LAZE_F64, 0.5);
  for (int i = 0; i < LINKS; i++) {
    number = number * 1103515245u + 12345u;
    unsigned choice = number >> 16 & 3;
    x = choice == 0 ? laze_tanh(x) : choice == 1 ? laze_sin(x) : choice == 2 ? laze_exp(x) : laze_add(x, laze_erf(x));
  }
  laze_status status = laze_tensor_read(x, LAZE_F64, &value, sizeof value);
  (void)laze_scope_end(scope);
  return status;
}

/* Compiles until the process has ended. */
static void *compile_on(void *argument) {
  unsigned number = *(unsigned *)argument;
  for (;;) (void)compute(number++);
  return NULL;
}

static void start_compiling(unsigned round) {
  static unsigned numbers[THREADS];
  for (unsigned i = 0; i < THREADS; i++) {
    pthread_t thread;
    numbers[i] = (round * THREADS + i) * 100003;
    if (pthread_create(&thread, NULL, compile_on, &numbers[i]) != 0) _exit(2);
  }
}

static void wait_for_kernels(int64_t wanted) {
  for (int64_t count = 0; count < wanted; sched_yield())
    if (laze_metric_read(context, "kernels_compiled", &count, NULL) != LAZE_OK) _exit(3);
}

/* How a child that runs `program` ends. */
static void check_child(void (*program)(unsigned round), unsigned round, int expected) {
  int status = -1;
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    alarm(DEADLINE_SECONDS); /* one that hangs is ended, and noticed */
    program(round);
    _exit(4);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFEXITED(status), "round %u: ended by signal %d", round, WTERMSIG(status));
  ck_assert_msg(WEXITSTATUS(status) == expected, "round %u: status %d", round, WEXITSTATUS(status));
}

/* At different moments, the first kernel (LLVM is just being loaded) among them. */
static void exit_beside_others(unsigned round) {
  context = new_context(NULL, NULL, NULL);
  start_compiling(round);
  wait_for_kernels(round % 6);
  for (unsigned i = 0; i < round % 5; i++) sched_yield();
  exit(STATUS);
}

START_TEST(others_may_be_compiling) {
  for (unsigned round = 0; round < ROUNDS; round++) check_child(exit_beside_others, round, STATUS);
}
END_TEST

static void exit_in_log(void *self, int32_t severity, const char *message) {
  (void)self;
  (void)severity;
  if (strcmp(message, "llvm") == 0) exit(STATUS);
}

/* Between two uses of LLVM by the thread that exits, which may be any of them: the others log to the new context, too,
 * and what one computes while another exits is refused. */
static void exit_from_log(unsigned round) {
  context = new_context(NULL, NULL, NULL);
  start_compiling(round);
  wait_for_kernels(1);
  context = new_context(NULL, exit_in_log, "llvm");
  for (unsigned i = round;; i++) (void)compute(i);
}

START_TEST(a_log_callback_may_exit) {
  for (unsigned round = 0; round < 8; round++) check_child(exit_from_log, round, STATUS);
}
END_TEST

static atomic_long allocations, exit_at;

static void *allocate_or_exit(void *self, size_t size) {
  (void)self;
  if (atomic_fetch_add(&allocations, 1) + 1 == atomic_load(&exit_at)) exit(STATUS);
  return malloc(size);
}
static void release(void *self, void *memory) {
  (void)self;
  free(memory);
}
static const laze_allocator exiting_allocator = {allocate_or_exit, release, NULL};

/* At any of laze's allocations, those inside of the code generator too. */
static void exit_from_allocator(unsigned round) {
  context = new_context(NULL, NULL, NULL);
  start_compiling(round);
  wait_for_kernels(1);
  context = new_context(&exiting_allocator, NULL, NULL);
  (void)compute(1); /* what is made once */
  long before = atomic_load(&allocations);
  (void)compute(2);
  long each = atomic_load(&allocations) - before;
  atomic_store(&exit_at, atomic_load(&allocations) + 1 + round * each / 16);
  for (unsigned i = 3;; i++) (void)compute(i);
}

START_TEST(an_allocator_may_exit) {
  for (unsigned round = 0; round < 16; round++) check_child(exit_from_allocator, round, STATUS);
}
END_TEST

/* Runs after laze's handler, which was registered later. */
static void compile_late(void) {
  laze_error error = {0};
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_scalar(context, LAZE_F64, 0.5);
  double value;
  bool refused = laze_tensor_read(laze_sinh(x), LAZE_F64, &value, sizeof value) == LAZE_FAILED_PRECONDITION;
  (void)laze_scope_end_error(scope, &error);
  bool known = compute(7) == LAZE_OK;
  _exit(!refused ? 5 : !known ? 6 : STATUS);
}

static void exit_then_compile(unsigned round) {
  if (atexit(compile_late) != 0) _exit(7);
  context = new_context(NULL, NULL, NULL);
  if (compute(7) != LAZE_OK) _exit(8);
  (void)round;
  exit(0);
}

/* What is compiled already goes on working. */
START_TEST(nothing_is_compiled_after_exit_began) {
  check_child(exit_then_compile, 0, STATUS);
}
END_TEST

/* The child has no thread that compiles, whatever its parent's threads were doing. */
static void fork_beside_others(unsigned round) {
  context = new_context(NULL, NULL, NULL);
  start_compiling(round);
  wait_for_kernels(1 + round % 3);
  for (int i = 0; i < 10; i++) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
      alarm(DEADLINE_SECONDS);
      exit(STATUS);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != STATUS) _exit(9);
  }
  exit(STATUS);
}

START_TEST(a_child_of_fork_may_exit) {
  for (unsigned round = 0; round < 6; round++) check_child(fork_beside_others, round, STATUS);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("exit");
  TCase *tests = tcase_create("exit");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, others_may_be_compiling);
  tcase_add_test(tests, a_log_callback_may_exit);
  tcase_add_test(tests, an_allocator_may_exit);
  tcase_add_test(tests, nothing_is_compiled_after_exit_began);
  tcase_add_test(tests, a_child_of_fork_may_exit);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
