/* Operators as objects: laze.add is one for "add.Tensor", "add.Scalar" and what else shares the name. They are made at
 * import from the library's schemas, so that a new operator needs no line here; as attributes of Tensor they are its
 * methods.
 */
#include "operator.h"

#include <stdlib.h>
#include <string.h>
#include <structmember.h>

static PyTypeObject *operator_type;
static PyObject *operators; /* by base name */
static PyObject *method_type;

static PyObject *operator_get(PyObject *self, PyObject *object, PyObject *type) {
  (void)type;
  if (!object || object == Py_None) return laze_python_share(self);
  return PyObject_CallFunctionObjArgs(method_type, self, object, NULL);
}

static PyObject *operator_repr(PyObject *self) {
  return PyUnicode_FromFormat("<operator laze.%s>", ((laze_python_operator *)self)->own_name);
}

static PyObject *get_name(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(((laze_python_operator *)self)->own_name);
}

static PyObject *get_document(PyObject *self, void *closure) {
  (void)closure;
  const laze_python_operator *op = (laze_python_operator *)self;
  return laze_python_document(op->own_name, op->overloads, op->overload_count, op->in_place);
}

static PyObject *get_signature(PyObject *self, void *closure) {
  (void)closure;
  const laze_python_operator *op = (laze_python_operator *)self;
  if (op->preset) return PyUnicode_FromString("(input)");
  return laze_python_signature(op->overloads, op->overload_count, op->in_place);
}

static PyObject *get_overloads(PyObject *object, void *closure) {
  (void)closure;
  laze_python_operator *self = (laze_python_operator *)object;
  PyObject *schemas = PyTuple_New(self->overload_count);
  for (int32_t i = 0; schemas && i < self->overload_count; i++) {
    const laze_operator *op = self->overloads[i];
    const char *text = laze_operator_schema(op);
    PyObject *schema = self->in_place ? PyUnicode_FromFormat("%s%s", laze_operator_in_place(op), strchr(text, '('))
                                      : PyUnicode_FromString(text);
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
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(laze_python_operator, call), READONLY, NULL},
    {0},
};
static PyType_Slot operator_slots[] = {
    {Py_tp_new, laze_python_refuse_new}, {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, operator_get},     {Py_tp_repr, operator_repr},
    {Py_tp_getset, operator_attributes}, {Py_tp_methods, operator_methods},
    {Py_tp_members, operator_members},   {0},
};
static PyType_Spec operator_spec = {"laze.Operator", sizeof(laze_python_operator), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                                    operator_slots};

/* An operator without overloads; it lives as long as the process. */
static laze_python_operator *make_operator(const char *name) {
  laze_python_operator *made = PyObject_New(laze_python_operator, operator_type);
  if (!made) return NULL;
  memset((char *)made + offsetof(laze_python_operator, call), 0, sizeof *made - offsetof(laze_python_operator, call));
  made->call = laze_python_operator_call;
  made->name = made->own_name = name;
  made->varargs = made->spread = -1;
  return made;
}

/* Notes what an overload takes by position. */
static void note_arguments(laze_python_operator *self, const laze_operator *op) {
  int32_t positional = 0;
  laze_python_takes nothing;
  for (int32_t k = 0; k < laze_operator_argument_count(op) && k < LAZE_PYTHON_MAX_ARGUMENTS; k++) {
    const laze_operator_argument *argument = laze_operator_argument_at(op, k);
    if (argument->keyword_only) continue;
    self->takes[k] |= laze_python_takes_of(argument);
    positional = k + 1;
  }
  if (positional > self->most) self->most = positional;
  /* As in PyTorch: where a list is the only thing that is passed by position, besides the tensor itself. */
  if (positional > 0 && laze_operator_argument_at(op, positional - 1)->takes == LAZE_TAKES_INTEGERS &&
      (positional == 1 || (positional == 2 && laze_operator_argument_at(op, 0)->takes == LAZE_TAKES_TENSOR)))
    self->varargs = positional - 1;
  if (positional > 0 && laze_operator_argument_at(op, positional - 1)->takes == LAZE_TAKES_TENSORS &&
      laze_python_front_spreads(self->name))
    self->spread = positional - 1;
  self->random =
      laze_python_operator_argument(self, "seed", &nothing) && laze_python_operator_argument(self, "offset", &nothing);
  self->has_elements = !self->random && strcmp(self->name, "arange") != 0;
}

/* The operator that is called `own_name`, made where there is none; borrowed. */
static laze_python_operator *named_operator(const char *own_name, const char *name) {
  laze_python_operator *self = (laze_python_operator *)PyDict_GetItemString(operators, own_name);
  if (self) return self;
  self = make_operator(name);
  if (!self || PyDict_SetItemString(operators, own_name, (PyObject *)self) < 0) return NULL;
  self->own_name = own_name;
  Py_DECREF(self);
  return self;
}

static int add_overload(laze_python_operator *self, const laze_operator *op) {
  if (!self) return -1;
  size_t size = (size_t)(self->overload_count + 1) * sizeof *self->overloads;
  const laze_operator **grown = realloc((void *)self->overloads, size);
  if (!grown) return PyErr_NoMemory(), -1;
  self->overloads = grown;
  grown[self->overload_count++] = op;
  note_arguments(self, op);
  return 0;
}

/* "add_" of "add_.Tensor", kept for good. */
static const char *base_name(const char *name) {
  const size_t length = strcspn(name, ".");
  char *base = malloc(length + 1);
  if (!base) return PyErr_NoMemory(), NULL;
  memcpy(base, name, length);
  base[length] = 0;
  return base;
}

/* The operators that share a base name with one, and those whose forms in place share one with its form. */
static int add_forms(const laze_operator *op) {
  const char *name = laze_operator_base_name(op), *form = laze_operator_in_place(op);
  if (add_overload(named_operator(name, name), op) < 0) return -1;
  if (!form) return 0;
  const char *own_name = base_name(form);
  laze_python_operator *self = own_name ? named_operator(own_name, name) : NULL;
  if (self && self->own_name != own_name) free((void *)(uintptr_t)own_name);
  if (add_overload(self, op) < 0) return -1;
  self->in_place = true;
  self->target = laze_operator_target(op);
  return 0;
}

/* Another object for an operator, for what differs as a method. */
static laze_python_operator *copy_operator(const laze_python_operator *source, const char *own_name) {
  laze_python_operator *copy = make_operator(source->name);
  if (!copy) return NULL;
  copy->own_name = own_name;
  copy->overloads = source->overloads;
  copy->overload_count = source->overload_count;
  copy->varargs = source->varargs;
  copy->spread = source->spread;
  copy->most = source->most;
  copy->has_elements = source->has_elements;
  copy->in_place = source->in_place;
  copy->target = source->target;
  copy->random = source->random;
  memcpy(copy->takes, source->takes, sizeof copy->takes);
  return copy;
}

/* Names that PyTorch has twice, and their forms in place. */
static int add_aliases(void) {
  static const char *const names[][2] = {
      {"absolute", "abs"},    {"arccos", "acos"},        {"arccosh", "acosh"},    {"arcsin", "asin"},
      {"arcsinh", "asinh"},   {"arctan", "atan"},        {"arctan2", "atan2"},    {"arctanh", "atanh"},
      {"clip", "clamp"},      {"concat", "cat"},         {"divide", "div"},       {"fix", "trunc"},
      {"concatenate", "cat"}, {"greater", "gt"},         {"greater_equal", "ge"}, {"less", "lt"},
      {"less_equal", "le"},   {"multiply", "mul"},       {"negative", "neg"},     {"not_equal", "ne"},
      {"subtract", "sub"},    {"absolute_", "abs_"},     {"arccos_", "acos_"},    {"arccosh_", "acosh_"},
      {"arcsin_", "asin_"},   {"arcsinh_", "asinh_"},    {"arctan_", "atan_"},    {"arctan2_", "atan2_"},
      {"arctanh_", "atanh_"}, {"clip_", "clamp_"},       {"divide_", "div_"},     {"fix_", "trunc_"},
      {"greater_", "gt_"},    {"greater_equal_", "ge_"}, {"less_", "lt_"},        {"less_equal_", "le_"},
      {"multiply_", "mul_"},  {"negative_", "neg_"},     {"not_equal_", "ne_"},   {"subtract_", "sub_"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    PyObject *op = PyDict_GetItemString(operators, names[i][1]);
    if (op && PyDict_SetItemString(operators, names[i][0], op) < 0) return -1;
  }
  return 0;
}

/* x.float() and others: x.to(laze.float32). */
static int add_casts(PyObject *tensor_type) {
  static const char *const casts[][2] = {{"half", "f16"}, {"float", "f32"}, {"double", "f64"}, {"bfloat16", "bf16"},
                                         {"char", "i8"},  {"short", "i16"}, {"int", "i32"},    {"long", "i64"},
                                         {"byte", "u8"},  {"bool", "bool"}, {"cfloat", "c64"}, {"cdouble", "c128"}};
  laze_python_operator *to = (laze_python_operator *)PyDict_GetItemString(operators, "to");
  for (size_t i = 0; to && i < sizeof casts / sizeof casts[0]; i++) {
    laze_dtype dtype = laze_dtype_find(casts[i][1]);
    if (dtype == LAZE_DTYPE_NONE) continue;
    laze_python_operator *cast = copy_operator(to, casts[i][0]);
    if (!cast) return -1;
    cast->preset = dtype;
    cast->most = 1;
    int status = PyObject_SetAttrString(tensor_type, cast->own_name, (PyObject *)cast);
    Py_DECREF(cast);
    if (status < 0) return -1;
  }
  return 0;
}

/* The argument that the tensor is of a method: the one that is called self. Forms in place that have one are methods.
 */
static int32_t find_receiver(const laze_python_operator *self) {
  for (int32_t i = 0; i < self->overload_count; i++)
    for (int32_t k = 0; k < laze_operator_argument_count(self->overloads[i]); k++)
      if ((self->in_place || laze_operator_is_method(self->overloads[i])) &&
          strcmp(laze_operator_argument_at(self->overloads[i], k)->name, "self") == 0)
        return k;
  return -1;
}

static int add_method(PyObject *tensor_type, PyObject *name, laze_python_operator *op) {
  int32_t receiver = find_receiver(op);
  if (receiver < 0 || PyObject_HasAttr(tensor_type, name)) return 0;
  if (receiver == 0) return PyObject_SetAttr(tensor_type, name, (PyObject *)op);
  laze_python_operator *method = copy_operator(op, op->own_name);
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
    if (add_forms(laze_operator_at(i)) < 0) return -1;
  if (add_aliases() < 0) return -1;
  PyObject *name, *op;
  Py_ssize_t position = 0;
  while (PyDict_Next(operators, &position, &name, &op))
    if (add_method(tensor_type, name, (laze_python_operator *)op) < 0) return -1;
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
