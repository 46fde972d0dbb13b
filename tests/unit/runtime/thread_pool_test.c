/* Parallel loops: every iteration exactly once, from several threads, nested, after fork, many times in a row. */
#include "runtime/thread_pool.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/suite.h"

#include <check.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define LENGTH 1000

static laze_context *context;
static laze_thread_pool *pool;

static void set_up(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  ck_assert_int_eq(laze_thread_pool_create(context, &pool, NULL), LAZE_OK);
}

static void tear_down(void) {
  laze_thread_pool_destroy(pool);
  laze_context_release(context);
}

typedef struct {
  int counts[LENGTH];           /* plain: two threads on one iteration are a race that TSan reports */
  _Atomic int running[THREADS]; /* calls with each worker number at this moment */
  _Atomic int overlaps;
  _Atomic int calls;
  int64_t longest_allowed;
  _Atomic bool too_long;
} tally;

static void count(void *self, int worker, int64_t begin, int64_t end) {
  tally *t = self;
  ck_assert_int_ge(worker, 0);
  ck_assert_int_lt(worker, THREADS);
  if (atomic_fetch_add(&t->running[worker], 1) != 0) atomic_fetch_add(&t->overlaps, 1);
  for (int64_t i = begin; i < end; i++) t->counts[i]++;
  if (end - begin > t->longest_allowed) atomic_store(&t->too_long, true);
  atomic_fetch_add(&t->calls, 1);
  atomic_fetch_sub(&t->running[worker], 1);
}

static void expect_counts(const tally *t, int64_t begin, int64_t end, int expected) {
  for (int64_t i = 0; i < LENGTH; i++) ck_assert_int_eq(t->counts[i], i >= begin && i < end ? expected : 0);
}

/* Ranges that divide unevenly, are empty, or are one chunk; the plain reads below also prove that the caller sees what
 * workers wrote. */
START_TEST(covers_each_iteration_once) {
  static const int64_t cases[][3] = {{0, LENGTH, 1},   {0, LENGTH, 7},      {3, 998, 13}, {5, 5, 1},      {9, 3, 1},
                                     {0, LENGTH, 999}, {0, LENGTH, LENGTH}, {0, 2, 1},    {1, LENGTH, 0}, {1, 9, -4}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    int64_t begin = cases[c][0], end = cases[c][1], grain = cases[c][2];
    tally t = {.longest_allowed = grain < 1 ? 1 : grain};
    laze_thread_pool_run(pool, &(laze_thread_loop){count, &t, begin, end, grain, THREADS});
    expect_counts(&t, begin, end, 1);
    ck_assert_int_eq(t.overlaps, 0);
    ck_assert(!t.too_long);
    ck_assert_int_eq(t.calls > 0, end > begin);
  }
}
END_TEST

/* Loops in quick succession meet workers in every state: spinning, falling asleep, leaving the loop before. */
START_TEST(survives_many_loops) {
  tally t = {.longest_allowed = LENGTH};
  for (int round = 0; round < 5000; round++) {
    laze_thread_pool_run(pool, &(laze_thread_loop){count, &t, 0, LENGTH, 125, THREADS});
    for (int turn = 0; round % 100 == 0 && turn < 1000; turn++) sched_yield(); /* past the spin: workers fall asleep */
  }
  expect_counts(&t, 0, LENGTH, 5000);
  ck_assert_int_eq(t.overlaps, 0);
}
END_TEST

/* Ends of the number line: lengths and chunk bounds must not overflow. */
static void sum_length(void *self, int worker, int64_t begin, int64_t end) {
  (void)worker;
  atomic_fetch_add((_Atomic uint64_t *)self, (uint64_t)end - (uint64_t)begin);
}

START_TEST(handles_extreme_ranges) {
  static const int64_t cases[][3] = {{INT64_MAX - 10, INT64_MAX, 3},
                                     {INT64_MIN, INT64_MIN + 10, 3},
                                     {INT64_MIN, INT64_MAX, INT64_MAX},
                                     {0, INT64_MAX, INT64_MAX / 3},
                                     {-1, INT64_MAX - 1, INT64_MAX - 1}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    _Atomic uint64_t total = 0;
    laze_thread_pool_run(pool, &(laze_thread_loop){sum_length, &total, cases[c][0], cases[c][1], cases[c][2], THREADS});
    ck_assert_uint_eq(total, (uint64_t)cases[c][1] - (uint64_t)cases[c][0]);
  }
}
END_TEST

typedef struct {
  pthread_barrier_t barrier;
  _Atomic int arrived;
} meeting;

static void meet(void *self, int worker, int64_t begin, int64_t end) {
  (void)worker, (void)begin, (void)end;
  meeting *m = self;
  pthread_barrier_wait(&m->barrier);
  atomic_fetch_add(&m->arrived, 1);
}

/* Each chunk waits for all others: ends only when every worker takes part at the same time. */
static int meet_all(void) {
  meeting m = {.arrived = 0};
  pthread_barrier_init(&m.barrier, NULL, THREADS);
  laze_thread_pool_run(pool, &(laze_thread_loop){meet, &m, 0, THREADS, 1, THREADS});
  pthread_barrier_destroy(&m.barrier);
  return m.arrived;
}

START_TEST(uses_every_worker) {
  ck_assert_int_eq(meet_all(), THREADS);
}
END_TEST

static void *run_loops(void *argument) {
  tally *t = argument;
  for (int i = 0; i < 300; i++) laze_thread_pool_run(pool, &(laze_thread_loop){count, t, 0, LENGTH, 50, THREADS});
  return NULL;
}

/* The second caller runs its loop alone instead of waiting or failing. */
START_TEST(serves_several_callers) {
  static tally tallies[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    tallies[i].longest_allowed = LENGTH;
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_loops, &tallies[i]), 0);
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; i++) expect_counts(&tallies[i], 0, LENGTH, 300);
}
END_TEST

static void nest(void *self, int worker, int64_t begin, int64_t end) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    _Atomic uint64_t inner = 0;
    laze_thread_pool_run(pool, &(laze_thread_loop){sum_length, &inner, 0, 100, 10, THREADS});
    atomic_fetch_add((_Atomic uint64_t *)self, inner);
  }
}

START_TEST(runs_nested_loops) {
  _Atomic uint64_t total = 0;
  laze_thread_pool_run(pool, &(laze_thread_loop){nest, &total, 0, 50, 1, THREADS});
  ck_assert_uint_eq(total, 5000);
}
END_TEST

/* The workers do not exist in the child, and another thread may have been in a loop at the moment of the fork. */
START_TEST(works_after_fork) {
  tally *t = calloc(1, sizeof *t);
  t->longest_allowed = LENGTH;
  laze_thread_pool_run(pool, &(laze_thread_loop){count, t, 0, LENGTH, 10, THREADS});
  /* Under AddressSanitizer a thread that is starting holds a lock of its allocator, which a child forked at that moment
   * would find held for ever: so all workers have started first. */
  ck_assert_int_eq(meet_all(), THREADS);
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    int arrived = meet_all(); /* hangs unless there are fresh workers */
    laze_thread_pool_destroy(pool);
    _exit(arrived == THREADS ? 0 : 1);
  }
  int status = -1;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  laze_thread_pool_run(
      pool, &(laze_thread_loop){count, t, 0, LENGTH, 10, THREADS}); /* the parent's workers are still there */
  expect_counts(t, 0, LENGTH, 2);
  free(t);
}
END_TEST

static void forking_loop(void *self, int worker, int64_t begin, int64_t end) {
  (void)worker, (void)end;
  if (begin != 0) return;
  pid_t child = fork();
  if (child == 0) {
    /* This thread's copy of the pool says "busy": the child must not take that for a loop that will ever end. */
    tally t = {.longest_allowed = LENGTH};
    laze_thread_pool_run(pool, &(laze_thread_loop){count, &t, 0, LENGTH, 10, THREADS});
    for (int i = 0; i < LENGTH; i++) {
      if (t.counts[i] != 1) _exit(1);
    }
    _exit(0);
  }
  waitpid(child, self, 0);
}

START_TEST(works_after_fork_in_a_loop) {
  int status = -1;
  ck_assert_int_eq(meet_all(), THREADS); /* as above */
  laze_thread_pool_run(pool, &(laze_thread_loop){forking_loop, &status, 0, 8, 1, THREADS});
  ck_assert_int_eq(status, 0);
}
END_TEST

typedef struct {
  _Atomic int highest; /* number of a worker */
} reach;

static void note_worker(void *self, int worker, int64_t begin, int64_t end) {
  reach *r = self;
  (void)begin, (void)end;
  int before = atomic_load(&r->highest);
  while (before < worker && !atomic_compare_exchange_weak(&r->highest, &before, worker)) {
  }
  for (int turn = 0; turn < 20; turn++) sched_yield(); /* others get to the loop */
}

/* Scratch memory is there for as many workers as the loop was promised: what earlier loops had more of stays away. */
START_TEST(keeps_to_the_threads_of_each_loop) {
  for (int round = 0; round < 200; round++) {
    int threads = round % 2 ? 2 : THREADS;
    reach r = {.highest = 0};
    laze_thread_pool_run(pool, &(laze_thread_loop){note_worker, &r, 0, 32, 1, threads});
    ck_assert_int_lt(r.highest, threads);
    ck_assert_int_eq(meet_all(), THREADS); /* and they are back for the next one that wants them */
  }
}
END_TEST

typedef struct {
  meeting all;
  _Atomic int wrong;
} control;

static void look_at_control_word(void *self, int worker, int64_t begin, int64_t end) {
  control *c = self;
  meet(&c->all, worker, begin, end);
  volatile float tiny = 1e-38f;
  if (worker != 0 && (fegetround() != FE_TONEAREST || tiny / 16 == 0)) atomic_fetch_add(&c->wrong, 1);
}

/* A new thread inherits the control word of its maker: results would depend on which thread ran first. */
START_TEST(resets_floating_point_control) {
  control c = {.wrong = 0};
  pthread_barrier_init(&c.all.barrier, NULL, THREADS);
  fesetround(FE_UPWARD);
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u); /* flush to zero, denormals are zero */
#endif
  laze_thread_pool_run(pool, &(laze_thread_loop){look_at_control_word, &c, 0, THREADS, 1, THREADS});
  fesetenv(FE_DFL_ENV);
  ck_assert_int_eq(c.all.arrived, THREADS);
  ck_assert_int_eq(c.wrong, 0);
}
END_TEST

/* One thread means the caller; absurd counts are brought into range. */
START_TEST(clamps_thread_counts) {
  static const int asked[] = {-3, 0, 1, LAZE_THREAD_POOL_MAX + 1};
  for (int i = 0; i < 4; i++) ck_assert_int_eq(laze_thread_pool_limit(asked[i]), i < 3 ? 1 : LAZE_THREAD_POOL_MAX);
  for (int i = 0; i < 3; i++) {
    tally t = {.longest_allowed = LENGTH};
    laze_thread_pool_run(pool, &(laze_thread_loop){count, &t, 0, LENGTH, 1, asked[i]});
    ck_assert_int_eq(t.calls, 1);
  }
  laze_thread_pool_destroy(NULL);
}
END_TEST

/* Bytes of address space. */
static int64_t address_space(void) {
  long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file, "%lld", &pages), 1);
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

/* Nor blocks. A thread that nobody joins keeps its stack, of 8 MiB as a rule, and may look at the pool after it has
 * gone. */
START_TEST(leaves_no_threads) {
  enum { POOLS = 300 };
  test_failing_allocator state = {0};
  laze_context *counting;
  ck_assert_int_eq(test_failing_context(&state, "interp", "", "", &counting), LAZE_OK);
  int64_t before = address_space(), live = state.live;
  for (int i = 0; i < POOLS; i++) {
    laze_thread_pool *other = NULL;
    meeting both = {.arrived = 0};
    ck_assert_int_eq(laze_thread_pool_create(counting, &other, NULL), LAZE_OK);
    pthread_barrier_init(&both.barrier, NULL, 2);
    laze_thread_pool_run(other, &(laze_thread_loop){meet, &both, 0, 2, 1, 2});
    pthread_barrier_destroy(&both.barrier);
    ck_assert_int_eq(both.arrived, 2);
    laze_thread_pool_destroy(other);
  }
  ck_assert_int_lt(address_space() - before, INT64_C(1) << 30);
  ck_assert_int_eq(state.live, live);
  laze_context_release(counting);
}
END_TEST

/* It supports no new threads after a fork of a process that has some. */
#if defined(__SANITIZE_THREAD__)
static const bool with_thread_sanitizer = true;
#else
static const bool with_thread_sanitizer = false;
#endif

int main(void) {
  Suite *suite = suite_create("thread_pool");
  TCase *tests = tcase_create("thread_pool");
  tcase_set_timeout(tests, 0); /* workers spin: on a machine that others use, minutes */
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, covers_each_iteration_once);
  tcase_add_test(tests, survives_many_loops);
  tcase_add_test(tests, handles_extreme_ranges);
  tcase_add_test(tests, uses_every_worker);
  tcase_add_test(tests, keeps_to_the_threads_of_each_loop);
  tcase_add_test(tests, serves_several_callers);
  tcase_add_test(tests, runs_nested_loops);
  if (!with_thread_sanitizer) {
    tcase_add_test(tests, works_after_fork);
    tcase_add_test(tests, works_after_fork_in_a_loop);
  }
  tcase_add_test(tests, resets_floating_point_control);
  tcase_add_test(tests, clamps_thread_counts);
  tcase_add_test(tests, leaves_no_threads);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
