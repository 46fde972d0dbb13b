/* Element types and scalars. */
#ifndef LAZE_DTYPE_H
#define LAZE_DTYPE_H

#include "laze/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The type of an element. The numbers are part of the ABI. */
typedef int32_t laze_dtype;

#define LAZE_DTYPE_NONE 0
#define LAZE_BOOL 1 /* one byte, 0 or 1 */
#define LAZE_I8 2
#define LAZE_I16 3
#define LAZE_I32 4
#define LAZE_I64 5
#define LAZE_U8 6
#define LAZE_U16 7
#define LAZE_U32 8
#define LAZE_U64 9
#define LAZE_F16 10  /* IEEE 754 binary16 */
#define LAZE_BF16 11 /* the upper half of an F32 */
#define LAZE_F32 12  /* IEEE 754 binary32 */
#define LAZE_F64 13  /* IEEE 754 binary64 */
#define LAZE_C64 14  /* complex: two F32, the real part first */
#define LAZE_C128 15 /* complex: two F64 */

/* "f32", "i64", "bool", ...; "none" for a number that is no dtype. Static storage. */
LAZE_API const char *laze_dtype_name(laze_dtype dtype);
/* The dtype of that name, or LAZE_DTYPE_NONE. */
LAZE_API laze_dtype laze_dtype_find(const char *name);
/* Bytes of one element; 0 for what is no dtype. */
LAZE_API int64_t laze_dtype_size(laze_dtype dtype);

/* A number passed from the host: dtype is LAZE_C128 (then `real` and `imaginary`), LAZE_F64, LAZE_I64, LAZE_U64 (above
 * the largest int64_t: `integer` has the same bits) or LAZE_BOOL (then `integer` is 0 or 1). */
typedef struct laze_scalar {
  laze_dtype dtype;
  int32_t reserved;
  union {
    double real;
    int64_t integer;
  } value;
  double imaginary; /* 0 for what is not complex */
} laze_scalar;

static inline laze_scalar laze_scalar_real(double value) {
  laze_scalar scalar = {LAZE_F64, 0, {0}, 0}; /* no designated member: C++ reads this as well */
  scalar.value.real = value;
  return scalar;
}
static inline laze_scalar laze_scalar_integer(int64_t value) {
  laze_scalar scalar = {LAZE_I64, 0, {0}, 0};
  scalar.value.integer = value;
  return scalar;
}
static inline laze_scalar laze_scalar_unsigned(uint64_t value) {
  laze_scalar scalar = {value > (uint64_t)INT64_MAX ? LAZE_U64 : LAZE_I64, 0, {0}, 0};
  scalar.value.integer = (int64_t)value;
  return scalar;
}
static inline laze_scalar laze_scalar_boolean(int value) {
  laze_scalar scalar = {LAZE_BOOL, 0, {0}, 0};
  scalar.value.integer = value != 0;
  return scalar;
}
static inline laze_scalar laze_scalar_complex(double real, double imaginary) {
  laze_scalar scalar = {LAZE_C128, 0, {0}, 0};
  scalar.value.real = real;
  scalar.imaginary = imaginary;
  return scalar;
}

#ifdef __cplusplus
}
#endif
#endif
