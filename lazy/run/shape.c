/* The sizes of a tensor, which are computed where values define them, and nothing else is. */
#include "lazy/lazy.h"
#include "lazy/run/read.h"
#include "lazy/run/size_sync.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"

/* Finds the sizes of a slot's cell. */
static void find_sizes(laze_thread_state *thread, laze_tensor *tensor, laze_cell *cell) {
  laze_error error;
  laze_cell_retain(cell);
  if (laze_sync_cell(thread, cell, &error) != LAZE_OK) laze_note_read_error(thread, tensor, &error, false);
  laze_cell_release(thread->lazy, cell);
}

/* The type of the tensor with its sizes; false for the handle of a failed call, and where the sizes cannot be found. A
 * value that failed when it ran keeps what it has. */
static bool find_shape(laze_tensor *tensor, laze_type *out) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return false;
  const laze_slot *slot = laze_handle_slot(tensor);
  if (slot && slot->storage->cell->state == LAZE_CELL_UNKNOWN) {
    find_sizes(thread, tensor, slot->storage->cell);
    slot = laze_handle_slot(tensor); /* the lock was free meanwhile */
  }
  const laze_cell *cell = slot ? slot->storage->cell : NULL;
  bool found = cell && cell->state != LAZE_CELL_UNKNOWN && cell->dtype != LAZE_DTYPE_NONE;
  if (found) laze_cell_type(cell, out);
  laze_lazy_unlock(lazy);
  return found;
}

int64_t laze_tensor_size(laze_tensor *tensor, int32_t axis) {
  laze_type type;
  if (!find_shape(tensor, &type)) return -1;
  if (axis < 0) axis += type.rank;
  return axis >= 0 && axis < type.rank ? type.sizes[axis] : -1;
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
  if (!lazy) return 1;
  pthread_mutex_lock(&lazy->lock);
  const laze_slot *slot = laze_handle_slot(tensor);
  const laze_cell *cell = slot ? slot->storage->cell : NULL;
  int32_t known = 1;
  if (cell && axis < 0) axis += cell->rank;
  if (cell && cell->state == LAZE_CELL_UNKNOWN && axis >= 0 && axis < cell->rank)
    known = laze_size_is_constant(cell->sizes[axis]);
  pthread_mutex_unlock(&lazy->lock);
  return known;
}
