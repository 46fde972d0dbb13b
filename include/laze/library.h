/* Operators of your own: declared by a schema, as operators of the tables are, with kernels for backends, and with
 * code for what stands above kernels where what laze makes of it is not enough.
 *
 *   define      "mine::scale(Tensor x, float by) -> Tensor"
 *   implement   a C function over elements, for all backends or for one
 *   call        laze_library_call(NULL, "mine::scale", arguments, 2, &y, 1)                  in C
 *               laze.ops.mine.scale(x, 0.5)                                                  in Python
 *               %1 = opaque [%0], name="mine::scale", reals=[0.5]                            in graph text
 *
 * A call goes through *keys*, top-down, and at each one code is called that is over tensors (not elements):
 *
 *   LAZE_KEY_AUTOGRAD        what gradients make of the call      none: nothing, a warning or an error (the mode)
 *   LAZE_KEY_VIEWS           what it writes to, and shares        computes values, and writes them; views of an
 * argument LAZE_KEY_FUNCTIONALIZE   from here on nothing is written      refuses schemas that write or share memory
 *   LAZE_KEY_BACKEND         the kernel                           records a node of the graph that calls the kernel
 *
 * On the right is what the *fallback* does, one function for each key that serves every operator.
 * laze_library_override() puts other code in its place, for one operator or for all. The kernel is called when the
 * graph runs, which the call does not cut: it is a node like any other (laze/opaque.h), found again in caches.
 *
 * Everything here may be called from any thread. Code of the caller's is called with no lock held, kernels on any
 * thread, several at once. `context` NULL is the default one. `self` is the library's once a function has been called
 * with it, and `release` is called, once, on any thread, when nothing can call the code any more; where the function
 * that takes it fails, before that one returns.
 */
#ifndef LAZE_LIBRARY_H
#define LAZE_LIBRARY_H

#include "laze/opaque.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- declaring --- */

/* Declares an operator: "namespace::name(arguments) -> results", or "namespace::name.overload(...)". Arguments are
 * Tensor, Tensor?, Tensor[], Scalar, int, SymInt, float, bool, ScalarType, str, int[], SymInt[], float[] and str[],
 * any with "?", a default, and "*" before those that have to be named. Results are Tensors: at most eight, counting the
 * arguments that are written to. "Tensor(a!) x" is written to; a result "Tensor(a!)" is that argument. "Tensor(a) x"
 * and a result "Tensor(a)" share memory, which the first argument and the first result alone may.
 * LAZE_INVALID_ARGUMENT: the schema is wrong, and the message says where; LAZE_UNSUPPORTED: it shares memory otherwise;
 * LAZE_FAILED_PRECONDITION: there is an operator of that name. */
LAZE_API LAZE_MUST_USE laze_status laze_library_define(laze_context *context, const char *schema, laze_error *error);
/* Takes an operator back, with its kernels and code. Calls that were recorded and not compiled yet are errors of the
 * values that need them; programs that are compiled keep the kernel. LAZE_NOT_FOUND: there is none. */
LAZE_API LAZE_MUST_USE laze_status laze_library_remove(laze_context *context, const char *name, laze_error *error);
/* The schema of an operator, as it was declared, into `text` of `size` bytes, NUL-terminated and cut where it does not
 * fit; *needed (may be NULL) gets the bytes of the whole without NUL. LAZE_NOT_FOUND: there is none. */
LAZE_API LAZE_MUST_USE laze_status laze_library_get_schema(laze_context *context, const char *name, char *text,
                                                           size_t size, size_t *needed, laze_error *error);

/* --- kernels --- */

/* An argument as kernels see it: `kind` is LAZE_PASS_NONE (absent), TENSOR, TENSORS, INTEGER (int, SymInt), REAL, BOOL,
 * DTYPE, STRING, INTEGERS, REALS or STRINGS. A Scalar is INTEGER, REAL or BOOL, and LAZE_PASS_DEFAULT where types are
 * asked for: it is a value that is not known then. */
typedef struct laze_library_value {
  int32_t kind;
  int32_t count; /* of a list */
  union {
    const laze_opaque_tensor *tensors; /* one, or count */
    int64_t integer;                   /* INTEGER, BOOL, DTYPE */
    double real;
    const char *string;
    const int64_t *integers;
    const double *reals;
    const char *const *strings;
  } value;
} laze_library_value;

/* One call of a kernel. All of it is borrowed for the time of the call. Elements are row-major; those of a tensor are
 * to be read only, but for arguments that the schema says are written to, which have their values at first. */
typedef struct laze_library_kernel_call {
  size_t struct_size;
  int32_t argument_count, result_count;
  const laze_library_value *arguments; /* one for each of the schema, in its order, with defaults */
  const laze_opaque_tensor *results; /* to be filled; a result that is an argument is that; NULL: types are asked for */
} laze_library_kernel_call;

/* Both return LAZE_OK, or another status with a message in `error`, and must not use tensors of laze. Kernels compute
 * from their arguments alone: laze calls them as often as it likes, and not where nobody reads the results. A kernel
 * that fails is the error of its results. `types` fills in results[i] for each result of the schema that is no
 * argument; it is called when the call is recorded and when it runs, and must say the same. */
typedef laze_status (*laze_library_kernel)(void *self, const laze_library_kernel_call *call, laze_error *error);
typedef laze_status (*laze_library_types)(void *self, const laze_library_kernel_call *call, laze_opaque_type *results,
                                          laze_error *error);

/* Gives an operator its kernel for a backend ("llvm", "interp"; NULL: every backend that has none of its own).
 * LAZE_NOT_FOUND: no such operator, or backend of this build; LAZE_FAILED_PRECONDITION: it has one. Calls that were
 * recorded before, and would use another kernel now, fail as those of an operator that was taken back. */
LAZE_API LAZE_MUST_USE laze_status laze_library_implement(laze_context *context, const char *name, const char *backend,
                                                          laze_library_kernel kernel, void *self,
                                                          void (*release)(void *self), laze_error *error);
/* Says which types its results have. Without, each has the type of the first argument that is a tensor, whatever its
 * sizes are, known or not. LAZE_NOT_FOUND, LAZE_FAILED_PRECONDITION as above. */
LAZE_API LAZE_MUST_USE laze_status laze_library_infer(laze_context *context, const char *name, laze_library_types types,
                                                      void *self, void (*release)(void *self), laze_error *error);

/* --- calling --- */

/* Records a call and writes its results to `results`, at most `capacity`; returns how many. What is wrong gives one
 * error handle, which says what. Results belong to the scope; one that is an argument is that handle. Arguments are
 * those of the schema, by position or by name (laze/argument.h), and borrowed. An operator without results gives none:
 * 0. The macro adds where the call stands. */
LAZE_API int32_t laze_library_call_at(laze_context *context, const char *name, const laze_argument *arguments,
                                      int32_t argument_count, laze_tensor **results, int32_t capacity, const char *file,
                                      int32_t line);
#ifndef LAZE_NO_MACROS
#define laze_library_call(...) laze_library_call_at(__VA_ARGS__, __FILE__, __LINE__)
#endif

/* --- code at keys --- */

#define LAZE_KEY_BACKEND 0
#define LAZE_KEY_FUNCTIONALIZE 1
#define LAZE_KEY_VIEWS 2
#define LAZE_KEY_AUTOGRAD 3

/* A call on its way. All of it is borrowed for the time that the code runs. */
typedef struct laze_library_dispatch {
  size_t struct_size;
  laze_context *context;
  const char *name;
  int32_t key; /* at which the code is called */
  int32_t argument_count, result_count;
  const laze_argument *arguments; /* one for each of the schema, in its order, with defaults; no names */
  const char *file;               /* where the call stands; NULL: unknown */
  int32_t line;
  const void *state; /* laze's own */
} laze_library_dispatch;

/* Writes a handle for each result; one that the schema says is an argument is that. It is called on the thread of the
 * call, with no lock held, and may use every function of laze. Another status than LAZE_OK is the error of the call. */
typedef laze_status (*laze_library_code)(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                         laze_error *error);

/* Has `code` called at a key, in place of the fallback, for one operator (NULL: for all that have none of their own).
 * LAZE_INVALID_ARGUMENT: no such key, or no code; LAZE_NOT_FOUND: no such operator; LAZE_FAILED_PRECONDITION: there is
 * code already. */
LAZE_API LAZE_MUST_USE laze_status laze_library_override(laze_context *context, const char *name, int32_t key,
                                                         laze_library_code code, void *self,
                                                         void (*release)(void *self), laze_error *error);
/* Takes the code back: the fallback is called again. LAZE_NOT_FOUND: there is none. */
LAZE_API LAZE_MUST_USE laze_status laze_library_restore(laze_context *context, const char *name, int32_t key,
                                                        laze_error *error);
/* Goes on with the call at the key below, from code that was given it; for a call with other arguments, change a copy.
 * LAZE_FAILED_PRECONDITION: there is no key below. */
LAZE_API LAZE_MUST_USE laze_status laze_library_redispatch(const laze_library_dispatch *call, laze_tensor **results,
                                                           laze_error *error);

/* --- gradients --- */

/* What the fallback at LAZE_KEY_AUTOGRAD makes of a call with a tensor that requires a gradient. */
#define LAZE_FALLBACK_NOTHING 0 /* no node, and not a word: results require no gradient. At first */
#define LAZE_FALLBACK_WARN 1    /* a node that gives no gradients, and logs a warning in each pass that comes to it */
#define LAZE_FALLBACK_ERROR 2   /* laze_library_not_implemented() */
/* Sets it; in *before, if that is not NULL, what it was. LAZE_INVALID_ARGUMENT: there is no such mode. */
LAZE_API LAZE_MUST_USE laze_status laze_library_set_fallback(laze_context *context, int32_t mode, int32_t *before,
                                                             laze_error *error);
/* Code for LAZE_KEY_AUTOGRAD: results of floats and complex numbers get a node whose pass, backward or forward, is an
 * error with the operator's name; what is written to has such a history from then on, and may be no leaf that requires
 * a gradient. `self` is not looked at. */
LAZE_API LAZE_MUST_USE laze_status laze_library_not_implemented(void *self, const laze_library_dispatch *call,
                                                                laze_tensor **results, laze_error *error);

/* What `backward` of an operator is called with. */
typedef struct laze_library_gradient_call {
  size_t struct_size;
  int32_t argument_count, input_count, output_count;
  const laze_argument *arguments; /* of the forward call; tensors among them are `inputs` */
  laze_tensor *const *inputs;     /* the tensors among the arguments, in their order, those of lists too */
  laze_tensor *const *outputs;    /* the results */
  laze_tensor *const *given;      /* a gradient for each result */
  const int32_t *needed;          /* of each input: whether its gradient is asked for */
} laze_library_gradient_call;
/* Writes a gradient for each input to `results`; NULL, which is there at first, stands for zeros. */
typedef laze_status (*laze_library_backward)(void *self, const laze_library_gradient_call *call, laze_tensor **results,
                                             laze_error *error);
/* Says what the gradients of an operator are: code for LAZE_KEY_AUTOGRAD. Of operators that write to nothing and share
 * no memory (LAZE_UNSUPPORTED otherwise). Fails as laze_library_override() does. */
LAZE_API LAZE_MUST_USE laze_status laze_library_differentiate(laze_context *context, const char *name,
                                                              laze_library_backward backward, void *self,
                                                              void (*release)(void *self), laze_error *error);

/* --- checks --- */

/* Whether what is registered is watched, which costs time and memory: 1 at first in builds with assertions. A kernel
 * that writes to what it may only read, outside of its results or to their descriptions, and code at a key that
 * exchanges the values of its arguments, gives a tensor that shares memory for one that is new, or the other way
 * round, are errors of their calls, with the operator's name. Returns what it was. */
LAZE_API int32_t laze_library_check_kernels(laze_context *context, int32_t enabled);

#ifdef __cplusplus
}
#endif
#endif
