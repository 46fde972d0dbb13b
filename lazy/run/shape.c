/* The sizes of a tensor, which are computed where values define them, and nothing else is. */
#include "lazy/lazy.h"
#include "lazy/run/read.h"
#include "lazy/run/size_sync.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

/* Finds the sizes of a slot's cell. */
static void find_sizes(laze_thread_state *thread, laze_tensor *tensor, laze_cell *cell) {
  laze_error error;
  laze_cell_retain(cell);
  if (laze_sync_cell(thread, cell, &error) != LAZE_OK) laze_note_read_error(thread, tensor, &error, false);
  laze_cell_release(thread->lazy, cell);
}

static bool is_unknown(const laze_slot *slot) {
  return slot->storage->cell && slot->storage->cell->state == LAZE_CELL_UNKNOWN;
}

/* The type of the tensor with its sizes; false for the handle of a failed call, and where the sizes cannot be found. A
 * value that failed when it ran keeps what it has. */
static bool find_shape(laze_tensor *tensor, laze_type *out) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return false;
  const laze_slot *slot = laze_handle_slot(tensor);
  if (slot && is_unknown(slot)) {
    find_sizes(thread, tensor, slot->storage->cell);
    slot = laze_handle_slot(tensor); /* the lock was free meanwhile */
  }
  bool found = slot && !is_unknown(slot);
  if (found) laze_slot_type(slot, out);
  found = found && out->dtype != LAZE_DTYPE_NONE;
  laze_lazy_unlock(lazy);
  return found;
}

/* The size of an axis as the tensor's cell has it: a number, or an expression that a run will know; -1: there is none.
 * Call it locked. */
static laze_size size_of(const laze_tensor *tensor, int32_t axis) {
  const laze_slot *slot = laze_handle_slot(tensor);
  laze_type type = {.dtype = LAZE_DTYPE_NONE};
  if (slot) laze_slot_type(slot, &type);
  if (type.dtype == LAZE_DTYPE_NONE) return -1;
  if (axis < 0) axis += type.rank;
  return axis >= 0 && axis < type.rank ? type.sizes[axis] : -1;
}

static laze_size locked_size_of(laze_lazy *lazy, const laze_tensor *tensor, int32_t axis) {
  pthread_mutex_lock(&lazy->lock);
  laze_size size = size_of(tensor, axis);
  pthread_mutex_unlock(&lazy->lock);
  return size;
}

int64_t laze_tensor_size(laze_tensor *tensor, int32_t axis) {
  laze_type type;
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy) return -1;
  laze_size size = locked_size_of(lazy, tensor, axis);
  if (laze_size_is_constant(size)) return size;
  if (!find_shape(tensor, &type)) return -1;
  return type.sizes[axis < 0 ? axis + type.rank : axis];
}

int64_t laze_tensor_elements(laze_tensor *tensor) {
  laze_type type;
  laze_size elements;
  if (!find_shape(tensor, &type)) return -1;
  for (int i = 0; i < type.rank; i++)
    if (type.sizes[i] < 0) return -1; /* of a value that failed before they were found */
  return laze_type_elements(NULL, &type, &elements, NULL) == LAZE_OK ? elements : -1;
}

int32_t laze_tensor_knows_size(laze_tensor *tensor, int32_t axis) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  return !lazy || laze_size_is_constant(locked_size_of(lazy, tensor, axis));
}

int32_t laze_tensor_has_size_of(laze_tensor *tensor, int32_t axis, laze_tensor *other, int32_t other_axis) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy || laze_handle_lazy(other) != lazy) return 0;
  pthread_mutex_lock(&lazy->lock);
  laze_size size = size_of(tensor, axis);
  int32_t same = size != -1 && size == size_of(other, other_axis);
  pthread_mutex_unlock(&lazy->lock);
  return same;
}
