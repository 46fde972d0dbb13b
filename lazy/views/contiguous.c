/* Whether a tensor lies in row-major order, as PyTorch's users ask before they take its memory for that of a new one.
 */
#include "laze/tensor.h"
#include "lazy/lazy.h"
#include "lazy/value/view.h"
#include "lazy/views/geometry.h"

bool laze_view_is_contiguous(const laze_storage *storage, const laze_type *type) {
  laze_geometry geometry;
  if (laze_view_geometry(storage, type, &geometry)) return laze_geometry_is_contiguous(&geometry);
  return !storage->view || storage->view->whole; /* sizes follow from values, and so would strides */
}

int32_t laze_tensor_is_contiguous(laze_tensor *tensor) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy) return 0;
  pthread_mutex_lock(&lazy->lock);
  const laze_slot *slot = laze_handle_slot(tensor);
  laze_type type;
  if (slot) laze_slot_type(slot, &type);
  const bool answer = slot && laze_view_is_contiguous(slot->storage, &type);
  pthread_mutex_unlock(&lazy->lock);
  return answer;
}

int32_t laze_tensor_is_view(laze_tensor *tensor) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy) return 0;
  pthread_mutex_lock(&lazy->lock);
  const laze_slot *slot = laze_handle_slot(tensor);
  const bool answer = slot && laze_storage_is_view(slot->storage);
  pthread_mutex_unlock(&lazy->lock);
  return answer;
}
