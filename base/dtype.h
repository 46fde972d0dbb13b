/* What the inside of laze knows about dtypes beyond `laze/dtype.h`. */
#ifndef LAZE_BASE_DTYPE_H
#define LAZE_BASE_DTYPE_H

#include "laze/dtype.h"

#include <stdbool.h>

#define LAZE_DTYPE_COUNT 16 /* every dtype number is below this */

/* Promotion works by category first (bool < integer < float); the numbers are in promotion order. */
typedef enum { LAZE_CATEGORY_NONE, LAZE_CATEGORY_BOOL, LAZE_CATEGORY_INTEGER, LAZE_CATEGORY_FLOAT } laze_category;

laze_category laze_dtype_category(laze_dtype dtype);
static inline bool laze_dtype_is_float(laze_dtype dtype) {
  return laze_dtype_category(dtype) == LAZE_CATEGORY_FLOAT;
}
static inline bool laze_dtype_is_valid(laze_dtype dtype) {
  return laze_dtype_size(dtype) != 0;
}

/* Reads element `index` of an array of `dtype` as a scalar (f32 widened to f64, i32 to i64: both exact). */
laze_scalar laze_scalar_load(laze_dtype dtype, const void *data, int64_t index);
/* Writes a scalar as element `index` of an array of `dtype`, converting as `to` does (docs/semantics.md). */
void laze_scalar_store(laze_scalar scalar, laze_dtype dtype, void *data, int64_t index);
/* Equal dtype and equal bits (so NaN equals itself and 0 differs from -0). */
bool laze_scalar_equal(laze_scalar a, laze_scalar b);
/* Converts a float to an integer of `bits` (32 or 64) width: truncates; NaN and out-of-range values give the lowest
 * integer, which is what x86-64 instructions and so PyTorch on CPU give. */
int64_t laze_convert_to_integer(double value, int bits);

#endif
