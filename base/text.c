/* Text that grows, and numbers in it in the shortest form that reads back to the same bits. */
#include "base/text.h"

#include "base/dtype.h"
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

void laze_text_append_nan(laze_text *text, laze_dtype dtype, uint64_t bits) {
  if (bits == laze_dtype_nan_bits(dtype))
    laze_text_append(text, "nan");
  else
    laze_text_format(text, "nan(0x%0*llx)", laze_dtype_get(dtype)->bits / 4, (unsigned long long)bits);
}

/* Widening a NaN keeps its sign and puts its payload at the top, so the bits in the dtype are read off the double. */
static uint64_t narrow_nan(laze_dtype dtype, double value) {
  const laze_dtype_info *from = laze_dtype_get(LAZE_F64), *to = laze_dtype_get(dtype);
  uint64_t bits, payload = (UINT64_C(1) << (from->digits - 1)) - 1;
  memcpy(&bits, &value, sizeof bits);
  return bits >> (from->bits - 1) << (to->bits - 1) | laze_dtype_infinity_bits(dtype) |
         (bits & payload) >> (from->digits - to->digits);
}

static double rounded(laze_dtype dtype, double value) {
  double element = 0;
  laze_scalar_store(laze_scalar_real(value), dtype, &element, 0);
  return laze_scalar_load(dtype, &element, 0).value.real;
}

static void append_real(laze_text *text, laze_dtype dtype, double value) {
  char digits[40];
  if (isnan(value)) {
    laze_text_append_nan(text, dtype, narrow_nan(dtype, value));
    return;
  }
  if (isinf(value)) {
    laze_text_append(text, value < 0 ? "-inf" : "inf");
    return;
  }
  for (int precision = 1; precision <= 17; precision++) {
    laze_real_format(digits, sizeof digits, 'g', precision, value);
    if (laze_real_parse(dtype, digits, NULL) == rounded(dtype, value)) break;
  }
  laze_text_append(text, digits);
  if (!strpbrk(digits, ".e")) laze_text_append(text, ".0");
}

void laze_text_append_scalar(laze_text *text, laze_dtype dtype, laze_scalar value) {
  switch (laze_dtype_kind(value.dtype)) {
  case LAZE_KIND_NONE: break;
  case LAZE_KIND_BOOL: laze_text_append(text, value.value.integer ? "true" : "false"); break;
  case LAZE_KIND_SIGNED: laze_text_format(text, "%lld", (long long)value.value.integer); break;
  case LAZE_KIND_UNSIGNED: laze_text_format(text, "%llu", (unsigned long long)value.value.integer); break;
  case LAZE_KIND_FLOAT: append_real(text, dtype, value.value.real); break;
  case LAZE_KIND_COMPLEX:
    laze_text_append(text, "(");
    append_real(text, laze_dtype_part(dtype), value.value.real);
    laze_text_append(text, signbit(value.imaginary) || isnan(value.imaginary) ? "" : "+");
    append_real(text, laze_dtype_part(dtype), value.imaginary);
    laze_text_append(text, "j)");
    break;
  }
}

laze_status laze_text_give(const laze_text *from, char *text, size_t size, size_t *needed, laze_error *error) {
  LAZE_TRY(laze_text_check(from, error));
  const size_t whole = (size_t)from->size, cut = size == 0 ? 0 : whole < size ? whole : size - 1;
  if (size > 0) {
    memcpy(text, laze_text_get(from), cut);
    text[cut] = 0;
  }
  if (needed) *needed = whole;
  return LAZE_OK;
}
