#include "base/dtype.h"

#include <string.h>

typedef struct {
  const char *name;
  int64_t size;
  laze_category category;
} dtype_info;

static const dtype_info dtypes[LAZE_DTYPE_COUNT] = {
    [LAZE_BOOL] = {"bool", 1, LAZE_CATEGORY_BOOL},  [LAZE_I32] = {"i32", 4, LAZE_CATEGORY_INTEGER},
    [LAZE_I64] = {"i64", 8, LAZE_CATEGORY_INTEGER}, [LAZE_F32] = {"f32", 4, LAZE_CATEGORY_FLOAT},
    [LAZE_F64] = {"f64", 8, LAZE_CATEGORY_FLOAT},
};

static const dtype_info *find_info(laze_dtype dtype) {
  if (dtype < 0 || dtype >= LAZE_DTYPE_COUNT || !dtypes[dtype].name) return NULL;
  return &dtypes[dtype];
}

const char *laze_dtype_name(laze_dtype dtype) {
  const dtype_info *info = find_info(dtype);
  return info ? info->name : "none";
}

laze_dtype laze_dtype_find(const char *name) {
  for (laze_dtype dtype = 0; name && dtype < LAZE_DTYPE_COUNT; dtype++)
    if (dtypes[dtype].name && strcmp(dtypes[dtype].name, name) == 0) return dtype;
  return LAZE_DTYPE_NONE;
}

int64_t laze_dtype_size(laze_dtype dtype) {
  const dtype_info *info = find_info(dtype);
  return info ? info->size : 0;
}

laze_category laze_dtype_category(laze_dtype dtype) {
  const dtype_info *info = find_info(dtype);
  return info ? info->category : LAZE_CATEGORY_NONE;
}

laze_scalar laze_scalar_load(laze_dtype dtype, const void *data, int64_t index) {
  switch (dtype) {
  case LAZE_BOOL: return laze_scalar_boolean(((const uint8_t *)data)[index]);
  case LAZE_I32: return laze_scalar_integer(((const int32_t *)data)[index]);
  case LAZE_I64: return laze_scalar_integer(((const int64_t *)data)[index]);
  case LAZE_F32: return laze_scalar_real(((const float *)data)[index]);
  default: return laze_scalar_real(((const double *)data)[index]);
  }
}

int64_t laze_convert_to_integer(double value, int bits) {
  double limit = bits == 32 ? 2147483648.0 : 9223372036854775808.0;
  if (value >= -limit && value < limit) return (int64_t)value;
  return bits == 32 ? INT32_MIN : INT64_MIN;
}

static double as_real(laze_scalar scalar) {
  return scalar.dtype == LAZE_F64 ? scalar.value.real : (double)scalar.value.integer;
}

static int64_t as_integer(laze_scalar scalar, int bits) {
  return scalar.dtype == LAZE_F64 ? laze_convert_to_integer(scalar.value.real, bits) : scalar.value.integer;
}

void laze_scalar_store(laze_scalar scalar, laze_dtype dtype, void *data, int64_t index) {
  switch (dtype) {
  case LAZE_BOOL:
    ((uint8_t *)data)[index] = scalar.dtype == LAZE_F64 ? scalar.value.real != 0 : scalar.value.integer != 0;
    break;
  case LAZE_I32: ((int32_t *)data)[index] = (int32_t)as_integer(scalar, 32); break;
  case LAZE_I64: ((int64_t *)data)[index] = as_integer(scalar, 64); break;
  case LAZE_F32:
    /* From an integer directly: through double would round twice. */
    ((float *)data)[index] = scalar.dtype == LAZE_F64 ? (float)scalar.value.real : (float)scalar.value.integer;
    break;
  default: ((double *)data)[index] = as_real(scalar); break;
  }
}

bool laze_scalar_equal(laze_scalar a, laze_scalar b) {
  return a.dtype == b.dtype && a.value.integer == b.value.integer;
}
