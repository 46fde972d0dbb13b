/* The layer that expands composites: the recorder interface (ir/recorder.h) over the values of a frame. A value's
 * number is its index in the frame: operands first, then every result that the expansion has recorded.
 *
 *   relu(%0)  =>  constant 0 -> %1,  maximum(%1, %0) -> %2     both called at relu's line, with relu as their origin
 */
#include "lazy/record/layers.h"

#include "base/float_control.h"
#include "ir/recorder.h"
#include "lazy/record/record_state.h"

typedef struct {
  laze_recorder recorder; /* first: an expander is a laze_recorder */
  laze_record_state *state;
} expander;

/* What an expansion records comes from where the user called; layers above have done their part for all of it. */
static laze_status record(laze_recorder *self, const laze_call *call, laze_value *results, laze_error *error) {
  laze_call placed = *call;
  if (!placed.location.file) placed.location = self->location;
  if (placed.origin == LAZE_OP_NONE) placed.origin = self->origin;
  return laze_layers_record(((expander *)self)->state, &placed, laze_op_layers(&placed), results, error);
}

static const laze_type *type_of(laze_recorder *self, laze_value value) {
  return &((expander *)self)->state->values[value.node].type;
}

laze_status laze_layer_expand(laze_record_state *state, const laze_call *call, laze_layers below, laze_value *results,
                              laze_error *error) {
  (void)below; /* are asked again for each call of the expansion */
  expander expanding = {.recorder = {.record = record,
                                     .type_of = type_of,
                                     .location = call->location,
                                     .origin = call->origin == LAZE_OP_NONE ? call->op : call->origin},
                        .state = state};
  laze_float_control caller;
  laze_float_control_enter(&caller); /* expansions compute with the numbers they are given */
  laze_status status = laze_op_get(call->op)->expand(&expanding.recorder, call, results, error);
  laze_float_control_leave(&caller);
  return status;
}
