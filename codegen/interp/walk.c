/* Walking over arrays of one shape and several strides: axes that all arrays cross in one stride are one (walk.h). */
#include "codegen/interp/walk.h"

#include <string.h>

void interp_walk_init(interp_walk *walk, int rank, const int64_t *dims) {
  walk->rank = rank;
  walk->arrays = 0;
  for (int i = 0; i < rank; i++) walk->dims[i] = dims[i];
}

void interp_walk_add(interp_walk *walk, char *data, const int64_t *strides) {
  for (int i = 0; i < walk->rank; i++) walk->strides[walk->arrays][i] = strides[i];
  walk->data[walk->arrays++] = data;
}

void interp_walk_add_broadcast(interp_walk *walk, const interp_tensor *tensor) {
  int64_t strides[LAZE_MAX_RANK] = {0}, own[LAZE_MAX_RANK];
  interp_row_major(tensor->dims, tensor->rank, laze_dtype_size(tensor->dtype), own);
  for (int i = 0, axis = walk->rank - tensor->rank; i < tensor->rank; i++, axis++)
    strides[axis] = tensor->dims[i] == 1 ? 0 : own[i];
  interp_walk_add(walk, tensor->data, strides);
}

/* Whether axis `outer` continues where `inner` ends, in every array. */
static bool mergeable(const interp_walk *walk, int outer, int inner) {
  for (int a = 0; a < walk->arrays; a++)
    if (walk->strides[a][outer] != walk->strides[a][inner] * walk->dims[inner]) return false;
  return true;
}

static void set_axis(interp_walk *walk, int to, int from) {
  walk->dims[to] = walk->dims[from];
  for (int a = 0; a < walk->arrays; a++) walk->strides[a][to] = walk->strides[a][from];
}

bool interp_walk_begin(interp_walk *walk) {
  int kept = 0;
  for (int axis = 0; axis < walk->rank; axis++)
    if (walk->dims[axis] == 0) return false;
  for (int axis = 0; axis < walk->rank; axis++) {
    if (walk->dims[axis] == 1) continue;
    if (kept > 0 && mergeable(walk, kept - 1, axis)) {
      int64_t joined = walk->dims[kept - 1] * walk->dims[axis];
      set_axis(walk, kept - 1, axis);
      walk->dims[kept - 1] = joined;
    } else {
      set_axis(walk, kept++, axis);
    }
  }
  walk->row = kept > 0 ? walk->dims[kept - 1] : 1;
  for (int a = 0; a < walk->arrays; a++) walk->steps[a] = kept > 0 ? walk->strides[a][kept - 1] : 0;
  walk->rank = kept > 0 ? kept - 1 : 0;
  for (int i = 0; i < walk->rank; i++) walk->index[i] = 0;
  return true;
}

bool interp_walk_next(interp_walk *walk) {
  for (int axis = walk->rank - 1; axis >= 0; axis--) {
    bool carry = ++walk->index[axis] == walk->dims[axis];
    int64_t steps = carry ? 1 - walk->dims[axis] : 1;
    for (int a = 0; a < walk->arrays; a++) walk->data[a] += steps * walk->strides[a][axis];
    if (!carry) return true;
    walk->index[axis] = 0;
  }
  return false;
}

void interp_row_major(const int64_t *dims, int rank, int64_t element_size, int64_t *strides) {
  uint64_t stride = (uint64_t)element_size; /* may wrap where a size of 0 makes the strides meaningless */
  for (int i = rank - 1; i >= 0; i--) {
    strides[i] = (int64_t)stride;
    stride *= (uint64_t)dims[i];
  }
}

void interp_walk_copy(interp_walk *walk, laze_eval_function conversion) {
  if (!interp_walk_begin(walk)) return;
  do {
    const char *source = walk->data[0];
    conversion(walk->row, &source, &walk->steps[0], walk->data[1], walk->steps[1]);
  } while (interp_walk_next(walk));
}
