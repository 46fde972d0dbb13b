/* Gradients: what tensors have of them, and the functions that laze.autograd (autograd.py) is made of, which has made
 * tuples of what it was given.
 *
 *   loss.backward()              method ────────> laze_backward_with: leaves' gradients add up in the library
 *   x.grad                       attribute ─────> laze_tensor_grad: another object each time, of the same memory
 *   autograd.grad(loss, [x])     _grad ─────────> laze_grad: a tuple of tensors, None where nothing depends on one
 *   autograd.jvp([y], [x], [t])  _jvp ──────────> laze_jvp: a tuple of tensors, one for each output
 *   with no_grad():              _set_grad_enabled, of this thread
 */
#include "binding.h"

/* Sets the exception of a call that failed; gives -1. */
static int raise_status(laze_status status, const laze_error *error) {
  return laze_python_raise(status, error->message), -1;
}

/* ---- Attributes of tensors. */

PyObject *laze_python_get_requires_grad(PyObject *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(laze_tensor_requires_grad(laze_python_handle(self)));
}

PyObject *laze_python_get_is_leaf(PyObject *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(laze_tensor_is_leaf(laze_python_handle(self)));
}

int laze_python_set_requires_grad(PyObject *self, PyObject *value, void *closure) {
  (void)closure;
  if (!value || !PyBool_Check(value)) {
    laze_python_raise_type("requires_grad is True or False, and not %R", value ? value : Py_None);
    return -1;
  }
  laze_error error = {0};
  const laze_status status = laze_tensor_require_grad(laze_python_handle(self), value == Py_True, &error);
  return status == LAZE_OK ? 0 : raise_status(status, &error);
}

PyObject *laze_python_require_grad(PyObject *self, PyObject *arguments, PyObject *names) {
  static char *words[] = {"requires_grad", NULL};
  PyObject *value = Py_True;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|O:requires_grad_", words, &value)) return NULL;
  return laze_python_set_requires_grad(self, value, NULL) < 0 ? NULL : laze_python_share(self);
}

PyObject *laze_python_get_grad(PyObject *self, void *closure) {
  (void)closure;
  laze_tensor *gradient = laze_tensor_grad(laze_python_handle(self));
  return gradient ? laze_python_tensor(gradient) : laze_python_share(Py_None);
}

int laze_python_set_grad(PyObject *self, PyObject *value, void *closure) {
  (void)closure;
  laze_tensor *handle = laze_python_handle(self);
  const bool clears = !value || value == Py_None;
  if (!clears && !laze_python_is_tensor(value)) {
    laze_python_raise_type("grad is a tensor or None, and not a %R", Py_TYPE(value));
    return -1;
  }
  laze_error error = {0};
  const laze_status status = laze_tensor_set_grad(handle, clears ? NULL : laze_python_handle(value), &error);
  return status == LAZE_OK ? 0 : raise_status(status, &error);
}

PyObject *laze_python_retain_grad(PyObject *self, PyObject *unused) {
  (void)unused;
  laze_error error = {0};
  const laze_status status = laze_tensor_retain_grad(laze_python_handle(self), &error);
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise(status, error.message);
}

PyObject *laze_python_get_retains_grad(PyObject *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(laze_tensor_retains_grad(laze_python_handle(self)));
}

PyObject *laze_python_is_inference(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(laze_tensor_is_inference(laze_python_handle(self)));
}

PyObject *laze_python_detach(PyObject *self, PyObject *unused) {
  (void)unused;
  return laze_python_tensor(laze_detach(laze_python_handle(self)));
}

PyObject *laze_python_detach_itself(PyObject *self, PyObject *unused) {
  (void)unused;
  laze_error error = {0};
  const laze_status status = laze_tensor_detach(laze_python_handle(self), &error);
  return status == LAZE_OK ? laze_python_share(self) : laze_python_raise(status, error.message);
}

PyObject *laze_python_copy_values(laze_tensor *handle) {
  PyObject *shared = laze_python_tensor(laze_detach(handle));
  PyObject *copy = shared ? laze_python_call_objects("clone", &shared, 1) : NULL;
  Py_XDECREF(shared);
  return copy;
}

/* A leaf's gradient begins with a copy of that of the one that is copied. */
static int copy_gradient(laze_tensor *leaf, laze_tensor *gradient) {
  PyObject *own = gradient ? laze_python_copy_values(gradient) : NULL;
  if (gradient) laze_tensor_release(laze_tensor_take(gradient));
  if (!own) return PyErr_Occurred() ? -1 : 0;
  laze_error error = {0};
  const laze_status status = laze_tensor_set_grad(leaf, laze_python_handle(own), &error);
  Py_DECREF(own);
  return status == LAZE_OK ? 0 : raise_status(status, &error);
}

/* A tensor that gets a gradient of its own. */
static PyObject *copy_with_gradient(laze_tensor *handle) {
  PyObject *copy = laze_python_copy_values(handle);
  laze_error error = {0};
  if (!copy) return NULL;
  const laze_status status = laze_tensor_require_grad(laze_python_handle(copy), 1, &error);
  const int done = status == LAZE_OK ? copy_gradient(laze_python_handle(copy), laze_tensor_grad(handle))
                                     : raise_status(status, &error);
  if (done < 0) Py_CLEAR(copy);
  return copy;
}

PyObject *laze_python_copy_leaf(PyObject *self, PyObject *unused) {
  (void)unused;
  laze_tensor *handle = laze_python_handle(self);
  if (!laze_tensor_requires_grad(handle)) return laze_python_call_objects("clone", &self, 1);
  if (laze_tensor_is_leaf(handle)) return copy_with_gradient(handle);
  return laze_python_raise(LAZE_FAILED_PRECONDITION,
                           "copy: gradients go through the tensor to others, which a copy does not have; use clone() "
                           "or detach()");
}

bool laze_python_refuse_gradient(PyObject *tensor, PyObject *exception, const char *what) {
  if (!laze_tensor_requires_grad(laze_python_handle(tensor))) return false;
  if (exception) {
    PyErr_Format(exception, "%s: the tensor requires a gradient, which would be lost; use tensor.detach()", what);
    return true;
  }
  char message[128];
  snprintf(message, sizeof message, "%s: the tensor requires a gradient, which would be lost; use tensor.detach().%s()",
           what, what);
  laze_python_raise(LAZE_FAILED_PRECONDITION, message);
  return true;
}

/* ---- Passes. */

/* retain_graph: None is as create_graph. */
static bool find_flags(PyObject *retain, PyObject *create, int32_t *flags) {
  const int creates = PyObject_IsTrue(create), retains = retain == Py_None ? creates : PyObject_IsTrue(retain);
  if (creates < 0 || retains < 0) return false;
  *flags = (creates ? LAZE_CREATE_GRAPH : 0) | (retains ? LAZE_RETAIN_GRAPH : 0);
  return true;
}

/* What a pass is asked for: three tuples, and what else. */
typedef struct {
  laze_tensor **outputs, **gradients, **inputs;
  int32_t output_count, input_count, flags;
} request;

static bool take_request(PyObject *outputs, PyObject *gradients, PyObject *inputs, request *out) {
  out->output_count = (int32_t)PyTuple_Size(outputs);
  out->input_count = inputs ? (int32_t)PyTuple_Size(inputs) : 0;
  out->outputs = laze_python_handles(outputs, false, "grad: output %zd is a %R, and no tensor");
  if (out->outputs)
    out->gradients = laze_python_handles(gradients, true, "grad: the gradient of output %zd is a %R, and no tensor");
  if (out->gradients && inputs)
    out->inputs = laze_python_handles(inputs, false, "grad: input %zd is a %R, and no tensor");
  return out->gradients && (out->inputs || !inputs);
}

static void free_request(request *asked) {
  PyMem_Free(asked->outputs);
  PyMem_Free(asked->gradients);
  PyMem_Free(asked->inputs);
}

static PyObject *wrap_gradients(laze_tensor **found, int32_t count) {
  PyObject *gradients = PyTuple_New(count);
  for (int32_t i = 0; gradients && i < count; i++) {
    PyObject *gradient = found[i] ? laze_python_tensor(found[i]) : laze_python_share(Py_None);
    found[i] = NULL;
    if (gradient)
      PyTuple_SetItem(gradients, i, gradient);
    else
      Py_CLEAR(gradients);
  }
  for (int32_t i = 0; i < count; i++)
    if (found[i]) laze_tensor_release(laze_tensor_take(found[i])); /* nobody else knows these */
  return gradients;
}

/* _grad(outputs, gradients, inputs, retain_graph, create_graph, allow_unused), of tuples that are as long as they have
 * to be. */
static PyObject *find_gradients(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *outputs, *gradients, *inputs, *retain, *create;
  int allows_unused;
  request asked = {0};
  if (!PyArg_ParseTuple(arguments, "O!O!O!OOp:_grad", &PyTuple_Type, &outputs, &PyTuple_Type, &gradients, &PyTuple_Type,
                        &inputs, &retain, &create, &allows_unused) ||
      !find_flags(retain, create, &asked.flags))
    return NULL;
  if (allows_unused) asked.flags |= LAZE_ALLOW_UNUSED;
  PyObject *result = NULL;
  laze_error error = {0};
  const bool taken = take_request(outputs, gradients, inputs, &asked);
  laze_tensor **found = taken ? PyMem_Calloc((size_t)asked.input_count + 1, sizeof *found) : NULL;
  if (found) {
    laze_status status;
    laze_python_pass pass;
    laze_python_pass_begin(&pass);
    Py_BEGIN_ALLOW_THREADS status = laze_grad(asked.outputs, asked.gradients, asked.output_count, asked.inputs,
                                              asked.input_count, asked.flags, found, &error);
    Py_END_ALLOW_THREADS if (!laze_python_pass_finish(&pass, status, &error)) result = NULL;
    else if (!laze_python_raise_interrupt()) result = wrap_gradients(found, asked.input_count);
  } else if (taken) {
    PyErr_NoMemory();
  }
  PyMem_Free(found);
  free_request(&asked);
  return result;
}

/* _jvp(outputs, inputs, tangents, create_graph), of tuples, the last two of one length. */
static PyObject *find_tangents(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *outputs, *inputs, *tangents, *create, *result = NULL;
  if (!PyArg_ParseTuple(arguments, "O!O!O!O:_jvp", &PyTuple_Type, &outputs, &PyTuple_Type, &inputs, &PyTuple_Type,
                        &tangents, &create))
    return NULL;
  const int creates = PyObject_IsTrue(create);
  const int32_t count = (int32_t)PyTuple_Size(outputs), input_count = (int32_t)PyTuple_Size(inputs);
  request asked = {.flags = creates > 0 ? LAZE_CREATE_GRAPH : 0};
  laze_error error = {0};
  asked.outputs = creates < 0 ? NULL : laze_python_handles(outputs, false, "jvp: output %zd is a %R, and no tensor");
  if (asked.outputs) asked.inputs = laze_python_handles(inputs, false, "jvp: input %zd is a %R, and no tensor");
  if (asked.inputs)
    asked.gradients = laze_python_handles(tangents, true, "jvp: the tangent of input %zd is a %R, and no tensor");
  laze_tensor **found = asked.gradients ? PyMem_Calloc((size_t)count + 1, sizeof *found) : NULL;
  if (found) {
    laze_status status;
    laze_python_pass pass;
    laze_python_pass_begin(&pass);
    Py_BEGIN_ALLOW_THREADS status =
        laze_jvp(asked.outputs, count, asked.inputs, asked.gradients, input_count, asked.flags, found, &error);
    Py_END_ALLOW_THREADS if (!laze_python_pass_finish(&pass, status, &error)) result = NULL;
    else if (!laze_python_raise_interrupt()) result = wrap_gradients(found, count);
  } else if (asked.gradients) {
    PyErr_NoMemory();
  }
  PyMem_Free(found);
  free_request(&asked);
  return result;
}

/* _backward(tensors, gradients, inputs, retain_graph, create_graph); no inputs: all leaves. */
static PyObject *run_backward(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *tensors, *gradients, *inputs, *retain, *create;
  request asked = {0};
  if (!PyArg_ParseTuple(arguments, "O!O!O!OO:_backward", &PyTuple_Type, &tensors, &PyTuple_Type, &gradients,
                        &PyTuple_Type, &inputs, &retain, &create) ||
      !find_flags(retain, create, &asked.flags))
    return NULL;
  PyObject *result = NULL;
  if (take_request(tensors, gradients, inputs, &asked)) {
    laze_error error = {0};
    laze_status status;
    laze_python_pass pass;
    laze_python_pass_begin(&pass);
    Py_BEGIN_ALLOW_THREADS status =
        asked.input_count > 0
            ? laze_backward_into(asked.outputs, asked.gradients, asked.output_count, asked.inputs, asked.input_count,
                                 asked.flags, &error)
            : laze_backward_with(asked.outputs, asked.gradients, asked.output_count, asked.flags, &error);
    Py_END_ALLOW_THREADS if (laze_python_pass_finish(&pass, status, &error) && !laze_python_raise_interrupt()) result =
        laze_python_share(Py_None);
  }
  free_request(&asked);
  return result;
}

PyObject *laze_python_backward(PyObject *self, PyObject *arguments, PyObject *names) {
  static char *words[] = {"gradient", "retain_graph", "create_graph", "inputs", NULL};
  PyObject *gradient = Py_None, *retain = Py_None, *create = Py_False, *inputs = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|OOOO:backward", words, &gradient, &retain, &create, &inputs))
    return NULL;
  if (gradient != Py_None && !laze_python_is_tensor(gradient))
    return laze_python_raise_type("backward: the gradient is a tensor or None, and not a %R", Py_TYPE(gradient));
  PyObject *module = PyImport_ImportModule("laze.autograd");
  PyObject *result =
      module ? PyObject_CallMethod(module, "backward", "O(O)OOO", self, gradient, retain, create, inputs) : NULL;
  Py_XDECREF(module);
  return result;
}

/* ---- Whether calls leave histories behind. */

static PyObject *set_enabled(PyObject *module, PyObject *mode) {
  (void)module;
  const int enabled = PyObject_IsTrue(mode);
  return enabled < 0 ? NULL : PyBool_FromLong(laze_set_grad_enabled(NULL, enabled));
}

static PyObject *is_enabled(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return PyBool_FromLong(laze_is_grad_enabled(NULL));
}

static PyObject *set_inference(PyObject *module, PyObject *mode) {
  (void)module;
  const int enabled = PyObject_IsTrue(mode);
  return enabled < 0 ? NULL : PyBool_FromLong(laze_set_inference_mode(NULL, enabled));
}

static PyObject *set_anomaly(PyObject *module, PyObject *mode) {
  (void)module;
  const int enabled = PyObject_IsTrue(mode);
  return enabled < 0 ? NULL : PyBool_FromLong(laze_set_anomaly_mode(NULL, enabled));
}

static PyObject *is_anomaly_enabled(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return PyBool_FromLong(laze_is_anomaly_mode(NULL));
}

static PyObject *is_inference_enabled(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return PyBool_FromLong(laze_is_inference_mode(NULL));
}

static PyMethodDef functions[] = {
    {"_grad", find_gradients, METH_VARARGS, NULL},
    {"_jvp", find_tangents, METH_VARARGS, NULL},
    {"_backward", run_backward, METH_VARARGS, NULL},
    {"_set_grad_enabled", set_enabled, METH_O, NULL},
    {"is_grad_enabled", is_enabled, METH_NOARGS,
     "is_grad_enabled()\n--\n\nWhether operators that this thread calls are remembered for gradients."},
    {"_set_inference_mode", set_inference, METH_O, NULL},
    {"_set_anomaly_mode", set_anomaly, METH_O, NULL},
    {"is_anomaly_enabled", is_anomaly_enabled, METH_NOARGS,
     "is_anomaly_enabled()\n--\n\nWhether backward passes of this thread look for NaN."},
    {"is_inference_mode_enabled", is_inference_enabled, METH_NOARGS,
     "is_inference_mode_enabled()\n--\n\nWhether this thread is in inference mode."},
    {0},
};

int laze_python_add_gradients(PyObject *module) {
  return PyModule_AddFunctions(module, functions);
}
