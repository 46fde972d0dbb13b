/* Composites expand over the values of a frame (expander.h), through a recorder that also looks through what was
 * recorded before:
 *
 *   relu(%0)  =>  constant 0 -> %1,  maximum(%1, %0) -> %2     both called at relu's line, with relu as their origin
 *
 *   call_of     a pending value    its node's call; its operands become values of the frame
 *               one that is there  a `constant` of its elements
 *   fresh_size  the symbol of a definer of the same number, or of the one that is predicted next, or a new one
 */
#include "lazy/record/expander.h"

#include "base/dtype.h"
#include "base/float_control.h"
#include "ir/defined_size.h"
#include "ir/op.gen.h"
#include "lazy/lazy.h"
#include "lazy/record/layers.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/pending.h"
#include "runtime/buffer.h"

/* Whether an operand's gradient goes somewhere. */
static bool requires_gradient(const laze_expander *self, const laze_call *call) {
  for (int32_t i = 0; i < call->operand_count; i++)
    if (!laze_value_is_none(call->operands[i]) && self->state->values[call->operands[i].node].edge.node) return true;
  return false;
}

/* What an expansion records comes from where the user called; layers above have done their part for all of it, unless
 * they left it to the calls of which it consists. */
static laze_status record(laze_recorder *self, const laze_call *call, laze_value *results, laze_error *error) {
  laze_call placed = *call;
  if (!placed.location.file) placed.location = self->location;
  if (placed.origin == LAZE_OP_NONE) placed.origin = self->origin;
  laze_expander *expander = (laze_expander *)self;
  laze_layers wanted = laze_op_layers(&placed) | laze_thread_layers(expander->state->thread);
  if (expander->tracks && requires_gradient(expander, &placed)) wanted |= LAZE_LAYER_AUTOGRAD;
  return laze_layers_record(expander->state, &placed, wanted, results, error);
}

static const laze_type *type_of(laze_recorder *self, laze_value value) {
  return &((laze_expander *)self)->state->values[value.node].type;
}

/* A value that is there, as a constant. */
static bool constant_of(laze_expander *self, const laze_cell *cell, laze_call *out) {
  laze_attribute *attributes = laze_arena_alloc_array(&self->arena, 3, sizeof *attributes);
  laze_size *sizes = laze_arena_alloc_array(&self->arena, cell->rank, sizeof *sizes);
  int64_t *number = laze_arena_alloc_array(&self->arena, 1, sizeof *number);
  if (!attributes || !sizes || !number) return false;
  for (int i = 0; i < cell->rank; i++) sizes[i] = cell->sizes[i];
  laze_data data = laze_data_of(number, laze_dtype_size(cell->dtype));
  if (cell->state == LAZE_CELL_SCALAR)
    laze_scalar_store(laze_cell_scalar(cell), cell->dtype, number, 0);
  else
    data = laze_data_of(cell->value.buffer->data, laze_cell_elements(cell) * laze_dtype_size(cell->dtype));
  attributes[0] = laze_attribute_dtype(cell->dtype);
  attributes[1] = laze_attribute_sizes(sizes, cell->rank);
  attributes[2] = (laze_attribute){.kind = LAZE_ARGUMENT_DATA, .present = true, .value.data = data};
  *out = (laze_call){.op = LAZE_OP_CONSTANT, .attributes = attributes};
  return true;
}

/* The call of a pending node. Its sizes may be unknown ones, of which the frame has had none so far. */
static bool call_of_node(laze_expander *self, const laze_pending *node, laze_call *out) {
  if (node->unknown) self->state->sizes = self->recorder.sizes = self->state->thread->lazy->unknowns.table;
  int32_t count = laze_pending_call_operands(node);
  laze_value *operands = laze_arena_alloc_array(&self->arena, count, sizeof *operands);
  if (!operands) return false;
  for (int32_t i = 0; i < count; i++) {
    laze_type type;
    laze_cell_type(node->operands[i], &type);
    laze_cell_retain(node->operands[i]);
    operands[i] = (laze_value){(int32_t)self->state->value_count, 0};
    if (laze_frame_push(self->state, node->operands[i], &type, NULL) != LAZE_OK) return false;
  }
  *out = (laze_call){.op = node->op,
                     .operand_count = count,
                     .operands = operands,
                     .segments = node->segments,
                     .attributes = node->attributes};
  return true;
}

static bool call_of(laze_recorder *recorder, laze_value value, laze_call *out) {
  laze_expander *self = (laze_expander *)recorder;
  const laze_cell *cell = self->state->values[value.node].cell;
  if (cell->state == LAZE_CELL_ERROR) return false;
  if (!self->has_arena) laze_arena_init(&self->arena, self->state->thread->lazy->context);
  self->has_arena = true;
  if (!laze_cell_is_pending(cell)) return constant_of(self, cell, out);
  return cell->node->result_count == 1 && call_of_node(self, cell->node, out);
}

static laze_status fresh_size(laze_recorder *recorder, const laze_size_source *source, laze_size *out, bool *defined,
                              laze_error *error) {
  laze_record_state *state = ((laze_expander *)recorder)->state;
  laze_lazy *lazy = state->thread->lazy;
  LAZE_TRY(laze_unknowns_reserve(lazy, error));
  state->sizes = recorder->sizes = lazy->unknowns.table;
  const laze_pending *definer = laze_unknowns_same_definer(lazy, state->values[source->value.node].cell, source->index,
                                                           source->low, source->high);
  *defined = definer != NULL;
  if (definer) {
    *out = laze_pending_defines(definer);
    return LAZE_OK;
  }
  const laze_pending *predicted = laze_script_peek(state);
  const laze_attribute *attributes =
      predicted && predicted->op == LAZE_OP_SIZE_FROM && predicted->referenced == 0 ? predicted->attributes : NULL;
  if (attributes && attributes[LAZE_SIZE_FROM_LOW].value.integer == source->low &&
      attributes[LAZE_SIZE_FROM_HIGH].value.integer == source->high) {
    *out = laze_pending_defines(predicted);
    return LAZE_OK;
  }
  return laze_size_fresh_symbol(lazy->unknowns.table, "u", out, error);
}

void laze_expander_init(laze_expander *expander, laze_record_state *state, laze_location location, laze_op origin) {
  expander->recorder = (laze_recorder){.record = record,
                                       .type_of = type_of,
                                       .context = state->thread->lazy->context,
                                       .call_of = call_of,
                                       .fresh_size = fresh_size,
                                       .sizes = state->sizes,
                                       .location = location,
                                       .origin = origin};
  expander->state = state;
  expander->tracks = false;
  expander->has_arena = false;
}

laze_status laze_record_expansion(laze_record_state *state, const laze_call *call, bool tracks, laze_value *results,
                                  laze_error *error) {
  laze_expander expander;
  laze_expander_init(&expander, state, call->location, call->origin == LAZE_OP_NONE ? call->op : call->origin);
  expander.tracks = tracks;
  laze_float_control caller;
  laze_float_control_enter(&caller); /* expansions compute with the numbers they are given */
  laze_status status = laze_call_expand(&expander.recorder, call, results, error);
  laze_float_control_leave(&caller);
  laze_expander_deinit(&expander);
  return status;
}

laze_status laze_layer_expand(laze_record_state *state, const laze_call *call, laze_layers below, laze_value *results,
                              laze_error *error) {
  (void)below; /* are asked again for each call of the expansion */
  return laze_record_expansion(state, call, false, results, error);
}
