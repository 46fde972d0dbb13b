/* Elements found by a mask, or by indices that a mask says are to be used at all.
 *
 *   masked_scatter   place 0 of [0, source] where the mask does not hold, else the running count of where it does
 *   masked index     indices are brought into range first: what the mask leaves out may point anywhere
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

static laze_status flatten(laze_recorder *recorder, laze_value value, laze_value *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, value);
  laze_size elements;
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, type.rank, &elements, error));
  return laze_compose_reshape(recorder, value, &elements, 1, out, error);
}

static laze_status choose(laze_recorder *recorder, laze_value condition, laze_value a, laze_value b, laze_value *out,
                          laze_error *error) {
  laze_value operands[] = {condition, a, b};
  return laze_record_call(recorder, LAZE_OP_WHERE_SELF, operands, 3, NULL, out, error);
}

/* How many times a flat mask has held so far, and 0 where it does not. */
static laze_status count_held(laze_recorder *recorder, laze_value mask, laze_value *out, laze_error *error) {
  laze_attribute along[] = {laze_attribute_integer(0), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value held, none;
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CUMSUM, &mask, 1, along, &held, error));
  LAZE_TRY(laze_record_number(recorder, LAZE_I64, laze_scalar_integer(0), &none, error));
  return choose(recorder, mask, held, none, out, error);
}

laze_status laze_composite_masked_scatter(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const laze_type self = laze_compose_type(recorder, call->operands[0]),
                  source = laze_compose_type(recorder, call->operands[2]);
  laze_type shape = self, mask = laze_compose_type(recorder, call->operands[1]);
  laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_value values, held, taken[2], flag, base, none;
  laze_attribute dim = laze_attribute_integer(0);
  if (self.dtype != source.dtype || mask.dtype != LAZE_BOOL)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: self is %s, mask %s and source %s; expected a bool mask, and "
                     "the others of one dtype",
                     inference.operator_name, laze_dtype_name((laze_dtype)self.dtype),
                     laze_dtype_name((laze_dtype)mask.dtype), laze_dtype_name((laze_dtype)source.dtype));
  LAZE_TRY(laze_infer_broadcast_into(&inference, &mask, &shape));
  LAZE_TRY(laze_compose_expand(recorder, call->operands[0], shape.sizes, shape.rank, &base, error));
  LAZE_TRY(laze_compose_expand(recorder, call->operands[1], shape.sizes, shape.rank, &flag, error));
  LAZE_TRY(flatten(recorder, flag, &held, error));
  LAZE_TRY(count_held(recorder, held, &taken[1], error));
  LAZE_TRY(flatten(recorder, call->operands[2], &values, error));
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)self.dtype, laze_scalar_integer(0), &none, error));
  LAZE_TRY(laze_compose_insert_axis(recorder, none, 0, &none, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, (laze_value[]){none, values}, 2, &dim, &taken[0], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_INDEX_SELECT, taken, 2, &dim, &values, error));
  LAZE_TRY(laze_compose_reshape(recorder, values, shape.sizes, shape.rank, &values, error));
  return choose(recorder, flag, values, base, results, error);
}

/* Each of the indices, which are one for each of the first axes or none, from -size to size - 1. */
static laze_status bring_into_range(laze_recorder *recorder, const laze_call *call, const laze_value *given,
                                    int32_t count, laze_value *out, laze_error *error) {
  const laze_type self = laze_compose_type(recorder, call->operands[0]);
  if (count > self.rank || count > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d indices for a tensor of %d dims; give one at most for each",
                     laze_compose_name(call), count, self.rank);
  for (int32_t axis = 0; axis < count; axis++) {
    laze_value size, bound;
    out[axis] = given[axis];
    if (laze_value_is_none(given[axis])) continue;
    const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, given[axis])->dtype;
    if (!laze_dtype_is_index(dtype))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the tensor for axis %d is %s, expected %s",
                       laze_compose_name(call), axis, laze_dtype_name(dtype),
                       laze_dtype_list(laze_dtype_index_set(), LAZE_NAME_SHORT, " or ").text);
    laze_attribute whole[] = {laze_attribute_size(self.sizes[axis]), laze_attribute_dtype(dtype)};
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_SIZE_TENSOR, NULL, 0, whole, &size, error));
    LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_SUB, size, laze_scalar_integer(1), &bound, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MINIMUM, out[axis], bound, &out[axis], error));
    LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_NEG, size, &bound, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MAXIMUM, out[axis], bound, &out[axis], error));
  }
  return LAZE_OK;
}

/* What the two have in common: the mask, and the call of index or index_put, whose list stands behind self. */
typedef struct {
  laze_value mask, operands[LAZE_MAX_RANK + 2];
  int32_t count;
} masked;

static laze_status begin_masked(laze_recorder *recorder, const laze_call *call, masked *m, laze_error *error) {
  int32_t first, count = laze_call_segment(call, 2, &first);
  m->mask = call->operands[1];
  m->operands[0] = call->operands[0];
  m->count = 1 + count;
  if (laze_recorder_type(recorder, m->mask)->dtype != LAZE_BOOL)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: mask is %s, expected bool", laze_compose_name(call),
                     laze_dtype_name((laze_dtype)laze_recorder_type(recorder, m->mask)->dtype));
  return bring_into_range(recorder, call, call->operands + first, count, m->operands + 1, error);
}

/* A mask of nothing gives nothing. */
static laze_status is_empty(laze_recorder *recorder, laze_value value, bool *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, value);
  *out = false;
  for (int i = 0; i < type.rank && !*out; i++) LAZE_TRY(laze_size_is_equal(recorder, type.sizes[i], 0, out, error));
  return LAZE_OK;
}

laze_status laze_composite__unsafe_masked_index(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                laze_error *error) {
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype;
  const laze_value given = call->operands[call->operand_count - 1];
  laze_value fill;
  bool nothing;
  masked m;
  LAZE_TRY(begin_masked(recorder, call, &m, error));
  LAZE_TRY(laze_compose_to(recorder, given, dtype, &fill, error));
  LAZE_TRY(is_empty(recorder, m.mask, &nothing, error));
  if (nothing) {
    const laze_type mask = laze_compose_type(recorder, m.mask);
    return laze_compose_expand(recorder, fill, mask.sizes, mask.rank, results, error);
  }
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_INDEX, m.operands, m.count, NULL, results, error));
  return choose(recorder, m.mask, *results, fill, results, error);
}

laze_status laze_composite__unsafe_masked_index_put_accumulate(laze_recorder *recorder, const laze_call *call,
                                                               laze_value *results, laze_error *error) {
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype;
  laze_attribute accumulate = laze_attribute_boolean(true);
  laze_value none, values = call->operands[call->operand_count - 1];
  bool nothing;
  masked m;
  LAZE_TRY(begin_masked(recorder, call, &m, error));
  LAZE_TRY(is_empty(recorder, m.mask, &nothing, error));
  *results = call->operands[0];
  if (nothing) return LAZE_OK;
  LAZE_TRY(laze_record_number(recorder, dtype, laze_scalar_integer(0), &none, error));
  LAZE_TRY(choose(recorder, m.mask, values, none, &m.operands[m.count++], error));
  return laze_record_call(recorder, LAZE_OP_INDEX_PUT, m.operands, m.count, &accumulate, results, error);
}
