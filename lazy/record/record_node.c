/* A call becomes a node of the frame: that of the step before once more, or a new one, whose types are those of the
 * step before or inferred.
 */
#include "lazy/record/record_node.h"

#include "base/float_control.h"
#include "lazy/lazy.h"
#include "lazy/record/node.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/pending.h"

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
  laze_float_control caller;
  laze_float_control_enter(&caller);
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

laze_status laze_record_node(laze_record_state *state, const laze_call *call, laze_value *results, laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
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
