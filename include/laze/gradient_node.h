/* Nodes of histories: what calls leave behind for gradients, hooks that are called as a backward pass goes through
 * them, and functions whose gradients the caller computes.
 *
 *   loss ── sum ── mul ── leaf of w          laze_tensor_gradient_node(loss), laze_gradient_node_next()
 *                   │
 *                   └──── clip ── leaf of x  a function: laze_function_attach()
 *
 * Code of the caller's is called on the thread of the pass, with no lock held: it may use every function of laze. Calls
 * that it makes leave histories behind where the pass creates some (LAZE_CREATE_GRAPH), and nowhere else. Handles that
 * it is given are borrowed, of the current scope, and gone when it returns, unless it retains them. A status other than
 * LAZE_OK ends the pass with its message; then the gradients of all tensors are as they were, and the history can be
 * used again. `release` is called once, on any thread with no lock held, when nothing can call the code any more; where
 * the function that takes it fails, before that one returns.
 */
#ifndef LAZE_GRADIENT_NODE_H
#define LAZE_GRADIENT_NODE_H

#include "laze/autograd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- nodes --- */

/* A handle, as a tensor's; stale ones are noticed. It keeps the node, and with it what the node keeps, until it is
 * released. */
typedef struct laze_gradient_node laze_gradient_node;

/* The node that a tensor's gradient goes to, which the caller releases; NULL where it requires none, and of a leaf. */
LAZE_API laze_gradient_node *laze_tensor_gradient_node(laze_tensor *tensor);
LAZE_API void laze_gradient_node_release(laze_gradient_node *node); /* NULL is ignored */
/* The operator's name, or the function's; "leaf" of a leaf's. Lives as long as the handle. "": it is no handle. */
LAZE_API const char *laze_gradient_node_name(laze_gradient_node *node);
/* A number that no other node of the context has: younger nodes have larger ones. 0: it is no handle. */
LAZE_API int64_t laze_gradient_node_number(laze_gradient_node *node);
/* How many operands the node's call had, and where the gradient of one goes: a node, which the caller releases, and in
 * `result`, if that is not NULL, which of its results. NULL: nowhere. */
LAZE_API int32_t laze_gradient_node_operand_count(laze_gradient_node *node);
LAZE_API laze_gradient_node *laze_gradient_node_next(laze_gradient_node *node, int32_t operand, int32_t *result);

/* --- hooks --- */

/* Is called with a tensor's gradient. What it writes to `replacement` (of the same shape and dtype; it may be of any
 * scope) takes the gradient's place from there on, and so does what it writes to the gradient itself; of a hook on what
 * was accumulated `replacement` is not looked at. */
typedef laze_status (*laze_tensor_hook)(void *self, laze_tensor *gradient, laze_tensor **replacement,
                                        laze_error *error);

#define LAZE_HOOK_GRADIENT 0    /* before the gradient goes on, or adds to that of a leaf */
#define LAZE_HOOK_ACCUMULATED 1 /* of a leaf, after the pass has added to its gradient, which it is called with */

/* Has a hook called in each pass that reaches the tensor: hooks of a tensor are called in the order in which they were
 * registered, each with what the one before gave. In `id`, if it is not NULL, what laze_hook_remove() takes.
 * LAZE_FAILED_PRECONDITION: the tensor requires no gradient, or is no leaf where it has to be. */
LAZE_API LAZE_MUST_USE laze_status laze_tensor_register_hook(laze_tensor *tensor, int32_t when, laze_tensor_hook hook,
                                                             void *self, void (*release)(void *self), int64_t *id,
                                                             laze_error *error);

/* What a hook of a node is called with: gradients of operands and of results, NULL where there is none. */
typedef struct laze_node_hook_call {
  size_t struct_size;
  int32_t operand_count, result_count;
  laze_tensor *const *operands; /* NULL before the node: they are not known yet */
  laze_tensor *const *results;
  laze_tensor **replacements; /* of the results before the node, of the operands behind it; NULL at first: it stays, as
                                 it is after what the hook writes to it */
} laze_node_hook_call;
typedef laze_status (*laze_node_hook)(void *self, const laze_node_hook_call *call, laze_error *error);

#define LAZE_HOOK_BEFORE 0 /* when the gradients of all of its results are known */
#define LAZE_HOOK_BEHIND 1 /* when those of its operands are */

/* The same for a node. Before it, hooks of its results' tensors come first. */
LAZE_API LAZE_MUST_USE laze_status laze_gradient_node_register_hook(laze_gradient_node *node, int32_t when,
                                                                    laze_node_hook hook, void *self,
                                                                    void (*release)(void *self), int64_t *id,
                                                                    laze_error *error);
/* Has a hook called no more. LAZE_NOT_FOUND: it was removed, or what it was registered with has gone. */
LAZE_API LAZE_MUST_USE laze_status laze_hook_remove(laze_context *context, int64_t id, laze_error *error);

/* --- functions --- */

/* What backward and jvp of a function are called with. */
typedef struct laze_function_call {
  size_t struct_size;
  int32_t input_count, output_count, saved_count;
  laze_tensor *const *given; /* backward: gradients of the outputs; jvp: tangents of the inputs. NULL: zeros, where
                                LAZE_FUNCTION_ABSENT says so */
  laze_tensor *const *saved; /* with their histories where the pass creates some */
  const int32_t *needed;     /* of each input, for backward: whether its gradient is asked for */
  int32_t keeps;             /* the pass keeps what was saved, so that there may be another (LAZE_RETAIN_GRAPH) */
} laze_function_call;

/* Writes a gradient for each input, or a tangent for each output, to `results`; NULL, which is there at first, stands
 * for zeros. A gradient has its input's shape, or one that broadcasts from it, and is converted to its dtype. */
typedef laze_status (*laze_function_code)(void *self, const laze_function_call *call, laze_tensor **results,
                                          laze_error *error);

#define LAZE_FUNCTION_ONCE 1   /* its gradients cannot be differentiated: a pass over them is an error */
#define LAZE_FUNCTION_ABSENT 2 /* gradients that there are not are NULL, and not zeros */

/* Zero-initialise, set struct_size and what there is. */
typedef struct laze_function_options {
  size_t struct_size; /* sizeof(laze_function_options) */
  const char *name;   /* copied */
  int32_t flags;
  int32_t input_count, output_count, saved_count;
  laze_tensor *const *inputs;  /* NULL: no tensor */
  laze_tensor **outputs;       /* what the caller has computed of them, with laze_set_grad_enabled(0) */
  laze_tensor *const *saved;   /* what backward and jvp need; inputs and outputs, or others. NULL: no tensor */
  const int32_t *constant;     /* NULL, or of each output: whether it has no gradient, whatever its dtype */
  laze_function_code backward; /* NULL: an error */
  laze_function_code jvp;      /* NULL: follows from backward, which then consists of operators that have gradients */
  void *self;
  void (*release)(void *self); /* NULL: nothing to release */
  const int32_t *dirty; /* NULL, or of each output: whether it is an input that the caller wrote to. It stays the tensor
                           that it is, and its history is that of the function from now on */
} laze_function_options;

/* Says that the outputs are what a function gives of the inputs: where one of these requires a gradient, so do the
 * outputs of floats and complex numbers, whose gradients `backward` takes to the inputs. An output that is an input, or
 * that requires a gradient already, is replaced by a new handle in `outputs`, unless it is said to be dirty: that must
 * be an input, and neither a leaf that requires a gradient nor a view (LAZE_FAILED_PRECONDITION), as a call in place.
 * What is saved counts as operands that operators keep do: it is let go of after a pass, and one that was changed since
 * makes the pass fail. Where no input requires a gradient, or this thread records none, nothing happens, and `release`
 * is called. */
LAZE_API LAZE_MUST_USE laze_status laze_function_attach(const laze_function_options *options, laze_error *error);

/* --- checkpoints --- */

/* Records `outputs` from `inputs`, the same each time that it is called. */
typedef laze_status (*laze_checkpoint_code)(void *self, laze_tensor *const *inputs, laze_tensor **outputs,
                                            laze_error *error);

/* Zero-initialise, set struct_size and what there is. */
typedef struct laze_checkpoint_options {
  size_t struct_size;    /* sizeof(laze_checkpoint_options) */
  laze_context *context; /* NULL: that of the inputs, or the default one */
  int32_t input_count, output_count;
  laze_tensor *const *inputs; /* NULL: no tensor */
  laze_tensor **outputs;      /* where the caller gets what the code gave */
  laze_checkpoint_code code;
  void *self;
  void (*release)(void *self); /* NULL: nothing to release */
} laze_checkpoint_options;

/* Calls the code now, and once more in each backward pass that needs it: what its calls would keep for their gradients
 * is not kept, but computed again from the inputs, which are. The second time the inputs are others of the same values,
 * so that nothing of it is taken from the first time; what the code uses besides (weights, say) is used as it is then.
 * It is called in a scope of its own, and has to record the same operators; where it does not, the pass fails. Random
 * numbers are the same where their seeds and offsets are. */
LAZE_API LAZE_MUST_USE laze_status laze_checkpoint(const laze_checkpoint_options *options, laze_error *error);

#ifdef __cplusplus
}
#endif
#endif
