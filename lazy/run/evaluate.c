/* Several tensors computed in one graph: their nodes are selected, and whatever they need is found from there.
 *
 *   a = exp(x), b = a * 2, c = a + 1      b and c wanted: one run, in which a is computed once
 */
#include "lazy/lazy.h"
#include "lazy/run/compile.h"
#include "lazy/run/materialise.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/pending.h"
#include "lazy/value/view.h"

static laze_status refuse(const laze_force *force, int32_t index, const char *what, laze_error *error) {
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: tensor %d is %s", force->function, (int)index, what);
}

/* All of one context; its lazy object. */
static laze_status find_lazy(laze_tensor *const *tensors, int32_t count, const laze_force *force, laze_lazy **out,
                             laze_error *error) {
  *out = NULL;
  for (int32_t i = 0; i < count; i++) {
    if (tensors[i] == laze_handle_out_of_memory()) return laze_fail_memory(error, "a tensor", -1);
    laze_lazy *lazy = laze_handle_lazy(tensors[i]);
    if (!lazy)
      return refuse(force, i, tensors[i] ? "a released handle; retain a tensor that is used after its scope" : "NULL",
                    error);
    if (*out && lazy != *out)
      return refuse(force, i, "of another context than those before; compute them apart", error);
    *out = lazy;
  }
  return LAZE_OK;
}

/* Has the views among them recorded again whose bases were written to. */
static laze_status refresh_all(laze_thread_state *thread, laze_tensor *const *tensors, int32_t count,
                               laze_error *error) {
  for (int32_t i = 0; i < count; i++) {
    laze_slot *slot = laze_handle_slot(tensors[i]);
    if (slot) LAZE_TRY(laze_slot_refresh(thread, slot, error));
  }
  return LAZE_OK;
}

/* Selects the pending ones' nodes; whether there are any. */
static bool select_pending(laze_tensor *const *tensors, int32_t count, uint64_t selection) {
  bool any = false;
  for (int32_t i = 0; i < count; i++) {
    const laze_slot *slot = laze_handle_slot(tensors[i]);
    if (!slot || !slot->storage->cell || !laze_cell_is_pending(slot->storage->cell)) continue;
    slot->storage->cell->node->selected = selection;
    any = true;
  }
  return any;
}

/* The first of the tensors whose value is an error, which counts as read. */
static laze_status find_failure(laze_tensor *const *tensors, int32_t count, laze_error *error) {
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < count; i++) {
    const laze_slot *slot = laze_handle_slot(tensors[i]);
    if (!slot || !slot->storage->cell || slot->storage->cell->state != LAZE_CELL_ERROR) continue;
    laze_failure *failure = slot->storage->cell->value.failure;
    failure->reported = true;
    if (status == LAZE_OK) status = laze_fail(error, failure->code, "%s", failure->message);
  }
  return status;
}

laze_status laze_materialise_tensors(laze_tensor *const *tensors, int32_t count, const laze_force *force,
                                     laze_error *error) {
  laze_lazy *lazy;
  laze_error local;
  const laze_backend *backend;
  if (!error) error = &local;
  *error = (laze_error){.code = LAZE_OK};
  if (count < 0 || (count > 0 && !tensors))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d tensors at %p are no list", force->function, (int)count,
                     (const void *)tensors);
  LAZE_TRY(find_lazy(tensors, count, force, &lazy, error));
  if (!lazy) return LAZE_OK;
  laze_thread_state *thread = laze_lazy_lock(lazy);
  if (!thread) return laze_fail_memory(error, "a thread's state", sizeof *thread);
  laze_status status = laze_lazy_backend(lazy, &backend, error);
  if (status == LAZE_OK) status = refresh_all(thread, tensors, count, error);
  uint64_t selection = ++lazy->mark;
  if (status == LAZE_OK && select_pending(tensors, count, selection))
    status = laze_materialise_selected(thread, selection, true, force, error);
  if (status == LAZE_OK) status = find_failure(tensors, count, error);
  laze_lazy_unlock(lazy);
  return status;
}

laze_status laze_tensors_materialise_at(laze_tensor *const *tensors, int32_t count, laze_error *error, const char *file,
                                        int32_t line) {
  const laze_force force = {LAZE_FORCE_VALUE, "laze_tensors_materialise", file, line};
  return laze_materialise_tensors(tensors, count, &force, error);
}
laze_status laze_tensors_materialise(laze_tensor *const *tensors, int32_t count, laze_error *error) {
  return laze_tensors_materialise_at(tensors, count, error, NULL, 0);
}
