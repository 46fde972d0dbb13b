/* Operators that move elements. */
#include "codegen/interp/walk.h"

#include "ir/op.gen.h"

#include <string.h>

static laze_eval_function copy_of(const interp_tensor *tensor) {
  return laze_eval_find_conversion(tensor->dtype, tensor->dtype);
}

void interp_execute_expand(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), result = interp_result(run, node, 0);
  interp_walk walk;
  interp_walk_init(&walk, result.rank, result.dims);
  interp_walk_add_broadcast(&walk, &self);
  interp_walk_add_broadcast(&walk, &result);
  interp_walk_copy(&walk, copy_of(&self));
}

/* Copies to the result the elements of self at `data` with `strides` in bytes per axis of the result. */
static void copy_strided(const interp_tensor *self, char *data, const int64_t *strides, const interp_tensor *result) {
  interp_walk walk;
  interp_walk_init(&walk, result->rank, result->dims);
  interp_walk_add(&walk, data, strides);
  interp_walk_add_broadcast(&walk, result);
  interp_walk_copy(&walk, copy_of(self));
}

void interp_execute_permute(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), result = interp_result(run, node, 0);
  const laze_attribute *dims = &node->attributes[LAZE_PERMUTE_DIMS];
  int64_t strides[LAZE_MAX_RANK], permuted[LAZE_MAX_RANK];
  interp_row_major(self.dims, self.rank, laze_dtype_size(self.dtype), strides);
  for (int i = 0; i < self.rank; i++) {
    int64_t axis = dims->value.items[i];
    permuted[i] = strides[axis < 0 ? axis + self.rank : axis];
  }
  copy_strided(&self, self.data, permuted, &result);
}

/* The last element of each flipped axis is the first one, and steps go back from there. */
void interp_execute_flip(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), result = interp_result(run, node, 0);
  const laze_attribute *dims = &node->attributes[LAZE_FLIP_DIMS];
  int64_t strides[LAZE_MAX_RANK];
  char *first = self.data;
  if (interp_elements(&self) == 0) return;
  interp_row_major(self.dims, self.rank, laze_dtype_size(self.dtype), strides);
  for (int i = 0; i < dims->count && self.rank > 0; i++) {
    int64_t axis = dims->value.items[i] < 0 ? dims->value.items[i] + self.rank : dims->value.items[i];
    first += (self.dims[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  copy_strided(&self, first, strides, &result);
}

void interp_execute_reshape(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), result = interp_result(run, node, 0);
  int64_t bytes = interp_bytes(&self);
  if (bytes > 0) memcpy(result.data, self.data, (size_t)bytes);
}

/* result[i] = self[start + i * step] along the axis; a start outside the axis was cut to it. */
void interp_execute_slice(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), result = interp_result(run, node, 0);
  int axis = interp_axis(node, LAZE_SLICE_DIM, self.rank);
  int64_t strides[LAZE_MAX_RANK], size = self.dims[axis];
  int64_t start = node->attributes[LAZE_SLICE_START].present ? interp_size(run, node, LAZE_SLICE_START) : 0;
  if (start < 0) start = start + size < 0 ? 0 : start + size;
  if (start > size) start = size;
  if (interp_elements(&result) == 0) return;
  interp_row_major(self.dims, self.rank, laze_dtype_size(self.dtype), strides);
  char *first = self.data + start * strides[axis];
  /* A huge step takes the first element alone. */
  if (result.dims[axis] > 1) strides[axis] *= node->attributes[LAZE_SLICE_STEP].value.integer;
  copy_strided(&self, first, strides, &result);
}

void interp_execute_cat(const interp_run *run, const interp_node *node) {
  interp_tensor result = interp_result(run, node, 0);
  if (interp_elements(&result) == 0) return; /* `dim` need not be an axis then */
  int axis = interp_axis(node, LAZE_CAT_DIM, result.rank);
  int64_t strides[LAZE_MAX_RANK];
  char *to = result.data;
  interp_row_major(result.dims, result.rank, laze_dtype_size(result.dtype), strides);
  for (int32_t i = 0; i < node->operand_count; i++) {
    interp_tensor part = interp_operand(run, node, i);
    if (part.rank != result.rank) continue; /* an empty list, which cat leaves out */
    interp_walk walk;
    interp_walk_init(&walk, part.rank, part.dims);
    interp_walk_add_broadcast(&walk, &part);
    interp_walk_add(&walk, to, strides);
    interp_walk_copy(&walk, laze_eval_find_conversion(part.dtype, result.dtype));
    to += part.dims[axis] * strides[axis];
  }
}

/* The same bytes, as elements of another dtype of the same width. */
void interp_execute_bitcast(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), result = interp_result(run, node, 0);
  if (interp_elements(&self) > 0) memcpy(result.data, self.data, (size_t)interp_bytes(&self));
}
