/* Elements written on the command line: "1,2.5,-inf", one value for all, or a way to make them. */
#include "tools/lazec/lazec.h"

#include "base/dtype.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at) {
  return at + strspn(at, " \t\n");
}

static bool read_real(const char **cursor, laze_dtype dtype, void *data, int64_t index) {
  char *end;
  /* Straight to the dtype: through f64, an f32 would be rounded twice. Too large becomes infinite, as in C. */
  if (dtype == LAZE_F32)
    ((float *)data)[index] = strtof(*cursor, &end);
  else
    ((double *)data)[index] = strtod(*cursor, &end);
  bool read = end != *cursor;
  *cursor = end;
  return read;
}

static bool read_integer(const char **cursor, laze_dtype dtype, void *data, int64_t index) {
  char *end;
  errno = 0;
  long long value = strtoll(*cursor, &end, 10);
  bool read = end != *cursor && errno == 0;
  if (dtype == LAZE_I32) read = read && value >= INT32_MIN && value <= INT32_MAX;
  if (dtype == LAZE_BOOL) read = read && (value == 0 || value == 1);
  *cursor = end;
  if (read) laze_scalar_store(laze_scalar_integer(value), dtype, data, index);
  return read;
}

static bool read_word(const char **cursor, const char *word) {
  size_t length = strlen(word);
  bool read = strncmp(*cursor, word, length) == 0;
  *cursor += read ? length : 0;
  return read;
}

static bool read_element(const char **cursor, laze_dtype dtype, void *data, int64_t index) {
  if (laze_dtype_is_float(dtype)) return read_real(cursor, dtype, data, index);
  bool is_true = dtype == LAZE_BOOL && read_word(cursor, "true");
  if (!is_true && !(dtype == LAZE_BOOL && read_word(cursor, "false"))) return read_integer(cursor, dtype, data, index);
  laze_scalar_store(laze_scalar_boolean(is_true), dtype, data, index);
  return true;
}

static const char *element_description(laze_dtype dtype) {
  switch (dtype) {
  case LAZE_BOOL: return "true, false, 1 or 0";
  case LAZE_I32: return "an integer of 32 bits";
  case LAZE_I64: return "an integer of 64 bits";
  default: return "a number";
  }
}

static void repeat_first(laze_dtype dtype, int64_t count, void *data) {
  size_t size = (size_t)laze_dtype_size(dtype);
  for (int64_t i = 1; i < count; i++) memcpy((char *)data + (size_t)i * size, data, size);
}

static laze_status read_list(const char *text, laze_dtype dtype, int64_t count, void *data, laze_error *error) {
  const char *at = skip_blanks(text);
  int64_t read = 0;
  if (*at == 0 && count == 0) return LAZE_OK;
  for (;; read++) {
    int64_t beyond; /* for a value that has no place: it is read, to tell a wrong one from one too many */
    const char *start = at = skip_blanks(at);
    bool fits = read < count;
    bool right = read_element(&at, dtype, fits ? data : &beyond, fits ? read : 0);
    at = skip_blanks(at);
    if (!right || (*at != ',' && *at != 0))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "value %lld is '%.*s'; %s is expected", (long long)read,
                       (int)strcspn(start, ","), start, element_description(dtype));
    if (*at++ == 0) break;
  }
  read++;
  if (read == 1 && count > 1) repeat_first(dtype, count, data);
  if (read == count || read == 1) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "has %lld values; %lld are expected, or one for all of them",
                   (long long)read, (long long)count);
}

static void fill_arange(laze_dtype dtype, int64_t count, void *data) {
  for (int64_t i = 0; i < count; i++) laze_scalar_store(laze_scalar_integer(i), dtype, data, i);
}

/* Floats in [0, 1), integers in [0, 100), bools: the same on every machine. */
static void fill_random(uint64_t seed, laze_dtype dtype, int64_t count, void *data) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = laze_hash_mix(seed + 1, (uint64_t)i + 1);
    if (dtype == LAZE_F32)
      ((float *)data)[i] = (float)(bits >> 40) * 0x1p-24f;
    else if (dtype == LAZE_F64)
      ((double *)data)[i] = (double)(bits >> 11) * 0x1p-53;
    else
      laze_scalar_store(laze_scalar_integer((int64_t)((bits >> 32) % (dtype == LAZE_BOOL ? 2 : 100))), dtype, data, i);
  }
}

laze_status lazec_values_parse(const char *text, laze_dtype dtype, int64_t count, void *data, laze_error *error) {
  if (strcmp(text, "arange") == 0) {
    fill_arange(dtype, count, data);
    return LAZE_OK;
  }
  if (strncmp(text, "random:", 7) != 0) return read_list(text, dtype, count, data, error);
  char *end;
  errno = 0;
  unsigned long long seed = strtoull(text + 7, &end, 10);
  if (text[7] < '0' || text[7] > '9' || *end || errno)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "'%s': random:SEED is expected, with a number such as 1", text);
  fill_random(seed, dtype, count, data);
  return LAZE_OK;
}
