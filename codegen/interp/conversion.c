/* Conversions between dtypes, as `to` does them: to bool what is not zero is true; floats to integers are truncated,
 * with NaN and what is out of range giving the lowest integer; i64 to i32 keeps the low bits; the rest rounds to
 * nearest.
 */
#include "codegen/interp/eval.h"

#include <string.h>

/* Elements are copied through memcpy: the memory of a caller may have any alignment. */
#define CONVERSION(from_name, from_type, to_name, to_type, expression)                                                 \
  static void from_name##_to_##to_name(int64_t count, const char *const *operands, const int64_t *operand_strides,     \
                                       char *result, int64_t result_stride) {                                          \
    const char *source = operands[0];                                                                                  \
    for (int64_t i = 0; i < count; i++, source += operand_strides[0], result += result_stride) {                       \
      from_type x;                                                                                                     \
      memcpy(&x, source, sizeof x);                                                                                    \
      to_type y = (expression);                                                                                        \
      memcpy(result, &y, sizeof y);                                                                                    \
    }                                                                                                                  \
  }

#define CONVERSIONS(name, type, to_i32, to_i64)                                                                        \
  CONVERSION(name, type, boolean, uint8_t, x != 0)                                                                     \
  CONVERSION(name, type, i32, int32_t, to_i32)                                                                         \
  CONVERSION(name, type, i64, int64_t, to_i64)                                                                         \
  CONVERSION(name, type, f32, float, (float)x)                                                                         \
  CONVERSION(name, type, f64, double, (double)x)

CONVERSIONS(boolean, uint8_t, x, x)
CONVERSIONS(i32, int32_t, x, x)
CONVERSIONS(i64, int64_t, (int32_t)(uint32_t)(uint64_t)x, x)
CONVERSIONS(f32, float, (int32_t)laze_convert_to_integer(x, 32), laze_convert_to_integer(x, 64))
CONVERSIONS(f64, double, (int32_t)laze_convert_to_integer(x, 32), laze_convert_to_integer(x, 64))

#define ROW(name)                                                                                                      \
  {                                                                                                                    \
    [LAZE_BOOL] = name##_to_boolean, [LAZE_I32] = name##_to_i32, [LAZE_I64] = name##_to_i64,                           \
    [LAZE_F32] = name##_to_f32, [LAZE_F64] = name##_to_f64,                                                            \
  }

static const laze_eval_function conversions[LAZE_DTYPE_COUNT][LAZE_DTYPE_COUNT] = {
    [LAZE_BOOL] = ROW(boolean), [LAZE_I32] = ROW(i32), [LAZE_I64] = ROW(i64),
    [LAZE_F32] = ROW(f32),      [LAZE_F64] = ROW(f64),
};

laze_eval_function laze_eval_find_conversion(laze_dtype from, laze_dtype to) {
  bool valid = laze_dtype_is_valid(from) && laze_dtype_is_valid(to);
  return valid ? conversions[from][to] : NULL;
}
