/* div with a rounding mode. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/op.gen.h"

#include <string.h>

laze_status laze_composite_div_tensor_mode(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  const laze_attribute *mode = &call->attributes[LAZE_DIV_TENSOR_MODE_ROUNDING_MODE];
  laze_op op = LAZE_OP_DIV;
  if (mode->present && strcmp(mode->value.string, "floor") == 0) {
    op = LAZE_OP_FLOOR_DIVIDE;
  } else if (mode->present && strcmp(mode->value.string, "trunc") == 0) {
    op = LAZE_OP_TRUNC_DIVIDE;
  } else if (mode->present) {
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: rounding_mode is '%s', expected 'floor', 'trunc' or none for a true quotient",
                     laze_compose_name(call), mode->value.string);
  }
  return laze_compose_binary(recorder, op, call->operands[0], call->operands[1], results, error);
}
