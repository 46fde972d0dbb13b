/* Operators on complex numbers, as operators on their parts:
 *
 *   mul %z, %w : c64[n]   =>   _mul_complex %z, %w            the operator that its entry names, a composite
 *                         =>   %0 = real %z  ...              with more of these calls, down to floats
 *   sum %z     : c64[n]   =>   %0 = real %z     %1 = sum %0   `complex: parts`
 *                              %2 = imag %z     %3 = sum %2
 *                              %4 = complex %1, %3
 *
 * Only `real`, `imag`, `complex` and `to` see what is inside. Before anything else operands of elementwise operators
 * are converted to the dtype in which they compute, so that they are all complex.
 */
#include "base/status.h"
#include "ir/recorder.h"

enum { MOST_OPERANDS = 64, MOST_ATTRIBUTES = 16 };

static bool is_complex(laze_recorder *recorder, laze_value value) {
  return !laze_value_is_none(value) && laze_dtype_is_complex(laze_recorder_type(recorder, value)->dtype);
}

/* The dtype that an attribute asks for, or LAZE_DTYPE_NONE. */
static laze_dtype wanted_dtype(const laze_call *call) {
  for (int32_t i = 0; i < laze_op_get(call->op)->attribute_count; i++)
    if (call->attributes[i].kind == LAZE_ARGUMENT_DTYPE && call->attributes[i].present)
      return (laze_dtype)call->attributes[i].value.integer;
  return LAZE_DTYPE_NONE;
}

bool laze_call_is_complex(laze_recorder *recorder, const laze_call *call) {
  for (int32_t i = 0; i < call->operand_count; i++)
    if (is_complex(recorder, call->operands[i])) return true;
  return laze_dtype_is_complex(wanted_dtype(call));
}

bool laze_call_expands_complex(laze_recorder *recorder, const laze_call *call) {
  const laze_op_info *info = laze_op_get(call->op);
  if (info->complex_form == LAZE_COMPLEX_REFUSED || info->complex_form == LAZE_COMPLEX_MOVED) return false;
  if (info->must_expand && info->must_expand(call)) return false; /* add with alpha: what that consists of */
  return laze_call_is_complex(recorder, call);
}

static laze_status convert(laze_recorder *recorder, laze_value *value, laze_dtype dtype, laze_error *error) {
  laze_attribute attribute = laze_attribute_dtype(dtype);
  if (laze_recorder_type(recorder, *value)->dtype == dtype) return LAZE_OK;
  return laze_record_call(recorder, laze_op_find("to.dtype"), value, 1, &attribute, value, error);
}

/* Operands of an elementwise operator become what it computes in, those of others what a dtype attribute asks for. */
static laze_status convert_operands(laze_recorder *recorder, const laze_call *call, laze_value *operands,
                                    laze_error *error) {
  const bool elementwise = laze_op_get(call->op)->compute != LAZE_COMPUTE_NONE;
  const laze_dtype wanted = wanted_dtype(call);
  laze_type copies[MOST_OPERANDS];
  const laze_type *types[MOST_OPERANDS];
  for (int32_t i = 0; i < call->operand_count; i++) {
    operands[i] = call->operands[i];
    copies[i] = *laze_recorder_type(recorder, operands[i]); /* which the next record would end */
    types[i] = &copies[i];
  }
  for (int32_t i = 0; i < call->operand_count; i++) {
    const laze_dtype dtype = elementwise ? laze_call_compute_dtype(call, types, i) : wanted;
    if (dtype != LAZE_DTYPE_NONE) LAZE_TRY(convert(recorder, &operands[i], dtype, error));
  }
  return LAZE_OK;
}

/* The call with the part of each complex operand that `part` takes. */
static laze_status record_part(laze_recorder *recorder, const laze_call *call, const char *part, laze_value *result,
                               laze_error *error) {
  laze_value operands[MOST_OPERANDS];
  laze_attribute attributes[MOST_ATTRIBUTES];
  laze_call real = *call;
  for (int32_t i = 0; i < call->operand_count; i++) {
    operands[i] = call->operands[i];
    if (is_complex(recorder, operands[i]))
      LAZE_TRY(laze_record_call(recorder, laze_op_find(part), &operands[i], 1, NULL, &operands[i], error));
  }
  for (int32_t i = 0; i < laze_op_get(call->op)->attribute_count; i++) {
    attributes[i] = call->attributes[i];
    if (attributes[i].kind == LAZE_ARGUMENT_DTYPE && attributes[i].present)
      attributes[i].value.integer = laze_dtype_part((laze_dtype)attributes[i].value.integer);
  }
  real.operands = operands;
  real.attributes = attributes;
  return recorder->record(recorder, &real, result, error);
}

static laze_status record_parts(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  laze_value parts[2];
  LAZE_TRY(record_part(recorder, call, "real", &parts[0], error));
  if (!laze_call_is_complex(recorder, call)) {
    *results = parts[0];
    return LAZE_OK;
  }
  LAZE_TRY(record_part(recorder, call, "imag", &parts[1], error));
  return laze_record_call(recorder, laze_op_find("complex"), parts, 2, NULL, results, error);
}

laze_status laze_call_expand_complex(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  laze_value operands[MOST_OPERANDS];
  laze_call converted = *call;
  if (call->operand_count > MOST_OPERANDS || info->attribute_count > MOST_ATTRIBUTES)
    return laze_fail(error, LAZE_INTERNAL, "%s: more arguments than an operator on complex numbers has", info->name);
  LAZE_TRY(convert_operands(recorder, call, operands, error));
  converted.operands = operands;
  if (info->complex_form == LAZE_COMPLEX_PARTS) return record_parts(recorder, &converted, results, error);
  converted.op = info->complex_op;
  return recorder->record(recorder, &converted, results, error);
}
