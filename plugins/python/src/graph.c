/* Graphs of traced functions, which laze.jit (jit.py) is made of:
 *
 *   jit.trace(f, x)   _trace_begin ──> f(tensors that stand for inputs) ──> _trace_end ──> Graph
 *   traced(y)         Graph.call ────> laze_compiled_call, compiled by the first call
 */
#include "binding.h"

#include "laze/trace.h"

#include <string.h>

/* Offsets that each call of a graph with random numbers takes, where nobody knows how many it draws. */
#define DRAWS (INT64_C(1) << 32)

typedef struct {
  PyObject ob_base; /* what PyObject_HEAD is */
  laze_graph *graph;
  laze_compiled *compiled; /* NULL before the first call */
  int64_t draws;           /* random numbers of a call; 0: unknown */
} graph_object;

static PyTypeObject *graph_type;
static int64_t drawn_before; /* the offset at which the trace that is open began */

/* A Graph that owns `graph`. */
static PyObject *wrap(laze_graph *graph, int64_t draws) {
  graph_object *made = PyObject_New(graph_object, graph_type);
  if (!made) {
    laze_graph_release(graph);
    return NULL;
  }
  made->graph = graph;
  made->compiled = NULL;
  made->draws = draws;
  return (PyObject *)made;
}

static void graph_dealloc(PyObject *self) {
  graph_object *object = (graph_object *)self;
  laze_compiled_release(object->compiled);
  laze_graph_release(object->graph);
  laze_python_free(self);
}

PyObject *laze_python_graph_text(const laze_graph *graph) {
  size_t needed;
  laze_error error = {0};
  laze_status status = laze_graph_format(graph, NULL, 0, &needed, &error);
  char *text = status == LAZE_OK ? malloc(needed + 1) : NULL;
  if (status == LAZE_OK && !text) return PyErr_NoMemory();
  if (status == LAZE_OK) status = laze_graph_format(graph, text, needed + 1, NULL, &error);
  PyObject *result = status == LAZE_OK ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)needed, "replace")
                                       : laze_python_raise_error(status, &error);
  free(text);
  return result;
}

static PyObject *graph_text(PyObject *self) {
  return laze_python_graph_text(((graph_object *)self)->graph);
}

static PyObject *path_text(PyObject *path, PyObject **bytes) {
  return PyUnicode_FSConverter(path, bytes) ? *bytes : NULL;
}

static PyObject *graph_save(PyObject *self, PyObject *path) {
  PyObject *bytes;
  laze_error error = {0};
  if (!path_text(path, &bytes)) return NULL;
  const char *name = PyBytes_AsString(bytes);
  laze_status status;
  Py_BEGIN_ALLOW_THREADS status = laze_graph_save(((graph_object *)self)->graph, name, &error);
  Py_END_ALLOW_THREADS Py_DECREF(bytes);
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise_error(status, &error);
}

/* ---- Calls. */

/* How many of the inputs, the last ones, are seeds and offsets. */
static int32_t count_random(const laze_graph *graph) {
  int32_t count = 0;
  for (int32_t i = laze_graph_input_count(graph) - 1; i > 0; i -= 2) {
    laze_node_info offset = {.struct_size = sizeof offset}, seed = {.struct_size = sizeof seed};
    laze_error error;
    if (laze_graph_get_node(graph, laze_graph_input(graph, i).node, &offset, &error) != LAZE_OK ||
        laze_graph_get_node(graph, laze_graph_input(graph, i - 1).node, &seed, &error) != LAZE_OK)
      break;
    if (strncmp(offset.name, "offset", 6) != 0 || strncmp(seed.name, "seed", 4) != 0) break;
    count += 2;
  }
  return count;
}

/* The state of the generator for each pair of a seed and an offset, which moves on. */
static bool draw(const graph_object *object, laze_tensor **inputs, int32_t count) {
  for (int32_t i = 0; i + 1 < count; i += 2) {
    int64_t seed, offset;
    laze_python_generator_next(&seed, &offset);
    laze_python_generator_advance(object->draws > 0 ? object->draws : DRAWS);
    inputs[i] = laze_tensor_take(laze_tensor_from_scalar(NULL, LAZE_I64, laze_scalar_integer(seed)));
    inputs[i + 1] = laze_tensor_take(laze_tensor_from_scalar(NULL, LAZE_I64, laze_scalar_integer(offset)));
  }
  return true;
}

static PyObject *wrap_results(laze_tensor **results, int32_t count) {
  PyObject *tuple = PyTuple_New(count);
  for (int32_t i = 0; i < count; i++) {
    PyObject *result = laze_python_tensor(results[i]);
    if (tuple && result)
      PyTuple_SetItem(tuple, i, result);
    else
      Py_XDECREF(result);
    if (!result) Py_CLEAR(tuple);
  }
  return tuple;
}

static PyObject *run(graph_object *object, laze_tensor **inputs, int32_t input_count) {
  laze_error error = {0};
  laze_status status = LAZE_OK;
  const int32_t result_count = laze_graph_result_count(object->graph);
  laze_compiled *compiled = object->compiled;
  laze_tensor **results = PyMem_Calloc((size_t)result_count + 1, sizeof *results);
  if (!results) return PyErr_NoMemory();
  Py_BEGIN_ALLOW_THREADS if (!compiled) status = laze_compile_graph(object->graph, NULL, &compiled, &error);
  if (status == LAZE_OK) status = laze_compiled_call(compiled, inputs, input_count, results, result_count, &error);
  Py_END_ALLOW_THREADS if (compiled && !object->compiled) object->compiled = compiled;
  else if (compiled != object->compiled) laze_compiled_release(compiled);
  laze_python_progress_end();
  PyObject *result = status == LAZE_OK ? wrap_results(results, result_count) : laze_python_raise_error(status, &error);
  PyMem_Free(results);
  return result;
}

static PyObject *graph_call(PyObject *self, PyObject *tensors) {
  graph_object *object = (graph_object *)self;
  if (!PyTuple_Check(tensors)) return laze_python_raise_type("call: the inputs are a tuple of tensors");
  laze_tensor **given = laze_python_handles(tensors, false, "input %zd is a %R, and no tensor");
  if (!given) return NULL;
  const int32_t count = (int32_t)PyTuple_Size(tensors), all = laze_graph_input_count(object->graph);
  const int32_t random = count_random(object->graph), drawn = count + random == all ? random : 0;
  laze_tensor **inputs = PyMem_Calloc((size_t)count + (size_t)drawn + 1, sizeof *inputs);
  PyObject *result = NULL;
  if (!inputs) PyErr_NoMemory();
  if (inputs) {
    memcpy(inputs, given, (size_t)count * sizeof *inputs);
    if (draw(object, inputs + count, drawn)) result = run(object, inputs, count + drawn);
    for (int32_t i = count; i < count + drawn; i++) laze_tensor_release(inputs[i]);
  }
  PyMem_Free(inputs);
  PyMem_Free(given);
  return result;
}

static PyObject *graph_compare(PyObject *self, PyObject *other) {
  laze_error error = {0};
  if (Py_TYPE(other) != graph_type) return laze_python_raise_type("compare: %R is no graph", other);
  const laze_status status = laze_trace_compare(((graph_object *)self)->graph, ((graph_object *)other)->graph, &error);
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise_error(status, &error);
}

static PyObject *graph_inputs(PyObject *self, void *closure) {
  (void)closure;
  const laze_graph *graph = ((graph_object *)self)->graph;
  const int32_t count = laze_graph_input_count(graph);
  PyObject *names = PyTuple_New(count);
  for (int32_t i = 0; names && i < count; i++) {
    laze_node_info info = {.struct_size = sizeof info};
    laze_error error = {0};
    const laze_status status = laze_graph_get_node(graph, laze_graph_input(graph, i).node, &info, &error);
    PyObject *name = status == LAZE_OK ? PyUnicode_FromString(info.name) : laze_python_raise_error(status, &error);
    if (name)
      PyTuple_SetItem(names, i, name);
    else
      Py_CLEAR(names);
  }
  return names;
}

static PyMethodDef graph_methods[] = {
    {"save", graph_save, METH_O, "save(path, /)\n--\n\nWrites it as text, and large constants to a file beside it."},
    {"call", graph_call, METH_O, "call(inputs, /)\n--\n\nRuns it on a tuple of tensors; a tuple of results."},
    {"compare", graph_compare, METH_O, NULL},
    {0}};
static PyGetSetDef graph_attributes[] = {{"inputs", graph_inputs, NULL, "The names of its inputs.", NULL},
                                         {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot graph_slots[] = {
    {Py_tp_doc, "A graph of operators; str() gives its text."},
    {Py_tp_new, laze_python_refuse_new},
    {Py_tp_dealloc, graph_dealloc},
    {Py_tp_str, graph_text},
    {Py_tp_methods, graph_methods},
    {Py_tp_getset, graph_attributes},
    {0},
};
static PyType_Spec graph_spec = {"laze.Graph", sizeof(graph_object), 0, Py_TPFLAGS_DEFAULT, graph_slots};

/* ---- Tracing. */

/* The names of a tuple of strings, borrowed from it, to be freed; NULL with an exception. */
static const char **take_names(PyObject *names, Py_ssize_t count) {
  const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
  if (!texts) PyErr_NoMemory();
  for (Py_ssize_t i = 0; texts && names != Py_None && i < count; i++) {
    PyObject *name = PyTuple_GetItem(names, i);
    texts[i] = name && PyUnicode_Check(name) ? laze_python_text(name, "trace") : NULL;
    if (texts[i]) continue;
    if (!PyErr_Occurred()) laze_python_raise_type("trace: the name of input %zd is a %R, and no str", i, Py_TYPE(name));
    PyMem_Free(texts);
    return NULL;
  }
  return texts;
}

static PyObject *begin(laze_tensor **inputs, int32_t count, const laze_trace_options *options) {
  laze_error error = {0};
  laze_status status;
  int64_t seed;
  laze_tensor **traced = PyMem_Calloc((size_t)count + 1, sizeof *traced);
  if (!traced) return PyErr_NoMemory();
  Py_BEGIN_ALLOW_THREADS status = laze_trace_begin(NULL, inputs, count, options, traced, &error);
  Py_END_ALLOW_THREADS laze_python_progress_end();
  laze_python_generator_next(&seed, &drawn_before);
  PyObject *result = status == LAZE_OK ? wrap_results(traced, count) : laze_python_raise_error(status, &error);
  PyMem_Free(traced);
  return result;
}

/* _trace_begin(inputs, names, name, strict): the tensors that stand for a tuple of tensors. */
static PyObject *trace_begin(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *inputs, *names;
  const char *name;
  int strict;
  if (!PyArg_ParseTuple(arguments, "O!Osp:_trace_begin", &PyTuple_Type, &inputs, &names, &name, &strict)) return NULL;
  laze_tensor **handles = laze_python_handles(inputs, false, "trace: input %zd is a %R, and no tensor");
  if (!handles) return NULL;
  const char **texts = take_names(names, PyTuple_Size(inputs));
  const laze_trace_options options = {.struct_size = sizeof options,
                                      .name = name,
                                      .input_names = names == Py_None ? NULL : texts,
                                      .flags = strict ? LAZE_TRACE_STRICT : 0};
  PyObject *result = texts ? begin(handles, (int32_t)PyTuple_Size(inputs), &options) : NULL;
  PyMem_Free((void *)texts);
  PyMem_Free(handles);
  return result;
}

/* _trace_end(outputs): the Graph that gives a tuple of tensors; None: the trace is dropped. */
static PyObject *trace_end(PyObject *module, PyObject *outputs) {
  (void)module;
  laze_error error = {0};
  laze_status status;
  laze_graph *graph = NULL;
  int64_t seed, drawn;
  if (outputs == Py_None) {
    status = laze_trace_end(NULL, NULL, 0, NULL, &error);
    return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise_error(status, &error);
  }
  laze_tensor **handles =
      PyTuple_Check(outputs) ? laze_python_handles(outputs, false, "trace: output %zd is a %R, and no tensor") : NULL;
  if (!handles) return NULL; /* the trace stays open: the caller drops it */
  const int32_t count = (int32_t)PyTuple_Size(outputs);
  Py_BEGIN_ALLOW_THREADS status = laze_trace_end(NULL, handles, count, &graph, &error);
  Py_END_ALLOW_THREADS laze_python_progress_end();
  PyMem_Free(handles);
  laze_python_generator_next(&seed, &drawn);
  return status == LAZE_OK ? wrap(graph, drawn - drawn_before) : laze_python_raise_error(status, &error);
}

static PyObject *load_graph(PyObject *module, PyObject *path) {
  (void)module;
  PyObject *bytes;
  laze_error error = {0};
  laze_graph *graph = NULL;
  if (!path_text(path, &bytes)) return NULL;
  const char *name = PyBytes_AsString(bytes);
  laze_status status;
  Py_BEGIN_ALLOW_THREADS status = laze_graph_load(NULL, name, NULL, &graph, &error);
  Py_END_ALLOW_THREADS Py_DECREF(bytes);
  if (status == LAZE_OK) return wrap(graph, 0);
  return laze_python_raise(status == LAZE_NOT_FOUND ? LAZE_PYTHON_NO_FILE : status, error.message);
}

static PyMethodDef functions[] = {
    {"_trace_begin", trace_begin, METH_VARARGS, NULL},
    {"_trace_end", trace_end, METH_O, NULL},
    {"_load_graph", load_graph, METH_O, NULL},
    {0},
};

int laze_python_add_graphs(PyObject *module) {
  graph_type = (PyTypeObject *)PyType_FromSpec(&graph_spec);
  if (!graph_type) return -1;
  return PyModule_AddFunctions(module, functions);
}
