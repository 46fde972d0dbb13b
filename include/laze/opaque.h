/* Kernels of your own inside of graphs: a C function that computes tensors from tensors, under a name.
 *
 *   register "scale"  ──>  laze_opaque_record(context, "scale", LAZE_TENSORS(x), ...)     in C
 *                          laze.opaque("scale", [x], reals=[0.5])                         in Python
 *                          %1 = opaque [%0], name="scale", reals=[0.5]                    in graph text
 *
 * Such a call is recorded like any other and does not cut the graph: what stands before and behind it is one program,
 * on every backend. laze may call the function as often as it likes, or not at all where nobody reads the results, and
 * take one call for two with equal operands: it must compute from its operands and lists alone.
 */
#ifndef LAZE_OPAQUE_H
#define LAZE_OPAQUE_H

#include "laze/call.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LAZE_OPAQUE_MAX_RANK 16
#define LAZE_OPAQUE_MAX_RESULTS 8

/* A tensor as kernels see it: row-major elements. */
typedef struct laze_opaque_tensor {
  laze_dtype dtype; /* LAZE_DTYPE_NONE: a result that is absent */
  int32_t rank;
  const int64_t *sizes;
  void *data; /* of operands to be read only; NULL where types are asked for, and of what is absent */
} laze_opaque_tensor;

/* One call. All of it is borrowed for the time of the call. */
typedef struct laze_opaque_call {
  size_t struct_size;
  int32_t operand_count, result_count;
  const laze_opaque_tensor *operands;
  const laze_opaque_tensor *results; /* NULL where types are asked for */
  laze_ints integers;                /* what the caller passed besides */
  laze_reals reals;
  laze_strings strings;
} laze_opaque_call;

/* What a result is. */
typedef struct laze_opaque_type {
  laze_dtype dtype; /* LAZE_DTYPE_NONE: the result is absent, NULL as a tensor, None in Python */
  int32_t rank;
  int64_t sizes[LAZE_OPAQUE_MAX_RANK];
} laze_opaque_type;

/* Both return LAZE_OK, or another status with a message in `error`, which names the kernel to whoever reads a result.
 * They may be called on any thread, several at once, and must not use tensors of laze. `infer` fills in
 * call->result_count types; it may be called before and while graphs run and must give the same for the same operands'
 * types and lists. */
typedef laze_status (*laze_opaque_infer)(void *self, const laze_opaque_call *call, laze_opaque_type *results,
                                         laze_error *error);
typedef laze_status (*laze_opaque_run)(void *self, const laze_opaque_call *call, laze_error *error);

/* Zero-initialise, set struct_size, name and run. */
typedef struct laze_opaque_options {
  size_t struct_size; /* sizeof(laze_opaque_options) */
  const char *name;   /* copied */
  /* What tells programs of this kernel from those of others that had its name; no two of a name may share one. 0: one
   * more than the last. */
  int32_t version;
  int32_t result_count;    /* 0: one; at most LAZE_OPAQUE_MAX_RESULTS */
  laze_opaque_infer infer; /* NULL: every result has the type of the first operand, whatever its sizes are */
  laze_opaque_run run;
  void *self;                  /* what both get */
  void (*release)(void *self); /* NULL: nothing to release */
} laze_opaque_options;

/* Gives the context (NULL: the default) a kernel. LAZE_INVALID_ARGUMENT: an option is wrong;
 * LAZE_FAILED_PRECONDITION: there is one of that name, or was one of that version. `self` is the library's until
 * `release` is called, once, on any thread: when the kernel is not registered any more and the last program that calls
 * it has gone; where registering fails, before it returns. */
LAZE_API LAZE_MUST_USE laze_status laze_opaque_register(laze_context *context, const laze_opaque_options *options,
                                                        laze_error *error);
/* Takes the name back. Calls that were recorded and not compiled yet fail; programs that are compiled keep the kernel.
 * LAZE_NOT_FOUND: there is none. */
LAZE_API LAZE_MUST_USE laze_status laze_opaque_unregister(laze_context *context, const char *name, laze_error *error);

/* Records a call of `operands` (borrowed, of any types that the kernel's rule takes; of one context) and writes its
 * results to `results`, at most `capacity`; returns how many. They belong to the scope, as those of every call; an
 * absent one is NULL. What is wrong gives one error handle, which says what. Lists are copied. Thread-safe, as all
 * three are. The macro adds where the call stands. */
LAZE_API int32_t laze_opaque_record_at(laze_context *context, const char *name, laze_tensor *const *operands,
                                       int32_t operand_count, laze_ints integers, laze_reals reals,
                                       laze_strings strings, laze_tensor **results, int32_t capacity, const char *file,
                                       int32_t line);
#ifndef LAZE_NO_MACROS
#define laze_opaque_record(...) laze_opaque_record_at(__VA_ARGS__, LAZE_HERE)
#endif

#ifdef __cplusplus
}
#endif
#endif
