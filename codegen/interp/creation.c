/* Tensors made from nothing. */
#include "codegen/interp/unit.h"

#include "ir/op.gen.h"

#include <string.h>

void interp_execute_constant(const interp_run *run, const interp_node *node) {
  interp_tensor result = interp_result(run, node, 0);
  const laze_data *data = &node->attributes[LAZE_CONSTANT_DATA].value.data;
  if (data->size > 0) memcpy(result.data, data->bytes, (size_t)data->size);
}

void interp_execute_iota(const interp_run *run, const interp_node *node) {
  interp_tensor result = interp_result(run, node, 0);
  int axis = interp_axis(node, LAZE_IOTA_DIM, result.rank);
  int64_t count = interp_elements(&result), inner = 1;
  if (count == 0) return;
  for (int i = axis + 1; i < result.rank; i++) inner *= result.dims[i];
  for (int64_t i = 0; i < count; i++) {
    int64_t index = result.rank ? i / inner % result.dims[axis] : 0;
    laze_scalar_store(laze_scalar_integer(index), result.dtype, result.data, i);
  }
}

void interp_execute_size_tensor(const interp_run *run, const interp_node *node) {
  interp_tensor result = interp_result(run, node, 0);
  int64_t size = interp_size(run, node, LAZE_SIZE_TENSOR_VALUE);
  laze_scalar_store(laze_scalar_integer(size), result.dtype, result.data, 0);
}
