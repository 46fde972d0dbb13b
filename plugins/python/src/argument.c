/* Python objects as arguments of a call by name. What the schemas take at a place decides where an object may mean
 * several things: a string is a dtype where a dtype is wanted, a tensor of one element is a number where no tensor is.
 */
#include "binding.h"

#include <string.h>

#define TAKES(what) LAZE_PYTHON_TAKES(LAZE_TAKES_##what)
static const laze_python_takes takes_number = TAKES(SCALAR) | TAKES(INTEGER) | TAKES(REAL) | TAKES(BOOL);
static const laze_python_takes takes_list =
    TAKES(TENSORS) | TAKES(OPTIONAL_TENSORS) | TAKES(INTEGERS) | TAKES(REALS) | TAKES(STRINGS);

typedef struct {
  laze_python_arguments *arguments;
  laze_python_takes takes;
  const char *where;
} converter;

/* What the schemas take there, sizes being integers. A dtype beside others says by itself that it is one. */
static laze_python_takes kinds(const converter *self) {
  const laze_python_takes all = self->takes & ~LAZE_PYTHON_TAKES_SIZE, others = all & ~TAKES(DTYPE);
  return others ? others : all;
}

static bool takes_sizes(const converter *self) {
  return (self->takes & LAZE_PYTHON_TAKES_SIZE) != 0;
}

laze_python_takes laze_python_takes_of(const laze_operator_argument *argument) {
  bool size = strncmp(argument->type, "SymInt", 6) == 0;
  return LAZE_PYTHON_TAKES(argument->takes) | (size ? LAZE_PYTHON_TAKES_SIZE : 0);
}

bool laze_python_argument_hold(laze_python_arguments *arguments, PyObject *object) {
  if (!object) return false;
  if (!arguments->held) arguments->held = PyList_New(0);
  bool held = arguments->held && PyList_Append(arguments->held, object) == 0;
  Py_DECREF(object);
  return held;
}

/* Room for an array that lives until the call is over. */
static void *hold_memory(laze_python_arguments *arguments, Py_ssize_t count, size_t size) {
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)size);
  char *memory = bytes ? PyBytes_AsString(bytes) : NULL;
  return laze_python_argument_hold(arguments, bytes) ? memory : NULL;
}

void laze_python_arguments_clear(laze_python_arguments *arguments) {
  Py_CLEAR(arguments->held);
  arguments->count = 0;
  arguments->numbers = 0;
}

laze_scalar laze_python_complex(PyObject *object) {
  return laze_scalar_complex(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
}

static laze_argument pass_scalar(laze_scalar scalar) {
  if (scalar.dtype == LAZE_BOOL) return (laze_argument){.kind = LAZE_PASS_BOOL, .value.integer = scalar.value.integer};
  return (laze_argument){.kind = LAZE_PASS_SCALAR, .value.scalar = scalar};
}

/* Of arrays, those of integers without dimensions. */
static bool is_index(PyObject *object) {
  PyObject *integer = PyNumber_Index(object);
  PyErr_Clear();
  Py_XDECREF(integer);
  return integer != NULL;
}

bool laze_python_is_integer(PyObject *object) {
  if (PyBool_Check(object)) return false;
  if (PyLong_Check(object)) return true;
  if (laze_python_is_tensor(object)) {
    char kind = laze_python_dtype_kind(laze_tensor_dtype(laze_python_handle(object)));
    return laze_tensor_rank(laze_python_handle(object)) == 0 && (kind == 'i' || kind == 'u');
  }
  return PyIndex_Check(object) && (!laze_python_has_dlpack(object) || is_index(object));
}

/* Switches, of which a list is passed as numbers: output_mask=[True, False, True]. */
static bool are_switches(PyObject *const *items, Py_ssize_t count) {
  Py_ssize_t found = 0;
  while (found < count && PyBool_Check(items[found])) found++;
  return count > 0 && found == count;
}

static bool integer_at(PyObject *const *items, Py_ssize_t i, const char *where, int64_t *out) {
  if (PyBool_Check(items[i]) || !PyIndex_Check(items[i]))
    return laze_python_raise_type("%s: element %zd of the list is %R, and no integer", where, i, items[i]) != NULL;
  PyObject *integer = PyNumber_Index(items[i]);
  bool fits = integer && laze_python_integer(integer, where, out);
  Py_XDECREF(integer);
  return fits;
}

/* Sizes of which some are tensors, which are not computed. */
static bool add_sizes(laze_python_arguments *arguments, PyObject *const *items, Py_ssize_t count, const char *where) {
  laze_size_item *sizes = hold_memory(arguments, count, sizeof *sizes);
  if (!sizes) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    bool tensor = laze_python_is_tensor(items[i]) && laze_python_is_integer(items[i]);
    sizes[i] = (laze_size_item){tensor ? laze_python_handle(items[i]) : NULL, 0};
    if (tensor && !laze_python_argument_hold(arguments, laze_python_share(items[i]))) return false;
    if (!tensor && !integer_at(items, i, where, &sizes[i].number)) return false;
  }
  arguments->items[arguments->count++] =
      (laze_argument){.kind = LAZE_PASS_SIZES, .count = (int32_t)count, .value.sizes = sizes};
  return true;
}

bool laze_python_argument_add_integers(laze_python_arguments *arguments, PyObject *const *items, Py_ssize_t count,
                                       bool sizes, const char *where) {
  if (arguments->count == LAZE_PYTHON_MAX_ARGUMENTS || count > INT32_MAX)
    return laze_python_raise_type("%s: too many arguments", where) != NULL;
  for (Py_ssize_t i = 0; sizes && i < count; i++)
    if (laze_python_is_tensor(items[i]) && laze_python_is_integer(items[i]))
      return add_sizes(arguments, items, count, where);
  int64_t *integers = hold_memory(arguments, count, sizeof *integers);
  if (!integers) return false;
  const bool switches = !sizes && are_switches(items, count);
  for (Py_ssize_t i = 0; i < count; i++) {
    if (switches) integers[i] = items[i] == Py_True;
    if (!switches && !integer_at(items, i, where, &integers[i])) return false;
  }
  arguments->items[arguments->count++] =
      (laze_argument){.kind = LAZE_PASS_INTEGERS, .count = (int32_t)count, .value.integers = integers};
  return true;
}

static bool add(converter *self, laze_argument argument) {
  if (self->arguments->count == LAZE_PYTHON_MAX_ARGUMENTS)
    return laze_python_raise_type("%s: too many arguments", self->where) != NULL;
  self->arguments->items[self->arguments->count++] = argument;
  return true;
}

/* Of a call in a graph that is being built. */
static bool add_values(converter *self, PyObject *const *items, Py_ssize_t count) {
  laze_value *values = hold_memory(self->arguments, count, sizeof *values);
  if (!values) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (items[i] != Py_None && !laze_python_is_value(items[i]))
      return laze_python_raise_type("%s: element %zd of the list is %R, and no value", self->where, i, items[i]) !=
             NULL;
    values[i] = items[i] == Py_None ? LAZE_VALUE_NONE : laze_python_value(items[i]);
  }
  return add(self, (laze_argument){.kind = LAZE_PASS_VALUES, .count = (int32_t)count, .value.values = values});
}

static bool add_tensors(converter *self, PyObject *const *items, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (laze_python_is_value(items[i])) return add_values(self, items, count);
  laze_tensor **handles = hold_memory(self->arguments, count, sizeof *handles);
  if (!handles) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    handles[i] = NULL; /* None, where each may be absent */
    if (items[i] == Py_None) continue;
    PyObject *tensor = laze_python_from_any(items[i], LAZE_DTYPE_NONE, false);
    if (!tensor) return false;
    handles[i] = laze_python_handle(tensor);
    if (!laze_python_argument_hold(self->arguments, tensor)) return false;
  }
  self->arguments->items[self->arguments->count++] =
      (laze_argument){.kind = LAZE_PASS_TENSORS, .count = (int32_t)count, .value.tensors = handles};
  return true;
}

/* An array, and not one of NumPy's scalars, which have a buffer as well. */
static bool is_memory(PyObject *object) {
  return laze_python_has_dlpack(object) ||
         (PyObject_CheckBuffer(object) && !PyBytes_Check(object) && !laze_python_has(object, "item"));
}

static bool add_reals(converter *self, PyObject *const *items, Py_ssize_t count) {
  double *reals = hold_memory(self->arguments, count, sizeof *reals);
  if (!reals) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    reals[i] = PyFloat_AsDouble(items[i]);
    if (reals[i] == -1 && PyErr_Occurred()) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
      return laze_python_raise_type("%s: element %zd of the list is %R, and no number", self->where, i, items[i]) !=
             NULL;
    }
  }
  return add(self, (laze_argument){.kind = LAZE_PASS_REALS, .count = (int32_t)count, .value.reals = reals});
}

static bool add_strings(converter *self, PyObject *const *items, Py_ssize_t count) {
  const char **strings = hold_memory(self->arguments, count, sizeof *strings);
  if (!strings) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!PyUnicode_Check(items[i]))
      return laze_python_raise_type("%s: element %zd of the list is %R, and no string", self->where, i, items[i]) !=
             NULL;
    Py_ssize_t length;
    strings[i] = laze_python_text(items[i], self->where);
    if (!strings[i] || !PyUnicode_AsUTF8AndSize(items[i], &length)) return false;
    if (strlen(strings[i]) != (size_t)length)
      return laze_python_raise(LAZE_INVALID_ARGUMENT, "a string in a list holds no byte 0") != NULL;
  }
  return add(self, (laze_argument){.kind = LAZE_PASS_STRINGS, .count = (int32_t)count, .value.strings = strings});
}

/* What a list is taken for: what the schemas want there, or else what its items are. */
static laze_python_takes kind_of_list(laze_python_takes takes, PyObject *const *items, Py_ssize_t count) {
  bool reals = false;
  takes &= takes_list;
  if (takes && !(takes & (takes - 1))) return takes;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (PyUnicode_Check(items[i])) return TAKES(STRINGS);
    if (items[i] == Py_None || PyList_Check(items[i]) || PyTuple_Check(items[i])) return TAKES(TENSORS);
    if (laze_python_is_tensor(items[i]) || laze_python_is_value(items[i]) || is_memory(items[i])) return TAKES(TENSORS);
    reals = reals || PyFloat_Check(items[i]);
  }
  return reals ? TAKES(REALS) : TAKES(INTEGERS);
}

/* A list or tuple: of tensors or arrays, of strings, or else of numbers. */
static bool add_list(converter *self, PyObject *object) {
  PyObject *items = PySequence_Tuple(object);
  if (!items || !laze_python_argument_hold(self->arguments, items)) return false;
  Py_ssize_t count = PyTuple_Size(items);
  PyObject **objects = hold_memory(self->arguments, count, sizeof *objects); /* borrowed from the tuple */
  if (!objects) return false;
  for (Py_ssize_t i = 0; i < count; i++) objects[i] = PyTuple_GetItem(items, i);
  laze_python_takes kind = kind_of_list(kinds(self), objects, count);
  if (kind & (TAKES(TENSORS) | TAKES(OPTIONAL_TENSORS))) return add_tensors(self, objects, count);
  if (kind & TAKES(STRINGS)) return add_strings(self, objects, count);
  if (kind & TAKES(REALS)) return add_reals(self, objects, count);
  return laze_python_argument_add_integers(self->arguments, objects, count, takes_sizes(self), self->where);
}

/* A number, which is marked where it may become an element that not every dtype of integers holds. */
static bool add_number(converter *self, laze_scalar number) {
  bool is_element = !kinds(self) || kinds(self) & (TAKES(SCALAR) | TAKES(TENSOR));
  bool is_small = number.dtype != LAZE_F64 ? number.value.integer >= 0 && number.value.integer <= INT8_MAX
                                           : number.value.real >= 0 && number.value.real <= INT8_MAX;
  if (is_element && !is_small && self->arguments->count < LAZE_PYTHON_MAX_ARGUMENTS)
    self->arguments->numbers |= (uint32_t)1 << self->arguments->count;
  return add(self, pass_scalar(number));
}

static bool add_integer(converter *self, PyObject *object) {
  laze_scalar value;
  return laze_python_whole_number(object, self->where, &value) && add_number(self, value);
}

static bool add_tensor(converter *self, PyObject *tensor) {
  laze_tensor *handle = laze_python_handle(tensor);
  bool size = takes_sizes(self) && laze_python_is_integer(tensor) && !(kinds(self) & TAKES(TENSOR));
  bool shape = takes_sizes(self) && kinds(self) == TAKES(INTEGERS) && laze_tensor_rank(handle) == 1;
  if (shape || (size && kinds(self) & TAKES(INTEGER)))
    return add(self, (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = handle});
  if (kinds(self) == TAKES(INTEGERS))
    return laze_python_argument_add_integers(self->arguments, &tensor, 1, takes_sizes(self), self->where);
  if (kinds(self) && !(kinds(self) & TAKES(TENSOR)) && kinds(self) & takes_number) {
    laze_scalar scalar;
    return laze_python_scalar(tensor, self->where, &scalar) && add(self, pass_scalar(scalar));
  }
  return add(self, (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = laze_python_handle(tensor)});
}

static bool add_dtype(converter *self, PyObject *object) {
  laze_dtype dtype;
  if (!laze_python_dtype_from(object, &dtype)) return false;
  return add(self, (laze_argument){.kind = LAZE_PASS_DTYPE, .value.integer = dtype});
}

/* True where it is one of Python's own kinds, and *done says whether it was added. */
static bool add_builtin(converter *self, PyObject *object, bool *done) {
  if (object == Py_None)
    *done = add(self, (laze_argument){.kind = LAZE_PASS_NONE});
  else if (PyBool_Check(object))
    *done = add(self, pass_scalar(laze_scalar_boolean(object == Py_True)));
  else if (PyLong_Check(object) && kinds(self) == TAKES(INTEGERS))
    *done = laze_python_argument_add_integers(self->arguments, &object, 1, false, self->where);
  else if (PyLong_Check(object))
    *done = add_integer(self, object);
  else if (PyFloat_Check(object))
    *done = add_number(self, laze_scalar_real(PyFloat_AsDouble(object)));
  else if (PyComplex_Check(object))
    *done = add(self, pass_scalar(laze_python_complex(object)));
  else if (laze_python_is_dtype(object) || (kinds(self) & TAKES(DTYPE) && !(kinds(self) & TAKES(STRING))) ||
           (PyUnicode_Check(object) && self->takes & TAKES(DTYPE) && !(kinds(self) & TAKES(STRING))))
    *done = add_dtype(self, object);
  else if (PyUnicode_Check(object)) {
    const char *text = laze_python_text(object, self->where);
    *done = text && add(self, (laze_argument){.kind = LAZE_PASS_STRING, .value.string = text});
  } else
    return false;
  return true;
}

/* A number of another library: NumPy's scalars say what they are by item(), others by __index__ or __float__. */
static PyObject *as_number(PyObject *object) {
  if (laze_python_has(object, "item") && laze_python_has(object, "dtype")) {
    PyObject *item = PyObject_CallMethod(object, "item", NULL);
    const bool is_number = item && (PyLong_Check(item) || PyFloat_Check(item) || PyComplex_Check(item));
    if (!is_number) Py_CLEAR(item);
    return item;
  }
  if (PyIndex_Check(object)) return PyNumber_Index(object);
  return laze_python_has(object, "__float__") ? PyNumber_Float(object) : NULL;
}

bool laze_python_argument_add(laze_python_arguments *arguments, PyObject *object, laze_python_takes takes,
                              const char *where) {
  converter self = {arguments, takes, where};
  bool done;
  if (laze_python_is_tensor(object)) return add_tensor(&self, object);
  if (laze_python_is_value(object))
    return add(&self, (laze_argument){.kind = LAZE_PASS_VALUE, .value.value = laze_python_value(object)});
  if (add_builtin(&self, object, &done)) return done;
  bool is_shape = kinds(&self) == TAKES(INTEGERS);
  if (is_shape && is_memory(object) && laze_python_is_integer(object))
    return laze_python_argument_add_integers(arguments, &object, 1, false, where);
  if (PyList_Check(object) || PyTuple_Check(object) || (is_shape && is_memory(object))) return add_list(&self, object);
  if (is_memory(object)) {
    PyObject *tensor = laze_python_from_any(object, LAZE_DTYPE_NONE, false);
    return laze_python_argument_hold(arguments, tensor) && add_tensor(&self, tensor);
  }
  PyObject *number = as_number(object);
  if (number && add_builtin(&self, number, &done)) {
    Py_DECREF(number);
    return done;
  }
  Py_XDECREF(number);
  if (!PyErr_Occurred()) laze_python_raise_type("%s: %R cannot be an argument", where, object);
  return false;
}
