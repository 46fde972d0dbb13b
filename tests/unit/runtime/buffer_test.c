/* Tensor memory: alignment, accounting, refusal of sizes nobody has, recycling, borrowed memory. */
#include "runtime/buffer.h"
#include "runtime/runtime.h"
#include "tests/support/suite.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MIB (INT64_C(1) << 20)

static laze_context *context;

static void set_up(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
}
static void tear_down(void) {
  laze_context_release(context);
}

static laze_buffer *create(int64_t size) {
  laze_buffer *buffer = NULL;
  laze_error error = {0};
  laze_status status = laze_buffer_create(context, size, &buffer, &error);
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
  return buffer;
}

static int64_t metric(laze_metric which) {
  return laze_metrics_get(laze_context_metrics(context), which);
}

static laze_buffer_pool *pool(void) {
  laze_runtime *runtime = NULL;
  ck_assert(laze_runtime_get(context, &runtime, NULL) == LAZE_OK);
  return runtime->buffers;
}

static int64_t idle_bytes(void) {
  return laze_buffer_pool_idle_bytes(pool());
}

/* Kernels load and store whole aligned vectors; every size, on both sides of the mapped ones, must allow it. */
START_TEST(aligns_every_size) {
  static const int64_t sizes[] = {0, 1, 63, 64, 65, 4096, MIB - 1, MIB, MIB + 1, 5 * MIB + 3};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    laze_buffer *buffer = create(sizes[i]);
    ck_assert_ptr_nonnull(buffer->data);
    ck_assert_uint_eq((uintptr_t)buffer->data % LAZE_BUFFER_ALIGNMENT, 0);
    ck_assert_int_eq(buffer->size, sizes[i]);
    memset(buffer->data, 0xa5, (size_t)sizes[i]);
    laze_buffer_release(buffer);
  }
}
END_TEST

/* `peak_bytes` is what users judge memory by: it counts what was asked for, and not what waits for recycling. */
START_TEST(accounts_for_bytes) {
  laze_buffer *a = create(3 * MIB), *b = create(100);
  ck_assert_int_eq(metric(LAZE_METRIC_CURRENT_BYTES), 3 * MIB + 100);
  laze_buffer_release(a);
  ck_assert_int_eq(metric(LAZE_METRIC_CURRENT_BYTES), 100);
  ck_assert_int_eq(idle_bytes(), 3 * MIB);
  laze_buffer_release(b);
  ck_assert_int_eq(metric(LAZE_METRIC_CURRENT_BYTES), 0);
  ck_assert_int_eq(metric(LAZE_METRIC_PEAK_BYTES), 3 * MIB + 100);
}
END_TEST

/* The system would map some of these and kill the process when they are used. */
START_TEST(refuses_sizes_nobody_has) {
  static const int64_t sizes[] = {INT64_C(1) << 46, INT64_C(1) << 47, INT64_C(1) << 62, INT64_MAX - 63, INT64_MAX};
  laze_buffer *kept = create(64);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    laze_buffer *buffer = NULL;
    laze_error error = {0};
    char number[32];
    ck_assert_int_eq(laze_buffer_create(context, sizes[i], &buffer, &error), LAZE_OUT_OF_MEMORY);
    snprintf(number, sizeof number, "%lld", (long long)sizes[i]);
    ck_assert_msg(strstr(error.message, number), "%s", error.message);
    ck_assert_ptr_null(buffer);
  }
  laze_error error = {0};
  laze_buffer *buffer = NULL;
  ck_assert_int_eq(laze_buffer_create(context, -1, &buffer, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(metric(LAZE_METRIC_CURRENT_BYTES), 64); /* failures leave no trace */
  laze_buffer_release(kept);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* whose shadow memory is larger than any such limit */
/* A message that names the machine's memory would send the user looking in the wrong place. */
START_TEST(names_the_limit_of_the_process) {
  struct rlimit before, small;
  laze_buffer_release(create(64)); /* the context has seen the machine's memory */
  ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
  small = before;
  small.rlim_cur = 3000 * (rlim_t)MIB;
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &small), 0);
  laze_buffer *buffer = NULL;
  laze_error error = {0};
  laze_status status = laze_buffer_create(context, 4000 * MIB, &buffer, &error);
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
  ck_assert_int_eq(status, LAZE_OUT_OF_MEMORY);
  ck_assert_msg(strstr(error.message, "of the 3145728000 this process can have"), "%s", error.message);
}
END_TEST
#endif

/* A step of a training loop asks for the same sizes again: no new pages. A much smaller request must not sit in a large
 * block, or the peak grows unseen. */
START_TEST(recycles_blocks_of_like_size) {
  laze_buffer *buffer = create(8 * MIB);
  void *data = buffer->data;
  laze_buffer_release(buffer);
  laze_buffer *small = create(2 * MIB);
  ck_assert_ptr_ne(small->data, data);
  buffer = create(8 * MIB - 5);
  ck_assert_ptr_eq(buffer->data, data);
  ck_assert_int_eq(buffer->size, 8 * MIB - 5);
  ck_assert_int_eq(idle_bytes(), 0);
  laze_buffer_release(small);
  laze_buffer_release(buffer);
  ck_assert_int_eq(idle_bytes(), 10 * MIB);
  laze_buffer_pool_trim(pool());
  ck_assert_int_eq(idle_bytes(), 0);
}
END_TEST

/* From a size on they are pages, which the pool gives back as such. */
START_TEST(maps_from_a_size_on) {
  laze_buffer *mapped = create(LAZE_BUFFER_RECYCLE_MINIMUM);
  ck_assert_uint_eq((uintptr_t)mapped->data % 4096, 0);
  laze_buffer_release(mapped);
  ck_assert_int_eq(idle_bytes(), LAZE_BUFFER_RECYCLE_MINIMUM);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* where small blocks do not wait, so that uses of them after their end are seen */
/* Every size below that is recycled for sizes that are a little smaller, holds what was asked for, and is aligned. */
START_TEST(recycles_small_blocks) {
  for (int64_t size = 1; size < LAZE_BUFFER_RECYCLE_MINIMUM; size += 1 + size / 7) {
    laze_buffer *buffer = create(size);
    const void *data = buffer->data;
    const int64_t capacity = buffer->capacity;
    ck_assert_int_ge(capacity, size);
    ck_assert_int_le(capacity, size + LAZE_BUFFER_ALIGNMENT + size / 8);
    ck_assert_uint_eq((uintptr_t)data % LAZE_BUFFER_ALIGNMENT, 0);
    memset(buffer->data, 0xff, (size_t)capacity);
    laze_buffer_release(buffer);
    ck_assert_int_eq(idle_bytes(), capacity);
    laze_buffer *larger = create(capacity + 1), *again = create(capacity);
    ck_assert_ptr_ne(larger->data, data);
    ck_assert_ptr_eq(again->data, data);
    ck_assert_int_eq(idle_bytes(), 0);
    laze_buffer_release(larger);
    laze_buffer_release(again);
    laze_buffer_pool_trim(pool());
    ck_assert_int_eq(idle_bytes(), 0);
  }
}
END_TEST

/* What waits is bounded, and the rest is the C library's again. */
START_TEST(bounds_small_blocks) {
  enum { COUNT = 200 };
  laze_buffer *buffers[COUNT];
  for (int i = 0; i < COUNT; i++) buffers[i] = create(40 * 1024);
  for (int i = 0; i < COUNT; i++) laze_buffer_release(buffers[i]);
  ck_assert_int_gt(idle_bytes(), 0);
  ck_assert_int_le(idle_bytes(), 4 * MIB);
}
END_TEST
#endif

/* Bounded in bytes and in entries, whatever the order of releases. */
START_TEST(bounds_the_free_list) {
  laze_buffer *buffers[100];
  for (int i = 0; i < 100; i++) buffers[i] = create(i % 10 == 0 ? 60 * MIB : MIB);
  for (int i = 0; i < 100; i++) {
    laze_buffer_release(buffers[i]);
    ck_assert_int_le(idle_bytes(), LAZE_BUFFER_RECYCLE_LIMIT);
  }
  ck_assert_int_gt(idle_bytes(), 0);
  laze_buffer_release(create(LAZE_BUFFER_RECYCLE_LIMIT + 1)); /* larger than the whole list */
  ck_assert_int_le(idle_bytes(), LAZE_BUFFER_RECYCLE_LIMIT);
}
END_TEST

static int releases;
static void count_release(void *self, void *data) {
  ck_assert_ptr_eq(self, &releases);
  ck_assert_ptr_nonnull(data);
  releases++;
}

/* Foreign memory is never written in place or recycled, and goes back exactly once. */
START_TEST(borrows_memory) {
  float data[3] = {1, 2, 3};
  laze_buffer *buffer = NULL;
  ck_assert_int_eq(laze_buffer_borrow(context, data, sizeof data, count_release, &releases, &buffer, NULL), LAZE_OK);
  ck_assert_ptr_eq(buffer->data, data);
  ck_assert(!laze_buffer_is_exclusive(buffer));
  ck_assert_int_eq(metric(LAZE_METRIC_CURRENT_BYTES), 0);
  laze_buffer_retain(buffer);
  laze_buffer_release(buffer);
  ck_assert_int_eq(releases, 0);
  laze_buffer_release(buffer);
  ck_assert_int_eq(releases, 1);
  buffer = NULL;
  ck_assert_int_eq(laze_buffer_borrow(context, NULL, 4, count_release, &releases, &buffer, NULL),
                   LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_null(buffer);
  ck_assert_int_eq(releases, 1);
}
END_TEST

START_TEST(knows_exclusive_buffers) {
  laze_buffer *buffer = create(64);
  ck_assert(laze_buffer_is_exclusive(buffer));
  laze_buffer_retain(buffer);
  ck_assert(!laze_buffer_is_exclusive(buffer));
  laze_buffer_release(buffer);
  ck_assert(laze_buffer_is_exclusive(buffer));
  laze_buffer_release(buffer);
  laze_buffer_release(NULL);
}
END_TEST

/* Memory for the structure itself may be what is missing. */
static int allocations_left;
static void *allocate_some(void *self, size_t size) {
  (void)self;
  return allocations_left-- > 0 ? malloc(size) : NULL;
}
static void release_some(void *self, void *memory) {
  (void)self;
  free(memory);
}

START_TEST(survives_a_failing_allocator) {
  laze_allocator allocator = {allocate_some, release_some, NULL};
  laze_context_options options = {.struct_size = sizeof options, .allocator = &allocator};
  laze_context *poor = NULL;
  allocations_left = 1000;
  ck_assert_int_eq(laze_context_create(&options, &poor, NULL), LAZE_OK);
  bool created = false;
  for (int budget = 0; budget < 10 && !created; budget++) {
    allocations_left = budget;
    laze_buffer *buffer = NULL;
    laze_error error = {0};
    laze_status status = laze_buffer_create(poor, 64, &buffer, &error);
    ck_assert(status == LAZE_OK ? buffer != NULL : status == LAZE_OUT_OF_MEMORY && error.message[0]);
    created = status == LAZE_OK;
    laze_buffer_release(buffer);
  }
  ck_assert(created);
  laze_context_release(poor);
}
END_TEST

static void *churn(void *argument) {
  laze_buffer *shared = argument;
  for (int i = 0; i < 200; i++) {
    laze_buffer *mine = create(MIB + i % 3 * MIB);
    *(volatile char *)mine->data = (char)i;
    laze_buffer_retain(shared);
    laze_buffer_release(shared);
    laze_buffer_release(mine);
  }
  return NULL;
}

START_TEST(serves_threads) {
  laze_buffer *shared = create(64);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, shared), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  ck_assert(laze_buffer_is_exclusive(shared));
  laze_buffer_release(shared);
  ck_assert_int_eq(metric(LAZE_METRIC_CURRENT_BYTES), 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("buffer");
  TCase *tests = tcase_create("buffer");
  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, aligns_every_size);
  tcase_add_test(tests, accounts_for_bytes);
  tcase_add_test(tests, refuses_sizes_nobody_has);
#ifndef __SANITIZE_ADDRESS__
  tcase_add_test(tests, names_the_limit_of_the_process);
#endif
  tcase_add_test(tests, recycles_blocks_of_like_size);
  tcase_add_test(tests, maps_from_a_size_on);
#ifndef __SANITIZE_ADDRESS__
  tcase_add_test(tests, recycles_small_blocks);
  tcase_add_test(tests, bounds_small_blocks);
#endif
  tcase_add_test(tests, bounds_the_free_list);
  tcase_add_test(tests, borrows_memory);
  tcase_add_test(tests, knows_exclusive_buffers);
  tcase_add_test(tests, survives_a_failing_allocator);
  tcase_add_test(tests, serves_threads);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
