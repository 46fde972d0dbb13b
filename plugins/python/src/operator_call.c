/* A call of an operator: arguments by position and by name become laze_arguments, the library chooses the overload, and
 * several results become a named tuple.
 */
#include "operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that PyTorch takes as well, as NumPy has them. */
static const char *const aliases[][2] = {
    {"input", "self"}, {"a", "self"},   {"x", "self"},           {"x1", "self"},   {"x", "input"},
    {"x2", "other"},   {"axis", "dim"}, {"keepdims", "keepdim"}, {"axis", "dims"},
};

const char *laze_python_operator_argument(const laze_python_operator *self, const char *name,
                                          laze_python_takes *takes) {
  const char *found = NULL;
  *takes = 0;
  for (int32_t i = 0; i < self->overload_count; i++) {
    for (int32_t k = 0; k < laze_operator_argument_count(self->overloads[i]); k++) {
      const laze_operator_argument *argument = laze_operator_argument_at(self->overloads[i], k);
      if (strcmp(argument->name, name) != 0) continue;
      found = argument->name;
      *takes |= laze_python_takes_of(argument);
    }
  }
  return found;
}

static const char *find_alias(const laze_python_operator *self, const char *name, laze_python_takes *takes) {
  const char *found = laze_python_operator_argument(self, name, takes);
  for (size_t i = 0; !found && i < sizeof aliases / sizeof aliases[0]; i++)
    if (strcmp(aliases[i][0], name) == 0) found = laze_python_operator_argument(self, aliases[i][1], takes);
  return found;
}

/* Of a method whose tensor is not its first argument: the tensor goes to its place. */
static bool add_rotated(laze_python_operator *self, laze_python_arguments *arguments, PyObject *const *passed,
                        Py_ssize_t count) {
  int32_t before = count - 1 < self->receiver ? (int32_t)count - 1 : self->receiver;
  for (Py_ssize_t i = 1; i <= before; i++)
    if (!laze_python_argument_add(arguments, passed[i], self->takes[i - 1], self->own_name)) return false;
  if (!laze_python_argument_add(arguments, passed[0], 0, self->own_name)) return false;
  if (before < self->receiver) arguments->items[arguments->count - 1].name = "self";
  for (Py_ssize_t i = before + 1; i < count; i++)
    if (!laze_python_argument_add(arguments, passed[i], self->takes[i], self->own_name)) return false;
  return true;
}

/* What programs for PyTorch say of where a tensor lies and how, with the values that are so anyway: only those are
 * taken, and change nothing. */
static bool is_so_anyway(const char *name, PyObject *value) {
  static const char *const words[][4] = {
      {"device", "None", "cpu", "cpu:0"},
      {"layout", "None", "torch.strided"},
      {"pin_memory", "None", "False"},
      {"requires_grad", "False"},
      {"non_blocking", "False", "True"},
      {"copy", "False"},
      {"memory_format", "None", "torch.preserve_format", "torch.contiguous_format"},
  };
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(words[i][0], name) != 0) continue;
    PyObject *text = PyObject_Str(value);
    const char *said = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool found = false;
    for (size_t k = 1; said && k < 4 && words[i][k]; k++) found = found || strcmp(words[i][k], said) == 0;
    Py_XDECREF(text);
    return found;
  }
  return false;
}

/* What out= gives: tensors that get the results. */
static bool take_out(const laze_python_operator *self, laze_python_arguments *arguments, PyObject *value) {
  if (value == Py_None) return true;
  if (self->in_place)
    return laze_python_raise_type("%s() changes its tensor, and has no argument 'out'", self->own_name) != NULL;
  PyObject *out = PyList_Check(value) ? PySequence_Tuple(value) : laze_python_share(value);
  if (!laze_python_argument_hold(arguments, out)) return false;
  const bool several = PyTuple_Check(out);
  const Py_ssize_t count = several ? PyTuple_Size(out) : 1;
  bool tensors = count > 0 && count <= LAZE_PYTHON_MAX_OUT;
  for (Py_ssize_t i = 0; tensors && i < count; i++)
    tensors = laze_python_is_tensor(several ? PyTuple_GetItem(out, i) : out);
  arguments->form = LAZE_OUT;
  arguments->destinations = out;
  arguments->called = self->own_name;
  return tensors || laze_python_raise_type("%s(): argument 'out' is a tensor, or a tuple with one for each result, and "
                                           "not %R",
                                           self->own_name, (PyObject *)Py_TYPE(value)) != NULL;
}

/* The object that a form in place changes: that of the item which is its target. */
static bool find_target(const laze_python_operator *self, laze_python_arguments *arguments, PyObject *const *passed,
                        Py_ssize_t count) {
  const char *name = laze_operator_argument_at(self->overloads[0], self->target)->name;
  const laze_argument *target = NULL;
  for (int32_t i = 0; i < arguments->count; i++) {
    const laze_argument *item = &arguments->items[i];
    if (item->name ? strcmp(item->name, name) == 0 : i == self->target) target = item;
  }
  arguments->form = LAZE_IN_PLACE;
  arguments->called = self->own_name;
  arguments->destinations = NULL;
  for (Py_ssize_t i = 0; target && target->kind == LAZE_PASS_TENSOR && i < count; i++)
    if (laze_python_is_tensor(passed[i]) && laze_python_handle(passed[i]) == target->value.tensor)
      arguments->destinations = passed[i];
  return arguments->destinations ||
         laze_python_raise_type("%s(): the argument that it changes, '%s', is no tensor", self->own_name, name) != NULL;
}

/* Whether tensors of a list stand one by one: several, or one where an overload does not take that as it is. */
static bool is_spread(const laze_python_operator *self, PyObject *const *passed, Py_ssize_t count) {
  const bool takes_one = self->spread >= 0 && self->takes[self->spread] & LAZE_PYTHON_TAKES(LAZE_TAKES_TENSOR);
  bool tensors = self->spread >= 0 && count > self->spread + (takes_one ? 1 : 0);
  for (Py_ssize_t i = self->spread; tensors && i < count; i++) tensors = laze_python_is_tensor(passed[i]);
  return tensors;
}

/* The arguments before the list, and the tensors that it consists of. */
static bool add_spread(laze_python_operator *self, laze_python_arguments *arguments, PyObject *const *passed,
                       Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < self->spread; i++)
    if (!laze_python_argument_add(arguments, passed[i], self->takes[i], self->own_name)) return false;
  PyObject *list = PyTuple_New(count - self->spread);
  for (Py_ssize_t i = self->spread; list && i < count; i++)
    PyTuple_SetItem(list, i - self->spread, laze_python_share(passed[i]));
  return laze_python_argument_hold(arguments, list) &&
         laze_python_argument_add(arguments, list, LAZE_PYTHON_TAKES(LAZE_TAKES_TENSORS), self->own_name);
}

static bool add_positional(laze_python_operator *self, laze_python_arguments *arguments, PyObject *const *passed,
                           Py_ssize_t count) {
  Py_ssize_t single = count;
  if (is_spread(self, passed, count)) return add_spread(self, arguments, passed, count);
  if (self->varargs >= 0 && count > self->varargs) {
    bool integers = count > self->varargs + 1;
    for (Py_ssize_t i = self->varargs; integers && i < count; i++) integers = laze_python_is_integer(passed[i]);
    if (integers) single = self->varargs;
  }
  if (single == count && count > self->most)
    return laze_python_raise_type("%s takes at most %d positional arguments, and was given %zd", self->own_name,
                                  (int)self->most, count) != NULL;
  if (self->receiver > 0 && count > 0) return add_rotated(self, arguments, passed, count);
  for (Py_ssize_t i = 0; i < single; i++)
    if (!laze_python_argument_add(arguments, passed[i], self->takes[i], self->own_name)) return false;
  return single == count ||
         laze_python_argument_add_integers(arguments, passed + single, count - single,
                                           (self->takes[self->varargs] & LAZE_PYTHON_TAKES_SIZE) != 0, self->own_name);
}

/* What functions of PyTorch's front end take besides the arguments of an operator. */
typedef struct {
  bool as_tuple;      /* nonzero(x, as_tuple=True) */
  bool requires_grad; /* ones(2, requires_grad=True) */
  bool copy;          /* x.to(dtype, copy=True) */
} extras;

static bool take_extra(const laze_python_operator *self, const char *name, PyObject *value, extras *out) {
  if (laze_python_front_takes(self, name, value, &out->as_tuple) || is_so_anyway(name, value)) return true;
  if (strcmp(name, "copy") == 0 && strcmp(self->name, "to") == 0 && value == Py_True) return out->copy = true;
  out->requires_grad = strcmp(name, "requires_grad") == 0 && value == Py_True && laze_python_front_makes(self);
  return out->requires_grad;
}

static bool add_named(laze_python_operator *self, laze_python_arguments *arguments, PyObject *const *values,
                      PyObject *names, extras *found) {
  Py_ssize_t count = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    const char *text = laze_python_text(PyTuple_GetItem(names, i), self->own_name);
    if (!text) return false;
    laze_python_takes takes;
    if (strcmp(text, "out") == 0) {
      if (!take_out(self, arguments, values[i])) return false;
      continue;
    }
    const char *name = find_alias(self, text, &takes);
    if (!name && take_extra(self, text, values[i], found)) continue;
    if (!name) {
      if (!PyErr_Occurred())
        laze_python_raise_type("%s() has no argument '%s'; help(laze.%s) lists those it has", self->own_name, text,
                               self->own_name);
      return false;
    }
    if (!laze_python_argument_add(arguments, values[i], takes, self->own_name)) return false;
    arguments->items[arguments->count - 1].name = name;
  }
  return true;
}

static bool add_number(laze_python_arguments *arguments, const char *name, int64_t value) {
  if (arguments->count == LAZE_PYTHON_MAX_ARGUMENTS) return false;
  arguments->items[arguments->count++] =
      (laze_argument){.name = name, .kind = LAZE_PASS_SCALAR, .value.scalar = laze_scalar_integer(value)};
  return true;
}

static bool is_named(const laze_python_arguments *arguments, const char *wanted) {
  for (int32_t i = 0; i < arguments->count; i++) {
    const char *name = arguments->items[i].name;
    if (name && strcmp(name, wanted) == 0) return true;
  }
  return false;
}

/* Seed and offset of the generator where the call names neither; a seed alone has numbers from the first on. True: the
 * generator was asked. */
static bool add_generator(laze_python_operator *self, laze_python_arguments *arguments) {
  int64_t seed, offset;
  if (!self->random || is_named(arguments, "offset")) return false;
  if (is_named(arguments, "seed")) {
    add_number(arguments, "offset", 0);
    return false;
  }
  laze_python_generator_next(&seed, &offset);
  return add_number(arguments, "seed", seed) && add_number(arguments, "offset", offset);
}

/* Numbers are drawn for each element of the result, or of a tensor that was passed: places by weight need one each. */
static bool advance_generator(const laze_python_arguments *arguments, PyObject *result) {
  int64_t most, elements;
  if (!laze_python_elements(laze_python_handle(result), &most)) return false;
  for (int32_t i = 0; i < arguments->count; i++) {
    const laze_argument *argument = &arguments->items[i];
    if (argument->kind != LAZE_PASS_TENSOR) continue;
    if (!laze_python_elements(argument->value.tensor, &elements)) return false;
    if (elements > most) most = elements;
  }
  laze_python_generator_advance(most);
  return true;
}

/* The named tuple of the overloads with so many results; NULL without an exception: a plain tuple is right, as where
 * results have no names. */
static PyObject *result_type(laze_python_operator *self, int32_t count) {
  PyStructSequence_Field fields[LAZE_PYTHON_MAX_RESULTS + 1] = {{0}};
  const laze_operator *op = NULL;
  for (int32_t i = 0; !op && i < self->overload_count; i++)
    if (laze_operator_result_count(self->overloads[i]) == count) op = self->overloads[i];
  if (!op) return NULL;
  for (int32_t i = 0; i < count; i++) {
    const char *name = laze_operator_result_name(op, i);
    if (!name || !*name) return NULL;
    fields[i].name = (char *)(uintptr_t)name; /* CPython does not write to it */
  }
  size_t size = strlen(self->name) + sizeof "laze.return_types.";
  char *name = malloc(size); /* the type keeps it */
  if (!name) return PyErr_NoMemory();
  snprintf(name, size, "laze.return_types.%s", self->name);
  PyStructSequence_Desc description = {name, "The results of an operator.", fields, count};
  return (PyObject *)PyStructSequence_NewType(&description);
}

/* A tuple as the operator's named tuple. Takes the reference. */
static PyObject *name_results(laze_python_operator *self, PyObject *results, int32_t count) {
  if (count > LAZE_PYTHON_MAX_RESULTS) return results;
  PyObject **type = &self->result_types[count];
  if (!*type) *type = result_type(self, count);
  if (!*type) return PyErr_Occurred() ? (Py_DECREF(results), NULL) : results;
  PyObject *named = PyStructSequence_New((PyTypeObject *)*type);
  for (int32_t i = 0; named && i < count; i++)
    PyStructSequence_SetItem(named, i, laze_python_share(PyTuple_GetItem(results, i)));
  Py_DECREF(results);
  return named;
}

/* Whether the results are a list, which is a tuple however many there are: as an overload says, and where others give a
 * tensor (`atleast_1d`), that which takes a list. */
static bool lists_results(const laze_python_operator *self, const laze_python_arguments *arguments) {
  bool lists = false, gives_one = false;
  for (int32_t i = 0; i < self->overload_count; i++) {
    const int32_t count = laze_operator_result_count(self->overloads[i]);
    lists = lists || count < 0;
    gives_one = gives_one || count == 1;
  }
  return lists && (!gives_one || (arguments->count > 0 && arguments->items[0].kind == LAZE_PASS_TENSORS));
}

static PyObject *call_prepared(laze_python_operator *self, laze_python_arguments *arguments) {
  int32_t count = 1;
  bool drawn = add_generator(self, arguments);
  if (!self->has_elements) arguments->numbers = 0;
  PyObject *result = laze_python_call(self->name, arguments, &count);
  if (!result && laze_python_error_is_invalid() &&
      laze_call_match(self->name, arguments->items, arguments->count, 1, NULL) != LAZE_OK)
    laze_python_raise_as_type();
  if (!result) return NULL;
  if (drawn && !advance_generator(arguments, count == 1 ? result : PyTuple_GetItem(result, 0))) {
    Py_DECREF(result);
    return NULL;
  }
  if (count == 1 && lists_results(self, arguments)) return Py_BuildValue("(N)", result);
  return count > 1 ? name_results(self, result, count) : result;
}

/* A tensor that was made, as a leaf. Takes the reference, which may be NULL. */
static PyObject *begin_leaf(PyObject *made) {
  if (made && laze_python_set_requires_grad(made, Py_True, NULL) < 0) Py_CLEAR(made);
  return made;
}

/* Whether a call of one tensor gives it as it is. */
static bool gives_itself(const char *name, laze_tensor *tensor) {
  static const char *const always[] = {"to", "positive", "resolve_conj", "resolve_neg"};
  for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
    if (strcmp(name, always[i]) == 0) return true;
  if (strcmp(name, "contiguous") == 0) return laze_tensor_is_contiguous(tensor);
  if (strcmp(name, "flatten") == 0) return laze_tensor_rank(tensor) == 1;
  const bool is_complex = laze_python_dtype_kind(laze_tensor_dtype(tensor)) == 'c';
  return !is_complex && (strcmp(name, "real") == 0 || strcmp(name, "conj") == 0 || strcmp(name, "conj_physical") == 0);
}

/* The tensor that a call changes nothing of, which PyTorch gives itself then: a leaf stays the leaf. NULL: it has to be
 * made. */
static PyObject *find_unchanged(const laze_python_operator *self, const laze_python_arguments *arguments,
                                PyObject *const *passed, Py_ssize_t count) {
  const laze_argument *first = &arguments->items[0], *second = &arguments->items[1];
  if (arguments->form || count < 1 || !laze_python_is_tensor(passed[0]) || first->kind != LAZE_PASS_TENSOR ||
      first->value.tensor != laze_python_handle(passed[0]))
    return NULL;
  bool same = arguments->count == 1 && gives_itself(self->name, first->value.tensor);
  if (arguments->count == 2 && strcmp(self->name, "to") == 0) {
    const laze_dtype dtype = laze_tensor_dtype(first->value.tensor);
    same = (second->kind == LAZE_PASS_DTYPE && (laze_dtype)second->value.integer == dtype) ||
           (second->kind == LAZE_PASS_TENSOR && laze_tensor_dtype(second->value.tensor) == dtype);
  }
  return same && laze_tensor_status(first->value.tensor) == LAZE_OK ? passed[0] : NULL;
}

static PyObject *call_with(laze_python_operator *self, laze_python_arguments *arguments, PyObject *const *passed,
                           Py_ssize_t count, PyObject *const *values, PyObject *names) {
  extras found = {false, false, false};
  bool added = add_positional(self, arguments, passed, count);
  if (added && self->preset != LAZE_DTYPE_NONE)
    added = laze_python_argument_add(arguments, laze_python_dtype(self->preset), LAZE_PYTHON_TAKES(LAZE_TAKES_DTYPE),
                                     self->own_name);
  if (added) added = add_named(self, arguments, values, names, &found);
  if (added && self->in_place) added = find_target(self, arguments, passed, count + (names ? PyTuple_Size(names) : 0));
  PyObject *const *first = count > 0 ? passed : values; /* real(input=x) */
  const Py_ssize_t all = count + (names ? PyTuple_Size(names) : 0);
  PyObject *unchanged = added ? find_unchanged(self, arguments, first, all) : NULL;
  if (unchanged && found.copy) return laze_python_call_objects("clone", &unchanged, 1);
  if (unchanged) return laze_python_share(unchanged);
  PyObject *result = added ? call_prepared(self, arguments) : NULL;
  result = laze_python_front_arrange(self, arguments, found.as_tuple, result);
  return found.requires_grad ? begin_leaf(result) : result;
}

PyObject *laze_python_operator_call(PyObject *callable, PyObject *const *passed, size_t flagged, PyObject *names) {
  laze_python_operator *self = (laze_python_operator *)callable;
  Py_ssize_t count = (Py_ssize_t)(flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET);
  PyObject *const *values = passed + count;
  PyObject *kept[LAZE_PYTHON_MAX_ARGUMENTS];
  laze_python_arguments arguments; /* large, and not cleared as a whole */
  arguments.count = 0;
  arguments.numbers = 0;
  arguments.held = NULL;
  arguments.form = 0;
  if (strcmp(self->own_name, "to") == 0 && count > 1 && count <= LAZE_PYTHON_MAX_ARGUMENTS) {
    count = laze_python_front_without_places(passed, count, kept);
    passed = kept;
  }
  PyObject *result = call_with(self, &arguments, passed, count, values, names);
  laze_python_arguments_clear(&arguments);
  return result;
}
