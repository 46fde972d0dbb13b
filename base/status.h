/* Building and passing on errors. See `laze/status.h` for what callers see, and docs/architecture.md ("What can go
 * wrong") for where something else than a status says it. */
#ifndef LAZE_BASE_STATUS_H
#define LAZE_BASE_STATUS_H

#include "laze/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Leaves the enclosing function with the status of `expression` unless it is LAZE_OK. Only where nothing needs
 * cleaning up: owners are arenas or the caller's. */
#define LAZE_TRY(expression)                                                                                           \
  do {                                                                                                                 \
    laze_status laze_try_status = (expression);                                                                        \
    if (laze_try_status != LAZE_OK) return laze_try_status;                                                            \
  } while (0)

/* Writes code and formatted message into `error` (which may be NULL) and returns `code`, so that a failing function
 * ends with `return laze_fail(error, ...)`. A message names the operator or file, the values, what was expected and
 * what to do. */
LAZE_MUST_USE laze_status laze_fail(laze_error *error, laze_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
LAZE_MUST_USE laze_status laze_fail_v(laze_error *error, laze_status code, const char *format, va_list arguments);

/* The error for an allocation of `size` bytes that failed while doing `what`. 0 or negative: not known. */
LAZE_MUST_USE laze_status laze_fail_memory(laze_error *error, const char *what, int64_t size);

/* Puts formatted text and ": " before the message that `error` holds, keeping its code; returns the code. For callers
 * that know the file or operator a deeper layer does not. */
laze_status laze_error_prefix(laze_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Puts the operator's name and ": " before the message, unless it begins with them. `error` may be NULL. */
void laze_error_name(laze_error *error, const char *name);

#endif
