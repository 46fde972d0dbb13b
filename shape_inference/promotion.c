/* Which dtype operands of several dtypes have together: that of the tensors with dimensions, of 0-d tensors and of
 * plain numbers, each joined by the lattice of dtypes (base/dtype_table.h); a weaker one of these three counts only
 * where it is of a higher category.
 *
 *   f32[2], f64[], 1     f32      i32[2], 1.5      f32
 *   i32[2], f64[], 1     f64      i32[2], i64[]    i32
 *   f64[2], c64[]        c128     i32[2], 1j       c64        a float keeps its digits where it becomes complex
 */
#include "shape_inference/inference.h"

laze_dtype laze_float_dtype(laze_dtype dtype) {
  return dtype == LAZE_DTYPE_NONE || laze_dtype_is_inexact(dtype) ? dtype : LAZE_F32;
}

void laze_promotion_add(laze_promotion *promotion, const laze_type *operand, bool is_number) {
  if (is_number) {
    /* A plain number says only its category; a float then has the default dtype. */
    laze_dtype dtype = laze_dtype_is_float(operand->dtype) ? LAZE_F32 : operand->dtype;
    if (laze_dtype_is_complex(dtype)) dtype = laze_dtype_paired(LAZE_F32);
    promotion->number = laze_dtype_join(promotion->number, dtype);
  } else if (operand->rank == 0) {
    promotion->zero_dimensional = laze_dtype_join(promotion->zero_dimensional, operand->dtype);
  } else {
    promotion->dimensioned = laze_dtype_join(promotion->dimensioned, operand->dtype);
  }
}

/* The weaker class counts only where its category is higher. */
static laze_dtype combine(laze_dtype stronger, laze_dtype weaker) {
  if (laze_dtype_is_complex(weaker) && laze_dtype_is_float(stronger)) return laze_dtype_paired(stronger);
  return laze_dtype_category(weaker) > laze_dtype_category(stronger) ? weaker : stronger;
}

laze_dtype laze_promotion_result(const laze_promotion *promotion) {
  return combine(promotion->dimensioned, combine(promotion->zero_dimensional, promotion->number));
}
