/* Operators that programs declare: calls of them, and Python's code as their kernels, their rules and at their keys.
 *
 *   laze.ops.mine.scale(x, 2.0) ── _library_call ──> laze_library_call_at ── a key ──> call_code: code(below,
 * arguments) y.tolist()                  ── a graph runs, on any thread ──> call_kernel: kernel(arguments, types)
 *
 * Code at keys has tensors. Kernels have copies of elements, as bytes that Python may keep, and give bytes: what memory
 * laze lends for a call is never Python's.
 */
#include "binding.h"

#include "laze/library.h"

#include <string.h>

static void release_object(void *object) {
  laze_python_object_end(object);
}

/* ---- What kernels see. */

static PyObject *wrap_sizes(const int64_t *sizes, int32_t rank) {
  PyObject *shape = PyTuple_New(rank);
  for (int32_t i = 0; shape && i < rank; i++) PyTuple_SetItem(shape, i, PyLong_FromLongLong(sizes[i]));
  return shape;
}

static Py_ssize_t bytes_of(const laze_opaque_tensor *tensor) {
  int64_t bytes = laze_dtype_size(tensor->dtype);
  for (int32_t i = 0; i < tensor->rank; i++) bytes *= tensor->sizes[i];
  return (Py_ssize_t)bytes;
}

/* (bytes, dtype, shape), with None for bytes where types are asked for. */
static PyObject *wrap_elements(const laze_opaque_tensor *tensor) {
  PyObject *shape = wrap_sizes(tensor->sizes, tensor->rank);
  PyObject *bytes =
      tensor->data ? PyBytes_FromStringAndSize(tensor->data, bytes_of(tensor)) : laze_python_share(Py_None);
  if (!shape || !bytes) {
    Py_XDECREF(shape);
    Py_XDECREF(bytes);
    return NULL;
  }
  return Py_BuildValue("(NON)", bytes, laze_python_dtype(tensor->dtype), shape);
}

static PyObject *wrap_list(const laze_library_value *value) {
  PyObject *list = PyList_New(value->count);
  for (int32_t i = 0; list && i < value->count; i++) {
    PyObject *item = value->kind == LAZE_PASS_TENSORS    ? wrap_elements(&value->value.tensors[i])
                     : value->kind == LAZE_PASS_INTEGERS ? PyLong_FromLongLong(value->value.integers[i])
                     : value->kind == LAZE_PASS_REALS    ? PyFloat_FromDouble(value->value.reals[i])
                                                         : PyUnicode_FromString(value->value.strings[i]);
    if (item)
      PyList_SetItem(list, i, item);
    else
      Py_CLEAR(list);
  }
  return list;
}

/* None as well for a Scalar that is not known yet. */
static PyObject *wrap_value(const laze_library_value *value) {
  switch (value->kind) {
  case LAZE_PASS_TENSOR: return wrap_elements(value->value.tensors);
  case LAZE_PASS_INTEGER: return PyLong_FromLongLong(value->value.integer);
  case LAZE_PASS_BOOL: return PyBool_FromLong(value->value.integer != 0);
  case LAZE_PASS_REAL: return PyFloat_FromDouble(value->value.real);
  case LAZE_PASS_STRING: return PyUnicode_FromString(value->value.string);
  case LAZE_PASS_DTYPE: return laze_python_share(laze_python_dtype((laze_dtype)value->value.integer));
  case LAZE_PASS_TENSORS:
  case LAZE_PASS_INTEGERS:
  case LAZE_PASS_REALS:
  case LAZE_PASS_STRINGS: return wrap_list(value);
  }
  return laze_python_share(Py_None);
}

static PyObject *wrap_values(const laze_library_kernel_call *call) {
  PyObject *all = PyTuple_New(call->argument_count);
  for (int32_t i = 0; all && i < call->argument_count; i++) {
    PyObject *item = wrap_value(&call->arguments[i]);
    if (item)
      PyTuple_SetItem(all, i, item);
    else
      Py_CLEAR(all);
  }
  return all;
}

/* A graph may run where no Python is: what was raised becomes a message. */
static laze_status take_exception(laze_error *error) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *name = type ? PyObject_GetAttrString(type, "__name__") : NULL;
  PyObject *text = value ? PyObject_Str(value) : NULL;
  const char *named = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  const char *said = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  snprintf(error->message, sizeof error->message, "%.64s: %s", named ? named : "an exception", said ? said : "");
  PyErr_Clear();
  Py_XDECREF(name);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return LAZE_FAILED_PRECONDITION;
}

/* ---- Kernels and rules. */

/* Copies what a kernel gave for a tensor; None: nothing. */
static bool take_bytes(PyObject *bytes, const laze_opaque_tensor *tensor) {
  if (bytes == Py_None) return true;
  char *data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0) return false;
  if (size != bytes_of(tensor))
    return laze_python_raise_type("a kernel gave %zd bytes for %zd", size, bytes_of(tensor)) != NULL;
  if (size > 0) memcpy(tensor->data, data, (size_t)size);
  return true;
}

/* What a kernel gives: bytes for each result, None for one that is an argument, and {argument: bytes} of what is
 * written. */
static bool take_results(PyObject *given, const laze_library_kernel_call *call) {
  PyObject *results, *written, *key, *value;
  Py_ssize_t position = 0;
  if (!PyArg_ParseTuple(given, "O!O!", &PyTuple_Type, &results, &PyDict_Type, &written)) return false;
  if (PyTuple_Size(results) != call->result_count)
    return laze_python_raise_type("a kernel gave %zd results for %d", PyTuple_Size(results), (int)call->result_count) !=
           NULL;
  for (int32_t i = 0; i < call->result_count; i++)
    if (!take_bytes(PyTuple_GetItem(results, i), &call->results[i])) return false;
  while (PyDict_Next(written, &position, &key, &value)) {
    const long index = PyLong_AsLong(key);
    if (index < 0 || index >= call->argument_count || call->arguments[index].kind != LAZE_PASS_TENSOR)
      return laze_python_raise_type("a kernel wrote to argument %R", key) != NULL;
    if (!take_bytes(value, call->arguments[index].value.tensors)) return false;
  }
  return true;
}

static PyObject *wrap_types(const laze_library_kernel_call *call) {
  PyObject *types = PyTuple_New(call->result_count);
  for (int32_t i = 0; types && i < call->result_count; i++) {
    PyObject *shape = wrap_sizes(call->results[i].sizes, call->results[i].rank);
    PyObject *pair = shape ? Py_BuildValue("(ON)", laze_python_dtype(call->results[i].dtype), shape) : NULL;
    if (pair)
      PyTuple_SetItem(types, i, pair);
    else
      Py_CLEAR(types);
  }
  return types;
}

static laze_status call_kernel(void *self, const laze_library_kernel_call *call, laze_error *error) {
  if (!Py_IsInitialized()) {
    snprintf(error->message, sizeof error->message, "Python has ended");
    return LAZE_FAILED_PRECONDITION;
  }
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *arguments = wrap_values(call), *types = arguments ? wrap_types(call) : NULL;
  PyObject *given = types ? PyObject_CallFunctionObjArgs(self, arguments, types, NULL) : NULL;
  const bool done = given && take_results(given, call);
  Py_XDECREF(arguments);
  Py_XDECREF(types);
  Py_XDECREF(given);
  const laze_status status = done ? LAZE_OK : take_exception(error);
  PyGILState_Release(gil);
  return status;
}

/* A dtype and a shape. */
static bool take_type(PyObject *pair, laze_opaque_type *out) {
  PyObject *dtype, *shape;
  if (!PyArg_ParseTuple(pair, "OO!", &dtype, &PyTuple_Type, &shape)) return false;
  if (!laze_python_dtype_from(dtype, &out->dtype)) return false;
  if (PyTuple_Size(shape) > LAZE_OPAQUE_MAX_RANK)
    return laze_python_raise_type("a result of %zd dimensions", PyTuple_Size(shape)) != NULL;
  out->rank = (int32_t)PyTuple_Size(shape);
  for (int32_t i = 0; i < out->rank; i++)
    if (!laze_python_integer(PyTuple_GetItem(shape, i), "register_fake", &out->sizes[i])) return false;
  return true;
}

static bool take_types(PyObject *given, laze_opaque_type *results, int32_t count) {
  if (!PyTuple_Check(given) || PyTuple_Size(given) != count)
    return laze_python_raise_type("a rule for types gave %R for %d results", given, (int)count) != NULL;
  for (int32_t i = 0; i < count; i++) {
    PyObject *pair = PyTuple_GetItem(given, i);
    if (pair != Py_None && !take_type(pair, &results[i])) return false;
  }
  return true;
}

static laze_status call_rule(void *self, const laze_library_kernel_call *call, laze_opaque_type *results,
                             laze_error *error) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *arguments = wrap_values(call);
  PyObject *given = arguments ? PyObject_CallFunctionObjArgs(self, arguments, NULL) : NULL;
  const bool done = given && take_types(given, results, call->result_count);
  Py_XDECREF(arguments);
  Py_XDECREF(given);
  const laze_status status = done ? LAZE_OK : take_exception(error);
  PyGILState_Release(gil);
  return status;
}

/* ---- Code at keys. */

/* A call that code was given: while it runs, and no longer. */
typedef struct {
  const laze_library_dispatch *call; /* NULL: it has returned */
} open_call;

static const char capsule_name[] = "laze._laze.call";

static void free_capsule(PyObject *capsule) {
  PyMem_Free(PyCapsule_GetPointer(capsule, capsule_name));
}

static PyObject *wrap_tensors(laze_tensor *const *handles, int32_t count) {
  PyObject *list = PyList_New(count);
  for (int32_t i = 0; list && i < count; i++) {
    PyObject *tensor = laze_python_tensor(handles[i]);
    if (tensor)
      PyList_SetItem(list, i, tensor);
    else
      Py_CLEAR(list);
  }
  return list;
}

static PyObject *wrap_scalar(laze_scalar scalar) {
  if (scalar.dtype == LAZE_BOOL) return PyBool_FromLong(scalar.value.integer != 0);
  if (scalar.dtype == LAZE_U64) return PyLong_FromUnsignedLongLong((unsigned long long)scalar.value.integer);
  return scalar.dtype == LAZE_F64 ? PyFloat_FromDouble(scalar.value.real) : PyLong_FromLongLong(scalar.value.integer);
}

static PyObject *wrap_argument(const laze_argument *argument) {
  switch (argument->kind) {
  case LAZE_PASS_TENSOR: return laze_python_tensor(argument->value.tensor);
  case LAZE_PASS_TENSORS: return wrap_tensors(argument->value.tensors, argument->count);
  case LAZE_PASS_SCALAR: return wrap_scalar(argument->value.scalar);
  }
  laze_library_value value = {.kind = argument->kind, .count = argument->count};
  switch (argument->kind) {
  case LAZE_PASS_REAL: value.value.real = argument->value.real; break;
  case LAZE_PASS_STRING: value.value.string = argument->value.string; break;
  case LAZE_PASS_INTEGERS: value.value.integers = argument->value.integers; break;
  case LAZE_PASS_REALS: value.value.reals = argument->value.reals; break;
  case LAZE_PASS_STRINGS: value.value.strings = argument->value.strings; break;
  default: value.value.integer = argument->value.integer;
  }
  return wrap_value(&value);
}

static PyObject *wrap_arguments(const laze_library_dispatch *call) {
  PyObject *all = PyTuple_New(call->argument_count);
  for (int32_t i = 0; all && i < call->argument_count; i++) {
    PyObject *item = wrap_argument(&call->arguments[i]);
    if (item)
      PyTuple_SetItem(all, i, item);
    else
      Py_CLEAR(all);
  }
  return all;
}

/* A tuple of tensors, one for each result. */
static bool take_tensors(PyObject *given, laze_tensor **results, int32_t count) {
  if (!PyTuple_Check(given) || PyTuple_Size(given) != count)
    return laze_python_raise_type("code at a key gave %R for %d results", given, (int)count) != NULL;
  for (int32_t i = 0; i < count; i++) {
    PyObject *tensor = PyTuple_GetItem(given, i);
    if (!laze_python_is_tensor(tensor))
      return laze_python_raise_type("code at a key gave a %R as result %d, and no tensor", Py_TYPE(tensor), (int)i) !=
             NULL;
    if (!laze_python_pass_keep(tensor)) return false;
    results[i] = laze_python_handle(tensor);
  }
  return true;
}

static laze_status call_code(void *self, const laze_library_dispatch *call, laze_tensor **results, laze_error *error) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  open_call *open = PyMem_Malloc(sizeof *open);
  PyObject *capsule = open ? PyCapsule_New(open, capsule_name, free_capsule) : PyErr_NoMemory(), *given = NULL;
  if (open) open->call = call;
  PyObject *arguments = capsule ? wrap_arguments(call) : NULL;
  if (arguments) given = PyObject_CallFunctionObjArgs(self, capsule, arguments, NULL);
  const bool done = given && take_tensors(given, results, call->result_count);
  if (open && capsule) open->call = NULL; /* whoever keeps it has nothing to go on with */
  Py_XDECREF(arguments);
  Py_XDECREF(given);
  const laze_status status = done ? LAZE_OK : laze_python_pass_exception(error);
  Py_XDECREF(capsule);
  PyGILState_Release(gil);
  return status;
}

/* ---- Calls. */

/* Adds what Python passes; names live as long as the call. */
static bool add_arguments(laze_python_arguments *arguments, PyObject *positional, PyObject *named, const char *name) {
  PyObject *key, *value;
  Py_ssize_t position = 0;
  for (Py_ssize_t i = 0; i < PyTuple_Size(positional); i++)
    if (!laze_python_argument_add(arguments, PyTuple_GetItem(positional, i), 0, name)) return false;
  while (named && PyDict_Next(named, &position, &key, &value)) {
    const char *word = laze_python_text(key, name);
    if (!word || !laze_python_argument_add(arguments, value, 0, name)) return false;
    arguments->items[arguments->count - 1].name = word;
  }
  return true;
}

/* The object that was passed, where a result is an argument. */
static PyObject *find_passed(laze_tensor *handle, PyObject *positional, PyObject *named) {
  PyObject *key, *value;
  Py_ssize_t position = 0;
  for (Py_ssize_t i = 0; i < PyTuple_Size(positional); i++) {
    PyObject *item = PyTuple_GetItem(positional, i);
    if (laze_python_is_tensor(item) && laze_python_handle(item) == handle) return item;
  }
  while (named && PyDict_Next(named, &position, &key, &value))
    if (laze_python_is_tensor(value) && laze_python_handle(value) == handle) return value;
  return NULL;
}

static PyObject *wrap_results(laze_tensor **handles, int32_t count, PyObject *positional, PyObject *named) {
  PyObject *all = PyTuple_New(count);
  for (int32_t i = 0; i < count; i++) {
    PyObject *passed = find_passed(handles[i], positional, named);
    PyObject *made = !all ? NULL : passed ? laze_python_share(passed) : laze_python_tensor(handles[i]);
    if (made)
      PyTuple_SetItem(all, i, made);
    else if (!passed)
      laze_tensor_release(laze_tensor_take(handles[i]));
    if (!made) Py_CLEAR(all);
  }
  return all;
}

static PyObject *call_library(const char *name, laze_python_arguments *arguments, PyObject *positional,
                              PyObject *named) {
  laze_tensor *handles[LAZE_OPAQUE_MAX_RESULTS] = {NULL};
  laze_python_pass pass;
  int32_t line;
  const char *file = laze_python_place_outside("/laze/library.py", &line);
  laze_python_pass_begin(&pass);
  const int32_t count = laze_library_call_at(NULL, name, arguments->items, arguments->count, handles,
                                             LAZE_OPAQUE_MAX_RESULTS, file, line);
  PyObject *results = wrap_results(handles, count, positional, named);
  if (!results && pass.type) PyErr_Clear(); /* what the code raised says more */
  if (laze_python_pass_end(&pass, !results)) return NULL;
  return results;
}

/* _library_call(name, arguments, named): a tuple of tensors. */
static PyObject *library_call(PyObject *module, PyObject *given) {
  const char *name;
  PyObject *positional, *named;
  laze_python_arguments arguments = {.count = 0};
  (void)module;
  if (!PyArg_ParseTuple(given, "sO!O!:_library_call", &name, &PyTuple_Type, &positional, &PyDict_Type, &named))
    return NULL;
  PyObject *results =
      add_arguments(&arguments, positional, named, name) ? call_library(name, &arguments, positional, named) : NULL;
  laze_python_arguments_clear(&arguments);
  return results;
}

/* _library_redispatch(call, arguments): the same at the key below, from code that was given the call. */
static PyObject *library_redispatch(PyObject *module, PyObject *given) {
  PyObject *capsule, *positional;
  laze_python_arguments arguments = {.count = 0};
  laze_tensor *handles[LAZE_OPAQUE_MAX_RESULTS] = {NULL};
  (void)module;
  if (!PyArg_ParseTuple(given, "OO!:_library_redispatch", &capsule, &PyTuple_Type, &positional)) return NULL;
  const open_call *open = PyCapsule_GetPointer(capsule, capsule_name);
  if (!open) return NULL;
  if (!open->call) return laze_python_raise(LAZE_FAILED_PRECONDITION, "the code that was given this call has returned");
  laze_error error = {0};
  laze_library_dispatch next = *open->call;
  PyObject *results = NULL;
  if (add_arguments(&arguments, positional, NULL, next.name)) {
    next.arguments = arguments.items;
    next.argument_count = arguments.count;
    const laze_status status = laze_library_redispatch(&next, handles, &error);
    results = status == LAZE_OK ? wrap_results(handles, next.result_count, positional, NULL)
                                : laze_python_raise(status, error.message);
  }
  laze_python_arguments_clear(&arguments);
  return results;
}

/* ---- Declaring. */

static PyObject *wrap_status(laze_status status, const laze_error *error) {
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise(status, error->message);
}

static PyObject *library_define(PyObject *module, PyObject *schema) {
  laze_error error = {0};
  (void)module;
  const char *text = PyUnicode_Check(schema) ? laze_python_text(schema, "define") : NULL;
  if (!text)
    return PyErr_Occurred() ? NULL : laze_python_raise_type("define: a schema is a string, and not %R", schema);
  return wrap_status(laze_library_define(NULL, text, &error), &error);
}

static PyObject *library_remove(PyObject *module, PyObject *given) {
  laze_error error = {0};
  const char *name;
  (void)module;
  if (!PyArg_ParseTuple(given, "s:_library_remove", &name)) return NULL;
  return wrap_status(laze_library_remove(NULL, name, &error), &error);
}

static PyObject *library_schema(PyObject *module, PyObject *given) {
  laze_error error = {0};
  const char *name;
  char text[4096];
  (void)module;
  if (!PyArg_ParseTuple(given, "s:_library_schema", &name)) return NULL;
  const laze_status status = laze_library_get_schema(NULL, name, text, sizeof text, NULL, &error);
  return status == LAZE_OK ? PyUnicode_FromString(text) : laze_python_raise(status, error.message);
}

static bool check_code(PyObject *code) {
  return PyCallable_Check(code) ||
         laze_python_raise_type("an operator's code is called, which %R cannot be", code) != NULL;
}

static PyObject *library_implement(PyObject *module, PyObject *given) {
  laze_error error = {0};
  const char *name, *backend;
  PyObject *code;
  (void)module;
  if (!PyArg_ParseTuple(given, "szO:_library_implement", &name, &backend, &code) || !check_code(code)) return NULL;
  return wrap_status(
      laze_library_implement(NULL, name, backend, call_kernel, laze_python_share(code), release_object, &error),
      &error);
}

static PyObject *library_infer(PyObject *module, PyObject *given) {
  laze_error error = {0};
  const char *name;
  PyObject *code;
  (void)module;
  if (!PyArg_ParseTuple(given, "sO:_library_infer", &name, &code) || !check_code(code)) return NULL;
  return wrap_status(laze_library_infer(NULL, name, call_rule, laze_python_share(code), release_object, &error),
                     &error);
}

/* _library_override(name or None, key, code) */
static PyObject *library_override(PyObject *module, PyObject *given) {
  laze_error error = {0};
  const char *name;
  int key;
  PyObject *code;
  (void)module;
  if (!PyArg_ParseTuple(given, "ziO:_library_override", &name, &key, &code) || !check_code(code)) return NULL;
  return wrap_status(laze_library_override(NULL, name, key, call_code, laze_python_share(code), release_object, &error),
                     &error);
}

static PyObject *library_restore(PyObject *module, PyObject *given) {
  laze_error error = {0};
  const char *name;
  int key;
  (void)module;
  if (!PyArg_ParseTuple(given, "zi:_library_restore", &name, &key)) return NULL;
  return wrap_status(laze_library_restore(NULL, name, key, &error), &error);
}

static PyObject *library_set_fallback(PyObject *module, PyObject *given) {
  laze_error error = {0};
  int mode;
  int32_t before = 0;
  (void)module;
  if (!PyArg_ParseTuple(given, "i:_library_set_fallback", &mode)) return NULL;
  const laze_status status = laze_library_set_fallback(NULL, mode, &before, &error);
  return status == LAZE_OK ? PyLong_FromLong(before) : laze_python_raise(status, error.message);
}

static PyObject *library_check(PyObject *module, PyObject *given) {
  int enabled;
  (void)module;
  if (!PyArg_ParseTuple(given, "p:_library_check", &enabled)) return NULL;
  return PyBool_FromLong(laze_library_check_kernels(NULL, enabled));
}

static PyMethodDef functions[] = {
    {"_library_call", library_call, METH_VARARGS, NULL},
    {"_library_redispatch", library_redispatch, METH_VARARGS, NULL},
    {"_library_define", library_define, METH_O, NULL},
    {"_library_remove", library_remove, METH_VARARGS, NULL},
    {"_library_schema", library_schema, METH_VARARGS, NULL},
    {"_library_implement", library_implement, METH_VARARGS, NULL},
    {"_library_infer", library_infer, METH_VARARGS, NULL},
    {"_library_override", library_override, METH_VARARGS, NULL},
    {"_library_restore", library_restore, METH_VARARGS, NULL},
    {"_library_set_fallback", library_set_fallback, METH_VARARGS, NULL},
    {"_library_check", library_check, METH_VARARGS, NULL},
    {0},
};

int laze_python_add_library(PyObject *module) {
  return PyModule_AddFunctions(module, functions);
}
