/* Composites of floats of 16 bits are computed in f32, and round once:
 *
 *   softmax %x : f16[n]   =>   %0 = to %x, dtype=f32      %1 = softmax %0      %2 = to %1, dtype=f16
 *
 * Not where the entry says `compute: dtype`: of what only moves elements, or chooses among them. Nor where the result
 * is a list, of which no operator that computes has one.
 */
#include "base/status.h"
#include "ir/recorder.h"

enum { MOST_OPERANDS = 64, MOST_ATTRIBUTES = 16 };

static laze_status convert(laze_recorder *recorder, laze_value *value, laze_dtype dtype, laze_error *error) {
  laze_attribute attribute = laze_attribute_dtype(dtype);
  return laze_record_call(recorder, laze_op_find("to.dtype"), value, 1, &attribute, value, error);
}

static bool has_half(laze_recorder *recorder, const laze_call *call) {
  for (int32_t i = 0; i < call->operand_count; i++)
    if (!laze_value_is_none(call->operands[i]) &&
        laze_dtype_is_half(laze_recorder_type(recorder, call->operands[i])->dtype))
      return true;
  return false;
}

/* The dtype to which all operands promote together. */
static laze_dtype promoted_dtype(laze_recorder *recorder, const laze_call *call) {
  const laze_op_info *info = laze_op_get(call->op);
  laze_promotion promotion = {0};
  int32_t operand = 0;
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (!laze_argument_is_operand(argument->kind)) continue;
    int32_t count = call->segments ? call->segments[argument->position] : 1;
    for (int32_t k = 0; k < count && operand < call->operand_count; k++, operand++)
      if (!laze_value_is_none(call->operands[operand]))
        laze_promotion_add(&promotion, laze_recorder_type(recorder, call->operands[operand]),
                           argument->kind == LAZE_ARGUMENT_SCALAR);
  }
  return laze_promotion_result(&promotion);
}

/* Copies attributes, f32 for a float of 16 bits. Returns the dtype that f32 results become; LAZE_F32: none. */
static laze_dtype widen_attributes(const laze_call *call, laze_dtype promoted, laze_attribute *attributes) {
  laze_dtype result = promoted;
  for (int32_t i = 0; i < laze_op_get(call->op)->attribute_count; i++) {
    attributes[i] = call->attributes[i];
    if (attributes[i].kind != LAZE_ARGUMENT_DTYPE || !attributes[i].present) continue;
    result = (laze_dtype)attributes[i].value.integer;
    if (laze_dtype_is_half(result)) attributes[i].value.integer = LAZE_F32;
  }
  return laze_dtype_is_half(result) ? result : LAZE_F32;
}

static laze_status expand_in_f32(laze_recorder *recorder, const laze_call *call, laze_dtype promoted,
                                 laze_value *results, laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  laze_value operands[MOST_OPERANDS];
  laze_attribute attributes[MOST_ATTRIBUTES];
  laze_call wide = *call;
  laze_dtype dtype = widen_attributes(call, promoted, attributes);
  for (int32_t i = 0; i < call->operand_count; i++) {
    operands[i] = call->operands[i];
    if (laze_value_is_none(operands[i]) || !laze_dtype_is_half(laze_recorder_type(recorder, operands[i])->dtype))
      continue;
    LAZE_TRY(convert(recorder, &operands[i], LAZE_F32, error));
  }
  wide.operands = operands;
  wide.attributes = attributes;
  LAZE_TRY(info->expand(recorder, &wide, results, error));
  for (int32_t i = 0; i < info->result_count && dtype != LAZE_F32; i++)
    if (!laze_value_is_none(results[i]) && laze_recorder_type(recorder, results[i])->dtype == LAZE_F32)
      LAZE_TRY(convert(recorder, &results[i], dtype, error));
  return LAZE_OK;
}

laze_status laze_call_expand(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  if (laze_call_expands_complex(recorder, call)) return laze_call_expand_complex(recorder, call, results, error);
  if (info->complex_form == LAZE_COMPLEX_REFUSED && laze_call_is_complex(recorder, call))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "%s: not defined for complex numbers; take real(), imag() or abs() of them", info->name);
  bool wide = !info->keeps_dtype && info->op_class != LAZE_CLASS_LIBRARY && info->result_count >= 0 &&
              call->operand_count <= MOST_OPERANDS && info->attribute_count <= MOST_ATTRIBUTES &&
              has_half(recorder, call);
  laze_dtype promoted = wide ? promoted_dtype(recorder, call) : LAZE_DTYPE_NONE;
  if (!wide || !laze_dtype_is_half(promoted)) return info->expand(recorder, call, results, error);
  return expand_in_f32(recorder, call, promoted, results, error);
}
