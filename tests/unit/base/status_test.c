#include "base/status.h"

#include "tests/unit/base/base_test.h"

#include <stdio.h>

START_TEST(fail_fills_the_error) {
  laze_error error;
  ck_assert_int_eq(laze_fail(&error, LAZE_OUT_OF_RANGE, "%s: index %d", "gather", 7), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(error.code, LAZE_OUT_OF_RANGE);
  ck_assert_str_eq(error.message, "gather: index 7");
  ck_assert_int_eq(laze_fail(NULL, LAZE_IO_ERROR, "nobody listens"), LAZE_IO_ERROR);
}
END_TEST

/* The message that is `prefix` and as much of x's as are asked for, at most what fits. */
static const char *message_of(const char *prefix, size_t count) {
  static char expected[LAZE_ERROR_MESSAGE_SIZE];
  size_t length = strlen(prefix), room = sizeof expected - 1 - length;
  memset(expected, 0, sizeof expected);
  memcpy(expected, prefix, length);
  memset(expected + length, 'x', count < room ? count : room);
  return expected;
}

/* A long message is cut, never overrun; a prefix keeps its beginning. What lies behind the error shows a byte too many:
 * strlen() of the message alone would not, since compilers know that it cannot be longer than its array. */
START_TEST(long_messages_are_cut) {
  struct {
    laze_error error;
    char behind[8];
  } guarded;
  char longest[3000];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  memset(&guarded, '#', sizeof guarded);
  ck_assert_int_eq(laze_fail(&guarded.error, LAZE_DATA_LOSS, "%s", longest), LAZE_DATA_LOSS);
  ck_assert_int_eq(memcmp(guarded.error.message, message_of("", sizeof longest), LAZE_ERROR_MESSAGE_SIZE), 0);
  ck_assert_int_eq(laze_error_prefix(&guarded.error, "%s", "model.lz"), LAZE_DATA_LOSS);
  ck_assert_int_eq(memcmp(guarded.error.message, message_of("model.lz: ", sizeof longest), LAZE_ERROR_MESSAGE_SIZE), 0);
  /* One that fits to the byte is kept whole. */
  const size_t fitting = LAZE_ERROR_MESSAGE_SIZE - 1 - strlen("ab: ");
  longest[fitting] = 0;
  ck_assert_int_eq(laze_fail(&guarded.error, LAZE_DATA_LOSS, "%s", longest), LAZE_DATA_LOSS);
  ck_assert_int_eq(laze_error_prefix(&guarded.error, "%s", "ab"), LAZE_DATA_LOSS);
  ck_assert_int_eq(memcmp(guarded.error.message, message_of("ab: ", fitting), LAZE_ERROR_MESSAGE_SIZE), 0);
  ck_assert_int_eq(memcmp(guarded.behind, "########", sizeof guarded.behind), 0);
}
END_TEST

/* A prefix has room for 255 bytes: the rest of it goes, the message stays. */
START_TEST(long_prefixes_are_cut) {
  laze_error error;
  char prefix[400], expected[400];
  memset(prefix, 'p', sizeof prefix - 1);
  prefix[sizeof prefix - 1] = 0;
  snprintf(expected, sizeof expected, "%.255s: no such file", prefix);
  ck_assert_int_eq(laze_fail(&error, LAZE_NOT_FOUND, "no such file"), LAZE_NOT_FOUND);
  ck_assert_int_eq(laze_error_prefix(&error, "%s", prefix), LAZE_NOT_FOUND);
  ck_assert_str_eq(error.message, expected);
}
END_TEST

START_TEST(prefix_goes_before) {
  laze_error error;
  ck_assert_int_eq(laze_fail(&error, LAZE_NOT_FOUND, "no such file"), LAZE_NOT_FOUND);
  ck_assert_int_eq(laze_error_prefix(&error, "input %s", "x"), LAZE_NOT_FOUND);
  ck_assert_str_eq(error.message, "input x: no such file");
}
END_TEST

/* A name is put before a message once, also where another name only begins like it; nobody has to listen. */
START_TEST(a_name_is_given_once) {
  laze_error error;
  ck_assert_int_eq(laze_fail(&error, LAZE_NOT_FOUND, "gather: no such axis"), LAZE_NOT_FOUND);
  laze_error_name(&error, "gather");
  ck_assert_str_eq(error.message, "gather: no such axis");
  laze_error_name(&error, "gat");
  ck_assert_str_eq(error.message, "gat: gather: no such axis");
  laze_error_name(NULL, "gather");
  ck_assert_int_eq(laze_error_prefix(NULL, "gather"), LAZE_INTERNAL);
}
END_TEST

START_TEST(memory_says_how_much) {
  laze_error error;
  ck_assert_int_eq(laze_fail_memory(&error, "a table", 24), LAZE_OUT_OF_MEMORY);
  ck_assert_str_eq(error.message, "out of memory: a table needs 24 bytes");
  for (int64_t unknown = -1; unknown <= 0; unknown++) { /* "needs 0 bytes" would be no reason */
    ck_assert_int_eq(laze_fail_memory(&error, "a table", unknown), LAZE_OUT_OF_MEMORY);
    ck_assert_str_eq(error.message, "out of memory for a table");
  }
}
END_TEST

START_TEST(every_code_has_a_name) {
  for (laze_status code = LAZE_OK; code <= LAZE_OVERFLOW; code++) ck_assert_str_ne(laze_status_name(code), "UNKNOWN");
  ck_assert_str_eq(laze_status_name(LAZE_OVERFLOW + 1), "UNKNOWN");
  ck_assert_str_eq(laze_status_name(-1), "UNKNOWN");
}
END_TEST

int main(void) {
  return RUN_SUITE("status", fail_fills_the_error, long_messages_are_cut, long_prefixes_are_cut, prefix_goes_before,
                   a_name_is_given_once, memory_says_how_much, every_code_has_a_name);
}
