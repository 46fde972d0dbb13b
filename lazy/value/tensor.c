/* What a tensor says of itself without being computed: its dtype, its rank, and its error. */
#include "laze/tensor.h"

#include "lazy/lazy.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

const char *laze_tensor_error(laze_tensor *tensor) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  const char *message = "the handle was released; retain a tensor that is used after its scope";
  if (!tensor) return "the tensor is NULL";
  if (tensor == laze_handle_out_of_memory()) return "out of memory: there was none for this tensor";
  if (!lazy) return message; /* with its context */
  pthread_mutex_lock(&lazy->lock);
  laze_slot *slot = laze_handle_slot(tensor);
  if (slot) {
    const laze_cell *cell = slot->storage->cell;
    const char *other = slot->unsaid ? "out of memory: there was none to note what went wrong" : "";
    message = slot->errors ? slot->errors->failure->message : other;
    if (cell && cell->state == LAZE_CELL_ERROR) message = laze_quotes_put(lazy, &slot->errors, cell->value.failure);
    if (slot->errors) slot->errors->given_out = true;
  }
  pthread_mutex_unlock(&lazy->lock);
  return message;
}

laze_status laze_tensor_status(laze_tensor *tensor) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (tensor == laze_handle_out_of_memory()) return LAZE_OUT_OF_MEMORY;
  if (!lazy) return LAZE_INVALID_ARGUMENT;
  laze_status status = LAZE_INVALID_ARGUMENT;
  pthread_mutex_lock(&lazy->lock);
  const laze_slot *slot = laze_handle_slot(tensor);
  if (slot) {
    const laze_cell *cell = slot->storage->cell;
    laze_failure *failure = cell && cell->state == LAZE_CELL_ERROR ? cell->value.failure
                            : slot->errors                         ? slot->errors->failure
                                                                   : NULL;
    status = failure ? failure->code : slot->unsaid ? LAZE_OUT_OF_MEMORY : LAZE_OK;
    if (failure) failure->reported = true;
  }
  pthread_mutex_unlock(&lazy->lock);
  return status;
}

/* The type of the tensor, of no dtype for the handle of a failed call. A value that failed when it ran keeps it. */
static laze_type find_type(laze_tensor *tensor) {
  laze_type found = {.dtype = LAZE_DTYPE_NONE};
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy) return found;
  pthread_mutex_lock(&lazy->lock);
  const laze_slot *slot = laze_handle_slot(tensor);
  if (slot) laze_slot_type(slot, &found);
  pthread_mutex_unlock(&lazy->lock);
  return found;
}

laze_dtype laze_tensor_dtype(laze_tensor *tensor) {
  return find_type(tensor).dtype;
}

int32_t laze_tensor_rank(laze_tensor *tensor) {
  const laze_type found = find_type(tensor);
  return found.dtype == LAZE_DTYPE_NONE ? -1 : found.rank;
}
