/* DLPack: __dlpack__ for others, and from_dlpack. The library makes and takes the structure; here is only the capsule
 * around it, whose name says whether somebody has taken what is inside.
 */
#include "binding.h"
#include "dlpack.h"

#include <limits.h>

#define NAME "dltensor"
#define NAME_USED "used_dltensor"
#define VERSIONED_NAME "dltensor_versioned"
#define VERSIONED_NAME_USED "used_dltensor_versioned"

/* Of a capsule that nobody took. */
static void delete_untaken(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, NAME)) {
    laze_dlpack_unversioned *managed = PyCapsule_GetPointer(capsule, NAME);
    if (managed->deleter) managed->deleter(managed);
  } else if (PyCapsule_IsValid(capsule, VERSIONED_NAME)) {
    laze_dlpack_versioned *managed = PyCapsule_GetPointer(capsule, VERSIONED_NAME);
    if (managed->deleter) managed->deleter(managed);
  }
}

/* Whether a pair of integers such as a version begins with at least `least`, and at most `most`. Anything else, which
 * raises in comparisons of Python's, does not. */
static bool begins_with(PyObject *pair, long least, long most) {
  if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2 || !PyLong_Check(PyTuple_GetItem(pair, 0))) return false;
  int overflow;
  long long first = PyLong_AsLongLongAndOverflow(PyTuple_GetItem(pair, 0), &overflow);
  if (overflow != 0) return overflow > 0 && most == LONG_MAX;
  return first >= least && first <= most;
}

PyObject *laze_python_to_dlpack(PyObject *tensor, PyObject *arguments, PyObject *names) {
  static char *words[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = Py_None, *max_version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|$OOOO:__dlpack__", words, &stream, &max_version, &device, &copy))
    return NULL;
  if (laze_python_refuse_gradient(tensor, PyExc_BufferError, "__dlpack__")) return NULL;
  bool versioned = begins_with(max_version, LAZE_DLPACK_MAJOR, LONG_MAX);
  bool here = device == Py_None || begins_with(device, LAZE_DLPACK_CPU, LAZE_DLPACK_CPU);
  if (max_version != Py_None && !PyTuple_Check(max_version))
    return laze_python_raise_type("__dlpack__: max_version is %R; expected a version such as (1, 0), or None",
                                  max_version);
  if (stream != Py_None || !here || copy == Py_True) {
    PyErr_SetString(PyExc_BufferError, "__dlpack__: tensors are on the CPU, which has no streams, and are not copied");
    return NULL;
  }
  laze_error error = {0};
  laze_status status;
  void *managed = NULL;
  Py_BEGIN_ALLOW_THREADS status = laze_tensor_to_dlpack(
      laze_python_handle(tensor), versioned ? LAZE_DLPACK_VERSIONED : LAZE_DLPACK_UNVERSIONED, &managed, &error);
  Py_END_ALLOW_THREADS if (status != LAZE_OK) return laze_python_raise(status, error.message);
  PyObject *capsule = PyCapsule_New(managed, versioned ? VERSIONED_NAME : NAME, delete_untaken);
  if (capsule) return capsule;
  if (versioned)
    ((laze_dlpack_versioned *)managed)->deleter(managed);
  else
    ((laze_dlpack_unversioned *)managed)->deleter(managed);
  return NULL;
}

bool laze_python_has(PyObject *object, const char *name) {
  return !PyType_Check(object) && PyObject_HasAttrString(object, name);
}

bool laze_python_has_dlpack(PyObject *object) {
  return laze_python_has(object, "__dlpack__");
}

/* The object's capsule: the versioned one, or, from objects that do not know versions, the other. */
static PyObject *ask_for_capsule(PyObject *object) {
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
  PyObject *none = PyTuple_New(0), *names = Py_BuildValue("{s(ii)}", "max_version", LAZE_DLPACK_MAJOR, 0);
  PyObject *capsule = method && none && names ? PyObject_Call(method, none, names) : NULL;
  if (!capsule && method && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = PyObject_CallObject(method, NULL);
  }
  Py_XDECREF(method);
  Py_XDECREF(none);
  Py_XDECREF(names);
  return capsule;
}

static PyObject *take_capsule(PyObject *capsule) {
  bool versioned = PyCapsule_IsValid(capsule, VERSIONED_NAME);
  if (!versioned && !PyCapsule_IsValid(capsule, NAME))
    return laze_python_raise_type("from_dlpack: %R is no DLPack capsule, or its tensor was taken before", capsule);
  void *managed = PyCapsule_GetPointer(capsule, versioned ? VERSIONED_NAME : NAME);
  if (!managed || PyCapsule_SetName(capsule, versioned ? VERSIONED_NAME_USED : NAME_USED) < 0) return NULL;
  return laze_python_tensor(
      laze_tensor_from_dlpack(NULL, versioned ? LAZE_DLPACK_VERSIONED : LAZE_DLPACK_UNVERSIONED, managed));
}

PyObject *laze_python_from_dlpack(PyObject *object) {
  if (laze_python_is_tensor(object)) return laze_python_share(object);
  if (PyCapsule_CheckExact(object)) return take_capsule(object);
  if (!laze_python_has_dlpack(object))
    return laze_python_raise_type("from_dlpack: %R has no __dlpack__ method", Py_TYPE(object));
  PyObject *capsule = ask_for_capsule(object);
  PyObject *tensor = capsule ? take_capsule(capsule) : NULL;
  Py_XDECREF(capsule);
  return tensor;
}
