/* The package's C side: what its files offer each other.
 *
 *   laze.add(x, 2)         operator.c   an object for each base name of the schemas, made at import
 *        │  operator_call.c   arguments by position and by name
 *        │  argument.c     Python objects become laze_arguments, by what the schemas take
 *        v  call.c         laze_call_by_name_at, with the caller's file and line; failures become exceptions
 *        │  range.c        numbers that the result's dtype does not hold
 *   Tensor                 tensor.c     owns one handle, and no Python object
 *        │  number.c, index.c   Python's operators and x[...], all as calls by name
 *        │  form.c         what follows from dtype and sizes
 *        v  convert.c      item, tolist, repr
 *   gradients              autograd.c   what tensors have of them, and passes; autograd.py is over it
 *   training               optim.c      optimisers; optim/ and nn/ are over it
 *   graphs                 graph.c      what functions do, traced; jit.py is over it
 *                          build.c      what a front end builds call by call
 *                          program.c    what that is compiled to, and its runs on tensors of other libraries
 *   PyTorch's device       device.c     its tensors, and kernels that PyTorch calls with them
 *                          device_guard.c   what kind of device it is
 *   declared operators     library.c    their calls, and Python's code as kernels; library.py is over it
 *   memory                 buffer.c, dlpack.c, create.c, lent.c   NumPy and others, without copies if possible
 *
 * Functions that give a PyObject * give a new reference, or NULL with an exception set. Everything but what says
 * otherwise needs the GIL. State is the process's, not the module's: laze has one default context, and the module
 * refuses to be imported by a subinterpreter.
 */
#ifndef LAZE_PYTHON_BINDING_H
#define LAZE_PYTHON_BINDING_H

#include "abi.h"

#include "laze/autograd.h"
#define LAZE_NO_LOCATIONS /* callers stand in Python */
#include "laze/call.h"
#include "laze/context.h"
#include "laze/dtype.h"
#include "laze/graph.h"
#include "laze/schema.h"
#include "laze/status.h"
#include "laze/tensor.h"

#include <stdbool.h>
#include <stdint.h>

/* The largest rank that comes in and goes out. */
#define LAZE_PYTHON_MAX_RANK 64

/* ---- module.c: methods and types are added to the module by what defines them; 0 or -1. */
int laze_python_add_errors(PyObject *module);
int laze_python_add_dtypes(PyObject *module);
int laze_python_add_tensor(PyObject *module);
int laze_python_add_form(PyObject *module);
int laze_python_add_operators(PyObject *module);
int laze_python_add_scopes(PyObject *module);
int laze_python_add_files(PyObject *module);
int laze_python_add_gradients(PyObject *module);
int laze_python_add_duals(PyObject *module);
int laze_python_add_histories(PyObject *module);
int laze_python_add_optimisers(PyObject *module);
int laze_python_add_graphs(PyObject *module);
int laze_python_add_builders(PyObject *module);
int laze_python_add_programs(PyObject *module);
int laze_python_add_device(PyObject *module);
int laze_python_add_device_guard(PyObject *module);
int laze_python_add_library(PyObject *module);
int laze_python_add_compiled(PyObject *module);
/* Has Ctrl-C and progress looked at while laze compiles and runs. */
int laze_python_watch(void);

/* Py_tp_new of types whose objects only the package makes. */
PyObject *laze_python_refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *names);
/* The end of Py_tp_dealloc: the memory of an object, and its reference to the type. */
void laze_python_free(PyObject *self);

/* ---- error.c */
/* A status for laze_python_raise: LAZE_NOT_FOUND of a file. */
#define LAZE_PYTHON_NO_FILE 1000
/* Sets the exception that fits a status, with the message in words of Python: what C calls laze_tensor_retain_grad() is
 * retain_grad(). Gives NULL. */
PyObject *laze_python_raise(laze_status status, const char *message);
/* The same of a run that Ctrl-C may have stopped, which is what is raised then. */
PyObject *laze_python_raise_error(laze_status status, const laze_error *error);
/* A TypeError that is a laze.Error, too; gives NULL. */
PyObject *laze_python_raise_type(const char *format, ...);
/* An integer of Python's as one of 64 bits; `where` names the function in the message of the error that it has none. */
bool laze_python_integer(PyObject *integer, const char *where, int64_t *out);
/* The same as a number, up to the largest of uint64. */
bool laze_python_whole_number(PyObject *integer, const char *where, laze_scalar *out);
/* The exception of a number that an integer dtype does not hold, and of one that has no room as a number at all, which
 * `kind` names ("a 64-bit integer"); both give NULL. */
PyObject *laze_python_raise_overflow(const char *format, ...);
PyObject *laze_python_raise_too_large(PyObject *integer, const char *where, const char *kind);
/* The text of a string of Python's, borrowed; NULL, with an exception, where it has none: lone surrogates. */
const char *laze_python_text(PyObject *string, const char *where);
/* Sets the exception of a handle whose call or read has failed; gives NULL. */
PyObject *laze_python_raise_tensor(laze_tensor *handle);
/* Whether the exception is an InvalidArgumentError, and two that make it one of the same message that is a TypeError,
 * or an IndexError. */
bool laze_python_error_is_invalid(void);
void laze_python_raise_as_type(void);
void laze_python_raise_as_index(void);

/* ---- watch.c */
/* Sets what stopped the work on this thread, if anything did. */
bool laze_python_raise_interrupt(void);
/* Ends the line that says what is compiled: where the work has failed, nothing else does. */
void laze_python_progress_end(void);

/* ---- dtype.c */
/* The object of a dtype; borrowed, static. NULL where there is none (no exception). */
PyObject *laze_python_dtype(laze_dtype dtype);
/* "float32" for LAZE_F32. */
const char *laze_python_dtype_name(laze_dtype dtype);
/* What any object means as a dtype: laze's own, NumPy's, torch's, Python's float, int and bool, or a name. False, with
 * a TypeError, where it means none. */
bool laze_python_dtype_from(PyObject *object, laze_dtype *out);
bool laze_python_is_dtype(PyObject *object);
/* Between dtypes and the formats of the buffer protocol. NULL, and LAZE_DTYPE_NONE: there is none. */
const char *laze_python_dtype_format(laze_dtype dtype);
laze_dtype laze_python_dtype_of_format(const char *format, Py_ssize_t size);
/* 'b' bool, 'i' integer, 'u' unsigned, 'f' floating, 'c' complex. */
char laze_python_dtype_kind(laze_dtype dtype);

/* ---- tensor.c */
bool laze_python_is_tensor(PyObject *object);
/* Borrowed. */
laze_tensor *laze_python_handle(PyObject *tensor);
/* A Tensor that owns a handle just made, or its error as an exception. */
PyObject *laze_python_tensor(laze_tensor *handle);
/* The sizes of a tensor as a tuple. */
PyObject *laze_python_shape(laze_tensor *handle);
/* The size of an axis there is, and the number of elements; computed, without the GIL, where they follow from values.
 * False: an exception is set. */
bool laze_python_size(laze_tensor *handle, int32_t axis, int64_t *out);
bool laze_python_elements(laze_tensor *handle, int64_t *out);
/* The handles of a tuple of tensors, to be freed (`optional`: None is NULL); NULL with an exception, whose format
 * `refusal` takes the place and the type of what is no tensor. */
laze_tensor **laze_python_handles(PyObject *tensors, bool optional, const char *refusal);
/* Whether all sizes are known without computing anything. */
bool laze_python_knows_shape(laze_tensor *handle);

/* ---- scope.c */
/* Whether a `with laze.step():` is open on this thread. */
bool laze_python_in_step(void);

/* ---- autograd.c: attributes and methods of tensors */
/* A tensor of the same values, with memory and history of its own. */
PyObject *laze_python_copy_values(laze_tensor *handle);
PyObject *laze_python_get_requires_grad(PyObject *tensor, void *closure);
int laze_python_set_requires_grad(PyObject *tensor, PyObject *value, void *closure);
PyObject *laze_python_require_grad(PyObject *tensor, PyObject *arguments, PyObject *names);
PyObject *laze_python_get_is_leaf(PyObject *tensor, void *closure);
PyObject *laze_python_get_grad(PyObject *tensor, void *closure);
int laze_python_set_grad(PyObject *tensor, PyObject *value, void *closure);
PyObject *laze_python_detach(PyObject *tensor, PyObject *unused);
PyObject *laze_python_detach_itself(PyObject *tensor, PyObject *unused);
PyObject *laze_python_copy_leaf(PyObject *tensor, PyObject *unused);
PyObject *laze_python_backward(PyObject *tensor, PyObject *arguments, PyObject *names);
/* Whether a tensor requires a gradient, for which `what` does not give its memory away: an exception of this class
 * (NULL: that of an object in the wrong state) is set. */
bool laze_python_refuse_gradient(PyObject *tensor, PyObject *exception, const char *what);

PyObject *laze_python_retain_grad(PyObject *tensor, PyObject *unused);
PyObject *laze_python_get_retains_grad(PyObject *tensor, void *closure);
PyObject *laze_python_is_inference(PyObject *tensor, PyObject *unused);

/* ---- history.c: hooks and functions of Python's */
PyObject *laze_python_register_hook(PyObject *tensor, PyObject *hook);
PyObject *laze_python_register_accumulated_hook(PyObject *tensor, PyObject *hook);
PyObject *laze_python_get_node(PyObject *tensor, void *closure);
/* What a pass of this thread keeps for its hooks and functions. Passes are begun and ended with the GIL, by the
 * function that calls the library; `failed`: it did. Ending tells whether it has set the exception that one of them
 * raised. */
typedef struct laze_python_pass laze_python_pass;
struct laze_python_pass {
  laze_python_pass *outer;
  PyObject *kept;                 /* a list of what they gave, or NULL */
  PyObject *type, *value, *trace; /* what was raised, or NULL */
};
void laze_python_pass_begin(laze_python_pass *pass);
bool laze_python_pass_end(laze_python_pass *pass, bool failed);
/* The same with what the library said: false, with an exception, where it failed. */
bool laze_python_pass_finish(laze_python_pass *pass, laze_status status, const laze_error *error);
/* Within one: keeps what code gave, so that its handle lives until the pass has looked at it (false: an exception is
 * set); and keeps the exception that is set, for the pass's end. */
bool laze_python_pass_keep(PyObject *object);
laze_status laze_python_pass_exception(laze_error *error);
/* Calls code(*tensors), which gives a tuple of `capacity` tensors at most; inputs and outputs live until the pass ends,
 * with which what it raises is raised. With the GIL. */
laze_status laze_python_call_kept(PyObject *code, laze_tensor *const *inputs, int32_t input_count,
                                  laze_tensor **outputs, int32_t capacity, laze_error *error);

/* ---- convert.c: values out of tensors */
PyObject *laze_python_item(PyObject *tensor);
PyObject *laze_python_list(PyObject *tensor);
/* The elements' bytes, also of dtypes that the buffer protocol has no format for. */
PyObject *laze_python_bytes(PyObject *tensor);
PyObject *laze_python_repr(PyObject *tensor);
/* The value of a tensor of one element. `where` begins a message about one of more, and may be NULL. */
bool laze_python_scalar(PyObject *tensor, const char *where, laze_scalar *out);

/* ---- create.c */
/* A tensor of numbers in nested lists; LAZE_DTYPE_NONE: what they are. */
PyObject *laze_python_from_lists(PyObject *data, laze_dtype dtype);
/* A tensor of anything: a tensor as it is, memory without a copy where that can be (`copy`: never), or lists. */
PyObject *laze_python_from_any(PyObject *data, laze_dtype dtype, bool copy);
PyObject *laze_python_cast(PyObject *tensor, laze_dtype dtype);

/* ---- buffer.c, dlpack.c: memory of others */
int laze_python_buffer_get(PyObject *tensor, Py_buffer *view, int flags);
void laze_python_buffer_release(PyObject *tensor, Py_buffer *view);
PyObject *laze_python_from_buffer(PyObject *object, bool copy);
PyObject *laze_python_to_array(PyObject *tensor, PyObject *dtype, bool copy);
PyObject *laze_python_to_dlpack(PyObject *tensor, PyObject *arguments, PyObject *names);
PyObject *laze_python_from_dlpack(PyObject *object);
/* Whether the object has the attribute; a class, which says of its instances what they have, has none. */
bool laze_python_has(PyObject *object, const char *name);
bool laze_python_has_dlpack(PyObject *object);

/* ---- lent.c: memory of Python that laze borrows. The callback that ends a loan comes on any thread, with the GIL or
 * without it, also while the interpreter goes away: it only notes what is to be given back. */
typedef struct laze_python_loan laze_python_loan;
struct laze_python_loan {
  Py_buffer view;
  PyObject *object; /* NULL, or a reference in place of the view */
  laze_python_loan *next;
};
/* For laze_tensor_borrow; `loan` is a laze_python_loan from malloc. Needs no GIL. */
void laze_python_loan_end(void *loan);
/* The same for a reference of an object. */
void laze_python_object_end(PyObject *object);
/* Gives back what was noted. */
void laze_python_loans_settle(void);

/* ---- argument.c */
enum { LAZE_PYTHON_MAX_ARGUMENTS = 32, LAZE_PYTHON_MAX_OUT = 8 };
/* A set of LAZE_TAKES_...; 0: nothing is known, and what the object is decides. */
typedef uint32_t laze_python_takes;
#define LAZE_PYTHON_TAKES(what) ((laze_python_takes)1 << (what))
/* Besides: integers that are sizes (SymInt), which tensors may be without being computed. */
#define LAZE_PYTHON_TAKES_SIZE LAZE_PYTHON_TAKES(31)
laze_python_takes laze_python_takes_of(const laze_operator_argument *argument);

typedef struct laze_python_arguments {
  laze_argument items[LAZE_PYTHON_MAX_ARGUMENTS];
  int32_t count;
  uint32_t numbers; /* by item: a number that becomes an element, and that not every dtype holds */
  PyObject *held;   /* a list of what the items point into, or NULL */
  /* LAZE_IN_PLACE, LAZE_OUT: the results go to a tensor, or a tuple of them, borrowed, which the call gives then; 0:
   * they are new tensors. */
  int32_t form;
  PyObject *destinations;
  const char *called; /* what messages name then */
} laze_python_arguments;
/* Of a complex number of Python's. */
laze_scalar laze_python_complex(PyObject *object);
/* Appends what `object` is. `where` names function and argument in messages. False: an exception is set. */
bool laze_python_argument_add(laze_python_arguments *arguments, PyObject *object, laze_python_takes takes,
                              const char *where);
/* Appends integers; `sizes`: of which some may be tensors, and stay so. */
bool laze_python_argument_add_integers(laze_python_arguments *arguments, PyObject *const *items, Py_ssize_t count,
                                       bool sizes, const char *where);
/* Keeps an object until the call is over; takes the reference. False where it is NULL, or there is no memory. */
bool laze_python_argument_hold(laze_python_arguments *arguments, PyObject *object);
void laze_python_arguments_clear(laze_python_arguments *arguments);
/* Whether an object is an integer that may stand in a list of sizes: no bool, no tensor with a dtype of floats. */
bool laze_python_is_integer(PyObject *object);

/* ---- range.c */
/* Whether a number keeps its value in a dtype of integers (of floats, only the fraction of an integer's float is lost).
 * False: an exception that names `where` is set. */
bool laze_python_check_range(const char *where, laze_scalar number, laze_dtype dtype);
/* The same for the numbers of a call that gave `result`. */
bool laze_python_check_numbers(const char *where, const laze_python_arguments *arguments, laze_dtype result);
/* Has the tensors of a comparison taken as int64 where a number beside them has no place in their dtype. True: some
 * are, and the call is to be made again; false with an exception, or where all had a place. */
bool laze_python_widen(const char *where, laze_python_arguments *arguments);

/* ---- graph.c */
/* The text of a graph, a str; NULL: an exception is set. */
PyObject *laze_python_graph_text(const laze_graph *graph);

/* ---- strides.c */
/* How a tensor lies in memory: sizes and steps, in elements. */
typedef struct laze_python_layout {
  int32_t rank;
  int64_t offset;
  const int64_t *sizes, *strides;
} laze_python_layout;
/* What lies like that, which has elements, in a row-major value: the value itself, or a view of it, which the caller
 * releases. An error handle where it cannot be. Needs no GIL. */
laze_tensor *laze_python_view(laze_tensor *value, const laze_python_layout *layout);
/* A view of all bytes of a value as elements of another dtype, without dims but one; the caller's. */
laze_tensor *laze_python_view_bytes(laze_tensor *value, laze_dtype dtype);

/* ---- program.c */
/* A Program of a graph, which must not change any more. */
PyObject *laze_python_program(laze_graph *graph);

/* ---- build.c */
/* Whether it is a value of a graph that is being built, and which. */
bool laze_python_is_value(PyObject *object);
laze_value laze_python_value(PyObject *object);

/* ---- call.c */
/* Where the caller stands in Python. `file` is NULL where nobody knows, and lives as long as the process. */
typedef struct laze_python_place {
  const char *file;
  int32_t line;
} laze_python_place;
laze_python_place laze_python_find_place(void);
/* The same for what computes, which only saved graphs tell (LAZE_SAVE_GRAPHS): nowhere without them. */
laze_python_place laze_python_find_reader(void);
/* Calls an operator: a Tensor, or a tuple of them where it gives several (`count` of results, may be NULL). */
PyObject *laze_python_call(const char *name, laze_python_arguments *arguments, int32_t *count);
/* The same with Python objects, None for what is absent; for calls that the package makes itself. */
PyObject *laze_python_call_objects(const char *name, PyObject *const *objects, int32_t count);
/* The form in place of an operator of two arguments: gives `left`, which has the result. */
PyObject *laze_python_call_in_place(const char *name, const char *called, PyObject *left, PyObject *right);
/* With tensors (which may be NULL in error: gives NULL) and integers: `format` has 'T' for a PyObject *, 'i' for an
 * int64_t, 'I' for an int32_t count and an int64_t const *. */
PyObject *laze_python_call_format(const char *name, const char *format, ...);

/* Where the caller's Python stands, outside of files whose names end in `own`; the name lives as long as the process,
 * NULL: unknown. */
const char *laze_python_place_outside(const char *own, int32_t *line);

/* ---- generator.c: where the numbers of random operators come from, when a call names no seed and offset */
void laze_python_generator_next(int64_t *seed, int64_t *offset);
void laze_python_generator_advance(int64_t elements);
PyObject *laze_python_manual_seed(PyObject *module, PyObject *seed);
/* laze.get_rng_state() and laze.set_rng_state(): seed and offset as a tensor. */
PyObject *laze_python_get_generator(PyObject *module, PyObject *unused);
PyObject *laze_python_set_generator(PyObject *module, PyObject *tensor);

/* ---- signature.c: of the operators that share a base name */
PyObject *laze_python_signature(const laze_operator *const *overloads, int32_t count, bool in_place);
PyObject *laze_python_document(const char *name, const laze_operator *const *overloads, int32_t count, bool in_place);

/* ---- index.c */
PyObject *laze_python_subscript(PyObject *tensor, PyObject *index);
/* tensor[index] = value; 0 or -1. */
int laze_python_assign(PyObject *tensor, PyObject *index, PyObject *value);
/* Element `i` of the first axis. */
PyObject *laze_python_select(PyObject *tensor, int64_t axis, int64_t i);

/* ---- number.c */
extern PyType_Slot laze_python_number_slots[];
PyObject *laze_python_compare(PyObject *left, PyObject *right, int operation);

#endif
