/* Tensors of PyTorch's device laze, without PyTorch's headers: what PyTorch holds as the memory of one is a cell here.
 *
 *   torch.Tensor ── storage ── data pointer ──> cell { value, a laze_tensor of all elements of the memory }
 *
 * DLPack carries a cell into a storage of PyTorch's, whose end frees it. The data pointer is no address: it has a
 * cell's number and, below, the offset in the memory. Sizes and strides are PyTorch's: a tensor is a view of its cell's
 * value, which is recorded when a call needs it (look), and what is written to it is written to the value through that
 * view. So PyTorch's own rules say what shares memory with what.
 *
 * Cells whose value may be pending are in a list: reading one element computes all of them, in one graph, so that
 * a program that reads its loss in each step records the same graph in each.
 */
#include "binding.h"
#include "dlpack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RESULTS = 64 };

typedef struct cell {
  dlpack_managed managed; /* the first, so that its deleter finds the cell */
  laze_tensor *value;     /* owned; row-major */
  int64_t number;
  bool pending; /* in the list */
  struct cell *before, *after;
  int64_t sizes[]; /* what `shape` and `strides` of `managed` point to */
} cell;

/* What PyTorch gives the module (open). */
static struct {
  PyTypeObject *tensor_type;
  const dlpack_exchange *exchange;
  PyObject *pointer_of, *device_of, *device, *any_device; /* any_device: without its number */
  PyObject *dtype_of, *default_dtype, *usual_dtype;       /* usual_dtype: what laze makes where none is asked for */
} torch;

/* ---- Cells, which have numbers. A cell is found by its number without the lock: whoever asks has a tensor that keeps
 * it. */

enum { OFFSET_BITS = 40, ROW_BITS = 12, ROWS = 1 << 10, ROW = 1 << ROW_BITS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cell *first_pending, *last_pending;            /* under the lock */
static _Atomic(_Atomic(cell *) *) rows[ROWS];         /* rows of cells; made under the lock, and never freed */
static int64_t most_cells = 1, free_count, free_room; /* under the lock; number 0 is none */
static int64_t *free_numbers;                         /* under the lock */

static cell *cell_of_number(int64_t number) {
  if (number <= 0 || number >= (int64_t)ROWS * ROW) return NULL;
  _Atomic(cell *) *row = atomic_load(&rows[number >> ROW_BITS]);
  return row ? atomic_load(&row[number & (ROW - 1)]) : NULL;
}

static int64_t take_number_locked(void) {
  if (free_count > 0) return free_numbers[--free_count];
  if (most_cells >= (int64_t)ROWS * ROW) return 0;
  if (most_cells >= free_room) { /* so that giving a number back needs no memory */
    const int64_t room = free_room ? 2 * free_room : ROW;
    int64_t *larger = realloc(free_numbers, (size_t)room * sizeof *larger);
    if (!larger) return 0;
    free_numbers = larger;
    free_room = room;
  }
  _Atomic(_Atomic(cell *) *) *row = &rows[most_cells >> ROW_BITS];
  if (!atomic_load(row)) {
    _Atomic(cell *) *made = calloc(ROW, sizeof *made);
    if (!made) return 0;
    atomic_store(row, made);
  }
  return most_cells++;
}

static void link_locked(cell *self) {
  if (self->pending) return;
  self->pending = true;
  self->before = last_pending;
  self->after = NULL;
  *(last_pending ? &last_pending->after : &first_pending) = self;
  last_pending = self;
}

static void link_pending(cell *self) {
  pthread_mutex_lock(&lock);
  link_locked(self);
  pthread_mutex_unlock(&lock);
}

static void unlink_locked(cell *self) {
  if (!self->pending) return;
  self->pending = false;
  *(self->before ? &self->before->after : &first_pending) = self->after;
  *(self->after ? &self->after->before : &last_pending) = self->before;
}

/* Gives a cell its number; false: there is none, or no memory. */
static bool enter(cell *self) {
  pthread_mutex_lock(&lock);
  self->number = take_number_locked();
  if (self->number > 0) {
    atomic_store(&atomic_load(&rows[self->number >> ROW_BITS])[self->number & (ROW - 1)], self);
    link_locked(self);
  }
  pthread_mutex_unlock(&lock);
  return self->number > 0;
}

/* On any thread, with the GIL or without it. */
static void delete_cell(dlpack_managed *managed) {
  cell *self = (cell *)managed;
  pthread_mutex_lock(&lock);
  unlink_locked(self);
  if (self->number > 0) {
    atomic_store(&atomic_load(&rows[self->number >> ROW_BITS])[self->number & (ROW - 1)], NULL);
    free_numbers[free_count++] = self->number;
  }
  pthread_mutex_unlock(&lock);
  laze_tensor_release(self->value);
  free(self);
}

/* Drops a handle that was just made. */
static void drop(laze_tensor *handle) {
  laze_tensor_release(laze_tensor_take(handle));
}

static laze_tensor *copy(laze_tensor *view) {
  laze_tensor *made = NULL;
  const laze_argument argument = {.kind = LAZE_PASS_TENSOR, .value.tensor = view};
  laze_call_by_name(NULL, "clone", &argument, 1, &made, 1);
  return made;
}

/* What DLPack says of a cell. False: an exception is set. */
static bool describe(cell *self, int32_t rank) {
  const laze_dtype dtype = laze_tensor_dtype(self->value);
  int64_t stride = 1;
  for (int32_t axis = rank - 1; axis >= 0; axis--) {
    if (!laze_python_size(self->value, axis, &self->sizes[axis])) return false;
    self->sizes[rank + axis] = stride;
    stride *= self->sizes[axis] > 0 ? self->sizes[axis] : 1;
  }
  if (stride >= ((int64_t)1 << OFFSET_BITS) / 16)
    return laze_python_raise(LAZE_UNSUPPORTED, "a tensor of device laze has at most 2^36 elements") != NULL;
  if (!enter(self)) return PyErr_NoMemory() != NULL;
  self->managed.major = LAZE_DLPACK_MAJOR;
  self->managed.deleter = delete_cell;
  self->managed.tensor = (dlpack_tensor){
      .data = (void *)(uintptr_t)((uint64_t)self->number << OFFSET_BITS),
      .device_type = LAZE_DLPACK_EXTENSION,
      .ndim = rank,
      .code = laze_python_dlpack_code(dtype),
      .bits = (uint8_t)(8 * laze_dtype_size(dtype)),
      .lanes = 1,
      .shape = self->sizes,
      .strides = self->sizes + rank,
  };
  return true;
}

/* A tensor of PyTorch's for a handle just made, or its error as an exception. */
static PyObject *wrap(laze_tensor *handle) {
  void *tensor = NULL;
  if (!handle) return laze_python_share(Py_None);
  if (laze_tensor_status(handle) != LAZE_OK) {
    laze_tensor_take(handle);
    laze_python_raise_tensor(handle);
    laze_tensor_release(handle);
    return NULL;
  }
  /* What shares memory with another is copied: PyTorch says what does, and has a cell for it. */
  laze_tensor *const given = handle;
  if (laze_tensor_is_view(given) || !laze_tensor_is_contiguous(given)) handle = copy(given);
  if (handle != given) drop(given);
  const int32_t rank = laze_tensor_rank(handle);
  cell *made = calloc(1, sizeof *made + 2 * (size_t)rank * sizeof made->sizes[0]);
  if (!made) {
    drop(handle);
    return PyErr_NoMemory();
  }
  made->value = laze_tensor_take(handle);
  if (!describe(made, rank)) {
    delete_cell(&made->managed);
    return NULL;
  }
  return torch.exchange->import(&made->managed, &tensor) == 0 ? tensor : NULL;
}

static cell *cell_of_pointer(const void *pointer) {
  cell *found = cell_of_number((int64_t)((uintptr_t)pointer >> OFFSET_BITS));
  if (!found) laze_python_raise(LAZE_FAILED_PRECONDITION, "a tensor of device laze has no memory of laze's");
  return found;
}

/* The cell behind a storage of PyTorch's; NULL with an exception. */
static cell *cell_of_storage(PyObject *storage) {
  PyObject *pointer = PyObject_CallFunctionObjArgs(torch.pointer_of, storage, NULL);
  const void *address = pointer ? PyLong_AsVoidPtr(pointer) : NULL;
  Py_XDECREF(pointer);
  return PyErr_Occurred() ? NULL : cell_of_pointer(address);
}

/* ---- Looking at tensors. */

/* Has the cell's memory hold elements of another dtype: the same bytes. */
static bool view_as(cell *self, laze_dtype dtype) {
  laze_tensor *made = laze_python_view_bytes(self->value, dtype);
  if (laze_tensor_status(made) != LAZE_OK) {
    laze_python_raise_tensor(made);
    laze_tensor_release(made);
    return false;
  }
  laze_tensor *before = self->value;
  self->value = made;
  laze_tensor_release(before);
  return true;
}

/* The dtype that DLPack's words mean. */
static laze_dtype dtype_of(const dlpack_tensor *tensor) {
  static laze_dtype known[7][9]; /* by code, and bytes up to 16 (as 8) */
  const int32_t bytes = tensor->bits / 8, column = bytes < 16 ? bytes : 0;
  if (tensor->code > LAZE_DLPACK_BOOL || bytes > 16 || column > 8) return LAZE_DTYPE_NONE;
  laze_dtype *found = &known[tensor->code][column];
  for (laze_dtype dtype = 1; *found == LAZE_DTYPE_NONE && laze_python_dtype(dtype); dtype++)
    if (laze_python_dlpack_code(dtype) == tensor->code && laze_dtype_size(dtype) == bytes) *found = dtype;
  return *found;
}

static laze_tensor *make_zeros(const dlpack_tensor *seen) {
  laze_tensor *made = NULL;
  laze_argument arguments[2] = {
      {.kind = LAZE_PASS_INTEGERS, .count = seen->ndim, .value.integers = seen->shape},
      {.name = "dtype", .kind = LAZE_PASS_DTYPE, .value.integer = dtype_of(seen)},
  };
  laze_call_by_name(NULL, "zeros", arguments, 2, &made, 1);
  return laze_tensor_take(made);
}

/* A tensor that a call looks at. */
typedef struct {
  cell *of;          /* NULL: of a tensor without elements, which have no memory */
  laze_tensor *view; /* of->value, or one of its own, which is released (give_back) */
} looked;

static void give_back(looked self) {
  if (!self.of || self.view != self.of->value) laze_tensor_release(self.view);
}

/* A tensor whose elements are the conjugates of those that lie there, which PyTorch says by a bit. */
static int is_conjugate(PyObject *tensor, const dlpack_tensor *seen) {
  if (seen->code != LAZE_DLPACK_COMPLEX) return 0;
  PyObject *said = PyObject_CallMethod(tensor, "is_conj", NULL);
  const int conjugate = said ? said == Py_True : -1;
  Py_XDECREF(said);
  return conjugate;
}

/* Has the view be what an operator makes of it, in a dtype where it takes one. */
static void replace(looked *self, const char *name, laze_dtype dtype) {
  laze_tensor *made = NULL;
  const laze_argument arguments[2] = {{.kind = LAZE_PASS_TENSOR, .value.tensor = self->view},
                                      {.name = "dtype", .kind = LAZE_PASS_DTYPE, .value.integer = dtype}};
  laze_call_by_name(NULL, name, arguments, dtype == LAZE_DTYPE_NONE ? 1 : 2, &made, 1);
  laze_tensor_take(made);
  give_back(*self);
  *self = (looked){NULL, made};
}

enum { HERE, ELSEWHERE, FAILED };

/* Looks at a tensor of PyTorch's. ELSEWHERE: it lies on another device; FAILED: an exception is set. */
static int look_at(PyObject *tensor, looked *out) {
  dlpack_tensor seen;
  *out = (looked){NULL, NULL};
  if (torch.exchange->look(tensor, &seen) != 0) return FAILED;
  if (seen.device_type != LAZE_DLPACK_EXTENSION) return ELSEWHERE;
  const laze_dtype dtype = dtype_of(&seen);
  if (seen.ndim > LAZE_PYTHON_MAX_RANK || dtype == LAZE_DTYPE_NONE) {
    laze_python_raise_type("a tensor of %d dims with DLPack's type code %d of %d bits has no place on device laze",
                           (int)seen.ndim, (int)seen.code, (int)seen.bits);
    return FAILED;
  }
  bool empty = false;
  for (int32_t dim = 0; dim < seen.ndim; dim++) empty = empty || seen.shape[dim] == 0;
  if (empty) {
    out->view = make_zeros(&seen);
  } else {
    out->of = cell_of_pointer(seen.data);
    if (!out->of || (dtype != laze_tensor_dtype(out->of->value) && !view_as(out->of, dtype))) return FAILED;
    const uint64_t offset = (uintptr_t)seen.data & (((uint64_t)1 << OFFSET_BITS) - 1);
    const laze_python_layout wanted = {seen.ndim, (int64_t)offset / laze_dtype_size(dtype), seen.shape, seen.strides};
    out->view = laze_python_view(out->of->value, &wanted);
    const int conjugated = is_conjugate(tensor, &seen);
    if (conjugated != 0) replace(out, "conj_physical", LAZE_DTYPE_NONE);
    if (conjugated < 0) return give_back(*out), FAILED;
  }
  if (laze_tensor_status(out->view) == LAZE_OK) return HERE;
  laze_python_raise_tensor(out->view);
  give_back(*out);
  return FAILED;
}

/* The same of one that is written to; false with an exception. */
static bool look_to_write(PyObject *tensor, looked *out) {
  const int found = look_at(tensor, out);
  if (found == ELSEWHERE) laze_python_raise_type("%R is no tensor of device laze", Py_TYPE(tensor));
  if (found != HERE) return false;
  if (out->of || laze_tensor_elements(out->view) == 0) return true;
  give_back(*out);
  return laze_python_raise_type("a tensor of conjugates is written to") != NULL;
}

/* ---- Calls. */

typedef struct {
  PyObject ob_base;        /* what PyObject_HEAD is */
  PyObject *called;        /* owned: what `name` is kept by */
  const char *name;        /* of the operator */
  const laze_operator *op; /* NULL: an internal one, of which nothing is known */
  int32_t form;            /* 0, LAZE_IN_PLACE or LAZE_OUT */
  PyObject *outs;          /* owned: a tuple of the names of what LAZE_OUT writes to */
  bool listed;             /* it gives a list, of one tensor as well */
  PyObject *otherwise;     /* owned: otherwise(why, arguments, names) is called where laze cannot */
  PyObject *foreign;       /* owned: foreign(tensor) gives the laze.Tensor of a tensor that lies elsewhere */
  laze_python_takes takes[LAZE_PYTHON_MAX_ARGUMENTS]; /* by position */
} kernel_object;

static PyTypeObject *kernel_type;

static bool is_torch_tensor(PyObject *object) {
  return Py_TYPE(object) == torch.tensor_type ||
         (torch.tensor_type && PyType_IsSubtype(Py_TYPE(object), torch.tensor_type));
}

/* The tensor as one of the package's, which holds what was looked at. */
static PyObject *as_own(const kernel_object *self, PyObject *tensor) {
  looked seen;
  const int found = look_at(tensor, &seen);
  if (found == FAILED) return NULL;
  if (found == ELSEWHERE && self && self->foreign && self->foreign != Py_None)
    return PyObject_CallFunctionObjArgs(self->foreign, tensor, NULL);
  if (found == ELSEWHERE) return laze_python_raise_type("%R is no tensor of device laze", Py_TYPE(tensor));
  PyObject *own = laze_python_tensor(seen.view);
  give_back(seen);
  return own;
}

/* A list with what stands for its tensors. */
static PyObject *without_tensors(const kernel_object *self, PyObject *list) {
  PyObject *items = PySequence_Tuple(list);
  PyObject *made = items ? PyList_New(PyTuple_Size(items)) : NULL;
  for (Py_ssize_t i = 0; made && i < PyTuple_Size(items); i++) {
    PyObject *item = PyTuple_GetItem(items, i), *own;
    own = is_torch_tensor(item) ? as_own(self, item) : laze_python_share(item);
    if (own)
      PyList_SetItem(made, i, own);
    else
      Py_CLEAR(made);
  }
  Py_XDECREF(items);
  return made;
}

/* The arguments of a call, and what was looked at for them. */
typedef struct {
  laze_python_arguments passed;
  int32_t count;
  looked seen[LAZE_PYTHON_MAX_ARGUMENTS];
} call_arguments;

static void end_arguments(call_arguments *self) {
  for (int32_t i = 0; i < self->count; i++) give_back(self->seen[i]);
  laze_python_arguments_clear(&self->passed);
}

static bool add_tensor(const kernel_object *self, PyObject *tensor, laze_python_takes takes, call_arguments *out) {
  laze_python_arguments *passed = &out->passed;
  if (passed->count == LAZE_PYTHON_MAX_ARGUMENTS) return laze_python_raise_type("too many arguments") != NULL;
  const int found = look_at(tensor, &out->seen[out->count]);
  if (found == FAILED) return false;
  if (found == HERE) {
    passed->items[passed->count++] =
        (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = out->seen[out->count++].view};
    return true;
  }
  PyObject *own = as_own(self, tensor);
  const bool added = own && laze_python_argument_add(passed, own, takes, self->name);
  return laze_python_argument_hold(passed, own) && added;
}

static bool add_argument(const kernel_object *self, PyObject *object, laze_python_takes takes, call_arguments *out) {
  const char *where = self->name;
  if (is_torch_tensor(object)) return add_tensor(self, object, takes, out);
  if (!PyList_Check(object) && !PyTuple_Check(object))
    return laze_python_argument_add(&out->passed, object, takes, where);
  PyObject *own = without_tensors(self, object);
  const bool added = own && laze_python_argument_add(&out->passed, own, takes, where);
  return laze_python_argument_hold(&out->passed, own) && added;
}

/* Where tensors lie and how, which is as it is here, whatever a call says. */
static bool is_place(const char *name) {
  static const char *const places[] = {"device", "layout", "memory_format", "non_blocking", "pin_memory"};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    if (strcmp(places[i], name) == 0) return true;
  return false;
}

/* The tensors that get the results: the first argument, or those passed as out=, borrowed. */
static int32_t find_targets(const kernel_object *self, PyObject *arguments, PyObject *names, PyObject **targets) {
  if (self->form == LAZE_IN_PLACE) targets[0] = PyTuple_GetItem(arguments, 0);
  if (self->form != LAZE_OUT) return self->form ? 1 : 0;
  const int32_t count = (int32_t)PyTuple_Size(self->outs);
  for (int32_t i = 0; i < count; i++) {
    targets[i] = names ? PyDict_GetItem(names, PyTuple_GetItem(self->outs, i)) : NULL;
    if (!targets[i]) return -1;
  }
  return count;
}

static bool add_arguments(const kernel_object *self, PyObject *arguments, PyObject *names, call_arguments *out) {
  const Py_ssize_t count = PyTuple_Size(arguments);
  PyObject *key, *object;
  for (Py_ssize_t i = 0; i < count; i++) {
    const laze_python_takes takes = i < LAZE_PYTHON_MAX_ARGUMENTS ? self->takes[i] : 0;
    if (!add_argument(self, PyTuple_GetItem(arguments, i), takes, out)) return false;
  }
  for (Py_ssize_t at = 0; names && PyDict_Next(names, &at, &key, &object);) {
    const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
    if (!name) return false;
    if (is_place(name) || (self->outs && PySequence_Contains(self->outs, key) == 1)) continue;
    laze_python_takes takes = 0;
    for (int32_t i = 0; i < laze_operator_argument_count(self->op); i++) {
      const laze_operator_argument *argument = laze_operator_argument_at(self->op, i);
      if (strcmp(argument->name, name) == 0) takes = laze_python_takes_of(argument);
    }
    if (!add_argument(self, object, takes, out)) return false;
    out->passed.items[out->passed.count - 1].name = name;
  }
  return true;
}

static PyObject *wrap_all(laze_tensor **handles, int32_t count, bool listed) {
  if (count == 1 && !listed) return wrap(handles[0]);
  PyObject *results = PyTuple_New(count);
  for (int32_t i = 0; i < count; i++) {
    PyObject *made = results ? wrap(handles[i]) : NULL;
    if (!results) drop(handles[i]);
    if (made)
      PyTuple_SetItem(results, i, made);
    else
      Py_CLEAR(results);
  }
  return results;
}

static bool same_shape(laze_tensor *a, laze_tensor *b) {
  bool same = laze_tensor_rank(a) == laze_tensor_rank(b);
  for (int32_t axis = 0; same && axis < laze_tensor_rank(a); axis++)
    same = laze_tensor_size(a, axis) == laze_tensor_size(b, axis);
  return same;
}

/* Gives the results to tensors there are, whose sizes are PyTorch's to change. */
static PyObject *give(const kernel_object *self, PyObject **targets, int32_t count, laze_tensor **handles,
                      laze_python_place place) {
  looked seen[MAX_RESULTS];
  laze_tensor *views[MAX_RESULTS];
  int32_t found = 0;
  bool fitting = true;
  while (found < count && look_to_write(targets[found], &seen[found])) {
    const bool failed = laze_tensor_status(handles[found]) != LAZE_OK; /* which giving it says */
    views[found] = seen[found].view;
    fitting = fitting && (failed || same_shape(views[found], handles[found]));
    found++;
  }
  if (found == count && !fitting) laze_python_raise_type("%s: a result has another shape than the tensor", self->name);
  laze_tensor *first = found == count && fitting
                           ? laze_results_give_at(self->form, self->name, views, handles, count, place.file, place.line)
                           : NULL;
  const bool given = first && first == views[0];
  if (first && !given) {
    laze_tensor_take(first);
    laze_python_raise_tensor(first);
    laze_tensor_release(first);
  }
  for (int32_t i = 0; i < found; i++) {
    if (given && seen[i].of) link_pending(seen[i].of);
    give_back(seen[i]);
  }
  for (int32_t i = 0; !given && i < count; i++) drop(handles[i]);
  if (!given) return NULL;
  if (count == 1) return laze_python_share(targets[0]);
  PyObject *tuple = PyTuple_New(count);
  for (int32_t i = 0; tuple && i < count; i++) PyTuple_SetItem(tuple, i, laze_python_share(targets[i]));
  return tuple;
}

/* The dtype that PyTorch's is by default, where that matters for a result: floats that laze made of integers are f32.
 * LAZE_DTYPE_NONE otherwise. */
static laze_dtype find_default(const call_arguments *self, laze_tensor *made) {
  laze_dtype wanted = LAZE_DTYPE_NONE;
  if (laze_tensor_dtype(made) != LAZE_F32 || self->count == 0) return LAZE_DTYPE_NONE;
  for (int32_t i = 0; i < self->passed.count; i++) {
    const laze_argument *argument = &self->passed.items[i];
    if (argument->kind == LAZE_PASS_DTYPE || argument->kind == LAZE_PASS_TENSORS) return LAZE_DTYPE_NONE;
    if (argument->kind != LAZE_PASS_TENSOR) continue;
    const char kind = laze_python_dtype_kind(laze_tensor_dtype(argument->value.tensor));
    if (kind == 'f' || kind == 'c') return LAZE_DTYPE_NONE;
  }
  PyObject *dtype = PyObject_CallObject(torch.default_dtype, NULL);
  const bool is_known = dtype && (dtype == torch.usual_dtype || laze_python_dtype_from(dtype, &wanted));
  Py_XDECREF(dtype);
  if (!is_known) PyErr_Clear();
  return wanted;
}

/* Has the call take what was looked at in another dtype. */
static void convert_all(call_arguments *self, laze_dtype dtype) {
  for (int32_t i = 0, next = 0; i < self->passed.count && next < self->count; i++) {
    laze_argument *argument = &self->passed.items[i];
    if (argument->kind != LAZE_PASS_TENSOR || argument->value.tensor != self->seen[next].view) continue;
    replace(&self->seen[next], "to.dtype", dtype);
    argument->value.tensor = self->seen[next++].view;
  }
}

static PyObject *call(const kernel_object *self, PyObject *arguments, PyObject *names) {
  PyObject *targets[MAX_RESULTS], *result = NULL;
  laze_tensor *handles[MAX_RESULTS];
  call_arguments own;
  own.passed.count = own.count = 0;
  own.passed.numbers = 0;
  own.passed.held = NULL;
  const int32_t count = find_targets(self, arguments, names, targets);
  if (count < 0) return laze_python_raise_type("%s: out= is missing", self->name);
  if (add_arguments(self, arguments, names, &own)) {
    const laze_python_place place = laze_python_find_place();
    int32_t made = laze_call_by_name_at(NULL, self->name, own.passed.items, own.passed.count, handles, MAX_RESULTS,
                                        place.file, place.line);
    const laze_dtype wanted = made > 0 ? find_default(&own, handles[0]) : LAZE_DTYPE_NONE;
    if (wanted != LAZE_DTYPE_NONE) {
      for (int32_t i = 0; i < made; i++) drop(handles[i]);
      convert_all(&own, wanted);
      made = laze_call_by_name_at(NULL, self->name, own.passed.items, own.passed.count, handles, MAX_RESULTS,
                                  place.file, place.line);
    }
    if (laze_python_raise_interrupt() || (count > 0 && made != count && made > 0)) {
      for (int32_t i = 0; i < made; i++) drop(handles[i]);
      if (!PyErr_Occurred()) laze_python_raise_type("%s gives %d results", self->name, (int)made);
    } else {
      result = count > 0 ? give(self, targets, count, handles, place) : wrap_all(handles, made, self->listed);
    }
  }
  end_arguments(&own);
  return result;
}

static PyObject *ask_otherwise(const kernel_object *self, PyObject *why, PyObject *arguments, PyObject *names) {
  PyObject *named = names ? laze_python_share(names) : PyDict_New();
  PyObject *result = named ? PyObject_CallFunctionObjArgs(self->otherwise, why, arguments, named, NULL) : NULL;
  Py_XDECREF(named);
  return result;
}

/* Tells otherwise() why laze did not do it; what stopped the program goes on. */
static PyObject *tell_otherwise(const kernel_object *self, PyObject *arguments, PyObject *names) {
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return NULL;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject *result = ask_otherwise(self, value ? value : Py_None, arguments, names);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return result;
}

/* Whether a result is asked for on the one device, and with no tensor among the arguments, in the usual dtype where
 * none is named; -1 with an exception. */
static int is_usual(const kernel_object *self, PyObject *names) {
  PyObject *device = names ? PyDict_GetItem(names, torch.device_of) : NULL;
  int usual = !device || device == Py_None ? 1 : PyObject_RichCompareBool(device, torch.device, Py_EQ);
  if (usual == 0) usual = PyObject_RichCompareBool(device, torch.any_device, Py_EQ);
  PyObject *dtype = names ? PyDict_GetItem(names, torch.dtype_of) : NULL;
  if (usual <= 0 || self->foreign != Py_None || (dtype && dtype != Py_None)) return usual;
  dtype = PyObject_CallObject(torch.default_dtype, NULL);
  Py_XDECREF(dtype);
  return dtype ? dtype == torch.usual_dtype : -1;
}

static PyObject *kernel_call(PyObject *object, PyObject *arguments, PyObject *names) {
  const kernel_object *self = (kernel_object *)object;
  const int usual = is_usual(self, names);
  if (usual == 0) return ask_otherwise(self, Py_None, arguments, names);
  PyObject *result = usual > 0 ? call(self, arguments, names) : NULL;
  return result ? result : tell_otherwise(self, arguments, names);
}

static void note_arguments(kernel_object *self) {
  for (int32_t i = 0; i < LAZE_PYTHON_MAX_ARGUMENTS; i++) {
    const laze_operator_argument *argument = laze_operator_argument_at(self->op, i);
    self->takes[i] = argument ? laze_python_takes_of(argument) : 0;
  }
}

/* DeviceKernel(operator, form, listed, outs, otherwise, foreign) */
static PyObject *kernel_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  int form, listed;
  PyObject *called, *outs, *otherwise, *foreign;
  if (names && PyDict_Size(names) > 0) return laze_python_raise_type("DeviceKernel() takes its arguments by position");
  if (!PyArg_ParseTuple(arguments, "UipOOO:DeviceKernel", &called, &form, &listed, &outs, &otherwise, &foreign))
    return NULL;
  const char *name = PyUnicode_AsUTF8AndSize(called, NULL);
  if (!name) return NULL;
  if (!PyTuple_Check(outs) || PyTuple_Size(outs) > MAX_RESULTS)
    return laze_python_raise_type("DeviceKernel: the names of out= are a tuple of at most %d", (int)MAX_RESULTS);
  kernel_object *made = PyObject_New(kernel_object, type);
  if (!made) return NULL;
  made->called = laze_python_share(called);
  made->name = name;
  made->op = laze_operator_find(name);
  note_arguments(made);
  made->form = form;
  made->listed = listed != 0;
  made->outs = laze_python_share(outs);
  made->otherwise = laze_python_share(otherwise);
  made->foreign = laze_python_share(foreign);
  return (PyObject *)made;
}

static void kernel_dealloc(PyObject *object) {
  kernel_object *self = (kernel_object *)object;
  Py_DECREF(self->called);
  Py_DECREF(self->outs);
  Py_DECREF(self->otherwise);
  Py_DECREF(self->foreign);
  laze_python_free(object);
}

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc,
     "DeviceKernel(operator, form, listed, outs, otherwise, foreign)\n--\n\n"
     "Calls an operator with tensors of PyTorch's device laze: form 0 makes tensors, 1 writes to the first\n"
     "argument, 2 to those that `outs` names. Where it cannot, otherwise(why, arguments, names) is called, with\n"
     "None where it is asked for another device or dtype than is usual. foreign(tensor) gives the value of\n"
     "one that lies elsewhere; None: no tensors are taken."},
    {Py_tp_new, kernel_new},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_call, kernel_call},
    {0},
};
static PyType_Spec kernel_spec = {"laze.DeviceKernel", sizeof(kernel_object), 0, Py_TPFLAGS_DEFAULT, kernel_slots};

/* ---- The module's functions. */

/* _device_open(tensor_type, storage_type, devices, default_dtype, usual_dtype): what of PyTorch is called from here. */
static PyObject *device_open(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *tensor_type, *storage_type, *device, *any_device, *default_dtype, *usual_dtype;
  if (!PyArg_ParseTuple(arguments, "O!O(OO)OO:_device_open", &PyType_Type, &tensor_type, &storage_type, &device,
                        &any_device, &default_dtype, &usual_dtype))
    return NULL;
  torch.exchange = laze_python_find_exchange((PyTypeObject *)tensor_type);
  torch.pointer_of = PyObject_GetAttrString(storage_type, "data_ptr");
  torch.device_of = PyUnicode_InternFromString("device");
  torch.dtype_of = PyUnicode_InternFromString("dtype");
  torch.device = laze_python_share(device);
  torch.any_device = laze_python_share(any_device);
  torch.default_dtype = laze_python_share(default_dtype);
  torch.usual_dtype = laze_python_share(usual_dtype);
  if (!torch.exchange || !torch.pointer_of || !torch.device_of || !torch.dtype_of) return NULL;
  torch.tensor_type = (PyTypeObject *)laze_python_share(tensor_type);
  return laze_python_share(Py_None);
}

/* _device_wrap(tensor): a tensor of PyTorch's device laze, to which the value belongs from now on: what is written to
 * it is written to the laze.Tensor, unless that is a view. */
static PyObject *device_wrap(PyObject *module, PyObject *tensor) {
  (void)module;
  if (!laze_python_is_tensor(tensor)) return laze_python_raise_type("_device_wrap: %R is no laze.Tensor", tensor);
  return wrap(laze_python_handle(tensor));
}

/* _device_unwrap(tensor): the value of a tensor of PyTorch's device laze, a view where that is one. */
static PyObject *device_unwrap(PyObject *module, PyObject *tensor) {
  (void)module;
  if (!is_torch_tensor(tensor)) return laze_python_raise_type("_device_unwrap: %R is no tensor of PyTorch", tensor);
  return as_own(NULL, tensor);
}

/* _device_write(tensor, value): writes a laze.Tensor, which is broadcast and cast, to a tensor of device laze. */
static PyObject *device_write(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *tensor, *value;
  looked seen;
  laze_error error = {0};
  if (!PyArg_ParseTuple(arguments, "OO:_device_write", &tensor, &value)) return NULL;
  if (!laze_python_is_tensor(value)) return laze_python_raise_type("_device_write: %R is no laze.Tensor", value);
  if (!is_torch_tensor(tensor)) return laze_python_raise_type("_device_write: %R is no tensor of PyTorch", tensor);
  if (!look_to_write(tensor, &seen)) return NULL;
  const laze_status status = laze_tensor_write(seen.view, laze_python_handle(value), &error);
  if (status == LAZE_OK && seen.of) link_pending(seen.of);
  give_back(seen);
  return status == LAZE_OK ? laze_python_share(tensor) : laze_python_raise(status, error.message);
}

/* _device_storage(storage): the value behind a storage of device laze, all of it. */
static PyObject *device_storage(PyObject *module, PyObject *storage) {
  (void)module;
  PyObject *device = PyObject_GetAttr(storage, torch.device_of);
  const int here = device ? PyObject_RichCompareBool(device, torch.device, Py_EQ) : -1;
  Py_XDECREF(device);
  if (here < 0) return NULL;
  if (!here) return laze_python_raise_type("%R is no storage of device laze", storage);
  cell *found = cell_of_storage(storage);
  return found ? laze_python_tensor(found->value) : NULL;
}

/* The values that may be pending, retained, which are so no more; NULL: memory is out. */
static laze_tensor **take_pending(int32_t *count) {
  int32_t found = 0;
  pthread_mutex_lock(&lock);
  for (const cell *at = first_pending; at; at = at->after) found++;
  laze_tensor **values = malloc(((size_t)found + 1) * sizeof *values);
  for (int32_t i = 0; values && i < found; i++) {
    values[i] = laze_tensor_retain(first_pending->value);
    unlink_locked(first_pending);
  }
  pthread_mutex_unlock(&lock);
  *count = found;
  return values;
}

/* _device_evaluate(): computes what is pending, whichever thread recorded it, in one graph. */
static PyObject *device_evaluate(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  int32_t count;
  laze_error error = {0};
  laze_status status;
  laze_tensor **values = take_pending(&count);
  if (!values) return PyErr_NoMemory();
  const laze_python_place place = laze_python_find_reader();
  Py_BEGIN_ALLOW_THREADS status = laze_tensors_materialise_at(values, count, &error, place.file, place.line);
  for (int32_t i = 0; i < count; i++) laze_tensor_release(values[i]);
  Py_END_ALLOW_THREADS free(values);
  laze_python_progress_end();
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise(status, error.message);
}

/* _call(operator, positional, named): a call by the operator's whole name; a tensor, or a tuple of them. */
static PyObject *call_by_name(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *name;
  PyObject *positional, *named;
  if (!PyArg_ParseTuple(arguments, "sO!O!:_call", &name, &PyTuple_Type, &positional, &PyDict_Type, &named)) return NULL;
  kernel_object self = {.name = name, .op = laze_operator_find(name)};
  note_arguments(&self);
  call_arguments own = {.count = 0};
  PyObject *result = NULL;
  if (add_arguments(&self, positional, named, &own)) result = laze_python_call(name, &own.passed, NULL);
  end_arguments(&own);
  return result;
}

static PyMethodDef functions[] = {
    {"_device_open", device_open, METH_VARARGS, NULL}, {"_device_wrap", device_wrap, METH_O, NULL},
    {"_device_unwrap", device_unwrap, METH_O, NULL},   {"_device_write", device_write, METH_VARARGS, NULL},
    {"_device_storage", device_storage, METH_O, NULL}, {"_device_evaluate", device_evaluate, METH_NOARGS, NULL},
    {"_call", call_by_name, METH_VARARGS, NULL},       {0}};

int laze_python_add_device(PyObject *module) {
  if (!kernel_type) kernel_type = (PyTypeObject *)PyType_FromSpec(&kernel_spec);
  if (!kernel_type || PyModule_AddObject(module, "_DeviceKernel", laze_python_share((PyObject *)kernel_type)) != 0)
    return -1;
  return PyModule_AddFunctions(module, functions);
}
