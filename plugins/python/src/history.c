/* Python's code in backward passes: hooks, and functions with a backward of their own (laze.autograd.Function).
 *
 *   loss.backward() ── pass_begin, GIL given up ──> laze_backward_with
 *                                                       │ reaches a hook
 *                                                       └──> call_hook, GIL taken: hook(gradient)
 *   what the hook gave is kept, and what it raised is, until pass_end on the same thread
 */
#include "binding.h"

#include "laze/gradient_node.h"

/* The innermost pass that this thread runs. */
static _Thread_local laze_python_pass *current;

void laze_python_pass_begin(laze_python_pass *pass) {
  *pass = (laze_python_pass){.outer = current};
  current = pass;
}

bool laze_python_pass_end(laze_python_pass *pass, bool failed) {
  current = pass->outer;
  Py_XDECREF(pass->kept);
  if (failed && pass->type) {
    PyErr_Restore(pass->type, pass->value, pass->trace);
    return true;
  }
  Py_XDECREF(pass->type);
  Py_XDECREF(pass->value);
  Py_XDECREF(pass->trace);
  return false;
}

bool laze_python_pass_finish(laze_python_pass *pass, laze_status status, const laze_error *error) {
  const bool raised = laze_python_pass_end(pass, status != LAZE_OK);
  if (status != LAZE_OK && !raised) laze_python_raise(status, error->message);
  return status == LAZE_OK;
}

bool laze_python_pass_keep(PyObject *object) {
  if (!current->kept) current->kept = PyList_New(0);
  return current->kept && PyList_Append(current->kept, object) == 0;
}

laze_status laze_python_pass_exception(laze_error *error) {
  PyErr_Fetch(&current->type, &current->value, &current->trace);
  snprintf(error->message, sizeof error->message, "an exception of Python");
  return LAZE_FAILED_PRECONDITION;
}

/* What code gave in place of a gradient. */
static bool take_result(PyObject *result, const char *what, laze_tensor **out) {
  if (result == Py_None) return true;
  if (laze_python_is_tensor(result)) {
    *out = laze_python_handle(result);
    return laze_python_pass_keep(result);
  }
  laze_python_raise_type("%s gives a tensor or None, and not a %R", what, Py_TYPE(result));
  return false;
}

static PyObject *wrap_tensors(laze_tensor *const *handles, int32_t count) {
  PyObject *tensors = PyTuple_New(count);
  for (int32_t i = 0; tensors && i < count; i++) {
    PyObject *tensor = handles[i] ? laze_python_tensor(handles[i]) : laze_python_share(Py_None);
    if (tensor)
      PyTuple_SetItem(tensors, i, tensor);
    else
      Py_CLEAR(tensors);
  }
  return tensors;
}

/* A tuple of tensors and None, one for each of `count`; a tensor alone where there is one. */
static bool take_results(PyObject *result, const char *what, laze_tensor **out, int32_t count) {
  if (!PyTuple_Check(result) && count == 1) return take_result(result, what, out);
  if (!PyTuple_Check(result) || PyTuple_Size(result) != count) {
    laze_python_raise_type("%s gives a tuple of %d tensors (or None), and not %R", what, (int)count, result);
    return false;
  }
  for (int32_t i = 0; i < count; i++)
    if (!take_result(PyTuple_GetItem(result, i), what, &out[i])) return false;
  return true;
}

laze_status laze_python_call_kept(PyObject *code, laze_tensor *const *inputs, int32_t input_count,
                                  laze_tensor **outputs, int32_t capacity, laze_error *error) {
  PyObject *tensors = wrap_tensors(inputs, input_count);
  PyObject *result = tensors && laze_python_pass_keep(tensors) ? PyObject_CallObject(code, tensors) : NULL;
  bool done = result && PyTuple_Check(result) && PyTuple_Size(result) <= capacity && laze_python_pass_keep(result);
  if (result && !done && !PyErr_Occurred()) laze_python_raise_type("the function gives more than %d tensors", capacity);
  for (Py_ssize_t i = 0; done && i < PyTuple_Size(result); i++) {
    PyObject *output = PyTuple_GetItem(result, i);
    done = laze_python_is_tensor(output);
    if (done) outputs[i] = laze_python_handle(output);
    if (!done) laze_python_raise_type("output %zd of the function is a %R, and no tensor", i, Py_TYPE(output));
  }
  Py_XDECREF(tensors);
  Py_XDECREF(result);
  return done ? LAZE_OK : laze_python_pass_exception(error);
}

/* The data of hooks and functions is an object, which goes when somebody has the GIL. */
static void release_object(void *object) {
  laze_python_object_end(object);
}

/* ---- Hooks. */

static laze_status call_hook(void *self, laze_tensor *gradient, laze_tensor **replacement, laze_error *error) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *tensor = laze_python_tensor(gradient);
  PyObject *result = tensor ? PyObject_CallFunctionObjArgs(self, tensor, NULL) : NULL;
  const bool done = result && take_result(result, "a hook", replacement);
  Py_XDECREF(tensor);
  Py_XDECREF(result);
  const laze_status status = done ? LAZE_OK : laze_python_pass_exception(error);
  PyGILState_Release(gil);
  return status;
}

static laze_status call_node_hook(void *self, const laze_node_hook_call *call, laze_error *error) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  const bool before = !call->operands;
  PyObject *results = wrap_tensors(call->results, call->result_count);
  PyObject *operands = results && !before ? wrap_tensors(call->operands, call->operand_count) : NULL;
  PyObject *given = NULL;
  if (before && results)
    given = PyObject_CallFunctionObjArgs(self, results, NULL);
  else if (operands)
    given = PyObject_CallFunctionObjArgs(self, operands, results, NULL);
  const bool done = given && (given == Py_None || take_results(given, "a hook of a node", call->replacements,
                                                               before ? call->result_count : call->operand_count));
  Py_XDECREF(results);
  Py_XDECREF(operands);
  Py_XDECREF(given);
  const laze_status status = done ? LAZE_OK : laze_python_pass_exception(error);
  PyGILState_Release(gil);
  return status;
}

static PyObject *wrap_hook(laze_status status, const laze_error *error, int64_t id) {
  if (status != LAZE_OK) return laze_python_raise(status, error->message);
  PyObject *module = PyImport_ImportModule("laze.autograd");
  PyObject *made = module ? PyObject_CallMethod(module, "RemovableHandle", "L", (long long)id) : NULL;
  Py_XDECREF(module);
  return made;
}

static PyObject *register_tensor_hook(PyObject *tensor, PyObject *hook, int32_t when) {
  laze_error error = {0};
  int64_t id = 0;
  if (!PyCallable_Check(hook)) return laze_python_raise_type("a hook is called, which %R cannot be", hook);
  const laze_status status = laze_tensor_register_hook(laze_python_handle(tensor), when, call_hook,
                                                       laze_python_share(hook), release_object, &id, &error);
  return wrap_hook(status, &error, id);
}

PyObject *laze_python_register_hook(PyObject *tensor, PyObject *hook) {
  return register_tensor_hook(tensor, hook, LAZE_HOOK_GRADIENT);
}

/* The hook is called with the tensor, of which it keeps none. */
PyObject *laze_python_register_accumulated_hook(PyObject *tensor, PyObject *hook) {
  if (!PyCallable_Check(hook)) return laze_python_raise_type("a hook is called, which %R cannot be", hook);
  PyObject *module = PyImport_ImportModule("laze.autograd");
  PyObject *bound = module ? PyObject_CallMethod(module, "_with_tensor", "OO", tensor, hook) : NULL;
  PyObject *made = bound ? register_tensor_hook(tensor, bound, LAZE_HOOK_ACCUMULATED) : NULL;
  Py_XDECREF(module);
  Py_XDECREF(bound);
  return made;
}

static PyObject *remove_hook(PyObject *module, PyObject *id) {
  (void)module;
  int64_t number;
  if (!laze_python_integer(id, "remove", &number)) return NULL;
  return PyBool_FromLong(laze_hook_remove(NULL, number, NULL) == LAZE_OK);
}

/* ---- Nodes. */

typedef struct {
  PyObject ob_base; /* what PyObject_HEAD is */
  laze_gradient_node *node;
} node_object;

static PyTypeObject *node_type;

static laze_gradient_node *node_of(PyObject *self) {
  return ((node_object *)self)->node;
}

/* An object for a handle, which is taken over; None for none. */
static PyObject *wrap_node(laze_gradient_node *node) {
  if (!node) return laze_python_share(Py_None);
  node_object *made = PyObject_New(node_object, node_type);
  if (made)
    made->node = node;
  else
    laze_gradient_node_release(node);
  return (PyObject *)made;
}

static void node_dealloc(PyObject *self) {
  laze_gradient_node_release(node_of(self));
  laze_python_free(self);
}

static PyObject *node_name(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyUnicode_FromString(laze_gradient_node_name(node_of(self)));
}

static PyObject *node_next(PyObject *self, void *closure) {
  (void)closure;
  const int32_t count = laze_gradient_node_operand_count(node_of(self));
  PyObject *all = PyTuple_New(count);
  for (int32_t i = 0; all && i < count; i++) {
    int32_t result = 0;
    PyObject *next = wrap_node(laze_gradient_node_next(node_of(self), i, &result));
    PyObject *pair = next ? Py_BuildValue("(Ni)", next, (int)result) : NULL;
    if (pair)
      PyTuple_SetItem(all, i, pair);
    else
      Py_CLEAR(all);
  }
  return all;
}

static PyObject *register_node_hook(PyObject *self, PyObject *hook, int32_t when) {
  laze_error error = {0};
  int64_t id = 0;
  if (!PyCallable_Check(hook)) return laze_python_raise_type("a hook is called, which %R cannot be", hook);
  const laze_status status = laze_gradient_node_register_hook(node_of(self), when, call_node_hook,
                                                              laze_python_share(hook), release_object, &id, &error);
  return wrap_hook(status, &error, id);
}

static PyObject *node_register_hook(PyObject *self, PyObject *hook) {
  return register_node_hook(self, hook, LAZE_HOOK_BEHIND);
}

static PyObject *node_register_prehook(PyObject *self, PyObject *hook) {
  return register_node_hook(self, hook, LAZE_HOOK_BEFORE);
}

/* Two objects of one node are equal. */
static PyObject *node_compare(PyObject *self, PyObject *other, int operation) {
  if (Py_TYPE(other) != node_type || (operation != Py_EQ && operation != Py_NE))
    return laze_python_share(Py_NotImplemented);
  const bool equal = laze_gradient_node_number(node_of(self)) == laze_gradient_node_number(node_of(other));
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

static Py_hash_t node_hash(PyObject *self) {
  return (Py_hash_t)laze_gradient_node_number(node_of(self));
}

static PyObject *node_repr(PyObject *self) {
  return PyUnicode_FromFormat("<laze.autograd.Node %s>", laze_gradient_node_name(node_of(self)));
}

static PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "name($self)\n--\n\nThe operator's name, or the function's; \"leaf\" of a leaf."},
    {"register_hook", node_register_hook, METH_O,
     "register_hook($self, hook, /)\n--\n\nHas hook(grad_inputs, grad_outputs) called when the node's gradients are "
     "known; "
     "what it gives, a tuple or None, takes the place of grad_inputs."},
    {"register_prehook", node_register_prehook, METH_O,
     "register_prehook($self, hook, /)\n--\n\nHas hook(grad_outputs) called before; what it gives takes their place."},
    {0},
};
static PyGetSetDef node_attributes[] = {
    {"next_functions", node_next, NULL,
     "Where the gradients of the node's operands go: a tuple of pairs of a node, or None, and which result it is.",
     NULL},
    {0},
};
static PyType_Slot node_slots[] = {
    {Py_tp_doc, "What a call left behind for gradients: tensor.grad_fn."},
    {Py_tp_dealloc, node_dealloc},
    {Py_tp_new, laze_python_refuse_new},
    {Py_tp_repr, node_repr},
    {Py_tp_hash, node_hash},
    {Py_tp_richcompare, node_compare},
    {Py_tp_methods, node_methods},
    {Py_tp_getset, node_attributes},
    {0},
};

PyObject *laze_python_get_node(PyObject *tensor, void *closure) {
  (void)closure;
  return wrap_node(laze_tensor_gradient_node(laze_python_handle(tensor)));
}

/* ---- Functions. */

static PyObject *wrap_flags(const int32_t *flags, int32_t count) {
  PyObject *all = PyTuple_New(count);
  for (int32_t i = 0; all && i < count; i++) PyTuple_SetItem(all, i, PyBool_FromLong(flags[i]));
  return all;
}

/* context._backward(gradients, saved, needed), or context._jvp(tangents, saved). */
static laze_status call_function(void *self, const laze_function_call *call, laze_tensor **results, laze_error *error) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  const bool is_jvp = !call->needed;
  const int32_t count = is_jvp ? call->output_count : call->input_count;
  PyObject *given = wrap_tensors(call->given, is_jvp ? call->input_count : call->output_count);
  PyObject *saved = given ? wrap_tensors(call->saved, call->saved_count) : NULL, *result = NULL;
  if (saved && is_jvp) {
    result = PyObject_CallMethod(self, "_jvp", "OO", given, saved);
  } else if (saved) {
    PyObject *needed = wrap_flags(call->needed, call->input_count);
    result = needed ? PyObject_CallMethod(self, "_backward", "OOO", given, saved, needed) : NULL;
    Py_XDECREF(needed);
  }
  const bool done = result && take_results(result, is_jvp ? "jvp" : "backward", results, count);
  Py_XDECREF(given);
  Py_XDECREF(saved);
  Py_XDECREF(result);
  const laze_status status = done ? LAZE_OK : laze_python_pass_exception(error);
  PyGILState_Release(gil);
  return status;
}

/* What a function is attached with. */
typedef struct {
  laze_tensor **inputs, **outputs, **saved;
  int32_t *constant, *dirty; /* in one block, which `constant` is */
} function_arrays;

static bool take_arrays(PyObject *inputs, PyObject *outputs, PyObject *saved, PyObject *marks, function_arrays *out) {
  const Py_ssize_t count = PyTuple_Size(outputs);
  out->inputs = laze_python_handles(inputs, false, "apply: input %zd is a %R, and no tensor");
  if (out->inputs) out->outputs = laze_python_handles(outputs, false, "apply: output %zd is a %R, and no tensor");
  if (out->outputs) out->saved = laze_python_handles(saved, true, "save_for_backward: item %zd is a %R, and no tensor");
  if (!out->saved) return false;
  out->constant = PyMem_Calloc(2 * (size_t)count + 1, sizeof *out->constant);
  if (!out->constant) return PyErr_NoMemory(), false;
  out->dirty = out->constant + count;
  for (Py_ssize_t i = 0; i < count; i++) {
    const long mark = PyLong_AsLong(PyTuple_GetItem(marks, i));
    out->constant[i] = mark & 1;
    out->dirty[i] = mark >> 1 & 1;
  }
  return true;
}

static PyObject *wrap_outputs(PyObject *outputs, laze_tensor *const *handles) {
  const Py_ssize_t count = PyTuple_Size(outputs);
  PyObject *all = PyTuple_New(count);
  for (Py_ssize_t i = 0; all && i < count; i++) {
    PyObject *output = PyTuple_GetItem(outputs, i);
    const bool same = handles[i] == laze_python_handle(output);
    PyObject *tensor = same ? laze_python_share(output) : laze_python_tensor(handles[i]);
    if (tensor)
      PyTuple_SetItem(all, i, tensor);
    else
      Py_CLEAR(all);
  }
  return all;
}

/* _attach(name, context, inputs, outputs, saved, marks, flags, has_jvp): the outputs, some of them as other tensors.
 * What comes behind `context` are tuples. `marks` are as many as the outputs: 1 of one that is constant, 2 of a dirty
 * one. */
static PyObject *attach(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *name;
  PyObject *context, *inputs, *outputs, *saved, *marks, *result = NULL;
  int flags, has_jvp;
  function_arrays arrays = {0};
  if (!PyArg_ParseTuple(arguments, "sOO!O!O!O!ip:_attach", &name, &context, &PyTuple_Type, &inputs, &PyTuple_Type,
                        &outputs, &PyTuple_Type, &saved, &PyTuple_Type, &marks, &flags, &has_jvp))
    return NULL;
  if (take_arrays(inputs, outputs, saved, marks, &arrays)) {
    const laze_function_options options = {.struct_size = sizeof options,
                                           .name = name,
                                           .flags = flags,
                                           .input_count = (int32_t)PyTuple_Size(inputs),
                                           .output_count = (int32_t)PyTuple_Size(outputs),
                                           .saved_count = (int32_t)PyTuple_Size(saved),
                                           .inputs = arrays.inputs,
                                           .outputs = arrays.outputs,
                                           .saved = arrays.saved,
                                           .constant = arrays.constant,
                                           .dirty = arrays.dirty,
                                           .backward = call_function,
                                           .jvp = has_jvp ? call_function : NULL,
                                           .self = laze_python_share(context),
                                           .release = release_object};
    laze_error error = {0};
    laze_status status;
    Py_BEGIN_ALLOW_THREADS status = laze_function_attach(&options, &error);
    Py_END_ALLOW_THREADS if (status != LAZE_OK) laze_python_raise(status, error.message);
    else result = wrap_outputs(outputs, arrays.outputs);
  }
  PyMem_Free(arrays.inputs);
  PyMem_Free(arrays.outputs);
  PyMem_Free(arrays.saved);
  PyMem_Free(arrays.constant);
  return result;
}

/* ---- Checkpoints. */

/* Calls code(*tensors), which keeps what it gives itself. */
static laze_status call_checkpoint(void *self, laze_tensor *const *inputs, laze_tensor **outputs, laze_error *error) {
  (void)outputs;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *count = PyObject_GetAttrString(self, "count");
  const long long number = count ? PyLong_AsLongLong(count) : -1;
  PyObject *tensors = number < 0 ? NULL : wrap_tensors(inputs, (int32_t)number);
  PyObject *result = tensors ? PyObject_CallObject(self, tensors) : NULL;
  Py_XDECREF(count);
  Py_XDECREF(tensors);
  const laze_status status = result ? LAZE_OK : laze_python_pass_exception(error);
  Py_XDECREF(result);
  PyGILState_Release(gil);
  return status;
}

/* _checkpoint(code, inputs): inputs are a tuple of code.count tensors. */
static PyObject *checkpoint(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *code, *inputs;
  if (!PyArg_ParseTuple(arguments, "OO!:_checkpoint", &code, &PyTuple_Type, &inputs)) return NULL;
  laze_tensor **handles = laze_python_handles(inputs, false, "checkpoint: input %zd is a %R, and no tensor");
  if (!handles) return NULL;
  const laze_checkpoint_options options = {.struct_size = sizeof options,
                                           .input_count = (int32_t)PyTuple_Size(inputs),
                                           .inputs = handles,
                                           .code = call_checkpoint,
                                           .self = laze_python_share(code),
                                           .release = release_object};
  laze_error error = {0};
  laze_status status;
  laze_python_pass pass;
  laze_python_pass_begin(&pass);
  Py_BEGIN_ALLOW_THREADS status = laze_checkpoint(&options, &error);
  Py_END_ALLOW_THREADS PyMem_Free(handles);
  const bool raised = laze_python_pass_end(&pass, status != LAZE_OK);
  if (status != LAZE_OK && !raised) laze_python_raise(status, error.message);
  return status == LAZE_OK ? laze_python_share(Py_None) : NULL;
}

static PyMethodDef functions[] = {
    {"_checkpoint", checkpoint, METH_VARARGS, NULL},
    {"_remove_hook", remove_hook, METH_O, NULL},
    {"_attach", attach, METH_VARARGS, NULL},
    {0},
};

int laze_python_add_histories(PyObject *module) {
  static PyType_Spec spec = {"laze.autograd.Node", sizeof(node_object), 0, Py_TPFLAGS_DEFAULT, node_slots};
  if (!node_type) node_type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (!node_type || PyModule_AddFunctions(module, functions) < 0) return -1;
  return PyObject_SetAttrString(module, "_Node", (PyObject *)node_type);
}
