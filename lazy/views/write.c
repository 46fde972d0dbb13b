/* Writes in place (lazy/record/write.h), and the one of the C interface that is a write and nothing else. */
#include "lazy/record/write.h"

#include "base/dtype.h"
#include "ir/op.gen.h"
#include "lazy/lazy.h"
#include "lazy/record/expander.h"
#include "lazy/record/layers.h"
#include "lazy/record/record_state.h"
#include "lazy/run/budget.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/views/sides.h"

/* --- what is refused --- */

static laze_status find_destination(const laze_record_state *state, const laze_write *write, laze_slot **out,
                                    laze_error *error) {
  const bool own = laze_handle_lazy(write->destination) == state->thread->lazy;
  *out = own ? laze_handle_slot(write->destination) : NULL;
  if (!*out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: the tensor that is written to is a released handle, or of another context than the others",
                     write->name);
  const laze_cell *cell = (*out)->storage->cell;
  if (cell->state != LAZE_CELL_ERROR || !laze_cell_lacks_type(cell)) return LAZE_OK;
  return laze_fail(error, cell->value.failure->code, "%s", cell->value.failure->message);
}

static laze_status check_leaf(const laze_record_state *state, const laze_write *write, const laze_slot *slot,
                              laze_error *error) {
  if (!slot->grad_node || !laze_grad_node_is_leaf(slot->grad_node) || !laze_thread_tracks(state->thread))
    return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: a leaf that requires a gradient is written to; write where no gradients are recorded, or to "
                   "a tensor that was computed from it",
                   write->name);
}

static laze_status check_shape(const laze_write *write, const laze_type *to, const laze_type *from, laze_error *error) {
  bool fits = from->rank <= to->rank;
  for (int i = 0; i < from->rank && fits; i++) {
    const laze_size wanted = to->sizes[to->rank - from->rank + i], given = from->sizes[i];
    const bool known = laze_size_is_constant(wanted) && laze_size_is_constant(given);
    fits = !known || given == 1 || given == wanted;
  }
  if (fits) return LAZE_OK;
  char text[2][128];
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: a value of %s is written to a tensor of %s; it has to broadcast to that shape", write->name,
                   laze_type_format(NULL, from, text[0], sizeof text[0]),
                   laze_type_format(NULL, to, text[1], sizeof text[1]));
}

/* --- what is recorded --- */

/* Whether the value is what the destination gets as it is: of its type, and with a history of its own, if that is to
 * have one. */
static bool fits_as_it_is(const laze_record_state *state, const laze_slot *slot, const laze_frame_value *value,
                          const laze_type *type) {
  if (!laze_type_equal(type, &value->type)) return false;
  if (!laze_thread_tracks(state->thread)) return true;
  return value->edge.node ? value->storage == NULL : slot->grad_node == NULL;
}

/* The value as the destination has it: copy(destination, value), of whose operands the first gives the type. Where the
 * value has no gradient, the destination's goes on to what it was, as zeros. */
static laze_status record_copy(laze_record_state *state, laze_write *write, const laze_slot *slot,
                               const laze_type *type, laze_error *error) {
  const bool tracks = laze_thread_tracks(state->thread), has_edge = state->values[write->value.node].edge.node != NULL;
  const laze_value operands[] = {{(int32_t)state->value_count, 0}, write->value};
  laze_cell *cell = slot->storage->cell;
  laze_expander expander;
  laze_cell_retain(cell);
  LAZE_TRY(laze_frame_push(state, cell, type, error));
  if (tracks && !has_edge) state->values[operands[0].node].edge = laze_edge_retain(laze_slot_edge(slot));
  laze_expander_init(&expander, state, write->location, LAZE_OP_NONE);
  expander.tracks = tracks;
  laze_status status = laze_record_call(&expander.recorder, LAZE_OP_COPY, operands, 2, NULL, &write->value, error);
  laze_expander_deinit(&expander);
  return status;
}

laze_status laze_write_prepare(laze_record_state *state, laze_write *write, laze_error *error) {
  laze_slot *slot;
  laze_type type;
  LAZE_TRY(find_destination(state, write, &slot, error));
  laze_cell_type(slot->storage->cell, &type);
  LAZE_TRY(check_leaf(state, write, slot, error));
  LAZE_TRY(check_shape(write, &type, &state->values[write->value.node].type, error));
  if (laze_type_is_unknown(&type)) state->sizes = state->thread->lazy->unknowns.table;
  return fits_as_it_is(state, slot, &state->values[write->value.node], &type)
             ? LAZE_OK
             : record_copy(state, write, slot, &type, error);
}

void laze_write_commit(laze_record_state *state, const laze_write *write) {
  laze_lazy *lazy = state->thread->lazy;
  const laze_frame_value *value = &state->values[write->value.node];
  laze_handle_write(lazy, laze_handle_slot(write->destination), value->cell);
  if (laze_thread_tracks(state->thread)) laze_handle_set_edge(lazy, write->destination, value->edge);
}

/* --- the C interface --- */

static laze_status push_source(laze_record_state *state, const laze_slot *source, laze_error *error) {
  laze_type type;
  laze_cell *cell = source->storage->cell;
  laze_cell_type(cell, &type);
  if (laze_type_is_unknown(&type)) state->sizes = state->thread->lazy->unknowns.table;
  laze_cell_retain(cell);
  LAZE_TRY(laze_frame_push(state, cell, &type, error));
  state->values[0].storage = source->storage;
  if (laze_thread_tracks(state->thread)) state->values[0].edge = laze_edge_retain(laze_slot_edge(source));
  return LAZE_OK;
}

laze_status laze_tensor_write(laze_tensor *destination, laze_tensor *source, laze_error *error) {
  laze_sides sides = {.function = __func__, .destination = destination, .source = source};
  laze_write write = {.name = __func__, .destination = destination};
  laze_thread_state *thread;
  laze_error failure;
  LAZE_TRY(laze_sides_lock(&sides, &thread, error));
  laze_status status = laze_sides_find(thread, &sides, &failure);
  if (status == LAZE_OK) status = laze_sides_find_sizes(thread, &sides, &failure);
  if (status == LAZE_OK) status = laze_sides_check_values(&sides, &failure);
  if (status == LAZE_OK) status = push_source(thread->record, sides.from, &failure);
  if (status == LAZE_OK) status = laze_write_prepare(thread->record, &write, &failure);
  if (status == LAZE_OK)
    laze_write_commit(thread->record, &write);
  else
    laze_sides_report(thread, &sides, &failure, error);
  laze_frame_clear(thread->record);
  if (laze_backlog_exceeds(&thread->backlog, &thread->lazy->budget)) laze_budget_cut(thread, thread->lazy->newest);
  laze_lazy_unlock(thread->lazy);
  return status;
}
