#include "ir/text/text_internal.h"

#include "base/real.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t f32_nan = 0x7fc00000u;
static const uint64_t f64_nan = 0x7ff8000000000000u;

static bool is_f32_nan(uint32_t bits) {
  return (bits & 0x7fffffffu) > 0x7f800000u;
}
static bool is_f64_nan(uint64_t bits) {
  return (bits & ~(UINT64_C(1) << 63)) > UINT64_C(0x7ff0000000000000);
}

/* NaNs are printed from their bits: widening f32 to f64 would set the quiet bit of a signalling one. */
static bool append_nan(laze_text *text, laze_dtype dtype, const void *elements, int64_t index) {
  if (dtype == LAZE_F32) {
    uint32_t bits;
    memcpy(&bits, (const char *)elements + index * 4, sizeof bits);
    if (is_f32_nan(bits) && bits == f32_nan)
      laze_text_append(text, "nan");
    else if (is_f32_nan(bits))
      laze_text_format(text, "nan(0x%08x)", (unsigned)bits);
    return is_f32_nan(bits);
  }
  uint64_t bits;
  memcpy(&bits, (const char *)elements + index * 8, sizeof bits);
  if (is_f64_nan(bits) && bits == f64_nan)
    laze_text_append(text, "nan");
  else if (is_f64_nan(bits))
    laze_text_format(text, "nan(0x%016llx)", (unsigned long long)bits);
  return is_f64_nan(bits);
}

void laze_text_append_element(laze_text *text, laze_dtype dtype, const void *elements, int64_t index) {
  if (laze_dtype_is_float(dtype) && append_nan(text, dtype, elements, index)) return;
  laze_text_append_scalar(text, dtype, laze_scalar_load(dtype, elements, index));
}

static bool take(const char **cursor, const char *word) {
  size_t length = strlen(word);
  if (strncmp(*cursor, word, length) != 0) return false;
  *cursor += length;
  return true;
}

/* Only what the specification names: strtod alone would take hexadecimal, "infinity" and leading space. */
static bool starts_number(const char *at) {
  if (*at == '-') at++;
  return *at >= '0' && *at <= '9' && !(at[0] == '0' && (at[1] == 'x' || at[1] == 'X'));
}

static bool read_nan_bits(const char **cursor, int digits, uint64_t *bits) {
  if (!take(cursor, "(0x")) return false;
  size_t length = strspn(*cursor, "0123456789abcdefABCDEF");
  if (length != (size_t)digits || (*cursor)[length] != ')') return false;
  *bits = strtoull(*cursor, NULL, 16);
  *cursor += length + 1;
  return true;
}

static bool read_f32(const char **cursor, float *out) {
  uint64_t payload = f32_nan;
  if (take(cursor, "nan")) {
    if (**cursor == '(' && (!read_nan_bits(cursor, 8, &payload) || !is_f32_nan((uint32_t)payload))) return false;
    uint32_t bits = (uint32_t)payload;
    memcpy(out, &bits, sizeof bits);
    return true;
  }
  char *end;
  bool negative = **cursor == '-', infinite = take(cursor, "inf") || take(cursor, "-inf");
  if (infinite) *out = negative ? -INFINITY : INFINITY;
  if (infinite || !starts_number(*cursor)) return infinite;
  *out = laze_real_parse_f32(*cursor, &end);
  *cursor = end;
  return isfinite(*out);
}

static bool read_f64(const char **cursor, double *out) {
  uint64_t bits = f64_nan;
  if (take(cursor, "nan")) {
    if (**cursor == '(' && (!read_nan_bits(cursor, 16, &bits) || !is_f64_nan(bits))) return false;
    memcpy(out, &bits, sizeof bits);
    return true;
  }
  char *end;
  bool negative = **cursor == '-', infinite = take(cursor, "inf") || take(cursor, "-inf");
  if (infinite) *out = negative ? -INFINITY : INFINITY;
  if (infinite || !starts_number(*cursor)) return infinite;
  *out = laze_real_parse_f64(*cursor, &end);
  *cursor = end;
  return isfinite(*out);
}

static bool read_integer(const char **cursor, int64_t low, int64_t high, int64_t *out) {
  char *end;
  if (!starts_number(*cursor)) return false;
  errno = 0;
  *out = strtoll(*cursor, &end, 10);
  bool fits = errno == 0 && *out >= low && *out <= high;
  *cursor = end;
  return fits;
}

static bool read_bool(const char **cursor, int64_t *out) {
  *out = **cursor == 't';
  return take(cursor, "true") || take(cursor, "false");
}

static bool at_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

bool laze_text_read_element(const char **cursor, laze_dtype dtype, void *elements, int64_t index) {
  char *element = (char *)elements + index * laze_dtype_size(dtype);
  int64_t integer;
  bool read;
  if (dtype == LAZE_F32 || dtype == LAZE_F64) {
    read = dtype == LAZE_F32 ? read_f32(cursor, (float *)(void *)element) : read_f64(cursor, (double *)(void *)element);
  } else {
    read = dtype == LAZE_BOOL  ? read_bool(cursor, &integer)
           : dtype == LAZE_I32 ? read_integer(cursor, INT32_MIN, INT32_MAX, &integer)
                               : read_integer(cursor, INT64_MIN, INT64_MAX, &integer);
    if (read) laze_scalar_store(laze_scalar_integer(integer), dtype, elements, index);
  }
  return read && !at_word(**cursor);
}

bool laze_text_read_scalar(const char **cursor, laze_scalar *out) {
  const char *at = *cursor;
  int64_t integer = 0;
  double real = 0;
  if (read_bool(&at, &integer)) {
    *out = laze_scalar_boolean(integer != 0);
  } else if (read_integer(&at, INT64_MIN, INT64_MAX, &integer) && !at_word(*at)) {
    *out = laze_scalar_integer(integer);
  } else {
    at = *cursor;
    if (!read_f64(&at, &real)) return false;
    *out = laze_scalar_real(real);
  }
  *cursor = at;
  return !at_word(*at);
}
