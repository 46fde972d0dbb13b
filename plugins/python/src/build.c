/* Graphs that a front end builds call by call:
 *
 *   GraphBuilder.input, .call, .finish ──> Program (program.c)
 *
 * which laze_torch is made of. A Value stands where calls of the package have a tensor; a size of a graph is an integer
 * of Python's, which is good in that graph alone.
 */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RESULTS = 1024 };

typedef struct {
  PyObject ob_base; /* what PyObject_HEAD is */
  laze_graph *graph;
  bool finished; /* a program runs it, so that it must not change */
} builder_object;

typedef struct {
  PyObject ob_base;
  PyObject *builder; /* owned: a value is none without its graph */
  laze_value value;
} value_object;

static PyTypeObject *builder_type, *value_type;

/* ---- Values. */

bool laze_python_is_value(PyObject *object) {
  return Py_TYPE(object) == value_type;
}

laze_value laze_python_value(PyObject *object) {
  return ((value_object *)object)->value;
}

static PyObject *wrap_value(PyObject *builder, laze_value value) {
  if (value.node < 0) return laze_python_share(Py_None);
  value_object *made = PyObject_New(value_object, value_type);
  if (!made) return NULL;
  made->builder = laze_python_share(builder);
  made->value = value;
  return (PyObject *)made;
}

static void value_dealloc(PyObject *self) {
  Py_DECREF(((value_object *)self)->builder);
  laze_python_free(self);
}

static PyObject *value_dtype(PyObject *self, void *closure) {
  (void)closure;
  const value_object *object = (value_object *)self;
  laze_value_type type;
  laze_error error = {0};
  const laze_status status =
      laze_graph_get_type(((builder_object *)object->builder)->graph, object->value, &type, &error);
  if (status != LAZE_OK) return laze_python_raise_error(status, &error);
  PyObject *dtype = laze_python_dtype(type.dtype);
  return laze_python_share(dtype ? dtype : Py_None);
}

static PyGetSetDef value_attributes[] = {{"dtype", value_dtype, NULL, "Its dtype.", NULL},
                                         {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot value_slots[] = {
    {Py_tp_doc, "A value of a graph that is being built."},
    {Py_tp_new, laze_python_refuse_new},
    {Py_tp_dealloc, value_dealloc},
    {Py_tp_getset, value_attributes},
    {0},
};
static PyType_Spec value_spec = {"laze.Value", sizeof(value_object), 0, Py_TPFLAGS_DEFAULT, value_slots};

/* ---- Building. */

static PyObject *builder_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  const char *name;
  laze_error error = {0};
  if (names && PyDict_Size(names) > 0) return laze_python_raise_type("GraphBuilder() takes a name, by position");
  if (!PyArg_ParseTuple(arguments, "s:GraphBuilder", &name)) return NULL;
  builder_object *made = PyObject_New(builder_object, type);
  if (!made) return NULL;
  made->graph = NULL;
  made->finished = false;
  const laze_status status = laze_graph_create(NULL, name, &made->graph, &error);
  if (status == LAZE_OK) return (PyObject *)made;
  Py_DECREF(made);
  return laze_python_raise_error(status, &error);
}

static void builder_dealloc(PyObject *self) {
  laze_graph_release(((builder_object *)self)->graph);
  laze_python_free(self);
}

/* The graph, as long as it may change; NULL with an exception. */
static laze_graph *open_graph(PyObject *self) {
  const builder_object *builder = (builder_object *)self;
  if (!builder->finished) return builder->graph;
  laze_python_raise_type("the graph is finished, and has a program: make another GraphBuilder");
  return NULL;
}

/* The text of a str, borrowed; NULL with an exception. */
static const char *take_text(PyObject *object, const char *where) {
  const char *text = PyUnicode_Check(object) ? laze_python_text(object, where) : NULL;
  if (!text && !PyErr_Occurred()) laze_python_raise_type("%s: %R is no string", where, object);
  return text;
}

/* The bytes of elements of these sizes; false with an exception. */
static bool count_bytes(laze_dtype dtype, const int64_t *sizes, int32_t rank, int64_t *bytes) {
  *bytes = (int64_t)laze_dtype_size(dtype);
  for (int32_t i = 0; i < rank; i++)
    if (sizes[i] < 0 || __builtin_mul_overflow(*bytes, sizes[i], bytes))
      return laze_python_raise_type("size %lld of dim %d is negative, or too much", (long long)sizes[i], (int)i) !=
             NULL;
  return true;
}

/* Whether all values in an argument are of this graph; false with an exception. */
static bool is_of(PyObject *self, PyObject *object) {
  if (laze_python_is_value(object) && ((value_object *)object)->builder != self)
    return laze_python_raise_type("%R is a value of another graph", object) != NULL;
  if (!PyList_Check(object) && !PyTuple_Check(object)) return true;
  PyObject *items = PySequence_Tuple(object);
  bool all = items != NULL;
  for (Py_ssize_t i = 0; all && i < PyTuple_Size(items); i++) {
    PyObject *item = PyTuple_GetItem(items, i);
    all = !laze_python_is_value(item) || is_of(self, item);
  }
  Py_XDECREF(items);
  return all;
}

/* The sizes of a sequence of integers; false with an exception. */
static bool take_sizes(PyObject *sequence, int64_t *sizes, int32_t *count) {
  PyObject *items = PySequence_Tuple(sequence);
  bool fits = items && PyTuple_Size(items) <= LAZE_PYTHON_MAX_RANK;
  if (items && !fits) laze_python_raise_type("a tensor has at most %d dims", LAZE_PYTHON_MAX_RANK);
  *count = fits ? (int32_t)PyTuple_Size(items) : 0;
  for (int32_t i = 0; fits && i < *count; i++) {
    PyObject *integer = PyNumber_Index(PyTuple_GetItem(items, i));
    fits = integer && laze_python_integer(integer, "a size", &sizes[i]);
    Py_XDECREF(integer);
  }
  Py_XDECREF(items);
  return fits;
}

/* input(name, dtype, sizes) */
static PyObject *builder_input(PyObject *self, PyObject *arguments) {
  PyObject *dtype_object, *sequence;
  const char *name;
  int64_t sizes[LAZE_PYTHON_MAX_RANK];
  int32_t rank;
  laze_dtype dtype;
  laze_value value;
  laze_error error = {0};
  if (!PyArg_ParseTuple(arguments, "sOO:input", &name, &dtype_object, &sequence)) return NULL;
  if (!laze_python_dtype_from(dtype_object, &dtype) || !take_sizes(sequence, sizes, &rank)) return NULL;
  laze_graph *graph = open_graph(self);
  if (!graph) return NULL;
  const laze_status status = laze_graph_add_input(graph, name, dtype, (laze_ints){sizes, rank}, &value, &error);
  return status == LAZE_OK ? wrap_value(self, value) : laze_python_raise_error(status, &error);
}

/* constant(dtype, sizes, address, owner): of memory that `owner` keeps. */
static PyObject *builder_constant(PyObject *self, PyObject *arguments) {
  PyObject *dtype_object, *sequence, *owner;
  unsigned long long address;
  int64_t sizes[LAZE_PYTHON_MAX_RANK], bytes;
  int32_t rank;
  laze_dtype dtype;
  laze_value value;
  laze_error error = {0};
  if (!PyArg_ParseTuple(arguments, "OOKO:constant", &dtype_object, &sequence, &address, &owner)) return NULL;
  if (!laze_python_dtype_from(dtype_object, &dtype) || !take_sizes(sequence, sizes, &rank)) return NULL;
  laze_graph *graph = open_graph(self);
  if (!graph || !count_bytes(dtype, sizes, rank, &bytes)) return NULL;
  laze_python_loan *loan = calloc(1, sizeof *loan);
  if (!loan) return PyErr_NoMemory();
  loan->object = laze_python_share(owner);
  const laze_status status =
      laze_graph_borrow_constant(graph, dtype, (laze_ints){sizes, rank}, (const void *)(uintptr_t)address,
                                 (size_t)bytes, laze_python_loan_end, loan, &value, &error);
  return status == LAZE_OK ? wrap_value(self, value) : laze_python_raise_error(status, &error);
}

/* size(expression): the integer that stands for it in the graph. */
static PyObject *builder_size(PyObject *self, PyObject *expression) {
  int64_t size;
  laze_error error = {0};
  laze_graph *graph = open_graph(self);
  const char *text = graph ? take_text(expression, "size") : NULL;
  if (!text) return NULL;
  const laze_status status = laze_graph_size(graph, text, &size, &error);
  return status == LAZE_OK ? PyLong_FromLongLong(size) : laze_python_raise_error(status, &error);
}

/* hint(name, number): what a size is in the program at hand. */
static PyObject *builder_hint(PyObject *self, PyObject *arguments) {
  const char *name;
  long long number;
  laze_error error = {0};
  if (!PyArg_ParseTuple(arguments, "sL:hint", &name, &number)) return NULL;
  laze_graph *graph = open_graph(self);
  if (!graph) return NULL;
  const laze_status status = laze_graph_hint_size(graph, name, number, &error);
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise_error(status, &error);
}

/* What the schema of an operator takes as argument `index`, or by a name. */
static laze_python_takes takes_of(const laze_operator *op, int32_t index, const char *name) {
  for (int32_t i = 0; op && i < laze_operator_argument_count(op); i++) {
    const laze_operator_argument *argument = laze_operator_argument_at(op, i);
    if (name ? strcmp(argument->name, name) == 0 : i == index) return laze_python_takes_of(argument);
  }
  return 0;
}

static bool add_arguments(PyObject *self, const laze_operator *op, PyObject *positional, PyObject *named,
                          const char *where, laze_python_arguments *arguments) {
  PyObject *key, *object;
  for (Py_ssize_t i = 0; i < PyTuple_Size(positional); i++) {
    object = PyTuple_GetItem(positional, i);
    if (!is_of(self, object) || !laze_python_argument_add(arguments, object, takes_of(op, (int32_t)i, NULL), where))
      return false;
  }
  for (Py_ssize_t at = 0; PyDict_Next(named, &at, &key, &object);) {
    const char *name = take_text(key, where);
    if (!name || !is_of(self, object) || !laze_python_argument_add(arguments, object, takes_of(op, 0, name), where))
      return false;
    arguments->items[arguments->count - 1].name = name;
  }
  return true;
}

static PyObject *wrap_values(PyObject *builder, const laze_value *values, int32_t count, bool several) {
  if (!several) return wrap_value(builder, values[0]);
  PyObject *tuple = PyTuple_New(count);
  for (int32_t i = 0; tuple && i < count; i++) {
    PyObject *value = wrap_value(builder, values[i]);
    if (value)
      PyTuple_SetItem(tuple, i, value);
    else
      Py_CLEAR(tuple);
  }
  return tuple;
}

/* call(operator, positional, named): a Value, or a tuple of them where the operator has several results. */
static PyObject *builder_call(PyObject *self, PyObject *arguments) {
  PyObject *positional, *named;
  const char *name;
  laze_value values[MAX_RESULTS];
  int32_t count = 0;
  laze_error error = {0};
  laze_status status = LAZE_OK;
  if (!PyArg_ParseTuple(arguments, "sO!O!:call", &name, &PyTuple_Type, &positional, &PyDict_Type, &named)) return NULL;
  laze_graph *graph = open_graph(self);
  if (!graph) return NULL;
  const laze_operator *op = laze_operator_find(name);
  laze_python_arguments passed = {.count = 0};
  bool added = add_arguments(self, op, positional, named, name, &passed);
  if (added) {
    const laze_graph_call call = {
        .struct_size = sizeof call, .name = name, .arguments = passed.items, .argument_count = passed.count};
    status = laze_graph_record_call(graph, &call, values, MAX_RESULTS, &count, &error);
  }
  laze_python_arguments_clear(&passed);
  if (!added) return NULL;
  if (status != LAZE_OK) return laze_python_raise_error(status, &error);
  return wrap_values(self, values, count, count != 1 || (op && laze_operator_result_count(op) != 1));
}

static PyObject *builder_text(PyObject *self) {
  return laze_python_graph_text(((builder_object *)self)->graph);
}

/* finish(results): the graph as a Program; nothing is added to it any more. */
static PyObject *builder_finish(PyObject *self, PyObject *results) {
  laze_error error = {0};
  laze_value values[MAX_RESULTS];
  laze_graph *graph = open_graph(self);
  if (!graph) return NULL;
  if (!PyTuple_Check(results) || PyTuple_Size(results) > MAX_RESULTS)
    return laze_python_raise_type("finish: the results are a tuple of at most %d values", MAX_RESULTS);
  const int32_t count = (int32_t)PyTuple_Size(results);
  for (int32_t i = 0; i < count; i++) {
    PyObject *result = PyTuple_GetItem(results, i);
    if (!laze_python_is_value(result) || ((value_object *)result)->builder != self)
      return laze_python_raise_type("finish: result %d is %R, and no value of this graph", (int)i, result);
    values[i] = laze_python_value(result);
  }
  const laze_status status = laze_graph_set_results(graph, (laze_values){values, count}, &error);
  if (status != LAZE_OK) return laze_python_raise_error(status, &error);
  ((builder_object *)self)->finished = true;
  return laze_python_program(graph);
}

static PyMethodDef builder_methods[] = {
    {"input", builder_input, METH_VARARGS, "input(name, dtype, sizes, /)\n--\n\nOne input more."},
    {"constant", builder_constant, METH_VARARGS,
     "constant(dtype, sizes, address, owner, /)\n--\n\nElements at an address, which its owner keeps there unchanged."},
    {"size", builder_size, METH_O, "size(expression, /)\n--\n\nThe size \"2*n\", as an integer for this graph alone."},
    {"hint", builder_hint, METH_VARARGS, "hint(name, number, /)\n--\n\nWhat a size is in the program at hand."},
    {"call", builder_call, METH_VARARGS,
     "call(operator, positional, named, /)\n--\n\nRecords a call; a value, or a tuple of them."},
    {"finish", builder_finish, METH_O, "finish(results, /)\n--\n\nThe graph as a program."},
    {0}};
static PyType_Slot builder_slots[] = {
    {Py_tp_doc, "GraphBuilder(name)\n--\n\nA graph that is built call by call; str() gives its text."},
    {Py_tp_new, builder_new},
    {Py_tp_dealloc, builder_dealloc},
    {Py_tp_str, builder_text},
    {Py_tp_methods, builder_methods},
    {0},
};
static PyType_Spec builder_spec = {"laze.GraphBuilder", sizeof(builder_object), 0, Py_TPFLAGS_DEFAULT, builder_slots};

/* _has_operator(name): whether there is an operator of that whole name. */
static PyObject *has_operator(PyObject *module, PyObject *name) {
  (void)module;
  const char *text = take_text(name, "_has_operator");
  if (!text) return NULL;
  return PyBool_FromLong(laze_operator_find(text) != NULL);
}

static PyMethodDef functions[] = {{"_has_operator", has_operator, METH_O, NULL}, {0}};

int laze_python_add_builders(PyObject *module) {
  builder_type = (PyTypeObject *)PyType_FromSpec(&builder_spec);
  value_type = (PyTypeObject *)PyType_FromSpec(&value_spec);
  if (!builder_type || !value_type) return -1;
  Py_INCREF(builder_type);
  Py_INCREF(value_type);
  if (PyModule_AddObject(module, "_GraphBuilder", (PyObject *)builder_type) != 0 ||
      PyModule_AddObject(module, "_Value", (PyObject *)value_type) != 0)
    return -1;
  return PyModule_AddFunctions(module, functions);
}
