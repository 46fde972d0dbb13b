/* What is chosen by its place in an order, over sort:
 *
 *   topk       the first k       of descending order where the largest are wanted
 *   kthvalue   values[k - 1]
 *   median     values[(n - 1) / 2], or the first NaN: NaNs are the last of the order, so that it is n less their number
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

/* A sorted tensor. One without dims has one element in order, and an axis all the same. */
typedef struct {
  laze_value values, indices;
  laze_type type;
  int axis;
  laze_size size; /* of the axis */
} sorting;

static laze_status sort(laze_recorder *recorder, const laze_call *call, int64_t dim, bool descending, sorting *out,
                        laze_error *error) {
  laze_attribute attributes[2] = {laze_attribute_integer(dim), laze_attribute_boolean(descending)};
  laze_value results[2];
  out->type = laze_compose_type(recorder, call->operands[0]);
  LAZE_TRY(laze_compose_axis(recorder, call, dim, out->type.rank, &out->axis, error));
  out->size = out->type.rank > 0 ? out->type.sizes[out->axis] : 1;
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SORT, call->operands, 1, attributes, results, error));
  out->values = results[0];
  out->indices = results[1];
  return LAZE_OK;
}

/* Sorts as two attributes say. All sorting is stable. */
static laze_status sort_by(laze_recorder *recorder, const laze_call *call, int dim, int descending, sorting *out,
                           laze_error *error) {
  return sort(recorder, call, call->attributes[dim].value.integer, call->attributes[descending].value.integer != 0, out,
              error);
}

laze_status laze_composite_sort_stable(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  sorting s;
  LAZE_TRY(sort_by(recorder, call, LAZE_SORT_STABLE_DIM, LAZE_SORT_STABLE_DESCENDING, &s, error));
  results[0] = s.values;
  results[1] = s.indices;
  return LAZE_OK;
}

laze_status laze_composite_argsort(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                   laze_error *error) {
  sorting s;
  LAZE_TRY(sort_by(recorder, call, LAZE_ARGSORT_DIM, LAZE_ARGSORT_DESCENDING, &s, error));
  results[0] = s.indices;
  return LAZE_OK;
}

laze_status laze_composite_argsort_stable(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  sorting s;
  LAZE_TRY(sort_by(recorder, call, LAZE_ARGSORT_STABLE_DIM, LAZE_ARGSORT_STABLE_DESCENDING, &s, error));
  results[0] = s.indices;
  return LAZE_OK;
}

laze_status laze_composite_msort(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  sorting s;
  LAZE_TRY(sort(recorder, call, 0, false, &s, error));
  results[0] = s.values;
  return LAZE_OK;
}

/* k, from `least` to the size of the axis. */
static laze_status check_k(laze_recorder *recorder, const laze_call *call, const sorting *s, laze_size least,
                           laze_size k, laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  bool fits;
  LAZE_TRY(laze_size_must_be_at_most(recorder, least, k, &fits, error));
  if (fits) LAZE_TRY(laze_size_must_be_at_most(recorder, k, s->size, &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: k is %s, expected %lld to %s, the elements along dim %d of %s",
                   inference.operator_name, laze_show_size(&inference, k).text, (long long)least,
                   laze_show_size(&inference, s->size).text, s->axis, laze_show(&inference, &s->type).text);
}

/* Elements [start, end) of the order. */
static laze_status take(laze_recorder *recorder, const sorting *s, laze_size start, laze_size end, laze_value *results,
                        laze_error *error) {
  results[0] = s->values;
  results[1] = s->indices;
  for (int i = 0; i < 2 && s->type.rank > 0; i++)
    LAZE_TRY(laze_compose_slice(recorder, results[i], s->axis, start, end, &results[i], error));
  return LAZE_OK;
}

/* Drops the axis, of one element, unless it is kept. */
static laze_status finish(laze_recorder *recorder, const sorting *s, bool keepdim, laze_value *results,
                          laze_error *error) {
  for (int i = 0; i < 2 && s->type.rank > 0 && !keepdim; i++)
    LAZE_TRY(laze_compose_drop_axis(recorder, results[i], s->axis, &results[i], error));
  return LAZE_OK;
}

laze_status laze_composite_topk(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  const laze_attribute *attributes = call->attributes, *k = &attributes[LAZE_TOPK_K];
  int64_t dim = attributes[LAZE_TOPK_DIM].value.integer;
  bool descending = attributes[LAZE_TOPK_LARGEST].value.integer != 0;
  sorting s = {.type = laze_compose_type(recorder, call->operands[0])};
  LAZE_TRY(laze_compose_axis(recorder, call, dim, s.type.rank, &s.axis, error));
  s.size = s.type.rank > 0 ? s.type.sizes[s.axis] : 1;
  LAZE_TRY(check_k(recorder, call, &s, 0, k->value.size, error));
  if (s.type.rank == 0) {
    LAZE_TRY(sort(recorder, call, dim, descending, &s, error));
    return take(recorder, &s, 0, k->value.size, results, error);
  }
  laze_attribute head[] = {*k, laze_attribute_integer(s.axis), laze_attribute_boolean(descending)};
  return laze_record_call(recorder, LAZE_OP__SORTED_HEAD, call->operands, 1, head, results, error);
}

laze_status laze_composite_kthvalue(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  laze_size k = attributes[LAZE_KTHVALUE_K].value.size, start;
  sorting s;
  LAZE_TRY(sort(recorder, call, attributes[LAZE_KTHVALUE_DIM].value.integer, false, &s, error));
  LAZE_TRY(check_k(recorder, call, &s, 1, k, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', k, 1, &start, error));
  LAZE_TRY(take(recorder, &s, start, k, results, error));
  return finish(recorder, &s, attributes[LAZE_KTHVALUE_KEEPDIM].value.integer != 0, results, error);
}

/* Where the middle of the order is, along the axis, of which one element is kept:
 *
 *   median      there are NaNs ? size - NaNs : (size - 1) / 2
 *   nanmedian   max((size - 1 - NaNs) / 2, 0)
 */
static laze_status find_middle(laze_recorder *recorder, const laze_call *call, const sorting *s, bool skips_nan,
                               laze_value *out, laze_error *error) {
  laze_size axis = s->axis;
  laze_attribute along[] = {laze_attribute_integers(&axis, 1), laze_attribute_boolean(true),
                            laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_attribute number[] = {laze_attribute_size(s->size), laze_attribute_dtype(LAZE_I64)};
  laze_value nan, count, size, rest, choice[3];
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_ISNAN, call->operands[0], &nan, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SUM_DIM_INTLIST, &nan, 1, along, &count, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SIZE_TENSOR, NULL, 0, number, &size, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, size, count, &choice[1], error));
  rest = skips_nan ? choice[1] : size;
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_SUB, rest, laze_scalar_integer(1), &rest, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_FLOOR_DIVIDE, rest, laze_scalar_integer(2), &choice[2], error));
  if (skips_nan)
    return laze_compose_with_number(recorder, LAZE_OP_MAXIMUM, choice[2], laze_scalar_integer(0), out, error);
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_GT, count, laze_scalar_integer(0), &choice[0], error));
  return laze_record_call(recorder, LAZE_OP_WHERE_SELF, choice, 3, NULL, out, error);
}

static laze_status take_middle(laze_recorder *recorder, const laze_call *call, const sorting *s, bool skips_nan,
                               laze_value *results, laze_error *error) {
  laze_attribute along = laze_attribute_integer(s->axis);
  laze_value middle;
  if (s->type.rank == 0 || !laze_dtype_is_float(s->type.dtype)) {
    laze_size start, end;
    LAZE_TRY(laze_size_arithmetic(recorder, '-', s->size, 1, &start, error));
    LAZE_TRY(laze_size_arithmetic(recorder, '/', start, 2, &start, error));
    LAZE_TRY(laze_size_arithmetic(recorder, '+', start, 1, &end, error));
    return take(recorder, s, start, end, results, error);
  }
  LAZE_TRY(find_middle(recorder, call, s, skips_nan, &middle, error));
  for (int i = 0; i < 2; i++) {
    laze_value operands[2] = {i == 0 ? s->values : s->indices, middle};
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_GATHER, operands, 2, &along, &results[i], error));
  }
  return LAZE_OK;
}

/* The attributes of nanmedian.dim stand where those of median.dim do. */
static laze_status median_along(laze_recorder *recorder, const laze_call *call, bool skips_nan, laze_value *results,
                                laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  sorting s;
  LAZE_TRY(sort(recorder, call, attributes[LAZE_MEDIAN_DIM_DIM].value.integer, false, &s, error));
  if (s.type.rank > 0) LAZE_TRY(laze_compose_refuse_empty(recorder, call, &s.type, s.axis, error));
  LAZE_TRY(take_middle(recorder, call, &s, skips_nan, results, error));
  return finish(recorder, &s, attributes[LAZE_MEDIAN_DIM_KEEPDIM].value.integer != 0, results, error);
}

laze_status laze_composite_median_dim(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return median_along(recorder, call, false, results, error);
}

laze_status laze_composite_nanmedian_dim(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  return median_along(recorder, call, true, results, error);
}

/* The middle of all elements; of none it is NaN, as far as the dtype has one. */
static laze_status median_of_all(laze_recorder *recorder, const laze_call *call, bool skips_nan, laze_value *result,
                                 laze_error *error) {
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_attribute attributes[2];
  laze_value flat, results[2];
  laze_call along = {.op = LAZE_OP_MEDIAN_DIM,
                     .operand_count = 1,
                     .operands = &flat,
                     .segments = call->segments,
                     .attributes = attributes};
  laze_size count;
  bool empty;
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, type.rank, &count, error));
  LAZE_TRY(laze_size_may_equal(recorder, count, 0, &empty, error));
  if (empty) return laze_record_number(recorder, type.dtype, laze_scalar_real((double)NAN), result, error);
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[0], &count, 1, &flat, error));
  attributes[LAZE_MEDIAN_DIM_DIM] = laze_attribute_integer(0);
  attributes[LAZE_MEDIAN_DIM_KEEPDIM] = laze_attribute_boolean(false);
  LAZE_TRY(median_along(recorder, &along, skips_nan, results, error));
  *result = results[0];
  return LAZE_OK;
}

laze_status laze_composite_median(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  return median_of_all(recorder, call, false, results, error);
}

laze_status laze_composite_nanmedian(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  return median_of_all(recorder, call, true, results, error);
}
