/* Elements written on the command line: "1,2.5,-inf", one value for all, or a way to make them. */
#include "tools/lazec/lazec.h"

#include "base/dtype.h"
#include "base/hash.h"
#include "base/real.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at) {
  return at + strspn(at, " \t\n");
}

/* Too large becomes infinite, as in C. */
static bool read_real(const char **cursor, laze_dtype dtype, void *data, int64_t index) {
  char *end;
  double value = laze_real_parse(dtype, *cursor, &end);
  bool read = end != *cursor;
  *cursor = end;
  if (read) laze_scalar_store(laze_scalar_real(value), dtype, data, index);
  return read;
}

/* "1.5", "2j", "1.5-2j". */
static bool read_complex(const char **cursor, laze_dtype dtype, void *data, int64_t index) {
  double parts[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    char *end;
    double value = laze_real_parse(laze_dtype_part(dtype), *cursor, &end);
    if (end == *cursor) return false;
    *cursor = end;
    const bool imaginary = **cursor == 'j';
    parts[imaginary] = value;
    *cursor += imaginary;
    if (imaginary || (**cursor != '+' && **cursor != '-')) break;
    if (i == 1) return false; /* a second one without j */
  }
  laze_scalar_store(laze_scalar_complex(parts[0], parts[1]), dtype, data, index);
  return true;
}

static bool read_integer(const char **cursor, laze_dtype dtype, void *data, int64_t index) {
  char *end;
  laze_scalar value;
  bool fits = laze_scalar_read_integer(*cursor, &end, &value) && laze_dtype_holds_integer(dtype, value);
  bool read = end != *cursor && fits;
  *cursor = end;
  if (read) laze_scalar_store(value, dtype, data, index);
  return read;
}

static bool read_word(const char **cursor, const char *word) {
  size_t length = strlen(word);
  bool read = strncmp(*cursor, word, length) == 0;
  *cursor += read ? length : 0;
  return read;
}

static bool read_bool(const char **cursor, laze_dtype dtype, void *data, int64_t index) {
  bool is_true = read_word(cursor, "true");
  if (!is_true && !read_word(cursor, "false")) return read_integer(cursor, dtype, data, index);
  laze_scalar_store(laze_scalar_boolean(is_true), dtype, data, index);
  return true;
}

static bool read_element(const char **cursor, laze_dtype dtype, void *data, int64_t index) {
  switch (laze_dtype_kind(dtype)) {
  case LAZE_KIND_NONE: break;
  case LAZE_KIND_BOOL: return read_bool(cursor, dtype, data, index);
  case LAZE_KIND_SIGNED:
  case LAZE_KIND_UNSIGNED: return read_integer(cursor, dtype, data, index);
  case LAZE_KIND_FLOAT: return read_real(cursor, dtype, data, index);
  case LAZE_KIND_COMPLEX: return read_complex(cursor, dtype, data, index);
  }
  return false;
}

static void describe_element(laze_dtype dtype, char *out, size_t size) {
  switch (laze_dtype_kind(dtype)) {
  case LAZE_KIND_NONE: break;
  case LAZE_KIND_BOOL: snprintf(out, size, "true, false, 1 or 0"); break;
  case LAZE_KIND_SIGNED: snprintf(out, size, "an integer of %d bits", laze_dtype_get(dtype)->bits); break;
  case LAZE_KIND_UNSIGNED:
    snprintf(out, size, "an integer of %d bits that is not negative", laze_dtype_get(dtype)->bits);
    break;
  case LAZE_KIND_FLOAT: snprintf(out, size, "a number"); break;
  case LAZE_KIND_COMPLEX: snprintf(out, size, "a complex number such as 1.5-2j"); break;
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
    int64_t beyond[2]; /* for a value that has no place: it is read, to tell a wrong one from one too many */
    const char *start = at = skip_blanks(at);
    bool fits = read < count;
    bool right = read_element(&at, dtype, fits ? data : beyond, fits ? read : 0);
    at = skip_blanks(at);
    if (!right || (*at != ',' && *at != 0)) {
      char wanted[64] = "";
      describe_element(dtype, wanted, sizeof wanted);
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "value %lld is '%.*s'; %s is expected", (long long)read,
                       (int)strcspn(start, ","), start, wanted);
    }
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

/* The top bits, as many as a float holds exactly, in [0, 1); integers in [0, 100); bools: the same on every machine. */
static double random_real(const laze_dtype_info *info, uint64_t bits) {
  return ldexp((double)(bits >> (64 - info->digits)), -info->digits);
}

static laze_scalar random_element(const laze_dtype_info *info, uint64_t bits) {
  switch (info->kind) {
  case LAZE_KIND_NONE: break;
  case LAZE_KIND_BOOL: return laze_scalar_boolean(bits >> 32 & 1);
  case LAZE_KIND_SIGNED:
  case LAZE_KIND_UNSIGNED: return laze_scalar_integer((int64_t)((bits >> 32) % 100));
  case LAZE_KIND_FLOAT: return laze_scalar_real(random_real(info, bits));
  case LAZE_KIND_COMPLEX:
    return laze_scalar_complex(random_real(info, bits), random_real(info, laze_hash_mix(bits, 1)));
  }
  return laze_scalar_boolean(false);
}

static void fill_random(uint64_t seed, laze_dtype dtype, int64_t count, void *data) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = laze_hash_mix(seed + 1, (uint64_t)i + 1);
    laze_scalar_store(random_element(laze_dtype_get(dtype), bits), dtype, data, i);
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
