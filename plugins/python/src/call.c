/* Calls by name, with the line of Python that they stand on. */
#include "binding.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_RESULTS = 1024 }; /* as many as a list of results has */

/* File names that calls were made from, each kept for good: what was recorded names it. */
static PyObject *files;

static const char *intern(PyObject *name) {
  if (!files) files = PyDict_New();
  PyObject *kept = files ? PyDict_GetItemWithError(files, name) : NULL;
  if (!kept && !PyErr_Occurred() && files && PyDict_SetItem(files, name, name) == 0) kept = name;
  return kept ? PyUnicode_AsUTF8AndSize(kept, NULL) : NULL;
}

/* The file of a code object. That of the last one asked for is remembered. */
static const char *file_of(PyObject *code) {
  static PyObject *last; /* owned, so that its address is no other's */
  static const char *last_file;
  if (code == last) return last_file;
  PyObject *name = PyObject_GetAttrString(code, "co_filename");
  const char *file = name && PyUnicode_Check(name) ? intern(name) : NULL;
  Py_XDECREF(name);
  if (!file) return NULL;
  PyObject *before = last;
  last = laze_python_share(code);
  last_file = file;
  Py_XDECREF(before);
  return file;
}

laze_python_place laze_python_find_place(void) {
  PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
  PyObject *code = frame ? (PyObject *)PyFrame_GetCode(frame) : NULL;
  laze_python_place place = {code ? file_of(code) : NULL, 0};
  if (place.file) place.line = PyFrame_GetLineNumber(frame);
  Py_XDECREF(code);
  if (!place.file) PyErr_Clear();
  return place;
}

const char *laze_python_place_outside(const char *own, int32_t *line) {
  PyObject *frame = (PyObject *)PyEval_GetFrame();
  const char *file = NULL;
  Py_XINCREF(frame);
  *line = 0;
  while (frame && frame != Py_None) {
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    file = file_of(code);
    Py_XDECREF(code);
    const size_t length = file ? strlen(file) : 0, end = strlen(own);
    if (!file || length < end || strcmp(file + length - end, own) != 0) break;
    PyObject *back = PyObject_GetAttrString(frame, "f_back");
    Py_DECREF(frame);
    frame = back;
  }
  if (frame && frame != Py_None && file) *line = PyFrame_GetLineNumber((PyFrameObject *)frame);
  Py_XDECREF(frame);
  PyErr_Clear();
  return *line ? file : NULL;
}

laze_python_place laze_python_find_reader(void) {
  static int saves = -1; /* as the default context has read it */
  if (saves < 0) saves = getenv("LAZE_SAVE_GRAPHS") != NULL;
  return saves ? laze_python_find_place() : (laze_python_place){NULL, 0};
}

static PyObject *wrap_result(laze_tensor *handle) {
  return handle ? laze_python_tensor(handle) : laze_python_share(Py_None); /* a result may be absent */
}

static PyObject *wrap_results(laze_tensor **handles, int32_t count) {
  PyObject *results = PyTuple_New(count);
  for (int32_t i = 0; i < count; i++) {
    PyObject *made = results ? wrap_result(handles[i]) : NULL;
    if (!made) Py_CLEAR(results);
    if (!results)
      laze_tensor_release(laze_tensor_take(handles[i]));
    else
      PyTuple_SetItem(results, i, made);
  }
  return results;
}

static PyObject *drop_results(laze_tensor **handles, int32_t count) {
  for (int32_t i = 0; i < count; i++) laze_tensor_release(laze_tensor_take(handles[i]));
  return NULL;
}

/* Gives the results of a call to the tensors of the caller's. */
static PyObject *give(const laze_python_arguments *arguments, laze_tensor **handles, int32_t count,
                      laze_python_place place) {
  PyObject *const given = arguments->destinations;
  const bool several = PyTuple_Check(given);
  if ((several ? PyTuple_Size(given) : 1) != count) {
    drop_results(handles, count);
    return laze_python_raise_type("%s: it gives %d results, and out= has %zd tensors", arguments->called, (int)count,
                                  several ? PyTuple_Size(given) : (Py_ssize_t)1);
  }
  laze_tensor *tensors[LAZE_PYTHON_MAX_OUT];
  for (int32_t i = 0; i < count; i++) tensors[i] = laze_python_handle(several ? PyTuple_GetItem(given, i) : given);
  laze_tensor *first =
      laze_results_give_at(arguments->form, arguments->called, tensors, handles, count, place.file, place.line);
  if (first == tensors[0]) return laze_python_share(given);
  drop_results(handles, count);
  return laze_python_tensor(first); /* its error */
}

PyObject *laze_python_call(const char *name, laze_python_arguments *arguments, int32_t *count) {
  laze_tensor *handles[MAX_RESULTS];
  laze_python_place place = laze_python_find_place();
  int32_t made = laze_call_by_name_at(NULL, name, arguments->items, arguments->count, handles, MAX_RESULTS, place.file,
                                      place.line);
  if (count) *count = made;
  /* A call that uses the budget up computes, and may have been stopped there. */
  if (laze_python_raise_interrupt()) return drop_results(handles, made);
  if (arguments->numbers) {
    laze_dtype result = laze_tensor_dtype(handles[0]);
    if (!laze_python_check_numbers(name, arguments, result)) return drop_results(handles, made);
    bool again = result == LAZE_BOOL && laze_python_widen(name, arguments);
    if (again || PyErr_Occurred()) drop_results(handles, made);
    if (PyErr_Occurred()) return NULL;
    if (again) arguments->numbers = 0;
    if (again) return laze_python_call(name, arguments, count);
  }
  if (arguments->form) return give(arguments, handles, made, place);
  return made == 1 ? wrap_result(handles[0]) : wrap_results(handles, made);
}

PyObject *laze_python_call_objects(const char *name, PyObject *const *objects, int32_t count) {
  laze_python_arguments arguments = {.count = 0};
  bool added = true;
  for (int32_t i = 0; added && i < count; i++) added = laze_python_argument_add(&arguments, objects[i], 0, name);
  PyObject *result = added ? laze_python_call(name, &arguments, NULL) : NULL;
  laze_python_arguments_clear(&arguments);
  return result;
}

PyObject *laze_python_call_in_place(const char *name, const char *called, PyObject *left, PyObject *right) {
  laze_python_arguments arguments = {.count = 0, .form = LAZE_IN_PLACE, .destinations = left, .called = called};
  const bool added =
      laze_python_argument_add(&arguments, left, 0, called) && laze_python_argument_add(&arguments, right, 0, called);
  PyObject *result = added ? laze_python_call(name, &arguments, NULL) : NULL;
  laze_python_arguments_clear(&arguments);
  return result;
}

PyObject *laze_python_call_format(const char *name, const char *format, ...) {
  laze_python_arguments arguments = {.count = 0};
  bool whole = true;
  va_list list;
  va_start(list, format);
  for (; *format; format++) {
    laze_argument *item = &arguments.items[arguments.count++];
    *item = (laze_argument){.kind = LAZE_PASS_TENSOR};
    if (*format == 'T') {
      PyObject *tensor = va_arg(list, PyObject *);
      whole = whole && tensor;
      item->value.tensor = tensor ? laze_python_handle(tensor) : NULL;
    } else if (*format == 'i') {
      item->kind = LAZE_PASS_SCALAR;
      item->value.scalar = laze_scalar_integer(va_arg(list, int64_t));
    } else {
      item->kind = LAZE_PASS_INTEGERS;
      item->count = va_arg(list, int32_t);
      item->value.integers = va_arg(list, const int64_t *);
    }
  }
  va_end(list);
  return whole ? laze_python_call(name, &arguments, NULL) : NULL;
}
