/* x[lists]: tensors of integers at some axes, which are broadcast with each other and taken together, as PyTorch does.
 *
 *   x f32[4,5,6], x[:, i, j] with i, j of shape B
 *     indexed axes first, as one:  permute, reshape   f32[5*6, 4]
 *     their positions as one:      i * 6 + j          i64[B]
 *     index_select, reshape, and B to where the indexed axes were (or first, where they do not lie side by side)
 *
 * One list alone is what index_select takes, whatever its length. Negative indices count from the end; of several
 * lists, one that lies outside of its axis makes a position that index_select refuses when the graph runs.
 */
#include "binding.h"

typedef struct {
  PyObject *tensor; /* borrowed */
  PyObject **lists; /* borrowed */
  int32_t rank, first, last, count;
  int64_t shape[LAZE_PYTHON_MAX_RANK]; /* of the lists together */
  int32_t shape_rank;
} lookup;

/* 0, with an exception, where it cannot be found. */
static int64_t size_of(PyObject *tensor, int32_t axis) {
  int64_t size;
  return laze_python_size(laze_python_handle(tensor), axis, &size) ? size : 0;
}

static int32_t rank_of(PyObject *tensor) {
  return laze_tensor_rank(laze_python_handle(tensor));
}

/* A call whose tensors may be missing already; takes the references of both. */
static PyObject *call_two(const char *name, PyObject *left, PyObject *right) {
  PyObject *result = laze_python_call_format(name, "TT", left, right);
  Py_XDECREF(left);
  Py_XDECREF(right);
  return result;
}

static PyObject *choose(PyObject *condition, PyObject *left, PyObject *right) {
  PyObject *result = laze_python_call_format("where", "TTT", condition, left, right);
  Py_XDECREF(condition);
  Py_XDECREF(left);
  Py_XDECREF(right);
  return result;
}

/* Whether indices lie in their axis: -size <= list < size. */
static PyObject *is_inside(PyObject *list, int64_t size) {
  return call_two("logical_and", laze_python_call_format("ge", "Ti", list, -size),
                  laze_python_call_format("lt", "Ti", list, size));
}

static PyObject *from_end(PyObject *list, int64_t size) {
  return choose(laze_python_call_format("lt", "Ti", list, (int64_t)0), laze_python_call_format("add", "Ti", list, size),
                laze_python_share(list));
}

static bool broadcast(lookup *self, PyObject *list) {
  int32_t rank = rank_of(list);
  for (int32_t i = self->shape_rank; i < rank; i++) self->shape[i] = 1; /* from the last axis on */
  if (rank > self->shape_rank) self->shape_rank = rank;
  for (int32_t i = 0; i < rank; i++) {
    int64_t size = size_of(list, -1 - i);
    if (size == 1 || size == self->shape[i]) continue;
    if (self->shape[i] != 1)
      return laze_python_raise(LAZE_OUT_OF_RANGE, "the tensors of an index have shapes that do not fit each other") !=
             NULL;
    self->shape[i] = size;
  }
  return true;
}

static bool describe(lookup *self) {
  self->first = -1;
  for (int32_t axis = 0; axis < self->rank; axis++) {
    if (!self->lists[axis]) continue;
    if (self->first < 0) self->first = axis;
    self->last = axis;
    self->count++;
  }
  self->shape_rank = self->count == 1 ? rank_of(self->lists[self->first]) : 0;
  if (self->count == 1 && self->shape_rank == 1) return true; /* its length may be any */
  self->shape_rank = 0;
  for (int32_t axis = self->first; axis <= self->last; axis++)
    if (self->lists[axis] && !broadcast(self, self->lists[axis])) return false;
  if (PyErr_Occurred()) return false;
  for (int32_t i = 0; i < self->shape_rank / 2; i++) {
    int64_t other = self->shape[self->shape_rank - 1 - i];
    self->shape[self->shape_rank - 1 - i] = self->shape[i];
    self->shape[i] = other;
  }
  return true;
}

/* Several: their positions in the indexed axes as one, or behind its end. */
static PyObject *positions_of_all(lookup *self) {
  PyObject *positions = NULL, *inside = NULL;
  int64_t stride = 1;
  for (int32_t axis = self->last; axis >= self->first; axis--) {
    PyObject *list = self->lists[axis];
    if (!list) continue;
    int64_t size = size_of(self->tensor, axis);
    PyObject *counted = from_end(list, size);
    PyObject *term = laze_python_call_format("mul", "Ti", counted, stride);
    Py_XDECREF(counted);
    positions = axis == self->last ? term : call_two("add", positions, term);
    inside = axis == self->last ? is_inside(list, size) : call_two("logical_and", inside, is_inside(list, size));
    stride *= size;
  }
  PyObject *end = laze_python_tensor(laze_tensor_from_scalar(NULL, LAZE_I64, laze_scalar_integer(stride)));
  return choose(inside, positions, end);
}

/* The tensor with its indexed axes first and as one. */
static PyObject *gather_axes(lookup *self) {
  int64_t order[LAZE_PYTHON_MAX_RANK], shape[LAZE_PYTHON_MAX_RANK] = {1};
  int32_t next = 0, kept = 1;
  for (int32_t axis = 0; axis < self->rank; axis++)
    if (self->lists[axis]) {
      order[next++] = axis;
      shape[0] *= size_of(self->tensor, axis);
    }
  for (int32_t axis = 0; axis < self->rank; axis++)
    if (!self->lists[axis]) {
      order[next++] = axis;
      shape[kept++] = size_of(self->tensor, axis);
    }
  PyObject *permuted = laze_python_call_format("permute", "TI", self->tensor, self->rank, order);
  PyObject *reshaped = laze_python_call_format("reshape", "TI", permuted, kept, shape);
  Py_XDECREF(permuted);
  return reshaped;
}

/* Elements of one axis, which becomes the axis of a list. Takes both references. */
static PyObject *select_list(PyObject *source, int64_t axis, PyObject *list) {
  PyObject *result = source && list ? laze_python_call_format("index_select", "TiT", source, axis, list) : NULL;
  Py_XDECREF(source);
  Py_XDECREF(list);
  return result;
}

/* The same for lists of any shape. */
static PyObject *select_places(lookup *self, PyObject *source, int64_t axis, PyObject *positions) {
  if (self->shape_rank == 1) return select_list(source, axis, positions);
  int64_t shape[2 * LAZE_PYTHON_MAX_RANK];
  const int64_t flat = -1, none = 0;
  int64_t elements = 1;
  int32_t count = 0;
  for (int32_t i = 0; i < self->shape_rank; i++) elements *= self->shape[i];
  for (int32_t i = 0; source && i < rank_of(source); i++) {
    if (i == axis)
      for (int32_t k = 0; k < self->shape_rank; k++) shape[count++] = self->shape[k];
    else
      shape[count++] = size_of(source, i);
  }
  PyObject *list = laze_python_call_format("reshape", "TI", positions, (int32_t)1, elements ? &flat : &none);
  PyObject *selected = select_list(source, axis, list);
  PyObject *result = laze_python_call_format("reshape", "TI", selected, count, shape);
  Py_XDECREF(selected);
  Py_XDECREF(positions);
  return result;
}

/* The axes of the lists, which are first, to where the indexed axes were. Takes the reference. */
static PyObject *move_back(lookup *self, PyObject *result) {
  int64_t order[LAZE_PYTHON_MAX_RANK];
  if (!result || self->first == 0 || self->last - self->first + 1 != self->count) return result;
  int32_t rank = rank_of(result), next = 0;
  for (int32_t i = 0; i < self->first; i++) order[next++] = self->shape_rank + i;
  for (int32_t i = 0; i < self->shape_rank; i++) order[next++] = i;
  for (int32_t i = self->shape_rank + self->first; i < rank; i++) order[next++] = i;
  PyObject *moved = laze_python_call_format("permute", "TI", result, rank, order);
  Py_DECREF(result);
  return moved;
}

PyObject *laze_python_index_lists(PyObject *tensor, PyObject **lists, int32_t rank) {
  lookup self = {.tensor = tensor, .lists = lists, .rank = rank};
  if (!describe(&self)) return NULL;
  if (self.shape_rank + rank > LAZE_PYTHON_MAX_RANK)
    return laze_python_raise(LAZE_OUT_OF_RANGE, "an index with too many dimensions");
  if (self.count == 1)
    return select_places(&self, laze_python_share(tensor), self.first, laze_python_share(lists[self.first]));
  return move_back(&self, select_places(&self, gather_axes(&self), 0, positions_of_all(&self)));
}
