/* NumPy's .npy files: laze.load and laze.save, which numpy.load and numpy.save understand; and files of many tensors
 * with names, which the library safetensors reads and writes as well. */
#include "binding.h"

#include "laze/safetensors.h"

/* The bytes of a path, for `where`. */
static PyObject *path_of(PyObject *path, const char *where) {
  PyObject *name;
  if (PyUnicode_FSConverter(path, &name)) return name;
  bool wrong_type = PyErr_ExceptionMatches(PyExc_TypeError);
  if (!wrong_type && !PyErr_ExceptionMatches(PyExc_ValueError)) return NULL; /* what __fspath__ raised */
  PyErr_Clear();
  if (wrong_type)
    return laze_python_raise_type("%s: expected a path (str, bytes or os.PathLike), and was given %R", where, path);
  PyObject *shown = PyObject_ASCII(path);
  const char *ascii = shown ? PyUnicode_AsUTF8AndSize(shown, NULL) : NULL;
  char message[256];
  snprintf(message, sizeof message,
           "%s: no file can be called %.128s: a path has no zero bytes, and no halves of "
           "surrogate pairs",
           where, ascii ? ascii : "");
  if (ascii) laze_python_raise(LAZE_INVALID_ARGUMENT, message);
  Py_XDECREF(shown);
  return NULL;
}

static PyObject *load(PyObject *module, PyObject *path) {
  (void)module;
  PyObject *name = path_of(path, "load");
  laze_tensor *handle;
  if (!name) return NULL;
  const char *text = PyBytes_AsString(name);
  Py_BEGIN_ALLOW_THREADS handle = laze_tensor_load(NULL, text);
  Py_END_ALLOW_THREADS Py_DECREF(name);
  if (laze_tensor_status(handle) != LAZE_NOT_FOUND) return laze_python_tensor(handle);
  laze_tensor_take(handle);
  laze_python_raise(LAZE_PYTHON_NO_FILE, laze_tensor_error(handle));
  laze_tensor_release(handle);
  return NULL;
}

static PyObject *save(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *tensor, *path;
  if (!PyArg_ParseTuple(arguments, "OO:save", &tensor, &path)) return NULL;
  PyObject *name = path_of(path, "save");
  if (!name) return NULL;
  PyObject *saved = laze_python_from_any(tensor, LAZE_DTYPE_NONE, false);
  const char *text = PyBytes_AsString(name);
  laze_error error = {0};
  laze_status status = LAZE_OK;
  if (saved) {
    Py_BEGIN_ALLOW_THREADS status = laze_tensor_save(laze_python_handle(saved), text, &error);
    Py_END_ALLOW_THREADS Py_DECREF(saved);
  }
  Py_DECREF(name);
  if (!saved) return NULL;
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise(status, error.message);
}

/* ---- safetensors */

static PyObject *tensors_of(laze_safetensors *file) {
  PyObject *all = PyDict_New();
  for (int32_t i = 0; all && i < laze_safetensors_count(file); i++) {
    const char *name = laze_safetensors_get(file, i)->name;
    PyObject *tensor = laze_python_tensor(laze_tensor_from_safetensors(NULL, file, name));
    if (!tensor || PyDict_SetItemString(all, name, tensor) < 0) Py_CLEAR(all);
    Py_XDECREF(tensor);
  }
  return all;
}

static PyObject *notes_of(const laze_safetensors *file) {
  PyObject *all = PyDict_New();
  for (int32_t i = 0; all && i < laze_safetensors_note_count(file); i++) {
    const laze_safetensors_note *note = laze_safetensors_get_note(file, i);
    PyObject *value = PyUnicode_FromString(note->value);
    if (!value || PyDict_SetItemString(all, note->key, value) < 0) Py_CLEAR(all);
    Py_XDECREF(value);
  }
  return all;
}

static laze_safetensors *open_safetensors(PyObject *path, const char *where) {
  PyObject *name = path_of(path, where);
  laze_error error = {0};
  laze_safetensors *file = NULL;
  laze_status status;
  if (!name) return NULL;
  const char *text = PyBytes_AsString(name);
  Py_BEGIN_ALLOW_THREADS status = laze_safetensors_open(NULL, text, &file, &error);
  Py_END_ALLOW_THREADS Py_DECREF(name);
  if (status != LAZE_OK) laze_python_raise(status == LAZE_NOT_FOUND ? LAZE_PYTHON_NO_FILE : status, error.message);
  return file;
}

static PyObject *load_safetensors(PyObject *module, PyObject *path) {
  (void)module;
  laze_safetensors *file = open_safetensors(path, "load_safetensors");
  PyObject *all = file ? tensors_of(file) : NULL;
  laze_safetensors_release(file); /* tensors keep it */
  return all;
}

static PyObject *safetensors_metadata(PyObject *module, PyObject *path) {
  (void)module;
  laze_safetensors *file = open_safetensors(path, "safetensors_metadata");
  PyObject *all = file ? notes_of(file) : NULL;
  laze_safetensors_release(file);
  return all;
}

/* What is to be saved, with names and texts that are borrowed from the dicts. */
typedef struct {
  laze_named_tensor *tensors;
  laze_safetensors_note *notes;
  int32_t tensor_count, note_count;
} saved;

static bool take_saved(PyObject *tensors, PyObject *metadata, saved *out) {
  Py_ssize_t place = 0;
  PyObject *key, *value;
  const char *const where = "save_safetensors";
  while (PyDict_Next(tensors, &place, &key, &value)) {
    if (!PyUnicode_Check(key) || !laze_python_is_tensor(value))
      return laze_python_raise_type("%s: expected a dict of names and tensors, and %R is a %R", where, key,
                                    Py_TYPE(value)),
             false;
    laze_named_tensor *item = &out->tensors[out->tensor_count++];
    *item = (laze_named_tensor){laze_python_text(key, where), laze_python_handle(value)};
    if (!item->name) return false;
  }
  place = 0;
  while (metadata != Py_None && PyDict_Next(metadata, &place, &key, &value)) {
    if (!PyUnicode_Check(key) || !PyUnicode_Check(value))
      return laze_python_raise_type("%s: metadata is a dict of strings, and %R is a %R", where, key, Py_TYPE(value)),
             false;
    laze_safetensors_note *note = &out->notes[out->note_count++];
    *note = (laze_safetensors_note){laze_python_text(key, where), laze_python_text(value, where)};
    if (!note->key || !note->value) return false;
  }
  return true;
}

static PyObject *write_saved(const saved *all, PyObject *path) {
  PyObject *name = path_of(path, "save_safetensors");
  laze_error error = {0};
  laze_status status;
  if (!name) return NULL;
  const char *text = PyBytes_AsString(name);
  Py_BEGIN_ALLOW_THREADS status =
      laze_tensors_save(NULL, all->tensors, all->tensor_count, all->notes, all->note_count, text, &error);
  Py_END_ALLOW_THREADS Py_DECREF(name);
  return status == LAZE_OK ? laze_python_share(Py_None) : laze_python_raise(status, error.message);
}

static PyObject *save_safetensors(PyObject *module, PyObject *arguments, PyObject *names) {
  static char *words[] = {"tensors", "path", "metadata", NULL};
  PyObject *tensors, *path, *metadata = Py_None;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "O!O|O:save_safetensors", words, &PyDict_Type, &tensors, &path,
                                   &metadata))
    return NULL;
  if (metadata != Py_None && !PyDict_Check(metadata))
    return laze_python_raise_type("save_safetensors: metadata is a dict of strings, and not %R", metadata);
  saved all = {.tensors = PyMem_Calloc((size_t)PyDict_Size(tensors) + 1, sizeof *all.tensors)};
  all.notes = PyMem_Calloc((metadata == Py_None ? 0 : (size_t)PyDict_Size(metadata)) + 1, sizeof *all.notes);
  PyObject *result = NULL;
  if (!all.tensors || !all.notes)
    PyErr_NoMemory();
  else if (take_saved(tensors, metadata, &all))
    result = write_saved(&all, path);
  PyMem_Free(all.tensors);
  PyMem_Free(all.notes);
  return result;
}

static PyMethodDef functions[] = {
    {"load", load, METH_O, "load(path, /)\n--\n\nThe tensor in a .npy file."},
    {"save", save, METH_VARARGS,
     "save(tensor, path, /)\n--\n\nComputes the tensor and writes it to a .npy file, which appears whole or not at "
     "all."},
    {"load_safetensors", load_safetensors, METH_O,
     "load_safetensors(path, /)\n--\n\nThe tensors of a safetensors file by name, a dict. Their memory is the file's: "
     "it is mapped and not\nread, and must not be changed while they are in use; to replace it, save another of its "
     "name."},
    {"safetensors_metadata", safetensors_metadata, METH_O,
     "safetensors_metadata(path, /)\n--\n\nThe metadata of a safetensors file, a dict of strings."},
    {"save_safetensors", (PyCFunction)(void (*)(void))save_safetensors, METH_VARARGS | METH_KEYWORDS,
     "save_safetensors(tensors, path, metadata=None)\n--\n\nComputes a dict of names and tensors and writes it to a "
     "safetensors file, which appears whole or not\nat all; with metadata, a dict of strings."},
    {0},
};

int laze_python_add_files(PyObject *module) {
  return PyModule_AddFunctions(module, functions);
}
