/* How elementwise operators promote and broadcast: the one place that knows what each LAZE_COMPUTE_... means. */
#include "ir/op.h"

#include "ir/inference.gen.h"
#include "ir/op.gen.h"

/* What the operands promote to from number `first` on; plain numbers (Scalar arguments) rank below tensors. */
static laze_promotion promotion_of(const laze_call *call, const laze_type *const *operand_types, int32_t first) {
  const laze_op_info *info = laze_op_get(call->op);
  laze_promotion promotion = {0};
  int32_t operand = 0;
  for (int32_t i = 0; i < info->argument_count && operand < call->operand_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (!laze_argument_is_operand(argument->kind)) continue;
    int32_t count = call->segments ? call->segments[argument->position] : 1;
    for (int32_t k = 0; k < count; k++, operand++)
      if (operand >= first)
        laze_promotion_add(&promotion, operand_types[operand], argument->kind == LAZE_ARGUMENT_SCALAR);
  }
  return promotion;
}

static laze_dtype promoted_dtype(const laze_call *call, const laze_type *const *operand_types, int32_t first) {
  const laze_promotion promotion = promotion_of(call, operand_types, first);
  return laze_promotion_result(&promotion);
}

/* The dtype of operand `index` where all its values are ones that the call can have. */
static laze_dtype taken_dtype(const laze_call *call, const laze_type *const *operand_types, int32_t index) {
  switch (laze_op_get(call->op)->compute) {
  case LAZE_COMPUTE_PROMOTED:
  case LAZE_COMPUTE_PART:
  case LAZE_COMPUTE_PAIR:
  case LAZE_COMPUTE_COMPARE: return promoted_dtype(call, operand_types, 0);
  case LAZE_COMPUTE_FLOAT: return laze_float_dtype(promoted_dtype(call, operand_types, 0));
  case LAZE_COMPUTE_LOGICAL: return LAZE_BOOL;
  case LAZE_COMPUTE_SELECT: return index == 0 ? LAZE_BOOL : promoted_dtype(call, operand_types, 1);
  default: return operand_types[index]->dtype;
  }
}

laze_dtype laze_call_compute_dtype(const laze_call *call, const laze_type *const *operand_types, int32_t index) {
  laze_dtype dtype = taken_dtype(call, operand_types, index);
  laze_compute compute = laze_op_get(call->op)->compute;
  bool moves = compute == LAZE_COMPUTE_SELECT || compute == LAZE_COMPUTE_CONVERT;
  return moves ? dtype : laze_dtype_computes(dtype);
}

static laze_dtype convert_target(const laze_call *call) {
  for (int32_t i = 0; i < laze_op_get(call->op)->attribute_count; i++)
    if (call->attributes[i].kind == LAZE_ARGUMENT_DTYPE) return (laze_dtype)call->attributes[i].value.integer;
  return LAZE_DTYPE_NONE;
}

static laze_dtype result_dtype(const laze_call *call, laze_compute compute, laze_dtype computed) {
  if (compute == LAZE_COMPUTE_COMPARE || compute == LAZE_COMPUTE_LOGICAL) return LAZE_BOOL;
  if (compute == LAZE_COMPUTE_PART) return laze_dtype_part(computed);
  if (compute == LAZE_COMPUTE_PAIR) return laze_dtype_paired(computed);
  return compute == LAZE_COMPUTE_CONVERT ? convert_target(call) : computed;
}

static laze_status refuse_dtype(laze_inference *inference, const laze_op_info *info, laze_dtype dtype) {
  return laze_fail(inference->error, LAZE_UNSUPPORTED,
                   "%s: not defined for %s, the dtype its operands are promoted to; it takes %s: convert with to()",
                   info->name, laze_dtype_name(dtype),
                   laze_dtype_list(info->compute_dtypes, LAZE_NAME_SHORT, ", ").text);
}

/* The first operand's dtype is in the message about the second; what more of them have in common has none. */
static laze_status broadcast(laze_inference *inference, const laze_type *const *operand_types, int32_t index,
                             laze_type *result) {
  result->dtype = index == 1 ? operand_types[0]->dtype : LAZE_DTYPE_NONE;
  return laze_infer_broadcast_into(inference, operand_types[index], result);
}

laze_status laze_infer_elementwise(laze_inference *inference, const laze_call *call,
                                   const laze_type *const *operand_types, laze_type *results) {
  const laze_op_info *info = laze_op_get(call->op);
  laze_type result = {.kind = LAZE_TYPE_TENSOR};
  if (call->operand_count == 0)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: got no operand, expected at least one", info->name);
  if (info->compute == LAZE_COMPUTE_SELECT && operand_types[0]->dtype != LAZE_BOOL)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: the condition is %s, expected bool: compare it, as in x != 0", info->name,
                     laze_dtype_name(operand_types[0]->dtype));
  laze_dtype computed = taken_dtype(call, operand_types, call->operand_count - 1);
  if (computed == LAZE_DTYPE_NONE) {
    const laze_promotion promotion = promotion_of(call, operand_types, info->compute == LAZE_COMPUTE_SELECT);
    LAZE_TRY(laze_promotion_check(&promotion, info->name, &computed, inference->error));
  }
  if (info->compute_dtypes && !(info->compute_dtypes >> computed & 1)) return refuse_dtype(inference, info, computed);
  for (int32_t i = 0; i < call->operand_count && info->compute == LAZE_COMPUTE_BITS; i++)
    if (operand_types[i]->dtype != LAZE_I64)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: operand %d is %s, expected i64, whose bits it works on: convert with to()", info->name,
                       (int)i, laze_dtype_name(operand_types[i]->dtype));
  for (int32_t i = 0; i < call->operand_count; i++) LAZE_TRY(broadcast(inference, operand_types, i, &result));
  laze_dtype dtype = result_dtype(call, info->compute, computed);
  if (!laze_dtype_is_valid(dtype))
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: %d is no dtype; use one of %s", info->name,
                     (int)dtype, laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_SHORT, ", ").text);
  result.dtype = (uint8_t)dtype;
  results[0] = result;
  return LAZE_OK;
}

laze_status laze_infer_no_complex(laze_inference *inference, const laze_call *call,
                                  const laze_type *const *operand_types, laze_type *results) {
  laze_dtype dtype = laze_dtype_is_complex(results[0].dtype) ? results[0].dtype : LAZE_DTYPE_NONE;
  for (int32_t i = 0; i < call->operand_count; i++)
    if (laze_dtype_is_complex(operand_types[i]->dtype)) dtype = operand_types[i]->dtype;
  if (dtype == LAZE_DTYPE_NONE) return LAZE_OK;
  return laze_fail(inference->error, LAZE_UNSUPPORTED,
                   "%s: not defined for %s, which is complex; take real(), imag() or abs() of it",
                   laze_op_get(call->op)->name, laze_dtype_name(dtype));
}
