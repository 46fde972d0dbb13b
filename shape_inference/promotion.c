/* Which dtype operands of several dtypes have together: that of the tensors with dimensions, of 0-d tensors and of
 * plain numbers, each joined by the lattice of dtypes (base/dtype_table.h); a weaker one of these three counts only
 * where it is of a higher category.
 *
 *   f32[2], f64[], 1     f32      i32[2], 1.5      f32
 *   i32[2], f64[], 1     f64      i32[2], i64[]    i32
 *   f64[2], c64[]        c128     i32[2], 1j       c64        a float keeps its digits where it becomes complex
 *   u16[2], i32[2]       none     u16[2], i32[]    u16
 */
#include "shape_inference/inference.h"

#include "base/status.h"

laze_dtype laze_float_dtype(laze_dtype dtype) {
  return dtype == LAZE_DTYPE_NONE || laze_dtype_is_inexact(dtype) ? dtype : LAZE_F32;
}

static void join(laze_promotion *promotion, laze_dtype *joined, laze_dtype dtype) {
  const laze_dtype both = laze_dtype_join(*joined, dtype);
  if (both == LAZE_DTYPE_NONE && promotion->apart[0] == LAZE_DTYPE_NONE) {
    promotion->apart[0] = *joined;
    promotion->apart[1] = dtype;
  }
  *joined = both;
}

/* A plain number says only its category; a float then has the default dtype. */
static laze_dtype dtype_of_number(laze_dtype dtype) {
  if (laze_dtype_is_float(dtype)) return LAZE_F32;
  if (laze_dtype_is_complex(dtype)) return laze_dtype_paired(LAZE_F32);
  return laze_dtype_category(dtype) == LAZE_CATEGORY_INTEGER ? LAZE_I64 : dtype;
}

void laze_promotion_add(laze_promotion *promotion, const laze_type *operand, bool is_number) {
  if (is_number)
    join(promotion, &promotion->number, dtype_of_number(operand->dtype));
  else
    join(promotion, operand->rank == 0 ? &promotion->zero_dimensional : &promotion->dimensioned, operand->dtype);
}

/* The weaker class counts only where its category is higher. */
static laze_dtype combine(laze_dtype stronger, laze_dtype weaker) {
  if (laze_dtype_is_complex(weaker) && laze_dtype_is_float(stronger)) return laze_dtype_paired(stronger);
  bool counts = laze_dtype_category(weaker) > laze_dtype_category(stronger);
  return counts ? laze_dtype_join(stronger, weaker) : stronger;
}

laze_dtype laze_promotion_result(const laze_promotion *promotion) {
  if (promotion->apart[0] != LAZE_DTYPE_NONE) return LAZE_DTYPE_NONE;
  return combine(promotion->dimensioned, combine(promotion->zero_dimensional, promotion->number));
}

laze_status laze_promotion_check(const laze_promotion *promotion, const char *operator_name, laze_dtype *out,
                                 laze_error *error) {
  const laze_dtype weaker = combine(promotion->zero_dimensional, promotion->number);
  const laze_dtype strongest = promotion->dimensioned ? promotion->dimensioned : promotion->zero_dimensional;
  const laze_dtype classes[] = {strongest, weaker != strongest && weaker ? weaker : promotion->number};
  const laze_dtype *apart = promotion->apart[0] == LAZE_DTYPE_NONE ? classes : promotion->apart;
  *out = laze_promotion_result(promotion);
  if (*out != LAZE_DTYPE_NONE || apart[0] == LAZE_DTYPE_NONE) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: operands are %s and %s, which promote to no dtype together, as in PyTorch: convert one of them "
                   "with to(%s), or both with to(i64)",
                   operator_name, laze_dtype_name(apart[0]), laze_dtype_name(apart[1]), laze_dtype_name(apart[0]));
}
