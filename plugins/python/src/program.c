/* Compiled graphs that run on tensors of other libraries, without a copy:
 *
 *   inputs ── DLPack: pointer, sizes, strides ──> laze_compiled_run ──> memory that the library made for results
 *
 * A Program is what a graph is compiled to; a Runner has it run on the tensors of one library, whose types show their
 * memory by the table of functions that DLPack names (dlpack.h). The order of a tensor's dims is the one in which they
 * lie in memory, the widest first: (0, 2, 3, 1) of an image whose channels are last, None of what is row-major.
 */
#include "binding.h"
#include "dlpack.h"

#include "laze/buffer.h"
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
  PyObject *order; /* owned; NULL: row-major */
  int32_t rank;    /* with `order` */
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
  return Py_BuildValue("{sLsLsLsLsLsL}", "kernels", (long long)cost.kernels, "interpreted", (long long)cost.interpreted,
                       "work", (long long)cost.work, "temporary_bytes", (long long)cost.temporary_bytes, "output_bytes",
                       (long long)cost.output_bytes, "constant_bytes", (long long)cost.constant_bytes);
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

/* The table of a type; NULL with an exception. */
static const dlpack_exchange *find_exchange(PyTypeObject *type) {
  PyObject *capsule = PyObject_GetAttrString((PyObject *)type, DLPACK_EXCHANGE);
  const dlpack_exchange *exchange = capsule ? PyCapsule_GetPointer(capsule, DLPACK_EXCHANGE_CAPSULE) : NULL;
  Py_XDECREF(capsule); /* the table lives as long as the process */
  while (exchange && exchange->major > DLPACK_MAJOR) exchange = exchange->older;
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
  const dlpack_exchange *exchange = find_exchange(type);
  if (!exchange) return NULL;
  PyTypeObject *forgotten = known[next].type;
  Py_INCREF(type);
  known[next].type = type;
  known[next].exchange = exchange;
  next = (next + 1) % REMEMBERED;
  Py_XDECREF(forgotten);
  return exchange;
}

static uint8_t code_of(laze_dtype dtype) {
  switch (laze_python_dtype_kind(dtype)) {
  case 'b': return DLPACK_BOOL;
  case 'i': return DLPACK_SIGNED;
  case 'u': return DLPACK_UNSIGNED;
  case 'c': return DLPACK_COMPLEX;
  default: return dtype == LAZE_BF16 ? DLPACK_BFLOAT : DLPACK_FLOAT;
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
  if (out->device_type != DLPACK_CPU)
    return laze_python_raise_type("a tensor lies on device type %d, not in the CPU's memory", (int)out->device_type);
  if (out->code != code_of(layout->dtype) || out->bits != 8 * laze_dtype_size(layout->dtype) || out->lanes != 1)
    return laze_python_raise_type("a tensor has DLPack's type code %d with %d bits; %s was expected", (int)out->code,
                                  (int)out->bits, laze_python_dtype_name(layout->dtype));
  if (out->ndim > LAZE_PYTHON_MAX_RANK || (layout->order && out->ndim != layout->rank))
    return laze_python_raise_type("a tensor has %d dims; %R was expected, at most %d", (int)out->ndim,
                                  layout->order ? layout->order : Py_None, LAZE_PYTHON_MAX_RANK);
  return true;
}

/* The memory of a tensor that has no gaps as an array; NULL with an exception. */
static laze_array *borrow(const dlpack_tensor *tensor, const int64_t *sizes, laze_dtype dtype) {
  static int64_t nothing; /* where an empty tensor has no memory */
  laze_error error = {0};
  laze_array *array = NULL;
  int64_t bytes = laze_dtype_size(dtype);
  for (int32_t i = 0; i < tensor->ndim; i++) bytes *= sizes[i]; /* of memory that is there */
  void *data = bytes > 0 ? (char *)tensor->data + tensor->byte_offset : (char *)&nothing;
  const laze_status status = laze_array_borrow_unchecked(NULL, dtype, (laze_ints){sizes, tensor->ndim}, data,
                                                         (size_t)bytes, NULL, NULL, &array, &error);
  if (status != LAZE_OK) laze_python_raise_error(status, &error);
  return array;
}

/* The array of a size that no tensor has: of no elements. */
static laze_array *take_size(PyObject *number) {
  laze_error error = {0};
  laze_array *array = NULL;
  int64_t sizes[] = {0, 0};
  if (!laze_python_integer(number, "a size", &sizes[0])) return NULL;
  const laze_status status = laze_array_create(NULL, LAZE_BOOL, (laze_ints){sizes, 2}, &array, &error);
  if (status != LAZE_OK) laze_python_raise_error(status, &error);
  return array;
}

/* ---- Runs. */

/* One run: references to what it needs. */
typedef struct {
  const runner_object *runner;
  laze_array **arrays; /* of inputs, then results */
  PyObject **copies;   /* by input: what it was copied to; NULL: it lies as it has to */
  PyObject *results;   /* a list */
} runner_run;

/* The array of an input; where it has gaps, of a copy that has none. */
static laze_array *take_input(const runner_run *run, int32_t index, PyObject *object) {
  const tensor_layout *layout = &run->runner->layouts[index];
  int64_t sizes[LAZE_PYTHON_MAX_RANK];
  dlpack_tensor tensor;
  if (PyLong_Check(object)) return take_size(object);
  if (!look_at(object, layout, &tensor)) return NULL;
  if (is_dense(&tensor, layout, sizes)) return borrow(&tensor, sizes, layout->dtype);
  PyObject *copy = run->copies[index] =
      PyObject_CallFunctionObjArgs(run->runner->arrange, object, layout->order ? layout->order : Py_None, NULL);
  if (!copy || !look_at(copy, layout, &tensor)) return NULL;
  if (is_dense(&tensor, layout, sizes)) return borrow(&tensor, sizes, layout->dtype);
  laze_python_raise_type("input %d has gaps between its elements, and so has its copy", (int)index);
  return NULL;
}

static bool take_inputs(const runner_run *run, PyObject *inputs) {
  for (int32_t i = 0; i < run->runner->program->input_count; i++) {
    PyObject *object = PySequence_GetItem(inputs, i);
    run->arrays[i] = object ? take_input(run, i, object) : NULL;
    Py_XDECREF(object); /* the sequence has it */
    if (!run->arrays[i]) return false;
  }
  return true;
}

static bool make_results(const runner_run *run, PyObject *places) {
  const program_object *program = run->runner->program;
  int64_t sizes[LAZE_PYTHON_MAX_RANK];
  dlpack_tensor tensor;
  for (int32_t i = 0; i < program->result_count; i++) {
    const tensor_layout *layout = &run->runner->layouts[program->input_count + i];
    PyObject *place = PyTuple_GetItem(places, i);
    PyObject *made = PyTuple_Check(place) ? PyObject_CallObject(run->runner->make, place) : laze_python_share(place);
    if (!made || PyList_SetItem(run->results, i, made) != 0 || !look_at(made, layout, &tensor)) return false;
    if (!is_dense(&tensor, layout, sizes))
      return laze_python_raise_type("the memory for result %d has gaps between its elements", (int)i);
    if (!(run->arrays[program->input_count + i] = borrow(&tensor, sizes, layout->dtype))) return false;
  }
  return true;
}

static bool run_program(const runner_run *run) {
  const program_object *program = run->runner->program;
  laze_error error = {0};
  laze_status status;
  Py_BEGIN_ALLOW_THREADS status = laze_compiled_run(program->compiled, run->arrays, program->input_count,
                                                    run->arrays + program->input_count, program->result_count, &error);
  Py_END_ALLOW_THREADS laze_python_progress_end();
  return status == LAZE_OK || laze_python_raise_error(status, &error);
}

static PyObject *runner_call(PyObject *self, PyObject *arguments, PyObject *names) {
  const runner_object *runner = (runner_object *)self;
  const int32_t inputs = runner->program->input_count, all = inputs + runner->program->result_count;
  PyObject *given, *places;
  if (names || !PyArg_ParseTuple(arguments, "OO!:Runner", &given, &PyTuple_Type, &places))
    return names ? laze_python_raise_type("Runner: inputs and places are given by position") : NULL;
  if (!PySequence_Check(given) || PySequence_Size(given) != inputs || PyTuple_Size(places) != all - inputs)
    return laze_python_raise_type("Runner: %d inputs and a tuple of %d places were expected", (int)inputs,
                                  (int)(all - inputs));
  runner_run run = {.runner = runner, .results = PyList_New(all - inputs)};
  run.arrays = PyMem_Calloc((size_t)(all + inputs) + 1, sizeof(void *));
  bool done = run.results && run.arrays;
  if (run.results && !run.arrays) PyErr_NoMemory();
  if (done) {
    run.copies = (PyObject **)(void *)(run.arrays + all);
    done = take_inputs(&run, given) && make_results(&run, places) && run_program(&run);
  }
  for (int32_t i = 0; run.arrays && i < all; i++) laze_array_release(run.arrays[i]);
  for (int32_t i = 0; run.arrays && i < inputs; i++) Py_XDECREF(run.copies[i]);
  PyMem_Free(run.arrays);
  if (!done) Py_CLEAR(run.results);
  return run.results;
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

int laze_python_add_programs(PyObject *module) {
  program_type = (PyTypeObject *)PyType_FromSpec(&program_spec);
  runner_type = (PyTypeObject *)PyType_FromSpec(&runner_spec);
  if (!program_type || !runner_type) return -1;
  Py_INCREF(runner_type);
  return PyModule_AddObject(module, "_Runner", (PyObject *)runner_type);
}
