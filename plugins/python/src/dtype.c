/* Element types as objects: laze.float32 and so on, one for each dtype that the library has, so that a dtype which it
 * gets needs no line here.
 *
 * A dtype's name says what it is: "f32" is kind "f" of 32 bits. From that follow PyTorch's name, float32, and the
 * format of the buffer protocol, "f". There is one object for each, which is compared by identity.
 */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

enum { DTYPE_END = 64 }; /* no dtype has a number as large */

typedef struct {
  PyObject ob_base; /* what PyObject_HEAD is */
  laze_dtype dtype;
  char name[16];
} dtype_object;

static PyObject *dtypes[DTYPE_END];
static PyTypeObject *dtype_type;

/* Kinds: the first letters of laze's name, PyTorch's word, and the formats by size in bytes. */
static const struct {
  const char *prefix, *word;
  char kind;
  const char *formats[17];
} kinds[] = {
    {"bool", "bool", 'b', {[1] = "?"}},
    {"bf", "bfloat", 'f', {0}},
    {"f", "float", 'f', {[2] = "e", [4] = "f", [8] = "d"}},
    {"i", "int", 'i', {[1] = "b", [2] = "h", [4] = "i", [8] = "q"}},
    {"u", "uint", 'u', {[1] = "B", [2] = "H", [4] = "I", [8] = "Q"}},
    {"c", "complex", 'c', {[8] = "Zf", [16] = "Zd"}},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static int kind_of(laze_dtype dtype) {
  const char *name = laze_dtype_name(dtype);
  for (int i = 0; i < KIND_COUNT; i++)
    if (strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)) == 0) return i;
  return 0;
}

char laze_python_dtype_kind(laze_dtype dtype) {
  return kinds[kind_of(dtype)].kind;
}

const char *laze_python_dtype_format(laze_dtype dtype) {
  int64_t size = laze_dtype_size(dtype);
  return size > 0 && size <= 16 ? kinds[kind_of(dtype)].formats[size] : NULL;
}

/* The kind of a format's letter, or 0. Letters of C's types differ in size between machines; the item's size decides.
 */
static char kind_of_format(const char *format) {
  if (strchr("@=<", *format) && *format) format++; /* this machine is little-endian, or laze is not here */
  if (*format == 'Z' && (strcmp(format, "Zf") == 0 || strcmp(format, "Zd") == 0)) return 'c';
  if (!*format || format[1]) return 0;
  if (*format == '?') return 'b';
  return strchr("bhilqn", *format) ? 'i' : strchr("BHILQN", *format) ? 'u' : strchr("efd", *format) ? 'f' : 0;
}

laze_dtype laze_python_dtype_of_format(const char *format, Py_ssize_t size) {
  char kind = kind_of_format(format ? format : "B");
  for (laze_dtype dtype = 1; kind && dtype < DTYPE_END; dtype++)
    if (dtypes[dtype] && laze_dtype_size(dtype) == size && laze_python_dtype_kind(dtype) == kind &&
        laze_python_dtype_format(dtype))
      return dtype;
  return LAZE_DTYPE_NONE;
}

PyObject *laze_python_dtype(laze_dtype dtype) {
  return dtype > 0 && dtype < DTYPE_END ? dtypes[dtype] : NULL;
}

const char *laze_python_dtype_name(laze_dtype dtype) {
  PyObject *object = laze_python_dtype(dtype);
  return object ? ((dtype_object *)object)->name : "none";
}

bool laze_python_is_dtype(PyObject *object) {
  return Py_TYPE(object) == dtype_type;
}

static laze_dtype find_by_name(const char *name) {
  const char *point = strrchr(name, '.'); /* "torch.float32" */
  if (point) name = point + 1;
  if (strcmp(name, "float") == 0) return LAZE_F64; /* Python's types, as PyTorch and NumPy take them */
  if (strcmp(name, "int") == 0) return LAZE_I64;
  if (strcmp(name, "complex") == 0) return LAZE_C128;
  if (strcmp(name, "bool_") == 0) return LAZE_BOOL;
  for (laze_dtype dtype = 1; dtype < DTYPE_END; dtype++)
    if (dtypes[dtype] && strcmp(((dtype_object *)dtypes[dtype])->name, name) == 0) return dtype;
  return laze_dtype_find(name);
}

/* The name by which an object is a dtype: a string itself, a class's (np.float32, float), a dtype's `name` (NumPy), or
 * what str() gives (torch). */
static PyObject *name_of(PyObject *object) {
  if (PyUnicode_Check(object)) return laze_python_share(object);
  PyObject *name = PyObject_GetAttrString(object, PyType_Check(object) ? "__name__" : "name");
  if (name && PyUnicode_Check(name)) return name;
  Py_XDECREF(name);
  PyErr_Clear();
  return PyObject_Str(object);
}

bool laze_python_dtype_from(PyObject *object, laze_dtype *out) {
  if (laze_python_is_dtype(object)) {
    *out = ((dtype_object *)object)->dtype;
    return true;
  }
  PyObject *name = name_of(object);
  const char *text = name ? laze_python_text(name, "dtype") : NULL;
  *out = text ? find_by_name(text) : LAZE_DTYPE_NONE;
  Py_XDECREF(name);
  if (*out == LAZE_DTYPE_NONE && !PyErr_Occurred())
    laze_python_raise_type("laze has no dtype %R; laze.float32 is one, and dir(laze) lists them", object);
  return *out != LAZE_DTYPE_NONE;
}

static PyObject *dtype_repr(PyObject *self) {
  return PyUnicode_FromFormat("laze.%s", ((dtype_object *)self)->name);
}

static PyObject *dtype_name(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(((dtype_object *)self)->name);
}

static PyObject *dtype_itemsize(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLongLong(laze_dtype_size(((dtype_object *)self)->dtype));
}

static PyObject *dtype_is_floating(PyObject *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(laze_python_dtype_kind(((dtype_object *)self)->dtype) == 'f');
}

static PyObject *dtype_is_complex(PyObject *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(laze_python_dtype_kind(((dtype_object *)self)->dtype) == 'c');
}

/* pickle and copy find it by its name in the module. */
static PyObject *dtype_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyUnicode_FromString(((dtype_object *)self)->name);
}

static PyGetSetDef dtype_attributes[] = {
    {"name", dtype_name, NULL, "PyTorch's name of it.", NULL},
    {"itemsize", dtype_itemsize, NULL, "Bytes of one element.", NULL},
    {"is_floating_point", dtype_is_floating, NULL, "Whether it is one of the float dtypes.", NULL},
    {"is_complex", dtype_is_complex, NULL, "Whether it is one of the complex dtypes.", NULL},
    {0},
};
static PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, NULL}, {0}};
static PyType_Slot dtype_slots[] = {
    {Py_tp_doc, "The type of a tensor's elements: laze.float32, laze.int64, ..."},
    {Py_tp_repr, dtype_repr},
    {Py_tp_getset, dtype_attributes},
    {Py_tp_methods, dtype_methods},
    {Py_tp_dealloc, laze_python_free},
    {Py_tp_new, laze_python_refuse_new},
    {0},
};
static PyType_Spec dtype_spec = {"laze.dtype", sizeof(dtype_object), 0, Py_TPFLAGS_DEFAULT, dtype_slots};

static int make_dtypes(void) {
  if (dtype_type) return 0;
  dtype_type = (PyTypeObject *)PyType_FromSpec(&dtype_spec);
  if (!dtype_type) return -1;
  for (laze_dtype dtype = 1; dtype < DTYPE_END; dtype++) {
    const char *name = laze_dtype_name(dtype);
    if (laze_dtype_find(name) != dtype) continue;
    dtype_object *made = PyObject_New(dtype_object, dtype_type);
    if (!made) return -1;
    int kind = kind_of(dtype);
    made->dtype = dtype;
    snprintf(made->name, sizeof made->name, "%s%s", kinds[kind].word, name + strlen(kinds[kind].prefix));
    dtypes[dtype] = (PyObject *)made;
  }
  return 0;
}

int laze_python_add_dtypes(PyObject *module) {
  if (make_dtypes() < 0 || PyObject_SetAttrString(module, "dtype", (PyObject *)dtype_type) < 0) return -1;
  for (laze_dtype dtype = 1; dtype < DTYPE_END; dtype++) {
    if (!dtypes[dtype]) continue;
    if (PyObject_SetAttrString(module, ((dtype_object *)dtypes[dtype])->name, dtypes[dtype]) < 0) return -1;
    if (PyObject_SetAttrString(module, laze_dtype_name(dtype), dtypes[dtype]) < 0) return -1;
  }
  return 0;
}
