/* NumPy's .npy files: laze.load and laze.save, which numpy.load and numpy.save understand. */
#include "binding.h"

/* The bytes of a path, for `where`. */
static PyObject *path_of(PyObject *path, const char *where) {
  PyObject *name;
  if (PyUnicode_FSConverter(path, &name)) return name;
  bool wrong_type = PyErr_ExceptionMatches(PyExc_TypeError);
  if (!wrong_type && !PyErr_ExceptionMatches(PyExc_ValueError)) return NULL; /* what __fspath__ raised */
  PyErr_Clear();
  if (wrong_type)
    return laze_python_raise_type("%s: expected a path (str, bytes or os.PathLike), and was given %R", where, path);
  PyObject *shown = PyObject_ASCII(path);
  const char *ascii = shown ? PyUnicode_AsUTF8AndSize(shown, NULL) : NULL;
  char message[256];
  snprintf(message, sizeof message,
           "%s: no file can be called %.128s: a path has no zero bytes, and no halves of "
           "surrogate pairs",
           where, ascii ? ascii : "");
  if (ascii) laze_python_raise(LAZE_INVALID_ARGUMENT, message);
  Py_XDECREF(shown);
  return NULL;
}

static PyObject *load(PyObject *module, PyObject *path) {
  (void)module;
  PyObject *name = path_of(path, "load");
  laze_tensor *handle;
  if (!name) return NULL;
  const char *text = PyBytes_AsString(name);
  Py_BEGIN_ALLOW_THREADS handle = laze_tensor_load(NULL, text);
  Py_END_ALLOW_THREADS Py_DECREF(name);
  if (laze_tensor_status(handle) != LAZE_NOT_FOUND) return laze_python_tensor(handle);
  laze_tensor_take(handle);
  laze_python_raise(LAZE_PYTHON_NO_FILE, laze_tensor_error(handle));
  laze_tensor_release(handle);
  return NULL;
}

static PyObject *save(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *tensor, *path;
  if (!PyArg_ParseTuple(arguments, "OO:save", &tensor, &path)) return NULL;
  PyObject *name = path_of(path, "save");
  if (!name) return NULL;
  PyObject *saved = laze_python_from_any(tensor, LAZE_DTYPE_NONE, false);
  const char *text = PyBytes_AsString(name);
  laze_error error = {0};
  laze_status status = LAZE_OK;
  if (saved) {
    Py_BEGIN_ALLOW_THREADS status = laze_tensor_save(laze_python_handle(saved), text, &error);
    Py_END_ALLOW_THREADS Py_DECREF(saved);
  }
  Py_DECREF(name);
  if (!saved) return NULL;
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise(status, error.message);
}

static PyMethodDef functions[] = {
    {"load", load, METH_O, "load(path, /)\n--\n\nThe tensor in a .npy file."},
    {"save", save, METH_VARARGS,
     "save(tensor, path, /)\n--\n\nComputes the tensor and writes it to a .npy file, which appears whole or not at "
     "all."},
    {0},
};

int laze_python_add_files(PyObject *module) {
  return PyModule_AddFunctions(module, functions);
}
