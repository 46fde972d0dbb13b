/* Functions compiled ahead of time, which laze.jit.compile (jit.py) is made of:
 *
 *   jit.compile(f, x)   _compile ──> laze_aot_compile ──> f(tensors that stand for inputs)
 *   compiled(y)         Compiled.call ──> laze_aot_call, whose random numbers are the generator's next
 */
#include "binding.h"

#include "laze/aot.h"

/* Outputs that a function may have. */
enum { MOST_OUTPUTS = 4096 };

typedef struct {
  PyObject ob_base; /* what PyObject_HEAD is */
  laze_aot *aot;
} compiled_object;

static PyTypeObject *compiled_type;

static void compiled_dealloc(PyObject *self) {
  laze_aot_release(((compiled_object *)self)->aot);
  laze_python_free(self);
}

/* ---- Calls. */

/* Has the call draw the generator's next numbers. */
static laze_status begin_draws(laze_aot *aot, int64_t *begin, laze_error *error) {
  int64_t seed;
  laze_python_generator_next(&seed, begin);
  for (int32_t i = 0; i < laze_aot_random_count(aot); i++) {
    const laze_status status = laze_aot_set_random(aot, i, seed, *begin, error);
    if (status != LAZE_OK) return status;
  }
  return LAZE_OK;
}

/* The generator moves on as far as the call did. */
static void end_draws(laze_aot *aot, int64_t begin) {
  int64_t most = 0;
  for (int32_t i = 0; i < laze_aot_random_count(aot); i++) {
    int64_t offset = begin;
    laze_error error;
    if (laze_aot_get_random(aot, i, NULL, &offset, &error) == LAZE_OK && offset - begin > most) most = offset - begin;
  }
  laze_python_generator_advance(most);
}

/* Outputs as a tuple: one that is an input, or comes twice, is one object. */
static PyObject *wrap_outputs(laze_tensor **outputs, int32_t count, laze_tensor **inputs, PyObject *tensors) {
  PyObject *tuple = PyTuple_New(count);
  for (int32_t i = 0; tuple && i < count; i++) {
    PyObject *output = NULL;
    for (Py_ssize_t k = 0; k < PyTuple_Size(tensors) && !output; k++)
      if (inputs[k] == outputs[i]) output = laze_python_share(PyTuple_GetItem(tensors, k));
    for (int32_t k = 0; k < i && !output; k++)
      if (outputs[k] == outputs[i]) output = laze_python_share(PyTuple_GetItem(tuple, k));
    if (!output) output = laze_python_tensor(outputs[i]);
    if (output)
      PyTuple_SetItem(tuple, i, output);
    else
      Py_CLEAR(tuple);
  }
  return tuple;
}

static PyObject *run(laze_aot *aot, laze_tensor **inputs, PyObject *tensors) {
  const int32_t count = laze_aot_output_count(aot), input_count = (int32_t)PyTuple_Size(tensors);
  laze_tensor **outputs = PyMem_Calloc((size_t)count + 1, sizeof *outputs);
  laze_error error = {0};
  int64_t begin;
  if (!outputs) return PyErr_NoMemory();
  laze_status status = begin_draws(aot, &begin, &error);
  if (status == LAZE_OK) {
    Py_BEGIN_ALLOW_THREADS status = laze_aot_call(aot, inputs, input_count, outputs, count, &error);
    Py_END_ALLOW_THREADS end_draws(aot, begin);
  }
  laze_python_progress_end();
  PyObject *result =
      status == LAZE_OK ? wrap_outputs(outputs, count, inputs, tensors) : laze_python_raise_error(status, &error);
  PyMem_Free(outputs);
  return result;
}

static PyObject *compiled_call(PyObject *self, PyObject *tensors) {
  if (!PyTuple_Check(tensors)) return laze_python_raise_type("call: the inputs are a tuple of tensors");
  laze_tensor **inputs = laze_python_handles(tensors, false, "input %zd is a %R, and no tensor");
  if (!inputs) return NULL;
  PyObject *result = run(((compiled_object *)self)->aot, inputs, tensors);
  PyMem_Free(inputs);
  return result;
}

/* The text of a graph; None where there is none. */
static PyObject *graph_text(PyObject *self, PyObject *which) {
  const long number = PyLong_AsLong(which);
  const laze_graph *graph = laze_aot_graph(((compiled_object *)self)->aot, (int32_t)number);
  if (number == -1 && PyErr_Occurred()) return NULL;
  return graph ? laze_python_graph_text(graph) : laze_python_share(Py_None);
}

static PyMethodDef compiled_methods[] = {
    {"call", compiled_call, METH_O, NULL}, {"graph", graph_text, METH_O, NULL}, {0}};
static PyType_Slot compiled_slots[] = {
    {Py_tp_doc, "A function that was compiled with its gradients."},
    {Py_tp_new, laze_python_refuse_new},
    {Py_tp_dealloc, compiled_dealloc},
    {Py_tp_methods, compiled_methods},
    {0},
};
static PyType_Spec compiled_spec = {"laze.Compiled", sizeof(compiled_object), 0, Py_TPFLAGS_DEFAULT, compiled_slots};

/* ---- Compiling. */

/* The code, and how many tensors it is called with. */
typedef struct {
  PyObject *code;
  int32_t input_count;
} called_code;

static laze_status call_code(void *self, laze_tensor *const *inputs, laze_tensor **outputs, laze_error *error) {
  const called_code *called = self;
  const PyGILState_STATE gil = PyGILState_Ensure();
  const laze_status status =
      laze_python_call_kept(called->code, inputs, called->input_count, outputs, MOST_OUTPUTS, error);
  PyGILState_Release(gil);
  return status;
}

static PyObject *wrap(laze_aot *aot) {
  compiled_object *made = PyObject_New(compiled_object, compiled_type);
  if (made)
    made->aot = aot;
  else
    laze_aot_release(aot);
  return (PyObject *)made;
}

/* _compile(code, inputs, name, partition): code(*tensors) gives a tuple of tensors. */
static PyObject *compile(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *code, *tensors;
  laze_aot_options options = {.struct_size = sizeof options, .flags = LAZE_AOT_FEWER_OUTPUTS};
  int partition;
  if (!PyArg_ParseTuple(arguments, "OO!si:_compile", &code, &PyTuple_Type, &tensors, &options.name, &partition))
    return NULL;
  options.partition = partition;
  laze_tensor **inputs = laze_python_handles(tensors, false, "compile: input %zd is a %R, and no tensor");
  if (!inputs) return NULL;
  called_code called = {code, (int32_t)PyTuple_Size(tensors)};
  laze_aot *aot = NULL;
  laze_error error = {0};
  laze_status status;
  laze_python_pass pass;
  laze_python_pass_begin(&pass);
  Py_BEGIN_ALLOW_THREADS status =
      laze_aot_compile(call_code, &called, inputs, called.input_count, MOST_OUTPUTS, &options, &aot, &error);
  Py_END_ALLOW_THREADS PyMem_Free(inputs);
  const bool raised = laze_python_pass_end(&pass, status != LAZE_OK);
  laze_python_progress_end();
  if (status == LAZE_OK) return wrap(aot);
  return raised ? NULL : laze_python_raise_error(status, &error);
}

static PyMethodDef functions[] = {
    {"_compile", compile, METH_VARARGS, NULL},
    {0},
};

int laze_python_add_compiled(PyObject *module) {
  compiled_type = (PyTypeObject *)PyType_FromSpec(&compiled_spec);
  if (!compiled_type) return -1;
  return PyModule_AddFunctions(module, functions);
}
