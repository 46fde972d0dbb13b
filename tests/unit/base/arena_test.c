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

/* What was taken from an arena that another adopts stays where it is and goes with the other one; both go on. */
static void adopt(int64_t before, int64_t after) {
  laze_context *context = new_context("");
  laze_arena arena, other;
  laze_arena_init(&arena, context);
  laze_arena_init(&other, context);
  char *mine = before ? memset(laze_arena_alloc(&arena, before), 'm', (size_t)before) : NULL;
  char *theirs = after ? memset(laze_arena_alloc(&other, after), 't', (size_t)after) : NULL;
  int64_t bytes = arena.bytes + other.bytes;
  laze_arena_adopt(&arena, &other);
  ck_assert_int_eq(arena.bytes, bytes);
  ck_assert_int_eq(other.bytes, 0);
  for (int i = 0; i < 300; i++) {
    memset(laze_arena_alloc(&arena, 40), 'a', 40);
    memset(laze_arena_alloc(&other, 40), 'o', 40);
  }
  for (int64_t i = 0; i < before; i++) ck_assert_int_eq(mine[i], 'm');
  for (int64_t i = 0; i < after; i++) ck_assert_int_eq(theirs[i], 't');
  laze_arena_deinit(&other);
  for (int64_t i = 0; i < after; i++) ck_assert_int_eq(theirs[i], 't');
  laze_arena_deinit(&arena);
  laze_context_release(context);
}

START_TEST(adopted_memory_stays) {
  adopt(0, 0);
  adopt(100, 0);
  adopt(0, 100);
  adopt(100, 100);
  adopt(10000, 20000);
  adopt(20000, 100);
}
END_TEST

static int64_t blocks_taken;

static void *count_allocate(void *self, size_t size) {
  (void)self;
  blocks_taken++;
  return malloc(size);
}
static void count_release(void *self, void *memory) {
  (void)self;
  blocks_taken--;
  free(memory);
}

/* Blocks of an arena, once the given sizes have been taken from it. */
static int64_t blocks_for(const char *debug, const int64_t *sizes, int count) {
  laze_allocator allocator = {count_allocate, count_release, NULL};
  laze_context_options options = {
      .struct_size = sizeof options, .debug = debug, .cache_directory = "", .threads = 1, .allocator = &allocator};
  laze_context *context;
  laze_arena arena;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  int64_t before = blocks_taken;
  laze_arena_init(&arena, context);
  for (int i = 0; i < count; i++) ck_assert_ptr_nonnull(laze_arena_alloc(&arena, sizes[i]));
  int64_t blocks = blocks_taken - before;
  laze_arena_deinit(&arena);
  ck_assert_int_eq(blocks_taken, before);
  laze_context_release(context);
  return blocks;
}

/* Few blocks, as large as the arena has grown so far; one for each request where arenas are switched off, which is what
 * makes tools and tests see each. */
START_TEST(blocks_grow_unless_switched_off) {
  enum { COUNT = 1000 };
  int64_t sizes[COUNT];
  for (int i = 0; i < COUNT; i++) sizes[i] = 96;
  ck_assert_int_eq(blocks_for("", sizes, 10), 1); /* 1024 bytes with the header */
  ck_assert_int_eq(blocks_for("", sizes, 11), 2);
  ck_assert_int_eq(blocks_for("", sizes, 20), 2);
  ck_assert_int_eq(blocks_for("", sizes, 21), 3);
  ck_assert_int_eq(blocks_for("", sizes, COUNT), 8); /* 1, 1, 2, 4, ..., 32 and 64 KiB */
  ck_assert_int_eq(blocks_for("noarenas", sizes, COUNT), COUNT);
  const int64_t large[] = {5 << 20, 600 << 10, 600 << 10, 300 << 10};
  ck_assert_int_eq(blocks_for("", large, 4), 3); /* no block is larger than 1 MiB unless one request is */
}
END_TEST

int main(void) {
  return RUN_SUITE("arena", allocations_are_aligned_and_apart, impossible_sizes_are_refused,
                   large_blocks_do_not_disturb, adopted_memory_stays, blocks_grow_unless_switched_off);
}
