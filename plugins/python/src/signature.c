/* What schemas say to people: signatures and help texts, also of forms in place.
 *
 *   sum(Tensor self, *, ScalarType? dtype=None)                     sum(input, dim=..., keepdim=False, *, dtype=None)
 *   sum.dim_IntList(Tensor self, int[1]? dim=None, bool keepdim=... ──>
 *
 * Overloads have one signature where one of them has the arguments of all others; "..." stands as the default of an
 * argument that only some overloads need.
 */
#include "binding.h"

#include <string.h>

static const laze_operator_argument *find_argument(const laze_operator *op, const char *name) {
  for (int32_t k = 0; k < laze_operator_argument_count(op); k++)
    if (strcmp(laze_operator_argument_at(op, k)->name, name) == 0) return laze_operator_argument_at(op, k);
  return NULL;
}

static bool covers(const laze_operator *op, const laze_operator *other) {
  for (int32_t k = 0; k < laze_operator_argument_count(other); k++)
    if (!find_argument(op, laze_operator_argument_at(other, k)->name)) return false;
  return true;
}

/* Whether each overload has the argument, without a default. */
static bool is_required(const laze_operator *const *overloads, int32_t count, const char *name) {
  for (int32_t i = 0; i < count; i++) {
    const laze_operator_argument *argument = find_argument(overloads[i], name);
    if (!argument || argument->default_value) return false;
  }
  return true;
}

/* Appends text that is formatted to a string, which becomes NULL where that fails. Takes the reference of `piece`. */
static void append(PyObject **text, PyObject *piece) {
  PyObject *joined = *text && piece ? PyUnicode_Concat(*text, piece) : NULL;
  Py_XDECREF(*text);
  Py_XDECREF(piece);
  *text = joined;
}

/* Python's spelling: PyTorch's functions call the tensor `input`. */
static const char *name_of(const laze_operator_argument *argument) {
  if (strcmp(argument->name, "from") == 0) return "from_"; /* a keyword of Python */
  return strcmp(argument->name, "self") == 0 ? "input" : argument->name;
}

/* What `inspect` can read: it takes no name of a dtype. */
static const char *default_of(const laze_operator_argument *argument) {
  bool names_dtype = argument->takes == LAZE_TAKES_DTYPE && argument->default_value;
  if (names_dtype && strcmp(argument->default_value, "None") != 0) return "...";
  return argument->default_value && strcmp(argument->default_value, "[]") == 0 ? "()" : argument->default_value;
}

/* "(input, dim, *, dtype=None, out=None)" of `op`, where an argument that not all overloads need has a default. NULL
 * without an exception: an argument that has to be passed stands behind one that has not. */
static PyObject *write_signature(const laze_operator *op, const laze_operator *const *overloads, int32_t count,
                                 bool has_out) {
  PyObject *text = PyUnicode_FromString("(");
  bool keyword_only = false, defaulted = false;
  for (int32_t k = 0; k < laze_operator_argument_count(op); k++) {
    const laze_operator_argument *argument = laze_operator_argument_at(op, k);
    const char *value = default_of(argument);
    if (!value && !is_required(overloads, count, argument->name)) value = "...";
    if (argument->keyword_only && !keyword_only) append(&text, PyUnicode_FromString(k > 0 ? ", *" : "*"));
    keyword_only = keyword_only || argument->keyword_only;
    if (!value && defaulted && !keyword_only) {
      Py_CLEAR(text);
      return NULL;
    }
    defaulted = defaulted || value;
    append(&text, PyUnicode_FromFormat("%s%s%s%s", k > 0 || keyword_only ? ", " : "", name_of(argument),
                                       value ? "=" : "", value ? value : ""));
  }
  if (has_out)
    append(&text, PyUnicode_FromFormat("%s%sout=None", laze_operator_argument_count(op) > 0 ? ", " : "",
                                       keyword_only ? "" : "*, "));
  append(&text, PyUnicode_FromString(")"));
  return text;
}

/* Whether results go to tensors of the caller's where these are passed: how many there are is known, and no argument
 * has the name already. */
static bool has_out(const laze_operator *const *overloads, int32_t count, bool in_place) {
  for (int32_t i = 0; i < count; i++)
    if (laze_operator_result_count(overloads[i]) < 0 || find_argument(overloads[i], "out")) return false;
  return !in_place;
}

PyObject *laze_python_signature(const laze_operator *const *overloads, int32_t count, bool in_place) {
  for (int32_t i = 0; i < count; i++) {
    int32_t covered = 0;
    while (covered < count && covers(overloads[i], overloads[covered])) covered++;
    PyObject *text =
        covered == count ? write_signature(overloads[i], overloads, count, has_out(overloads, count, in_place)) : NULL;
    if (text || PyErr_Occurred()) return text;
  }
  /* Only the tensor is common to all. */
  bool tensor = is_required(overloads, count, "self");
  return PyUnicode_FromString(tensor ? "(input, *args, **kwargs)" : "(*args, **kwargs)");
}

PyObject *laze_python_document(const char *name, const laze_operator *const *overloads, int32_t count, bool in_place) {
  const char *prefix = in_place ? "In place, of what the tensor is then: " : "";
  PyObject *text = PyUnicode_FromString("");
  for (int32_t i = 0; text && i < count; i++) {
    const laze_operator *op = overloads[i];
    const char *doc = laze_operator_doc(op) ? laze_operator_doc(op) : "", *schema = laze_operator_schema(op);
    PyObject *signature = write_signature(op, &op, 1, has_out(&op, 1, in_place));
    append(&text, PyUnicode_FromFormat("%s%s%V\n    %s%s\n    Schema: %s%s\n", i > 0 ? "\n" : "", name, signature,
                                       "(...)", prefix, doc, in_place ? laze_operator_in_place(op) : "",
                                       in_place ? strchr(schema, '(') : schema));
    Py_XDECREF(signature);
  }
  return text;
}
