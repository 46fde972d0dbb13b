/* Tensors from nested lists of numbers, and from whatever else holds numbers.
 *
 *   [[1, 2], [3, 4.5]] ── walk ──> shape (2, 2), leaves 1 2 3 4.5, highest kind: float ──> f32[2,2]
 */
#include "binding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int64_t shape[LAZE_PYTHON_MAX_RANK];
  int32_t rank;     /* -1: not known before the first leaf */
  PyObject *leaves; /* a list of bools, integers, floats and complex numbers */
  laze_dtype dtype; /* what the highest leaf so far asks for */
} walk;

static bool is_sequence(PyObject *object) {
  return PyList_Check(object) || PyTuple_Check(object);
}

static bool is_number(PyObject *object) {
  return PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object);
}

static bool add_leaf(walk *self, PyObject *leaf, int32_t depth) {
  if (self->rank < 0) self->rank = depth;
  if (depth != self->rank)
    return laze_python_raise(LAZE_INVALID_ARGUMENT, "tensor: the lists are not nested to the same depth") != NULL;
  if (PyComplex_Check(leaf) || self->dtype == LAZE_C64)
    self->dtype = LAZE_C64;
  else if (PyFloat_Check(leaf))
    self->dtype = LAZE_F32;
  else if (!PyBool_Check(leaf) && self->dtype != LAZE_F32)
    self->dtype = LAZE_I64;
  else if (self->dtype == LAZE_DTYPE_NONE)
    self->dtype = LAZE_BOOL;
  return PyList_Append(self->leaves, leaf) == 0;
}

/* A number of another kind, or the lists of an array. */
static PyObject *simplify(PyObject *object) {
  if (laze_python_has(object, "tolist")) return PyObject_CallMethod(object, "tolist", NULL);
  if (PyIndex_Check(object)) return PyNumber_Index(object);
  if (laze_python_has(object, "__float__")) return PyNumber_Float(object);
  if (laze_python_has(object, "__complex__")) return PyObject_CallMethod(object, "__complex__", NULL);
  return laze_python_raise_type("tensor: %R is no number, and no list or array of numbers", object);
}

static bool visit(walk *self, PyObject *object, int32_t depth);

static bool visit_list(walk *self, PyObject *list, int32_t depth) {
  char message[128];
  Py_ssize_t count = PySequence_Size(list);
  if (count < 0) return false;
  if (depth == LAZE_PYTHON_MAX_RANK) return laze_python_raise_type("tensor: the lists are nested too deeply") != NULL;
  if (self->shape[depth] < 0) self->shape[depth] = count;
  if (self->shape[depth] != count) {
    snprintf(message, sizeof message, "tensor: expected a list of %lld items in dimension %d, and found %lld",
             (long long)self->shape[depth], (int)depth, (long long)count);
    return laze_python_raise(LAZE_INVALID_ARGUMENT, message) != NULL;
  }
  if (count == 0 && self->rank < 0) self->rank = depth + 1;
  if (self->rank >= 0 && depth >= self->rank)
    return laze_python_raise(LAZE_INVALID_ARGUMENT, "tensor: the lists are not nested to the same depth") != NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PySequence_GetItem(list, i);
    if (!item && PyErr_ExceptionMatches(PyExc_IndexError)) {
      PyErr_Clear();
      laze_python_raise_type("tensor: a list of %zd items has lost some while it was read", count);
    }
    bool visited = item && visit(self, item, depth + 1);
    Py_XDECREF(item);
    if (!visited) return false;
  }
  return true;
}

static bool visit(walk *self, PyObject *object, int32_t depth) {
  if (is_sequence(object)) return visit_list(self, object, depth);
  if (is_number(object)) return add_leaf(self, object, depth);
  PyObject *simple = simplify(object);
  bool is_simple = simple && (is_sequence(simple) || is_number(simple));
  if (simple && !is_simple) laze_python_raise_type("tensor: %R is no number", object);
  bool visited = is_simple && visit(self, simple, depth);
  Py_XDECREF(simple);
  return visited;
}

static bool refuse_complex(PyObject *leaf, laze_dtype dtype) {
  return laze_python_raise_type("tensor: %R is complex, and %s holds real numbers", leaf,
                                laze_python_dtype_name(dtype)) != NULL;
}

static bool write_complex(PyObject *leaf, char *out) {
  PyObject *number = PyComplex_Check(leaf) ? laze_python_share(leaf) : PyNumber_Float(leaf);
  if (!number) return false;
  double parts[] = {PyComplex_RealAsDouble(number), PyComplex_ImagAsDouble(number)};
  Py_DECREF(number);
  return memcpy(out, parts, sizeof parts), true;
}

static bool write_real(PyObject *leaf, laze_dtype dtype, char *out) {
  if (PyComplex_Check(leaf)) return refuse_complex(leaf, dtype);
  double real = PyFloat_AsDouble(leaf);
  if (real == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return laze_python_raise_too_large(leaf, "tensor", "a float") != NULL;
  }
  return memcpy(out, &real, sizeof real), true;
}

/* An integer that `dtype` holds; a float loses its fraction. */
static bool write_integer(PyObject *leaf, laze_dtype dtype, char *out) {
  bool is_real = PyFloat_Check(leaf);
  if (PyComplex_Check(leaf)) return refuse_complex(leaf, dtype);
  double real = is_real ? PyFloat_AsDouble(leaf) : 0;
  laze_scalar number = laze_scalar_real(real);
  if (!is_real && !laze_python_whole_number(leaf, "tensor", &number)) return false;
  if (!laze_python_check_range("tensor", number, dtype)) return false;
  int64_t integer = number.value.integer;
  if (is_real) integer = real < 0x1p63 ? (int64_t)real : (int64_t)(uint64_t)real;
  return memcpy(out, &integer, sizeof integer), true;
}

/* Writes a leaf for a tensor of `dtype`: as a c128, f64 or i64 (which wraps for u64), or a bool of one byte. */
static bool write_leaf(PyObject *leaf, laze_dtype dtype, laze_dtype host, char *out) {
  if (host == LAZE_C128) return write_complex(leaf, out);
  if (host == LAZE_F64) return write_real(leaf, dtype, out);
  if (host == LAZE_I64) return write_integer(leaf, dtype, out);
  int truth = PyObject_IsTrue(leaf);
  *out = truth > 0;
  return truth >= 0;
}

/* The leaves as one of the four dtypes of the host, and from there as `dtype`. */
static PyObject *build(walk *self, laze_dtype dtype) {
  char kind = laze_python_dtype_kind(dtype);
  laze_dtype host = kind == 'b'                  ? LAZE_BOOL
                    : kind == 'i' || kind == 'u' ? LAZE_I64
                    : kind == 'c'                ? LAZE_C128
                                                 : LAZE_F64;
  Py_ssize_t count = PyList_Size(self->leaves);
  size_t item = (size_t)laze_dtype_size(host);
  char *data = malloc(count ? (size_t)count * item : 1);
  if (!data) return PyErr_NoMemory();
  bool written = true;
  for (Py_ssize_t i = 0; written && i < count; i++)
    written = write_leaf(PyList_GetItem(self->leaves, i), dtype, host, data + (size_t)i * item);
  if (dtype == LAZE_F32) {
    for (Py_ssize_t i = 0; written && i < count; i++) {
      double real;
      memcpy(&real, data + i * 8, sizeof real);
      float single = (float)real;
      memcpy(data + i * 4, &single, sizeof single);
    }
    host = LAZE_F32;
  }
  PyObject *tensor =
      written ? laze_python_tensor(laze_tensor_from_data(NULL, host, (laze_ints){self->shape, self->rank}, data,
                                                         (size_t)count * (size_t)laze_dtype_size(host)))
              : NULL;
  free(data);
  return laze_python_cast(tensor, dtype);
}

PyObject *laze_python_from_lists(PyObject *data, laze_dtype dtype) {
  walk self = {.rank = -1, .leaves = PyList_New(0)};
  for (int32_t i = 0; i < LAZE_PYTHON_MAX_RANK; i++) self.shape[i] = -1;
  PyObject *tensor = NULL;
  if (self.leaves && visit(&self, data, 0)) {
    if (self.dtype == LAZE_DTYPE_NONE) self.dtype = LAZE_F32; /* no leaf: [] */
    tensor = build(&self, dtype == LAZE_DTYPE_NONE ? self.dtype : dtype);
  }
  Py_XDECREF(self.leaves);
  return tensor;
}

/* The tensor as `dtype` (LAZE_DTYPE_NONE: as it is). Takes the reference. */
PyObject *laze_python_cast(PyObject *tensor, laze_dtype dtype) {
  if (!tensor || dtype == LAZE_DTYPE_NONE || laze_tensor_dtype(laze_python_handle(tensor)) == dtype) return tensor;
  PyObject *cast = laze_python_call_objects("to", (PyObject *const[]){tensor, laze_python_dtype(dtype)}, 2);
  Py_DECREF(tensor);
  return cast;
}

PyObject *laze_python_from_any(PyObject *data, laze_dtype dtype, bool copy) {
  if (laze_python_is_tensor(data)) {
    PyObject *cast = laze_python_cast(laze_python_share(data), dtype);
    if (!copy || cast != data) return cast;
    Py_DECREF(cast);
    return laze_python_call_objects("clone", &data, 1);
  }
  if (is_sequence(data) || is_number(data)) return laze_python_from_lists(data, dtype);
  /* NumPy's scalars have a buffer as well, and are numbers. */
  bool scalar = laze_python_has(data, "item") && !laze_python_has_dlpack(data);
  if (PyObject_CheckBuffer(data) && !scalar) return laze_python_cast(laze_python_from_buffer(data, copy), dtype);
  if (!laze_python_has_dlpack(data)) return laze_python_from_lists(data, dtype);
  PyObject *tensor = laze_python_cast(laze_python_from_dlpack(data), dtype);
  if (!tensor || !copy) return tensor;
  /* Others may write to the memory behind it. */
  Py_buffer view;
  if (PyObject_GetBuffer(tensor, &view, PyBUF_FULL_RO) < 0) return Py_DECREF(tensor), NULL;
  laze_tensor *handle = laze_python_handle(tensor);
  int64_t shape[LAZE_PYTHON_MAX_RANK];
  for (int i = 0; i < view.ndim; i++) shape[i] = view.shape[i];
  PyObject *copied = laze_python_tensor(laze_tensor_from_data(
      NULL, laze_tensor_dtype(handle), (laze_ints){shape, view.ndim}, view.buf, (size_t)view.len));
  PyBuffer_Release(&view);
  Py_DECREF(tensor);
  return copied;
}
