#include "base/cache.h"

#include "tests/unit/base/base_test.h"

typedef struct {
  int references, value;
} item;

static void retain_item(void *object) {
  ((item *)object)->references++;
}
static void release_item(void *object) {
  ((item *)object)->references--;
}
static bool has_value(void *self, void *object) {
  return ((item *)object)->value == *(int *)self;
}

static laze_cache *new_cache(laze_context *context, int64_t entries, int64_t bytes) {
  const laze_cache_options options = {entries, bytes, retain_item, release_item};
  laze_cache *cache;
  ck_assert_int_eq(laze_cache_create(context, &options, &cache, NULL), LAZE_OK);
  return cache;
}

static laze_hash key_of(int64_t number) {
  return (laze_hash){(uint64_t)number, 7};
}

/* Two objects may share a key; `match` decides, so that a collision gives no wrong hit. */
START_TEST(match_tells_equal_keys_apart) {
  laze_context *context = new_context("");
  laze_cache *cache = new_cache(context, 8, 100);
  item items[2] = {{1, 10}, {1, 20}};
  int wanted = 10, absent = 30;
  laze_cache_insert(cache, key_of(1), &items[0], 1);
  laze_cache_insert(cache, key_of(1), &items[1], 1);
  ck_assert_ptr_eq(laze_cache_find(cache, key_of(1), has_value, &wanted), &items[0]);
  ck_assert_ptr_null(laze_cache_find(cache, key_of(1), has_value, &absent));
  ck_assert_ptr_null(laze_cache_find(cache, key_of(2), NULL, NULL));
  ck_assert_int_eq(items[0].references, 3); /* ours, the cache's, and the one found */
  laze_cache_destroy(cache);
  ck_assert_int_eq(items[0].references, 2);
  ck_assert_int_eq(items[1].references, 1);
  laze_context_release(context);
}
END_TEST

/* A long-running program must not grow: the least recently used goes, and what is used stays. */
START_TEST(the_oldest_goes_first) {
  laze_context *context = new_context("");
  laze_cache *cache = new_cache(context, 100, 1000);
  enum { COUNT = 1000 };
  static item items[COUNT];
  for (int i = 0; i < COUNT; i++) {
    items[i] = (item){1, i};
    laze_cache_insert(cache, key_of(i), &items[i], 1);
    ck_assert_ptr_eq(laze_cache_find(cache, key_of(0), NULL, NULL), &items[0]);
    release_item(&items[0]);
  }
  ck_assert_int_eq(laze_cache_count(cache), 100);
  ck_assert_ptr_null(laze_cache_find(cache, key_of(COUNT - 100), NULL, NULL));
  ck_assert_ptr_nonnull(laze_cache_find(cache, key_of(COUNT - 99), NULL, NULL));
  int64_t evicted;
  ck_assert_int_eq(laze_metric_read(context, "cache_evictions", &evicted, NULL), LAZE_OK);
  ck_assert_int_eq(evicted, COUNT - 100);
  laze_cache_destroy(cache);
  laze_context_release(context);
}
END_TEST

/* One large object pushes out as many as it needs room for; one that is larger than the cache is alone in it, for a
 * loop over one large graph must not compile it each time. */
START_TEST(bytes_are_bounded) {
  laze_context *context = new_context("");
  laze_cache *cache = new_cache(context, 100, 10);
  item items[4] = {{1, 0}, {1, 1}, {1, 2}, {1, 3}};
  for (int i = 0; i < 3; i++) laze_cache_insert(cache, key_of(i), &items[i], 4);
  ck_assert_int_eq(laze_cache_count(cache), 2);
  laze_cache_insert(cache, key_of(3), &items[3], 11);
  ck_assert_int_eq(laze_cache_count(cache), 1);
  ck_assert_int_eq(items[3].references, 2);
  laze_cache_insert(cache, key_of(0), &items[0], 4);
  ck_assert_int_eq(laze_cache_count(cache), 1);
  ck_assert_int_eq(items[3].references, 1);
  laze_cache_destroy(cache);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(items[i].references, 1);
  laze_context_release(context);
}
END_TEST

int main(void) {
  return RUN_SUITE("cache", match_tells_equal_keys_apart, the_oldest_goes_first, bytes_are_bounded);
}
