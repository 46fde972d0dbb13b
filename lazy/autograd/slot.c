/* Which tensors functions of gradients take, and what they say of others. */
#include "lazy/autograd/slot.h"

#include "lazy/lazy.h"
#include "lazy/run/size_sync.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

laze_status laze_grad_slot(laze_thread_state *thread, const char *function, laze_tensor *tensor, laze_slot **out,
                           laze_error *error) {
  *out = laze_handle_lazy(tensor) == thread->lazy ? laze_handle_slot(tensor) : NULL;
  if (!tensor) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: a tensor is NULL", function);
  if (!*out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: a tensor is a released handle or of another context; retain one that is used after its scope",
                     function);
  LAZE_TRY(laze_slot_refresh(thread, *out, error));
  const laze_cell *cell = (*out)->storage->cell;
  if (cell->state == LAZE_CELL_ERROR && laze_cell_lacks_type(cell))
    return laze_fail(error, cell->value.failure->code, "%s", cell->value.failure->message);
  return LAZE_OK;
}

laze_status laze_grad_lock(const char *function, laze_tensor *tensor, laze_thread_state **out, laze_error *error) {
  if (error) *error = (laze_error){.code = LAZE_OK};
  laze_lazy *lazy = laze_handle_lazy(tensor);
  *out = lazy ? laze_lazy_lock(lazy) : NULL;
  if (*out) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the tensor is NULL, or its call failed for want of memory",
                   function);
}

laze_status laze_grad_check(const char *function, const laze_cell *tensor, const laze_cell *gradient,
                            laze_error *error) {
  laze_type types[2];
  char text[2][128];
  laze_cell_type(tensor, &types[0]);
  laze_cell_type(gradient, &types[1]);
  if (laze_type_equal(&types[0], &types[1])) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: the gradient is %s and its tensor %s; shape and dtype must be equal", function,
                   laze_type_format(NULL, &types[1], text[1], sizeof text[1]),
                   laze_type_format(NULL, &types[0], text[0], sizeof text[0]));
}

laze_status laze_grad_find_sizes(const char *function, laze_thread_state *thread, laze_tensor *tensor,
                                 laze_tensor *gradient, laze_error *error) {
  laze_slot *slots[2] = {NULL, NULL};
  laze_cell *cells[2] = {NULL, NULL};
  laze_type types[2];
  laze_tensor *const tensors[] = {tensor, gradient};
  const int count = gradient ? 2 : 1;
  for (int i = 0; i < count; i++) {
    LAZE_TRY(laze_grad_slot(thread, function, tensors[i], &slots[i], error));
    cells[i] = slots[i]->storage->cell;
    laze_cell_type(cells[i], &types[i]);
  }
  if (count == 2 && laze_type_equal(&types[0], &types[1])) return LAZE_OK;
  laze_status status = LAZE_OK;
  for (int i = 0; i < count; i++) laze_cell_retain(cells[i]);
  for (int i = 0; i < count && status == LAZE_OK; i++) status = laze_sync_cell(thread, cells[i], error);
  for (int i = 0; i < count; i++) laze_cell_release(thread->lazy, cells[i]);
  return status;
}
