/* What a mask leaves: elsewhere stands what changes nothing, which the dtype decides.
 *
 *   masked_amax  i8[n] where mask is false: -128     f32[n]: -inf
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>
#include <string.h>

static laze_scalar number_without(const char *word, laze_dtype dtype) {
  if (strcmp(word, "lowest") == 0) return laze_dtype_lowest(laze_dtype_part(dtype));
  if (strcmp(word, "highest") == 0) return laze_dtype_highest(laze_dtype_part(dtype));
  if (strcmp(word, "nan") == 0) return laze_scalar_real((double)NAN);
  return laze_scalar_integer(strcmp(word, "one") == 0);
}

static laze_status keep_masked(laze_recorder *recorder, laze_value self, laze_value mask, const char *without,
                               laze_value *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, self);
  laze_value choice[3] = {mask, self};
  *out = self;
  if (laze_value_is_none(mask)) return LAZE_OK;
  LAZE_TRY(laze_compose_to(recorder, mask, LAZE_BOOL, &choice[0], error));
  LAZE_TRY(laze_compose_expand(recorder, choice[0], type.sizes, type.rank, &choice[0], error));
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)type.dtype, number_without(without, (laze_dtype)type.dtype),
                              &choice[2], error));
  return laze_record_call(recorder, LAZE_OP_WHERE_SELF, choice, 3, NULL, out, error);
}

laze_status laze_composite__masked(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                   laze_error *error) {
  return keep_masked(recorder, call->operands[0], laze_call_operand(call, 1),
                     call->attributes[LAZE__MASKED_WITHOUT].value.string, results, error);
}

/* Integers are taken as f32, and come back as what they were. */
laze_status laze_composite_masked_median(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_attribute *dtype = &call->attributes[LAZE_MASKED_MEDIAN_DTYPE];
  const laze_dtype own = (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype;
  laze_value found[2];
  const laze_attribute along[] = {call->attributes[LAZE_MASKED_MEDIAN_DIM],
                                  call->attributes[LAZE_MASKED_MEDIAN_KEEPDIM]};
  LAZE_TRY(laze_compose_to(recorder, call->operands[0], laze_float_dtype(own), results, error));
  LAZE_TRY(keep_masked(recorder, *results, laze_call_operand(call, 1), "nan", results, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_NANMEDIAN_DIM, results, 1, along, found, error));
  *results = found[0];
  if (laze_dtype_is_float(own)) return LAZE_OK;
  return laze_compose_to(recorder, *results, dtype->present ? (laze_dtype)dtype->value.integer : own, results, error);
}
