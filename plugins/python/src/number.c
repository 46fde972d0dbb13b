/* Python's operators on tensors: each is a call by name. Numbers take part as PyTorch has them: they do not change the
 * dtype of a tensor unless their kind is higher (an integer tensor plus 0.5 gives floats).
 */
#include "binding.h"

/* What an operator takes beside a tensor: numbers and arrays. Lists and all else are left to their own types. */
static bool is_operand(PyObject *object) {
  if (laze_python_is_tensor(object) || PyLong_Check(object) || PyFloat_Check(object)) return true;
  if (PyComplex_Check(object)) return true;
  if (object == Py_None || PyUnicode_Check(object) || PyBytes_Check(object)) return false;
  if (laze_python_has_dlpack(object) || PyIndex_Check(object)) return true;
  return laze_python_has(object, "dtype") && laze_python_has(object, "item");
}

static laze_dtype dtype_beside(laze_scalar scalar, laze_dtype other) {
  char kind = laze_python_dtype_kind(other);
  if (scalar.dtype == LAZE_C128) return kind == 'c' ? other : other == LAZE_F64 ? LAZE_C128 : LAZE_C64;
  if (scalar.dtype == LAZE_F64) return kind == 'f' || kind == 'c' ? other : LAZE_F32;
  return scalar.dtype == LAZE_I64 && kind == 'b' ? LAZE_I64 : other;
}

/* The number on the left of a tensor, as a tensor without dimensions whose dtype is what the number counts as. */
static PyObject *left_number(const char *name, PyObject *number, PyObject *tensor) {
  laze_python_arguments arguments = {.count = 0};
  laze_scalar scalar;
  if (!laze_python_argument_add(&arguments, number, LAZE_PYTHON_TAKES(LAZE_TAKES_SCALAR), name)) return NULL;
  const laze_argument *item = &arguments.items[0];
  if (item->kind == LAZE_PASS_BOOL)
    scalar = laze_scalar_boolean(item->value.integer != 0);
  else
    scalar = item->value.scalar;
  bool is_number = item->kind == LAZE_PASS_BOOL || item->kind == LAZE_PASS_SCALAR;
  laze_python_arguments_clear(&arguments);
  if (!is_number) return laze_python_raise_type("%R is no number", number);
  laze_dtype dtype = dtype_beside(scalar, laze_tensor_dtype(laze_python_handle(tensor)));
  if (!laze_python_check_range(name, scalar, dtype)) return NULL;
  return laze_python_tensor(laze_tensor_from_scalar(NULL, dtype, scalar));
}

static PyObject *binary(const char *name, PyObject *left, PyObject *right) {
  if (!is_operand(left) || !is_operand(right)) Py_RETURN_NOTIMPLEMENTED;
  if (laze_python_is_tensor(left) || laze_python_has_dlpack(left))
    return laze_python_call_objects(name, (PyObject *const[]){left, right}, 2);
  PyObject *number = left_number(name, left, right);
  PyObject *result = number ? laze_python_call_objects(name, (PyObject *const[]){number, right}, 2) : NULL;
  Py_XDECREF(number);
  return result;
}

/* A slot of a type carries nothing but the function, so that each operator needs one of its own. */
#define BINARY(slot, name)                                                                                             \
  static PyObject *slot(PyObject *left, PyObject *right) {                                                             \
    return binary(name, left, right);                                                                                  \
  }
#define UNARY(slot, name)                                                                                              \
  static PyObject *slot(PyObject *self) {                                                                              \
    return laze_python_call_objects(name, &self, 1);                                                                   \
  }

BINARY(number_add, "add")
BINARY(number_subtract, "sub")
BINARY(number_multiply, "mul")
BINARY(number_matrix_multiply, "matmul")
BINARY(number_floor_divide, "floor_divide")
BINARY(number_remainder, "remainder")
BINARY(number_and, "bitwise_and")
BINARY(number_or, "bitwise_or")
BINARY(number_xor, "bitwise_xor")
BINARY(number_left_shift, "bitwise_left_shift")
BINARY(number_right_shift, "bitwise_right_shift")
UNARY(number_negative, "neg")
UNARY(number_absolute, "abs")
UNARY(number_invert, "bitwise_not")

/* A quotient is a float, and so is an integer on its left, which an integer tensor's dtype may not hold. */
static PyObject *number_true_divide(PyObject *left, PyObject *right) {
  if (!PyLong_Check(left)) return binary("div", left, right);
  PyObject *real = PyNumber_Float(left);
  if (!real) PyErr_Clear(); /* too large for a float as well: the call says so */
  PyObject *result = binary("div", real ? real : left, right);
  Py_XDECREF(real);
  return result;
}

/* x += y: the tensor itself changes. */
static PyObject *in_place(const char *name, const char *called, PyObject *left, PyObject *right) {
  if (!is_operand(right)) Py_RETURN_NOTIMPLEMENTED;
  return laze_python_call_in_place(name, called, left, right);
}

#define IN_PLACE(slot, name)                                                                                           \
  static PyObject *slot(PyObject *left, PyObject *right) {                                                             \
    return in_place(name, name "_", left, right);                                                                      \
  }

IN_PLACE(number_add_to, "add")
IN_PLACE(number_subtract_from, "sub")
IN_PLACE(number_multiply_by, "mul")
IN_PLACE(number_divide_by, "div")
IN_PLACE(number_floor_divide_by, "floor_divide")
IN_PLACE(number_remainder_by, "remainder")
IN_PLACE(number_and_with, "bitwise_and")
IN_PLACE(number_or_with, "bitwise_or")
IN_PLACE(number_xor_with, "bitwise_xor")
IN_PLACE(number_left_shift_by, "bitwise_left_shift")
IN_PLACE(number_right_shift_by, "bitwise_right_shift")

static PyObject *number_raise_to(PyObject *left, PyObject *right, PyObject *modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return in_place("pow", "pow_", left, right);
}

static PyObject *number_power(PyObject *left, PyObject *right, PyObject *modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary("pow", left, right);
}

static PyObject *number_divmod(PyObject *left, PyObject *right) {
  PyObject *quotient = number_floor_divide(left, right);
  if (!quotient || quotient == Py_NotImplemented) return quotient;
  PyObject *rest = number_remainder(left, right);
  if (rest) return Py_BuildValue("(NN)", quotient, rest);
  Py_DECREF(quotient);
  return NULL;
}

static PyObject *number_positive(PyObject *self) {
  return laze_python_share(self);
}

static int number_bool(PyObject *self) {
  laze_scalar scalar;
  if (!laze_python_scalar(self, NULL, &scalar)) return -1;
  if (scalar.dtype == LAZE_C128) return scalar.value.real != 0 || scalar.imaginary != 0;
  return scalar.dtype == LAZE_F64 ? scalar.value.real != 0 : scalar.value.integer != 0;
}

static PyObject *number_float(PyObject *self) {
  PyObject *item = laze_python_item(self), *result = item ? PyNumber_Float(item) : NULL;
  Py_XDECREF(item);
  return result;
}

static PyObject *number_int(PyObject *self) {
  PyObject *item = laze_python_item(self), *result = item ? PyNumber_Long(item) : NULL;
  Py_XDECREF(item);
  return result;
}

static PyObject *number_index(PyObject *self) {
  laze_dtype dtype = laze_tensor_dtype(laze_python_handle(self));
  char kind = laze_python_dtype_kind(dtype);
  int64_t elements;
  if (!laze_python_elements(laze_python_handle(self), &elements)) return NULL;
  if (kind == 'f' || kind == 'c' || elements != 1)
    return laze_python_raise_type("only integer tensors of a single element can be an index, and this is %s of %lld",
                                  laze_python_dtype_name(dtype), (long long)elements);
  return number_int(self);
}

/* Compares with an integer of Python's that the 64 bits of the tensor's integers do not hold. */
static PyObject *compare_huge(const char *name, PyObject *tensor, PyObject *integer, int operation) {
  char kind = laze_python_dtype_kind(laze_tensor_dtype(laze_python_handle(tensor)));
  if (kind == 'f' || kind == 'c') {
    PyObject *real = PyNumber_Float(integer);
    PyObject *result = real ? laze_python_call_objects(name, (PyObject *const[]){tensor, real}, 2) : NULL;
    if (!real) {
      PyErr_Clear();
      laze_python_raise_too_large(integer, name, "a float");
    }
    Py_XDECREF(real);
    return result;
  }
  /* Every element is less than a large integer, and greater than one that is negative. */
  PyObject *zero = PyLong_FromLong(0);
  int negative = zero ? PyObject_RichCompareBool(integer, zero, Py_LT) : -1;
  Py_XDECREF(zero);
  if (negative < 0) return NULL;
  bool above = operation == Py_GT || operation == Py_GE, below = operation == Py_LT || operation == Py_LE;
  PyObject *holds = operation == Py_NE || (negative ? above : below) ? Py_True : Py_False;
  return laze_python_call_objects("full_like", (PyObject *const[]){tensor, holds, laze_python_dtype(LAZE_BOOL)}, 3);
}

static bool is_huge(PyObject *object, PyObject *tensor) {
  if (!PyLong_Check(object)) return false;
  int overflow;
  PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow <= 0 || laze_tensor_dtype(laze_python_handle(tensor)) != LAZE_U64) return overflow != 0;
  PyLong_AsUnsignedLongLong(object);
  bool is_beyond = PyErr_Occurred() != NULL;
  PyErr_Clear();
  return is_beyond;
}

PyObject *laze_python_compare(PyObject *left, PyObject *right, int operation) {
  static const char *const names[] = {
      [Py_LT] = "lt", [Py_LE] = "le", [Py_EQ] = "eq", [Py_NE] = "ne", [Py_GT] = "gt", [Py_GE] = "ge"};
  if (!is_operand(right)) Py_RETURN_NOTIMPLEMENTED;
  if (is_huge(right, left)) return compare_huge(names[operation], left, right, operation);
  return laze_python_call_objects(names[operation], (PyObject *const[]){left, right}, 2);
}

PyType_Slot laze_python_number_slots[] = {
    {Py_nb_add, number_add},
    {Py_nb_subtract, number_subtract},
    {Py_nb_multiply, number_multiply},
    {Py_nb_matrix_multiply, number_matrix_multiply},
    {Py_nb_true_divide, number_true_divide},
    {Py_nb_floor_divide, number_floor_divide},
    {Py_nb_remainder, number_remainder},
    {Py_nb_divmod, number_divmod},
    {Py_nb_power, number_power},
    {Py_nb_and, number_and},
    {Py_nb_or, number_or},
    {Py_nb_xor, number_xor},
    {Py_nb_lshift, number_left_shift},
    {Py_nb_rshift, number_right_shift},
    {Py_nb_inplace_add, number_add_to},
    {Py_nb_inplace_subtract, number_subtract_from},
    {Py_nb_inplace_multiply, number_multiply_by},
    {Py_nb_inplace_true_divide, number_divide_by},
    {Py_nb_inplace_floor_divide, number_floor_divide_by},
    {Py_nb_inplace_remainder, number_remainder_by},
    {Py_nb_inplace_power, number_raise_to},
    {Py_nb_inplace_and, number_and_with},
    {Py_nb_inplace_or, number_or_with},
    {Py_nb_inplace_xor, number_xor_with},
    {Py_nb_inplace_lshift, number_left_shift_by},
    {Py_nb_inplace_rshift, number_right_shift_by},
    {Py_nb_negative, number_negative},
    {Py_nb_positive, number_positive},
    {Py_nb_absolute, number_absolute},
    {Py_nb_invert, number_invert},
    {Py_nb_bool, number_bool},
    {Py_nb_float, number_float},
    {Py_nb_int, number_int},
    {Py_nb_index, number_index},
    {0, NULL},
};
