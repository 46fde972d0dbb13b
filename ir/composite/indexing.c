/* Operators over index_select, and the index of an extreme element. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/op.gen.h"

/* The rows of `weight` that the flattened indices name, then the indices' shape followed by that of a row. */
laze_status laze_composite_embedding(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  laze_type weight = laze_compose_type(recorder, call->operands[0]);
  laze_type indices = laze_compose_type(recorder, call->operands[1]);
  laze_attribute dim = laze_attribute_integer(0);
  laze_value operands[2] = {call->operands[0]};
  laze_size count;
  if (weight.rank != 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "embedding: weight has %d dims, expected 2", weight.rank);
  if (indices.rank >= LAZE_MAX_RANK)
    return laze_fail(error, LAZE_UNSUPPORTED, "embedding: indices have %d dims, expected fewer than %d", indices.rank,
                     LAZE_MAX_RANK);
  LAZE_TRY(laze_size_product(recorder->sizes, indices.sizes, indices.rank, &count, error));
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[1], &count, 1, &operands[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, results, error));
  indices.sizes[indices.rank++] = weight.sizes[1];
  return laze_compose_reshape(recorder, *results, indices.sizes, indices.rank, results, error);
}

laze_status laze_composite_one_hot(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                   laze_error *error) {
  laze_size classes = call->attributes[LAZE_ONE_HOT_NUM_CLASSES].value.integer;
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_value column, numbers;
  if (classes < 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "one_hot: num_classes is %lld, expected 0 or more: the number of classes cannot be read from the "
                     "data, so that the shape is known before anything runs",
                     (long long)classes);
  if (!laze_dtype_is_index(type.dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "one_hot: self is %s, expected %s class numbers",
                     laze_dtype_name(type.dtype),
                     laze_dtype_list(laze_dtype_index_set(), LAZE_NAME_SHORT, " or ").text);
  LAZE_TRY(laze_compose_insert_axis(recorder, call->operands[0], type.rank, &column, error));
  LAZE_TRY(laze_compose_iota(recorder, &classes, 1, 0, type.dtype, &numbers, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_EQ, column, numbers, results, error));
  return laze_compose_to(recorder, *results, LAZE_I64, results, error);
}

/* Where an extreme element is looked for: along one axis, which of a tensor without dims, and where none is named, is
 * that of the flattened tensor. */
typedef struct {
  laze_value self;
  laze_type type; /* of self */
  laze_size axis;
} search;

static laze_status begin_search(laze_recorder *recorder, const laze_call *call, const laze_attribute *dim, search *s,
                                laze_error *error) {
  laze_size count;
  int axis = 0;
  s->self = call->operands[0];
  s->type = laze_compose_type(recorder, s->self);
  if (dim->present) LAZE_TRY(laze_compose_axis(recorder, call, dim->value.integer, s->type.rank, &axis, error));
  if (!dim->present || s->type.rank == 0) {
    LAZE_TRY(laze_size_product(recorder->sizes, s->type.sizes, s->type.rank, &count, error));
    LAZE_TRY(laze_compose_reshape(recorder, s->self, &count, 1, &s->self, error));
    s->type = laze_compose_type(recorder, s->self);
  }
  s->axis = axis;
  return laze_compose_refuse_empty(recorder, call, &s->type, axis, error);
}

/* where(self == extreme or isnan(self), index, highest). If there is a NaN, it is the extreme, and only isnan() holds.
 */
static laze_status mark_candidates(laze_recorder *recorder, laze_op extreme, const search *s, laze_value *out,
                                   laze_error *error) {
  laze_value found, nan, choice[3];
  laze_attribute along[] = {laze_attribute_integers(&s->axis, 1), laze_attribute_boolean(true)};
  LAZE_TRY(laze_record_call(recorder, extreme, &s->self, 1, along, &found, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_EQ, s->self, found, &choice[0], error));
  if (laze_dtype_is_float(s->type.dtype)) {
    LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_ISNAN, s->self, &nan, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_LOGICAL_OR, choice[0], nan, &choice[0], error));
  }
  LAZE_TRY(laze_compose_iota(recorder, s->type.sizes, s->type.rank, (int)s->axis, LAZE_I64, &choice[1], error));
  LAZE_TRY(laze_record_number(recorder, LAZE_I64, laze_scalar_integer(INT64_MAX), &choice[2], error));
  return laze_record_call(recorder, LAZE_OP_WHERE_SELF, choice, 3, NULL, out, error);
}

/* The lowest candidate: so of equal elements, or of NaNs, the first. The attributes of argmin stand where those of
 * argmax do. */
static laze_status extreme_index(laze_recorder *recorder, const laze_call *call, laze_op extreme, laze_value *out,
                                 laze_error *error) {
  const laze_attribute *dim = &call->attributes[LAZE_ARGMAX_DIM];
  bool keepdim = call->attributes[LAZE_ARGMAX_KEEPDIM].value.integer != 0;
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_value candidates;
  search s;
  LAZE_TRY(begin_search(recorder, call, dim, &s, error));
  LAZE_TRY(mark_candidates(recorder, extreme, &s, &candidates, error));
  bool kept = keepdim && dim->present && type.rank > 0;
  laze_attribute along[] = {laze_attribute_integers(&s.axis, 1), laze_attribute_boolean(kept)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_AMIN, &candidates, 1, along, out, error));
  if (dim->present || !keepdim) return LAZE_OK;
  for (int i = 0; i < type.rank; i++) type.sizes[i] = 1;
  return laze_compose_reshape(recorder, *out, type.sizes, type.rank, out, error);
}

laze_status laze_composite_argmax(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  return extreme_index(recorder, call, LAZE_OP_AMAX, results, error);
}

laze_status laze_composite_argmin(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  return extreme_index(recorder, call, LAZE_OP_AMIN, results, error);
}
