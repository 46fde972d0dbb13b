/* Numbers beside tensors of integers. The library converts a number to the dtype of the result, in which one that has
 * no place there becomes another; here it is an error, as in NumPy, and a comparison is answered as it should be.
 *
 *   int32 tensor + 2**40          the result is int32: OverflowError
 *   laze.full(n, 2**40, dtype=laze.int32), laze.tensor([2**40], dtype=laze.int32)      the same
 *   int32 tensor < 2**40          the result is bool: asked again of the tensor as int64, which has both
 *   int32 tensor / 2**40          the result is float32, which has a place for it
 *
 * Only the result says which dtype the number was converted to, so that it is looked at behind the call; a call whose
 * numbers are small is not looked at.
 */
#include "binding.h"

#include <math.h>

static bool is_integer_dtype(laze_dtype dtype) {
  char kind = laze_python_dtype_kind(dtype);
  return kind == 'i' || kind == 'u';
}

/* The numbers of an integer dtype; an unsigned one of 64 bits holds more than the first and the last say. */
static void find_range(laze_dtype dtype, int64_t *first, int64_t *last) {
  int bits = (int)(8 * laze_dtype_size(dtype));
  bool is_unsigned = laze_python_dtype_kind(dtype) == 'u';
  *last = INT64_MAX >> (is_unsigned && bits < 64 ? 63 - bits : 64 - bits);
  *first = is_unsigned ? 0 : -*last - 1;
}

static bool fits(laze_scalar number, laze_dtype dtype) {
  int64_t first, last;
  if (!is_integer_dtype(dtype) || number.dtype == LAZE_BOOL) return true;
  find_range(dtype, &first, &last);
  if (number.dtype == LAZE_I64) return number.value.integer >= first && number.value.integer <= last;
  if (number.dtype != LAZE_F64) return true; /* a complex number makes what is beside it complex */
  /* last + 1 is a power of two, which a float has; NaN is in no range. */
  double whole = trunc(number.value.real);
  return whole >= (double)first && whole < (double)(last / 2 + 1) * 2;
}

/* "2147483648", "nan": a new reference. */
static PyObject *number_object(laze_scalar number) {
  return number.dtype == LAZE_F64 ? PyFloat_FromDouble(number.value.real) : PyLong_FromLongLong(number.value.integer);
}

bool laze_python_check_range(const char *where, laze_scalar number, laze_dtype dtype) {
  if (fits(number, dtype)) return true;
  int64_t first, last;
  find_range(dtype, &first, &last);
  const char *name = laze_python_dtype_name(dtype);
  if (number.dtype == LAZE_F64 && isnan(number.value.real)) {
    char message[160];
    snprintf(message, sizeof message, "%.64s: NaN has no value in %s; give a dtype of floats, such as laze.float32",
             where, name);
    return laze_python_raise(LAZE_INVALID_ARGUMENT, message) != NULL;
  }
  laze_dtype wider = number.dtype == LAZE_F64 && !fits(number, LAZE_I64) ? LAZE_F64 : LAZE_I64;
  PyObject *shown = number_object(number);
  if (shown)
    laze_python_raise_overflow("%s: %R does not fit in %s, which holds %lld to %lld; give dtype=laze.%s, or convert "
                               "the tensors beside it with .to(laze.%s)",
                               where, shown, name, (long long)first, (long long)last, laze_python_dtype_name(wider),
                               laze_python_dtype_name(wider));
  Py_XDECREF(shown);
  return false;
}

bool laze_python_check_numbers(const char *where, const laze_python_arguments *arguments, laze_dtype result) {
  for (int32_t i = 0; i < arguments->count; i++)
    if (arguments->numbers >> i & 1 && !laze_python_check_range(where, arguments->items[i].value.scalar, result))
      return false;
  return true;
}

/* Whether a number of the call has no place in the dtype. */
static bool has_misfit(const laze_python_arguments *arguments, laze_dtype dtype) {
  for (int32_t i = 0; i < arguments->count; i++) {
    laze_scalar number = arguments->items[i].value.scalar;
    if (arguments->numbers >> i & 1 && number.dtype == LAZE_I64 && !fits(number, dtype)) return true;
  }
  return false;
}

bool laze_python_widen(laze_python_arguments *arguments) {
  bool widened = false;
  for (int32_t i = 0; i < arguments->count; i++) {
    laze_argument *item = &arguments->items[i];
    bool is_tensor = item->kind == LAZE_PASS_TENSOR && item->value.tensor;
    if (!is_tensor || !has_misfit(arguments, laze_tensor_dtype(item->value.tensor))) continue;
    const laze_argument cast[] = {*item, {.kind = LAZE_PASS_DTYPE, .value.integer = LAZE_I64}};
    laze_tensor *made = NULL;
    laze_call_by_name(NULL, "to", cast, 2, &made, 1);
    PyObject *wide = made ? laze_python_tensor(made) : NULL;
    if (!laze_python_argument_hold(arguments, wide)) return false;
    item->value.tensor = made;
    widened = true;
  }
  return widened;
}
