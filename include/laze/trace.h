/* Recording traces: what a function does with tensors, as a graph (laze/graph.h) that prints, is saved, compiled and
 * run on others.
 *
 *   static laze_status dense(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *error) {
 *     out[0] = laze_softmax(laze_matmul(in[0], weights), 1);
 *     return LAZE_OK;
 *   }
 *   laze_trace_call(dense, NULL, (laze_tensor *[]){x}, 1, 1, NULL, &graph, &error);
 *
 * While a trace is open on a thread, each node that calls of that thread record becomes a node of the graph as well,
 * with the place of the call: operators that consist of others as these, unless the text form keeps them whole, and
 * backward passes as what they record. Given tensors are the graph's inputs. Others from outside are constants, whose
 * memory the graph shares, and so are numbers; but the seed and offset of random numbers are inputs, behind those
 * given, so that each run may draw others. (One pair for each seed: later draws are at the distance from the first that
 * they had.) Sizes are those of the given tensors. Writes are recorded as the values that they give: what a function
 * writes to from outside is written once, while it is traced; what it writes to an input does not leave the trace; and
 * the graph returns what it is told to. The context's log warns of either, for others may have such a value.
 *
 * A value that is read is a number like any other: what a program decides by it is baked in. The context's log warns of
 * it, and LAZE_TRACE_STRICT and LAZE_TRACE_CHECK make sure.
 */
#ifndef LAZE_TRACE_H
#define LAZE_TRACE_H

#include "laze/compile.h"
#include "laze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reading a value that follows from inputs, or an input, makes laze_trace_end() fail, with what was read. */
#define LAZE_TRACE_STRICT 1
/* laze_trace_call() calls the function a second time, with other values of the same types: floats with the other sign,
 * integers in another order, bools inverted. Where that gives another graph it fails, with the first node that differs
 * and where both were recorded: a branch, or a constant, was decided by a value. */
#define LAZE_TRACE_CHECK 2

/* Zero-initialise, set struct_size, and set what should differ from the default. */
typedef struct laze_trace_options {
  size_t struct_size;              /* sizeof(laze_trace_options) */
  const char *name;                /* of the graph, a word; NULL: "trace" */
  const char *const *input_names;  /* one for each, which may be NULL: "arg<i>"; NULL: all are */
  const char *const *output_names; /* one for each, the label of the node that gives it; NULL: none */
  int32_t flags;                   /* LAZE_TRACE_... */
  int32_t reserved;
} laze_trace_options;

/* Opens a trace on this thread, in a context (NULL: the default). `traced` receives a tensor for each input, of the
 * same value, which is computed, and of the current scope: what is to depend on the inputs uses these. One that
 * requires a gradient is a leaf. LAZE_FAILED_PRECONDITION: one is open already. Options are borrowed for the call. */
LAZE_API LAZE_MUST_USE laze_status laze_trace_begin(laze_context *context, laze_tensor *const *inputs,
                                                    int32_t input_count, const laze_trace_options *options,
                                                    laze_tensor **traced, laze_error *error);
/* Closes it, also on failure: *out is the graph that gives `outputs`, without what nobody needs, or NULL. `out` may be
 * NULL: the trace is dropped. Fails where an output is an error, and where a call could not be traced, which the
 * message names. Values from outside that are not computed are computed. */
LAZE_API LAZE_MUST_USE laze_status laze_trace_end(laze_context *context, laze_tensor *const *outputs,
                                                  int32_t output_count, laze_graph **out, laze_error *error);

/* A function to be traced: sets each of its outputs to a tensor, and leaves the trace open. Another status than LAZE_OK
 * ends it; `error`, which is not NULL, is to say why. */
typedef laze_status (*laze_traced_function)(void *self, laze_tensor *const *inputs, laze_tensor **outputs,
                                            laze_error *error);
/* Both around a call of the function, in a scope of its own. Inputs are of one context. A call in it that failed, which
 * nobody read, fails the trace. *out is the graph, which is the caller's, or NULL. */
LAZE_API LAZE_MUST_USE laze_status laze_trace_call(laze_traced_function function, void *self,
                                                   laze_tensor *const *inputs, int32_t input_count,
                                                   int32_t output_count, const laze_trace_options *options,
                                                   laze_graph **out, laze_error *error);

/* What a joint graph has. Zero-initialise and set struct_size. */
typedef struct laze_joint {
  size_t struct_size;     /* sizeof(laze_joint) */
  int32_t output_count;   /* results: of the function first, then gradients */
  int32_t tangent_count;  /* inputs: the last ones, for each output that depends on what requires a gradient */
  int32_t gradient_count; /* of inputs that require one, in their order */
  int32_t reserved;
} laze_joint;
/* The joint graph of a function and its gradients: the inputs, seeds and offsets of random numbers, then a tangent for
 * each output that has a history give the outputs, then the gradient of each input that requires one (zeros where
 * nothing depends on it). laze_graph_partition() cuts it into a forward and a backward graph. LAZE_TRACE_CHECK and
 * names of outputs are not looked at. */
LAZE_API LAZE_MUST_USE laze_status laze_trace_joint(laze_traced_function function, void *self,
                                                    laze_tensor *const *inputs, int32_t input_count,
                                                    int32_t output_count, const laze_trace_options *options,
                                                    laze_graph **out, laze_joint *counts, laze_error *error);

/* What LAZE_TRACE_CHECK asks, for traces of one function that were made otherwise: LAZE_OK where they are the same
 * graph, LAZE_FAILED_PRECONDITION with the first node that differs, and where both were recorded. */
LAZE_API LAZE_MUST_USE laze_status laze_trace_compare(const laze_graph *first, const laze_graph *second,
                                                      laze_error *error);

/* The other direction: a compiled graph run on tensors, which are computed. `outputs` receives tensors of the current
 * scope. On failure none is set. */
LAZE_API LAZE_MUST_USE laze_status laze_compiled_call(laze_compiled *compiled, laze_tensor *const *inputs,
                                                      int32_t input_count, laze_tensor **outputs, int32_t output_count,
                                                      laze_error *error);
/* A tensor's value as an array, computed, and an array as a tensor: both share the memory, which nobody may write as
 * long as both are there. The array of a tensor is the caller's; the tensor of an array is of the current scope. */
LAZE_API LAZE_MUST_USE laze_status laze_tensor_to_array(laze_tensor *tensor, laze_array **out, laze_error *error);
LAZE_API laze_tensor *laze_tensor_from_array(laze_array *array);

#ifdef __cplusplus
}
#endif
#endif
