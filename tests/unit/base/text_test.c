#include "base/text.h"

#include "tests/unit/base/base_test.h"

#include <math.h>

static void assert_scalar(laze_dtype dtype, double value, const char *expected) {
  laze_context *context = new_context("");
  laze_text text;
  laze_text_init(&text, context);
  laze_text_append_scalar(&text, dtype, laze_scalar_real(value));
  ck_assert_str_eq(laze_text_get(&text), expected);
  laze_text_deinit(&text);
  laze_context_release(context);
}

/* Constants in graph files must read back to the same bits, and be as short as that allows. */
START_TEST(numbers_are_shortest) {
  assert_scalar(LAZE_F32, 0.1f, "0.1");
  assert_scalar(LAZE_F64, 0.1, "0.1");
  assert_scalar(LAZE_F64, (double)0.1f, "0.10000000149011612");
  assert_scalar(LAZE_F32, 1.0, "1.0");
  assert_scalar(LAZE_F32, -0.0, "-0.0");
  assert_scalar(LAZE_F32, 1e30f, "1e+30");
  assert_scalar(LAZE_F32, INFINITY, "inf");
  assert_scalar(LAZE_F64, -INFINITY, "-inf");
  assert_scalar(LAZE_F32, 1e-45f, "1e-45");
}
END_TEST

/* A NaN's sign and payload are bits like others. */
START_TEST(nans_keep_their_bits) {
  uint32_t bits = 0xffc00123u;
  float value;
  memcpy(&value, &bits, sizeof value);
  assert_scalar(LAZE_F32, value, "nan(0xffc00123)");
  uint64_t default_bits = 0x7ff8000000000000u;
  double default_nan;
  memcpy(&default_nan, &default_bits, sizeof default_nan);
  assert_scalar(LAZE_F64, default_nan, "nan");
}
END_TEST

START_TEST(text_grows) {
  laze_context *context = new_context("");
  laze_text text;
  laze_text_init(&text, context);
  ck_assert_str_eq(laze_text_get(&text), "");
  for (int i = 0; i < 1000; i++) laze_text_format(&text, "%d,", i % 10);
  ck_assert_int_eq(text.size, 2000);
  ck_assert_int_eq(laze_text_check(&text, NULL), LAZE_OK);
  laze_text_deinit(&text);
  laze_context_release(context);
}
END_TEST

static void *refuse(void *self, size_t size) {
  int *left = self;
  return (*left)-- > 0 ? malloc(size) : NULL;
}
static void give_back(void *self, void *memory) {
  (void)self;
  free(memory);
}

/* Printers append without looking; running out of memory shows once, at the end. */
START_TEST(out_of_memory_shows_at_the_end) {
  int left = 2; /* the context and the first block */
  laze_allocator allocator = {refuse, give_back, &left};
  laze_context_options options = {
      .struct_size = sizeof options, .allocator = &allocator, .debug = "", .cache_directory = "", .threads = 1};
  laze_context *context;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  laze_text text;
  laze_text_init(&text, context);
  for (int i = 0; i < 1000; i++) laze_text_append(&text, "more and more");
  ck_assert_int_eq(laze_text_check(&text, NULL), LAZE_OUT_OF_MEMORY);
  laze_text_deinit(&text);
  laze_context_release(context);
}
END_TEST

/* A character that the locale has no bytes for: what was not printed must not count as printed. */
START_TEST(what_cannot_be_printed_shows_at_the_end) {
  static const wchar_t nowhere[] = {0x20ac, 0};
  laze_context *context = new_context("");
  laze_text text;
  laze_text_init(&text, context);
  laze_text_append(&text, "costs ");
  laze_text_format(&text, "%ls", nowhere);
  ck_assert_int_eq(text.size, 6);
  ck_assert_int_eq(laze_text_check(&text, NULL), LAZE_OUT_OF_MEMORY);
  laze_text_deinit(&text);
  laze_context_release(context);
}
END_TEST

int main(void) {
  return RUN_SUITE("text", numbers_are_shortest, nans_keep_their_bits, text_grows, out_of_memory_shows_at_the_end,
                   what_cannot_be_printed_shows_at_the_end);
}
