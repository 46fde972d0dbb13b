/* The header of a .npy file: a literal of Python's, of which only what NumPy writes is read.
 *
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 */
#include "runtime/npy_header.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "shape_inference/size.h"

#include <string.h>

typedef struct {
  const char *begin, *at, *end;
} cursor;

static void skip_spaces(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

/* Skips spaces and one character if it is `wanted`. */
static bool accept(cursor *c, char wanted) {
  skip_spaces(c);
  if (c->at >= c->end || *c->at != wanted) return false;
  c->at++;
  return true;
}

/* Room for a piece of foreign text in a message. */
typedef struct {
  char text[41];
} quote;

static quote quote_from(const char *at, const char *end) {
  quote q;
  size_t length = 0;
  for (; at < end && length < sizeof q.text - 1; at++) q.text[length++] = *at < ' ' || *at > '~' ? '?' : *at;
  q.text[length] = 0;
  return q;
}

static laze_status expected(const cursor *c, const char *what, laze_error *error) {
  return laze_fail(error, LAZE_DATA_LOSS, "the header has '%s' at byte %lld: expected %s",
                   quote_from(c->at, c->end).text, (long long)(c->at - c->begin), what);
}

/* Parses a quoted string without escapes. */
static laze_status parse_string(cursor *c, const char **text, int64_t *length, const char *what, laze_error *error) {
  skip_spaces(c);
  if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return expected(c, what, error);
  const char *close = memchr(c->at + 1, *c->at, (size_t)(c->end - c->at - 1));
  if (!close) return expected(c, what, error);
  *text = c->at + 1;
  *length = close - *text;
  c->at = close + 1;
  return LAZE_OK;
}

static laze_status parse_descr(cursor *c, laze_npy_header *out, laze_error *error) {
  const char *text;
  int64_t length;
  skip_spaces(c);
  if (c->at < c->end && *c->at == '[')
    return laze_fail(error, LAZE_UNSUPPORTED, "the elements are structures: save each field as an array of its own");
  LAZE_TRY(parse_string(c, &text, &length, "an element type in quotes", error));
  for (laze_dtype dtype = 0; dtype < LAZE_DTYPE_BOUND; dtype++) {
    const char *descr = laze_dtype_get(dtype)->numpy;
    if (!descr || (size_t)length != strlen(descr) || memcmp(text, descr, (size_t)length) != 0) continue;
    out->dtype = dtype;
    return LAZE_OK;
  }
  quote found = quote_from(text, text + length);
  if (length > 1 && *text == '>')
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "the elements are '%s', which is big-endian: convert with a.astype(a.dtype.newbyteorder('<')) and "
                     "save again",
                     found.text);
  return laze_fail(error, LAZE_UNSUPPORTED, "the elements are '%s': expected %s; convert with astype and save again",
                   found.text, laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_NUMPY, " or ").text);
}

static laze_status parse_fortran_order(cursor *c, laze_npy_header *out, laze_error *error) {
  skip_spaces(c);
  size_t left = (size_t)(c->end - c->at);
  out->fortran_order = left >= 4 && memcmp(c->at, "True", 4) == 0;
  if (!out->fortran_order && !(left >= 5 && memcmp(c->at, "False", 5) == 0)) return expected(c, "True or False", error);
  c->at += out->fortran_order ? 4 : 5;
  return LAZE_OK;
}

static laze_status parse_size(cursor *c, int64_t *out, laze_error *error) {
  skip_spaces(c);
  const char *begin = c->at;
  int64_t value = 0;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    if (laze_mul_overflows(value, 10, &value) || laze_add_overflows(value, *c->at - '0', &value))
      return laze_fail(error, LAZE_DATA_LOSS, "the shape has a size of more than 63 bits: '%s'",
                       quote_from(begin, c->end).text);
  }
  if (c->at == begin) return expected(c, "a size, which is not negative", error);
  if (c->at < c->end && *c->at == 'L') c->at++; /* a long integer of Python 2 */
  *out = value;
  return LAZE_OK;
}

static laze_status parse_shape(cursor *c, laze_npy_header *out, laze_error *error) {
  if (!accept(c, '(')) return expected(c, "a shape such as (3, 4)", error);
  bool comma = true;
  while (!accept(c, ')')) {
    if (!comma) return expected(c, "',' or ')' in the shape", error);
    if (out->rank == LAZE_NPY_MAX_RANK)
      return laze_fail(error, LAZE_UNSUPPORTED, "the array has more than %d axes: reshape it and save again",
                       LAZE_NPY_MAX_RANK);
    LAZE_TRY(parse_size(c, &out->dims[out->rank++], error));
    comma = accept(c, ',');
  }
  if (out->rank == 1 && !comma) return expected(c, "a shape of one size to be written (n,)", error);
  return LAZE_OK;
}

static const struct {
  const char *name;
  laze_status (*parse)(cursor *c, laze_npy_header *out, laze_error *error);
} keys[] = {{"descr", parse_descr}, {"fortran_order", parse_fortran_order}, {"shape", parse_shape}};
#define KEY_COUNT 3

static laze_status parse_item(cursor *c, bool seen[KEY_COUNT], laze_npy_header *out, laze_error *error) {
  const char *name;
  int64_t length;
  LAZE_TRY(parse_string(c, &name, &length, "a key in quotes, or '}'", error));
  for (int k = 0; k < KEY_COUNT; k++) {
    if ((size_t)length != strlen(keys[k].name) || memcmp(name, keys[k].name, (size_t)length) != 0) continue;
    if (seen[k]) return laze_fail(error, LAZE_DATA_LOSS, "the header has the key '%s' twice", keys[k].name);
    seen[k] = true;
    if (!accept(c, ':')) return expected(c, "':' behind a key", error);
    return keys[k].parse(c, out, error);
  }
  return laze_fail(error, LAZE_DATA_LOSS, "the header has the key '%s': expected descr, fortran_order and shape",
                   quote_from(name, name + length).text);
}

laze_status laze_npy_header_parse(const char *text, int64_t length, laze_npy_header *out, laze_error *error) {
  memset(out, 0, sizeof *out);
  cursor c = {text, text, text + length};
  bool seen[KEY_COUNT] = {false}, comma = true;
  if (!accept(&c, '{')) return expected(&c, "'{'", error);
  while (!accept(&c, '}')) {
    if (!comma) return expected(&c, "',' or '}'", error);
    LAZE_TRY(parse_item(&c, seen, out, error));
    comma = accept(&c, ',');
  }
  skip_spaces(&c);
  if (c.at != c.end) return expected(&c, "nothing behind '}'", error);
  for (int k = 0; k < KEY_COUNT; k++) {
    if (!seen[k]) return laze_fail(error, LAZE_DATA_LOSS, "the header lacks the key '%s'", keys[k].name);
  }
  return LAZE_OK;
}

laze_status laze_npy_count(laze_dtype dtype, int32_t rank, const int64_t *dims, int64_t *count, int64_t *bytes,
                           laze_error *error) {
  bool empty = false, fits = true;
  int64_t product = laze_dtype_size(dtype);
  for (int32_t i = 0; i < rank && fits; i++) {
    empty = empty || dims[i] == 0;
    /* Sizes beside a 0 count too: strides would not fit otherwise, nor would one be a tensor's. */
    if (dims[i] != 0) fits = !laze_mul_overflows(product, dims[i], &product) && product <= LAZE_SIZE_CONSTANT_MAX;
  }
  if (!fits) return laze_fail(error, LAZE_OUT_OF_MEMORY, "the shape asks for more than 2^62 bytes");
  *bytes = empty ? 0 : product;
  *count = *bytes / laze_dtype_size(dtype);
  return LAZE_OK;
}
