/* The code generator's memory of last resort. Each test is a process of its own, for an escape is for good. */
#include "codegen/llvm/reserve.h"
#include "tests/support/suite.h"

#include <check.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

enum { MEGABYTE = 1 << 20 };

static laze_reserve reserve;
static laze_error error;

static void open_reserve(size_t bytes) {
  laze_status status = laze_reserve_open(&reserve, bytes, &error);
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
}

START_TEST(blocks_are_aligned_apart_and_used_again) {
  enum { COUNT = 500 };
  unsigned char *blocks[COUNT];
  open_reserve(64 * MEGABYTE);
  for (int round = 0; round < 20; round++) { /* of far more bytes than are reserved, were they not used again */
    for (int i = 0; i < COUNT; i++) {
      size_t size = (size_t)(i * i) % 50000, alignment = i % 7 == 0 ? 256 : 1;
      if (alignment > 1 && round > 0) alignment = 16;
      blocks[i] = laze_reserve_take(size, alignment);
      ck_assert_uint_eq((uintptr_t)blocks[i] % (alignment > 16 ? alignment : 16), 0);
      ck_assert_uint_eq(laze_reserve_size(blocks[i]), size);
      ck_assert(laze_reserve_owns(blocks[i]));
      memset(blocks[i], i, size);
    }
    for (int i = 0; i < COUNT; i++) {
      size_t size = (size_t)(i * i) % 50000;
      for (size_t k = 0; k < size; k++)
        if (blocks[i][k] != (unsigned char)i) ck_abort_msg("block %d was written by another", i);
      laze_reserve_give(blocks[i]);
    }
  }
  laze_reserve_close(&reserve);
  for (int i = 0; i < COUNT; i++) ck_assert(!laze_reserve_owns(blocks[i])); /* all of it is gone */
}
END_TEST

static void *give_back(void *memory) {
  laze_reserve_give(memory);
  return NULL;
}

/* LLVM keeps tables for the whole process, and any thread may free a piece. */
START_TEST(a_kept_block_outlives_the_reserve) {
  pthread_t thread;
  open_reserve(MEGABYTE);
  char *kept = laze_reserve_take(100, 1), *freed = laze_reserve_take(100, 1);
  strcpy(kept, "kept");
  laze_reserve_give(freed);
  laze_reserve_close(&reserve);
  ck_assert(laze_reserve_owns(kept));
  ck_assert_str_eq(kept, "kept");
  ck_assert_int_eq(pthread_create(&thread, NULL, give_back, kept), 0);
  pthread_join(thread, NULL);
  ck_assert(!laze_reserve_owns(kept));
}
END_TEST

/* What LLVM's static constructors get, before any reserve is open. */
START_TEST(without_a_reserve_there_is_a_fixed_piece) {
  char *block = laze_reserve_take(1000, 1);
  ck_assert_ptr_nonnull(block);
  ck_assert(laze_reserve_owns(block));
  ck_assert_ptr_null(laze_reserve_take(64 * MEGABYTE, 1)); /* and no escape: there is nowhere to go */
  laze_reserve_give(block);
  open_reserve(MEGABYTE);
  laze_reserve_close(&reserve);
}
END_TEST

static laze_status status_of_open(size_t bytes) {
  laze_reserve unused;
  laze_status status = laze_reserve_open(&unused, bytes, &error);
  if (status == LAZE_OK) laze_reserve_close(&unused);
  return status;
}

START_TEST(what_cannot_be_reserved_is_a_status) {
#ifndef __SANITIZE_ADDRESS__ /* whose shadow memory is larger */
  struct rlimit before, small;
  ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
  small = before;
  small.rlim_cur = 256 * MEGABYTE;
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &small), 0);
  ck_assert_int_eq(status_of_open(512 * (size_t)MEGABYTE), LAZE_OUT_OF_MEMORY);
  ck_assert_ptr_nonnull(strstr(error.message, "512 MiB of address space"));
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
#endif
  ck_assert_int_eq(status_of_open((size_t)1 << 60), LAZE_OUT_OF_MEMORY);
  ck_assert_int_eq(status_of_open(512 * (size_t)MEGABYTE), LAZE_OK);
}
END_TEST

/* Used up: the thread comes back here with the reason, and nobody enters LLVM again. */
START_TEST(a_reserve_that_is_used_up_is_escaped_from) {
  static laze_reserve outer;
  ck_assert_int_eq(laze_reserve_open(&outer, MEGABYTE, &error), LAZE_OK);
  if (sigsetjmp(outer.escape, 0) != 0) ck_abort_msg("that of the inner one was wanted");
  open_reserve(MEGABYTE);
  volatile int taken = 0;
  if (sigsetjmp(reserve.escape, 0) == 0) {
    for (;; taken++) ck_assert_ptr_nonnull(laze_reserve_take(10000, 1));
  }
  ck_assert_int_gt(taken, 50);
  ck_assert_int_eq(reserve.status, LAZE_OUT_OF_MEMORY);
  ck_assert_ptr_nonnull(strstr(reserve.reason, "memory is out"));
  laze_reserve_close(&reserve);
  laze_reserve_close(&outer);
  ck_assert_int_eq(status_of_open(MEGABYTE), LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(error.message, "interp"));
}
END_TEST

static void *take_one(void *self) {
  (void)self;
  void *block = laze_reserve_take(100, 1);
  bool right = block && ((char *)block < reserve.base || (char *)block >= reserve.end);
  if (block) laze_reserve_give(block);
  return right ? &reserve : NULL;
}

/* A reserve is its thread's: what another one uses cannot be missing at the end. */
START_TEST(threads_have_reserves_of_their_own) {
  pthread_t thread;
  void *right = NULL;
  open_reserve(MEGABYTE);
  char *own = laze_reserve_take(100, 1);
  ck_assert(own >= reserve.base && own < reserve.end);
  ck_assert_int_eq(pthread_create(&thread, NULL, take_one, NULL), 0);
  pthread_join(thread, &right);
  ck_assert_ptr_nonnull(right);
  laze_reserve_give(own);
  laze_reserve_close(&reserve);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("reserve");
  TCase *tests = tcase_create("reserve");
  tcase_add_test(tests, blocks_are_aligned_apart_and_used_again);
  tcase_add_test(tests, a_kept_block_outlives_the_reserve);
  tcase_add_test(tests, without_a_reserve_there_is_a_fixed_piece);
  tcase_add_test(tests, what_cannot_be_reserved_is_a_status);
  tcase_add_test(tests, a_reserve_that_is_used_up_is_escaped_from);
  tcase_add_test(tests, threads_have_reserves_of_their_own);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
