/* Values of tensors as Python's: numbers, nested lists, text. All of them compute the tensor, without the GIL. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

/* The dtype as which elements are read: of every integer but u64 i64, of every float f64, of every complex one c128. */
static laze_dtype host_dtype(laze_dtype dtype) {
  char kind = laze_python_dtype_kind(dtype);
  if (kind == 'b' || dtype == LAZE_U64) return dtype;
  return kind == 'f' ? LAZE_F64 : kind == 'c' ? LAZE_C128 : LAZE_I64;
}

static laze_status read_values(laze_tensor *handle, laze_dtype dtype, void *data, size_t size) {
  laze_status status;
  const laze_python_place place = laze_python_find_reader();
  Py_BEGIN_ALLOW_THREADS status = laze_tensor_read_at(handle, dtype, data, size, place.file, place.line);
  Py_END_ALLOW_THREADS return status;
}

/* Where the size follows from values, one graph computes both. */
static bool compute_unknown(laze_tensor *handle) {
  laze_status status = LAZE_OK;
  if (laze_python_knows_shape(handle)) return true;
  const laze_python_place place = laze_python_find_reader();
  Py_BEGIN_ALLOW_THREADS status = laze_tensor_materialise_at(handle, place.file, place.line);
  Py_END_ALLOW_THREADS return status == LAZE_OK || laze_python_raise(status, laze_tensor_error(handle)) != NULL;
}

static PyObject *number_of(laze_dtype dtype, const char *data) {
  double real, parts[2];
  int64_t integer;
  if (dtype == LAZE_C128) return memcpy(parts, data, sizeof parts), PyComplex_FromDoubles(parts[0], parts[1]);
  if (dtype == LAZE_BOOL) return PyBool_FromLong(*data);
  if (dtype == LAZE_F64) return memcpy(&real, data, sizeof real), PyFloat_FromDouble(real);
  memcpy(&integer, data, sizeof integer);
  return dtype == LAZE_U64 ? PyLong_FromUnsignedLongLong((uint64_t)integer) : PyLong_FromLongLong(integer);
}

bool laze_python_scalar(PyObject *tensor, const char *where, laze_scalar *out) {
  laze_tensor *handle = laze_python_handle(tensor);
  int64_t elements;
  if (!compute_unknown(handle) || !laze_python_elements(handle, &elements)) return false;
  char message[160], data[16] = {0};
  if (elements != 1) {
    snprintf(message, sizeof message, "%s%sa tensor of %lld elements has no single value; %s", where ? where : "",
             where ? ": " : "", (long long)elements,
             where ? "a number is expected here" : "use any(), all() or index it");
    return laze_python_raise(LAZE_INVALID_ARGUMENT, message) != NULL;
  }
  laze_dtype dtype = host_dtype(laze_tensor_dtype(handle));
  laze_status status = read_values(handle, dtype, data, (size_t)laze_dtype_size(dtype));
  if (status != LAZE_OK) return laze_python_raise(status, laze_tensor_error(handle)) != NULL;
  *out = (laze_scalar){.dtype = dtype};
  if (dtype == LAZE_BOOL)
    out->value.integer = data[0] != 0;
  else
    memcpy(&out->value, data, sizeof out->value);
  if (dtype == LAZE_C128) memcpy(&out->imaginary, data + sizeof out->value, sizeof out->imaginary);
  if (dtype == LAZE_U64) *out = laze_scalar_unsigned((uint64_t)out->value.integer);
  return true;
}

PyObject *laze_python_item(PyObject *tensor) {
  laze_scalar scalar;
  if (!laze_python_scalar(tensor, NULL, &scalar)) return NULL;
  if (scalar.dtype == LAZE_C128) return PyComplex_FromDoubles(scalar.value.real, scalar.imaginary);
  if (scalar.dtype == LAZE_F64) return PyFloat_FromDouble(scalar.value.real);
  if (scalar.dtype == LAZE_U64) return PyLong_FromUnsignedLongLong((uint64_t)scalar.value.integer);
  return scalar.dtype == LAZE_BOOL ? PyBool_FromLong(scalar.value.integer != 0)
                                   : PyLong_FromLongLong(scalar.value.integer);
}

/* The list of an axis and those inside it; *data moves on. A tensor's rank is small. */
static PyObject *nest(laze_tensor *handle, int32_t axis, laze_dtype dtype, const char **data) {
  if (axis == laze_tensor_rank(handle)) {
    PyObject *number = number_of(dtype, *data);
    *data += laze_dtype_size(dtype);
    return number;
  }
  Py_ssize_t size = (Py_ssize_t)laze_tensor_size(handle, axis);
  PyObject *list = PyList_New(size);
  for (Py_ssize_t i = 0; list && i < size; i++) {
    PyObject *item = nest(handle, axis + 1, dtype, data);
    if (!item)
      Py_CLEAR(list);
    else
      PyList_SetItem(list, i, item);
  }
  return list;
}

static PyObject *refuse_list(int64_t elements, size_t size) {
  char message[128];
  snprintf(message, sizeof message, "tolist: no memory for a list of %lld elements, whose values take %llu bytes",
           (long long)elements, (unsigned long long)size);
  return laze_python_raise(LAZE_OUT_OF_MEMORY, message);
}

PyObject *laze_python_list(PyObject *tensor) {
  laze_tensor *handle = laze_python_handle(tensor);
  laze_dtype dtype = host_dtype(laze_tensor_dtype(handle));
  int64_t elements;
  if (!compute_unknown(handle) || !laze_python_elements(handle, &elements)) return NULL;
  size_t size = (size_t)elements * (size_t)laze_dtype_size(dtype);
  char *data = malloc(size ? size : 1);
  if (!data) return refuse_list(elements, size);
  laze_status status = read_values(handle, dtype, data, size);
  const char *next = data;
  PyObject *list =
      status == LAZE_OK ? nest(handle, 0, dtype, &next) : laze_python_raise(status, laze_tensor_error(handle));
  free(data);
  return list;
}

PyObject *laze_python_bytes(PyObject *tensor) {
  laze_tensor *handle = laze_python_handle(tensor);
  laze_dtype dtype = laze_tensor_dtype(handle);
  int64_t elements;
  if (!compute_unknown(handle) || !laze_python_elements(handle, &elements)) return NULL;
  Py_ssize_t size = (Py_ssize_t)(elements * laze_dtype_size(dtype));
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
  if (!bytes) return NULL;
  laze_status status = read_values(handle, dtype, PyBytes_AsString(bytes), (size_t)size);
  if (status == LAZE_OK) return bytes;
  Py_DECREF(bytes);
  return laze_python_raise(status, laze_tensor_error(handle));
}

/* The dtypes that a tensor of such numbers has anyway. */
static bool is_default_dtype(laze_dtype dtype) {
  return dtype == LAZE_F32 || dtype == LAZE_I64 || dtype == LAZE_BOOL || dtype == LAZE_C64;
}

/* What follows the values: the shape where there are none, a dtype that they do not tell, that gradients go to it. */
static PyObject *write_rest(laze_tensor *handle) {
  laze_dtype dtype = laze_tensor_dtype(handle);
  PyObject *shape =
      laze_tensor_elements(handle) == 0 && laze_tensor_rank(handle) > 1 ? laze_python_shape(handle) : NULL;
  PyObject *rest = NULL;
  if (!PyErr_Occurred() && shape)
    rest = PyUnicode_FromFormat(", shape=%R", shape);
  else if (!PyErr_Occurred())
    rest = PyUnicode_FromString("");
  Py_XDECREF(shape);
  const bool is_leaf = laze_tensor_requires_grad(handle) && laze_tensor_is_leaf(handle);
  if (!rest || (is_default_dtype(dtype) && !is_leaf)) return rest;
  const char *name = is_default_dtype(dtype) ? NULL : laze_python_dtype_name(dtype);
  PyObject *both = PyUnicode_FromFormat("%U%s%s%s", rest, name ? ", dtype=laze." : "", name ? name : "",
                                        is_leaf ? ", requires_grad=True" : "");
  Py_DECREF(rest);
  return both;
}

/* "tensor([[1 2]\n        [3 4]], dtype=laze.int32)" of the values' text, whose lines are moved below each other. */
static PyObject *wrap_text(laze_tensor *handle, const char *text) {
  PyObject *values = PyUnicode_FromString(text), *separator = PyUnicode_FromString("\n       ");
  PyObject *lines = values && separator ? PyUnicode_Splitlines(values, 0) : NULL;
  PyObject *joined = lines ? PyUnicode_Join(separator, lines) : NULL;
  PyObject *rest = joined ? write_rest(handle) : NULL;
  PyObject *result = rest ? PyUnicode_FromFormat("tensor(%U%U)", joined, rest) : NULL;
  Py_XDECREF(values);
  Py_XDECREF(separator);
  Py_XDECREF(lines);
  Py_XDECREF(joined);
  Py_XDECREF(rest);
  return result;
}

PyObject *laze_python_repr(PyObject *tensor) {
  laze_tensor *handle = laze_python_handle(tensor);
  laze_error error = {0};
  laze_status status;
  size_t size = 4096, needed = 0;
  char *text = malloc(size);
  const laze_python_place place = laze_python_find_reader();
  PyThreadState *state = PyEval_SaveThread();
  status =
      text ? laze_tensor_format_at(handle, text, size, &needed, &error, place.file, place.line) : LAZE_OUT_OF_MEMORY;
  if (status == LAZE_OK && needed >= size) {
    free(text);
    text = malloc(needed + 1);
    status = text ? laze_tensor_format_at(handle, text, needed + 1, NULL, &error, place.file, place.line)
                  : LAZE_OUT_OF_MEMORY;
  }
  PyEval_RestoreThread(state);
  PyObject *result = status == LAZE_OK ? wrap_text(handle, text) : laze_python_raise(status, error.message);
  free(text);
  return result;
}
