#include "shape_inference/inference.h"

/* Categories and widths are both in the order of the dtypes' numbers, so the higher number wins: i64 with f32 is f32,
 * i32 with i64 is i64. LAZE_DTYPE_NONE is below all. */
laze_dtype laze_promote_dtypes(laze_dtype a, laze_dtype b) {
  return a > b ? a : b;
}

laze_dtype laze_float_dtype(laze_dtype dtype) {
  return dtype == LAZE_DTYPE_NONE || laze_dtype_is_float(dtype) ? dtype : LAZE_F32;
}

void laze_promotion_add(laze_promotion *promotion, const laze_type *operand, bool is_number) {
  if (is_number) {
    /* A plain number says only its category; a float then has the default dtype. */
    laze_dtype dtype = laze_dtype_is_float(operand->dtype) ? LAZE_F32 : operand->dtype;
    promotion->number = laze_promote_dtypes(promotion->number, dtype);
  } else if (operand->rank == 0) {
    promotion->zero_dimensional = laze_promote_dtypes(promotion->zero_dimensional, operand->dtype);
  } else {
    promotion->dimensioned = laze_promote_dtypes(promotion->dimensioned, operand->dtype);
  }
}

/* The weaker class counts only where its category is higher. */
static laze_dtype combine(laze_dtype stronger, laze_dtype weaker) {
  return laze_dtype_category(weaker) > laze_dtype_category(stronger) ? weaker : stronger;
}

laze_dtype laze_promotion_result(const laze_promotion *promotion) {
  return combine(promotion->dimensioned, combine(promotion->zero_dimensional, promotion->number));
}
