#include "base/arena.h"

#include "tests/unit/base/base_test.h"

/* Graph nodes of every size live side by side: they must not overlap and must be aligned for any type. */
START_TEST(allocations_are_aligned_and_apart) {
  laze_context *context = new_context("");
  laze_arena arena;
  laze_arena_init(&arena, context);
  char *previous = NULL;
  for (int64_t size = 0; size < 3000; size += 7) {
    char *memory = laze_arena_alloc(&arena, size);
    ck_assert_ptr_nonnull(memory);
    ck_assert_int_eq((intptr_t)memory % 16, 0);
    memset(memory, (int)size & 127, (size_t)size);
    if (previous && size > 7) ck_assert_int_eq(previous[0], (size - 7) & 127);
    previous = memory;
  }
  laze_arena_deinit(&arena);
  laze_context_release(context);
}
END_TEST

/* A file may ask for anything: sizes that do not fit are NULL, not a small block. */
START_TEST(impossible_sizes_are_refused) {
  laze_context *context = new_context("");
  laze_arena arena;
  laze_arena_init(&arena, context);
  ck_assert_ptr_null(laze_arena_alloc(&arena, -1));
  ck_assert_ptr_null(laze_arena_alloc(&arena, INT64_MAX));
  ck_assert_ptr_null(laze_arena_alloc(&arena, INT64_MAX - 40));
  ck_assert_ptr_null(laze_arena_alloc_array(&arena, INT64_C(1) << 60, 16));
  ck_assert_ptr_nonnull(laze_arena_alloc(&arena, 16));
  laze_arena_deinit(&arena);
  laze_context_release(context);
}
END_TEST

/* What is larger than a block gets one of its own, and later small allocations still work. */
START_TEST(large_blocks_do_not_disturb) {
  laze_context *context = new_context("");
  laze_arena arena;
  laze_arena_init(&arena, context);
  char *small = laze_arena_copy(&arena, "small", 6), *large = laze_arena_alloc_zero(&arena, 5 << 20);
  char *text = laze_arena_format(&arena, "%s %d", "text", 42);
  ck_assert_str_eq(small, "small");
  ck_assert_int_eq(large[(5 << 20) - 1], 0);
  ck_assert_str_eq(text, "text 42");
  ck_assert_int_ge(arena.bytes, 5 << 20);
  laze_arena_deinit(&arena);
  ck_assert_int_eq(arena.bytes, 0);
  laze_context_release(context);
}
END_TEST

int main(void) {
  return RUN_SUITE("arena", allocations_are_aligned_and_apart, impossible_sizes_are_refused,
                   large_blocks_do_not_disturb);
}
