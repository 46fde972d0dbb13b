#include "base/status.h"

#include "tests/unit/base/base_test.h"

START_TEST(fail_fills_the_error) {
  laze_error error;
  ck_assert_int_eq(laze_fail(&error, LAZE_OUT_OF_RANGE, "%s: index %d", "gather", 7), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(error.code, LAZE_OUT_OF_RANGE);
  ck_assert_str_eq(error.message, "gather: index 7");
  ck_assert_int_eq(laze_fail(NULL, LAZE_IO_ERROR, "nobody listens"), LAZE_IO_ERROR);
}
END_TEST

/* A long message is cut, never overrun; a prefix keeps its beginning. */
START_TEST(long_messages_are_cut) {
  laze_error error;
  char longest[3000];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  ck_assert_int_eq(laze_fail(&error, LAZE_DATA_LOSS, "%s", longest), LAZE_DATA_LOSS);
  ck_assert_uint_eq(strlen(error.message), LAZE_ERROR_MESSAGE_SIZE - 1);
  ck_assert_int_eq(laze_error_prefix(&error, "%s", "model.lz"), LAZE_DATA_LOSS);
  ck_assert_int_eq(strncmp(error.message, "model.lz: xxx", 13), 0);
  ck_assert_uint_lt(strlen(error.message), LAZE_ERROR_MESSAGE_SIZE);
}
END_TEST

START_TEST(prefix_goes_before) {
  laze_error error;
  ck_assert_int_eq(laze_fail(&error, LAZE_NOT_FOUND, "no such file"), LAZE_NOT_FOUND);
  ck_assert_int_eq(laze_error_prefix(&error, "input %s", "x"), LAZE_NOT_FOUND);
  ck_assert_str_eq(error.message, "input x: no such file");
}
END_TEST

START_TEST(every_code_has_a_name) {
  for (laze_status code = LAZE_OK; code <= LAZE_INTERNAL; code++) ck_assert_str_ne(laze_status_name(code), "UNKNOWN");
  ck_assert_str_eq(laze_status_name(LAZE_INTERNAL + 1), "UNKNOWN");
  ck_assert_str_eq(laze_status_name(-1), "UNKNOWN");
}
END_TEST

int main(void) {
  return RUN_SUITE("status", fail_fills_the_error, long_messages_are_cut, prefix_goes_before, every_code_has_a_name);
}
