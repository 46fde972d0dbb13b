/* Memory that is out while LLVM works: no process ends of it. The C library's allocation functions are replaced here,
 * for all of the process, by ones that fail when they are told to; and address space is limited.
 *
 * Without a status there is the right result; and when there is memory again, the same process compiles again. */
#include "tests/support/suite.h"

#include <laze/laze.h>

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- Allocation functions that fail --- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static _Atomic long calls, first_to_fail = LONG_MAX, last_to_fail = LONG_MAX;
static _Atomic bool counting;
static pthread_t victim;

static bool fails(void) {
  if (!atomic_load_explicit(&counting, memory_order_relaxed) || !pthread_equal(pthread_self(), victim)) return false;
  long call = atomic_fetch_add(&calls, 1) + 1;
  if (call < atomic_load(&first_to_fail) || call > atomic_load(&last_to_fail)) return false;
  errno = ENOMEM;
  return true;
}

#pragma GCC visibility push(default)
void *malloc(size_t size) {
  return fails() ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  return fails() ? NULL : __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  return fails() ? NULL : __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size) { /* never fails: tensors' data, which other tests see to */
  return __libc_memalign(alignment, size);
}
void *memalign(size_t alignment, size_t size) {
  return fails() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
  if (fails()) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}
void free(void *memory) {
  __libc_free(memory);
}
#pragma GCC visibility pop

static void *allocate(void *self, size_t size) {
  (void)self;
  return __libc_malloc(size);
}
static void release(void *self, void *memory) {
  (void)self;
  __libc_free(memory);
}
/* laze's own memory never fails here: other tests see to that. */
static const laze_allocator own_memory = {allocate, release, NULL};

/* --- What is computed --- */

static laze_context *new_context(void) {
  laze_context *context = NULL;
  laze_context_options options = {.struct_size = sizeof options,
                                  .allocator = &own_memory,
                                  .backend = "llvm",
                                  .debug = "",
                                  .cache_directory = "",
                                  .threads = 1};
  return laze_context_create(&options, &context, NULL) == LAZE_OK ? context : NULL;
}

typedef enum { RIGHT, WRONG, FAILED } outcome;

enum { SIZE = 8 };

static float element(int i) {
  return (float)(i % 5);
}

/* sum(min(|x x - x|, x + x)), of integers that f32 holds exactly. */
static float expected(void) {
  float sum = 0;
  for (int i = 0; i < SIZE * SIZE; i++) {
    float product = 0, x = element(i);
    for (int k = 0; k < SIZE; k++) product += element(i / SIZE * SIZE + k) * element(k * SIZE + i % SIZE);
    float difference = product > x ? product - x : x - product;
    sum += difference < x + x ? difference : x + x;
  }
  return sum;
}

/* Compiles and runs kernels in a context that has none; `message` (1020 bytes) says what failed. */
static outcome compute(laze_context *context, char *message) {
  float data[SIZE * SIZE], got = -1;
  for (int i = 0; i < SIZE * SIZE; i++) data[i] = element(i);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(SIZE, SIZE), data, sizeof data);
  laze_tensor *y = laze_sum(laze_minimum(laze_abs(laze_sub(laze_mm(x, x), x)), laze_add(x, x)));
  laze_tensor_retain(y);
  victim = pthread_self();
  atomic_store(&calls, 0);
  atomic_store(&counting, true);
  laze_status status = laze_tensor_read(y, LAZE_F32, &got, sizeof got);
  atomic_store(&counting, false);
  snprintf(message, LAZE_ERROR_MESSAGE_SIZE, "%s", laze_tensor_error(y));
  laze_tensor_release(y);
  (void)laze_scope_end(scope);
  if (status != LAZE_OK) return *message ? FAILED : WRONG;
  return got == expected() ? RIGHT : WRONG;
}

static outcome compute_alone(char *message) {
  laze_context *context = new_context();
  if (!context) return FAILED;
  outcome result = compute(context, message);
  laze_context_release(context);
  return result;
}

static void let_fail(long first, long last) {
  atomic_store(&first_to_fail, first);
  atomic_store(&last_to_fail, last);
}

static void expect_right(const char *when) {
  char message[LAZE_ERROR_MESSAGE_SIZE];
  let_fail(LONG_MAX, LONG_MAX);
  outcome result = compute_alone(message);
  ck_assert_msg(result == RIGHT, "%s: %s", when, result == FAILED ? message : "a wrong result");
}

/* --- Tests --- */

enum { SPREAD = 60, AT_ONCE = 20 };

/* The allocations at which to fail: the first ones, and some of all. */
static long nth_position(int i, long total) {
  return i < AT_ONCE ? i + 1 : AT_ONCE + (i - AT_ONCE) * (total - AT_ONCE) / (SPREAD - 1);
}

/* At one allocation, at ten in a row, and at all that follow. What LLVM had begun it finishes. */
START_TEST(allocations_fail_inside_of_llvm) {
  static const long lengths[] = {1, 10, LONG_MAX / 2};
  char message[LAZE_ERROR_MESSAGE_SIZE];
  expect_right("before");
  ck_assert_int_eq(compute_alone(message), RIGHT);
  long total = atomic_load(&calls);
  ck_assert_int_gt(total, 1000); /* LLVM's allocations are those that are counted */
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    int right = 0;
    for (int i = 0; i < SPREAD + AT_ONCE; i++) {
      long first = nth_position(i, total);
      let_fail(first, first + lengths[k] - 1);
      outcome result = compute_alone(message);
      ck_assert_msg(result != WRONG, "a wrong result when allocation %ld of %ld fails", first, total);
      right += result == RIGHT;
    }
    ck_assert_msg(right > SPREAD, "only %d of %d runs were right", right, SPREAD + AT_ONCE);
    expect_right("after");
  }
}
END_TEST

/* What a child that runs `program` with `number` ends with. */
static int status_of_child(void (*program)(long number), long number) {
  int status = -1;
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    alarm(120); /* one that hangs is ended, and noticed */
    program(number);
    _exit(0);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  return status;
}

static void check_child(void (*program)(long number), long number) {
  int status = status_of_child(program, number);
  ck_assert_msg(WIFEXITED(status), "%ld: ended by signal %d", number, WTERMSIG(status));
  ck_assert_msg(WEXITSTATUS(status) == 0, "%ld: status %d", number, WEXITSTATUS(status));
}

/* Exits with 1: a wrong result; 2: nothing right when there is memory again. */
static void compute_again(void) {
  char message[LAZE_ERROR_MESSAGE_SIZE];
  let_fail(LONG_MAX, LONG_MAX);
  if (compute_alone(message) == RIGHT) return;
  fprintf(stderr, "afterwards: %s\n", message);
  _exit(2);
}

static void load_without_memory(long first) {
  char message[LAZE_ERROR_MESSAGE_SIZE];
  let_fail(first, LONG_MAX);
  if (compute_alone(message) == WRONG) _exit(1);
  compute_again();
}

static void load_with_one_failure(long first) {
  char message[LAZE_ERROR_MESSAGE_SIZE];
  let_fail(first, first);
  if (compute_alone(message) == WRONG) _exit(1);
  compute_again();
}

/* While the module is opened, and LLVM's static objects are made. */
START_TEST(allocations_fail_while_llvm_is_loaded) {
  for (int i = 0; i < 30; i++) {
    long first = i < 15 ? i + 1 : 15 + (i - 15) * 120;
    check_child(load_without_memory, first);
    check_child(load_with_one_failure, first);
  }
}
END_TEST

static long mapped_bytes(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld", &pages) != 1) _exit(3);
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static void limit_space(long more, struct rlimit *before) {
  getrlimit(RLIMIT_AS, before);
  struct rlimit small = *before;
  small.rlim_cur = (rlim_t)(mapped_bytes() + more);
  if (setrlimit(RLIMIT_AS, &small) != 0) _exit(4);
}

static void compute_within(long more) {
  struct rlimit before;
  char message[LAZE_ERROR_MESSAGE_SIZE] = "";
  limit_space(more, &before);
  outcome result = compute_alone(message);
  setrlimit(RLIMIT_AS, &before);
  if (result == WRONG) _exit(1);
  compute_again();
  if (result == RIGHT) _exit(42);
}

static void compute_loaded_within(long more) {
  char message[LAZE_ERROR_MESSAGE_SIZE];
  if (compute_alone(message) != RIGHT) _exit(5);
  compute_within(more);
}

/* From nothing to plenty, with LLVM still to be loaded and with LLVM there. At the ends it fails, and works. */
START_TEST(address_space_is_limited) {
  static void (*const programs[])(long) = {compute_within, compute_loaded_within};
  for (int k = 0; k < 2; k++) {
    int right = 0, failed = 0;
    for (long mebibytes = 0; mebibytes <= 192; mebibytes += mebibytes < 48 ? 2 : 16) {
      int status = status_of_child(programs[k], mebibytes << 20);
      ck_assert_msg(WIFEXITED(status), "%ld MiB: ended by signal %d", mebibytes, WTERMSIG(status));
      int code = WEXITSTATUS(status);
      ck_assert_msg(code == 0 || code == 42, "%ld MiB: status %d", mebibytes, code);
      right += code == 42;
      failed += code == 0;
    }
    ck_assert_int_gt(right, 0);
    ck_assert_int_gt(failed, 0);
  }
}
END_TEST

static void *compute_on_thread(void *self) {
  char message[LAZE_ERROR_MESSAGE_SIZE];
  for (int i = 0; i < 3; i++)
    if (compute_alone(message) == WRONG) *(bool *)self = true;
  return NULL;
}

static void compute_on_threads_within(long more) {
  enum { THREADS = 3 };
  pthread_t threads[THREADS];
  bool wrong[THREADS] = {false};
  struct rlimit before;
  char message[LAZE_ERROR_MESSAGE_SIZE];
  if (compute_alone(message) != RIGHT) _exit(5);
  limit_space(more, &before);
  int count = 0;
  while (count < THREADS && pthread_create(&threads[count], NULL, compute_on_thread, &wrong[count]) == 0) count++;
  for (int i = 0; i < count; i++) {
    pthread_join(threads[i], NULL);
    if (wrong[i]) _exit(1);
  }
  setrlimit(RLIMIT_AS, &before);
  compute_again();
}

START_TEST(address_space_is_limited_for_several_threads) {
  for (long mebibytes = 0; mebibytes <= 256; mebibytes += 32) check_child(compute_on_threads_within, mebibytes << 20);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("llvm memory");
  TCase *tests = tcase_create("llvm memory");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, allocations_fail_inside_of_llvm);
  tcase_add_test(tests, allocations_fail_while_llvm_is_loaded);
  tcase_add_test(tests, address_space_is_limited);
  tcase_add_test(tests, address_space_is_limited_for_several_threads);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
