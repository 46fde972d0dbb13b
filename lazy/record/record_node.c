/* A call becomes a node of the frame: that of the step before once more, or a new one, whose types are those of the
 * step before or inferred.
 */
#include "lazy/record/record_node.h"

#include "base/float_control.h"
#include "ir/attribute.h"
#include "lazy/lazy.h"
#include "lazy/record/node.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/pending.h"

static laze_status infer(laze_record_state *state, const laze_op_info *info, const laze_call *call, laze_type *types,
                         laze_error *error) {
  const int32_t count = laze_call_result_count(call);
  if (!info->infer || info->region_count != 0 || count < 0 || count > LAZE_PENDING_MAX_RESULTS)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "%s cannot be recorded: it has regions or too many results; build a graph", info->name);
  void *array = state->types;
  LAZE_TRY(laze_grow(state->thread->lazy->context, &array, &state->type_capacity, call->operand_count,
                     sizeof *state->types, error));
  state->types = array;
  for (int32_t i = 0; i < call->operand_count; i++) state->types[i] = &state->values[call->operands[i].node].type;
  for (int i = 0; i < count; i++) types[i].kind = LAZE_TYPE_TENSOR;
  laze_inference inference = {.sizes = state->sizes, .operator_name = info->name, .error = error};
  laze_float_control caller;
  laze_float_control_enter(&caller);
  laze_status status = info->infer(&inference, call, state->types, types);
  laze_float_control_leave(&caller);
  return status;
}

static void recorded_type(const laze_pending *node, int32_t result, laze_type *out) {
  if (node->unknown)
    laze_pending_recorded_type(node, result, out);
  else
    laze_cell_type(&node->cells[result], out);
}

/* Notes whether types or attributes of the node to be made have unknown sizes. */
static void look_for_unknown(laze_record_state *state, const laze_op_info *info, const laze_call *call,
                             const laze_type *types) {
  state->unknown = info->defines > 0 || state->definer_count > 0;
  const int32_t count = laze_call_result_count(call);
  for (int32_t i = 0; i < count; i++) state->unknown |= laze_type_is_unknown(&types[i]);
  for (int32_t i = 0; i < call->operand_count; i++)
    state->unknown |= laze_type_is_unknown(&state->values[call->operands[i].node].type);
}

/* The predicted node once more, or a new one: with the predicted types where there are such, with inferred ones
 * otherwise. */
static laze_status make_node(laze_record_state *state, const laze_op_info *info, const laze_call *call,
                             laze_pending **out, laze_error *error) {
  laze_type types[LAZE_PENDING_MAX_RESULTS];
  laze_pending *predicted = laze_script_predict(state, call);
  if (predicted) state->thread->lazy->counts.reused++;
  if (predicted && predicted->referenced == 0) {
    laze_pending_link(predicted, call);
    *out = predicted;
    return LAZE_OK;
  }
  for (int i = 0; predicted && i < predicted->result_count; i++) recorded_type(predicted, i, &types[i]);
  if (!predicted) LAZE_TRY(infer(state, info, call, types, error));
  if (state->sizes) look_for_unknown(state, info, call, types);
  *out = laze_pending_create(state, call, types);
  return *out ? LAZE_OK : laze_fail_memory(error, info->name, -1);
}

/* Counts also those for which there is no room yet, maybe twice: then all are looked for again. */
static void add_definer(void *self, laze_pending *definer) {
  laze_record_state *state = self;
  for (int64_t i = 0; i < state->definer_count && i < state->definer_capacity; i++)
    if (state->definers[i] == definer) return;
  if (state->definer_count < state->definer_capacity) state->definers[state->definer_count] = definer;
  state->definer_count++;
}

/* Finds what defines the unknown sizes among the attributes of a call. */
static laze_status find_definers(laze_record_state *state, const laze_op_info *info, const laze_call *call,
                                 laze_error *error) {
  laze_lazy *lazy = state->thread->lazy;
  for (int i = 0; i < info->attribute_count && info->defines == 0; i++) {
    const laze_size *sizes;
    int32_t count;
    if (laze_attribute_find_sizes(&call->attributes[i], &sizes, &count))
      LAZE_TRY(laze_unknowns_each_definer(lazy, sizes, count, add_definer, state, error));
  }
  if (state->definer_count > INT16_MAX)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: its sizes come from %lld values; at most %d can be followed",
                     info->name, (long long)state->definer_count, INT16_MAX);
  return LAZE_OK;
}

/* The same for a call of a frame with unknown sizes. */
static laze_status make_unknown(laze_record_state *state, const laze_op_info *info, const laze_call *call,
                                laze_pending **out, laze_error *error) {
  laze_status status = find_definers(state, info, call, error);
  if (status == LAZE_OK && state->definer_count > state->definer_capacity) {
    void *array = state->definers;
    status = laze_grow(state->thread->lazy->context, &array, &state->definer_capacity, state->definer_count,
                       sizeof *state->definers, error);
    state->definers = array;
    state->definer_count = 0;
    if (status == LAZE_OK) status = find_definers(state, info, call, error);
  }
  if (status == LAZE_OK) status = make_node(state, info, call, out, error);
  state->definer_count = 0;
  state->unknown = false;
  return status;
}

laze_status laze_record_node(laze_record_state *state, const laze_call *call, laze_value *results, laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  laze_pending *node;
  LAZE_TRY(laze_frame_reserve(state, LAZE_PENDING_MAX_RESULTS, error)); /* before addresses of types are taken */
  if (!state->sizes)
    LAZE_TRY(make_node(state, info, call, &node, error));
  else
    LAZE_TRY(make_unknown(state, info, call, &node, error));
  laze_script_advance(state, node);
  for (int i = 0; i < node->result_count; i++) {
    results[i] = (laze_value){(int32_t)state->value_count, 0};
    laze_frame_value *value = &state->values[state->value_count++];
    value->cell = &node->cells[i];
    value->edge = (laze_edge){0};
    value->storage = NULL;
    laze_cell_type(value->cell, &value->type);
  }
  return LAZE_OK;
}
