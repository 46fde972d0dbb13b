/* Operators as objects: laze.add is one for "add.Tensor", "add.Scalar" and what else shares the name. They are made at
 * import from the library's schemas, so that a new operator needs no line here; as attributes of Tensor they are its
 * methods.
 *
 * A call converts its arguments and leaves to the library which of the overloads is meant.
 */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

typedef struct {
  PyObject_HEAD vectorcallfunc call;
  const char *name; /* static */
  const laze_operator **overloads;
  int32_t overload_count;
  int32_t varargs;      /* the argument for which integers may stand one by one: x.reshape(2, 3); -1: none */
  int32_t most;         /* arguments that any overload takes by position */
  bool random;          /* seed and offset come from the generator where they are left out */
  int32_t receiver;     /* of a method: the argument that the tensor is, x.where(condition, y) */
  laze_dtype preset;    /* of x.float(): the dtype that is passed behind the arguments */
  const char *own_name; /* "float" */
  laze_python_takes takes[LAZE_PYTHON_MAX_ARGUMENTS]; /* by position */
  PyObject *result_type;                              /* made when it is needed */
} operator_object;

static PyTypeObject *operator_type;
static PyObject *operators; /* by base name */
static PyObject *method_type;

/* Names that PyTorch takes as well, as NumPy has them. */
static const char *const aliases[][2] = {
    {"input", "self"}, {"a", "self"},   {"x", "self"},           {"x1", "self"},   {"x", "input"},
    {"x2", "other"},   {"axis", "dim"}, {"keepdims", "keepdim"}, {"axis", "dims"},
};

/* The schema's own string for an argument of that name, and what is taken there; NULL: no overload has it. */
static const char *find_argument(const operator_object *self, const char *name, laze_python_takes *takes) {
  const char *found = NULL;
  *takes = 0;
  for (int32_t i = 0; i < self->overload_count; i++) {
    for (int32_t k = 0; k < laze_operator_argument_count(self->overloads[i]); k++) {
      const laze_operator_argument *argument = laze_operator_argument_at(self->overloads[i], k);
      if (strcmp(argument->name, name) != 0) continue;
      found = argument->name;
      *takes |= LAZE_PYTHON_TAKES(argument->takes);
    }
  }
  return found;
}

static const char *find_alias(const operator_object *self, const char *name, laze_python_takes *takes) {
  const char *found = find_argument(self, name, takes);
  for (size_t i = 0; !found && i < sizeof aliases / sizeof aliases[0]; i++)
    if (strcmp(aliases[i][0], name) == 0) found = find_argument(self, aliases[i][1], takes);
  return found;
}

/* Of a method whose tensor is not its first argument: the tensor goes to its place. */
static bool add_rotated(operator_object *self, laze_python_arguments *arguments, PyObject *const *passed,
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
      {"device", "None", "cpu"},
      {"layout", "None", "torch.strided"},
      {"pin_memory", "None", "False"},
      {"requires_grad", "False"},
      {"non_blocking", "False"},
      {"copy", "False"},
      {"out", "None"},
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

static bool add_positional(operator_object *self, laze_python_arguments *arguments, PyObject *const *passed,
                           Py_ssize_t count) {
  Py_ssize_t single = count;
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
         laze_python_argument_add_integers(arguments, passed + single, count - single, self->own_name);
}

static bool add_named(operator_object *self, laze_python_arguments *arguments, PyObject *const *values,
                      PyObject *names) {
  Py_ssize_t count = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    const char *text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
    if (!text) return false;
    laze_python_takes takes;
    const char *name = find_alias(self, text, &takes);
    if (!name && is_so_anyway(text, values[i])) continue;
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

/* Seed and offset of the generator where the call names neither. True: it was asked. */
static bool add_generator(operator_object *self, laze_python_arguments *arguments) {
  int64_t seed, offset;
  if (!self->random) return false;
  for (int32_t i = 0; i < arguments->count; i++) {
    const char *name = arguments->items[i].name;
    if (name && (strcmp(name, "seed") == 0 || strcmp(name, "offset") == 0)) return false;
  }
  laze_python_generator_next(&seed, &offset);
  return add_number(arguments, "seed", seed) && add_number(arguments, "offset", offset);
}

/* The named tuple of an operator with several results. */
static PyObject *result_type(operator_object *self, int32_t count) {
  static const char *const unnamed[] = {"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"};
  enum { MOST = sizeof unnamed / sizeof unnamed[0] };
  PyStructSequence_Field fields[MOST + 1] = {{0}};
  const laze_operator *op = NULL;
  for (int32_t i = 0; !op && i < self->overload_count; i++)
    if (laze_operator_result_count(self->overloads[i]) == count) op = self->overloads[i];
  if (!op || count > MOST) return NULL;
  for (int32_t i = 0; i < count; i++) {
    const char *name = laze_operator_result_name(op, i);
    fields[i].name = (char *)(uintptr_t)(name && *name ? name : unnamed[i]); /* CPython does not write to it */
  }
  size_t size = strlen(self->name) + sizeof "laze.return_types.";
  char *name = malloc(size); /* the type keeps it */
  if (!name) return PyErr_NoMemory();
  snprintf(name, size, "laze.return_types.%s", self->name);
  PyStructSequence_Desc description = {name, "The results of an operator.", fields, count};
  return (PyObject *)PyStructSequence_NewType(&description);
}

/* A tuple as the operator's named tuple. Takes the reference. */
static PyObject *name_results(operator_object *self, PyObject *results, int32_t count) {
  if (!self->result_type) self->result_type = result_type(self, count);
  if (!self->result_type) return PyErr_Occurred() ? (Py_DECREF(results), NULL) : results;
  PyObject *named = PyStructSequence_New((PyTypeObject *)self->result_type);
  for (int32_t i = 0; named && i < count; i++)
    PyStructSequence_SetItem(named, i, laze_python_share(PyTuple_GetItem(results, i)));
  Py_DECREF(results);
  return named;
}

static PyObject *call_prepared(operator_object *self, laze_python_arguments *arguments) {
  int32_t count = 1;
  bool drawn = add_generator(self, arguments);
  PyObject *result = laze_python_call(self->name, arguments, &count);
  if (!result && laze_python_error_is_invalid() &&
      laze_python_fits_none(self->overloads, self->overload_count, arguments))
    laze_python_raise_as_type();
  if (!result) return NULL;
  if (drawn && count == 1) laze_python_generator_advance(laze_tensor_elements(laze_python_handle(result)));
  return count > 1 ? name_results(self, result, count) : result;
}

static PyObject *operator_call(PyObject *callable, PyObject *const *passed, size_t flagged, PyObject *names) {
  operator_object *self = (operator_object *)callable;
  Py_ssize_t count = (Py_ssize_t)(flagged & ~PY_VECTORCALL_ARGUMENTS_OFFSET);
  laze_python_arguments arguments; /* large, and not cleared as a whole */
  arguments.count = 0;
  arguments.held = NULL;
  bool added = add_positional(self, &arguments, passed, count);
  if (added && self->preset != LAZE_DTYPE_NONE)
    added = laze_python_argument_add(&arguments, laze_python_dtype(self->preset), LAZE_PYTHON_TAKES(LAZE_TAKES_DTYPE),
                                     self->own_name);
  if (added) added = add_named(self, &arguments, passed + count, names);
  PyObject *result = added ? call_prepared(self, &arguments) : NULL;
  laze_python_arguments_clear(&arguments);
  return result;
}

static PyObject *operator_get(PyObject *self, PyObject *object, PyObject *type) {
  (void)type;
  if (!object || object == Py_None) return laze_python_share(self);
  return PyObject_CallFunctionObjArgs(method_type, self, object, NULL);
}

static PyObject *operator_repr(PyObject *self) {
  return PyUnicode_FromFormat("<operator laze.%s>", ((operator_object *)self)->own_name);
}

static PyObject *get_name(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(((operator_object *)self)->own_name);
}

static PyObject *get_document(PyObject *self, void *closure) {
  (void)closure;
  return laze_python_document(((operator_object *)self)->overloads, ((operator_object *)self)->overload_count);
}

static PyObject *get_signature(PyObject *self, void *closure) {
  (void)closure;
  if (((operator_object *)self)->preset) return PyUnicode_FromString("(input)");
  return laze_python_signature(((operator_object *)self)->overloads, ((operator_object *)self)->overload_count);
}

static PyObject *get_overloads(PyObject *object, void *closure) {
  (void)closure;
  operator_object *self = (operator_object *)object;
  PyObject *schemas = PyTuple_New(self->overload_count);
  for (int32_t i = 0; schemas && i < self->overload_count; i++) {
    PyObject *schema = PyUnicode_FromString(laze_operator_schema(self->overloads[i]));
    if (!schema)
      Py_CLEAR(schemas);
    else
      PyTuple_SetItem(schemas, i, schema);
  }
  return schemas;
}

/* pickle and copy find it by its name in the module. */
static PyObject *operator_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  return get_name(self, NULL);
}

static PyGetSetDef operator_attributes[] = {
    {"__name__", get_name, NULL, NULL, NULL},
    {"__qualname__", get_name, NULL, NULL, NULL},
    {"__doc__", get_document, NULL, NULL, NULL},
    {"__text_signature__", get_signature, NULL, NULL, NULL},
    {"schemas", get_overloads, NULL, "The schemas that share this name.", NULL},
    {0},
};
static PyMethodDef operator_methods[] = {{"__reduce__", operator_reduce, METH_NOARGS, NULL}, {0}};
static PyMemberDef operator_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(operator_object, call), READONLY, NULL},
    {0},
};
static PyType_Slot operator_slots[] = {
    {Py_tp_new, laze_python_refuse_new}, {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, operator_get},     {Py_tp_repr, operator_repr},
    {Py_tp_getset, operator_attributes}, {Py_tp_methods, operator_methods},
    {Py_tp_members, operator_members},   {0},
};
static PyType_Spec operator_spec = {"laze.Operator", sizeof(operator_object), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                                    operator_slots};

/* An operator without overloads; it lives as long as the process. */
static operator_object *make_operator(const char *name) {
  operator_object *made = PyObject_New(operator_object, operator_type);
  if (!made) return NULL;
  memset((char *)made + offsetof(operator_object, call), 0, sizeof *made - offsetof(operator_object, call));
  made->call = operator_call;
  made->name = made->own_name = name;
  made->varargs = -1;
  return made;
}

/* Notes what an overload takes by position. */
static void note_arguments(operator_object *self, const laze_operator *op) {
  int32_t positional = 0;
  laze_python_takes nothing;
  for (int32_t k = 0; k < laze_operator_argument_count(op) && k < LAZE_PYTHON_MAX_ARGUMENTS; k++) {
    const laze_operator_argument *argument = laze_operator_argument_at(op, k);
    if (argument->keyword_only) continue;
    self->takes[k] |= LAZE_PYTHON_TAKES(argument->takes);
    positional = k + 1;
  }
  if (positional > self->most) self->most = positional;
  /* As in PyTorch: where a list is the only thing that is passed by position, besides the tensor itself. */
  if (positional > 0 && laze_operator_argument_at(op, positional - 1)->takes == LAZE_TAKES_INTEGERS &&
      (positional == 1 || (positional == 2 && laze_operator_argument_at(op, 0)->takes == LAZE_TAKES_TENSOR)))
    self->varargs = positional - 1;
  self->random = find_argument(self, "seed", &nothing) && find_argument(self, "offset", &nothing);
}

static int add_overload(const laze_operator *op) {
  const char *name = laze_operator_base_name(op);
  operator_object *self = (operator_object *)PyDict_GetItemString(operators, name);
  if (!self) {
    self = make_operator(name);
    if (!self || PyDict_SetItemString(operators, name, (PyObject *)self) < 0) return -1;
    Py_DECREF(self);
  }
  size_t size = (size_t)(self->overload_count + 1) * sizeof *self->overloads;
  const laze_operator **grown = realloc((void *)self->overloads, size);
  if (!grown) return PyErr_NoMemory(), -1;
  self->overloads = grown;
  grown[self->overload_count++] = op;
  note_arguments(self, op);
  return 0;
}

/* Another object for an operator, for what differs as a method. */
static operator_object *copy_operator(const operator_object *source, const char *own_name) {
  operator_object *copy = make_operator(source->name);
  if (!copy) return NULL;
  copy->own_name = own_name;
  copy->overloads = source->overloads;
  copy->overload_count = source->overload_count;
  copy->varargs = source->varargs;
  copy->most = source->most;
  memcpy(copy->takes, source->takes, sizeof copy->takes);
  return copy;
}

/* x.float() and others: x.to(laze.float32). */
static int add_casts(PyObject *tensor_type) {
  static const char *const casts[][2] = {{"half", "f16"}, {"float", "f32"}, {"double", "f64"}, {"bfloat16", "bf16"},
                                         {"char", "i8"},  {"short", "i16"}, {"int", "i32"},    {"long", "i64"},
                                         {"byte", "u8"},  {"bool", "bool"}};
  operator_object *to = (operator_object *)PyDict_GetItemString(operators, "to");
  for (size_t i = 0; to && i < sizeof casts / sizeof casts[0]; i++) {
    laze_dtype dtype = laze_dtype_find(casts[i][1]);
    if (dtype == LAZE_DTYPE_NONE) continue;
    operator_object *cast = copy_operator(to, casts[i][0]);
    if (!cast) return -1;
    cast->preset = dtype;
    cast->most = 1;
    int status = PyObject_SetAttrString(tensor_type, cast->own_name, (PyObject *)cast);
    Py_DECREF(cast);
    if (status < 0) return -1;
  }
  return 0;
}

/* The argument that the tensor is of a method: the one that is called self. */
static int32_t find_receiver(const operator_object *self) {
  for (int32_t i = 0; i < self->overload_count; i++)
    for (int32_t k = 0; k < laze_operator_argument_count(self->overloads[i]); k++)
      if (laze_operator_is_method(self->overloads[i]) &&
          strcmp(laze_operator_argument_at(self->overloads[i], k)->name, "self") == 0)
        return k;
  return -1;
}

static int add_method(PyObject *tensor_type, PyObject *name, operator_object *op) {
  int32_t receiver = find_receiver(op);
  if (receiver < 0 || PyObject_HasAttr(tensor_type, name)) return 0;
  if (receiver == 0) return PyObject_SetAttr(tensor_type, name, (PyObject *)op);
  operator_object *method = copy_operator(op, op->name);
  if (!method) return -1;
  method->receiver = receiver;
  int status = PyObject_SetAttr(tensor_type, name, (PyObject *)method);
  Py_DECREF(method);
  return status;
}

static int make_operators(PyObject *tensor_type) {
  if (operators) return 0;
  PyObject *types = PyImport_ImportModule("types");
  method_type = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
  Py_XDECREF(types);
  operator_type = (PyTypeObject *)PyType_FromSpec(&operator_spec);
  operators = PyDict_New();
  if (!method_type || !operator_type || !operators) return -1;
  for (int32_t i = 0; i < laze_operator_count(); i++)
    if (add_overload(laze_operator_at(i)) < 0) return -1;
  PyObject *name, *op;
  Py_ssize_t position = 0;
  while (PyDict_Next(operators, &position, &name, &op))
    if (add_method(tensor_type, name, (operator_object *)op) < 0) return -1;
  return add_casts(tensor_type);
}

int laze_python_add_operators(PyObject *module) {
  PyObject *tensor_type = PyObject_GetAttrString(module, "Tensor"), *name, *op;
  int status = tensor_type ? make_operators(tensor_type) : -1;
  Py_ssize_t position = 0;
  while (status == 0 && PyDict_Next(operators, &position, &name, &op)) status = PyObject_SetAttr(module, name, op);
  Py_XDECREF(tensor_type);
  return status < 0 ? -1 : PyObject_SetAttrString(module, "Operator", (PyObject *)operator_type);
}
