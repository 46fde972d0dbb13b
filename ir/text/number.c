/* Elements and numbers as the text form writes them (docs/ir.md): each reads back to the same bits, NaNs too. */
#include "ir/text/text_internal.h"

#include "base/real.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The element's bits, as every machine that the code is for has them: lowest byte first. */
static uint64_t element_bits(laze_dtype dtype, const void *elements, int64_t index) {
  int64_t size = laze_dtype_size(dtype);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)elements + index * size, (size_t)size);
  return bits;
}

/* "(1.0-2.0j)": NaNs have their bits, which no sign stands before. */
static void append_complex(laze_text *text, laze_dtype part, const void *elements, int64_t index) {
  double imaginary = laze_scalar_load(part, elements, 2 * index + 1).value.real;
  laze_text_append(text, "(");
  laze_text_append_element(text, part, elements, 2 * index);
  if (isnan(imaginary) || !signbit(imaginary)) laze_text_append(text, "+");
  laze_text_append_element(text, part, elements, 2 * index + 1);
  laze_text_append(text, "j)");
}

void laze_text_append_element(laze_text *text, laze_dtype dtype, const void *elements, int64_t index) {
  if (laze_dtype_is_complex(dtype)) {
    append_complex(text, laze_dtype_part(dtype), elements, index);
    return;
  }
  uint64_t bits = element_bits(dtype, elements, index);
  if (laze_dtype_is_float(dtype) && laze_dtype_is_nan(dtype, bits))
    laze_text_append_nan(text, dtype, bits);
  else
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

/* Behind "nan", which may have its bits in parentheses. */
static bool read_nan(const char **cursor, laze_dtype dtype, void *element) {
  uint64_t bits = laze_dtype_nan_bits(dtype);
  if (**cursor == '(' &&
      (!read_nan_bits(cursor, laze_dtype_get(dtype)->bits / 4, &bits) || !laze_dtype_is_nan(dtype, bits)))
    return false;
  memcpy(element, &bits, (size_t)laze_dtype_size(dtype));
  return true;
}

static bool read_real(const char **cursor, laze_dtype dtype, void *element) {
  char *end;
  if (take(cursor, "nan")) return read_nan(cursor, dtype, element);
  bool negative = **cursor == '-', infinite = take(cursor, "inf") || take(cursor, "-inf");
  double value = negative ? -INFINITY : INFINITY;
  if (!infinite) {
    if (!starts_number(*cursor)) return false;
    value = laze_real_parse(dtype, *cursor, &end);
    *cursor = end;
  }
  laze_scalar_store(laze_scalar_real(value), dtype, element, 0);
  return infinite || isfinite(value);
}

/* Two of the part's dtype, in parentheses. */
static bool read_complex(const char **cursor, laze_dtype part, void *element) {
  if (!take(cursor, "(") || !read_real(cursor, part, element)) return false;
  if (**cursor != '-' && !take(cursor, "+")) return false;
  return read_real(cursor, part, (char *)element + laze_dtype_size(part)) && take(cursor, "j)");
}

static bool read_integer(const char **cursor, laze_scalar *out) {
  char *end;
  if (!starts_number(*cursor)) return false;
  bool fits = laze_scalar_read_integer(*cursor, &end, out);
  *cursor = end;
  return fits;
}

static bool read_bool(const char **cursor, laze_scalar *out) {
  *out = laze_scalar_boolean(**cursor == 't');
  return take(cursor, "true") || take(cursor, "false");
}

static bool at_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

bool laze_text_read_element(const char **cursor, laze_dtype dtype, void *elements, int64_t index) {
  laze_scalar integer = {0};
  bool read = false;
  switch (laze_dtype_kind(dtype)) {
  case LAZE_KIND_NONE: return false;
  case LAZE_KIND_BOOL: read = read_bool(cursor, &integer); break;
  case LAZE_KIND_SIGNED:
  case LAZE_KIND_UNSIGNED: read = read_integer(cursor, &integer) && laze_dtype_holds_integer(dtype, integer); break;
  case LAZE_KIND_FLOAT:
    return read_real(cursor, dtype, (char *)elements + index * laze_dtype_size(dtype)) && !at_word(**cursor);
  case LAZE_KIND_COMPLEX:
    return read_complex(cursor, laze_dtype_part(dtype), (char *)elements + index * laze_dtype_size(dtype));
  }
  if (read) laze_scalar_store(integer, dtype, elements, index);
  return read && !at_word(**cursor);
}

bool laze_text_read_scalar(const char **cursor, laze_scalar *out) {
  const char *at = *cursor;
  double real = 0, parts[2];
  if (*at == '(') {
    if (!read_complex(&at, LAZE_F64, parts)) return false;
    *out = laze_scalar_complex(parts[0], parts[1]);
  } else if (!read_bool(&at, out) && (!read_integer(&at, out) || at_word(*at))) {
    at = *cursor;
    if (!read_real(&at, LAZE_F64, &real)) return false;
    *out = laze_scalar_real(real);
  }
  *cursor = at;
  return !at_word(*at);
}
