/* The recorder interface (ir/recorder.h) over the values of a frame: what composites expand into. A value's number is
 * its index in the frame: operands first, then every result that the expansion has recorded. */
#include "lazy/record/expand.h"

#include "base/float_control.h"
#include "ir/recorder.h"
#include "lazy/lazy.h"
#include "lazy/record/node.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/pending.h"

typedef struct {
  laze_recorder recorder; /* first: an expander is a laze_recorder */
  laze_record_state *state;
} expander;

static bool expands(const laze_op_info *info, const laze_call *call) {
  if (!info->expand) return false;
  if (!info->infer) return true;
  return info->must_expand ? info->must_expand(call) : info->op_class == LAZE_CLASS_COMPOSITE && !info->late;
}

static laze_status infer(laze_record_state *state, const laze_op_info *info, const laze_call *call, laze_type *types,
                         laze_error *error) {
  if (!info->infer || info->region_count != 0 || info->result_count < 0 ||
      info->result_count > LAZE_PENDING_MAX_RESULTS)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "%s cannot be recorded: it has regions or too many results; build a graph", info->name);
  void *array = state->types;
  LAZE_TRY(laze_grow(state->thread->lazy->context, &array, &state->type_capacity, call->operand_count,
                     sizeof *state->types, error));
  state->types = array;
  for (int32_t i = 0; i < call->operand_count; i++) state->types[i] = &state->values[call->operands[i].node].type;
  for (int i = 0; i < info->result_count; i++) types[i].kind = LAZE_TYPE_TENSOR;
  laze_inference inference = {.operator_name = info->name, .error = error};
  laze_float_control caller = laze_float_control_enter();
  laze_status status = info->infer(&inference, call, state->types, types);
  laze_float_control_leave(&caller);
  return status;
}

/* The predicted node once more, or a new one: with the predicted types where there are such, with inferred ones
 * otherwise. */
static laze_status make_node(laze_record_state *state, const laze_op_info *info, const laze_call *call,
                             laze_pending **out, laze_error *error) {
  laze_type types[LAZE_PENDING_MAX_RESULTS];
  laze_pending *predicted = laze_script_predict(state, call);
  if (predicted) laze_metrics_add(laze_context_metrics(state->thread->lazy->context), LAZE_METRIC_NODES_REUSED, 1);
  if (predicted && predicted->referenced == 0) {
    laze_pending_link(predicted, call);
    *out = predicted;
    return LAZE_OK;
  }
  for (int i = 0; predicted && i < info->result_count; i++) laze_cell_type(&predicted->cells[i], &types[i]);
  if (!predicted) LAZE_TRY(infer(state, info, call, types, error));
  *out = laze_pending_create(state, call, types);
  return *out ? LAZE_OK : laze_fail_memory(error, info->name, -1);
}

static laze_status record_node(laze_record_state *state, const laze_op_info *info, const laze_call *call,
                               laze_value *results, laze_error *error) {
  laze_pending *node;
  LAZE_TRY(laze_frame_reserve(state, LAZE_PENDING_MAX_RESULTS, error)); /* before addresses of types are taken */
  LAZE_TRY(make_node(state, info, call, &node, error));
  laze_script_advance(state, node);
  for (int i = 0; i < node->result_count; i++) {
    results[i] = (laze_value){(int32_t)state->value_count, 0};
    laze_frame_value *value = &state->values[state->value_count++];
    value->cell = &node->cells[i];
    laze_cell_type(value->cell, &value->type);
  }
  return LAZE_OK;
}

static laze_status record(laze_recorder *self, const laze_call *call, laze_value *results, laze_error *error) {
  expander *expanding = (expander *)self;
  const laze_op_info *info = laze_op_get(call->op);
  if (!expands(info, call)) {
    laze_call placed = *call; /* what an expansion records comes from where the user called */
    if (!placed.location.file) placed.location = self->location;
    if (placed.origin == LAZE_OP_NONE) placed.origin = self->origin;
    return record_node(expanding->state, info, &placed, results, error);
  }
  laze_op outer = self->origin;
  if (outer == LAZE_OP_NONE) self->origin = call->op;
  laze_float_control caller = laze_float_control_enter(); /* expansions compute with the numbers they are given */
  laze_status status = info->expand(self, call, results, error);
  laze_float_control_leave(&caller);
  self->origin = outer;
  return status;
}

static const laze_type *type_of(laze_recorder *self, laze_value value) {
  return &((expander *)self)->state->values[value.node].type;
}

laze_status laze_lazy_record(laze_record_state *state, const laze_call *call, laze_value *results, laze_error *error) {
  expander expanding = {.recorder = {.record = record, .type_of = type_of, .location = call->location}, .state = state};
  return record(&expanding.recorder, call, results, error);
}
