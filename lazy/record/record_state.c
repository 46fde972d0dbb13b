/* The values of the frame being recorded. */
#include "lazy/record/record_state.h"

#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"

static void copy_type(laze_type *to, const laze_type *from) {
  to->kind = from->kind;
  to->dtype = from->dtype;
  to->rank = from->rank;
  for (int i = 0; i < from->rank; i++) to->sizes[i] = from->sizes[i];
}

laze_status laze_frame_grow(laze_record_state *state, int64_t count, laze_error *error) {
  void *array = state->values;
  LAZE_TRY(laze_grow(state->thread->lazy->context, &array, &state->value_capacity, state->value_count + count,
                     sizeof *state->values, error));
  state->values = array;
  return LAZE_OK;
}

laze_status laze_frame_push(laze_record_state *state, laze_cell *cell, const laze_type *type, laze_error *error) {
  laze_status status = laze_frame_reserve(state, 1, error);
  if (status != LAZE_OK) {
    laze_cell_release(state->thread->lazy, cell);
    return status;
  }
  laze_frame_value *value = &state->values[state->value_count++];
  value->cell = cell;
  value->edge = (laze_edge){0};
  value->storage = NULL;
  copy_type(&value->type, type);
  return LAZE_OK;
}

void laze_frame_clear(laze_record_state *state) {
  state->sizes = NULL;
  while (state->value_count > 0) {
    laze_frame_value *value = &state->values[--state->value_count];
    laze_cell_release(state->thread->lazy, value->cell);
    if (value->edge.node) laze_edge_release(state->thread->lazy, value->edge);
  }
}

void laze_record_state_deinit(laze_record_state *state) {
  laze_context *context = state->thread->lazy->context;
  laze_free(context, state->values);
  laze_free(context, state->types);
  laze_free(context, state->operands);
  laze_free(context, state->definers);
  laze_script_clear(state);
}
