/* Layers: what stands between a call that was packed and the node that it becomes.
 *
 *   frame.c  packs: operands' layers | operator's layers  =  one word
 *               │ 0: no layer wants the call                     │ otherwise the topmost that wants it,
 *               │                                                v with the bits of those below
 *               │      LAZE_LAYER_FAILURE    an operand failed when it ran: so do the results
 *               │      LAZE_LAYER_AUTOGRAD   an operand requires a gradient: so do the results
 *               │      LAZE_LAYER_EXPAND     the call is a composite, or a form that has to be expanded
 *               │      LAZE_LAYER_TRACE      the thread has an open trace, which nodes are written to as well
 *               v                                                │
 *   record_node.c  one node  <───────────────────────────────────┘ the call itself, or others in its place
 *
 * A call that no layer wants costs the test of that word. A layer is a bit, at its height among the others, a row of
 * the table in layers.c, and whoever sets the bit: a cell, an operator or the thread. Called with the
 * context's lock held.
 */
#ifndef LAZE_LAZY_RECORD_LAYERS_H
#define LAZE_LAZY_RECORD_LAYERS_H

#include "ir/op.h"
#include "lazy/record/record_node.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"

/* A set of layers. */
typedef uint32_t laze_layers;
enum { LAZE_LAYER_TRACE = 1, LAZE_LAYER_EXPAND = 2, LAZE_LAYER_AUTOGRAD = 4, LAZE_LAYER_FAILURE = 8 };

/* The layers that want every call of a value. */
static inline laze_layers laze_cell_layers(const laze_cell *cell) {
  return cell->state == LAZE_CELL_ERROR ? LAZE_LAYER_FAILURE : 0;
}

/* The layers that want a call whatever its operands. */
static inline laze_layers laze_op_layers(const laze_call *call) {
  return laze_call_expands(call) ? LAZE_LAYER_EXPAND : 0;
}

/* The layers that want every call of a thread. */
static inline laze_layers laze_thread_layers(const laze_thread_state *thread) {
  return thread->tracer ? LAZE_LAYER_TRACE : 0;
}

/* Gives a call to the topmost of the layers that want it, of which there is one at least. */
LAZE_MUST_USE laze_status laze_layers_enter(laze_record_state *state, const laze_call *call, laze_layers wanted,
                                            laze_value *results, laze_error *error);
/* Records a call, whose operands are values of the frame, through the layers that want it; the results are further
 * values of the frame. */
LAZE_MUST_USE static inline laze_status laze_layers_record(laze_record_state *state, const laze_call *call,
                                                           laze_layers wanted, laze_value *results, laze_error *error) {
  return wanted == 0 ? laze_record_node(state, call, results, error)
                     : laze_layers_enter(state, call, wanted, results, error);
}

/* A layer's part of a call: it records the call through the layers `below` that want it, or other calls in its place.
 */
typedef laze_status (*laze_layer_function)(laze_record_state *state, const laze_call *call, laze_layers below,
                                           laze_value *results, laze_error *error);
/* lazy/autograd/history.c. */
LAZE_MUST_USE laze_status laze_layer_autograd(laze_record_state *state, const laze_call *call, laze_layers below,
                                              laze_value *results, laze_error *error);
/* The same: gives a value's gradient a node of its own, on the way to where it goes already. */
LAZE_MUST_USE laze_status laze_history_pass_on(laze_record_state *state, laze_value value, laze_location location,
                                               laze_error *error);
/* lazy/tracing/tracer.c. */
LAZE_MUST_USE laze_status laze_layer_trace(laze_record_state *state, const laze_call *call, laze_layers below,
                                           laze_value *results, laze_error *error);
/* expand.c. */
LAZE_MUST_USE laze_status laze_layer_expand(laze_record_state *state, const laze_call *call, laze_layers below,
                                            laze_value *results, laze_error *error);

#endif
