/* The Tensor type: one handle of the library, taken out of its scope, so that Python's references alone decide how long
 * it lives. It holds no Python object and so takes no part in cycles.
 */
#include "binding.h"

#include <structmember.h>

typedef struct {
  PyObject ob_base;    /* what PyObject_HEAD is */
  laze_tensor *handle; /* owned */
  PyObject *weak_references;
} tensor_object;

static PyTypeObject *tensor_type;

bool laze_python_is_tensor(PyObject *object) {
  return Py_TYPE(object) == tensor_type;
}

laze_tensor *laze_python_handle(PyObject *tensor) {
  return ((tensor_object *)tensor)->handle;
}

PyObject *laze_python_tensor(laze_tensor *handle) {
  laze_python_loans_settle();
  if (laze_tensor_status(handle) != LAZE_OK) {
    laze_tensor_take(handle);
    laze_python_raise_tensor(handle);
    laze_tensor_release(handle);
    return NULL;
  }
  tensor_object *made = PyObject_New(tensor_object, tensor_type);
  if (!made) return NULL;
  made->weak_references = NULL;
  made->handle = laze_tensor_take(handle);
  return (PyObject *)made;
}

static void tensor_dealloc(PyObject *self) {
  tensor_object *tensor = (tensor_object *)self;
  if (tensor->weak_references) PyObject_ClearWeakRefs(self);
  laze_tensor_release(tensor->handle);
  laze_python_loans_settle();
  laze_python_free(self);
}

bool laze_python_size(laze_tensor *handle, int32_t axis, int64_t *out) {
  if (laze_tensor_knows_size(handle, axis)) {
    *out = laze_tensor_size(handle, axis);
  } else {
    Py_BEGIN_ALLOW_THREADS *out = laze_tensor_size(handle, axis);
    Py_END_ALLOW_THREADS
  }
  return *out >= 0 || laze_python_raise_tensor(handle) != NULL;
}

bool laze_python_knows_shape(laze_tensor *handle) {
  bool known = true;
  for (int32_t axis = laze_tensor_rank(handle); axis-- > 0;) known = known && laze_tensor_knows_size(handle, axis);
  return known;
}

bool laze_python_elements(laze_tensor *handle, int64_t *out) {
  int64_t size;
  bool found = laze_python_knows_shape(handle) || laze_python_size(handle, 0, &size);
  *out = found ? laze_tensor_elements(handle) : -1;
  return found && (*out >= 0 || laze_python_raise_tensor(handle) != NULL);
}

PyObject *laze_python_shape(laze_tensor *handle) {
  int32_t rank = laze_tensor_rank(handle);
  PyObject *shape = PyTuple_New(rank < 0 ? 0 : rank);
  for (int32_t axis = 0; shape && axis < rank; axis++) {
    int64_t number;
    PyObject *size = laze_python_size(handle, axis, &number) ? PyLong_FromLongLong(number) : NULL;
    if (!size)
      Py_CLEAR(shape);
    else
      PyTuple_SetItem(shape, axis, size);
  }
  return shape;
}

laze_tensor **laze_python_handles(PyObject *tensors, bool optional, const char *refusal) {
  Py_ssize_t count = PyTuple_Size(tensors);
  laze_tensor **handles = PyMem_Malloc((size_t)(count ? count : 1) * sizeof *handles);
  if (!handles) return PyErr_NoMemory(), NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *tensor = PyTuple_GetItem(tensors, i);
    const bool is_tensor = laze_python_is_tensor(tensor);
    handles[i] = is_tensor ? laze_python_handle(tensor) : NULL;
    if (is_tensor || (optional && tensor == Py_None)) continue;
    PyMem_Free(handles);
    laze_python_raise_type(refusal, i, Py_TYPE(tensor));
    return NULL;
  }
  return handles;
}

static PyObject *get_shape(PyObject *self, void *closure) {
  (void)closure;
  return laze_python_shape(laze_python_handle(self));
}

static PyObject *get_dtype(PyObject *self, void *closure) {
  (void)closure;
  PyObject *dtype = laze_python_dtype(laze_tensor_dtype(laze_python_handle(self)));
  return dtype ? laze_python_share(dtype) : laze_python_raise_tensor(laze_python_handle(self));
}

static PyObject *get_ndim(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLong(laze_tensor_rank(laze_python_handle(self)));
}

static PyObject *get_itemsize(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLongLong(laze_dtype_size(laze_tensor_dtype(laze_python_handle(self))));
}

static PyObject *get_nbytes(PyObject *self, void *closure) {
  (void)closure;
  int64_t elements;
  laze_tensor *handle = laze_python_handle(self);
  if (!laze_python_elements(handle, &elements)) return NULL;
  return PyLong_FromLongLong(elements * laze_dtype_size(laze_tensor_dtype(handle)));
}

static PyObject *get_device(PyObject *self, void *closure) {
  (void)self, (void)closure;
  return PyUnicode_FromString("cpu");
}

/* Axes turned round: all of them (T), or the last two (mT). */
static PyObject *permute(PyObject *self, int32_t from, const char *name) {
  int64_t axes[LAZE_PYTHON_MAX_RANK];
  int32_t rank = laze_tensor_rank(laze_python_handle(self));
  if (rank > LAZE_PYTHON_MAX_RANK || from < 0)
    return laze_python_raise_type("%s: the tensor has %d dimensions", name, (int)rank);
  for (int32_t i = 0; i < rank; i++) axes[i] = i < from ? i : rank - 1 - (i - from);
  return laze_python_call_format("permute", "TI", self, rank, axes);
}

static PyObject *get_transposed(PyObject *self, void *closure) {
  (void)closure;
  return permute(self, 0, "T");
}

static PyObject *get_matrix_transposed(PyObject *self, void *closure) {
  (void)closure;
  return permute(self, laze_tensor_rank(laze_python_handle(self)) - 2, "mT");
}

static PyObject *get_real(PyObject *self, void *closure) {
  (void)closure;
  const bool is_complex = laze_python_dtype_kind(laze_tensor_dtype(laze_python_handle(self))) == 'c';
  return is_complex ? laze_python_call_objects("real", &self, 1) : laze_python_share(self);
}

static PyObject *get_imaginary(PyObject *self, void *closure) {
  (void)closure;
  return laze_python_call_objects("imag", &self, 1);
}

/* The conjugate of what is transposed. */
static PyObject *conjugate(PyObject *transposed) {
  PyObject *result = transposed ? laze_python_call_objects("conj", &transposed, 1) : NULL;
  Py_XDECREF(transposed);
  return result;
}

static PyObject *get_conjugate_transposed(PyObject *self, void *closure) {
  (void)closure;
  int32_t rank = laze_tensor_rank(laze_python_handle(self));
  if (rank != 0 && rank != 2)
    return laze_python_raise_type("H: the tensor has %d dimensions, not 2; use mH", (int)rank);
  return conjugate(permute(self, 0, "H"));
}

static PyObject *get_matrix_conjugate_transposed(PyObject *self, void *closure) {
  (void)closure;
  return conjugate(permute(self, laze_tensor_rank(laze_python_handle(self)) - 2, "mH"));
}

static Py_ssize_t tensor_length(PyObject *self) {
  laze_tensor *handle = laze_python_handle(self);
  int64_t size;
  if (laze_tensor_rank(handle) > 0) return laze_python_size(handle, 0, &size) ? (Py_ssize_t)size : -1;
  laze_python_raise_type("len() of a tensor without dimensions");
  return -1;
}

static PyObject *tensor_at(PyObject *self, Py_ssize_t i) {
  laze_tensor *handle = laze_python_handle(self);
  int64_t size = 0;
  if (laze_tensor_rank(handle) > 0 && !laze_python_size(handle, 0, &size)) return NULL;
  if (laze_tensor_rank(handle) > 0 && (i < 0 || i >= size))
    return laze_python_raise(LAZE_OUT_OF_RANGE, "the tensor has no more rows"); /* how iteration ends */
  return laze_python_select(self, 0, i);
}

static PyObject *tensor_iterate(PyObject *self) {
  if (laze_tensor_rank(laze_python_handle(self)) > 0) return PySeqIter_New(self);
  return laze_python_raise_type("a tensor without dimensions has no rows to iterate over");
}

static int tensor_contains(PyObject *self, PyObject *value) {
  PyObject *equal = laze_python_compare(self, value, Py_EQ);
  if (!equal || equal == Py_NotImplemented) {
    Py_XDECREF(equal);
    if (!PyErr_Occurred()) laze_python_raise_type("a tensor contains numbers, and no %R", Py_TYPE(value));
    return -1;
  }
  PyObject *any = laze_python_call_objects("any", &equal, 1);
  int result = any ? PyObject_IsTrue(any) : -1;
  Py_DECREF(equal);
  Py_XDECREF(any);
  return result;
}

static int tensor_assign(PyObject *self, PyObject *index, PyObject *value) {
  if (value) return laze_python_assign(self, index, value);
  laze_python_raise_type("elements of a tensor cannot be deleted; laze.cat joins those that are to stay");
  return -1;
}

static Py_hash_t tensor_hash(PyObject *self) {
  return (Py_hash_t)((uintptr_t)self >> 4);
}

static PyObject *method_size(PyObject *self, PyObject *arguments) {
  PyObject *passed;
  int64_t axis;
  if (PyTuple_Size(arguments) == 0) return get_shape(self, NULL);
  if (!PyArg_ParseTuple(arguments, "O:size", &passed) || !laze_python_integer(passed, "size", &axis)) return NULL;
  int32_t rank = laze_tensor_rank(laze_python_handle(self));
  int64_t found;
  if (axis >= -rank && axis < rank)
    return laze_python_size(laze_python_handle(self), (int32_t)axis, &found) ? PyLong_FromLongLong(found) : NULL;
  char message[96];
  snprintf(message, sizeof message, "size: the tensor has %d dimensions, and no axis %lld", (int)rank, (long long)axis);
  return laze_python_raise(LAZE_OUT_OF_RANGE, message);
}

static PyObject *method_elements(PyObject *self, PyObject *unused) {
  (void)unused;
  int64_t elements;
  return laze_python_elements(laze_python_handle(self), &elements) ? PyLong_FromLongLong(elements) : NULL;
}

static PyObject *method_rank(PyObject *self, PyObject *unused) {
  (void)unused;
  return get_ndim(self, NULL);
}

static PyObject *method_item(PyObject *self, PyObject *unused) {
  (void)unused;
  return laze_python_item(self);
}

static PyObject *method_complex(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *item = laze_python_item(self);
  PyObject *result = item ? PyObject_CallFunctionObjArgs((PyObject *)&PyComplex_Type, item, NULL) : NULL;
  Py_XDECREF(item);
  return result;
}

static PyObject *method_list(PyObject *self, PyObject *unused) {
  (void)unused;
  return laze_python_list(self);
}

static PyObject *method_numpy(PyObject *self, PyObject *unused) {
  (void)unused;
  if (laze_python_refuse_gradient(self, NULL, "numpy")) return NULL;
  return laze_python_to_array(self, Py_None, false);
}

static PyObject *method_array(PyObject *self, PyObject *arguments, PyObject *names) {
  static char *words[] = {"dtype", "copy", NULL};
  PyObject *dtype = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|OO:__array__", words, &dtype, &copy)) return NULL;
  if (laze_python_refuse_gradient(self, NULL, "numpy")) return NULL;
  return laze_python_to_array(self, dtype, copy == Py_True);
}

static PyObject *method_dlpack_device(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  return Py_BuildValue("(ii)", 1, 0); /* kDLCPU */
}

static PyObject *method_evaluate(PyObject *self, PyObject *unused) {
  (void)unused;
  laze_status status;
  const laze_python_place place = laze_python_find_reader();
  Py_BEGIN_ALLOW_THREADS status = laze_tensor_materialise_at(laze_python_handle(self), place.file, place.line);
  Py_END_ALLOW_THREADS return status == LAZE_OK
      ? laze_python_share(self)
      : laze_python_raise(status, laze_tensor_error(laze_python_handle(self)));
}

/* f"{loss:.3f}" is that of the number, where there is one. */
static PyObject *method_format(PyObject *self, PyObject *specification) {
  if (laze_tensor_rank(laze_python_handle(self)) > 0) {
    if (PyObject_IsTrue(specification))
      return laze_python_raise_type("only a tensor without dimensions has a format such as %R", specification);
    return PyObject_Str(self);
  }
  PyObject *item = laze_python_item(self);
  PyObject *text = item ? PyObject_Format(item, specification) : NULL;
  Py_XDECREF(item);
  return text;
}

/* Tensors are all on the CPU. */
static PyObject *method_self(PyObject *self, PyObject *unused) {
  (void)unused;
  return laze_python_share(self);
}

/* pickle keeps dtype, shape and the elements' bytes, and that a leaf requires a gradient (laze._rebuild). */
static PyObject *method_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *module = PyImport_ImportModule("laze._laze"), *result = NULL;
  PyObject *rebuild = module ? PyObject_GetAttrString(module, "_rebuild") : NULL;
  PyObject *bytes = rebuild ? laze_python_bytes(self) : NULL;
  const bool is_leaf = laze_tensor_is_leaf(laze_python_handle(self));
  PyObject *required = is_leaf && laze_tensor_requires_grad(laze_python_handle(self)) ? Py_True : Py_False;
  if (bytes)
    result = Py_BuildValue("(O(sNOO))", rebuild, laze_python_dtype_name(laze_tensor_dtype(laze_python_handle(self))),
                           laze_python_shape(laze_python_handle(self)), bytes, required);
  Py_XDECREF(module);
  Py_XDECREF(rebuild);
  Py_XDECREF(bytes);
  return result;
}

/* What is missing is explained (laze._hints), except for names with an underscore, by which programs find out what an
 * object can do. */
static PyObject *tensor_attribute(PyObject *self, PyObject *name) {
  PyObject *found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  bool is_private = PyUnicode_GetLength(name) == 0 || PyUnicode_ReadChar(name, 0) == '_';
  PyObject *module = is_private ? NULL : PyImport_ImportModule("laze._hints");
  PyObject *text = module ? PyObject_CallMethod(module, "missing", "sOO", "a laze.Tensor", name, Py_True) : NULL;
  Py_XDECREF(module);
  if (!text) {
    PyErr_Restore(type, value, trace);
    return NULL;
  }
  PyErr_SetObject(PyExc_AttributeError, text);
  Py_DECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return NULL;
}

/* As PyTorch's tensors have it, from the time of Python 2. */
static PyObject *method_reflected_division(PyObject *self, PyObject *other) {
  return PyNumber_TrueDivide(other, self);
}

static PyMethodDef methods[] = {
    {"size", method_size, METH_VARARGS, "size($self, dim=None, /)\n--\n\nThe shape, or the size of one axis."},
    {"numel", method_elements, METH_NOARGS, "numel($self)\n--\n\nThe number of elements."},
    {"dim", method_rank, METH_NOARGS, "dim($self)\n--\n\nThe number of axes."},
    {"item", method_item, METH_NOARGS,
     "item($self)\n--\n\nThe value of a tensor of one element, as a number of Python. Computes it."},
    {"tolist", method_list, METH_NOARGS, "tolist($self)\n--\n\nThe values as nested lists of numbers. Computes them."},
    {"numpy", method_numpy, METH_NOARGS,
     "numpy($self)\n--\n\nA NumPy array that shares the tensor's memory, read-only. Computes it."},
    {"evaluate", method_evaluate, METH_NOARGS,
     "evaluate($self)\n--\n\nComputes the tensor now, without reading it; gives the tensor."},
    {"__array__", (PyCFunction)(void (*)(void))method_array, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack__", (PyCFunction)(void (*)(void))laze_python_to_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A DLPack capsule of the tensor's memory, which is read-only. Computes it."},
    {"__dlpack_device__", method_dlpack_device, METH_NOARGS, NULL},
    {"cpu", method_self, METH_NOARGS, "cpu($self)\n--\n\nThe tensor itself: tensors are on the CPU."},
    {"detach", laze_python_detach, METH_NOARGS,
     "detach($self)\n--\n\nA tensor of the same values through which no gradient goes."},
    {"detach_", laze_python_detach_itself, METH_NOARGS,
     "detach_($self)\n--\n\nHas the tensor forget its history; gives the tensor."},
    {"requires_grad_", (PyCFunction)(void (*)(void))laze_python_require_grad, METH_VARARGS | METH_KEYWORDS,
     "requires_grad_($self, requires_grad=True)\n--\n\nSets requires_grad; gives the tensor."},
    {"backward", (PyCFunction)(void (*)(void))laze_python_backward, METH_VARARGS | METH_KEYWORDS,
     "backward($self, gradient=None, retain_graph=None, create_graph=False, inputs=None)\n--\n\n"
     "Adds to the grad of each leaf that the tensor was made from, and that requires a gradient; or of inputs alone."},
    {"retain_grad", laze_python_retain_grad, METH_NOARGS,
     "retain_grad($self)\n--\n\nHas a tensor that is no leaf keep its grad as well."},
    {"register_hook", laze_python_register_hook, METH_O,
     "register_hook($self, hook, /)\n--\n\nHas hook(gradient) called in backward passes; what it gives takes the "
     "gradient's place, unless that is None. Gives a handle with remove()."},
    {"register_post_accumulate_grad_hook", laze_python_register_accumulated_hook, METH_O,
     "register_post_accumulate_grad_hook($self, hook, /)\n--\n\nHas hook(tensor) called after a pass has added to the "
     "grad of a leaf."},
    {"is_inference", laze_python_is_inference, METH_NOARGS,
     "is_inference($self)\n--\n\nWhether it was made in inference mode."},
    {"__rdiv__", method_reflected_division, METH_O, NULL},
    {"__complex__", method_complex, METH_NOARGS, NULL},
    {"__format__", method_format, METH_O, NULL},
    {"__copy__", laze_python_copy_leaf, METH_NOARGS, NULL},
    {"__deepcopy__", laze_python_copy_leaf, METH_O, NULL},
    {"__reduce__", method_reduce, METH_NOARGS, NULL},
    {0},
};
static PyGetSetDef attributes[] = {
    {"shape", get_shape, NULL, "The sizes of the axes, a tuple.", NULL},
    {"dtype", get_dtype, NULL, "The type of the elements.", NULL},
    {"ndim", get_ndim, NULL, "The number of axes.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of one element.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all elements.", NULL},
    {"device", get_device, NULL, "Where the elements lie: \"cpu\".", NULL},
    {"T", get_transposed, NULL, "The tensor with its axes in reverse.", NULL},
    {"mT", get_matrix_transposed, NULL, "The tensor with its last two axes swapped.", NULL},
    {"H", get_conjugate_transposed, NULL, "The conjugate of the matrix with its axes swapped.", NULL},
    {"mH", get_matrix_conjugate_transposed, NULL, "The conjugate of the tensor with its last two axes swapped.", NULL},
    {"real", get_real, NULL, "The real part; a tensor that is not complex is its own.", NULL},
    {"imag", get_imaginary, NULL, "The imaginary part of a complex tensor.", NULL},
    {"requires_grad", laze_python_get_requires_grad, laze_python_set_requires_grad,
     "Whether gradients go to the tensor, or through it to others.", NULL},
    {"is_leaf", laze_python_get_is_leaf, NULL, "Whether no gradient goes through the tensor to others.", NULL},
    {"grad_fn", laze_python_get_node, NULL, "The node that the call left behind which gave the tensor, or None.", NULL},
    {"retains_grad", laze_python_get_retains_grad, NULL, "Whether it is no leaf and keeps its grad.", NULL},
    {"grad", laze_python_get_grad, laze_python_set_grad,
     "The gradient that backward() has added up in a leaf, or None; may be set.", NULL},
    {0},
};
static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(tensor_object, weak_references), READONLY, NULL},
    {0},
};
static const PyType_Slot own_slots[] = {
    {Py_tp_doc, "A tensor whose value is computed when it is read. Made by laze.tensor() and by operators."},
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_new, laze_python_refuse_new},
    {Py_tp_repr, laze_python_repr},
    {Py_tp_getattro, tensor_attribute},
    {Py_tp_hash, tensor_hash},
    {Py_tp_iter, tensor_iterate},
    {Py_tp_richcompare, laze_python_compare},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {Py_sq_length, tensor_length},
    {Py_sq_item, tensor_at},
    {Py_sq_contains, tensor_contains},
    {Py_mp_length, tensor_length},
    {Py_mp_subscript, laze_python_subscript},
    {Py_mp_ass_subscript, tensor_assign},
    {Py_bf_getbuffer, laze_python_buffer_get},
    {Py_bf_releasebuffer, laze_python_buffer_release},
};

static int make_type(void) {
  if (tensor_type) return 0;
  enum { OWN = sizeof own_slots / sizeof own_slots[0], ALL = OWN + 64 };
  PyType_Slot slots[ALL] = {0};
  int count = OWN;
  memcpy(slots, own_slots, sizeof own_slots);
  for (const PyType_Slot *slot = laze_python_number_slots; slot->slot && count < ALL - 1; slot++)
    slots[count++] = *slot;
  PyType_Spec spec = {"laze.Tensor", sizeof(tensor_object), 0, Py_TPFLAGS_DEFAULT, slots};
  tensor_type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (!tensor_type) return -1;
  /* An array on the left leaves x + tensor to the tensor. */
  PyObject *priority = PyLong_FromLong(1000);
  int status = priority ? PyObject_SetAttrString((PyObject *)tensor_type, "__array_priority__", priority) : -1;
  Py_XDECREF(priority);
  return status;
}

int laze_python_add_tensor(PyObject *module) {
  if (make_type() < 0) return -1;
  return PyObject_SetAttrString(module, "Tensor", (PyObject *)tensor_type);
}
