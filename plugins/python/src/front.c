/* What functions of PyTorch's Python front end make of an operator, whose results are always the same ones:
 *
 *   unique(x, return_counts=True)     output, inverse_indices, counts  ->  (output, counts)
 *   unique(x)                                                          ->  output
 *   nonzero(x, as_tuple=True)         i64[u0,2]                        ->  (i64[u0], i64[u0])
 *
 * and what they take besides: broadcast_tensors(x, y), ones(2, requires_grad=True), x.to("cpu", dtype).
 */
#include "operator.h"

#include <string.h>

static bool is_unique(const laze_python_operator *self) {
  return strcmp(self->name, "unique") == 0 || strcmp(self->name, "unique_consecutive") == 0;
}

bool laze_python_front_takes(const laze_python_operator *self, const char *name, PyObject *value, bool *as_tuple) {
  if (strcmp(self->name, "nonzero") != 0 || strcmp(name, "as_tuple") != 0 || !PyBool_Check(value)) return false;
  *as_tuple = value == Py_True;
  return true;
}

bool laze_python_front_spreads(const char *name) {
  static const char *const names[] = {"atleast_1d", "atleast_2d",     "atleast_3d",   "block_diag", "broadcast_tensors",
                                      "meshgrid",   "cartesian_prod", "chain_matmul", "einsum"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

/* A factory takes no tensor by its first arguments, or one of which it takes the form. */
bool laze_python_front_makes(const laze_python_operator *self) {
  const size_t length = strlen(self->name);
  const laze_operator *op = self->overloads[0];
  bool takes_tensor = false;
  for (int32_t i = 0; i < laze_operator_argument_count(op); i++) {
    const laze_operator_argument *argument = laze_operator_argument_at(op, i);
    takes_tensor = takes_tensor || argument->takes == LAZE_TAKES_TENSORS ||
                   (argument->takes == LAZE_TAKES_TENSOR && !argument->keyword_only);
  }
  return !self->in_place && laze_operator_result_count(op) == 1 &&
         (!takes_tensor || strncmp(self->name, "new_", 4) == 0 ||
          (length > 5 && strcmp(self->name + length - 5, "_like") == 0));
}

/* "cpu", torch.device("cpu"), and switches that are off. */
static bool is_place(PyObject *object) {
  if (object == Py_False) return true;
  if (laze_python_is_tensor(object) || laze_python_is_dtype(object)) return false;
  PyObject *text = PyObject_Str(object);
  const char *said = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  const bool is_here = said && (strcmp(said, "cpu") == 0 || strcmp(said, "cpu:0") == 0);
  PyErr_Clear();
  Py_XDECREF(text);
  return is_here;
}

Py_ssize_t laze_python_front_without_places(PyObject *const *passed, Py_ssize_t count, PyObject **kept) {
  Py_ssize_t left = 0;
  for (Py_ssize_t i = 0; i < count; i++)
    if (i == 0 || !is_place(passed[i])) kept[left++] = passed[i];
  return left;
}

/* Whether a call has such an argument, and it is true. */
static bool is_true(const laze_python_operator *self, const laze_python_arguments *arguments, const char *name) {
  const laze_operator *op = self->overloads[0];
  for (int32_t i = 0; i < arguments->count; i++) {
    const laze_argument *item = &arguments->items[i];
    const char *own = item->name ? item->name : laze_operator_argument_at(op, i)->name;
    if (strcmp(own, name) == 0) return item->kind == LAZE_PASS_BOOL && item->value.integer != 0;
  }
  return false;
}

/* The tensor for each axis; of a tensor without dims, one for the axis that it would have. Takes the reference. */
static PyObject *part_axes(PyObject *places) {
  const int64_t one = 1;
  const int64_t rank = laze_tensor_size(laze_python_handle(places), 1);
  PyObject *parts = PyTuple_New(rank > 0 ? (Py_ssize_t)rank : 1);
  for (int64_t axis = 0; parts && axis < (rank > 0 ? rank : 1); axis++) {
    PyObject *part = rank > 0 ? laze_python_call_format("select", "Tii", places, one, axis)
                              : laze_python_call_format("sum", "TI", places, (int32_t)1, &one);
    if (!part)
      Py_CLEAR(parts);
    else
      PyTuple_SetItem(parts, (Py_ssize_t)axis, part);
  }
  Py_DECREF(places);
  return parts;
}

/* The results that were asked for. Takes the reference. */
static PyObject *leave_out(const laze_python_operator *self, const laze_python_arguments *arguments,
                           PyObject *results) {
  const bool wanted[] = {true, is_true(self, arguments, "return_inverse"), is_true(self, arguments, "return_counts")};
  PyObject *kept = PyTuple_New(1 + wanted[1] + wanted[2]);
  for (Py_ssize_t i = 0, next = 0; kept && i < 3; i++)
    if (wanted[i]) PyTuple_SetItem(kept, next++, laze_python_share(PyTuple_GetItem(results, i)));
  Py_DECREF(results);
  if (!kept || wanted[1] || wanted[2]) return kept;
  PyObject *output = laze_python_share(PyTuple_GetItem(kept, 0));
  Py_DECREF(kept);
  return output;
}

PyObject *laze_python_front_arrange(const laze_python_operator *self, const laze_python_arguments *arguments,
                                    bool as_tuple, PyObject *results) {
  if (results && as_tuple) return part_axes(results);
  return results && is_unique(self) ? leave_out(self, arguments, results) : results;
}
