/* Gradients. A tensor that requires a gradient is a *leaf*; calls of operators on it leave a history behind, and
 * laze_backward() records, for a result of these, how the gradient of every leaf follows from that of the result. As
 * any other call it computes nothing: forward, backward and update of a step are one graph.
 *
 *   laze_tensor *w = laze_tensor_retain(laze_tensor_from_data(NULL, LAZE_F32, LAZE_SHAPE(3), data, sizeof data));
 *   laze_tensor_require_grad(w, 1, &error);
 *   laze_tensor *loss = laze_sum(laze_mul(w, w));
 *   laze_backward(loss, &error);
 *   laze_tensor_grad(w)                                   2 w
 *
 * What the formulas need of the forward pass is kept until the backward pass has used it, or until no result's handle
 * is there any more; values of retained tensors count as they are then: one that was assigned to in between makes the
 * backward pass fail. An assigned tensor (laze_tensor_assign()) follows from what was assigned to it; a leaf stays a
 * leaf, with a new value and no history. Rules of broadcasting and dtypes: a gradient has shape and dtype of its
 * tensor. Gradients of complex tensors are those that PyTorch gives: the conjugate Wirtinger derivative. Threads: as
 * all functions of tensors (laze/tensor.h); one backward pass at a time records in a context.
 */
#ifndef LAZE_AUTOGRAD_H
#define LAZE_AUTOGRAD_H

#include "laze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the tensor a leaf (`requires_grad` 1), or one that needs no gradient (0) and keeps the one that it has. Its
 * dtype is a float's or complex (LAZE_INVALID_ARGUMENT otherwise). What a call on other leaves gave requires a gradient
 * already, and cannot be told not to: laze_detach() gives a tensor of the same value that does not. */
LAZE_API LAZE_MUST_USE laze_status laze_tensor_require_grad(laze_tensor *tensor, int32_t requires_grad,
                                                            laze_error *error);
/* Whether it requires a gradient; whether it is a leaf, which every tensor is that no call gave a history. */
LAZE_API int32_t laze_tensor_requires_grad(laze_tensor *tensor);
LAZE_API int32_t laze_tensor_is_leaf(laze_tensor *tensor);

/* The gradient that has come together in a leaf, or in what laze_tensor_retain_grad() was called with: a handle of the
 * current scope, of the memory in which it is. Later passes add to it there, and what is written to it
 * (laze_tensor_write(), calls in place) reaches the leaf, until that has another gradient: a pass with
 * LAZE_CREATE_GRAPH gives it one, as does one that adds to what cannot be written to, such as what laze_expand() gave.
 * NULL: none so far, or it keeps none. */
LAZE_API laze_tensor *laze_tensor_grad(laze_tensor *tensor);
/* Has a tensor that is no leaf keep its gradient as one does, from the next pass on; a leaf keeps it in any case.
 * LAZE_FAILED_PRECONDITION: it requires none. Asking whether it does: of a leaf 0. */
LAZE_API LAZE_MUST_USE laze_status laze_tensor_retain_grad(laze_tensor *tensor, laze_error *error);
LAZE_API int32_t laze_tensor_retains_grad(laze_tensor *tensor);
/* Gives a tensor another gradient, of its shape and dtype, with which it shares memory and history from then on; NULL:
 * none, with which each step of a training begins. What was asked for before stays as it is. One that requires no
 * gradient may have one, to which no pass adds. LAZE_FAILED_PRECONDITION: it is no leaf, and keeps none. */
LAZE_API LAZE_MUST_USE laze_status laze_tensor_set_grad(laze_tensor *tensor, laze_tensor *gradient, laze_error *error);
/* A tensor of the same value without history. It shares memory with the other, and its versions: what is written to one
 * is seen in both, and has a history for that one alone. laze_clone() of it shares nothing. */
LAZE_API laze_tensor *laze_detach(laze_tensor *tensor);
/* Has the tensor itself forget its history, or be no leaf any more that requires a gradient. LAZE_FAILED_PRECONDITION:
 * it is a view. */
LAZE_API LAZE_MUST_USE laze_status laze_tensor_detach(laze_tensor *tensor, laze_error *error);

/* What a backward pass does besides. */
#define LAZE_RETAIN_GRAPH 1 /* what the forward pass kept stays for another pass */
#define LAZE_CREATE_GRAPH 2 /* gradients have a history, for derivatives of a higher order; keeps, too */
#define LAZE_ALLOW_UNUSED 4 /* laze_grad(): inputs on which no output depends have no gradient, instead of an error */

/* Adds to the gradient of each leaf on which `tensor`, which has one element and is real, depends. Fails where the
 * tensor has no history, more elements, or a history that was used already (LAZE_FAILED_PRECONDITION,
 * LAZE_INVALID_ARGUMENT), and where an operator's gradient is not implemented (LAZE_UNSUPPORTED). */
LAZE_API LAZE_MUST_USE laze_status laze_backward(laze_tensor *tensor, laze_error *error);
/* The same for several tensors with gradients of their own (one each, of its tensor's shape and dtype; NULL, also for
 * all: 1, for a tensor of one element). */
LAZE_API LAZE_MUST_USE laze_status laze_backward_with(laze_tensor *const *tensors, laze_tensor *const *gradients,
                                                      int32_t count, int32_t flags, laze_error *error);
/* The same, but only the gradients of `inputs` are added to: leaves, or what calls gave, which keeps its gradient from
 * then on. */
LAZE_API LAZE_MUST_USE laze_status laze_backward_into(laze_tensor *const *tensors, laze_tensor *const *gradients,
                                                      int32_t count, laze_tensor *const *inputs, int32_t input_count,
                                                      int32_t flags, laze_error *error);
/* Gives the gradients of `inputs` (leaves or what calls gave) instead, and leaves leaves as they are: results[i] is a
 * handle of the current scope, NULL where LAZE_ALLOW_UNUSED allows it. On failure all are NULL. */
LAZE_API LAZE_MUST_USE laze_status laze_grad(laze_tensor *const *outputs, laze_tensor *const *gradients,
                                             int32_t output_count, laze_tensor *const *inputs, int32_t input_count,
                                             int32_t flags, laze_tensor **results, laze_error *error);

/* Derivatives in a direction (forward mode): how `outputs` change where `inputs` (leaves or what calls gave) move along
 * `tangents` (one each, of its shape and dtype; NULL: it stands still). results[i] is a handle of the current scope, of
 * the shape and dtype of outputs[i]. What the forward pass kept stays. (It is the gradient of gradients, of which
 * nothing is computed that the result does not need.) On failure all are NULL. */
LAZE_API LAZE_MUST_USE laze_status laze_jvp(laze_tensor *const *outputs, int32_t output_count,
                                            laze_tensor *const *inputs, laze_tensor *const *tangents,
                                            int32_t input_count, int32_t flags, laze_tensor **results,
                                            laze_error *error);

/* The same as values that carry their tangents along. Within a level a *dual* tensor has the value of a primal, and a
 * tangent; whatever calls give of it has a tangent as well, which laze_dual_unpack() gives. Duals require gradients, so
 * that histories have to be recorded: they are what tangents are found by.
 *
 *   laze_dual_level *level;
 *   laze_dual_level_begin(NULL, &level, &error);
 *   laze_tensor *y = laze_sin(laze_dual_make(level, x, t)), *primal, *tangent;
 *   laze_dual_unpack(level, y, &primal, &tangent, &error);             sin(x), t cos(x)
 *   laze_dual_level_end(level);
 *
 * Levels may be nested, for derivatives of derivatives; an inner one ends first. *out is the caller's, to be ended;
 * LAZE_OUT_OF_MEMORY, or without `out` LAZE_INVALID_ARGUMENT, and *out is NULL then. A level is one thread's at a
 * time. */
typedef struct laze_dual_level laze_dual_level;
LAZE_API LAZE_MUST_USE laze_status laze_dual_level_begin(laze_context *context, laze_dual_level **out,
                                                         laze_error *error);
/* Lets go of what the level keeps; NULL is ignored. Duals are tensors as others afterwards. */
LAZE_API void laze_dual_level_end(laze_dual_level *level);
/* A dual of the current scope: a copy of `primal`, whose history it has; `tangent` is of its shape and dtype. An error
 * where that is not so, for integers, and where no gradients are recorded. */
LAZE_API laze_tensor *laze_dual_make(laze_dual_level *level, laze_tensor *primal, laze_tensor *tangent);
/* What a tensor is without the level, and its tangent, handles of the current scope; *tangent is NULL where the tensor
 * follows from no dual of the level, and *primal the tensor itself. The tangent has a history where the tensor follows
 * from other leaves as well, or a tangent that was given has one; *primal has none otherwise. On failure both are
 * NULL. */
LAZE_API LAZE_MUST_USE laze_status laze_dual_unpack(laze_dual_level *level, laze_tensor *tensor, laze_tensor **primal,
                                                    laze_tensor **tangent, laze_error *error);

/* Whether calls of this thread leave histories behind: 1 at first. Returns what it was, to be put back. */
LAZE_API int32_t laze_set_grad_enabled(laze_context *context, int32_t enabled);
LAZE_API int32_t laze_is_grad_enabled(laze_context *context);
/* Whether this thread only infers: 0 at first. It then leaves no histories behind, and the tensors that it makes can
 * never be part of one: an operator whose gradient would need one is an error. Returns what it was. */
LAZE_API int32_t laze_set_inference_mode(laze_context *context, int32_t enabled);
LAZE_API int32_t laze_is_inference_mode(laze_context *context);
/* Whether a tensor was made so. */
LAZE_API int32_t laze_tensor_is_inference(laze_tensor *tensor);

/* Whether backward passes of this thread look for what is no number: 0 at first. A gradient that a call gives then, and
 * that has a NaN where it is computed, fails, and with it what depends on it; the message names the operator and where
 * it was called. Returns what it was. */
LAZE_API int32_t laze_set_anomaly_mode(laze_context *context, int32_t enabled);
LAZE_API int32_t laze_is_anomaly_mode(laze_context *context);

#ifdef __cplusplus
}
#endif
#endif
