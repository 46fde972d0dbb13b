/* What is said of many elements, where ranks, dtypes or sizes decide how:
 *
 *   bincount   the greatest index + 1, or minlength, is the size of the result: the run finds it (size_from)
 *   equal      tensors of other shapes are different, whatever their elements
 *   cov        rows of a matrix; a list is one row
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/defined_size.h"
#include "ir/op.gen.h"
#include "shape_inference/rules.h"

#include <math.h>

laze_status laze_composite__float_only(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype;
  *results = call->operands[0];
  if (laze_dtype_is_float(dtype)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %s, expected a float dtype; convert it",
                   laze_op_get(recorder->origin)->name, laze_dtype_name(dtype));
}

laze_status laze_composite__some_only(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_attribute *dim = &call->attributes[LAZE__SOME_ONLY_DIM];
  const laze_size_list dims = dim->present ? laze_attribute_list(dim) : (laze_size_list){0};
  int axis;
  *results = call->operands[0];
  for (int i = 0; i < (dims.count > 0 ? dims.count : type.rank); i++) {
    LAZE_TRY(laze_compose_axis(recorder, call, dims.count > 0 ? dims.items[i] : i, type.rank, &axis, error));
    if (type.rank > 0) LAZE_TRY(laze_compose_refuse_empty(recorder, call, &type, axis, error));
  }
  return LAZE_OK;
}

laze_status laze_composite__widened(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  const laze_dtype own = (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype;
  const laze_attribute *dtype = &call->attributes[LAZE__WIDENED_DTYPE];
  const laze_dtype wanted = dtype->present ? (laze_dtype)dtype->value.integer : own;
  if (laze_dtype_is_inexact(own) && laze_dtype_join(own, wanted) == wanted)
    return laze_compose_to(recorder, call->operands[0], wanted, results, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: got %s and dtype %s, expected floats and a float dtype that holds them; convert them",
                   laze_op_get(recorder->origin)->name, laze_dtype_name(own), laze_dtype_name(wanted));
}

laze_status laze_composite_equal(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  const laze_type a = laze_compose_type(recorder, call->operands[0]),
                  b = laze_compose_type(recorder, call->operands[1]);
  bool same = a.rank == b.rank;
  for (int i = 0; same && i < a.rank; i++)
    LAZE_TRY(laze_size_may_equal(recorder, a.sizes[i], b.sizes[i], &same, error));
  if (!same) return laze_record_number(recorder, LAZE_BOOL, laze_scalar_boolean(false), results, error);
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_EQ, call->operands[0], call->operands[1], results, error));
  return laze_compose_unary(recorder, LAZE_OP_ALL, *results, results, error);
}

/* --- bincount --- */

static laze_status size_value(laze_recorder *recorder, laze_size size, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_size(size), laze_attribute_dtype(LAZE_I64)};
  return laze_record_call(recorder, LAZE_OP_SIZE_TENSOR, NULL, 0, attributes, out, error);
}

static laze_status find_length(laze_recorder *recorder, laze_value indices, laze_size least, laze_size *out,
                               laze_error *error) {
  laze_size_source length = {.high = LAZE_SIZE_CONSTANT_MAX};
  laze_value minimum;
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP__AMAX, indices, &length.value, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_ADD, length.value, laze_scalar_integer(1), &length.value, error));
  LAZE_TRY(size_value(recorder, least, &minimum, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MAXIMUM, length.value, minimum, &length.value, error));
  return laze_record_size_from(recorder, &length, out, error);
}

/* f32 and f64 weights are added as they are, others in f64; without weights each element counts 1. */
static laze_status find_weights(laze_recorder *recorder, const laze_call *call, laze_value *out, laze_error *error) {
  const laze_value weights = laze_call_operand(call, 1);
  const laze_type self = laze_compose_type(recorder, call->operands[0]);
  bool same = true;
  if (laze_value_is_none(weights)) {
    LAZE_TRY(laze_record_number(recorder, LAZE_I64, laze_scalar_integer(1), out, error));
    return laze_compose_expand(recorder, *out, self.sizes, 1, out, error);
  }
  const laze_type type = laze_compose_type(recorder, weights);
  if (type.rank == 1) LAZE_TRY(laze_size_must_equal(recorder, type.sizes[0], self.sizes[0], &same, error));
  if (type.rank != 1 || !same)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: weights have another shape than self, expected the same",
                     laze_compose_name(call));
  return laze_compose_to(recorder, weights, type.dtype == LAZE_F32 ? LAZE_F32 : LAZE_F64, out, error);
}

laze_status laze_composite_bincount(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_size least = call->attributes[LAZE_BINCOUNT_MINLENGTH].value.size;
  laze_value operands[2];
  laze_size length;
  bool fits = type.rank == 1 && laze_dtype_category((laze_dtype)type.dtype) == LAZE_CATEGORY_INTEGER;
  if (fits) LAZE_TRY(laze_size_must_be_at_most(recorder, 0, least, &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: got %s with %d dims, or a minlength below 0; expected a list of integers from 0 on",
                     laze_compose_name(call), laze_dtype_name((laze_dtype)type.dtype), type.rank);
  LAZE_TRY(laze_compose_to(recorder, call->operands[0], LAZE_I64, &operands[0], error));
  LAZE_TRY(find_length(recorder, operands[0], least, &length, error));
  LAZE_TRY(find_weights(recorder, call, &operands[1], error));
  laze_attribute attribute = laze_attribute_size(length);
  return laze_record_call(recorder, LAZE_OP__COUNTS, operands, 2, &attribute, results, error);
}

/* --- histc --- */

/* The ends that the call names, or those of the elements where it names one number twice. */
static laze_status find_ends(laze_recorder *recorder, const laze_call *call, laze_value elements, laze_value ends[2],
                             laze_error *error) {
  const double low = laze_scalar_as_real(call->attributes[LAZE_HISTC_MIN].value.literal),
               high = laze_scalar_as_real(call->attributes[LAZE_HISTC_MAX].value.literal);
  const laze_type type = laze_compose_type(recorder, elements);
  bool empty = true;
  if (!isfinite(low) || !isfinite(high) || low > high)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: min is %g and max %g, expected finite numbers in that order",
                     laze_compose_name(call), low, high);
  if (low == high) LAZE_TRY(laze_size_may_equal(recorder, type.sizes[0], 0, &empty, error));
  for (int i = 0; i < 2; i++)
    LAZE_TRY(
        empty ? laze_record_number(recorder, (laze_dtype)type.dtype, laze_scalar_real(i ? high : low), &ends[i], error)
              : laze_compose_unary(recorder, i ? LAZE_OP_AMAX : LAZE_OP_AMIN, elements, &ends[i], error));
  return LAZE_OK;
}

laze_status laze_composite_histc(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const int64_t bins = call->attributes[LAZE_HISTC_BINS].value.integer;
  laze_attribute attribute = laze_attribute_integer(bins);
  laze_value operands[3];
  laze_size count;
  if (!laze_dtype_is_float((laze_dtype)type.dtype) || bins < 1 || bins >= LAZE_MAX_ELEMENTS)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %s and %lld bins; expected floats, and 1 bin or more",
                     laze_compose_name(call), laze_dtype_name((laze_dtype)type.dtype), (long long)bins);
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, type.rank, &count, error));
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[0], &count, 1, &operands[0], error));
  LAZE_TRY(find_ends(recorder, call, operands[0], &operands[1], error));
  return laze_record_call(recorder, LAZE_OP__HISTC, operands, 3, &attribute, results, error);
}

/* --- cov --- */

/* A number for each column, or LAZE_VALUE_NONE. */
static laze_status read_weights(laze_recorder *recorder, const laze_call *call, int position, laze_size columns,
                                laze_value *out, laze_error *error) {
  const laze_category wanted = position == 1 ? LAZE_CATEGORY_INTEGER : LAZE_CATEGORY_FLOAT;
  *out = laze_call_operand(call, position);
  if (laze_value_is_none(*out)) return LAZE_OK;
  const laze_type type = laze_compose_type(recorder, *out);
  bool fits = type.rank <= 1 && laze_dtype_category((laze_dtype)type.dtype) == wanted;
  if (fits) LAZE_TRY(laze_size_must_equal(recorder, type.rank == 1 ? type.sizes[0] : 1, columns, &fits, error));
  if (fits) return laze_compose_reshape(recorder, *out, &columns, 1, out, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s are %s with %d dims; expected %s, one for each column",
                   laze_compose_name(call), position == 1 ? "fweights" : "aweights",
                   laze_dtype_name((laze_dtype)type.dtype), type.rank,
                   wanted == LAZE_CATEGORY_INTEGER ? "integers" : "floats");
}

laze_status laze_composite_cov(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_attribute correction = laze_attribute_integer(call->attributes[LAZE_COV_CORRECTION].value.integer);
  laze_value counts, operands[3] = {call->operands[0]};
  if (type.rank > 2 || type.dtype == LAZE_BOOL)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %s with %d dims; expected numbers in two dims at most",
                     laze_compose_name(call), laze_dtype_name((laze_dtype)type.dtype), type.rank);
  const laze_size sizes[2] = {type.rank == 2 ? type.sizes[0] : 1, type.rank > 0 ? type.sizes[type.rank - 1] : 1};
  LAZE_TRY(laze_compose_reshape(recorder, operands[0], sizes, 2, &operands[0], error));
  LAZE_TRY(read_weights(recorder, call, 1, sizes[1], &counts, error));
  LAZE_TRY(read_weights(recorder, call, 2, sizes[1], &operands[2], error));
  const bool counted = !laze_value_is_none(counts), weighed = !laze_value_is_none(operands[2]);
  operands[1] = counted ? counts : operands[2];
  if (counted && weighed)
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, counts, operands[2], &operands[1], error));
  if (counted || weighed)
    LAZE_TRY(laze_record_call(recorder, LAZE_OP__WEIGHTED_COVARIANCE, operands, weighed ? 3 : 2, &correction, results,
                              error));
  else
    LAZE_TRY(laze_record_call(recorder, LAZE_OP__COVARIANCE, operands, 1, &correction, results, error));
  return laze_compose_unary(recorder, LAZE_OP_SQUEEZE, *results, results, error);
}
