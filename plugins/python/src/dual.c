/* Tensors that carry tangents, which laze.autograd.forward_ad (_forward_ad.py) is made of: a level of the library as an
 * object. Python keeps which levels are open.
 *
 *   make_dual(x, t)     level.make ────> laze_dual_make
 *   unpack_dual(y)      level.unpack ──> laze_dual_unpack: a pair, the tangent None where there is none
 */
#include "binding.h"

typedef struct {
  PyObject ob_base;       /* what PyObject_HEAD is */
  laze_dual_level *level; /* owned */
} level_object;

static PyTypeObject *level_type;

static laze_dual_level *level_of(PyObject *self) {
  return ((level_object *)self)->level;
}

/* _dual_level() */
static PyObject *begin(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  laze_error error = {0};
  level_object *made = PyObject_New(level_object, level_type);
  if (!made) return NULL;
  const laze_status status = laze_dual_level_begin(NULL, &made->level, &error);
  if (status == LAZE_OK) return (PyObject *)made;
  Py_DECREF(made);
  return laze_python_raise(status, error.message);
}

static void level_dealloc(PyObject *self) {
  laze_dual_level_end(level_of(self));
  laze_python_free(self);
}

/* make(primal, tangent) */
static PyObject *make(PyObject *self, PyObject *arguments) {
  PyObject *primal, *tangent;
  laze_tensor *dual;
  if (!PyArg_ParseTuple(arguments, "OO:make_dual", &primal, &tangent)) return NULL;
  if (!laze_python_is_tensor(primal) || !laze_python_is_tensor(tangent))
    return laze_python_raise_type("make_dual: a %R with a %R for its tangent; expected two tensors", Py_TYPE(primal),
                                  Py_TYPE(tangent));
  laze_tensor *const from = laze_python_handle(primal), *const moves = laze_python_handle(tangent);
  Py_BEGIN_ALLOW_THREADS dual = laze_dual_make(level_of(self), from, moves);    /* may compute sizes */
  Py_END_ALLOW_THREADS const bool is_passed_on = dual == from || dual == moves; /* which is an error then */
  return is_passed_on ? laze_python_raise_tensor(dual) : laze_python_tensor(dual);
}

/* unpack(tensor): primal and tangent */
static PyObject *unpack(PyObject *self, PyObject *tensor) {
  if (!laze_python_is_tensor(tensor))
    return laze_python_raise_type("unpack_dual: %R is a %R, and no tensor", tensor, Py_TYPE(tensor));
  laze_tensor *handle = laze_python_handle(tensor), *primal, *tangent;
  laze_error error = {0};
  laze_status status;
  laze_python_pass pass;
  laze_python_pass_begin(&pass);
  Py_BEGIN_ALLOW_THREADS status = laze_dual_unpack(level_of(self), handle, &primal, &tangent, &error);
  Py_END_ALLOW_THREADS if (!laze_python_pass_finish(&pass, status, &error)) return NULL;
  PyObject *first = primal == handle ? laze_python_share(tensor) : laze_python_tensor(primal);
  PyObject *second = tangent ? laze_python_tensor(tangent) : laze_python_share(Py_None);
  PyObject *pair = first && second ? PyTuple_Pack(2, first, second) : NULL;
  Py_XDECREF(first);
  Py_XDECREF(second);
  return pair;
}

static PyMethodDef methods[] = {{"make", make, METH_VARARGS, NULL}, {"unpack", unpack, METH_O, NULL}, {0}};
static PyType_Slot type_slots[] = {
    {Py_tp_doc, "What laze.autograd.forward_ad's levels are made of."},
    {Py_tp_new, laze_python_refuse_new},
    {Py_tp_dealloc, level_dealloc},
    {Py_tp_methods, methods},
    {0},
};
static PyType_Spec type_spec = {"laze._DualLevel", sizeof(level_object), 0, Py_TPFLAGS_DEFAULT, type_slots};

static PyMethodDef functions[] = {
    {"_dual_level", begin, METH_NOARGS, NULL},
    {0},
};

int laze_python_add_duals(PyObject *module) {
  if (!level_type) level_type = (PyTypeObject *)PyType_FromSpec(&type_spec);
  return level_type ? PyModule_AddFunctions(module, functions) : -1;
}
