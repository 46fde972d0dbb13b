/* Strides through movements:
 *
 *   f32[3,4]             sizes 3 4    strides 4 1    offset 0
 *   slice dim 1, 1:4:2         3 2            4 2           1
 *   permute 1 0                2 3            2 4           1
 *   reshape 6            no strides give these six in this order: a copy
 */
#include "lazy/views/geometry.h"

#include "base/dtype.h"
#include "ir/op.gen.h"

static int wrap(int64_t axis, int rank) {
  return (int)(axis < 0 ? axis + rank : axis);
}

/* Attributes are those of a call that was recorded, and so within range. */
static bool follow_slice(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  const int axis = wrap(attributes[LAZE_SLICE_DIM].value.integer, geometry->rank);
  const laze_attribute *start = &attributes[LAZE_SLICE_START];
  const int64_t size = geometry->sizes[axis];
  int64_t first = start->present ? start->value.size : 0;
  if (first < 0) first += size;
  if (first < 0) first = 0;
  if (first > size) first = size;
  geometry->offset += first * geometry->strides[axis];
  geometry->strides[axis] *= attributes[LAZE_SLICE_STEP].value.integer;
  geometry->sizes[axis] = result->sizes[axis];
  return true;
}

static bool follow_permute(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  const laze_geometry old = *geometry;
  const laze_attribute *dims = &attributes[LAZE_PERMUTE_DIMS];
  for (int i = 0; i < result->rank; i++) {
    const int axis = wrap(dims->value.items[i], old.rank);
    geometry->sizes[i] = old.sizes[axis];
    geometry->strides[i] = old.strides[axis];
  }
  return true;
}

/* An axis that repeats does not move. */
static bool follow_expand(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  (void)attributes;
  const laze_geometry old = *geometry;
  const int added = result->rank - old.rank;
  for (int i = 0; i < result->rank; i++) {
    const bool repeats = i < added || old.sizes[i - added] != result->sizes[i];
    geometry->sizes[i] = result->sizes[i];
    geometry->strides[i] = repeats ? 0 : old.strides[i - added];
  }
  return true;
}

static bool follow_unsqueeze(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  const laze_geometry old = *geometry;
  const int axis = wrap(attributes[LAZE_UNSQUEEZE_DIM].value.integer, result->rank);
  for (int i = 0; i < old.rank; i++) {
    geometry->sizes[i + (i >= axis)] = old.sizes[i];
    geometry->strides[i + (i >= axis)] = old.strides[i];
  }
  geometry->sizes[axis] = 1;
  geometry->strides[axis] = axis < old.rank ? old.sizes[axis] * old.strides[axis] : 1;
  return true;
}

static bool follow_window(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  const laze_geometry old = *geometry;
  const int axis = wrap(attributes[LAZE__WINDOW_DIM].value.integer, old.rank);
  for (int i = axis + 2; i < result->rank; i++) {
    geometry->sizes[i] = old.sizes[i - 1];
    geometry->strides[i] = old.strides[i - 1];
  }
  geometry->sizes[axis] = result->sizes[axis];
  geometry->sizes[axis + 1] = result->sizes[axis + 1];
  geometry->strides[axis] = old.strides[axis] * attributes[LAZE__WINDOW_DILATION].value.integer;
  geometry->strides[axis + 1] = old.strides[axis] * attributes[LAZE__WINDOW_STRIDE].value.integer;
  return true;
}

/* Elements in row-major order, with other sizes: axes of the old shape that lie as one, from the last on, are cut into
 * axes of the new one. */
static bool follow_reshape(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  (void)attributes;
  const laze_geometry old = *geometry;
  int64_t strides[LAZE_MAX_RANK];
  int64_t joined = 1, cut = 1, stride = old.rank > 0 ? old.strides[old.rank - 1] : 1;
  int next = result->rank - 1;
  bool empty = false;
  for (int i = 0; i < old.rank; i++) empty |= old.sizes[i] == 0;
  for (int i = result->rank; (empty || old.rank == 0) && i-- > 0; next = -1) {
    strides[i] = i == result->rank - 1 ? 1 : strides[i + 1] * (result->sizes[i + 1] > 1 ? result->sizes[i + 1] : 1);
  }
  for (int i = old.rank; !empty && i-- > 0;) {
    joined *= old.sizes[i];
    if (i > 0 && (old.sizes[i - 1] == 1 || old.strides[i - 1] == joined * stride)) continue;
    for (; next >= 0 && (cut < joined || result->sizes[next] == 1); next--) {
      strides[next] = cut * stride;
      cut *= result->sizes[next];
    }
    if (cut != joined) return false;
    if (i > 0) stride = old.strides[i - 1];
    joined = cut = 1;
  }
  if (next >= 0) return false;
  for (int i = 0; i < result->rank; i++) {
    geometry->sizes[i] = result->sizes[i];
    geometry->strides[i] = strides[i];
  }
  return true;
}

static bool follow_diagonal(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  const laze_geometry old = *geometry;
  const int64_t offset = attributes[LAZE_DIAGONAL_OFFSET].value.integer;
  const int rows = wrap(attributes[LAZE_DIAGONAL_DIM1].value.integer, old.rank);
  const int columns = wrap(attributes[LAZE_DIAGONAL_DIM2].value.integer, old.rank);
  int next = 0;
  for (int i = 0; i < old.rank; i++) {
    if (i == rows || i == columns) continue;
    geometry->sizes[next] = old.sizes[i];
    geometry->strides[next++] = old.strides[i];
  }
  geometry->sizes[next] = result->sizes[next];
  geometry->strides[next] = old.strides[rows] + old.strides[columns];
  if (result->sizes[next] > 0)
    geometry->offset += offset > 0 ? offset * old.strides[columns] : -offset * old.strides[rows];
  return true;
}

/* What it says of the memory, whatever its operand is of that. */
static bool follow_as_strided(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  const laze_attribute *offset = &attributes[LAZE_AS_STRIDED_STORAGE_OFFSET];
  geometry->offset = offset->present ? offset->value.size : 0;
  for (int i = 0; i < result->rank; i++) {
    geometry->sizes[i] = result->sizes[i];
    geometry->strides[i] = attributes[LAZE_AS_STRIDED_STRIDE].value.items[i];
  }
  return true;
}

static bool is_complex(const laze_geometry *geometry) {
  return laze_dtype_is_complex((laze_dtype)geometry->dtype);
}

/* A complex number is two real ones, one behind the other. */
static bool follow_real(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  (void)attributes;
  if (!is_complex(geometry)) return true;
  geometry->offset *= 2;
  for (int i = 0; i < result->rank; i++) geometry->strides[i] *= 2;
  return true;
}
static bool follow_imag(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  if (!is_complex(geometry)) return false;
  (void)follow_real(geometry, attributes, result);
  geometry->offset++;
  return true;
}
static bool follow_view_as_real(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  if (!is_complex(geometry)) return false;
  const laze_type parts = {.rank = geometry->rank};
  (void)follow_real(geometry, attributes, &parts);
  geometry->sizes[result->rank - 1] = 2;
  geometry->strides[result->rank - 1] = 1;
  return true;
}
static bool follow_view_as_complex(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  (void)attributes;
  bool pairs = geometry->strides[result->rank] == 1 && geometry->offset % 2 == 0;
  for (int i = 0; i < result->rank; i++) pairs &= geometry->strides[i] % 2 == 0;
  if (!pairs) return false;
  geometry->offset /= 2;
  for (int i = 0; i < result->rank; i++) geometry->strides[i] /= 2;
  return true;
}

static bool follow_bitcast(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result) {
  (void)geometry;
  (void)attributes;
  (void)result;
  return true;
}

static const struct {
  laze_op op;
  bool (*follow)(laze_geometry *geometry, const laze_attribute *attributes, const laze_type *result);
} movements[] = {
    {LAZE_OP_SLICE, follow_slice},
    {LAZE_OP_RESHAPE, follow_reshape},
    {LAZE_OP_PERMUTE, follow_permute},
    {LAZE_OP_EXPAND, follow_expand},
    {LAZE_OP_UNSQUEEZE, follow_unsqueeze},
    {LAZE_OP__WINDOW, follow_window},
    {LAZE_OP_DIAGONAL, follow_diagonal},
    {LAZE_OP_AS_STRIDED, follow_as_strided},
    {LAZE_OP_REAL, follow_real},
    {LAZE_OP_IMAG, follow_imag},
    {LAZE_OP_VIEW_AS_REAL, follow_view_as_real},
    {LAZE_OP_VIEW_AS_COMPLEX, follow_view_as_complex},
    {LAZE_OP__BITCAST, follow_bitcast},
};

bool laze_geometry_is_movement(laze_op op) {
  bool found = false;
  for (size_t i = 0; i < sizeof movements / sizeof *movements && !found; i++) found = movements[i].op == op;
  return found;
}

bool laze_geometry_follow(laze_geometry *geometry, laze_op op, const laze_attribute *attributes,
                          const laze_type *result) {
  for (size_t i = 0; i < sizeof movements / sizeof *movements; i++) {
    if (movements[i].op != op) continue;
    if (!movements[i].follow(geometry, attributes, result)) return false;
    geometry->dtype = result->dtype;
    geometry->rank = result->rank;
    return true;
  }
  return false;
}

bool laze_geometry_is_contiguous(const laze_geometry *geometry) {
  int64_t stride = 1;
  for (int i = 0; i < geometry->rank; i++)
    if (geometry->sizes[i] == 0) return true;
  for (int i = geometry->rank; i-- > 0;) {
    if (geometry->sizes[i] == 1) continue;
    if (geometry->strides[i] != stride) return false;
    stride *= geometry->sizes[i];
  }
  return true;
}

/* Each axis steps over all that those with smaller strides cover. */
bool laze_geometry_is_injective(const laze_geometry *geometry) {
  int64_t covered = 0; /* how far the axes that were looked at reach */
  uint32_t left = 0;
  for (int i = 0; i < geometry->rank; i++) {
    if (geometry->sizes[i] == 0) return true;
    if (geometry->sizes[i] > 1) left |= UINT32_C(1) << i;
  }
  while (left != 0) {
    int least = __builtin_ctz(left);
    for (int i = least + 1; i < geometry->rank; i++)
      if (left >> i & 1 && geometry->strides[i] < geometry->strides[least]) least = i;
    left &= ~(UINT32_C(1) << least);
    if (geometry->strides[least] <= covered) return false;
    covered += (geometry->sizes[least] - 1) * geometry->strides[least];
  }
  return true;
}
