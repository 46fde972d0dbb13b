#include "lazy/run/trace_cache.h"

#include "support.h"

/* An executable that computes nothing. */
static laze_executable *new_executable(laze_context *context) {
  laze_size_table *sizes;
  laze_program *program;
  laze_executable *executable;
  ck_assert_int_eq(laze_size_table_create(context, &sizes, NULL), LAZE_OK);
  ck_assert_int_eq(laze_program_create(context, sizes, &program, NULL), LAZE_OK);
  ck_assert_int_eq(laze_executable_create(program, NULL, NULL, &executable, NULL), LAZE_OK);
  laze_program_release(program);
  return executable;
}

/* Two traces whose keys collide must not be taken for each other: the words decide. */
START_TEST(a_forced_collision_does_not_match) {
  laze_context *context = new_context();
  laze_cache *cache;
  ck_assert_int_eq(laze_trace_cache_create(context, &cache, NULL), LAZE_OK);
  laze_executable *a = new_executable(context), *b = new_executable(context);
  const laze_hash key = {1, 2};
  const uint64_t words_a[] = {1, 2, 3}, words_b[] = {1, 2, 4};
  laze_trace_cache_insert(cache, key, words_a, 3, a);
  ck_assert_ptr_null(laze_trace_cache_find(cache, key, words_b, 3));
  ck_assert_ptr_null(laze_trace_cache_find(cache, key, words_a, 2));
  laze_trace_cache_insert(cache, key, words_b, 3, b);
  laze_executable *found_a = laze_trace_cache_find(cache, key, words_a, 3);
  laze_executable *found_b = laze_trace_cache_find(cache, key, words_b, 3);
  ck_assert_ptr_eq(found_a, a);
  ck_assert_ptr_eq(found_b, b);
  laze_executable_release(found_a);
  laze_executable_release(found_b);
  laze_executable_release(a);
  laze_executable_release(b);
  laze_cache_destroy(cache);
  laze_context_release(context);
}
END_TEST

/* The least recently used goes first, and is counted. */
START_TEST(entries_are_bounded) {
  laze_context *context = new_context();
  laze_cache *cache;
  ck_assert_int_eq(laze_trace_cache_create(context, &cache, NULL), LAZE_OK);
  laze_executable *executable = new_executable(context);
  for (uint64_t i = 0; i < LAZE_TRACE_CACHE_MAX_ENTRIES + 10; i++) {
    laze_trace_cache_insert(cache, (laze_hash){i, i}, &i, 1, executable);
    uint64_t zero = 0; /* used each time, so that it stays */
    laze_executable *found = laze_trace_cache_find(cache, (laze_hash){0, 0}, &zero, 1);
    ck_assert_ptr_eq(found, executable);
    laze_executable_release(found);
  }
  uint64_t evicted = 1;
  ck_assert_ptr_null(laze_trace_cache_find(cache, (laze_hash){1, 1}, &evicted, 1));
  ck_assert_int_eq(metric(context, "cache_evictions"), 10);
  laze_executable_release(executable);
  laze_cache_destroy(cache);
  laze_context_release(context);
}
END_TEST

START_TEST(bytes_are_bounded) {
  laze_context *context = new_context();
  laze_cache *cache;
  ck_assert_int_eq(laze_trace_cache_create(context, &cache, NULL), LAZE_OK);
  laze_executable *executable = new_executable(context);
  int64_t count = LAZE_TRACE_CACHE_MAX_BYTES / (int64_t)sizeof(uint64_t);
  uint64_t *words = calloc((size_t)count, sizeof *words);
  laze_trace_cache_insert(cache, (laze_hash){1, 1}, words, count, executable); /* too large to be kept with others */
  ck_assert_int_eq(laze_cache_count(cache), 1);
  laze_trace_cache_insert(cache, (laze_hash){2, 2}, words, count / 2, executable);
  laze_trace_cache_insert(cache, (laze_hash){3, 3}, words, count / 2, executable); /* pushes the other out */
  ck_assert_int_eq(laze_cache_count(cache), 1);
  laze_executable *kept = laze_trace_cache_find(cache, (laze_hash){3, 3}, words, count / 2);
  ck_assert_ptr_eq(kept, executable);
  laze_executable_release(kept);
  free(words);
  laze_executable_release(executable);
  laze_cache_destroy(cache);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_forced_collision_does_not_match, entries_are_bounded, bytes_are_bounded};
  return run_tests("trace_cache", tests, sizeof tests / sizeof *tests);
}
