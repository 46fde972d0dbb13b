/* Assignments: what is compared, and which history the destination has then. */
#include "lazy/lazy.h"
#include "lazy/record/layers.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"
#include "lazy/views/sides.h"

/* Why the two cannot be assigned. */
static laze_status check_types(const laze_sides *sides, laze_error *error) {
  laze_type types[2];
  laze_slot_type(sides->to, &types[0]);
  laze_slot_type(sides->from, &types[1]);
  if (laze_type_equal(&types[0], &types[1])) return LAZE_OK;
  char text[2][128];
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: the destination is %s and the source %s; shape and dtype must be equal", sides->function,
                   laze_type_format(NULL, &types[0], text[0], sizeof text[0]),
                   laze_type_format(NULL, &types[1], text[1], sizeof text[1]));
}

/* The destination follows from what the source does from now on, unless it is a leaf, which it stays. */
static laze_status take_history(laze_thread_state *thread, const laze_sides *sides, laze_error *error) {
  const laze_slot *to = sides->to, *source = sides->from;
  if (to->grad_node && laze_grad_node_is_leaf(to->grad_node)) return LAZE_OK;
  if (!source->grad_node || !laze_grad_node_is_leaf(source->grad_node) || !laze_thread_tracks(thread)) {
    const laze_edge edge = laze_thread_tracks(thread) ? laze_slot_edge(source) : (laze_edge){NULL, 0};
    laze_handle_set_edge(thread->lazy, sides->destination, edge);
    return LAZE_OK;
  }
  laze_record_state *state = thread->record;
  laze_type type;
  laze_cell_type(source->storage->cell, &type);
  laze_cell_retain(source->storage->cell);
  laze_status status = laze_frame_push(state, source->storage->cell, &type, error);
  if (status == LAZE_OK) state->values[0].edge = laze_edge_retain(laze_slot_edge(source));
  if (status == LAZE_OK) status = laze_history_pass_on(state, (laze_value){0, 0}, (laze_location){0}, error);
  if (status == LAZE_OK) laze_handle_set_edge(thread->lazy, sides->destination, state->values[0].edge);
  laze_frame_clear(state);
  return status;
}

/* A view has no value of its own: it is written to. One that cannot be, because its sizes follow from values, gets the
 * value alone. */
static laze_status assign(laze_thread_state *thread, const laze_sides *sides, laze_error *error) {
  laze_storage *storage = sides->to->storage;
  if (laze_storage_is_view(storage) && (!storage->view->unsized || storage->view->foreign || storage->view->whole))
    return laze_sides_write(thread, sides, error);
  if (laze_storage_is_view(storage)) laze_view_part(thread->lazy, storage);
  LAZE_TRY(take_history(thread, sides, error));
  if (thread->tracer && storage->cell)
    thread->tracer->overwrite(thread->tracer, storage->cell, sides->function, NULL, 0);
  laze_handle_assign(thread->lazy, sides->to, sides->from);
  if (thread->tracer) thread->tracer->write(thread->tracer, storage, LAZE_WRITTEN_ASSIGNED);
  return LAZE_OK;
}

static laze_status assign_as(const char *function, laze_tensor *destination, laze_tensor *source, laze_error *error) {
  laze_sides sides = {.function = function, .destination = destination, .source = source};
  laze_thread_state *thread;
  LAZE_TRY(laze_sides_lock(&sides, &thread, error));
  laze_error failure;
  laze_status status = laze_sides_find(thread, &sides, &failure);
  if (status == LAZE_OK) status = laze_sides_find_sizes(thread, &sides, &failure);
  if (status == LAZE_OK) status = laze_sides_check_values(&sides, &failure);
  if (status == LAZE_OK) status = check_types(&sides, &failure);
  if (status == LAZE_OK) status = assign(thread, &sides, &failure);
  if (status != LAZE_OK) laze_sides_report(thread, &sides, &failure, error);
  laze_lazy_unlock(thread->lazy);
  return status;
}

laze_status laze_tensor_assign_error(laze_tensor *destination, laze_tensor *source, laze_error *error) {
  return assign_as(__func__, destination, source, error);
}

laze_status laze_tensor_assign(laze_tensor *destination, laze_tensor *source) {
  return assign_as(__func__, destination, source, NULL);
}
