/* Fourier transforms: a node's operand and result as the runtime's function takes them. */
#include "codegen/interp/unit.h"
#include "runtime/fft/transform.h"

#include "ir/op.gen.h"

/* Which transform a node is, and what its attributes say. */
static int32_t describe(const interp_node *node, laze_transform *out) {
  switch (node->op) {
  case LAZE_OP__FFT_R2C:
    out->kind = LAZE_TRANSFORM_FROM_REAL;
    out->scale = (laze_transform_scale)node->attributes[LAZE__FFT_R2C_NORMALIZATION].value.integer;
    return LAZE__FFT_R2C_DIM;
  case LAZE_OP__FFT_C2R:
    out->kind = LAZE_TRANSFORM_TO_REAL;
    out->scale = (laze_transform_scale)node->attributes[LAZE__FFT_C2R_NORMALIZATION].value.integer;
    return LAZE__FFT_C2R_DIM;
  default:
    out->kind = LAZE_TRANSFORM_COMPLEX;
    out->scale = (laze_transform_scale)node->attributes[LAZE__FFT_C2C_NORMALIZATION].value.integer;
    out->forward = node->attributes[LAZE__FFT_C2C_FORWARD].value.integer != 0;
    return LAZE__FFT_C2C_DIM;
  }
}

void interp_execute_fft(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), result = interp_result(run, node, 0);
  laze_transform transform = {.context = run->unit->arena.context, .rank = self.rank};
  const laze_attribute *dims = &node->attributes[describe(node, &transform)];
  int axes[LAZE_MAX_RANK];
  laze_error error;
  transform.axis_count = dims->count;
  for (int32_t i = 0; i < dims->count; i++)
    axes[i] = (int)(dims->value.items[i] < 0 ? dims->value.items[i] + self.rank : dims->value.items[i]);
  transform.is_double = laze_dtype_part(self.dtype) == LAZE_F64;
  transform.axes = axes;
  transform.in_sizes = self.dims;
  transform.out_sizes = result.dims;
  transform.in = self.data;
  transform.out = result.data;
  if (laze_transform_run(&transform, &error) != LAZE_OK)
    laze_kernel_fail(run->failures, node->check, run->reason, &error);
}
