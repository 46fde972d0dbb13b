/* Compiling graphs (laze/graph.h), and running what they are compiled to on arrays (laze/buffer.h).
 *
 *   laze_compiled *dense;
 *   laze_array *y = NULL;
 *   laze_compile_graph(graph, NULL, &dense, &error);
 *   laze_compiled_run(dense, (laze_array *[]){x, w}, 2, &y, 1, &error);
 *
 * Sizes that have names in the graph stay open: code is generated once, and each combination of numbers that inputs
 * bring costs a memory plan. Where the graph's operators ask something of a size whose answer differs (whether it is 1,
 * say), code is made for both. Kernels are kept on disk, so that another process that compiles the same graph, read
 * from its file (laze_graph_load()), generates none.
 */
#ifndef LAZE_COMPILE_H
#define LAZE_COMPILE_H

#include "laze/buffer.h"
#include "laze/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What runs graphs: "llvm" (native code) or "interp" (the reference interpreter). Static. */
typedef struct laze_backend laze_backend;

/* The backend of that name; NULL: the context's choice (laze_context_options), or else the best one built. The context
 * may be NULL: the default. LAZE_NOT_FOUND names those there are. */
LAZE_API LAZE_MUST_USE laze_status laze_backend_find(laze_context *context, const char *name, const laze_backend **out,
                                                     laze_error *error);
/* The index-th backend of this build, best first; NULL past the end. */
LAZE_API const laze_backend *laze_backend_at(int32_t index);
LAZE_API const char *laze_backend_name(const laze_backend *backend);
LAZE_API const char *laze_backend_description(const laze_backend *backend);

/* --- what the interpreter runs for a backend that generates code --- */

/* Whether an operator without native code is an error (1) or run on the interpreter inside of the graph (0, unless
 * LAZE_STRICT=1 is in the environment), which "fallbacks" counts, and "fallback::" with the operator's name behind it
 * (laze_metric_read). The error comes where a graph is compiled, so of tensors from the read that needs it, which
 * leaves them as they were; its message names operator, place and reason. Returns what it was. From any thread; what is
 * compiled from now on goes by it. */
LAZE_API int32_t laze_set_strict(laze_context *context, int32_t strict);
/* Leaves an operator ("exp", "add.Tensor") to the interpreter (1), to tell a fault of its native code from others, or
 * not (0). It has a step of its own then, and is fused with nothing; inside of a reduction's own region it is as
 * before. What is compiled from now on goes by it; graphs that tensors record are compiled anew. LAZE_NOT_FOUND: there
 * is no such operator; LAZE_UNSUPPORTED: it is none that is ever run as it is: a composite, whose parts can be forced,
 * or part of the structure of graphs. From any thread. */
LAZE_API LAZE_MUST_USE laze_status laze_force_fallback(laze_context *context, const char *name, int32_t forced,
                                                       laze_error *error);

/* A compiled graph: counted, immutable to whoever uses it, and run by any number of threads at once. */
typedef struct laze_compiled laze_compiled;

/* Zero-initialise, set struct_size, and set what should differ from the default. */
typedef struct laze_compile_options {
  size_t struct_size;          /* sizeof(laze_compile_options) */
  const laze_backend *backend; /* NULL: as laze_backend_find() */
  /* Numbers for the graph's sizes, in the order of laze_graph_symbol(), with which code is made at once; -1: any; NULL:
   * all -1. Runs have the numbers of their inputs, but what no input gives is this. */
  const int64_t *sizes;
  int32_t size_count;
  int32_t reserved;
} laze_compile_options;

/* Compiles a graph, which is kept and must not be changed any more. Where the numbers that it is compiled with at first
 * are none that it allows, code is made by the first run. LAZE_UNSUPPORTED: the backend cannot do it. *out is the
 * caller's. */
LAZE_API LAZE_MUST_USE laze_status laze_compile_graph(laze_graph *graph, const laze_compile_options *options,
                                                      laze_compiled **out, laze_error *error);
/* Whether the backend has native code for all of a graph, as laze_compile_graph() would compile it; nothing is
 * generated. LAZE_UNSUPPORTED: the interpreter would run something, and the message names the first operator, where it
 * is from and why. ("interp" runs everything: LAZE_OK.) So a plugin asks whether an operator is lowered for some
 * dtypes: it records a call on inputs of them, which says whether the operator takes them at all, and checks the graph.
 */
LAZE_API LAZE_MUST_USE laze_status laze_compile_check(laze_graph *graph, const laze_compile_options *options,
                                                      laze_error *error);
/* NULL is ignored. */
LAZE_API void laze_compiled_retain(laze_compiled *compiled);
/* NULL is ignored. */
LAZE_API void laze_compiled_release(laze_compiled *compiled);
/* Borrowed. */
LAZE_API laze_graph *laze_compiled_graph(const laze_compiled *compiled);

/* Runs it on an array for each input, in their order. outputs[i] NULL: receives a new array, the caller's; an array of
 * the result's type: its elements are written, which nobody else may look at meanwhile, and which is no input's memory.
 * Inputs are left as they are. LAZE_INVALID_ARGUMENT: an array has another type than the graph says, or inputs
 * contradict each other about a size; LAZE_OUT_OF_RANGE: an index in the data is. On failure arrays that were NULL
 * still are, and the contents of others are undefined. */
LAZE_API LAZE_MUST_USE laze_status laze_compiled_run(laze_compiled *compiled, laze_array *const *inputs,
                                                     int32_t input_count, laze_array **outputs, int32_t output_count,
                                                     laze_error *error);

/* The same, where inputs for which `donated` is not 0 are not needed any more: their elements are undefined behind the
 * run, and an output may be in their memory (buffers_donated counts those), where the array is the caller's alone, its
 * memory laze's own, and read before the output is written. `donated` has an entry for each input; NULL: none. */
LAZE_API LAZE_MUST_USE laze_status laze_compiled_run_donating(laze_compiled *compiled, laze_array *const *inputs,
                                                              const int32_t *donated, int32_t input_count,
                                                              laze_array **outputs, int32_t output_count,
                                                              laze_error *error);

/* Row-major memory of the caller's, aligned to the dtype's size. */
typedef struct laze_memory {
  laze_dtype dtype;
  laze_ints sizes;
  void *data;
  size_t size; /* bytes, which must be what the type takes */
} laze_memory;

/* The same on memory: the elements of each input are read and those of each output written, where they are, and nothing
 * is kept of it. An output's memory is no other's. The bytes of an input's bools must be 0 or 1, which is not looked
 * at: what is computed from others is undefined. */
LAZE_API LAZE_MUST_USE laze_status laze_compiled_run_on_memory(laze_compiled *compiled, const laze_memory *inputs,
                                                               int32_t input_count, const laze_memory *outputs,
                                                               int32_t output_count, laze_error *error);

/* What one run takes. Zero-initialise and set struct_size. */
typedef struct laze_cost {
  size_t struct_size;  /* sizeof(laze_cost) */
  int64_t kernels;     /* launches of one, loops aside */
  int64_t interpreted; /* of these, such as have no native code */
  int64_t work; /* bytes moved plus operations, an estimate, 0 where a backend has none; of a loop's region once */
  int64_t temporary_bytes; /* between inputs and outputs */
  int64_t output_bytes;    /* what sizes say beforehand */
  int64_t constant_bytes;  /* of the graph */
  int64_t instances;       /* of kernels: a launch runs one for all groups of operators that are alike and apart */
  int64_t bytes;           /* of `work`: what kernels read and write, */
  int64_t operations;      /* and operations on elements */
  int64_t input_bytes;
  int64_t peak_bytes; /* memory for all of them while it runs: inputs, constants, temporary values and outputs */
} laze_cost;
/* The cost of a run where sizes are as given (as in laze_compile_options; with every one that no run finds). */
LAZE_API LAZE_MUST_USE laze_status laze_compiled_cost(laze_compiled *compiled, const int64_t *sizes, int32_t size_count,
                                                      laze_cost *out, laze_error *error);

/* --- Saving what is compiled --- */

/* What laze_compiled_deserialise() makes the same of, in another process: the graph with its constants, the backend,
 * the numbers of sizes that it has been compiled with and run for so far, and the native code for them. *out is the
 * caller's, an array of LAZE_U8. From any thread, while it runs as well. */
LAZE_API LAZE_MUST_USE laze_status laze_compiled_serialise(laze_compiled *compiled, laze_array **out,
                                                           laze_error *error);
/* Code that does not fit is refused; otherwise the graph is compiled anew, and the log says so. What was saved without
 * code, for there was no telling which LLVM made it, is compiled anew either way. */
#define LAZE_LOAD_EXACT 1
/* The compiled graph of `size` bytes, which may go then; nothing is compiled where the code in them is of the same
 * build of laze, of the same LLVM, and for this processor (LAZE_FAILED_PRECONDITION with LAZE_LOAD_EXACT where it is
 * not). Whatever else they say is checked: LAZE_DATA_LOSS, they are damaged; LAZE_UNSUPPORTED, of another format;
 * LAZE_NOT_FOUND, of a backend that this build has not. But the code in them is run: take them from where programs may
 * come from. A checksum finds accidents, and no intent. `context` NULL: the default; *out is the caller's, and NULL on
 * failure. */
LAZE_API LAZE_MUST_USE laze_status laze_compiled_deserialise(laze_context *context, const void *data, size_t size,
                                                             int32_t flags, laze_compiled **out, laze_error *error);
/* The same in a file, which appears whole or not at all. LAZE_NOT_FOUND, LAZE_IO_ERROR: it cannot be read or written.
 */
LAZE_API LAZE_MUST_USE laze_status laze_compiled_save(laze_compiled *compiled, const char *path, laze_error *error);
LAZE_API LAZE_MUST_USE laze_status laze_compiled_load(laze_context *context, const char *path, int32_t flags,
                                                      laze_compiled **out, laze_error *error);

#ifdef __cplusplus
}
#endif
#endif
