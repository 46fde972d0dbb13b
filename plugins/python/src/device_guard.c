/* What kind of device PyTorch's device laze is.
 *
 * PyTorch asks for it wherever it enters or leaves a device, also on the way out of a hook that has raised: with the
 * exception set, in a function that must not throw. The answer therefore takes the exception along, and sets it again
 * when PyTorch drops the answer. */
#include "binding.h"

typedef struct {
  PyObject ob_base;
  PyObject *kind;  /* owned: what is answered */
  PyObject *carry; /* owned: makes an answer of its own, with attributes */
} guard_object;

typedef struct {
  PyObject ob_base;
  PyObject *type, *value, *trace; /* owned, or NULL */
} raised_object;

static PyTypeObject *guard_type, *raised_type;

static void raised_dealloc(PyObject *object) {
  raised_object *self = (raised_object *)object;
  PyErr_Restore(self->type, self->value, self->trace);
  laze_python_free(object);
}

static PyObject *guard_call(PyObject *object, PyObject *arguments, PyObject *names) {
  (void)arguments, (void)names;
  const guard_object *self = (guard_object *)object;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (!type) return laze_python_share(self->kind);
  PyObject *answer = PyObject_CallFunctionObjArgs(self->carry, NULL);
  raised_object *raised = answer ? PyObject_New(raised_object, raised_type) : NULL;
  if (!raised) {
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    Py_XDECREF(answer);
    return NULL;
  }
  raised->type = type;
  raised->value = value;
  raised->trace = trace;
  const int kept = PyObject_SetAttrString(answer, "raised", (PyObject *)raised);
  Py_DECREF(raised);
  if (kept == 0) return answer;
  Py_DECREF(answer);
  return NULL;
}

/* DeviceGuard(kind, carry) */
static PyObject *guard_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  PyObject *kind, *carry;
  if (names && PyDict_Size(names) > 0) return laze_python_raise_type("DeviceGuard() takes its arguments by position");
  if (!PyArg_ParseTuple(arguments, "OO:DeviceGuard", &kind, &carry)) return NULL;
  guard_object *made = PyObject_New(guard_object, type);
  if (!made) return NULL;
  made->kind = laze_python_share(kind);
  made->carry = laze_python_share(carry);
  return (PyObject *)made;
}

static void guard_dealloc(PyObject *object) {
  Py_DECREF(((guard_object *)object)->kind);
  Py_DECREF(((guard_object *)object)->carry);
  laze_python_free(object);
}

static PyType_Slot guard_slots[] = {
    {Py_tp_new, guard_new}, {Py_tp_dealloc, guard_dealloc}, {Py_tp_call, guard_call}, {0}};
static PyType_Spec guard_spec = {"laze.DeviceGuard", sizeof(guard_object), 0, Py_TPFLAGS_DEFAULT, guard_slots};
static PyType_Slot raised_slots[] = {{Py_tp_new, laze_python_refuse_new}, {Py_tp_dealloc, raised_dealloc}, {0}};
static PyType_Spec raised_spec = {"laze.Raised", sizeof(raised_object), 0, Py_TPFLAGS_DEFAULT, raised_slots};

int laze_python_add_device_guard(PyObject *module) {
  if (!guard_type) guard_type = (PyTypeObject *)PyType_FromSpec(&guard_spec);
  if (!raised_type) raised_type = (PyTypeObject *)PyType_FromSpec(&raised_spec);
  if (!guard_type || !raised_type) return -1;
  return PyModule_AddObject(module, "_DeviceGuard", laze_python_share((PyObject *)guard_type));
}
