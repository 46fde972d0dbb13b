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

static void find_range(laze_dtype dtype, int64_t *first, uint64_t *last) {
  int bits = (int)(8 * laze_dtype_size(dtype));
  bool is_unsigned = laze_python_dtype_kind(dtype) == 'u';
  *last = UINT64_MAX >> (is_unsigned ? 64 - bits : 65 - bits);
  *first = is_unsigned ? 0 : -(int64_t)*last - 1;
}

static bool fits(laze_scalar number, laze_dtype dtype) {
  int64_t first;
  uint64_t last;
  if (!is_integer_dtype(dtype) || number.dtype == LAZE_BOOL) return true;
  find_range(dtype, &first, &last);
  const uint64_t bits = (uint64_t)number.value.integer;
  if (number.dtype == LAZE_I64) return number.value.integer >= first && (number.value.integer < 0 || bits <= last);
  if (number.dtype == LAZE_U64) return bits <= last;
  if (number.dtype != LAZE_F64) return true; /* a complex number makes what is beside it complex */
  /* last + 1 is a power of two, which a float has; NaN is in no range. */
  double whole = trunc(number.value.real);
  return whole >= (double)first && whole < (double)(last / 2 + 1) * 2;
}

/* "2147483648", "nan": a new reference. */
static PyObject *number_object(laze_scalar number) {
  if (number.dtype == LAZE_U64) return PyLong_FromUnsignedLongLong((uint64_t)number.value.integer);
  return number.dtype == LAZE_F64 ? PyFloat_FromDouble(number.value.real) : PyLong_FromLongLong(number.value.integer);
}

bool laze_python_check_range(const char *where, laze_scalar number, laze_dtype dtype) {
  if (fits(number, dtype)) return true;
  int64_t first;
  uint64_t last;
  find_range(dtype, &first, &last);
  const char *name = laze_python_dtype_name(dtype);
  if (number.dtype == LAZE_F64 && isnan(number.value.real)) {
    char message[160];
    snprintf(message, sizeof message, "%.64s: NaN has no value in %s; give a dtype of floats, such as laze.float32",
             where, name);
    return laze_python_raise(LAZE_INVALID_ARGUMENT, message) != NULL;
  }
  laze_dtype wider = LAZE_I64;
  if (!fits(number, LAZE_I64)) wider = number.dtype == LAZE_F64 ? LAZE_F64 : LAZE_U64;
  PyObject *shown = number_object(number);
  if (shown)
    laze_python_raise_overflow("%s: %R does not fit in %s, which holds %lld to %llu; give dtype=laze.%s, or convert "
                               "the tensors beside it with .to(laze.%s)",
                               where, shown, name, (long long)first, (unsigned long long)last,
                               laze_python_dtype_name(wider), laze_python_dtype_name(wider));
  Py_XDECREF(shown);
  return false;
}

bool laze_python_check_numbers(const char *where, const laze_python_arguments *arguments, laze_dtype result) {
  for (int32_t i = 0; i < arguments->count; i++)
    if (arguments->numbers >> i & 1 && !laze_python_check_range(where, arguments->items[i].value.scalar, result))
      return false;
  return true;
}

/* An integer of the call that has no place in the dtype, or NULL. */
static const laze_scalar *find_misfit(const laze_python_arguments *arguments, laze_dtype dtype) {
  for (int32_t i = 0; i < arguments->count; i++) {
    const laze_scalar *number = &arguments->items[i].value.scalar;
    if (arguments->numbers >> i & 1 && number->dtype != LAZE_F64 && !fits(*number, dtype)) return number;
  }
  return NULL;
}

/* As int64. What is beside a tensor of uint64 is negative, and compares alike with all that is not. */
static laze_tensor *widen_tensor(laze_argument tensor) {
  laze_argument arguments[] = {tensor, {.kind = LAZE_PASS_SCALAR, .value.scalar = laze_scalar_integer(1)}};
  laze_tensor *halved = NULL, *made = NULL;
  bool halves = laze_tensor_dtype(tensor.value.tensor) == LAZE_U64;
  if (halves) laze_call_by_name(NULL, "bitwise_right_shift", arguments, 2, &halved, 1);
  if (halves) arguments[0].value.tensor = halved;
  arguments[1] = (laze_argument){.kind = LAZE_PASS_DTYPE, .value.integer = LAZE_I64};
  laze_call_by_name(NULL, "to", arguments, 2, &made, 1);
  laze_tensor_release(halved);
  return made;
}

bool laze_python_widen(const char *where, laze_python_arguments *arguments) {
  bool widened = false;
  for (int32_t i = 0; i < arguments->count; i++) {
    laze_argument *item = &arguments->items[i];
    bool is_tensor = item->kind == LAZE_PASS_TENSOR && item->value.tensor;
    const laze_scalar *misfit = is_tensor ? find_misfit(arguments, laze_tensor_dtype(item->value.tensor)) : NULL;
    if (!misfit) continue;
    if (!laze_python_check_range(where, *misfit, LAZE_I64)) return false;
    laze_tensor *made = widen_tensor(*item);
    PyObject *wide = made ? laze_python_tensor(made) : NULL;
    if (!laze_python_argument_hold(arguments, wide)) return false;
    item->value.tensor = made;
    widened = true;
  }
  return widened;
}
