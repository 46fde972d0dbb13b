/* Conversions between dtypes, as `to` does them: to bool what is not zero is true; floats to integers are truncated to
 * i32 or i64, with NaN and what is out of range giving the lowest one; an integer to a narrower one keeps the low bits;
 * the rest rounds to nearest. A complex number becomes what is not complex by its real part, to bool by both.
 *
 *               to  bool         i32          ...
 *   from  bool      BOOL_to_BOOL BOOL_to_I32
 *         i32       I32_to_BOOL  I32_to_I32
 *         ...
 */
#include "codegen/interp/eval.h"

#include "base/half.h"

#include <string.h>

/* The table of pairs has the rows of dtypes within each of these rows. The preprocessor does not expand a list within
 * itself: what stands inside is put off (LATER) until EXPAND reads it all once more. */
#define EXPAND(...) __VA_ARGS__
#define NOTHING
#define ROWS() LAZE_DTYPES
#define LATER(macro) macro NOTHING

/* The value of an element: of a float of 16 bits as f32, by way of which it becomes anything else. */
#define VALUE_BOOL(id, c_type, x) c_type, x
#define VALUE_SIGNED(id, c_type, x) c_type, x
#define VALUE_UNSIGNED(id, c_type, x) c_type, x
#define VALUE_FLOAT(id, c_type, x) c_type, x
#define VALUE_COMPLEX(id, c_type, x) c_type, x
#define VALUE_HALF(id, c_type, x) float, laze_half_load_##id(x)
#define ELEMENT_OF(id, c_type, value_type, value)                                                                      \
  typedef c_type element_##id;                                                                                         \
  static inline value_type value_##id(element_##id x) {                                                                \
    return value;                                                                                                      \
  }
#define ELEMENT_OF_VALUE(...) ELEMENT_OF(__VA_ARGS__)
#define ELEMENT(with, id, name, kind, bits, digits, c_type, ...)                                                       \
  enum { is_real_##id = LAZE_KIND_##kind == LAZE_KIND_FLOAT || LAZE_KIND_##kind == LAZE_KIND_COMPLEX };                \
  ELEMENT_OF_VALUE(id, c_type, VALUE_##kind(id, c_type, x))
LAZE_DTYPES(ELEMENT, )

/* An element of dtype `from`, whose value is x, in one of c_type. */
#define TO_BOOL(from, id, c_type) (c_type)(x != 0)
#define TO_SIGNED(from, id, c_type)                                                                                    \
  (c_type)(is_real_##from ? laze_convert_to_integer((double)x, laze_integer_converted_by(LAZE_##id)) : (int64_t)x)
#define TO_UNSIGNED TO_SIGNED
#define TO_FLOAT(from, id, c_type) (c_type) x
#define TO_COMPLEX TO_FLOAT
#define TO_HALF(from, id, c_type) laze_half_store_##id((float)x)

/* Elements are copied through memcpy: the memory of a caller may have any alignment. */
#define CONVERSION(from, id, name, kind, bits, digits, c_type, ...)                                                    \
  static void from##_to_##id(int64_t count, const char *const *operands, const int64_t *operand_strides, char *result, \
                             int64_t result_stride) {                                                                  \
    const char *source = operands[0];                                                                                  \
    for (int64_t i = 0; i < count; i++, source += operand_strides[0], result += result_stride) {                       \
      element_##from element;                                                                                          \
      memcpy(&element, source, sizeof element);                                                                        \
      if (LAZE_##from == LAZE_##id) {                                                                                  \
        memcpy(result, &element, sizeof element); /* NaNs as they are */                                               \
        continue;                                                                                                      \
      }                                                                                                                \
      const __typeof__(value_##from(element)) x = value_##from(element);                                               \
      c_type y = TO_##kind(from, id, c_type);                                                                          \
      memcpy(result, &y, sizeof y);                                                                                    \
    }                                                                                                                  \
  }
#define CONVERSIONS(with, id, ...) LATER(ROWS)()(CONVERSION, id)
EXPAND(LAZE_DTYPES(CONVERSIONS, ))

#define ENTRY(from, id, ...) [LAZE_##id] = from##_to_##id,
#define ENTRIES(with, id, ...) [LAZE_##id] = {LATER(ROWS)()(ENTRY, id)},
static const laze_eval_function conversions[LAZE_DTYPE_BOUND][LAZE_DTYPE_BOUND] = {EXPAND(LAZE_DTYPES(ENTRIES, ))};

laze_eval_function laze_eval_find_conversion(laze_dtype from, laze_dtype to) {
  bool valid = laze_dtype_is_valid(from) && laze_dtype_is_valid(to);
  return valid ? conversions[from][to] : NULL;
}
