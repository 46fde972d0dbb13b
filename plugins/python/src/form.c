/* What programs for PyTorch ask of a tensor's form and place, where the answer follows from its dtype, sizes
 * and strides: tensors are on the CPU. As methods, and where PyTorch has them, as functions of the module.
 */
#include "binding.h"

#include <string.h>

static char kind_of(PyObject *tensor) {
  return laze_python_dtype_kind(laze_tensor_dtype(laze_python_handle(tensor)));
}

/* The tensor that a function of the module was given. */
static bool is_given(PyObject *object, const char *name) {
  return laze_python_is_tensor(object) || laze_python_raise_type("%s: %R is no tensor", name, object) != NULL;
}

static PyObject *is_floating_point(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(kind_of(self) == 'f');
}

static PyObject *is_complex(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(kind_of(self) == 'c');
}

static PyObject *is_signed(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(kind_of(self) != 'u' && kind_of(self) != 'b');
}

static PyObject *is_contiguous(PyObject *self, PyObject *arguments, PyObject *names) {
  static char *words[] = {"memory_format", NULL};
  PyObject *format = Py_None; /* there is one */
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|O:is_contiguous", words, &format)) return NULL;
  return PyBool_FromLong(laze_tensor_is_contiguous(laze_python_handle(self)));
}

static PyObject *is_same_size(PyObject *self, PyObject *other) {
  if (!is_given(other, "is_same_size")) return NULL;
  PyObject *shape = laze_python_shape(laze_python_handle(self));
  PyObject *others = shape ? laze_python_shape(laze_python_handle(other)) : NULL;
  PyObject *equal = others ? PyObject_RichCompare(shape, others, Py_EQ) : NULL;
  Py_XDECREF(shape);
  Py_XDECREF(others);
  return equal;
}

static PyObject *element_size(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyLong_FromLongLong(laze_dtype_size(laze_tensor_dtype(laze_python_handle(self))));
}

static PyObject *elements(PyObject *self, PyObject *unused) {
  (void)unused;
  int64_t count;
  return laze_python_elements(laze_python_handle(self), &count) ? PyLong_FromLongLong(count) : NULL;
}

static PyObject *rank(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyLong_FromLong(laze_tensor_rank(laze_python_handle(self)));
}

static PyObject *type_as(PyObject *self, PyObject *other) {
  if (!is_given(other, "type_as")) return NULL;
  return laze_python_cast(laze_python_share(self), laze_tensor_dtype(laze_python_handle(other)));
}

/* What set_() is called with, as the tensor that it means: all of it, or places of its memory. */
static PyObject *find_source(PyObject *self, PyObject *source, PyObject *offset, PyObject *size, PyObject *stride) {
  const int64_t none = 0;
  if (source == Py_None) return laze_python_call_format("new_empty", "TI", self, (int32_t)1, &none);
  if (!is_given(source, "set_")) return NULL;
  if (size == Py_None) return laze_python_share(source);
  PyObject *const passed[] = {source, size, stride, offset};
  if (stride != Py_None) return laze_python_call_objects("as_strided", passed, 4);
  return laze_python_raise_type("set_: size is given and stride is not; give both, or neither");
}

static PyObject *set(PyObject *self, PyObject *arguments, PyObject *names) {
  static char *words[] = {"source", "storage_offset", "size", "stride", NULL};
  PyObject *source = Py_None, *offset = Py_None, *size = Py_None, *stride = Py_None;
  laze_error error = {0};
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|OOOO:set_", words, &source, &offset, &size, &stride))
    return NULL;
  PyObject *found = find_source(self, source, offset, size, stride);
  if (!found) return NULL;
  const laze_status status = laze_tensor_set(laze_python_handle(self), laze_python_handle(found), &error);
  Py_DECREF(found);
  return status == LAZE_OK ? laze_python_share(self) : laze_python_raise(status, error.message);
}

static PyMethodDef methods[] = {
    {"is_floating_point", is_floating_point, METH_NOARGS,
     "is_floating_point($self)\n--\n\nWhether the elements are floats."},
    {"is_complex", is_complex, METH_NOARGS, "is_complex($self)\n--\n\nWhether the elements are complex numbers."},
    {"is_signed", is_signed, METH_NOARGS, "is_signed($self)\n--\n\nWhether elements may be below 0."},
    {"is_contiguous", (PyCFunction)(void (*)(void))is_contiguous, METH_VARARGS | METH_KEYWORDS,
     "is_contiguous($self, memory_format=None)\n--\n\nWhether elements lie in row-major order: those of a view may "
     "not."},
    {"is_same_size", is_same_size, METH_O,
     "is_same_size($self, other, /)\n--\n\nWhether the other has the same shape."},
    {"element_size", element_size, METH_NOARGS, "element_size($self)\n--\n\nBytes of one element."},
    {"nelement", elements, METH_NOARGS, "nelement($self)\n--\n\nThe number of elements."},
    {"ndimension", rank, METH_NOARGS, "ndimension($self)\n--\n\nThe number of axes."},
    {"set_", (PyCFunction)(void (*)(void))set, METH_VARARGS | METH_KEYWORDS,
     "set_($self, source=None, storage_offset=0, size=None, stride=None)\n--\n\n"
     "Has the tensor leave its memory for that of another, of which size and stride may name places."},
    {"type_as", type_as, METH_O, "type_as($self, other, /)\n--\n\nThe tensor with the dtype of another."},
    {0},
};

/* The tensor of the same values through which no gradient goes: what is written to it is written to the tensor. */
static PyObject *get_data(PyObject *self, void *closure) {
  (void)closure;
  return laze_python_detach(self, NULL);
}

static int set_data(PyObject *self, PyObject *value, void *closure) {
  (void)closure;
  if (!value || !laze_python_is_tensor(value)) {
    laze_python_raise_type("data is a tensor, and not %R", value ? value : Py_None);
    return -1;
  }
  laze_error error = {0};
  const laze_status status = laze_tensor_set_data(laze_python_handle(self), laze_python_handle(value), &error);
  return status == LAZE_OK ? 0 : (laze_python_raise(status, error.message), -1);
}

static PyObject *get_is_cpu(PyObject *self, void *closure) {
  (void)self, (void)closure;
  return PyBool_FromLong(1);
}

static PyObject *get_is_elsewhere(PyObject *self, void *closure) {
  (void)self, (void)closure;
  return PyBool_FromLong(0);
}

static PyGetSetDef attributes[] = {
    {"data", get_data, set_data,
     "The tensor, through which no gradient goes. May be set to another, whose memory it has then.", NULL},
    {"is_cpu", get_is_cpu, NULL, "True: tensors are on the CPU.", NULL},
    {"is_cuda", get_is_elsewhere, NULL, "False.", NULL},
    {"is_sparse", get_is_elsewhere, NULL, "False.", NULL},
    {0},
};

/* ---- functions of the module */

static PyObject *is_tensor(PyObject *module, PyObject *object) {
  (void)module;
  return PyBool_FromLong(laze_python_is_tensor(object));
}

static PyObject *ask_floating_point(PyObject *module, PyObject *object) {
  (void)module;
  return is_given(object, "is_floating_point") ? is_floating_point(object, NULL) : NULL;
}

static PyObject *ask_complex(PyObject *module, PyObject *object) {
  (void)module;
  return is_given(object, "is_complex") ? is_complex(object, NULL) : NULL;
}

static PyObject *ask_elements(PyObject *module, PyObject *object) {
  (void)module;
  return is_given(object, "numel") ? elements(object, NULL) : NULL;
}

/* Sizes of a shape, which is a sequence of integers, or one of them. */
static bool read_shape(PyObject *shape, int64_t *sizes, Py_ssize_t *count) {
  PyObject *items = PyIndex_Check(shape) ? Py_BuildValue("(O)", shape) : PySequence_Tuple(shape);
  *count = items ? PyTuple_Size(items) : -1;
  bool read = *count >= 0;
  if (*count > LAZE_PYTHON_MAX_RANK)
    read = laze_python_raise_type("broadcast_shapes: a shape of %zd sizes", *count) != NULL;
  for (Py_ssize_t i = 0; read && i < *count; i++) {
    read = laze_python_integer(PyTuple_GetItem(items, i), "broadcast_shapes", &sizes[i]);
    if (read && sizes[i] < 0)
      read = laze_python_raise(LAZE_INVALID_ARGUMENT, "broadcast_shapes: a size is below 0; shapes have 0 or more") !=
             NULL;
  }
  Py_XDECREF(items);
  return read;
}

/* Joins one more shape to those so far, of which `all` has the sizes from the last axis on. */
static bool join_shape(int64_t *all, Py_ssize_t *ranks, const int64_t *sizes, Py_ssize_t count) {
  char message[128];
  for (; *ranks < count; (*ranks)++) all[*ranks] = 1;
  for (Py_ssize_t i = 0; i < count; i++) {
    const int64_t size = sizes[count - 1 - i];
    if (size == 1 || size == all[i]) continue;
    if (all[i] != 1) {
      snprintf(message, sizeof message,
               "broadcast_shapes: sizes %lld and %lld at one axis; equal ones, or 1, were expected", (long long)all[i],
               (long long)size);
      return laze_python_raise(LAZE_INVALID_ARGUMENT, message) != NULL;
    }
    all[i] = size;
  }
  return true;
}

static PyObject *broadcast_shapes(PyObject *module, PyObject *shapes) {
  (void)module;
  int64_t all[LAZE_PYTHON_MAX_RANK], sizes[LAZE_PYTHON_MAX_RANK];
  Py_ssize_t ranks = 0, count;
  for (Py_ssize_t i = 0; i < PyTuple_Size(shapes); i++)
    if (!read_shape(PyTuple_GetItem(shapes, i), sizes, &count) || !join_shape(all, &ranks, sizes, count)) return NULL;
  PyObject *result = PyTuple_New(ranks);
  for (Py_ssize_t i = 0; result && i < ranks; i++) PyTuple_SetItem(result, i, PyLong_FromLongLong(all[ranks - 1 - i]));
  return result;
}

static PyMethodDef functions[] = {
    {"is_tensor", is_tensor, METH_O, "is_tensor(object, /)\n--\n\nWhether an object is a tensor of laze."},
    {"is_floating_point", ask_floating_point, METH_O,
     "is_floating_point(input, /)\n--\n\nWhether the elements are floats."},
    {"is_complex", ask_complex, METH_O, "is_complex(input, /)\n--\n\nWhether the elements are complex numbers."},
    {"numel", ask_elements, METH_O, "numel(input, /)\n--\n\nThe number of elements."},
    {"broadcast_shapes", broadcast_shapes, METH_VARARGS,
     "broadcast_shapes(*shapes)\n--\n\nThe shape that tensors of these shapes are broadcast to together, a tuple."},
    {0},
};

int laze_python_add_form(PyObject *module) {
  PyObject *type = PyObject_GetAttrString(module, "Tensor");
  int status = type ? PyModule_AddFunctions(module, functions) : -1;
  for (PyMethodDef *method = methods; status == 0 && method->ml_name; method++) {
    PyObject *made = PyDescr_NewMethod((PyTypeObject *)type, method);
    status = made ? PyObject_SetAttrString(type, method->ml_name, made) : -1;
    Py_XDECREF(made);
  }
  for (PyGetSetDef *attribute = attributes; status == 0 && attribute->name; attribute++) {
    PyObject *made = PyDescr_NewGetSet((PyTypeObject *)type, attribute);
    status = made ? PyObject_SetAttrString(type, attribute->name, made) : -1;
    Py_XDECREF(made);
  }
  Py_XDECREF(type);
  return status;
}
