/* What the inside of laze knows about dtypes beyond `laze/dtype.h`. Nothing here fails or allocates; all is
 * thread-safe. */
#ifndef LAZE_BASE_DTYPE_H
#define LAZE_BASE_DTYPE_H

#include "base/dtype_table.h"

#include <stdbool.h>

/* A row of the table. */
typedef struct laze_dtype_info {
  const char *name, *numpy, *torch; /* NULL: it has none */
  laze_kind kind;
  int32_t size;        /* of an element, in bytes */
  int32_t bits;        /* of a value */
  int32_t digits;      /* binary ones: every number of that many is held exactly */
  uint32_t takes;      /* the dtypes that promote to it, itself included: bits */
  laze_dtype computes; /* in which elements are computed: f32 for floats of 16 bits, itself for the others */
} laze_dtype_info;

/* The row of a dtype. For what is no dtype one of kind LAZE_KIND_NONE, named "none", in which all else is 0. */
const laze_dtype_info *laze_dtype_get(laze_dtype dtype);

static inline laze_kind laze_dtype_kind(laze_dtype dtype) {
  return laze_dtype_get(dtype)->kind;
}
static inline bool laze_dtype_is_valid(laze_dtype dtype) {
  return laze_dtype_kind(dtype) != LAZE_KIND_NONE;
}
static inline bool laze_dtype_is_float(laze_dtype dtype) {
  return laze_dtype_kind(dtype) == LAZE_KIND_FLOAT;
}
static inline bool laze_dtype_is_complex(laze_dtype dtype) {
  return laze_dtype_kind(dtype) == LAZE_KIND_COMPLEX;
}
/* Whether it has numbers with digits behind the point: floats, and pairs of them. */
static inline bool laze_dtype_is_inexact(laze_dtype dtype) {
  return laze_dtype_is_float(dtype) || laze_dtype_is_complex(dtype);
}
/* The float of which a complex number has two; any other dtype itself. */
laze_dtype laze_dtype_part(laze_dtype dtype);
/* The complex dtype to which it promotes: c64 for what is no float of 64 bits. */
laze_dtype laze_dtype_paired(laze_dtype dtype);
/* Whether it is only kept, in 16 bits, and computed as f32. */
static inline bool laze_dtype_is_half(laze_dtype dtype) {
  return laze_dtype_get(dtype)->computes != dtype && laze_dtype_is_valid(dtype);
}
/* The dtype in which elements are computed. */
static inline laze_dtype laze_dtype_computes(laze_dtype dtype) {
  return laze_dtype_get(dtype)->computes;
}

/* Promotion looks at categories first: a number or a 0-d tensor changes a tensor's dtype only where it is of a higher
 * one. */
typedef enum {
  LAZE_CATEGORY_NONE,
  LAZE_CATEGORY_BOOL,
  LAZE_CATEGORY_INTEGER,
  LAZE_CATEGORY_FLOAT,
  LAZE_CATEGORY_COMPLEX,
} laze_category;
laze_category laze_dtype_category(laze_dtype dtype);

/* The lowest dtype that both promote to, LAZE_DTYPE_NONE being below all. It has the category of one of them, and is
 * LAZE_DTYPE_NONE where there is none: u16 and i32 do not become floats. */
laze_dtype laze_dtype_join(laze_dtype a, laze_dtype b);

/* The dtypes of a set for a message, "i32, f32 or f64", by number; those without such a name are left out. `last`
 * stands before the last one: ", " or " or ". */
typedef enum { LAZE_NAME_SHORT, LAZE_NAME_NUMPY, LAZE_NAME_TORCH } laze_dtype_naming;
typedef struct laze_dtype_names {
  char text[160];
} laze_dtype_names;
laze_dtype_names laze_dtype_list(uint32_t set, laze_dtype_naming naming, const char *last);
/* All of them as C writes them: "LAZE_BOOL, LAZE_I32, ...". Static storage. */
const char *laze_dtype_constants(void);
/* The dtypes of a category, as a set. */
uint32_t laze_dtype_set(laze_category category);
/* Those that positions may have, as a set: integers of 32 bits or more. */
uint32_t laze_dtype_index_set(void);
static inline bool laze_dtype_is_index(laze_dtype dtype) {
  return laze_dtype_is_valid(dtype) && (laze_dtype_index_set() >> dtype & 1);
}
/* The first row of a kind whose values have so many bits, or LAZE_DTYPE_NONE. */
laze_dtype laze_dtype_of_width(laze_kind kind, int32_t bits);

/* The ends of what a dtype holds, as scalars: those of its integers, infinities of floats, false and true. Complex
 * numbers have none. */
laze_scalar laze_dtype_lowest(laze_dtype dtype);
laze_scalar laze_dtype_highest(laze_dtype dtype);

/* Reads element `index` of an array of `dtype` as a scalar (floats widened to f64, integers to i64, complex numbers to
 * c128, and u64 stays where i64 does not hold it: all exact). */
laze_scalar laze_scalar_load(laze_dtype dtype, const void *data, int64_t index);
/* Writes a scalar as element `index` of an array of `dtype`, converting as `to` does (docs/semantics.md). */
void laze_scalar_store(laze_scalar scalar, laze_dtype dtype, void *data, int64_t index);
/* Reads a decimal integer as strtoll does, *end behind what was read. False where neither i64 nor u64 holds it. */
bool laze_scalar_read_integer(const char *text, char **end, laze_scalar *out);
/* Whether an integer is one of the dtype's, which has to be one of integers or bool. */
bool laze_dtype_holds_integer(laze_dtype dtype, laze_scalar integer);
/* Whether its value is `real`, and not `integer`. */
static inline bool laze_scalar_is_real(laze_scalar scalar) {
  return scalar.dtype == LAZE_F64 || scalar.dtype == LAZE_C128;
}
/* The scalar's value as a double; an integer is rounded, of a complex number it is the real part. */
static inline double laze_scalar_as_real(laze_scalar scalar) {
  if (laze_scalar_is_real(scalar)) return scalar.value.real;
  return scalar.dtype == LAZE_U64 ? (double)(uint64_t)scalar.value.integer : (double)scalar.value.integer;
}
/* Converts a float to the integer `by`, i32, i64 or u64: truncates; NaN and out-of-range values give the lowest
 * integer, which is what x86-64 instructions and so PyTorch on CPU give. For u64 what is below 2^63 goes by way of i64.
 */
int64_t laze_convert_to_integer(double value, laze_dtype by);
/* The integer by way of which a float is converted to `dtype`, which then has the low bits of it: the first of i32,
 * i64 and u64 that holds all of `dtype`. */
laze_dtype laze_integer_converted_by(laze_dtype dtype);

/* Of a float's dtype, as bits of an element: infinity, above which those of NaNs lie, and the NaN that operations give.
 * The sign is the highest of the dtype's bits. */
uint64_t laze_dtype_infinity_bits(laze_dtype dtype);
uint64_t laze_dtype_nan_bits(laze_dtype dtype);
/* What is added to a float's exponent in its bits: 127 for f32. */
int32_t laze_dtype_exponent_bias(laze_dtype dtype);
bool laze_dtype_is_nan(laze_dtype dtype, uint64_t bits);

#endif
