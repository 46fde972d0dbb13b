/* Writing messages into a laze_error, which holds them by value: nothing here allocates, so that reporting works when
 * memory is out. */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

static const char *const status_names[] = {
    [LAZE_OK] = "OK",
    [LAZE_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
    [LAZE_OUT_OF_RANGE] = "OUT_OF_RANGE",
    [LAZE_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
    [LAZE_NOT_FOUND] = "NOT_FOUND",
    [LAZE_UNSUPPORTED] = "UNSUPPORTED",
    [LAZE_IO_ERROR] = "IO_ERROR",
    [LAZE_DATA_LOSS] = "DATA_LOSS",
    [LAZE_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
    [LAZE_INTERNAL] = "INTERNAL",
    [LAZE_CANCELLED] = "CANCELLED",
    [LAZE_OVERFLOW] = "OVERFLOW",
};

const char *laze_status_name(laze_status code) {
  if (code < 0 || (size_t)code >= sizeof status_names / sizeof *status_names) return "UNKNOWN";
  return status_names[code];
}

laze_status laze_fail_v(laze_error *error, laze_status code, const char *format, va_list arguments) {
  if (error) {
    error->code = code;
    vsnprintf(error->message, sizeof error->message, format, arguments);
  }
  return code;
}

laze_status laze_fail(laze_error *error, laze_status code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  laze_status status = laze_fail_v(error, code, format, arguments);
  va_end(arguments);
  return status;
}

laze_status laze_fail_memory(laze_error *error, const char *what, int64_t size) {
  if (size <= 0) return laze_fail(error, LAZE_OUT_OF_MEMORY, "out of memory for %s", what);
  return laze_fail(error, LAZE_OUT_OF_MEMORY, "out of memory: %s needs %lld bytes", what, (long long)size);
}

laze_status laze_error_prefix(laze_error *error, const char *format, ...) {
  if (!error) return LAZE_INTERNAL;
  char prefix[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(prefix, sizeof prefix, format, arguments);
  va_end(arguments);
  size_t length = strlen(prefix), kept = strlen(error->message), room = sizeof error->message - length - 3;
  if (kept > room) kept = room;
  memmove(error->message + length + 2, error->message, kept);
  memcpy(error->message, prefix, length);
  memcpy(error->message + length, ": ", 2);
  error->message[length + 2 + kept] = 0;
  return error->code;
}

void laze_error_name(laze_error *error, const char *name) {
  if (!error) return;
  size_t length = strlen(name);
  if (strncmp(error->message, name, length) != 0 || error->message[length] != ':')
    (void)laze_error_prefix(error, "%s", name);
}
