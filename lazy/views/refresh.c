/* A view whose base was written to is recorded again when somebody asks for it, in a frame of its own: its steps on the
 * cell that the base has now. Recording goes through the layer of gradients, so that the view follows from what its
 * base follows from now. */
#include "lazy/lazy.h"
#include "lazy/record/expander.h"
#include "lazy/record/layers.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/pending.h"
#include "lazy/value/view.h"
#include "lazy/views/steps.h"

/* Records the steps; *out is a value of the frame. */
static laze_status record(laze_record_state *state, const laze_view *view, bool tracks, laze_value *out,
                          laze_error *error) {
  laze_cell *cell = view->base->cell;
  const bool is_detached = view->origin && view->origin != view->base; /* what it follows is */
  const laze_steps above = {NULL, is_detached ? view->origin->view->last : NULL}, below = {above.last, view->last};
  laze_value origin = {0, 0};
  laze_expander expander;
  laze_type type;
  laze_cell_type(cell, &type);
  if (laze_type_is_unknown(&type)) state->sizes = state->thread->lazy->unknowns.table;
  laze_cell_retain(cell);
  LAZE_TRY(laze_frame_push(state, cell, &type, error));
  laze_expander_init(&expander, state, (laze_location){0}, LAZE_OP_NONE);
  laze_status status = laze_steps_apply(&expander.recorder, above, origin, &origin, error);
  if (status == LAZE_OK && tracks) state->values[origin.node].edge = laze_edge_retain(laze_storage_edge(view->origin));
  expander.tracks = tracks;
  if (status == LAZE_OK) status = laze_steps_apply(&expander.recorder, below, origin, out, error);
  laze_expander_deinit(&expander);
  const bool is_whole = below.last == below.before; /* a tensor of its own in histories */
  if (status == LAZE_OK && is_whole && state->values[origin.node].edge.node)
    status = laze_history_pass_on(state, *out, (laze_location){0}, error);
  return status;
}

laze_status laze_view_refresh(laze_thread_state *thread, laze_slot *slot, laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  laze_record_state *state = thread->record;
  const laze_view *view = slot->storage->view;
  const bool tracks = view->origin && slot->storage->kind != LAZE_VIEW_NO_GRAD;
  const bool keeps_edge = !view->origin || (slot->grad_node && laze_grad_node_is_leaf(slot->grad_node));
  const laze_pending *newest = lazy->newest;
  laze_value value;
  if (view->foreign)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "a tensor was written to of which this is a view that a declared operator gave, whose kernel laze "
                     "does not call again for that; call the operator after the write");
  if (view->unsized && !view->whole)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "a tensor was written to of which this is a view whose sizes follow from values; ask for its size "
                     "(laze_tensor_size) before the view is made, or make the view after the write");
  laze_status status = record(state, view, tracks, &value, error);
  if (status == LAZE_OK) {
    if (view->base->cell->state == LAZE_CELL_ERROR)
      laze_cell_spread_failures(lazy, newest ? newest->newer : lazy->oldest);
    laze_view_renew(lazy, slot->storage, state->values[value.node].cell);
    const laze_edge edge = state->values[value.node].edge;
    if (!keeps_edge) laze_grad_retained_move(lazy, laze_slot_edge(slot), edge);
    if (!keeps_edge) laze_slot_set_edge(lazy, slot, edge);
  }
  laze_frame_clear(state);
  return status;
}
