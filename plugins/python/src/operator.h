/* An operator's object, for the files about it: operator.c makes them, operator_call.c calls them,
 * front.c arranges results. */
#ifndef LAZE_PYTHON_OPERATOR_H
#define LAZE_PYTHON_OPERATOR_H

#include "binding.h"

/* An operator has no more results. */
#define LAZE_PYTHON_MAX_RESULTS 8

typedef struct laze_python_operator {
  PyObject ob_base; /* what PyObject_HEAD is */
  vectorcallfunc call;
  const char *name; /* static */
  const laze_operator **overloads;
  int32_t overload_count;
  int32_t varargs;      /* the argument for which integers may stand one by one: x.reshape(2, 3); -1: none */
  int32_t spread;       /* the list whose tensors may stand one by one: broadcast_tensors(x, y); -1: none */
  int32_t most;         /* arguments that any overload takes by position */
  bool random;          /* seed and offset come from the generator where they are left out */
  bool has_elements;    /* its numbers become elements, or limits of them: no seeds, nor the end of an arange */
  int32_t receiver;     /* of a method: the argument that the tensor is, x.where(condition, y) */
  int32_t target;       /* of a form in place: the argument that changes */
  laze_dtype preset;    /* of x.float(): the dtype that is passed behind the arguments */
  const char *own_name; /* "float", "add_" */
  bool in_place;        /* of add_: its target gets the result */
  laze_python_takes takes[LAZE_PYTHON_MAX_ARGUMENTS];  /* by position */
  PyObject *result_types[LAZE_PYTHON_MAX_RESULTS + 1]; /* by the number of results; made when one is needed */
} laze_python_operator;

/* The schema's own string for an argument of that name, and what is taken there; NULL: no overload has it. */
const char *laze_python_operator_argument(const laze_python_operator *self, const char *name, laze_python_takes *takes);
/* Whether PyTorch's Python function of that name takes an argument which the operator has not (front.c). */
bool laze_python_front_takes(const laze_python_operator *self, const char *name, PyObject *value, bool *as_tuple);
/* Whether that function takes the tensors of its list one by one. */
bool laze_python_front_spreads(const char *name);
/* Whether it makes a tensor that may be said to require a gradient. */
bool laze_python_front_makes(const laze_python_operator *self);
/* Of x.to(...): copies the arguments without those that say where the tensor lies already; returns how many are left.
 */
Py_ssize_t laze_python_front_without_places(PyObject *const *passed, Py_ssize_t count, PyObject **kept);
/* The results as that function gives them; takes the reference, which may be NULL. */
PyObject *laze_python_front_arrange(const laze_python_operator *self, const laze_python_arguments *arguments,
                                    bool as_tuple, PyObject *results);
/* What the object's `call` is. */
PyObject *laze_python_operator_call(PyObject *callable, PyObject *const *passed, size_t flagged, PyObject *names);

#endif
