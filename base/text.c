#include "base/text.h"

#include "base/real.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void laze_text_init(laze_text *text, laze_context *context) {
  memset(text, 0, sizeof *text);
  text->context = context;
}

void laze_text_deinit(laze_text *text) {
  laze_free(text->context, text->data);
  laze_text_init(text, text->context);
}

static bool reserve(laze_text *text, int64_t more) {
  if (text->failed) return false;
  if (laze_grow(text->context, (void **)&text->data, &text->capacity, text->size + more + 1, 1, NULL) != LAZE_OK)
    text->failed = true;
  return !text->failed;
}

void laze_text_append_bytes(laze_text *text, const char *data, int64_t size) {
  if (!reserve(text, size)) return;
  memcpy(text->data + text->size, data, (size_t)size);
  text->size += size;
  text->data[text->size] = 0;
}

void laze_text_append(laze_text *text, const char *string) {
  laze_text_append_bytes(text, string, (int64_t)strlen(string));
}

void laze_text_format(laze_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) text->failed = true;
  if (length < 0 || !reserve(text, length)) return;
  va_start(arguments, format);
  vsnprintf(text->data + text->size, (size_t)length + 1, format, arguments);
  va_end(arguments);
  text->size += length;
}

const char *laze_text_get(const laze_text *text) {
  return text->data ? text->data : "";
}

laze_status laze_text_check(const laze_text *text, laze_error *error) {
  return text->failed ? laze_fail_memory(error, "printed text", -1) : LAZE_OK;
}

static void append_nan(laze_text *text, laze_dtype dtype, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (bits == 0x7ff8000000000000u)
    laze_text_append(text, "nan");
  else if (dtype == LAZE_F32)
    /* Widening keeps sign and payload, so the f32 pattern is read off the f64 one. */
    laze_text_format(text, "nan(0x%08x)",
                     (unsigned)((bits >> 32 & 0x80000000u) | 0x7f800000u | (bits >> 29 & 0x007fffffu)));
  else
    laze_text_format(text, "nan(0x%016llx)", (unsigned long long)bits);
}

static void append_real(laze_text *text, laze_dtype dtype, double value) {
  char digits[40];
  if (isnan(value)) {
    append_nan(text, dtype, value);
    return;
  }
  if (isinf(value)) {
    laze_text_append(text, value < 0 ? "-inf" : "inf");
    return;
  }
  for (int precision = 1; precision <= 17; precision++) {
    laze_real_format(digits, sizeof digits, precision, value);
    if (dtype == LAZE_F32 ? laze_real_parse_f32(digits, NULL) == (float)value
                          : laze_real_parse_f64(digits, NULL) == value)
      break;
  }
  laze_text_append(text, digits);
  if (!strpbrk(digits, ".e")) laze_text_append(text, ".0");
}

void laze_text_append_scalar(laze_text *text, laze_dtype dtype, laze_scalar value) {
  if (value.dtype == LAZE_F64)
    append_real(text, dtype, value.value.real);
  else if (value.dtype == LAZE_BOOL)
    laze_text_append(text, value.value.integer ? "true" : "false");
  else
    laze_text_format(text, "%lld", (long long)value.value.integer);
}
