/* Compiled graphs that run on tensors of other libraries, without a copy:
 *
 *   inputs ── DLPack: pointer, sizes, strides ──> laze_compiled_run ──> memory that the library made for results
 *
 * A Program is what a graph is compiled to; a Runner has it run on the tensors of one library, whose types show their
 * memory by the table of functions that DLPack names (dlpack.h); Boxed is a runner as PyTorch calls one. The order of a
 * tensor's dims is the one in which they lie in memory, the widest first: (0, 2, 3, 1) of an image whose channels are
 * last, None of what is row-major.
 */
#include "binding.h"
#include "dlpack.h"

#include "laze/compile.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  PyObject ob_base;
  laze_compiled *compiled;
  laze_dtype *dtypes; /* of inputs, then results */
  int32_t input_count, result_count;
} program_object;

/* How a tensor has to lie. */
typedef struct {
  laze_dtype dtype;
  uint8_t code, bits; /* of DLPack, for the dtype */
  PyObject *order;    /* owned; NULL: row-major */
  int32_t rank;       /* with `order` */
  uint8_t dims[LAZE_PYTHON_MAX_RANK];
} tensor_layout;

typedef struct {
  PyObject ob_base;
  program_object *program;  /* owned */
  tensor_layout *layouts;   /* of inputs, then results */
  PyObject *make, *arrange; /* owned */
} runner_object;

static PyTypeObject *program_type, *runner_type;

/* ---- Programs. */

static laze_status read_dtypes(const laze_graph *graph, program_object *program, laze_error *error) {
  laze_value_type type;
  for (int32_t i = 0; i < program->input_count + program->result_count; i++) {
    const laze_value value =
        i < program->input_count ? laze_graph_input(graph, i) : laze_graph_result(graph, i - program->input_count);
    const laze_status status = laze_graph_get_type(graph, value, &type, error);
    if (status != LAZE_OK) return status;
    program->dtypes[i] = type.dtype;
  }
  return LAZE_OK;
}

PyObject *laze_python_program(laze_graph *graph) {
  laze_error error = {0};
  laze_status status;
  program_object *program = PyObject_New(program_object, program_type);
  if (!program) return NULL;
  program->compiled = NULL;
  program->input_count = laze_graph_input_count(graph);
  program->result_count = laze_graph_result_count(graph);
  program->dtypes = calloc((size_t)program->input_count + (size_t)program->result_count + 1, sizeof *program->dtypes);
  if (!program->dtypes) {
    Py_DECREF(program);
    return PyErr_NoMemory();
  }
  Py_BEGIN_ALLOW_THREADS status = read_dtypes(graph, program, &error);
  if (status == LAZE_OK) status = laze_compile_graph(graph, NULL, &program->compiled, &error);
  Py_END_ALLOW_THREADS laze_python_progress_end();
  if (status == LAZE_OK) return (PyObject *)program;
  Py_DECREF(program);
  return laze_python_raise_error(status, &error);
}

static void program_dealloc(PyObject *self) {
  program_object *program = (program_object *)self;
  laze_compiled_release(program->compiled);
  free(program->dtypes);
  laze_python_free(self);
}

static PyObject *program_text(PyObject *self) {
  return laze_python_graph_text(laze_compiled_graph(((program_object *)self)->compiled));
}

/* Numbers for the sizes with names of a graph: those of a dict, and -1 for the others; NULL with an exception. */
static int64_t *take_numbers(const laze_graph *graph, PyObject *sizes, int32_t *count) {
  *count = laze_graph_symbol_count(graph);
  int64_t *numbers = PyMem_Calloc((size_t)*count + 1, sizeof *numbers);
  if (!numbers) return (int64_t *)PyErr_NoMemory();
  for (int32_t i = 0; i < *count; i++) {
    PyObject *size = PyDict_GetItemString(sizes, laze_graph_symbol(graph, i));
    numbers[i] = -1;
    if (!size || laze_python_integer(size, "cost", &numbers[i])) continue;
    PyMem_Free(numbers);
    return NULL;
  }
  return numbers;
}

/* cost(sizes): what a run takes where the sizes with names are these. */
static PyObject *program_cost(PyObject *self, PyObject *sizes) {
  laze_compiled *compiled = ((program_object *)self)->compiled;
  laze_error error = {0};
  laze_status status;
  laze_cost cost = {.struct_size = sizeof cost};
  int32_t count;
  if (!PyDict_Check(sizes)) return laze_python_raise_type("cost: %R is no dict of sizes", sizes);
  int64_t *numbers = take_numbers(laze_compiled_graph(compiled), sizes, &count);
  if (!numbers) return NULL;
  Py_BEGIN_ALLOW_THREADS status = laze_compiled_cost(compiled, numbers, count, &cost, &error);
  Py_END_ALLOW_THREADS PyMem_Free(numbers);
  if (status != LAZE_OK) return laze_python_raise_error(status, &error);
  return Py_BuildValue("{sLsLsLsLsLsLsL}", "kernels", (long long)cost.kernels, "instances", (long long)cost.instances,
                       "interpreted", (long long)cost.interpreted, "work", (long long)cost.work, "temporary_bytes",
                       (long long)cost.temporary_bytes, "output_bytes", (long long)cost.output_bytes, "constant_bytes",
                       (long long)cost.constant_bytes);
}

static PyMethodDef program_methods[] = {
    {"cost", program_cost, METH_O,
     "cost(sizes, /)\n--\n\nWhat a run takes, by name, where the graph's sizes are as in this dict."},
    {0}};
static PyType_Slot program_slots[] = {
    {Py_tp_doc, "A compiled graph; str() gives the graph's text."},
    {Py_tp_new, laze_python_refuse_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_str, program_text},
    {Py_tp_methods, program_methods},
    {0},
};
static PyType_Spec program_spec = {"laze.Program", sizeof(program_object), 0, Py_TPFLAGS_DEFAULT, program_slots};

/* ---- Tensors of other libraries. */

const dlpack_exchange *laze_python_find_exchange(PyTypeObject *type) {
  PyObject *capsule = PyObject_GetAttrString((PyObject *)type, DLPACK_EXCHANGE);
  const dlpack_exchange *exchange = capsule ? PyCapsule_GetPointer(capsule, DLPACK_EXCHANGE_CAPSULE) : NULL;
  Py_XDECREF(capsule); /* the table lives as long as the process */
  while (exchange && exchange->major > LAZE_DLPACK_MAJOR) exchange = exchange->older;
  if (exchange && exchange->look) return exchange;
  PyErr_Clear();
  laze_python_raise_type("a %R does not show its memory by %s", type, DLPACK_EXCHANGE);
  return NULL;
}

/* The same, remembering those asked for last: a library has few types of tensors. */
static const dlpack_exchange *exchange_of(PyObject *tensor) {
  enum { REMEMBERED = 4 };
  static struct {
    PyTypeObject *type; /* owned, so that no other comes to lie there */
    const dlpack_exchange *exchange;
  } known[REMEMBERED];
  static int next;
  PyTypeObject *type = Py_TYPE(tensor);
  for (int i = 0; i < REMEMBERED; i++)
    if (known[i].type == type) return known[i].exchange;
  const dlpack_exchange *exchange = laze_python_find_exchange(type);
  if (!exchange) return NULL;
  PyTypeObject *forgotten = known[next].type;
  Py_INCREF(type);
  known[next].type = type;
  known[next].exchange = exchange;
  next = (next + 1) % REMEMBERED;
  Py_XDECREF(forgotten);
  return exchange;
}

uint8_t laze_python_dlpack_code(laze_dtype dtype) {
  switch (laze_python_dtype_kind(dtype)) {
  case 'b': return LAZE_DLPACK_BOOL;
  case 'i': return LAZE_DLPACK_SIGNED;
  case 'u': return LAZE_DLPACK_UNSIGNED;
  case 'c': return LAZE_DLPACK_COMPLEX;
  default: return dtype == LAZE_BF16 ? LAZE_DLPACK_BFLOAT : LAZE_DLPACK_FLOAT;
  }
}

/* Sizes in the order in which they lie, and whether there is no gap between elements. */
static bool is_dense(const dlpack_tensor *tensor, const tensor_layout *layout, int64_t *sizes) {
  int64_t expected = 1;
  bool dense = true, empty = false;
  for (int32_t i = tensor->ndim; i-- > 0;) {
    const int32_t dim = layout->order ? layout->dims[i] : i;
    sizes[i] = tensor->shape[dim];
    empty = empty || sizes[i] == 0;
    if (sizes[i] == 1) continue;
    dense = dense && (tensor->strides ? tensor->strides[dim] == expected : !layout->order);
    expected *= sizes[i]; /* of memory that is there */
  }
  return dense || empty;
}

/* What a tensor shows of itself, which must be of the layout's dtype and rank; false with an exception. */
static bool look_at(PyObject *object, const tensor_layout *layout, dlpack_tensor *out) {
  const dlpack_exchange *exchange = exchange_of(object);
  if (!exchange) return false;
  if (exchange->look(object, out) != 0)
    return PyErr_Occurred() ? false : laze_python_raise_type("a %R does not show its memory", Py_TYPE(object));
  if (out->device_type != LAZE_DLPACK_CPU)
    return laze_python_raise_type("a tensor lies on device type %d, not in the CPU's memory", (int)out->device_type);
  if (out->code != layout->code || out->bits != layout->bits || out->lanes != 1)
    return laze_python_raise_type("a tensor has DLPack's type code %d with %d bits; %s was expected", (int)out->code,
                                  (int)out->bits, laze_python_dtype_name(layout->dtype));
  if (out->ndim > LAZE_PYTHON_MAX_RANK || (layout->order && out->ndim != layout->rank))
    return laze_python_raise_type("a tensor has %d dims; %R was expected, at most %d", (int)out->ndim,
                                  layout->order ? layout->order : Py_None, LAZE_PYTHON_MAX_RANK);
  return true;
}

/* The memory of a tensor that has no gaps. */
static laze_memory memory_of(const dlpack_tensor *tensor, const int64_t *sizes, laze_dtype dtype) {
  static int64_t nothing; /* where an empty tensor has no memory */
  int64_t bytes = laze_dtype_size(dtype);
  for (int32_t i = 0; i < tensor->ndim; i++) bytes *= sizes[i]; /* of memory that is there */
  void *data = bytes > 0 ? (char *)tensor->data + tensor->byte_offset : (char *)&nothing;
  return (laze_memory){dtype, {sizes, tensor->ndim}, data, (size_t)bytes};
}

/* That of a size that no tensor has: without elements. */
static bool take_size(PyObject *number, int64_t *sizes, laze_memory *out) {
  const dlpack_tensor none = {.ndim = 2};
  sizes[1] = 0;
  if (!laze_python_integer(number, "a size", &sizes[0])) return false;
  *out = memory_of(&none, sizes, LAZE_BOOL);
  return true;
}

/* ---- Runs. */

/* One run: what it reads and writes, inputs and then results, and references to what it needs for that. */
typedef struct {
  const runner_object *runner;
  laze_memory *memory;
  int64_t (*sizes)[LAZE_PYTHON_MAX_RANK]; /* in the order in which dims lie */
  PyObject **copies;                      /* by input: what it was copied to; NULL: it lies as it has to */
  PyObject *results;                      /* a list */
} runner_run;

/* The memory of an input; where it has gaps, of a copy that has none. */
static bool take_input(const runner_run *run, int32_t index, PyObject *object) {
  const tensor_layout *layout = &run->runner->layouts[index];
  int64_t *sizes = run->sizes[index];
  dlpack_tensor tensor;
  if (PyLong_Check(object)) return take_size(object, sizes, &run->memory[index]);
  if (!look_at(object, layout, &tensor)) return false;
  if (!is_dense(&tensor, layout, sizes)) {
    PyObject *copy = run->copies[index] =
        PyObject_CallFunctionObjArgs(run->runner->arrange, object, layout->order ? layout->order : Py_None, NULL);
    if (!copy || !look_at(copy, layout, &tensor)) return false;
    if (!is_dense(&tensor, layout, sizes))
      return laze_python_raise_type("input %d has gaps between its elements, and so has its copy", (int)index);
  }
  run->memory[index] = memory_of(&tensor, sizes, layout->dtype);
  return true;
}

/* Input i is argument taken[i]; NULL: argument i. */
static bool take_inputs(const runner_run *run, PyObject *arguments, const Py_ssize_t *taken) {
  for (int32_t i = 0; i < run->runner->program->input_count; i++) {
    PyObject *object = PyList_GetItem(arguments, taken ? taken[i] : i);
    if (!object || !take_input(run, i, object)) return false;
  }
  return true;
}

static bool make_results(const runner_run *run, PyObject *places) {
  const program_object *program = run->runner->program;
  dlpack_tensor tensor;
  for (int32_t i = 0; i < program->result_count; i++) {
    const int32_t index = program->input_count + i;
    const tensor_layout *layout = &run->runner->layouts[index];
    PyObject *place = PyTuple_GetItem(places, i);
    PyObject *made = PyTuple_Check(place) ? PyObject_CallObject(run->runner->make, place) : laze_python_share(place);
    if (!made || PyList_SetItem(run->results, i, made) != 0 || !look_at(made, layout, &tensor)) return false;
    if (!is_dense(&tensor, layout, run->sizes[index]))
      return laze_python_raise_type("the memory for result %d has gaps between its elements", (int)i);
    run->memory[index] = memory_of(&tensor, run->sizes[index], layout->dtype);
  }
  return true;
}

static bool run_program(const runner_run *run) {
  const program_object *program = run->runner->program;
  laze_error error = {0};
  laze_status status;
  Py_BEGIN_ALLOW_THREADS status =
      laze_compiled_run_on_memory(program->compiled, run->memory, program->input_count,
                                  run->memory + program->input_count, program->result_count, &error);
  Py_END_ALLOW_THREADS laze_python_progress_end();
  return status == LAZE_OK || laze_python_raise_error(status, &error);
}

/* In one block, of which only what is released has to be nothing at first. */
static bool allocate(runner_run *run, int32_t inputs, int32_t all) {
  const size_t copies = (size_t)inputs * sizeof *run->copies;
  run->copies = PyMem_Malloc(copies + (size_t)all * (sizeof *run->memory + sizeof *run->sizes) + 1);
  if (!run->copies) return PyErr_NoMemory() != NULL;
  memset(run->copies, 0, copies);
  run->memory = (laze_memory *)(void *)(run->copies + inputs);
  run->sizes = (int64_t(*)[LAZE_PYTHON_MAX_RANK])(void *)(run->memory + all);
  return true;
}

/* A list of the results, whose places are a tuple; NULL with an exception. */
static PyObject *run_on(const runner_object *runner, PyObject *arguments, const Py_ssize_t *taken, PyObject *places) {
  const int32_t inputs = runner->program->input_count, all = inputs + runner->program->result_count;
  runner_run run = {.runner = runner, .results = PyList_New(all - inputs)};
  const bool done = run.results && allocate(&run, inputs, all) && take_inputs(&run, arguments, taken) &&
                    make_results(&run, places) && run_program(&run);
  for (int32_t i = 0; run.copies && i < inputs; i++) Py_XDECREF(run.copies[i]);
  PyMem_Free(run.copies);
  if (!done) Py_CLEAR(run.results);
  return run.results;
}

static PyObject *runner_call(PyObject *self, PyObject *arguments, PyObject *names) {
  const runner_object *runner = (runner_object *)self;
  const int32_t inputs = runner->program->input_count, results = runner->program->result_count;
  PyObject *given, *places;
  if (names && PyDict_Size(names) > 0) return laze_python_raise_type("Runner: inputs and places are given by position");
  if (!PyArg_ParseTuple(arguments, "O!O!:Runner", &PyList_Type, &given, &PyTuple_Type, &places)) return NULL;
  if (PyList_Size(given) != inputs || PyTuple_Size(places) != results)
    return laze_python_raise_type("Runner: a list of %d inputs and a tuple of %d places were expected", (int)inputs,
                                  (int)results);
  return run_on(runner, given, NULL, places);
}

/* ---- Runners. */

static bool take_order(tensor_layout *layout, PyObject *order) {
  if (order == Py_None) return true;
  if (!PyTuple_Check(order) || PyTuple_Size(order) > LAZE_PYTHON_MAX_RANK)
    return laze_python_raise_type("Runner: %R is no order of dims", order);
  layout->rank = (int32_t)PyTuple_Size(order);
  bool seen[LAZE_PYTHON_MAX_RANK] = {false};
  for (int32_t i = 0; i < layout->rank; i++) {
    int64_t dim;
    if (!laze_python_integer(PyTuple_GetItem(order, i), "Runner", &dim)) return false;
    if (dim < 0 || dim >= layout->rank || seen[dim])
      return laze_python_raise_type("Runner: %R is no order of dims", order);
    seen[dim] = true;
    layout->dims[i] = (uint8_t)dim;
  }
  layout->order = laze_python_share(order);
  return true;
}

static bool take_orders(tensor_layout *layouts, const laze_dtype *dtypes, PyObject *orders, int32_t count) {
  if (PyTuple_Size(orders) != count)
    return laze_python_raise_type("Runner: there are %d orders for %d tensors", (int)PyTuple_Size(orders), (int)count);
  for (int32_t i = 0; i < count; i++) {
    layouts[i].dtype = dtypes[i];
    layouts[i].code = laze_python_dlpack_code(dtypes[i]);
    layouts[i].bits = (uint8_t)(8 * laze_dtype_size(dtypes[i]));
    if (!take_order(&layouts[i], PyTuple_GetItem(orders, i))) return false;
  }
  return true;
}

/* Runner(program, orders of inputs, orders of results, make, arrange) */
static PyObject *runner_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  PyObject *program, *inputs, *results, *make, *arrange;
  if (names && PyDict_Size(names) > 0) return laze_python_raise_type("Runner() takes its arguments by position");
  if (!PyArg_ParseTuple(arguments, "O!O!O!OO:Runner", program_type, &program, &PyTuple_Type, &inputs, &PyTuple_Type,
                        &results, &make, &arrange))
    return NULL;
  const program_object *of = (program_object *)program;
  runner_object *made = PyObject_New(runner_object, type);
  if (!made) return NULL;
  made->program = (program_object *)laze_python_share(program);
  made->make = laze_python_share(make);
  made->arrange = laze_python_share(arrange);
  made->layouts = calloc((size_t)of->input_count + (size_t)of->result_count + 1, sizeof *made->layouts);
  if (!made->layouts) PyErr_NoMemory();
  if (made->layouts && take_orders(made->layouts, of->dtypes, inputs, of->input_count) &&
      take_orders(made->layouts + of->input_count, of->dtypes + of->input_count, results, of->result_count))
    return (PyObject *)made;
  Py_DECREF(made);
  return NULL;
}

static void runner_dealloc(PyObject *self) {
  runner_object *runner = (runner_object *)self;
  const int32_t count = runner->program->input_count + runner->program->result_count;
  for (int32_t i = 0; runner->layouts && i < count; i++) Py_XDECREF(runner->layouts[i].order);
  free(runner->layouts);
  Py_DECREF(runner->program);
  Py_DECREF(runner->make);
  Py_DECREF(runner->arrange);
  laze_python_free(self);
}

static PyType_Slot runner_slots[] = {
    {Py_tp_doc,
     "Runner(program, inputs, results, make, arrange)\n--\n\nruns a program on tensors of another library: "
     "runner(inputs, places) gives a list of results. `inputs` and `results` have the order of each one's dims in "
     "memory, or None; a place is what `make` is called with for the memory of a result, or a tensor. "
     "arrange(tensor, order) copies an input that does not lie like that."},
    {Py_tp_new, runner_new},
    {Py_tp_dealloc, runner_dealloc},
    {Py_tp_call, runner_call},
    {0},
};
static PyType_Spec runner_spec = {"laze.Runner", sizeof(runner_object), 0, Py_TPFLAGS_DEFAULT, runner_slots};

/* ---- Boxed calls: a list of arguments, which is empty afterwards, for a list of results. */

typedef struct {
  PyObject ob_base;
  PyObject *runner, *places;     /* owned */
  Py_ssize_t arguments, results; /* how many a call has */
  Py_ssize_t *taken, *chosen;    /* of each input the argument; of each result the place among those that are made,
                                    arguments behind them, and a None */
} boxed_object;

static PyTypeObject *boxed_type;

/* The numbers of a tuple, from 0 and less than `bound`; NULL with an exception. */
static Py_ssize_t *take_indices(PyObject *tuple, int64_t bound) {
  Py_ssize_t *indices = calloc((size_t)PyTuple_Size(tuple) + 1, sizeof *indices);
  if (!indices) return (Py_ssize_t *)PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++) {
    int64_t index = -1;
    const bool integer = laze_python_integer(PyTuple_GetItem(tuple, i), "Boxed", &index);
    if (integer && index >= 0 && index < bound) {
      indices[i] = (Py_ssize_t)index;
      continue;
    }
    if (integer) laze_python_raise_type("Boxed: there is no value %lld", (long long)index);
    free(indices);
    return NULL;
  }
  return indices;
}

/* Boxed(runner, arguments, taken, places, chosen) */
static PyObject *boxed_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  PyObject *runner, *taken, *places, *chosen;
  int count;
  if (names && PyDict_Size(names) > 0) return laze_python_raise_type("Boxed() takes its arguments by position");
  if (!PyArg_ParseTuple(arguments, "O!iO!O!O!:Boxed", runner_type, &runner, &count, &PyTuple_Type, &taken,
                        &PyTuple_Type, &places, &PyTuple_Type, &chosen))
    return NULL;
  const program_object *program = ((runner_object *)runner)->program;
  if (PyTuple_Size(taken) != program->input_count || PyTuple_Size(places) != program->result_count)
    return laze_python_raise_type("Boxed: %d inputs and %d places were expected", (int)program->input_count,
                                  (int)program->result_count);
  boxed_object *made = PyObject_New(boxed_object, type);
  if (!made) return NULL;
  made->runner = laze_python_share(runner);
  made->places = laze_python_share(places);
  made->arguments = count;
  made->results = PyTuple_Size(chosen);
  made->taken = take_indices(taken, count);
  made->chosen = made->taken ? take_indices(chosen, (int64_t)program->result_count + count + 1) : NULL;
  if (made->chosen) return (PyObject *)made;
  Py_DECREF(made);
  return NULL;
}

static void boxed_dealloc(PyObject *self) {
  boxed_object *boxed = (boxed_object *)self;
  Py_DECREF(boxed->runner);
  Py_DECREF(boxed->places);
  free(boxed->taken);
  free(boxed->chosen);
  laze_python_free(self);
}

static PyObject *choose(const boxed_object *boxed, PyObject *arguments, PyObject *made) {
  const Py_ssize_t count = PyList_Size(made);
  PyObject *results = PyList_New(boxed->results);
  for (Py_ssize_t i = 0; results && i < boxed->results; i++) {
    const Py_ssize_t at = boxed->chosen[i];
    PyObject *value = at < count                      ? PyList_GetItem(made, at)
                      : at < count + boxed->arguments ? PyList_GetItem(arguments, at - count)
                                                      : Py_None;
    PyList_SetItem(results, i, laze_python_share(value));
  }
  return results;
}

static PyObject *boxed_call(PyObject *self, PyObject *arguments, PyObject *names) {
  const boxed_object *boxed = (boxed_object *)self;
  PyObject *given;
  if (names && PyDict_Size(names) > 0)
    return laze_python_raise_type("Boxed: the list of arguments is given by position");
  if (!PyArg_ParseTuple(arguments, "O!:Boxed", &PyList_Type, &given)) return NULL;
  if (PyList_Size(given) != boxed->arguments)
    return laze_python_raise_type("Boxed: a list of %d arguments was expected", (int)boxed->arguments);
  PyObject *made = run_on((runner_object *)boxed->runner, given, boxed->taken, boxed->places);
  PyObject *results = made ? choose(boxed, given, made) : NULL;
  Py_XDECREF(made);
  if (results && PyList_SetSlice(given, 0, boxed->arguments, NULL) != 0) Py_CLEAR(results);
  return results;
}

static PyType_Slot boxed_slots[] = {
    {Py_tp_doc, "Boxed(runner, arguments, taken, places, chosen)\n--\n\na runner as a function of one list of so many "
                "arguments, which it empties: `taken` says which of them are inputs, `chosen` what its results are, "
                "counted through those of the runner, the arguments, and None."},
    {Py_tp_new, boxed_new},
    {Py_tp_dealloc, boxed_dealloc},
    {Py_tp_call, boxed_call},
    {0},
};
static PyType_Spec boxed_spec = {"laze.Boxed", sizeof(boxed_object), 0, Py_TPFLAGS_DEFAULT, boxed_slots};

int laze_python_add_programs(PyObject *module) {
  program_type = (PyTypeObject *)PyType_FromSpec(&program_spec);
  runner_type = (PyTypeObject *)PyType_FromSpec(&runner_spec);
  boxed_type = (PyTypeObject *)PyType_FromSpec(&boxed_spec);
  if (!program_type || !runner_type || !boxed_type) return -1;
  if (PyModule_AddObject(module, "_Runner", laze_python_share((PyObject *)runner_type)) != 0) return -1;
  return PyModule_AddObject(module, "_Boxed", laze_python_share((PyObject *)boxed_type));
}
