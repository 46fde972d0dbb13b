/* What becomes of the loss of each element. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

laze_status laze_composite__reduced(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  const int64_t reduction = call->attributes[LAZE__REDUCED_REDUCTION].value.integer;
  *results = call->operands[0];
  if (reduction == 0) return LAZE_OK;
  if (reduction == 1) return laze_compose_unary(recorder, LAZE_OP_MEAN, *results, results, error);
  if (reduction == 2) return laze_compose_unary(recorder, LAZE_OP_SUM, *results, results, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: there is no such reduction; expected 0 or 'none', 1 or 'mean', 2 or 'sum'",
                   laze_op_get(recorder->origin)->name);
}
