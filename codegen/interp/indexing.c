/* Operators that read at computed places. An index out of range is noted, and 0 read instead, where there is one. */
#include "codegen/interp/unit.h"

#include "codegen/interp/walk.h"
#include "ir/op.gen.h"

#include <string.h>

static int64_t load_index(const interp_tensor *index, int64_t position) {
  return laze_scalar_load(index->dtype, index->data, position).value.integer;
}

/* A valid index, wrapped once from the back; -1 when there is none at all. `position` is where it was read. */
static int64_t check_index(laze_kernel_failure *failure, int64_t index, int64_t size, int64_t position) {
  int64_t wrapped = index < 0 ? index + size : index;
  if (wrapped >= 0 && wrapped < size) return wrapped;
  if (position < failure->position) *failure = (laze_kernel_failure){position, index, size};
  return size > 0 ? 0 : -1;
}

/* The product of dims [begin, end). */
static int64_t extent(const int64_t *dims, int begin, int end) {
  uint64_t product = 1; /* may wrap where another size is 0 */
  for (int i = begin; i < end; i++) product *= (uint64_t)dims[i];
  return (int64_t)product;
}

static void move(char *to, const char *from, int64_t bytes) {
  if (from)
    memcpy(to, from, (size_t)bytes);
  else
    memset(to, 0, (size_t)bytes);
}

/* result[o, i, k] = self[o, index[i], k] */
void interp_execute_index_select(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), index = interp_operand(run, node, 1);
  interp_tensor result = interp_result(run, node, 0);
  laze_kernel_failure *failure = &run->failures[node->check];
  int axis = interp_axis(node, LAZE_INDEX_SELECT_DIM, self.rank);
  if (interp_elements(&result) == 0) return;
  int64_t outer = extent(self.dims, 0, axis), inner = extent(self.dims, axis + 1, self.rank);
  int64_t size = self.rank ? self.dims[axis] : 1, count = interp_elements(&index);
  int64_t bytes = inner * laze_dtype_size(self.dtype);
  for (int64_t o = 0; o < outer && bytes > 0; o++) {
    for (int64_t i = 0; i < count; i++) {
      int64_t row = o * count + i, from = check_index(failure, load_index(&index, i), size, i);
      move(result.data + row * bytes, from < 0 ? NULL : self.data + (o * size + from) * bytes, bytes);
    }
  }
}

/* result[p] = self[p, but index[p] along the axis]; other sizes of index may be smaller than those of self. */
void interp_execute_gather(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), index = interp_operand(run, node, 1);
  interp_tensor result = interp_result(run, node, 0);
  laze_kernel_failure *failure = &run->failures[node->check];
  int axis = interp_axis(node, LAZE_GATHER_DIM, self.rank);
  int64_t bytes = laze_dtype_size(self.dtype), count = interp_elements(&index);
  int64_t strides[LAZE_MAX_RANK], size = self.rank ? self.dims[axis] : 1;
  interp_row_major(self.dims, self.rank, 1, strides);
  for (int64_t position = 0; position < count; position++) {
    int64_t from = check_index(failure, load_index(&index, position), size, position), rest = position;
    int64_t offset = self.rank ? from * strides[axis] : 0;
    for (int i = index.rank - 1; i >= 0; i--) {
      if (i != axis) offset += rest % index.dims[i] * strides[i];
      rest /= index.dims[i];
    }
    move(result.data + position * bytes, from < 0 ? NULL : self.data + offset * bytes, bytes);
  }
}
