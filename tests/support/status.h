/* What a test says of a call that gives a status, and its message in a laze_error `error` that the test has. */
#ifndef LAZE_TESTS_SUPPORT_STATUS_H
#define LAZE_TESTS_SUPPORT_STATUS_H

#include "laze/status.h"

#include <check.h>
#include <string.h>

#define assert_ok(call)                                                                                                \
  do {                                                                                                                 \
    error.message[0] = 0;                                                                                              \
    const laze_status assert_status = (call);                                                                          \
    ck_assert_msg(assert_status == LAZE_OK, "%s: %s", #call, error.message);                                           \
  } while (0)

/* It fails with a message that has `part` in it: with any status, or with that one. */
#define assert_error(call, part)                                                                                       \
  do {                                                                                                                 \
    error.message[0] = 0;                                                                                              \
    ck_assert_int_ne((call), LAZE_OK);                                                                                 \
    ck_assert_msg(strstr(error.message, (part)) != NULL, "\"%s\" is not in: %s", (part), error.message);               \
  } while (0)
#define assert_fails(call, code, part)                                                                                 \
  do {                                                                                                                 \
    error.message[0] = 0;                                                                                              \
    ck_assert_int_eq((call), (code));                                                                                  \
    ck_assert_msg(strstr(error.message, (part)) != NULL, "\"%s\" is not in: %s", (part), error.message);               \
  } while (0)

#endif
