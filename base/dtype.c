/* Everything about dtypes that is the same wherever it is asked, made of the rows of base/dtype_table.h; and scalars,
 * which carry one number between dtypes. */
#include "base/dtype.h"

#include "base/half.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMPUTES_BOOL(id) LAZE_##id
#define COMPUTES_SIGNED(id) LAZE_##id
#define COMPUTES_UNSIGNED(id) LAZE_##id
#define COMPUTES_FLOAT(id) LAZE_##id
#define COMPUTES_COMPLEX(id) LAZE_##id
#define COMPUTES_HALF(id) LAZE_F32
#define INFO(with, id, name, kind, bits, digits, c_type, llvm, numpy, torch, below)                                    \
  [LAZE_##id] = {name, numpy,  torch,           LAZE_KIND_##kind,   sizeof(c_type),                                    \
                 bits, digits, LAZE_UP_TO_##id, COMPUTES_##kind(id)},
static const laze_dtype_info infos[LAZE_DTYPE_BOUND] = {LAZE_DTYPES(INFO, )};
static const laze_dtype_info no_dtype = {.name = "none"};

/* In the order of the table: behind what promotes to it. */
#define NUMBER(with, id, ...) LAZE_##id,
static const laze_dtype rows[] = {LAZE_DTYPES(NUMBER, )};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

const laze_dtype_info *laze_dtype_get(laze_dtype dtype) {
  if (dtype < 0 || dtype >= LAZE_DTYPE_BOUND || !infos[dtype].name) return &no_dtype;
  return &infos[dtype];
}

const char *laze_dtype_name(laze_dtype dtype) {
  return laze_dtype_get(dtype)->name;
}

laze_dtype laze_dtype_find(const char *name) {
  for (int row = 0; name && row < ROW_COUNT; row++)
    if (strcmp(infos[rows[row]].name, name) == 0) return rows[row];
  return LAZE_DTYPE_NONE;
}

int64_t laze_dtype_size(laze_dtype dtype) {
  return laze_dtype_get(dtype)->size;
}

laze_category laze_dtype_category(laze_dtype dtype) {
  switch (laze_dtype_kind(dtype)) {
  case LAZE_KIND_NONE: break;
  case LAZE_KIND_BOOL: return LAZE_CATEGORY_BOOL;
  case LAZE_KIND_SIGNED:
  case LAZE_KIND_UNSIGNED: return LAZE_CATEGORY_INTEGER;
  case LAZE_KIND_FLOAT: return LAZE_CATEGORY_FLOAT;
  case LAZE_KIND_COMPLEX: return LAZE_CATEGORY_COMPLEX;
  }
  return LAZE_CATEGORY_NONE;
}

laze_dtype laze_dtype_part(laze_dtype dtype) {
  return laze_dtype_is_complex(dtype) ? laze_dtype_of_width(LAZE_KIND_FLOAT, infos[dtype].bits / 2) : dtype;
}

laze_dtype laze_dtype_paired(laze_dtype dtype) {
  laze_dtype joined = laze_dtype_join(dtype, LAZE_C64);
  return laze_dtype_is_complex(joined) ? joined : LAZE_C64;
}

laze_dtype laze_dtype_join(laze_dtype a, laze_dtype b) {
  if (a == b || b == LAZE_DTYPE_NONE) return a;
  if (a == LAZE_DTYPE_NONE) return b;
  uint32_t both = UINT32_C(1) << a | UINT32_C(1) << b;
  for (int row = 0; row < ROW_COUNT; row++) {
    if ((infos[rows[row]].takes & both) != both) continue;
    const laze_category category = laze_dtype_category(rows[row]);
    return laze_dtype_category(a) == category || laze_dtype_category(b) == category ? rows[row] : LAZE_DTYPE_NONE;
  }
  return LAZE_DTYPE_NONE;
}

/* --- Lists for messages --- */

static void append(laze_dtype_names *names, size_t *length, const char *string) {
  for (; *string && *length + 1 < sizeof names->text; string++) names->text[(*length)++] = *string;
  names->text[*length] = 0;
}

static const char *name_of(laze_dtype dtype, laze_dtype_naming naming) {
  const laze_dtype_info *info = laze_dtype_get(dtype);
  switch (naming) {
  case LAZE_NAME_SHORT: break;
  case LAZE_NAME_NUMPY: return info->numpy;
  case LAZE_NAME_TORCH: return info->torch;
  }
  return info->kind == LAZE_KIND_NONE ? NULL : info->name;
}

laze_dtype_names laze_dtype_list(uint32_t set, laze_dtype_naming naming, const char *last) {
  laze_dtype_names names = {""};
  size_t length = 0;
  for (laze_dtype dtype = 0; dtype < LAZE_DTYPE_BOUND; dtype++)
    if (!name_of(dtype, naming)) set &= ~(UINT32_C(1) << dtype);
  for (laze_dtype dtype = 0; dtype < LAZE_DTYPE_BOUND; dtype++) {
    if (!(set >> dtype & 1)) continue;
    if (length > 0) append(&names, &length, set >> dtype >> 1 ? ", " : last);
    append(&names, &length, name_of(dtype, naming));
  }
  return names;
}

const char *laze_dtype_constants(void) {
#define CONSTANT(with, id, ...) ", LAZE_" #id
  return &(LAZE_DTYPES(CONSTANT, ))[2];
}

uint32_t laze_dtype_set(laze_category category) {
  uint32_t set = 0;
  for (int row = 0; row < ROW_COUNT; row++)
    if (laze_dtype_category(rows[row]) == category) set |= UINT32_C(1) << rows[row];
  return set;
}

uint32_t laze_dtype_index_set(void) {
  uint32_t set = 0;
  for (int row = 0; row < ROW_COUNT; row++)
    if (infos[rows[row]].kind == LAZE_KIND_SIGNED && infos[rows[row]].bits >= 32) set |= UINT32_C(1) << rows[row];
  return set;
}

laze_dtype laze_dtype_of_width(laze_kind kind, int32_t bits) {
  for (int row = 0; row < ROW_COUNT; row++)
    if (infos[rows[row]].kind == kind && infos[rows[row]].bits == bits) return rows[row];
  return LAZE_DTYPE_NONE;
}

/* --- Limits --- */

static uint64_t highest_integer(const laze_dtype_info *info) {
  return UINT64_MAX >> (64 - info->digits);
}

laze_scalar laze_dtype_lowest(laze_dtype dtype) {
  const laze_dtype_info *info = laze_dtype_get(dtype);
  switch (info->kind) {
  case LAZE_KIND_NONE:
  case LAZE_KIND_COMPLEX:
  case LAZE_KIND_BOOL: break;
  case LAZE_KIND_SIGNED: return laze_scalar_integer(-(int64_t)highest_integer(info) - 1);
  case LAZE_KIND_UNSIGNED: return laze_scalar_integer(0);
  case LAZE_KIND_FLOAT: return laze_scalar_real(-INFINITY);
  }
  return laze_scalar_boolean(false);
}

laze_scalar laze_dtype_highest(laze_dtype dtype) {
  const laze_dtype_info *info = laze_dtype_get(dtype);
  switch (info->kind) {
  case LAZE_KIND_NONE:
  case LAZE_KIND_COMPLEX:
  case LAZE_KIND_BOOL: break;
  case LAZE_KIND_SIGNED:
  case LAZE_KIND_UNSIGNED: return laze_scalar_unsigned(highest_integer(info));
  case LAZE_KIND_FLOAT: return laze_scalar_real(INFINITY);
  }
  return laze_scalar_boolean(true);
}

/* sign, exponent (all ones in what is not finite), and the digits but the first, of which the highest is a quiet NaN's.
 */
uint64_t laze_dtype_infinity_bits(laze_dtype dtype) {
  const laze_dtype_info *info = laze_dtype_get(dtype);
  return ((UINT64_C(1) << (info->bits - info->digits)) - 1) << (info->digits - 1);
}

uint64_t laze_dtype_nan_bits(laze_dtype dtype) {
  return laze_dtype_infinity_bits(dtype) | UINT64_C(1) << (laze_dtype_get(dtype)->digits - 2);
}

int32_t laze_dtype_exponent_bias(laze_dtype dtype) {
  const laze_dtype_info *info = laze_dtype_get(dtype);
  return (1 << (info->bits - info->digits - 1)) - 1;
}

bool laze_dtype_is_nan(laze_dtype dtype, uint64_t bits) {
  uint64_t sign = UINT64_C(1) << (laze_dtype_get(dtype)->bits - 1);
  return (bits & (sign - 1)) > laze_dtype_infinity_bits(dtype);
}

/* --- Scalars --- */

#define LOAD_BOOL(id, element) laze_scalar_boolean(element)
#define LOAD_SIGNED(id, element) laze_scalar_integer(element)
#define LOAD_UNSIGNED(id, element) laze_scalar_unsigned(element)
#define LOAD_FLOAT(id, element) laze_scalar_real(element)
#define LOAD_COMPLEX(id, element) laze_scalar_complex(creal(element), cimag(element))
#define LOAD_HALF(id, element) laze_scalar_real((double)laze_half_load_##id(element))
#define LOAD(with, id, name, kind, bits, digits, c_type, ...)                                                          \
  case LAZE_##id: return LOAD_##kind(id, ((const c_type *)data)[index]);

laze_scalar laze_scalar_load(laze_dtype dtype, const void *data, int64_t index) {
  switch (dtype) { LAZE_DTYPES(LOAD, ) }
  return (laze_scalar){.dtype = LAZE_DTYPE_NONE};
}

bool laze_scalar_read_integer(const char *text, char **end, laze_scalar *out) {
  errno = 0;
  long long value = strtoll(text, end, 10);
  *out = laze_scalar_integer(value);
  if (errno == 0 || value < 0) return errno == 0;
  errno = 0;
  *out = laze_scalar_unsigned(strtoull(text, end, 10));
  return errno == 0;
}

/* Of a U64, which is above all that are an I64, the bits count on from those. */
static bool is_below(laze_scalar a, laze_scalar b) {
  if (a.dtype != b.dtype && (a.dtype == LAZE_U64 || b.dtype == LAZE_U64)) return b.dtype == LAZE_U64;
  return a.value.integer < b.value.integer;
}

bool laze_dtype_holds_integer(laze_dtype dtype, laze_scalar integer) {
  return !is_below(integer, laze_dtype_lowest(dtype)) && !is_below(laze_dtype_highest(dtype), integer);
}

int64_t laze_convert_to_integer(double value, laze_dtype by) {
  if (by == LAZE_U64 && value >= 0x1p63) return value < 0x1p64 ? (int64_t)(uint64_t)value : 0;
  if (by == LAZE_U64) by = LAZE_I64;
  int64_t lowest = laze_dtype_lowest(by).value.integer;
  double limit = -(double)lowest;
  return value >= -limit && value < limit ? (int64_t)value : lowest;
}

laze_dtype laze_integer_converted_by(laze_dtype dtype) {
  const int32_t digits = laze_dtype_get(dtype)->digits;
  return digits < 32 ? LAZE_I32 : digits < 64 ? LAZE_I64 : LAZE_U64;
}

static double _Complex pair(double real, double imaginary) {
  union {
    double parts[2];
    double _Complex pair;
  } number = {{real, imaginary}};
  return number.pair;
}

/* From an integer to a float directly: through double would round twice. */
#define STORE_BOOL(id, c_type)                                                                                         \
  (c_type)(real ? scalar.value.real != 0 || scalar.imaginary != 0 : scalar.value.integer != 0)
#define STORE_SIGNED(id, c_type)                                                                                       \
  (c_type)(real ? laze_convert_to_integer(scalar.value.real, laze_integer_converted_by(dtype)) : scalar.value.integer)
#define STORE_UNSIGNED STORE_SIGNED
#define STORE_FLOAT(id, c_type)                                                                                        \
  (real                       ? (c_type)scalar.value.real                                                              \
   : scalar.dtype == LAZE_U64 ? (c_type)(uint64_t)scalar.value.integer                                                 \
                              : (c_type)scalar.value.integer)
#define STORE_COMPLEX(id, c_type)                                                                                      \
  (real ? (c_type)pair(scalar.value.real, scalar.imaginary) : (c_type)laze_scalar_as_real(scalar))
#define STORE_HALF(id, c_type) laze_half_store_##id(STORE_FLOAT(id, float))
#define STORE(with, id, name, kind, bits, digits, c_type, ...)                                                         \
  case LAZE_##id: ((c_type *)data)[index] = STORE_##kind(id, c_type); break;

void laze_scalar_store(laze_scalar scalar, laze_dtype dtype, void *data, int64_t index) {
  bool real = laze_scalar_is_real(scalar);
  switch (dtype) { LAZE_DTYPES(STORE, ) }
}
