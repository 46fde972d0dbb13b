/* The recorder interface (ir/recorder.h) over the values of a frame: what composites expand into. A value's number is
 * its index in the frame: operands first, then every result that the expansion has recorded. */
#include "ir/recorder.h"

#include "base/float_control.h"
#include "lazy/lazy.h"

typedef struct {
  laze_recorder recorder; /* first: an expander is a laze_recorder */
  laze_lazy_recorder *frame;
} expander;

static void copy_type(laze_type *to, const laze_type *from) {
  to->kind = from->kind;
  to->dtype = from->dtype;
  to->rank = from->rank;
  for (int i = 0; i < from->rank; i++) to->sizes[i] = from->sizes[i];
}

static laze_status reserve_values(laze_lazy_recorder *frame, int64_t count, laze_error *error) {
  void *array = frame->values;
  LAZE_TRY(laze_grow(frame->lazy->context, &array, &frame->value_capacity, frame->value_count + count,
                     sizeof *frame->values, error));
  frame->values = array;
  return LAZE_OK;
}

laze_status laze_frame_push(laze_lazy_recorder *recorder, laze_cell *cell, const laze_type *type, laze_error *error) {
  laze_status status = reserve_values(recorder, 1, error);
  if (status != LAZE_OK) {
    laze_cell_release(recorder->lazy, cell);
    return status;
  }
  laze_frame_value *value = &recorder->values[recorder->value_count++];
  value->cell = cell;
  copy_type(&value->type, type);
  return LAZE_OK;
}

void laze_frame_clear(laze_lazy_recorder *recorder) {
  while (recorder->value_count > 0) laze_cell_release(recorder->lazy, recorder->values[--recorder->value_count].cell);
}

static bool expands(const laze_op_info *info, const laze_call *call) {
  if (!info->expand) return false;
  if (!info->infer) return true;
  return info->must_expand ? info->must_expand(call) : info->op_class == LAZE_CLASS_COMPOSITE && !info->late;
}

static laze_status infer(laze_lazy_recorder *frame, const laze_op_info *info, const laze_call *call, laze_type *types,
                         laze_error *error) {
  if (!info->infer || info->region_count != 0 || info->result_count < 0 || info->result_count > LAZE_FRAME_RESULTS)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "%s cannot be recorded: it has regions or too many results; build a graph", info->name);
  void *array = frame->types;
  LAZE_TRY(
      laze_grow(frame->lazy->context, &array, &frame->type_capacity, call->operand_count, sizeof *frame->types, error));
  frame->types = array;
  for (int32_t i = 0; i < call->operand_count; i++) frame->types[i] = &frame->values[call->operands[i].node].type;
  for (int i = 0; i < info->result_count; i++) types[i].kind = LAZE_TYPE_TENSOR;
  laze_inference inference = {.operator_name = info->name, .error = error};
  laze_float_control caller = laze_float_control_enter();
  laze_status status = info->infer(&inference, call, frame->types, types);
  laze_float_control_leave(&caller);
  return status;
}

/* The predicted node once more, or a new one: with the predicted types where there are such, with inferred ones
 * otherwise. */
static laze_status make_node(laze_lazy_recorder *frame, const laze_op_info *info, const laze_call *call,
                             laze_pending **out, laze_error *error) {
  laze_type types[LAZE_FRAME_RESULTS];
  laze_pending *predicted = laze_script_predict(frame, call);
  if (predicted) laze_metrics_add(laze_context_metrics(frame->lazy->context), LAZE_METRIC_NODES_REUSED, 1);
  if (predicted && predicted->referenced == 0) {
    laze_pending_link(predicted, call);
    *out = predicted;
    return LAZE_OK;
  }
  for (int i = 0; predicted && i < info->result_count; i++) laze_cell_type(&predicted->cells[i], &types[i]);
  if (!predicted) LAZE_TRY(infer(frame, info, call, types, error));
  *out = laze_pending_create(frame, call, types);
  return *out ? LAZE_OK : laze_fail_memory(error, info->name, -1);
}

static laze_status record_node(laze_lazy_recorder *frame, const laze_op_info *info, const laze_call *call,
                               laze_value *results, laze_error *error) {
  laze_pending *node;
  LAZE_TRY(reserve_values(frame, LAZE_FRAME_RESULTS, error)); /* before addresses of types are taken */
  LAZE_TRY(make_node(frame, info, call, &node, error));
  laze_script_advance(frame, node);
  for (int i = 0; i < node->result_count; i++) {
    results[i] = (laze_value){(int32_t)frame->value_count, 0};
    laze_frame_value *value = &frame->values[frame->value_count++];
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
    return record_node(expanding->frame, info, &placed, results, error);
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
  return &((expander *)self)->frame->values[value.node].type;
}

laze_status laze_lazy_record(laze_lazy_recorder *recorder, const laze_call *call, laze_value *results,
                             laze_error *error) {
  expander expanding = {.recorder = {.record = record, .type_of = type_of, .location = call->location},
                        .frame = recorder};
  return record(&expanding.recorder, call, results, error);
}
