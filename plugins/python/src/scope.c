/* Scopes and steps as context managers, what is computed together, threads, and metrics.
 *
 *   with laze.step():            everything recorded inside that a variable still holds at the end is computed there,
 *       w = w - 0.1 * gradient   in one graph
 */
#include "binding.h"

typedef struct {
  PyObject ob_base;  /* what PyObject_HEAD is */
  laze_scope *scope; /* NULL: not open */
  bool is_step;
} scope_object;

static PyTypeObject *scope_type;
static _Thread_local int open_steps; /* of this thread */

bool laze_python_in_step(void) {
  return open_steps > 0;
}

static PyObject *make(bool is_step) {
  scope_object *made = PyObject_New(scope_object, scope_type);
  if (!made) return NULL;
  made->scope = NULL;
  made->is_step = is_step;
  return (PyObject *)made;
}

static PyObject *scope_enter(PyObject *self, PyObject *unused) {
  (void)unused;
  scope_object *object = (scope_object *)self;
  if (object->scope) return laze_python_raise(LAZE_FAILED_PRECONDITION, "this scope has begun already");
  object->scope = laze_scope_begin(NULL);
  if (object->scope && object->is_step) open_steps++;
  return object->scope ? laze_python_share(self) : PyErr_NoMemory();
}

static PyObject *scope_exit(PyObject *self, PyObject *arguments) {
  scope_object *object = (scope_object *)self;
  PyObject *type = Py_None, *value = Py_None, *trace = Py_None;
  if (!PyArg_ParseTuple(arguments, "OOO:__exit__", &type, &value, &trace)) return NULL;
  laze_error error = {0};
  laze_status status;
  laze_scope *scope = object->scope;
  if (!scope) return laze_python_raise(LAZE_FAILED_PRECONDITION, "this scope has not begun, or has ended already");
  bool failed = type != Py_None; /* then what was recorded is not computed, and its errors are not the news */
  const laze_python_place place = laze_python_find_reader();
  object->scope = NULL;
  Py_BEGIN_ALLOW_THREADS status = object->is_step && !failed ? laze_step_end_at(scope, &error, place.file, place.line)
                                                             : laze_scope_end_error(scope, &error);
  Py_END_ALLOW_THREADS
      /* Out of order, or on another thread: it goes on, and can be ended later. */
      if (status == LAZE_FAILED_PRECONDITION && !object->scope) object->scope = scope;
  if (object->is_step && !object->scope) open_steps--;
  if (status != LAZE_OK && !failed) return laze_python_raise(status, error.message);
  return laze_python_share(Py_False);
}

static PyMethodDef scope_methods[] = {
    {"__enter__", scope_enter, METH_NOARGS, NULL}, {"__exit__", scope_exit, METH_VARARGS, NULL}, {0}};
static PyType_Slot scope_slots[] = {
    {Py_tp_doc, "What laze.scope() and laze.step() give, for `with`."},
    {Py_tp_new, laze_python_refuse_new},
    {Py_tp_dealloc, laze_python_free},
    {Py_tp_methods, scope_methods},
    {0},
};
static PyType_Spec scope_spec = {"laze.Scope", sizeof(scope_object), 0, Py_TPFLAGS_DEFAULT, scope_slots};

static PyObject *scope(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return make(false);
}

static PyObject *step(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return make(true);
}

static void add_metric(void *self, const char *name, int64_t value) {
  PyObject *metrics = self, *number = PyLong_FromLongLong(value);
  if (number && !PyErr_Occurred()) PyDict_SetItemString(metrics, name, number);
  Py_XDECREF(number);
}

static PyObject *metrics(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *all = PyDict_New();
  if (all) laze_metric_each(NULL, add_metric, all);
  if (PyErr_Occurred()) Py_CLEAR(all);
  return all;
}

static void add_samples(void *self, const laze_samples *samples) {
  PyObject *facts = PyErr_Occurred() ? NULL
                                     : Py_BuildValue("{sLsLsLsLsLsL}", "count", (long long)samples->count, "total",
                                                     (long long)samples->total, "p50", (long long)samples->p50, "p90",
                                                     (long long)samples->p90, "p99", (long long)samples->p99,
                                                     "greatest", (long long)samples->greatest);
  if (facts) PyDict_SetItemString(self, samples->name, facts);
  Py_XDECREF(facts);
}

static PyObject *metric_samples(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *all = PyDict_New();
  if (all) laze_samples_each(NULL, add_samples, all);
  if (PyErr_Occurred()) Py_CLEAR(all);
  return all;
}

static PyObject *metrics_report(PyObject *module, PyObject *arguments, PyObject *names) {
  static char *words[] = {"json", NULL};
  int json = 0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|p:metrics_report", words, &json)) return NULL;
  const int32_t form = json ? LAZE_REPORT_JSON : LAZE_REPORT_TEXT;
  laze_error error = {0};
  size_t size = 16384, needed = 0; /* more than it ever takes: a few dozen lines */
  char *text = malloc(size);
  laze_status status = text ? laze_metric_report(NULL, form, text, size, &needed, &error) : LAZE_OUT_OF_MEMORY;
  PyObject *report = status == LAZE_OK
                         ? PyUnicode_FromStringAndSize(text, (Py_ssize_t)(needed < size ? needed : size - 1))
                         : laze_python_raise(status, error.message);
  free(text);
  return report;
}

static PyObject *reset_metrics(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  laze_metric_reset(NULL);
  return laze_python_share(Py_None);
}

static PyObject *set_budget(PyObject *module, PyObject *arguments, PyObject *names) {
  static char *words[] = {"nodes", "bytes", NULL};
  PyObject *most_nodes = NULL, *most_bytes = NULL;
  int64_t nodes = 100000, bytes = 0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|OO:set_budget", words, &most_nodes, &most_bytes)) return NULL;
  if (most_nodes && !laze_python_integer(most_nodes, "set_budget", &nodes)) return NULL;
  if (most_bytes && !laze_python_integer(most_bytes, "set_budget", &bytes)) return NULL;
  laze_set_budget(NULL, nodes, bytes);
  return laze_python_share(Py_None);
}

static PyObject *evaluate(PyObject *module, PyObject *tensors) {
  (void)module;
  Py_ssize_t count = PyTuple_Size(tensors);
  laze_tensor **handles = laze_python_handles(
      tensors, false, "evaluate: argument %zd is a %R, and no tensor; what is in a list is passed as evaluate(*list)");
  laze_error error = {0};
  laze_status status;
  if (!handles) return NULL;
  const laze_python_place place = laze_python_find_reader();
  Py_BEGIN_ALLOW_THREADS status = laze_tensors_materialise_at(handles, (int32_t)count, &error, place.file, place.line);
  Py_END_ALLOW_THREADS PyMem_Free(handles);
  if (status != LAZE_OK) return laze_python_raise(status, error.message);
  return laze_python_share(count == 1 ? PyTuple_GetItem(tensors, 0) : tensors);
}

static PyObject *set_num_threads(PyObject *module, PyObject *number) {
  (void)module;
  int64_t threads;
  laze_error error = {0};
  if (PyBool_Check(number))
    return laze_python_raise_type("set_num_threads: %R is no number of threads; expected 1 to 1024", number);
  if (!laze_python_integer(number, "set_num_threads", &threads)) return NULL;
  bool is_number = threads >= 1 && threads <= INT32_MAX; /* 0 would be the default */
  laze_status status = laze_set_threads(NULL, is_number ? (int32_t)threads : -1, &error);
  if (status == LAZE_OK) return laze_python_share(Py_None);
  char message[128];
  snprintf(message, sizeof message, "set_num_threads: %lld is no number of threads; expected 1 to 1024",
           (long long)threads);
  return laze_python_raise(status, status == LAZE_INVALID_ARGUMENT ? message : error.message);
}

static PyObject *get_num_threads(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return PyLong_FromLong(laze_get_threads(NULL));
}

static PyMethodDef functions[] = {
    {"evaluate", evaluate, METH_VARARGS,
     "evaluate(*tensors)\n--\n\nComputes the tensors now, in one graph, so that what they share is computed once; "
     "gives them back."},
    {"set_num_threads", set_num_threads, METH_O,
     "set_num_threads(number, /)\n--\n\nOn how many threads kernels run from now on; results do not depend on it."},
    {"get_num_threads", get_num_threads, METH_NOARGS,
     "get_num_threads()\n--\n\nOn how many threads kernels run: at first LAZE_NUM_THREADS, or one per processor."},
    {"set_budget", (PyCFunction)(void (*)(void))set_budget, METH_VARARGS | METH_KEYWORDS,
     "set_budget(nodes=100000, bytes=0)\n--\n\n"
     "How much may be recorded before it is computed early: operators, and bytes of their results (0: no limit)."},
    {"scope", scope, METH_NOARGS,
     "scope()\n--\n\nFor `with`: errors of what is recorded inside, and that nobody read, are raised at its end."},
    {"step", step, METH_NOARGS,
     "step()\n--\n\nFor `with`: at its end, everything that was recorded inside and that a variable still holds is\n"
     "computed, in one graph. Around the body of a loop it keeps graphs small and alike."},
    {"metrics", metrics, METH_NOARGS,
     "metrics()\n--\n\nWhat was counted and measured so far, a dict: graphs that ran, kernels that were compiled, "
     "bytes."},
    {"reset_metrics", reset_metrics, METH_NOARGS,
     "reset_metrics()\n--\n\nSets metrics to zero, and samples; what says how many bytes are held now stays."},
    {"metric_samples", metric_samples, METH_NOARGS,
     "metric_samples()\n--\n\nHow times, bytes and sizes of graphs are spread: a dict of dicts with count, total, p50, "
     "p90, p99\nand greatest. Names that end in _ns are nanoseconds."},
    {"metrics_report", (PyCFunction)(void (*)(void))metrics_report, METH_VARARGS | METH_KEYWORDS,
     "metrics_report(json=False)\n--\n\nAll metrics and samples as text, 'name value' a line, or as one JSON object."},
    {0},
};

int laze_python_add_scopes(PyObject *module) {
  if (!scope_type) scope_type = (PyTypeObject *)PyType_FromSpec(&scope_spec);
  return scope_type ? PyModule_AddFunctions(module, functions) : -1;
}
