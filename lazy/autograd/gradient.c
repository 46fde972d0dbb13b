/* Gradients as values of their own, and as handles for the caller's code. */
#include "lazy/autograd/gradient.h"

#include "ir/composite/composite.h"
#include "lazy/autograd/slot.h"
#include "lazy/lazy.h"
#include "lazy/record/expander.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

void laze_gradient_release(laze_lazy *lazy, laze_gradient *gradient) {
  laze_cell_release(lazy, gradient->cell);
  laze_edge_release(lazy, gradient->history);
  *gradient = (laze_gradient){.cell = NULL};
}

laze_status laze_gradient_fill(laze_thread_state *thread, const laze_type *type, int64_t number, laze_gradient *out,
                               laze_error *error) {
  laze_value value;
  laze_expander expander;
  if (laze_type_is_unknown(type)) thread->record->sizes = thread->lazy->unknowns.table;
  laze_expander_init(&expander, thread->record, (laze_location){0}, LAZE_OP_NONE);
  laze_status status = laze_compose_full(&expander.recorder, (laze_dtype)type->dtype, laze_scalar_integer(number),
                                         type->sizes, type->rank, &value, error);
  laze_expander_deinit(&expander);
  if (status == LAZE_OK) {
    out->cell = thread->record->values[value.node].cell;
    laze_cell_retain(out->cell);
  }
  laze_frame_clear(thread->record);
  return status;
}

laze_status laze_gradient_handles(laze_thread_state *thread, const laze_gradient *gradients, int32_t count,
                                  laze_tensor **out, laze_error *error) {
  for (int32_t i = 0; i < count; i++) {
    out[i] = gradients[i].cell ? laze_handle_create(thread, gradients[i].cell) : NULL;
    if (out[i] == laze_handle_out_of_memory()) {
      laze_gradient_handles_drop(thread, out, i);
      return laze_fail_memory(error, "a gradient", -1);
    }
    if (out[i] && gradients[i].history.node) laze_handle_set_edge(thread->lazy, out[i], gradients[i].history);
  }
  return LAZE_OK;
}

laze_status laze_gradient_of_leaf(laze_thread_state *thread, const laze_grad_node *leaf, laze_tensor **out,
                                  laze_error *error) {
  LAZE_TRY(laze_slot_refresh(thread, leaf->gradient, error));
  *out = laze_handle_create(thread, leaf->gradient->storage->cell);
  laze_slot *view = laze_handle_slot(*out);
  return view ? laze_view_share(thread->lazy, view, leaf->gradient, false, error)
              : laze_fail_memory(error, "a gradient", -1);
}

void laze_gradient_handles_drop(laze_thread_state *thread, laze_tensor **handles, int32_t count) {
  laze_lazy_unlock(thread->lazy);
  for (int32_t i = 0; i < count; i++)
    if (handles[i]) laze_tensor_release(laze_tensor_take(handles[i]));
  pthread_mutex_lock(&thread->lazy->lock);
}

laze_status laze_gradient_from_handle(laze_thread_state *thread, const char *what, laze_tensor *tensor,
                                      laze_gradient *out, laze_error *error) {
  laze_slot *slot;
  LAZE_TRY(laze_grad_slot(thread, what, tensor, &slot, error));
  laze_cell_retain(slot->storage->cell);
  *out = (laze_gradient){slot->storage->cell, laze_edge_retain(laze_slot_edge(slot))};
  return LAZE_OK;
}
