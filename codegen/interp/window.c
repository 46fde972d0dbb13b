/* Windows of a dim, and padding. */
#include "codegen/interp/walk.h"

#include "ir/op.gen.h"

/* result[.., k, o, ..] = self[.., o * stride + k * dilation, ..] */
void interp_execute_window(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), result = interp_result(run, node, 0);
  int axis = interp_axis(node, LAZE__WINDOW_DIM, self.rank);
  int64_t strides[LAZE_MAX_RANK], moved[LAZE_MAX_RANK];
  interp_walk walk;
  if (interp_elements(&result) == 0) return;
  interp_row_major(self.dims, self.rank, laze_dtype_size(self.dtype), strides);
  for (int i = 0; i < result.rank; i++) moved[i] = strides[i > axis ? i - 1 : i];
  /* A huge step is of the one element there is. */
  if (result.dims[axis] > 1) moved[axis] *= node->attributes[LAZE__WINDOW_DILATION].value.integer;
  if (result.dims[axis + 1] > 1) moved[axis + 1] *= node->attributes[LAZE__WINDOW_STRIDE].value.integer;
  interp_walk_init(&walk, result.rank, result.dims);
  interp_walk_add(&walk, self.data, moved);
  interp_walk_add_broadcast(&walk, &result);
  interp_walk_copy(&walk, laze_eval_find_conversion(self.dtype, result.dtype));
}

/* All of the result is the value first; then self takes its place in it. */
void interp_execute_pad(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), value = interp_operand(run, node, 1);
  interp_tensor result = interp_result(run, node, 0);
  int axis = interp_axis(node, LAZE__PAD_DIM, self.rank);
  int64_t strides[LAZE_MAX_RANK], none[LAZE_MAX_RANK] = {0};
  interp_walk walk;
  interp_walk_init(&walk, result.rank, result.dims);
  interp_walk_add(&walk, value.data, none);
  interp_walk_add_broadcast(&walk, &result);
  interp_walk_copy(&walk, laze_eval_find_conversion(value.dtype, result.dtype));
  if (interp_elements(&self) == 0) return;
  interp_row_major(result.dims, result.rank, laze_dtype_size(result.dtype), strides);
  interp_walk_init(&walk, self.rank, self.dims);
  interp_walk_add_broadcast(&walk, &self);
  interp_walk_add(&walk, result.data + interp_size(run, node, LAZE__PAD_LOW) * strides[axis], strides);
  interp_walk_copy(&walk, laze_eval_find_conversion(self.dtype, result.dtype));
}
