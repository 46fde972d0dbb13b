/* The buffer protocol, both ways without a copy: memoryview(tensor) and numpy.asarray(tensor) look at the tensor's
 * memory, which nobody may write to; a tensor of an array looks at the array's.
 */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

/* What a view of a tensor rests on. */
typedef struct {
  laze_export lent;
  Py_ssize_t shape[LAZE_PYTHON_MAX_RANK], strides[LAZE_PYTHON_MAX_RANK];
} exported;

static void fill_view(Py_buffer *view, exported *out, const char *format, int flags) {
  Py_ssize_t item = (Py_ssize_t)laze_dtype_size(out->lent.dtype), stride = item;
  for (int32_t axis = out->lent.rank - 1; axis >= 0; axis--) {
    out->shape[axis] = (Py_ssize_t)out->lent.sizes[axis];
    out->strides[axis] = stride;
    stride *= out->shape[axis] > 0 ? out->shape[axis] : 1;
  }
  view->buf = (void *)(uintptr_t)out->lent.data; /* read-only says that nobody writes */
  view->len = (Py_ssize_t)out->lent.size;
  view->itemsize = item;
  view->readonly = 1;
  view->ndim = flags & PyBUF_ND ? out->lent.rank : 1;
  view->format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL;
  view->shape = flags & PyBUF_ND ? out->shape : NULL;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? out->strides : NULL;
  view->suboffsets = NULL;
  view->internal = out;
}

static int refuse(exported *out, const char *message, const char *what) {
  if (out) laze_export_release(&out->lent);
  free(out);
  PyErr_Format(PyExc_BufferError, message, what);
  return -1;
}

/* A read by NumPy was stopped. NumPy drops what is raised while it asks for a buffer, and asks for __array__ then. */
static _Thread_local bool was_stopped;

int laze_python_buffer_get(PyObject *tensor, Py_buffer *view, int flags) {
  was_stopped = false;
  laze_tensor *handle = laze_python_handle(tensor);
  const char *format = laze_python_dtype_format(laze_tensor_dtype(handle));
  view->obj = NULL;
  if (laze_python_refuse_gradient(tensor, PyExc_BufferError, "buffer")) return -1;
  if (flags & PyBUF_WRITABLE) return refuse(NULL, "%s", "a tensor's memory cannot be written to; copy it");
  if (!format)
    return refuse(NULL, "%s has no format in Python's buffer protocol; use DLPack, or convert it with .float()",
                  laze_python_dtype_name(laze_tensor_dtype(handle)));
  exported *out = calloc(1, sizeof *out);
  if (!out) return PyErr_NoMemory(), -1;
  laze_error error = {0};
  laze_status status;
  const laze_python_place place = laze_python_find_reader();
  Py_BEGIN_ALLOW_THREADS status = laze_tensor_export_at(handle, &out->lent, &error, place.file, place.line);
  Py_END_ALLOW_THREADS if (status != LAZE_OK) {
    free(out);
    was_stopped = status == LAZE_CANCELLED;
    laze_python_raise(status, error.message);
    return -1;
  }
  if (out->lent.rank > LAZE_PYTHON_MAX_RANK) return refuse(out, "a tensor of more than %s dimensions", "64");
  fill_view(view, out, format, flags);
  view->obj = laze_python_share(tensor);
  return 0;
}

void laze_python_buffer_release(PyObject *tensor, Py_buffer *view) {
  (void)tensor;
  exported *out = view->internal;
  laze_export_release(&out->lent);
  free(out);
}

/* ---- Memory of others. */

static PyObject *copy_view(Py_buffer *view, laze_dtype dtype, laze_ints shape) {
  void *data = malloc(view->len > 0 ? (size_t)view->len : 1);
  if (!data) return PyErr_NoMemory();
  PyObject *tensor = NULL;
  if (PyBuffer_ToContiguous(data, view, view->len, 'C') == 0)
    tensor = laze_python_tensor(laze_tensor_from_data(NULL, dtype, shape, data, (size_t)view->len));
  free(data);
  return tensor;
}

static PyObject *from_view(laze_python_loan *loan, bool copy) {
  Py_buffer *view = &loan->view;
  laze_dtype dtype = laze_python_dtype_of_format(view->format, view->itemsize);
  int64_t sizes[LAZE_PYTHON_MAX_RANK];
  if (dtype == LAZE_DTYPE_NONE || view->ndim > LAZE_PYTHON_MAX_RANK) {
    laze_python_raise_type("laze has no dtype for elements of format '%s' (%zd bytes)",
                           view->format ? view->format : "B", view->itemsize);
    return laze_python_loan_end(loan), NULL;
  }
  for (int i = 0; i < view->ndim; i++) sizes[i] = view->shape[i];
  laze_ints shape = {sizes, view->ndim};
  if (!copy && PyBuffer_IsContiguous(view, 'C') && (uintptr_t)view->buf % (size_t)view->itemsize == 0)
    return laze_python_tensor(
        laze_tensor_borrow(NULL, dtype, shape, view->buf, (size_t)view->len, laze_python_loan_end, loan));
  PyObject *tensor = copy_view(view, dtype, shape);
  laze_python_loan_end(loan);
  return tensor;
}

PyObject *laze_python_from_buffer(PyObject *object, bool copy) {
  laze_python_loan *loan = calloc(1, sizeof *loan);
  if (!loan) return PyErr_NoMemory();
  if (PyObject_GetBuffer(object, &loan->view, PyBUF_FULL_RO) < 0) {
    free(loan);
    return NULL;
  }
  PyObject *tensor = from_view(loan, copy);
  laze_python_loans_settle();
  return tensor;
}

/* numpy.asarray(memoryview(tensor), dtype), or numpy.array. */
PyObject *laze_python_to_array(PyObject *tensor, PyObject *dtype, bool copy) {
  if (was_stopped) {
    was_stopped = false;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return NULL;
  }
  PyObject *numpy = PyImport_ImportModule("numpy");
  PyObject *view = numpy ? PyMemoryView_FromObject(tensor) : NULL;
  PyObject *array = view ? PyObject_CallMethod(numpy, copy ? "array" : "asarray", "OO", view, dtype) : NULL;
  Py_XDECREF(view);
  Py_XDECREF(numpy);
  return array;
}
