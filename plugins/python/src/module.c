/* The module laze._laze: functions that make tensors, and the order in which everything is added. */
#include "binding.h"

/* The tensor, which no gradient goes through to where its values are from, as one that requires a gradient or not.
 * Takes the reference. */
static PyObject *begin_history(PyObject *made, bool requires_grad) {
  PyObject *fresh = made ? laze_python_detach(made, NULL) : NULL;
  Py_XDECREF(made);
  if (!fresh || !requires_grad) return fresh;
  made = laze_python_tensor(laze_detach(laze_python_handle(fresh))); /* `fresh` may be the tensor that was passed */
  Py_DECREF(fresh);
  if (made && laze_python_set_requires_grad(made, Py_True, NULL) < 0) Py_CLEAR(made);
  return made;
}

static bool parse_data(PyObject *arguments, PyObject *names, const char *format, PyObject **data, laze_dtype *dtype) {
  static char *words[] = {"data", "dtype", NULL};
  PyObject *wanted = Py_None;
  *dtype = LAZE_DTYPE_NONE;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, format, words, data, &wanted)) return false;
  return wanted == Py_None || laze_python_dtype_from(wanted, dtype);
}

static PyObject *tensor(PyObject *module, PyObject *arguments, PyObject *names) {
  static char *words[] = {"data", "dtype", "requires_grad", NULL};
  (void)module;
  PyObject *data, *wanted = Py_None;
  laze_dtype dtype = LAZE_DTYPE_NONE;
  int requires_grad = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "O|O$p:tensor", words, &data, &wanted, &requires_grad))
    return NULL;
  if (wanted != Py_None && !laze_python_dtype_from(wanted, &dtype)) return NULL;
  return begin_history(laze_python_from_any(data, dtype, true), requires_grad != 0);
}

static PyObject *asarray(PyObject *module, PyObject *arguments, PyObject *names) {
  (void)module;
  PyObject *data;
  laze_dtype dtype;
  if (!parse_data(arguments, names, "O|O:asarray", &data, &dtype)) return NULL;
  return laze_python_from_any(data, dtype, false);
}

static PyObject *from_dlpack(PyObject *module, PyObject *object) {
  (void)module;
  return laze_python_from_dlpack(object);
}

static PyObject *detach(PyObject *module, PyObject *object) {
  (void)module;
  if (!laze_python_is_tensor(object)) return laze_python_raise_type("detach: %R is no tensor", object);
  return laze_python_detach(object, NULL);
}

/* What pickle calls: a tensor of dtype, shape and bytes, which may require a gradient. */
static PyObject *rebuild(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *name, *shape;
  const char *bytes;
  Py_ssize_t size;
  laze_dtype dtype;
  int64_t sizes[LAZE_PYTHON_MAX_RANK];
  int requires_grad = 0;
  if (!PyArg_ParseTuple(arguments, "OO!y#|p:_rebuild", &name, &PyTuple_Type, &shape, &bytes, &size, &requires_grad))
    return NULL;
  if (!laze_python_dtype_from(name, &dtype)) return NULL;
  Py_ssize_t rank = PyTuple_Size(shape);
  if (rank > LAZE_PYTHON_MAX_RANK) return laze_python_raise_type("a pickled tensor of %zd dimensions", rank);
  for (Py_ssize_t i = 0; i < rank; i++) {
    if (!laze_python_integer(PyTuple_GetItem(shape, i), "a pickled tensor", &sizes[i])) return NULL;
  }
  PyObject *made =
      laze_python_tensor(laze_tensor_from_data(NULL, dtype, (laze_ints){sizes, (int32_t)rank}, bytes, (size_t)size));
  if (made && requires_grad && laze_python_set_requires_grad(made, Py_True, NULL) < 0) Py_CLEAR(made);
  return made;
}

PyObject *laze_python_refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  (void)arguments, (void)names;
  return laze_python_raise_type("%R is not made by calling it; tensors are made by laze.tensor()", type);
}

void laze_python_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

#define WITH_NAMES(function) ((PyCFunction)(void (*)(void))(function))
static PyMethodDef functions[] = {
    {"tensor", WITH_NAMES(tensor), METH_VARARGS | METH_KEYWORDS,
     "tensor(data, dtype=None, *, requires_grad=False)\n--\n\n"
     "A tensor with a copy of numbers: nested lists, a number, a NumPy array, anything with a buffer or DLPack.\n"
     "Without a dtype, integers are int64, floats float32, bools bool, and arrays keep theirs.\n"
     "With requires_grad it is a leaf, whose grad backward() adds to."},
    {"asarray", WITH_NAMES(asarray), METH_VARARGS | METH_KEYWORDS,
     "asarray(data, dtype=None)\n--\n\n"
     "As tensor(), but without a copy where memory is row-major and aligned: it must not change while the tensor, or\n"
     "what was recorded from it, is in use."},
    {"as_tensor", WITH_NAMES(asarray), METH_VARARGS | METH_KEYWORDS,
     "as_tensor(data, dtype=None)\n--\n\nThe same as asarray()."},
    {"from_numpy", WITH_NAMES(asarray), METH_VARARGS | METH_KEYWORDS,
     "from_numpy(data, dtype=None)\n--\n\nThe same as asarray()."},
    {"from_dlpack", from_dlpack, METH_O,
     "from_dlpack(object, /)\n--\n\nA tensor that shares the memory of an object with __dlpack__."},
    {"detach", detach, METH_O,
     "detach(input, /)\n--\n\nA tensor that shares the values of another, through which no gradient goes."},
    {"manual_seed", laze_python_manual_seed, METH_O,
     "manual_seed(seed, /)\n--\n\nMakes laze.rand() and others draw the same numbers from here on."},
    {"get_rng_state", laze_python_get_generator, METH_NOARGS,
     "get_rng_state()\n--\n\nWhere laze.rand() and others are among their numbers, a tensor to be saved."},
    {"set_rng_state", laze_python_set_generator, METH_O,
     "set_rng_state(state, /)\n--\n\nHas laze.rand() and others go on from what get_rng_state() gave."},
    {"_rebuild", rebuild, METH_VARARGS, NULL},
    {0},
};

static int add_version(PyObject *module) {
  return PyModule_AddStringConstant(module, "__version__", LAZE_PYTHON_VERSION);
}

static int execute(PyObject *module) {
  /* Handles, types and the default context belong to the process. */
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError, "laze works in the main interpreter only, and this is a subinterpreter");
    return -1;
  }
  int (*const parts[])(PyObject *) = {laze_python_add_errors,
                                      laze_python_add_dtypes,
                                      laze_python_add_tensor,
                                      laze_python_add_form,
                                      laze_python_add_operators,
                                      laze_python_add_scopes,
                                      laze_python_add_files,
                                      laze_python_add_gradients,
                                      laze_python_add_duals,
                                      laze_python_add_histories,
                                      laze_python_add_optimisers,
                                      laze_python_add_graphs,
                                      laze_python_add_builders,
                                      laze_python_add_device,
                                      laze_python_add_device_guard,
                                      laze_python_add_programs,
                                      laze_python_add_library,
                                      laze_python_add_compiled,
                                      add_version};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (parts[i](module) < 0) return -1;
  return laze_python_watch();
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(uintptr_t)execute}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "laze._laze", NULL, 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__laze(void);
PyMODINIT_FUNC PyInit__laze(void) {
  return PyModuleDef_Init(&definition);
}
