/* Gradients of movements whose formulas depend on lists. */
#include "ir/composite/composite.h"
#include "ir/composite/support.h"
#include "ir/derivative.gen.h"
#include "ir/op.gen.h"

/* The order that undoes dims: out[dims[i]] = i. */
laze_status laze_gradient_permute_self(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const laze_attribute *dims = &call->attributes[LAZE_PERMUTE_DIMS];
  laze_size back[LAZE_MAX_RANK];
  for (int i = 0; i < dims->count; i++) {
    const int64_t dim = dims->value.items[i];
    back[dim < 0 ? dim + dims->count : dim] = i;
  }
  return laze_compose_permute(recorder, laze_call_operand(call, 2), back, dims->count, results, error);
}

/* Each tensor has its own part of the gradient. Old-style empty tensors, f32[0] among others, have nothing of it. */
laze_status laze_gradient_cat_tensors(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  int32_t first;
  const int32_t count = laze_call_segment(call, 0, &first);
  const laze_value gradient = laze_call_operand(call, 2);
  const laze_type whole = laze_compose_type(recorder, gradient);
  laze_size start = 0, end;
  int axis;
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_CAT_DIM].value.integer, whole.rank, &axis, error));
  for (int32_t i = 0; i < count; i++) {
    const laze_type type = laze_compose_type(recorder, call->operands[first + i]);
    results[i] = LAZE_VALUE_NONE;
    if (type.rank != whole.rank) continue;
    LAZE_TRY(laze_size_arithmetic(recorder, '+', start, type.sizes[axis], &end, error));
    LAZE_TRY(laze_compose_slice(recorder, gradient, axis, start, end, &results[i], error));
    start = end;
  }
  return LAZE_OK;
}
