/* Exceptions: laze.Error, and under it one class for each status, which is also the kind of exception that Python
 * programs expect.
 *
 *   OUT_OF_RANGE -> class OutOfRangeError(Error, IndexError)
 */
#include "binding.h"

#include <stdarg.h>
#include <string.h>

typedef struct {
  laze_status status;
  const char *name; /* with the module */
  PyObject **base;
  const char *doc;
} error_kind;

/* In the order of their names. LAZE_CANCELLED has none: it is KeyboardInterrupt, or what a signal handler raised. */
static const error_kind kinds[] = {
    {LAZE_DATA_LOSS, "laze.DataLossError", &PyExc_OSError, "A file is damaged."},
    {LAZE_IO_ERROR, "laze.FileError", &PyExc_OSError, "The operating system refused a file operation."},
    {LAZE_OVERFLOW, "laze.IntegerOverflowError", &PyExc_OverflowError,
     "A number is too large for the integers that are to hold it."},
    {LAZE_INTERNAL, "laze.InternalError", &PyExc_SystemError, "A fault of laze itself: please report it."},
    {LAZE_INVALID_ARGUMENT, "laze.InvalidArgumentError", &PyExc_ValueError,
     "A value that was passed is wrong in itself: a shape, a dtype, a name."},
    {LAZE_PYTHON_NO_FILE, "laze.MissingFileError", &PyExc_FileNotFoundError, "There is no such file."},
    {LAZE_NOT_FOUND, "laze.NotFoundError", &PyExc_LookupError, "There is no such operator, metric or backend."},
    {LAZE_OUT_OF_MEMORY, "laze.OutOfMemoryError", &PyExc_MemoryError, "There is no memory for it."},
    {LAZE_OUT_OF_RANGE, "laze.OutOfRangeError", &PyExc_IndexError, "An index or axis lies outside of the tensor."},
    {LAZE_FAILED_PRECONDITION, "laze.StateError", &PyExc_RuntimeError,
     "An object is not in a state that allows the call."},
    {LAZE_UNSUPPORTED, "laze.UnsupportedError", &PyExc_NotImplementedError,
     "Well-formed, but this build or backend cannot do it."},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static PyObject *base_error, *type_error, *errors[KIND_COUNT];

static PyObject *make_class(const char *name, const char *doc, PyObject *base) {
  /* RuntimeError is what PyTorch raises for nearly everything. */
  PyObject *bases = base ? PyTuple_Pack(2, base_error, base) : PyTuple_Pack(1, PyExc_RuntimeError);
  if (!bases) return NULL;
  PyObject *made = PyErr_NewExceptionWithDoc(name, doc, base == PyExc_RuntimeError ? base_error : bases, NULL);
  Py_DECREF(bases);
  return made;
}

static int make_classes(void) {
  if (base_error) return 0;
  base_error = make_class("laze.Error", "What laze raises: every other of its exceptions is one of these.", NULL);
  if (!base_error) return -1;
  type_error = make_class("laze.ArgumentTypeError",
                          "An argument is of a kind or has a name that the call does not take.", PyExc_TypeError);
  for (int i = 0; type_error && i < KIND_COUNT; i++) {
    errors[i] = make_class(kinds[i].name, kinds[i].doc, *kinds[i].base);
    if (!errors[i]) return -1;
  }
  return type_error ? 0 : -1;
}

int laze_python_add_errors(PyObject *module) {
  if (make_classes() < 0) return -1;
  if (PyObject_SetAttrString(module, "Error", base_error) < 0) return -1;
  if (PyObject_SetAttrString(module, "ArgumentTypeError", type_error) < 0) return -1;
  for (int i = 0; i < KIND_COUNT; i++) {
    if (PyObject_SetAttrString(module, kinds[i].name + sizeof "laze." - 1, errors[i]) < 0) return -1;
  }
  return 0;
}

/* The class of a status. */
static PyObject *class_of(laze_status status) {
  for (int i = 0; i < KIND_COUNT; i++)
    if (kinds[i].status == status) return errors[i];
  return base_error;
}

/* What a name of C is in Python, where that is not the name without laze_ or laze_tensor_; none is longer. With what
 * follows in the message, where that decides; of two that fit, the first. */
static const char *const spellings[][2] = {
    {"laze_tensor_require_grad", "requires_grad_"},
    {"laze_tensor_set_grad", "grad"},
    {"laze_dual_make", "make_dual"},
    {"laze_dual_unpack", "unpack_dual"},
    {"laze_set_grad_enabled", "set_grad_enabled"},
    {"laze_tensor_set_data", "data"},
    {"laze_tensor_detach", "detach_"},
    {"laze_tensor_set", "set_"},
    {"laze_tensor_write", "copy_"},
    {"laze_tensor_size", "shape"},
    {"laze_tensor_to_dlpack", "__dlpack__"},
    {"laze_gradient_node_register_hook", "register_hook"},
    {"laze_function_attach", "apply"},
    {"laze_aot_compile", "compile"},
    {"laze_aot_call", "call"},
    {"laze_aot_backward", "backward"},
    {"laze_aot_forward", "call"},
    {"laze_backward_with:", "backward:"},
    {"laze_backward_with", "gradient="},
    {"laze_backward_into", "backward"},
    {"laze_optimiser_add", "add_param_group"},
    {"laze_optimiser_set_state", "load_state_dict"},
    {"laze_optimiser_get_state", "state_dict"},
    {"laze_optimiser_step", "step"},
    {"laze_optimiser_zero_grad", "zero_grad"},
    {"laze_clip_grad_norm", "clip_grad_norm_"},
    {"laze_clip_grad_value", "clip_grad_value_"},
    {"laze_tensors_save", "save_safetensors"},
    {"laze_safetensors_write", "save_safetensors"},
    {"laze_safetensors_open", "load_safetensors"},
    {"laze_npy_read", "load"},
    {"laze_npy_write", "save"},
    {"laze_graph_load", "load"},
    {"laze_graph_save", "save"},
    {"laze_trace_begin", "trace"},
    {"laze_trace_end", "trace"},
    {"laze_trace_compare", "trace"},
    {"laze_set_threads", "set_num_threads"},
    {"LAZE_ALLOW_UNUSED", "allow_unused=True"},
    {"LAZE_RETAIN_GRAPH", "retain_graph=True"},
    {"LAZE_CREATE_GRAPH", "create_graph=True"},
};

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the name stands where messages have names of C, and not in a path or between quotes of the caller's. */
static bool is_name(const char *text, const char *at, size_t length) {
  if (at > text && !strchr(" (;,\n", at[-1])) return false;
  return at[length] != '/' && (at[length] != '.' || !is_letter(at[length + 1])) && at[length] != '\'' &&
         at[length] != '"';
}

/* How many letters of a name of C stand at `at`, and what is written in their place. */
static size_t find_spelling(const char *at, size_t length, const char **out) {
  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
    const size_t own = strlen(spellings[i][0]);
    *out = spellings[i][1];
    if (own >= length && strncmp(at, spellings[i][0], own) == 0) return own;
  }
  *out = "";
  if (strncmp(at, "laze_tensor_", sizeof "laze_tensor_" - 1) == 0) return sizeof "laze_tensor_" - 1;
  return strncmp(at, "laze_", sizeof "laze_" - 1) == 0 ? sizeof "laze_" - 1 : 0;
}

/* Changes the text in place. */
static void spell(char *text) {
  char *to = text;
  for (const char *at = text; *at;) {
    size_t length = 0;
    const char *written = "";
    while (is_letter(at[length])) length++;
    size_t taken = length > 5 && is_name(text, at, length) ? find_spelling(at, length, &written) : 0;
    const size_t size = strlen(written);
    if (taken > 0) memcpy(to, written, size);
    if (taken > 0) to += size;
    if (taken < length || length == 0) { /* what is left of the word, or what is none */
      const size_t rest = length > 0 ? length - taken : 1;
      memmove(to, at + taken, rest);
      to += rest;
      taken += rest;
    }
    at += taken;
  }
  *to = 0;
}

PyObject *laze_python_raise(laze_status status, const char *message) {
  laze_python_progress_end();
  if (laze_python_raise_interrupt()) return NULL;
  if (status == LAZE_CANCELLED) {
    PyErr_SetString(PyExc_KeyboardInterrupt, message);
    return NULL;
  }
  const size_t size = strlen(message) + 1;
  char *spelled = PyMem_Malloc(size);
  if (!spelled) return PyErr_NoMemory();
  memcpy(spelled, message, size);
  spell(spelled);
  /* A message is cut to its size, maybe inside of a letter. */
  PyObject *text = PyUnicode_DecodeUTF8(spelled, (Py_ssize_t)strlen(spelled), "replace");
  PyMem_Free(spelled);
  if (!text) return NULL;
  PyErr_SetObject(class_of(status), text);
  Py_DECREF(text);
  return NULL;
}

PyObject *laze_python_raise_type(const char *format, ...) {
  va_list list;
  va_start(list, format);
  PyErr_FormatV(type_error, format, list);
  va_end(list);
  return NULL;
}

PyObject *laze_python_raise_overflow(const char *format, ...) {
  va_list list;
  va_start(list, format);
  PyErr_FormatV(class_of(LAZE_OVERFLOW), format, list);
  va_end(list);
  return NULL;
}

PyObject *laze_python_raise_too_large(PyObject *integer, const char *where, const char *kind) {
  enum { MOST_BITS = 256 }; /* of one whose digits are worth reading; Python refuses to print very long ones */
  PyObject *size = PyObject_CallMethod(integer, "bit_length", NULL);
  long bits = size ? PyLong_AsLong(size) : -1;
  Py_XDECREF(size);
  if (PyErr_Occurred()) return NULL;
  return bits > MOST_BITS
             ? laze_python_raise_overflow("%s: an integer of %ld bits does not fit in %s", where, bits, kind)
             : laze_python_raise_overflow("%s: %R does not fit in %s", where, integer, kind);
}

bool laze_python_integer(PyObject *integer, const char *where, int64_t *out) {
  *out = PyLong_AsLongLong(integer);
  if (*out != -1 || !PyErr_Occurred()) return true;
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear(); /* its message is only that something is too big */
    laze_python_raise_too_large(integer, where, "a 64-bit integer");
  } else if (PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear(); /* and here, that it cannot be interpreted */
    laze_python_raise_type("%s: expected an integer, and was given %R", where, integer);
  }
  return false;
}

bool laze_python_whole_number(PyObject *integer, const char *where, laze_scalar *out) {
  int overflow = 0;
  int64_t value = PyLong_Check(integer) ? PyLong_AsLongLongAndOverflow(integer, &overflow) : 0;
  if (overflow > 0) {
    *out = laze_scalar_unsigned(PyLong_AsUnsignedLongLong(integer));
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
  }
  if ((overflow != 0 || !PyLong_Check(integer)) && !laze_python_integer(integer, where, &value)) return false;
  *out = laze_scalar_integer(value);
  return true;
}

const char *laze_python_text(PyObject *string, const char *where) {
  const char *text = PyUnicode_AsUTF8AndSize(string, NULL);
  if (text || !PyErr_ExceptionMatches(PyExc_UnicodeError)) return text;
  PyErr_Clear();
  PyObject *shown = PyObject_ASCII(string);
  const char *ascii = shown ? PyUnicode_AsUTF8AndSize(shown, NULL) : NULL;
  char message[256];
  snprintf(message, sizeof message,
           "%s: the string %.128s has half of a surrogate pair, which is no letter; take it out", where,
           ascii ? ascii : "");
  if (ascii) laze_python_raise(LAZE_INVALID_ARGUMENT, message);
  Py_XDECREF(shown);
  return NULL;
}

PyObject *laze_python_raise_error(laze_status status, const laze_error *error) {
  return laze_python_raise_interrupt() ? NULL : laze_python_raise(status, error->message);
}

PyObject *laze_python_raise_tensor(laze_tensor *handle) {
  laze_status status = laze_tensor_status(handle);
  return laze_python_raise(status == LAZE_OK ? LAZE_INTERNAL : status, laze_tensor_error(handle));
}

bool laze_python_error_is_invalid(void) {
  return PyErr_ExceptionMatches(class_of(LAZE_INVALID_ARGUMENT));
}

static void raise_as(PyObject *class) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *text = value ? PyObject_Str(value) : NULL;
  if (text) PyErr_SetObject(class, text);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

void laze_python_raise_as_type(void) {
  raise_as(type_error);
}

void laze_python_raise_as_index(void) {
  raise_as(class_of(LAZE_OUT_OF_RANGE));
}
