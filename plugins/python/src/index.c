/* x[...]: integers, slices, None and Ellipsis are taken one after the other, each as a call; integer and boolean
 * tensors are collected, one for each axis, and taken together at the end, by the operator index.
 *
 *   x[0, ..., None, 1:3, mask]
 *     │   │     │    │    └─ nonzero(mask), over the axes it covers, which become one
 *     │   │     │    └ slice  └ unsqueeze
 *     └ select  └ axes up to those that the rest of the index needs
 *
 * Nothing is computed by it: how much a mask selects, and where a slice ends that a tensor bounds, is a size that is
 * not known yet. Sizes that are not known are asked for (and then computed) only where an integer or a mask has to be
 * checked, or several lists compared.
 */
#include "binding.h"

#include <stdlib.h>

/* A tensor on its way through an index. */
typedef struct {
  PyObject *tensor; /* owned */
  int32_t axis;     /* the next one */
  int32_t needed;   /* axes that the rest of the index takes */
  bool ellipsis;
  bool has_lists;
  bool assigns;                          /* the tensor is to stay a view of the one that is indexed */
  PyObject *lists[LAZE_PYTHON_MAX_RANK]; /* by axis of the result so far; owned */
} indexing;

static int32_t rank_of(const indexing *self) {
  return laze_tensor_rank(laze_python_handle(self->tensor));
}

static bool knows_size(const indexing *self, int32_t axis) {
  return laze_tensor_knows_size(laze_python_handle(self->tensor), axis);
}

static bool fail(const char *format, ...) {
  char message[256];
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  return laze_python_raise(LAZE_OUT_OF_RANGE, message) != NULL;
}

/* The tensor becomes `next`; takes the reference. */
static bool replace(indexing *self, PyObject *next) {
  if (!next) return false;
  Py_DECREF(self->tensor);
  self->tensor = next;
  return true;
}

PyObject *laze_python_select(PyObject *tensor, int64_t axis, int64_t i) {
  laze_tensor *handle = laze_python_handle(tensor);
  int64_t size;
  if (laze_tensor_rank(handle) == 0)
    return fail("a tensor without dimensions cannot be indexed; its value is item()"), NULL;
  if (!laze_python_size(handle, (int32_t)axis, &size)) return NULL;
  if (i < -size || i >= size)
    return fail("index %lld is out of bounds for dimension %lld with size %lld", (long long)i, (long long)axis,
                (long long)size),
           NULL;
  return laze_python_call_format("select", "Tii", tensor, axis, i);
}

static bool take_integer(indexing *self, PyObject *item) {
  Py_ssize_t i = PyNumber_AsSsize_t(item, NULL); /* what does not fit is cut, and out of bounds */
  if (i == -1 && PyErr_Occurred()) return false;
  return replace(self, laze_python_select(self->tensor, self->axis, i));
}

/* Of a slice whose step is not above 0, or that has no integers. */
static bool refuse_slice(PyObject *item) {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_ValueError)) return false;
  PyErr_Clear();
  PyObject *text = PyUnicode_FromFormat("%R: slices of tensors have steps above 0; for an axis in reverse, index it "
                                        "with laze.arange(size - 1, -1, -1)",
                                        item);
  const char *message = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  if (message) laze_python_raise(LAZE_INVALID_ARGUMENT, message);
  Py_XDECREF(text);
  return false;
}

/* A slice whose bounds, or the size of whose axis, follow from values: the library takes them as they are. */
static bool take_unknown_slice(indexing *self, PyObject *item, PyObject *const bounds[3]) {
  Py_ssize_t step = bounds[2] == Py_None ? 1 : PyNumber_AsSsize_t(bounds[2], NULL);
  if (step < 1) return refuse_slice(item);
  laze_python_arguments arguments = {.count = 0};
  PyObject *axis = PyLong_FromLong(self->axis++), *width = PyLong_FromSsize_t(step);
  PyObject *const objects[] = {self->tensor, axis, bounds[0], bounds[1], width};
  bool added = axis && width;
  for (int i = 0; added && i < 5; i++) {
    laze_python_takes takes = i == 0 ? LAZE_PYTHON_TAKES(LAZE_TAKES_TENSOR) : LAZE_PYTHON_TAKES_SIZE;
    added = laze_python_argument_add(&arguments, objects[i], takes, "a slice");
  }
  PyObject *result = added ? laze_python_call("slice", &arguments, NULL) : NULL;
  laze_python_arguments_clear(&arguments);
  Py_XDECREF(axis);
  Py_XDECREF(width);
  return replace(self, result);
}

static bool take_known_slice(indexing *self, PyObject *item) {
  Py_ssize_t start, stop, step;
  int64_t size;
  if (PySlice_Unpack(item, &start, &stop, &step) < 0) return refuse_slice(item);
  if (step < 0) return refuse_slice(item);
  if (!laze_python_size(laze_python_handle(self->tensor), self->axis, &size)) return false;
  int64_t axis = self->axis++;
  PySlice_AdjustIndices((Py_ssize_t)size, &start, &stop, step);
  if (start == 0 && stop == size && step == 1) return true;
  if (stop < start) stop = start;
  return replace(self, laze_python_call_format("slice", "Tiiii", self->tensor, axis, (int64_t)start, (int64_t)stop,
                                               (int64_t)step));
}

static bool take_slice(indexing *self, PyObject *item) {
  static const char *const names[] = {"start", "stop", "step"};
  PyObject *bounds[3] = {0};
  bool known = knows_size(self, self->axis), taken = true;
  for (int i = 0; taken && i < 3; i++) {
    bounds[i] = PyObject_GetAttrString(item, names[i]);
    taken = bounds[i] != NULL;
    if (taken && i < 2 && laze_python_is_tensor(bounds[i])) known = known && !laze_python_is_integer(bounds[i]);
  }
  bool whole = taken && bounds[0] == Py_None && bounds[1] == Py_None && bounds[2] == Py_None;
  if (whole)
    self->axis++;
  else if (taken)
    taken = known ? take_known_slice(self, item) : take_unknown_slice(self, item, bounds);
  for (int i = 0; i < 3; i++) Py_XDECREF(bounds[i]);
  return taken;
}

static bool add_axis(indexing *self) {
  int64_t axis = self->axis++;
  if (rank_of(self) == LAZE_PYTHON_MAX_RANK) return fail("an index with too many dimensions");
  return replace(self, laze_python_call_format("unsqueeze", "Ti", self->tensor, axis));
}

static bool set_list(indexing *self, PyObject *list) {
  if (!list) return false;
  self->lists[self->axis++] = list;
  self->has_lists = true;
  return true;
}

/* True and False: a new axis, of size 1 or 0. */
static bool take_bool(indexing *self, bool value) {
  const int64_t zero = 0, count = value;
  if (!add_axis(self)) return false;
  self->axis--;
  return set_list(self, laze_python_tensor(laze_tensor_from_data(NULL, LAZE_I64, (laze_ints){&count, 1}, &zero,
                                                                 value ? sizeof zero : 0)));
}

/* The places where a mask is true: one list for each of its axes. */
static bool add_places(indexing *self, const laze_export *mask) {
  const char *bytes = mask->data;
  int64_t count = 0, stride = 1;
  for (int64_t i = 0; i < mask->size; i++) count += bytes[i] != 0;
  int64_t *places = malloc(count ? (size_t)count * sizeof *places : 1);
  if (!places) return PyErr_NoMemory() != NULL;
  bool added = true;
  for (int32_t axis = 0; axis < mask->rank; axis++) stride *= mask->sizes[axis];
  for (int32_t axis = 0; added && axis < mask->rank; axis++) {
    stride = mask->sizes[axis] ? stride / mask->sizes[axis] : 1;
    int64_t *next = places;
    for (int64_t i = 0; i < mask->size; i++)
      if (bytes[i]) *next++ = i / stride % mask->sizes[axis];
    added = set_list(self, laze_python_tensor(laze_tensor_from_data(NULL, LAZE_I64, (laze_ints){&count, 1}, places,
                                                                    (size_t)count * sizeof *places)));
  }
  free(places);
  return added;
}

/* Whether the mask has the sizes of the axes that it covers, which are found where they are not known: one that is too
 * short would select from the wrong places, and nothing behind it could tell. */
static bool check_mask(const indexing *self, laze_tensor *mask) {
  laze_tensor *tensor = laze_python_handle(self->tensor);
  for (int32_t i = 0; i < laze_tensor_rank(mask); i++) {
    int32_t axis = self->axis + i;
    int64_t own, covered;
    if (axis >= rank_of(self)) break;
    if (laze_tensor_has_size_of(mask, i, tensor, axis)) continue;
    if (!laze_python_size(mask, i, &own) || !laze_python_size(tensor, axis, &covered)) return false;
    if (own != covered)
      return fail("the mask has size %lld in dimension %d, and the tensor %lld in dimension %d", (long long)own, (int)i,
                  (long long)covered, (int)axis);
  }
  return true;
}

/* A mask that is written down: its places are known now, and so is the size of the result. */
static bool take_written_mask(indexing *self, PyObject *mask) {
  laze_export lent = {0};
  laze_error error = {0};
  laze_status status = laze_tensor_export(laze_python_handle(mask), &lent, &error); /* it is there */
  if (status != LAZE_OK) return laze_python_raise(status, error.message) != NULL;
  bool added = add_places(self, &lent);
  laze_export_release(&lent);
  return added;
}

/* The places of a mask, as a list for each axis that it covers. */
static bool take_mask_by_axis(indexing *self, PyObject *mask) {
  const int64_t one = 1;
  PyObject *places = laze_python_call_format("nonzero", "T", mask);
  bool taken = places != NULL;
  for (int64_t axis = 0; taken && axis < laze_tensor_rank(laze_python_handle(mask)); axis++)
    taken = set_list(self, laze_python_call_format("select", "Tii", places, one, axis));
  Py_XDECREF(places);
  return taken;
}

/* The axes that a mask covers become one, of which its places are the list. */
static bool take_mask(indexing *self, PyObject *mask) {
  int32_t rank = laze_tensor_rank(laze_python_handle(mask));
  if (self->assigns && rank > 0) return take_mask_by_axis(self, mask);
  if (rank == 0) {
    if (!add_axis(self)) return false;
    self->axis--;
  } else if (rank > 1) {
    const int64_t first = self->axis, last = self->axis + rank - 1;
    if (!replace(self, laze_python_call_format("flatten", "Tii", self->tensor, first, last))) return false;
  }
  const int64_t one = 1, zero = 0, all = -1;
  PyObject *flat = rank == 0  ? laze_python_call_format("unsqueeze", "Ti", mask, zero)
                   : rank > 1 ? laze_python_call_format("flatten", "Tii", mask, zero, all)
                              : laze_python_share(mask);
  PyObject *places = laze_python_call_format("nonzero", "T", flat);
  PyObject *list = laze_python_call_format("squeeze", "Ti", places, one);
  Py_XDECREF(flat);
  Py_XDECREF(places);
  return set_list(self, list);
}

/* x[lists[0], :, lists[2]]: a tensor of integers for each of `rank` axes, or NULL, which takes all of it. */
static PyObject *take_lists(PyObject *tensor, PyObject *const *lists, int32_t rank) {
  laze_tensor *handles[LAZE_PYTHON_MAX_RANK];
  laze_python_arguments arguments = {.count = 2};
  for (int32_t i = 0; i < rank; i++) handles[i] = lists[i] ? laze_python_handle(lists[i]) : NULL;
  arguments.items[0] = (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = laze_python_handle(tensor)};
  arguments.items[1] = (laze_argument){.kind = LAZE_PASS_TENSORS, .count = rank, .value.tensors = handles};
  PyObject *taken = laze_python_call("index", &arguments, NULL);
  if (!taken && laze_python_error_is_invalid()) laze_python_raise_as_index(); /* shapes that do not fit each other */
  return taken;
}

/* Without dimensions: the element of the axis that the tensor names when the graph runs. */
static bool take_tensor_scalar(indexing *self, PyObject *index) {
  PyObject *list[LAZE_PYTHON_MAX_RANK] = {0};
  list[self->axis] = index;
  return replace(self, take_lists(self->tensor, list, rank_of(self)));
}

/* `written`: the index is a list of Python's. */
static bool take_tensor(indexing *self, PyObject *index, bool written) {
  laze_dtype dtype = laze_tensor_dtype(laze_python_handle(index));
  char kind = laze_python_dtype_kind(dtype);
  if (kind == 'b' && !check_mask(self, laze_python_handle(index))) return false;
  if (kind == 'b') return written ? take_written_mask(self, index) : take_mask(self, index);
  if (dtype == LAZE_U8)
    return fail(
        "a uint8 tensor as an index would be a mask in PyTorch and positions in NumPy; convert it with .bool() or "
        ".long()");
  if (kind != 'i' && kind != 'u')
    return fail("tensors that are indices have integers or bools, and this one has %s", laze_python_dtype_name(dtype));
  PyObject *wide = laze_python_cast(laze_python_share(index), LAZE_I64);
  if (!wide) return false;
  if (self->assigns || laze_tensor_rank(laze_python_handle(wide)) > 0) return set_list(self, wide);
  bool taken = take_tensor_scalar(self, wide);
  Py_DECREF(wide);
  return taken;
}

/* An item that stands for itself, or as a tensor: arrays and lists. */
static PyObject *simplify(PyObject *item) {
  if (item == Py_None || item == Py_Ellipsis || PySlice_Check(item) || PyLong_Check(item) ||
      laze_python_is_tensor(item))
    return laze_python_share(item);
  if (PyList_Check(item) || PyTuple_Check(item)) {
    if (PySequence_Size(item) == 0) return laze_python_from_lists(item, LAZE_I64);
    return laze_python_from_lists(item, LAZE_DTYPE_NONE);
  }
  if (laze_python_has_dlpack(item)) return laze_python_from_any(item, LAZE_DTYPE_NONE, false);
  if (PyIndex_Check(item) && !laze_python_has(item, "shape")) return PyNumber_Index(item);
  if (laze_python_has(item, "item")) { /* NumPy's scalars */
    PyObject *number = PyObject_CallMethod(item, "item", NULL);
    if (number && PyLong_Check(number)) return number;
    Py_XDECREF(number);
    PyErr_Clear();
  }
  PyErr_Clear();
  fail("a tensor is indexed by integers, slices, None, ... and tensors or lists of integers or bools");
  return NULL;
}

/* The axes of the tensor that an item takes up. */
static int32_t axes_of(PyObject *item) {
  if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) return 0;
  if (!laze_python_is_tensor(item)) return 1;
  laze_tensor *handle = laze_python_handle(item);
  return laze_tensor_dtype(handle) == LAZE_BOOL ? laze_tensor_rank(handle) : 1;
}

static bool take(indexing *self, PyObject *item, PyObject *original) {
  if (item == Py_None) return add_axis(self);
  if (item == Py_Ellipsis) {
    if (self->ellipsis) return fail("an index has one ellipsis ('...') at most");
    self->ellipsis = true;
    self->axis = rank_of(self) - self->needed;
    return true;
  }
  if (PyBool_Check(item)) return take_bool(self, item == Py_True);
  self->needed -= axes_of(item);
  if (PySlice_Check(item)) return take_slice(self, item);
  if (!laze_python_is_tensor(item)) return take_integer(self, item);
  return take_tensor(self, item, PyList_Check(original) || PyTuple_Check(original));
}

/* The items of an index, simplified: a tuple. */
static PyObject *items_of(PyObject *index) {
  bool several = PyTuple_Check(index);
  Py_ssize_t count = several ? PyTuple_Size(index) : 1;
  PyObject *items = PyTuple_New(count);
  for (Py_ssize_t i = 0; items && i < count; i++) {
    PyObject *item = simplify(several ? PyTuple_GetItem(index, i) : index);
    if (!item)
      Py_CLEAR(items);
    else
      PyTuple_SetItem(items, i, item);
  }
  return items;
}

static bool take_all(indexing *self, PyObject *items, PyObject *index) {
  Py_ssize_t count = PyTuple_Size(items);
  int32_t rank = rank_of(self);
  for (Py_ssize_t i = 0; i < count && self->needed <= rank; i++) self->needed += axes_of(PyTuple_GetItem(items, i));
  if (rank == 0 && self->needed > 0) return fail("a tensor without dimensions cannot be indexed; its value is item()");
  if (self->needed > rank || count > LAZE_PYTHON_MAX_RANK)
    return fail("too many indices for a tensor of %d dimensions", (int)rank);
  for (Py_ssize_t i = 0; i < count; i++)
    if (!take(self, PyTuple_GetItem(items, i), PyTuple_Check(index) ? PyTuple_GetItem(index, i) : index)) return false;
  return true;
}

static void clear(indexing *self, PyObject *items) {
  for (int32_t i = 0; i < LAZE_PYTHON_MAX_RANK; i++) Py_XDECREF(self->lists[i]);
  Py_DECREF(self->tensor);
  Py_DECREF(items);
}

/* What an index that takes all of the tensor gives: a view, as any other slice is. A tensor whose sizes are not known
 * is given itself, as views of it cannot be written to. */
static PyObject *all_of(PyObject *tensor) {
  laze_tensor *handle = laze_python_handle(tensor);
  for (int32_t axis = 0; axis < laze_tensor_rank(handle); axis++)
    if (!laze_tensor_knows_size(handle, axis)) return laze_python_share(tensor);
  return laze_python_call_format("alias", "T", tensor);
}

PyObject *laze_python_subscript(PyObject *tensor, PyObject *index) {
  PyObject *items = items_of(index), *result = NULL;
  if (!items) return NULL;
  indexing self = {.tensor = laze_python_share(tensor)};
  if (take_all(&self, items, index))
    result = self.has_lists          ? take_lists(self.tensor, self.lists, rank_of(&self))
             : self.tensor == tensor ? all_of(tensor)
                                     : laze_python_share(self.tensor);
  clear(&self, items);
  return result;
}

/* --- x[index] = value --- */

/* What is assigned, as a tensor; a number, or a list of them, is of the tensor's dtype where that is of its kind. */
static PyObject *value_for(PyObject *tensor, PyObject *value) {
  laze_dtype dtype = laze_tensor_dtype(laze_python_handle(tensor));
  const char kind = laze_python_dtype_kind(dtype);
  const bool is_real = kind == 'f' || kind == 'c';
  if (laze_python_is_tensor(value)) return laze_python_share(value);
  if (PyComplex_Check(value) && kind != 'c')
    return laze_python_raise_type("a complex number cannot be assigned to elements of %s",
                                  laze_python_dtype_name(dtype));
  const bool is_integer = PyLong_Check(value) && !PyBool_Check(value) && kind != 'b';
  const bool is_written = PyFloat_Check(value) || PyList_Check(value) || PyTuple_Check(value) || PyBool_Check(value);
  return laze_python_from_any(value, is_integer || (is_written && is_real) ? dtype : LAZE_DTYPE_NONE, false);
}

/* Leading axes of size 1 that the destination has not are left out. Takes the reference. */
static PyObject *without_leading(PyObject *value, int32_t rank) {
  const int64_t zero = 0;
  while (value && laze_tensor_rank(laze_python_handle(value)) > rank) {
    int64_t size;
    if (!laze_python_size(laze_python_handle(value), 0, &size)) return Py_DECREF(value), NULL;
    if (size != 1) return value;
    PyObject *rest = laze_python_call_format("select", "Tii", value, zero, zero);
    Py_DECREF(value);
    value = rest;
  }
  return value;
}

/* The tensor, a view or all of it, gets the value. */
static int write_to(PyObject *tensor, PyObject *value) {
  laze_error error;
  laze_status status = laze_tensor_write(laze_python_handle(tensor), laze_python_handle(value), &error);
  if (status == LAZE_OK) return 0;
  laze_python_raise(status, error.message);
  return -1;
}

/* The elements at the places that lists say get the value: index_put_. */
static int put_at(PyObject *tensor, PyObject *const *lists, int32_t rank, PyObject *value) {
  laze_tensor *handles[LAZE_PYTHON_MAX_RANK];
  PyObject *cast = laze_python_cast(laze_python_share(value), laze_tensor_dtype(laze_python_handle(tensor)));
  if (!cast) return -1;
  laze_python_arguments arguments = {.count = 3, .form = LAZE_IN_PLACE, .destinations = tensor, .called = "index_put_"};
  for (int32_t i = 0; i < rank; i++) handles[i] = lists[i] ? laze_python_handle(lists[i]) : NULL;
  arguments.items[0] = (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = laze_python_handle(tensor)};
  arguments.items[1] = (laze_argument){.kind = LAZE_PASS_TENSORS, .count = rank, .value.tensors = handles};
  arguments.items[2] = (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = laze_python_handle(cast)};
  PyObject *result = laze_python_call("index_put", &arguments, NULL);
  Py_DECREF(cast);
  if (!result && laze_python_error_is_invalid()) laze_python_raise_as_index(); /* shapes that do not fit each other */
  Py_XDECREF(result);
  return result ? 0 : -1;
}

/* Whether an index is a mask, and nothing beside it, over a value without dims: masked_fill_ needs no places. */
static bool is_mask(PyObject *tensor, PyObject *items, PyObject *value) {
  PyObject *item = PyTuple_Size(items) == 1 ? PyTuple_GetItem(items, 0) : NULL;
  if (!item || !laze_python_is_tensor(item) || laze_tensor_dtype(laze_python_handle(item)) != LAZE_BOOL) return false;
  const int32_t rank = laze_tensor_rank(laze_python_handle(item));
  return rank > 0 && rank <= laze_tensor_rank(laze_python_handle(tensor)) &&
         laze_tensor_rank(laze_python_handle(value)) == 0;
}

static int fill_at(PyObject *tensor, PyObject *mask, PyObject *value) {
  indexing self = {.tensor = tensor};
  PyObject *wide = check_mask(&self, laze_python_handle(mask)) ? laze_python_share(mask) : NULL;
  const int32_t rank = laze_tensor_rank(laze_python_handle(tensor));
  while (wide && laze_tensor_rank(laze_python_handle(wide)) < rank) {
    PyObject *longer = laze_python_call_format("unsqueeze", "Ti", wide, (int64_t)-1);
    Py_DECREF(wide);
    wide = longer;
  }
  PyObject *filled = wide ? laze_python_call_format("where", "TTT", wide, value, tensor) : NULL;
  const int status = filled ? write_to(tensor, filled) : -1;
  Py_XDECREF(wide);
  Py_XDECREF(filled);
  return status;
}

int laze_python_assign(PyObject *tensor, PyObject *index, PyObject *value) {
  PyObject *items = items_of(index), *source = items ? value_for(tensor, value) : NULL;
  int status = -1;
  if (!source) {
    Py_XDECREF(items);
    return -1;
  }
  indexing self = {.tensor = laze_python_share(tensor), .assigns = true};
  if (is_mask(tensor, items, source)) {
    status = fill_at(tensor, PyTuple_GetItem(items, 0), source);
  } else if (take_all(&self, items, index)) {
    if (!self.has_lists) source = without_leading(source, rank_of(&self));
    if (source)
      status = self.has_lists ? put_at(self.tensor, self.lists, rank_of(&self), source) : write_to(self.tensor, source);
  }
  Py_XDECREF(source);
  clear(&self, items);
  return status;
}
