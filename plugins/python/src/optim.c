/* What laze.optim and laze.nn are made of: an optimiser of the library as an object, clipping, and assignments.
 *
 *   optim.SGD(params).step()     optim/__init__.py ──> _Optimiser.step ──> laze_optimiser_step, and outside of
 *                                laze.step() the end of a step of its own, so that loops of PyTorch's stay short
 */
#include "binding.h"

#include "laze/optim.h"

typedef struct {
  PyObject ob_base;          /* what PyObject_HEAD is */
  laze_optimiser *optimiser; /* owned */
} optimiser_object;

static PyTypeObject *optimiser_type;

static laze_optimiser *optimiser_of(PyObject *self) {
  return ((optimiser_object *)self)->optimiser;
}

/* ---- Settings: a dict of names and numbers. */

/* At most as many as an algorithm has; freed by PyMem_Free. Names are borrowed from the dict. */
static laze_setting *take_settings(PyObject *dict, laze_settings *out) {
  Py_ssize_t place = 0;
  PyObject *key, *value;
  laze_setting *items = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof *items);
  if (!items) return PyErr_NoMemory(), NULL;
  *out = (laze_settings){items, 0};
  while (PyDict_Next(dict, &place, &key, &value)) {
    items[out->count].name = PyUnicode_AsUTF8AndSize(key, NULL);
    items[out->count].value = PyFloat_AsDouble(value);
    if (!items[out->count++].name || PyErr_Occurred()) return PyMem_Free(items), NULL;
  }
  return items;
}

static PyObject *create(PyObject *module, PyObject *name) {
  (void)module;
  const char *text = laze_python_text(name, "optim");
  laze_error error = {0};
  optimiser_object *made = text ? PyObject_New(optimiser_object, optimiser_type) : NULL;
  if (!made) return NULL;
  const laze_status status = laze_optimiser_create(NULL, text, LAZE_NO_SETTINGS, &made->optimiser, &error);
  if (status == LAZE_OK) return (PyObject *)made;
  Py_DECREF(made);
  return laze_python_raise(status, error.message);
}

static void optimiser_dealloc(PyObject *self) {
  laze_optimiser_destroy(optimiser_of(self));
  laze_python_free(self);
}

/* add(tensors, settings) */
static PyObject *add(PyObject *self, PyObject *arguments) {
  PyObject *tensors, *dict;
  laze_settings settings;
  laze_error error = {0};
  if (!PyArg_ParseTuple(arguments, "O!O!:add", &PyTuple_Type, &tensors, &PyDict_Type, &dict)) return NULL;
  laze_tensor **handles = laze_python_handles(tensors, false, "parameter %zd is a %R, and no tensor");
  laze_setting *items = handles ? take_settings(dict, &settings) : NULL;
  laze_status status = LAZE_OK;
  if (items) status = laze_optimiser_add(optimiser_of(self), handles, (int32_t)PyTuple_Size(tensors), settings, &error);
  PyMem_Free(handles);
  if (!items) return NULL;
  PyMem_Free(items);
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise(status, error.message);
}

/* set(group, settings) */
static PyObject *set(PyObject *self, PyObject *arguments) {
  PyObject *dict;
  int group;
  laze_settings settings;
  laze_error error = {0};
  if (!PyArg_ParseTuple(arguments, "iO!:set", &group, &PyDict_Type, &dict)) return NULL;
  laze_setting *items = take_settings(dict, &settings);
  if (!items) return NULL;
  const laze_status status = laze_optimiser_set(optimiser_of(self), group, settings, &error);
  PyMem_Free(items);
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise(status, error.message);
}

/* ---- Steps. */

static laze_status step_and_compute(laze_optimiser *optimiser, laze_python_place place, laze_error *error) {
  laze_scope *scope = laze_scope_begin(NULL);
  const laze_status status = laze_optimiser_step(optimiser, error);
  const laze_status end =
      status == LAZE_OK ? laze_step_end_at(scope, error, place.file, place.line) : laze_scope_end_error(scope, NULL);
  return status == LAZE_OK ? end : status;
}

static PyObject *step(PyObject *self, PyObject *unused) {
  (void)unused;
  laze_error error = {0};
  laze_status status;
  const bool is_inside = laze_python_in_step();
  const laze_python_place place = laze_python_find_reader();
  Py_BEGIN_ALLOW_THREADS status =
      is_inside ? laze_optimiser_step(optimiser_of(self), &error) : step_and_compute(optimiser_of(self), place, &error);
  Py_END_ALLOW_THREADS if (status != LAZE_OK) return laze_python_raise(status, error.message);
  return laze_python_raise_interrupt() ? NULL : laze_python_share(Py_None);
}

/* ---- What is remembered: a dict of names and tensors. */

/* Copies, as most of what is remembered is the optimiser's own. */
static bool put_state(PyObject *all, const laze_named_tensor *item) {
  PyObject *tensor = laze_python_copy_values(item->tensor);
  const int status = tensor ? PyDict_SetItemString(all, item->name, tensor) : -1;
  Py_XDECREF(tensor);
  return status == 0;
}

static PyObject *get_state(PyObject *self, PyObject *unused) {
  (void)unused;
  laze_error error = {0};
  int32_t count = 0;
  laze_status status = laze_optimiser_get_state(optimiser_of(self), NULL, &count, &error);
  laze_named_tensor *items = PyMem_Calloc((size_t)count + 1, sizeof *items);
  if (!items) return PyErr_NoMemory();
  if (status == LAZE_OK) status = laze_optimiser_get_state(optimiser_of(self), items, &count, &error);
  PyObject *all = status == LAZE_OK ? PyDict_New() : laze_python_raise(status, error.message);
  for (int32_t i = 0; all && i < count; i++)
    if (!put_state(all, &items[i])) Py_CLEAR(all);
  PyMem_Free(items);
  return all;
}

static bool take_state(PyObject *dict, laze_named_tensor *items) {
  Py_ssize_t place = 0;
  PyObject *key, *value;
  for (int32_t i = 0; PyDict_Next(dict, &place, &key, &value); i++) {
    if (!laze_python_is_tensor(value))
      return laze_python_raise_type("load_state_dict: %R is a %R, and no tensor", key, Py_TYPE(value)), false;
    items[i] = (laze_named_tensor){laze_python_text(key, "load_state_dict"), laze_python_handle(value)};
    if (!items[i].name) return false;
  }
  return true;
}

static PyObject *set_state(PyObject *self, PyObject *dict) {
  laze_error error = {0};
  if (!PyDict_Check(dict)) return laze_python_raise_type("load_state_dict: %R is no dict", dict);
  const Py_ssize_t count = PyDict_Size(dict);
  laze_named_tensor *items = PyMem_Calloc((size_t)count + 1, sizeof *items);
  if (!items) return PyErr_NoMemory();
  PyObject *result = NULL;
  if (take_state(dict, items)) {
    const laze_status status = laze_optimiser_set_state(optimiser_of(self), items, (int32_t)count, &error);
    result = status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise(status, error.message);
  }
  PyMem_Free(items);
  return result;
}

static PyMethodDef methods[] = {
    {"add", add, METH_VARARGS, NULL},       {"set", set, METH_VARARGS, NULL},
    {"step", step, METH_NOARGS, NULL},      {"get_state", get_state, METH_NOARGS, NULL},
    {"set_state", set_state, METH_O, NULL}, {0},
};
static PyType_Slot type_slots[] = {
    {Py_tp_doc, "What laze.optim's classes are made of."},
    {Py_tp_new, laze_python_refuse_new},
    {Py_tp_dealloc, optimiser_dealloc},
    {Py_tp_methods, methods},
    {0},
};
static PyType_Spec type_spec = {"laze._Optimiser", sizeof(optimiser_object), 0, Py_TPFLAGS_DEFAULT, type_slots};

/* ---- Functions of tensors. */

/* _clip_grad_norm(tensors, max_norm, order): the norm. */
static PyObject *clip_norm(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *tensors;
  double most, order;
  laze_error error = {0};
  laze_tensor *norm = NULL;
  if (!PyArg_ParseTuple(arguments, "O!dd:clip_grad_norm_", &PyTuple_Type, &tensors, &most, &order)) return NULL;
  laze_tensor **handles = laze_python_handles(tensors, false, "clip_grad_norm_: parameter %zd is a %R, and no tensor");
  if (!handles) return NULL;
  const laze_status status =
      laze_clip_grad_norm(NULL, handles, (int32_t)PyTuple_Size(tensors), most, order, &norm, &error);
  PyMem_Free(handles);
  return status == LAZE_OK ? laze_python_tensor(norm) : laze_python_raise(status, error.message);
}

/* _clip_grad_value(tensors, limit) */
static PyObject *clip_value(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *tensors;
  double limit;
  laze_error error = {0};
  if (!PyArg_ParseTuple(arguments, "O!d:clip_grad_value_", &PyTuple_Type, &tensors, &limit)) return NULL;
  laze_tensor **handles = laze_python_handles(tensors, false, "clip_grad_value_: parameter %zd is a %R, and no tensor");
  if (!handles) return NULL;
  const laze_status status = laze_clip_grad_value(NULL, handles, (int32_t)PyTuple_Size(tensors), limit, &error);
  PyMem_Free(handles);
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise(status, error.message);
}

static PyMethodDef functions[] = {
    {"_optimiser", create, METH_O, NULL},
    {"_clip_grad_norm", clip_norm, METH_VARARGS, NULL},
    {"_clip_grad_value", clip_value, METH_VARARGS, NULL},
    {0},
};

int laze_python_add_optimisers(PyObject *module) {
  if (!optimiser_type) optimiser_type = (PyTypeObject *)PyType_FromSpec(&type_spec);
  return optimiser_type ? PyModule_AddFunctions(module, functions) : -1;
}
