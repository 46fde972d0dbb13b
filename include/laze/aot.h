/* Functions compiled ahead of time, with their gradients: what a function does is recorded once (laze/trace.h), cut
 * into a forward and a backward graph, and compiled. Calls of the result do what calls of the function did, writes to
 * its inputs and outputs that share memory included.
 *
 *   static laze_status layer(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *error) {
 *     out[0] = laze_tanh(laze_matmul(in[0], in[1]));
 *     laze_tensor_write(in[2], laze_mean(out[0]), error);
 *     return LAZE_OK;
 *   }
 *   laze_aot_compile(layer, NULL, (laze_tensor *[]){x, w, mean}, 3, 1, NULL, &compiled, &error);
 *   laze_aot_call(compiled, (laze_tensor *[]){x, w, mean}, 3, &y, 1, &error);       y, and mean written to
 *   laze_backward(laze_sum(y), &error);                                             one run of the backward graph
 *
 *                    inputs ──> forward graph ──> mutated inputs, outputs, bases │ saved
 *                                                      │                         v
 *     written to inputs, views made again <── epilogue ┘     tangents ──> backward graph ──> gradients
 *
 * Calls fit a compiled function where inputs have the types, strides and aliases that it was traced with. It keeps what
 * the function used from outside as constants, as traces do, and what the function writes to there is written once,
 * while it is traced: whatever changes is to be an input. A call on a tensor from outside that requires a gradient is
 * refused. All functions may be called from any thread.
 */
#ifndef LAZE_AOT_H
#define LAZE_AOT_H

#include "laze/autograd.h"
#include "laze/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled function: counted. Keeps its context. */
typedef struct laze_aot laze_aot;

/* Compiled graphs are neither looked for in the cache nor kept there. */
#define LAZE_AOT_NO_CACHE 1
/* Backward passes leave alone what the forward pass saved, in place of writing gradients into its memory. */
#define LAZE_AOT_NO_DONATION 2
/* The function may give fewer outputs than `output_count`: there are those up to the last one that it sets
 * (laze_aot_output_count()). */
#define LAZE_AOT_FEWER_OUTPUTS 4

/* Zero-initialise, set struct_size, and set what should differ from the default. */
typedef struct laze_aot_options {
  size_t struct_size;             /* sizeof(laze_aot_options) */
  const char *name;               /* of the graphs, a word; NULL: "aot" */
  const char *const *input_names; /* one for each, which may be NULL: "arg<i>"; NULL: all are */
  const laze_backend *backend;    /* NULL: as laze_backend_find() */
  int32_t partition;              /* LAZE_PARTITION_... */
  int32_t flags;                  /* LAZE_AOT_... */
} laze_aot_options;

/* Calls the function on tensors that stand for `inputs`, which are computed and left as they are, and compiles what it
 * did. Where the thread records gradients and an input requires one, there is a backward graph. `output_count` may be 0
 * where an input is written to. LAZE_UNSUPPORTED: an input is written to that may have elements in common with another:
 * views of one tensor that are neither pieces which one call gave, nor one behind the other, nor columns of their own.
 * The second time that the same graph is compiled for the same inputs and options, it is found in the context's cache
 * (aot_cache_hits), unless it calls kernels that programs register (aot_cache_bypasses). *out is the caller's, or
 * NULL. */
LAZE_API LAZE_MUST_USE laze_status laze_aot_compile(laze_traced_function function, void *self,
                                                    laze_tensor *const *inputs, int32_t input_count,
                                                    int32_t output_count, const laze_aot_options *options,
                                                    laze_aot **out, laze_error *error);
/* NULL is ignored. */
LAZE_API void laze_aot_retain(laze_aot *aot);
/* NULL is ignored. */
LAZE_API void laze_aot_release(laze_aot *aot);

/* --- what it found out --- */

/* Facts about an input. */
#define LAZE_AOT_LEAF 1             /* no call gave it */
#define LAZE_AOT_REQUIRES_GRAD 2    /* when it was traced */
#define LAZE_AOT_MUTATES_DATA 4     /* its elements are written to, and are not what they were */
#define LAZE_AOT_MUTATES_METADATA 8 /* it has another shape behind the call, or requires a gradient no more */
#define LAZE_AOT_MUTATES_STORAGE 16 /* it is assigned to (laze_tensor_assign()) */
#define LAZE_AOT_MUTATED_NO_GRAD 32 /* all writes are where no gradients are recorded */
#define LAZE_AOT_MUTATED_HIDDEN 64  /* all writes go through detached tensors, or are assignments */

/* Where its new value is set. */
#define LAZE_AOT_KEPT 0     /* there is none */
#define LAZE_AOT_IN_GRAPH 1 /* nothing is recorded: the tensor has the memory that the graph gives, and no history */
#define LAZE_AOT_AFTER 2    /* by a call behind the graph: it has a history, another shape, or is assigned to */

/* Zero-initialise and set struct_size. */
typedef struct laze_aot_input {
  size_t struct_size; /* sizeof(laze_aot_input) */
  int32_t flags;      /* LAZE_AOT_LEAF and what follows there */
  int32_t mutation;   /* LAZE_AOT_KEPT and what follows there */
  int32_t same_as;    /* the first input that is the same tensor; its own index where it is the first */
  int32_t result;     /* of the forward graph: its new value; -1: none */
  int32_t gradient;   /* of the backward graph; -1: none */
  int32_t tangent;    /* of its new value; -1: none */
} laze_aot_input;

/* What an output is. */
#define LAZE_AOT_NON_ALIAS 0
#define LAZE_AOT_IS_INPUT 1              /* the input `of` itself, and no view of it */
#define LAZE_AOT_ALIAS_OF_INPUT 2        /* a view of the input `of`, made again from that */
#define LAZE_AOT_ALIAS_OF_INTERMEDIATE 3 /* one of several views of a tensor that is no output: the base `of` */
#define LAZE_AOT_ALIAS_OF_OUTPUT 4       /* a view of the output `of`, or that output once more */
#define LAZE_AOT_UNSAFE_VIEW 5           /* a view of what nobody else has: with its strides, and memory of its own */
#define LAZE_AOT_CUSTOM_VIEW 6           /* a view whose gradients the caller computes: they are in the graph */

/* Zero-initialise and set struct_size. */
typedef struct laze_aot_output {
  size_t struct_size;    /* sizeof(laze_aot_output) */
  int32_t kind;          /* LAZE_AOT_NON_ALIAS and what follows there */
  int32_t of;            /* -1: nothing */
  int32_t result;        /* of the forward graph; -1: it is made again from another */
  int32_t tangent;       /* -1: none */
  int32_t requires_grad; /* when it was traced */
} laze_aot_output;

/* LAZE_OUT_OF_RANGE: there is no such input, or output. */
LAZE_API LAZE_MUST_USE laze_status laze_aot_get_input(const laze_aot *aot, int32_t index, laze_aot_input *out,
                                                      laze_error *error);
LAZE_API LAZE_MUST_USE laze_status laze_aot_get_output(const laze_aot *aot, int32_t index, laze_aot_output *out,
                                                       laze_error *error);
LAZE_API int32_t laze_aot_input_count(const laze_aot *aot);
LAZE_API int32_t laze_aot_output_count(const laze_aot *aot);
/* Of intermediates that several outputs are views of. */
LAZE_API int32_t laze_aot_base_count(const laze_aot *aot);
/* What the backward graph takes and gives; both 0 where there is none. */
LAZE_API int32_t laze_aot_tangent_count(const laze_aot *aot);
LAZE_API int32_t laze_aot_gradient_count(const laze_aot *aot);

/* Its graphs, whose signatures name inputs and results: borrowed as long as it. */
#define LAZE_AOT_JOINT 0
#define LAZE_AOT_FORWARD 1
#define LAZE_AOT_BACKWARD 2 /* NULL where there is none */
LAZE_API const laze_graph *laze_aot_graph(const laze_aot *aot, int32_t which);

/* --- calls --- */

/* Runs the forward graph on `inputs`, sets what the function writes to, and gives its outputs, tensors of the current
 * scope. Where gradients are recorded, outputs and inputs that were written to have a history, whose pass runs the
 * backward graph, once for each pass (LAZE_RETAIN_GRAPH keeps what it needs); it cannot be differentiated once more.
 * LAZE_INVALID_ARGUMENT: inputs are not like those that it was traced with; then nothing has changed. LAZE_OUT_OF_RANGE
 * and so on, as for laze_compiled_run(): the same. On failure outputs are NULL. */
LAZE_API LAZE_MUST_USE laze_status laze_aot_call(laze_aot *aot, laze_tensor *const *inputs, int32_t input_count,
                                                 laze_tensor **outputs, int32_t output_count, laze_error *error);

/* What a forward pass saved for its backward pass. */
typedef struct laze_aot_saved laze_aot_saved;
/* The same without histories: *saved is the caller's, NULL where there is no backward graph. */
LAZE_API LAZE_MUST_USE laze_status laze_aot_forward(laze_aot *aot, laze_tensor *const *inputs, int32_t input_count,
                                                    laze_tensor **outputs, int32_t output_count, laze_aot_saved **saved,
                                                    laze_error *error);
/* Runs the backward graph: tangents in the order of its inputs (laze_aot_input.tangent, laze_aot_output.tangent, then
 * those of bases), each of its result's type, a view as well as any other tensor; NULL stands for zeros. `gradients`
 * receives tensors of the current scope. What was saved is used up, unless `flags` has LAZE_RETAIN_GRAPH
 * (LAZE_FAILED_PRECONDITION: it is already). On failure gradients are NULL. */
LAZE_API LAZE_MUST_USE laze_status laze_aot_backward(laze_aot_saved *saved, laze_tensor *const *tangents,
                                                     int32_t tangent_count, int32_t flags, laze_tensor **gradients,
                                                     int32_t gradient_count, laze_error *error);
/* NULL is ignored. */
LAZE_API void laze_aot_saved_release(laze_aot_saved *saved);

/* Seeds and offsets of random numbers are inputs of the forward graph, and offsets results as well: each call begins
 * where the last one of this compiled function stopped, the first one where it was traced. How many pairs there are,
 * and what the next call begins with. */
LAZE_API int32_t laze_aot_random_count(const laze_aot *aot);
LAZE_API LAZE_MUST_USE laze_status laze_aot_get_random(laze_aot *aot, int32_t index, int64_t *seed, int64_t *offset,
                                                       laze_error *error);
LAZE_API LAZE_MUST_USE laze_status laze_aot_set_random(laze_aot *aot, int32_t index, int64_t seed, int64_t offset,
                                                       laze_error *error);

#ifdef __cplusplus
}
#endif
#endif
