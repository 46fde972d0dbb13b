/* Activations that look at sizes or refuse arguments:
 *
 *   glu     x[2,6] along dim 1:   x[:, 0:3] * sigmoid(x[:, 3:6])
 *   prelu   weight[3] beside x[2,3,5]:   [3,1], which broadcasts from the back
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

laze_status laze_composite_glu(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_type self = laze_compose_type(recorder, call->operands[0]);
  laze_size half, whole;
  laze_value gate;
  bool divides;
  int axis;
  if (self.rank == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self %s has no dim to halve; pass a tensor with one",
                     inference.operator_name, laze_show(&inference, &self).text);
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_GLU_DIM].value.integer, self.rank, &axis, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '/', self.sizes[axis], 2, &half, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', half, 2, &whole, error));
  LAZE_TRY(laze_size_must_equal(recorder, whole, self.sizes[axis], &divides, error));
  if (!divides)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dim %d of %s has no halves; pass one with an even size",
                     inference.operator_name, axis, laze_show(&inference, &self).text);
  LAZE_TRY(laze_compose_slice(recorder, call->operands[0], axis, half, whole, &gate, error));
  LAZE_TRY(laze_compose_slice(recorder, call->operands[0], axis, 0, half, results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_SIGMOID, gate, &gate, error));
  return laze_compose_binary(recorder, LAZE_OP_MUL, *results, gate, results, error);
}

laze_status laze_composite__not_training(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  *results = call->operands[0];
  if (!call->attributes[LAZE__NOT_TRAINING_TRAINING].value.integer) return LAZE_OK;
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "%s: training is true, which draws a slope for each element; pass false, or draw slopes with rand",
                   laze_op_get(recorder->origin)->name);
}

laze_status laze_composite__by_channel(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_op_get(recorder->origin)->name, error};
  const laze_type self = laze_compose_type(recorder, call->operands[0]);
  const laze_type weight = laze_compose_type(recorder, call->operands[1]);
  const laze_size channels = self.rank < 2 ? 1 : self.sizes[1];
  laze_size sizes[LAZE_MAX_RANK] = {0}, count;
  bool one, fits;
  LAZE_TRY(laze_value_elements(recorder, call, call->operands[1], (laze_size_list){0}, &count, error));
  LAZE_TRY(laze_size_may_equal(recorder, count, 1, &one, error));
  if (one && weight.rank <= 1) return laze_compose_reshape(recorder, call->operands[1], NULL, 0, results, error);
  LAZE_TRY(laze_size_must_equal(recorder, count, channels, &fits, error));
  if (weight.rank > 1 || !fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: weight is %s; expected one number, or a list of as many as the second dim of self %s has",
                     inference.operator_name, laze_show(&inference, &weight).text, laze_show(&inference, &self).text);
  sizes[0] = channels;
  for (int i = 1; i < self.rank - 1; i++) sizes[i] = 1;
  return laze_compose_reshape(recorder, call->operands[1], sizes, self.rank - 1, results, error);
}
