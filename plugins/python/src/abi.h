/* What CPython's stable ABI has in every version from 3.9 on, but its headers declare only for later ones.
 *
 * The buffer protocol joined the limited API in 3.11, PyUnicode_AsUTF8AndSize in 3.10 and vectorcall in 3.12. All of
 * them lie in the shared object of 3.9 already, with the layouts that later versions froze; PyType_FromSpec takes the
 * two slots of the protocol, and "__vectorcalloffset__", since 3.9. Declaring them here is what lets one binary serve
 * every version. Once the limited API that is asked for has them, Python's own declarations are taken.
 */
#ifndef LAZE_PYTHON_ABI_H
#define LAZE_PYTHON_ABI_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Another reference to an object (Py_NewRef, from 3.10). */
static inline PyObject *laze_python_share(PyObject *object) {
  Py_INCREF(object);
  return object;
}

#if Py_LIMITED_API + 0 < 0x030a0000
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *size);
#endif

#if Py_LIMITED_API + 0 < 0x030b0000
typedef struct bufferinfo {
  void *buf;
  PyObject *obj; /* owned */
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char *format;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  Py_ssize_t *suboffsets;
  void *internal;
} Py_buffer;

#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_FULL_RO (0x0100 | PyBUF_STRIDES | PyBUF_FORMAT)

#define Py_bf_getbuffer 1
#define Py_bf_releasebuffer 2

PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject *object);
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);
PyAPI_FUNC(int) PyBuffer_IsContiguous(const Py_buffer *view, char order);
PyAPI_FUNC(int) PyBuffer_ToContiguous(void *out, const Py_buffer *view, Py_ssize_t size, char order);
#endif

#if Py_LIMITED_API + 0 < 0x030c0000
typedef PyObject *(*vectorcallfunc)(PyObject *callable, PyObject *const *arguments, size_t count, PyObject *names);
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
PyAPI_FUNC(PyObject *) PyVectorcall_Call(PyObject *callable, PyObject *tuple, PyObject *names);
#endif

#endif
