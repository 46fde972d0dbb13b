/* A view that a kernel gave: its elements are a copy, and nobody knows which elements of the argument they are. So it
 * knows its base, with whose writes it gets outdated, and is written to by nobody. */
#include "lazy/library/view.h"

#include "lazy/lazy.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

static laze_status make(laze_lazy *lazy, const laze_library_state *state, laze_tensor *result, laze_error *error) {
  const laze_slot *argument = laze_handle_slot(state->bound[0].value.tensor);
  laze_slot *slot = laze_handle_slot(result);
  const laze_geometry none = {0};
  if (!argument || !slot)
    return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s: an argument or a result was released meanwhile",
                     state->op->schema.name);
  if (slot->storage->view || argument->storage == slot->storage || slot->storage->cell->state == LAZE_CELL_ERROR)
    return LAZE_OK; /* its code has made it one */
  const laze_view_recipe recipe = {
      .parent = argument->storage, .geometry = &none, .detached = true, .unsized = true, .foreign = true};
  return laze_view_attach(lazy, slot, &recipe, error);
}

laze_status laze_library_make_view(const laze_library_state *state, laze_tensor *result, laze_error *error) {
  laze_lazy *lazy = laze_lazy_get(state->library->context);
  if (!lazy || !laze_lazy_lock(lazy)) return laze_fail_memory(error, "a view", -1);
  const laze_status status = make(lazy, state, result, error);
  laze_lazy_unlock(lazy);
  return status;
}

static const laze_storage *base_of(laze_tensor *tensor) {
  const laze_slot *slot = laze_handle_slot(tensor);
  return slot && slot->storage->view ? slot->storage->view->base : slot ? slot->storage : NULL;
}

bool laze_library_share_memory(const laze_library_state *state, laze_tensor *a, laze_tensor *b) {
  laze_lazy *lazy = laze_lazy_get(state->library->context);
  if (a == b || !lazy || !laze_lazy_lock(lazy)) return true;
  const bool shared = base_of(a) == base_of(b);
  laze_lazy_unlock(lazy);
  return shared;
}
