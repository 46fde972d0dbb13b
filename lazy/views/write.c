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
#include "lazy/value/pending.h"
#include "lazy/value/view.h"
#include "lazy/views/geometry.h"
#include "lazy/views/sides.h"
#include "lazy/views/steps.h"

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
  if (!cell || cell->state != LAZE_CELL_ERROR || !laze_cell_lacks_type(cell)) return LAZE_OK;
  return laze_fail(error, cell->value.failure->code, "%s", cell->value.failure->message);
}

/* Whose history a write to the slot changes. */
static laze_storage *history_of(const laze_slot *slot) {
  laze_storage *storage = slot->storage;
  return laze_storage_is_view(storage) && storage->view->origin ? storage->view->origin : storage;
}

laze_status laze_write_check(const laze_thread_state *thread, const char *name, const laze_slot *slot,
                             const laze_grad_node *written, laze_error *error) {
  const laze_grad_node *own = laze_storage_edge(history_of(slot)).node;
  if (slot->storage->inference && !thread->inference)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "%s: the tensor was made in inference mode and is written to outside of it; write to a copy "
                     "(laze_clone) that is made outside",
                     name);
  if (!laze_thread_tracks(thread) || (!own && !written && !laze_slot_requires_grad(slot))) return LAZE_OK;
  const bool is_leaf = laze_slot_requires_grad(slot) && laze_slot_is_leaf(slot);
  if (is_leaf || (own && laze_grad_node_is_leaf(own)))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "%s: %s leaf that requires a gradient is written to; write where no gradients are recorded, or to "
                     "a tensor that was computed from it",
                     name, is_leaf ? "a" : "a view of a");
  if (slot->storage->kind == LAZE_VIEW_NO_GRAD)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "%s: a view that was made where no gradients are recorded is written to where they are; make and "
                     "write it under one mode, or detach it",
                     name);
  if (slot->storage->kind == LAZE_VIEW_ONE_OF_SEVERAL)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "%s: one of several views that a call gave is written to, which has no history of its own; use "
                     "slices, or a call that is not in place",
                     name);
  return LAZE_OK;
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

static laze_status check_places(const laze_write *write, const laze_slot *slot, const laze_type *type,
                                laze_error *error) {
  laze_geometry geometry;
  if (laze_storage_is_whole(slot->storage) && (!slot->storage->view || slot->storage->view->unsized)) return LAZE_OK;
  if (slot->storage->view->foreign)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "%s: a view is written to that a declared operator gave, of which nobody knows where its elements "
                     "lie in the tensor that it is a view of; write to that, or to a copy (laze_clone)",
                     write->name);
  if (!laze_view_geometry(slot->storage, type, &geometry))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "%s: a view is written to whose sizes follow from values; ask for its size (laze_tensor_size) "
                     "before the view is made",
                     write->name);
  if (laze_geometry_is_injective(&geometry)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: several elements of the tensor are one place of memory, as expand gives them; write to a copy "
                   "(laze_clone)",
                   write->name);
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
static laze_status record_copy(laze_recorder *recorder, laze_record_state *state, laze_write *write,
                               const laze_slot *slot, const laze_type *type, laze_error *error) {
  const laze_value operands[] = {{(int32_t)state->value_count, 0}, write->value};
  const bool has_edge = state->values[write->value.node].edge.node != NULL;
  laze_cell *cell = slot->storage->cell;
  if (cell) laze_cell_retain(cell);
  LAZE_TRY(laze_frame_push(state, cell, type, error));
  if (laze_thread_tracks(state->thread) && !has_edge)
    state->values[operands[0].node].edge = laze_edge_retain(laze_slot_edge(slot));
  return laze_record_call(recorder, LAZE_OP_COPY, operands, 2, NULL, &write->value, error);
}

static void set_edge(laze_record_state *state, laze_value value, const laze_storage *history) {
  if (!laze_thread_tracks(state->thread)) return;
  const laze_edge old = state->values[value.node].edge;
  state->values[value.node].edge = laze_edge_retain(laze_storage_edge(history));
  laze_edge_release(state->thread->lazy, old);
}

/* What a detached view, whose history the view has, is once the value is written, and what its base is then: that has
 * no part in this history. */
static laze_status record_detached(laze_expander *expander, laze_record_state *state, laze_write *write,
                                   const laze_view *view, laze_value base, laze_error *error) {
  const laze_storage *history = history_of(view->own->slot);
  const laze_steps above = {NULL, history->view->last}, below = {above.last, view->last};
  const bool tracks = expander->tracks;
  if (history != view->own) {
    laze_value before;
    expander->tracks = false;
    LAZE_TRY(laze_steps_apply(&expander->recorder, above, base, &before, error));
    set_edge(state, before, history);
    expander->tracks = tracks;
    LAZE_TRY(laze_steps_write(&expander->recorder, below, before, write->value, &write->origin, error));
  }
  expander->tracks = false;
  const laze_status status = laze_steps_write(&expander->recorder, above, base, write->origin, &write->base, error);
  expander->tracks = tracks;
  return status;
}

/* What the base of a view is once the value is written to that. */
static laze_status record_base(laze_expander *expander, laze_record_state *state, laze_write *write,
                               const laze_view *view, laze_error *error) {
  const laze_value base = write->before ? write->before->base : (laze_value){(int32_t)state->value_count, 0};
  const laze_storage *history = history_of(view->own->slot);
  if (!write->before) {
    laze_cell *cell = view->base->cell;
    laze_type type;
    laze_cell_type(cell, &type);
    laze_cell_retain(cell);
    LAZE_TRY(laze_frame_push(state, cell, &type, error));
  }
  if (history != view->base) return record_detached(expander, state, write, view, base, error);
  if (!write->before) set_edge(state, base, history);
  const laze_steps steps = {NULL, view->last};
  LAZE_TRY(laze_steps_write(&expander->recorder, steps, base, write->value, &write->base, error));
  write->origin = write->base;
  return LAZE_OK;
}

static laze_status record(laze_record_state *state, laze_write *write, const laze_slot *slot, const laze_type *type,
                          laze_error *error) {
  laze_expander expander;
  laze_status status = LAZE_OK;
  laze_expander_init(&expander, state, write->location, LAZE_OP_NONE);
  expander.tracks = laze_thread_tracks(state->thread);
  if (!fits_as_it_is(state, slot, &state->values[write->value.node], type))
    status = record_copy(&expander.recorder, state, write, slot, type, error);
  write->base = write->origin = write->value;
  if (status == LAZE_OK && laze_storage_is_view(slot->storage))
    status = record_base(&expander, state, write, slot->storage->view, error);
  laze_expander_deinit(&expander);
  return status;
}

laze_status laze_write_prepare(laze_record_state *state, laze_write *write, laze_error *error) {
  laze_lazy *lazy = state->thread->lazy;
  const laze_pending *newest = lazy->newest;
  laze_slot *slot;
  laze_type type;
  LAZE_TRY(find_destination(state, write, &slot, error));
  laze_slot_type(slot, &type);
  LAZE_TRY(laze_write_check(state->thread, write->name, slot, state->values[write->value.node].edge.node, error));
  LAZE_TRY(check_shape(write, &type, &state->values[write->value.node].type, error));
  LAZE_TRY(check_places(write, slot, &type, error));
  if (laze_type_is_unknown(&type)) state->sizes = lazy->unknowns.table;
  LAZE_TRY(record(state, write, slot, &type, error));
  if (history_of(slot) != slot->storage && state->values[write->value.node].edge.node)
    LAZE_TRY(laze_history_pass_on(state, write->value, write->location, error)); /* of the view, not of its base */
  laze_cell_spread_failures(lazy, newest ? newest->newer : lazy->oldest);
  return LAZE_OK;
}

/* Tells whoever follows what is recorded. */
static void note(laze_thread_state *thread, const laze_storage *written, const laze_storage *history) {
  if (!thread->tracer) return;
  thread->tracer->write(thread->tracer, written,
                        !laze_thread_tracks(thread) ? LAZE_WRITTEN_NO_GRAD
                        : history != written        ? LAZE_WRITTEN_DETACHED
                                                    : LAZE_WRITTEN_TRACKED);
}

void laze_write_commit(laze_record_state *state, const laze_write *write) {
  laze_lazy *lazy = state->thread->lazy;
  const laze_frame_value *value = &state->values[write->value.node], *base = &state->values[write->base.node];
  const laze_edge edge = state->values[write->origin.node].edge;
  laze_slot *slot = laze_handle_slot(write->destination);
  laze_storage *storage = slot->storage, *history = history_of(slot);
  const bool is_view = laze_storage_is_view(storage);
  laze_storage *written = is_view ? storage->view->base : storage;
  laze_tracer *tracer = state->thread->tracer;
  if (tracer && written->cell)
    tracer->overwrite(tracer, written->cell, write->name, write->location.file, write->location.line);
  laze_storage_write(lazy, written, base->cell);
  note(state->thread, written, history);
  if (laze_thread_tracks(state->thread)) {
    laze_grad_retained_move(lazy, laze_storage_edge(history), edge);
    laze_storage_set_edge(lazy, history, edge);
    if (history != storage) laze_grad_retained_move(lazy, laze_slot_edge(slot), value->edge);
    if (history != storage) laze_slot_set_edge(lazy, slot, value->edge);
  }
  if (is_view) laze_view_renew(lazy, storage, value->cell);
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

static bool is_same_place(const laze_geometry *a, const laze_geometry *b) {
  bool same = a->offset == b->offset;
  for (int i = 0; i < a->rank; i++) same = same && (a->sizes[i] == 1 || a->strides[i] == b->strides[i]);
  return same;
}

/* Whether a view is written to itself, or to another that is the same, as x[0] += y does last in Python: nothing
 * changes then. Where it would be refused it is not. */
static bool is_same_view(const laze_sides *sides) {
  const laze_storage *to = sides->to->storage, *from = sides->from->storage;
  laze_geometry places[2];
  laze_type types[2];
  if (!laze_storage_is_view(to) || !laze_storage_is_view(from) || to->view->base != from->view->base || to->inference ||
      laze_slot_requires_grad(sides->to) || laze_slot_requires_grad(sides->from))
    return false;
  laze_slot_type(sides->to, &types[0]);
  laze_slot_type(sides->from, &types[1]);
  return laze_type_equal(&types[0], &types[1]) && laze_view_geometry(to, &types[0], &places[0]) &&
         laze_view_geometry(from, &types[1], &places[1]) && is_same_place(&places[0], &places[1]) &&
         laze_geometry_is_injective(&places[0]);
}

laze_status laze_sides_write(laze_thread_state *thread, const laze_sides *sides, laze_error *error) {
  if (is_same_view(sides)) return LAZE_OK;
  laze_write write = {.name = sides->function, .destination = sides->destination};
  laze_status status = push_source(thread->record, sides->from, error);
  if (status == LAZE_OK) status = laze_write_prepare(thread->record, &write, error);
  if (status == LAZE_OK) laze_write_commit(thread->record, &write);
  laze_frame_clear(thread->record);
  return status;
}

laze_status laze_tensor_write(laze_tensor *destination, laze_tensor *source, laze_error *error) {
  laze_sides sides = {.function = __func__, .destination = destination, .source = source};
  laze_thread_state *thread;
  laze_error failure;
  LAZE_TRY(laze_sides_lock(&sides, &thread, error));
  laze_status status = laze_sides_find(thread, &sides, &failure);
  if (status == LAZE_OK) status = laze_sides_find_sizes(thread, &sides, &failure);
  if (status == LAZE_OK) status = laze_sides_check_values(&sides, &failure);
  if (status == LAZE_OK) status = laze_sides_write(thread, &sides, &failure);
  if (status != LAZE_OK) laze_sides_report(thread, &sides, &failure, error);
  if (laze_backlog_exceeds(&thread->backlog, &thread->lazy->budget)) laze_budget_cut(thread, thread->lazy->newest);
  laze_lazy_unlock(thread->lazy);
  return status;
}
