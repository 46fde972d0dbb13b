/* Products that something is added to, both of them weighted: beta * self + alpha * product.
 *
 *   addmm     [n,k] mm [k,m]        addmv   [n,k] mv [k]        addr   [n,1] * [1,m]
 *   baddbmm   [b,n,k] bmm [b,k,m]   addbmm  the sum of that over b: [n, b*k] mm [b*k, m]
 *
 * Weights are inputs of the run, which decides there what is ignored for being weighted 0: another number compiles
 * nothing. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

/* What is added to the product must be of its dtype and expand to its shape, even where its weight is 0. */
static laze_status check_added(laze_recorder *recorder, const laze_call *call, laze_value added, laze_value product,
                               laze_error *error) {
  const laze_type self = laze_compose_type(recorder, added), result = laze_compose_type(recorder, product);
  laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_type joined = result;
  bool fits = self.rank <= result.rank && self.dtype == result.dtype;
  char a[160], b[160];
  if (fits) LAZE_TRY(laze_infer_broadcast_into(&inference, &self, &joined));
  for (int i = 0; i < result.rank && fits; i++)
    LAZE_TRY(laze_size_must_equal(recorder, joined.sizes[i], result.sizes[i], &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self is %s and the product %s: self must expand to it",
                   inference.operator_name, laze_type_format(recorder->sizes, &self, a, sizeof a),
                   laze_type_format(recorder->sizes, &result, b, sizeof b));
}

/* weight * value in *scaled, and in *ignored whether the weight is 0, in which case value may be NaN or infinite. A
 * weight that is absent is 1. */
static laze_status apply_weight(laze_recorder *recorder, laze_value weight, laze_value value, laze_value *scaled,
                                laze_value *ignored, laze_error *error) {
  *scaled = value;
  *ignored = LAZE_VALUE_NONE;
  if (laze_value_is_none(weight)) return LAZE_OK;
  LAZE_TRY(laze_compose_to(recorder, weight, laze_recorder_type(recorder, value)->dtype, &weight, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_EQ, weight, laze_scalar_integer(0), ignored, error));
  return laze_compose_binary(recorder, LAZE_OP_MUL, value, weight, scaled, error);
}

/* other where `ignored` holds (absent: nowhere), else value. */
static laze_status choose_other(laze_recorder *recorder, laze_value ignored, laze_value other, laze_value *value,
                                laze_error *error) {
  laze_value operands[] = {ignored, other, *value};
  if (laze_value_is_none(ignored)) return LAZE_OK;
  return laze_record_call(recorder, LAZE_OP_WHERE_SELF, operands, 3, NULL, value, error);
}

/* beta and alpha are the operands behind the three that all of the operators have. addr and
 * baddbmm do not ignore their product. */
static laze_status add_weighted(laze_recorder *recorder, const laze_call *call, laze_value self, laze_value product,
                                laze_value *results, laze_error *error) {
  laze_value base, scaled, no_base, no_product, zero;
  LAZE_TRY(check_added(recorder, call, self, product, error));
  LAZE_TRY(apply_weight(recorder, laze_call_operand(call, 3), self, &base, &no_base, error));
  LAZE_TRY(apply_weight(recorder, laze_call_operand(call, 4), product, &scaled, &no_product, error));
  if (call->op == LAZE_OP_ADDR || call->op == LAZE_OP_BADDBMM) no_product = LAZE_VALUE_NONE;
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, base, scaled, results, error));
  LAZE_TRY(choose_other(recorder, no_product, base, results, error));
  if (laze_value_is_none(no_base)) return LAZE_OK;
  LAZE_TRY(
      laze_record_number(recorder, laze_recorder_type(recorder, product)->dtype, laze_scalar_integer(0), &zero, error));
  LAZE_TRY(choose_other(recorder, no_product, zero, &scaled, error));
  return choose_other(recorder, no_base, scaled, results, error);
}

static laze_status add_product(laze_recorder *recorder, const laze_call *call, laze_op op, laze_value *results,
                               laze_error *error) {
  laze_value product;
  LAZE_TRY(laze_compose_binary(recorder, op, call->operands[1], call->operands[2], &product, error));
  return add_weighted(recorder, call, call->operands[0], product, results, error);
}

laze_status laze_composite_addmm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  return add_product(recorder, call, LAZE_OP_MM, results, error);
}

laze_status laze_composite_addmv(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  return add_product(recorder, call, LAZE_OP_MV, results, error);
}

laze_status laze_composite_baddbmm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                   laze_error *error) {
  return add_product(recorder, call, LAZE_OP_BMM, results, error);
}

/* The three promote, and the product of bools says whether both hold. */
laze_status laze_composite_addr(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  laze_promoted_operand operands[3];
  laze_value self, product;
  for (int i = 0; i < 3; i++) operands[i] = (laze_promoted_operand){.value = call->operands[i]};
  laze_dtype dtype;
  LAZE_TRY(laze_promote_operands(recorder, operands, 3, &dtype, error));
  LAZE_TRY(laze_compose_to(recorder, call->operands[0], dtype, &self, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_OUTER, call->operands[1], call->operands[2], &product, error));
  LAZE_TRY(laze_compose_to(recorder, product, dtype, &product, error));
  return add_weighted(recorder, call, self, product, results, error);
}

/* The matrices of a batch side by side (axis 1: [b,n,k] to [n, b*k]) or below each other. */
static laze_status join_batch(laze_recorder *recorder, laze_value value, bool beside, laze_value *out,
                              laze_error *error) {
  static const laze_size order[] = {1, 0, 2};
  laze_size sizes[2];
  if (beside) LAZE_TRY(laze_compose_permute(recorder, value, order, 3, &value, error));
  const laze_type type = laze_compose_type(recorder, value);
  sizes[0] = beside ? type.sizes[0] : type.sizes[2];
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes + beside, 2, &sizes[1], error));
  if (!beside) {
    laze_size columns = sizes[0];
    sizes[0] = sizes[1];
    sizes[1] = columns;
  }
  return laze_compose_reshape(recorder, value, sizes, 2, out, error);
}

/* Sizes and dtypes are those that a product of the batches asks for. */
laze_status laze_composite_addbmm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  laze_value first, second, product;
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_BMM, call->operands[1], call->operands[2], &product, error));
  LAZE_TRY(join_batch(recorder, call->operands[1], true, &first, error));
  LAZE_TRY(join_batch(recorder, call->operands[2], false, &second, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MM, first, second, &product, error));
  return add_weighted(recorder, call, call->operands[0], product, results, error);
}
