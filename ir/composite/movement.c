/* Movements that are forms of reshape, permute and slice. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

laze_status laze_composite_flatten_using_ints(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_size sizes[LAZE_MAX_RANK];
  int first, last, rank = 0;
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_FLATTEN_USING_INTS_START_DIM].value.integer,
                             type.rank, &first, error));
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_FLATTEN_USING_INTS_END_DIM].value.integer, type.rank,
                             &last, error));
  if (first > last)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: start_dim %d comes after end_dim %d: swap them",
                     laze_compose_name(call), first, last);
  int joined = type.rank == 0 ? 0 : last - first + 1; /* a tensor without dims becomes one element */
  for (int i = 0; i < first; i++) sizes[rank++] = type.sizes[i];
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes + first, joined, &sizes[rank++], error));
  for (int i = first + joined; i < type.rank; i++) sizes[rank++] = type.sizes[i];
  return laze_compose_reshape(recorder, call->operands[0], sizes, rank, results, error);
}

laze_status laze_composite_transpose_int(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  int rank = laze_recorder_type(recorder, call->operands[0])->rank, first, second;
  LAZE_TRY(
      laze_compose_axis(recorder, call, call->attributes[LAZE_TRANSPOSE_INT_DIM0].value.integer, rank, &first, error));
  LAZE_TRY(
      laze_compose_axis(recorder, call, call->attributes[LAZE_TRANSPOSE_INT_DIM1].value.integer, rank, &second, error));
  return laze_compose_swap_axes(recorder, call->operands[0], first, second, results, error);
}

laze_status laze_composite_t(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  int rank = laze_recorder_type(recorder, call->operands[0])->rank;
  *results = call->operands[0];
  if (rank > 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "t: got a tensor of %d dims, expected at most 2: use permute", rank);
  return rank < 2 ? LAZE_OK : laze_compose_swap_axes(recorder, *results, 0, 1, results, error);
}

/* Drops the axes in `candidates` (a bit each) whose size is 1. */
static laze_status squeeze(laze_recorder *recorder, laze_value value, uint32_t candidates, laze_value *out,
                           laze_error *error) {
  laze_type type = laze_compose_type(recorder, value);
  int rank = 0;
  for (int i = 0; i < type.rank; i++) {
    bool dropped = false;
    if (candidates >> i & 1) LAZE_TRY(laze_size_may_equal(recorder, type.sizes[i], 1, &dropped, error));
    if (!dropped) type.sizes[rank++] = type.sizes[i];
  }
  *out = value;
  return rank == type.rank ? LAZE_OK : laze_compose_reshape(recorder, value, type.sizes, rank, out, error);
}

laze_status laze_composite_squeeze(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                   laze_error *error) {
  return squeeze(recorder, call->operands[0], UINT32_MAX, results, error);
}

laze_status laze_composite_squeeze_dims(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  int rank = laze_recorder_type(recorder, call->operands[0])->rank, axis;
  const laze_attribute *dims = &call->attributes[LAZE_SQUEEZE_DIMS_DIM];
  uint32_t candidates = 0;
  for (int32_t i = 0; i < dims->count; i++) {
    LAZE_TRY(laze_compose_axis(recorder, call, dims->value.items[i], rank, &axis, error));
    candidates |= 1u << axis;
  }
  return squeeze(recorder, call->operands[0], candidates, results, error);
}

/* The axis of select or narrow, the first attribute of both. A tensor without dims has nothing to choose. */
static laze_status choose_axis(laze_recorder *recorder, const laze_call *call, laze_type *type, int *axis,
                               laze_error *error) {
  *type = laze_compose_type(recorder, call->operands[0]);
  if (type->rank == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got a tensor without dims, expected at least one",
                     laze_compose_name(call));
  return laze_compose_axis(recorder, call, call->attributes[0].value.integer, type->rank, axis, error);
}

/* A start that a value gives may turn out to be negative: the factor of `size` is 1 then and 0 otherwise. */
static laze_status wrap_defined(laze_recorder *recorder, laze_size start, laze_size size, laze_size *out,
                                laze_error *error) {
  laze_size_table *sizes = recorder->sizes;
  laze_size factor;
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MUL, start, -1, &factor, error));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MAX, factor, 0, &factor, error));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MIN, factor, 1, &factor, error));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MUL, factor, size, &factor, error));
  return laze_size_binary(sizes, LAZE_SIZE_ADD, start, factor, out, error);
}

/* A start that counts from the back where it is negative. */
static laze_status wrap_start(laze_recorder *recorder, laze_size start, laze_size size, laze_size *out,
                              laze_error *error) {
  bool negative;
  *out = start;
  if (laze_size_is_defined(recorder->sizes, start)) return wrap_defined(recorder, start, size, out, error);
  LAZE_TRY(laze_size_may_be_at_most(recorder, start, -1, &negative, error));
  return negative ? laze_size_binary(recorder->sizes, LAZE_SIZE_ADD, start, size, out, error) : LAZE_OK;
}

/* [start, start + length) of an axis, where a negative start counts from the back. *inside: whether that lies within
 * the axis; nothing is recorded otherwise. */
static laze_status take(laze_recorder *recorder, const laze_call *call, int axis, laze_size start, laze_size length,
                        laze_value *out, bool *inside, laze_error *error) {
  const laze_size size = laze_recorder_type(recorder, call->operands[0])->sizes[axis];
  laze_size end;
  *inside = start <= LAZE_MAX_ELEMENTS && length <= LAZE_MAX_ELEMENTS; /* so that their sum is a size */
  if (!*inside) return LAZE_OK;
  LAZE_TRY(wrap_start(recorder, start, size, &start, error));
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_ADD, start, length, &end, error));
  LAZE_TRY(laze_size_must_be_at_most(recorder, 0, start, inside, error));
  if (*inside) LAZE_TRY(laze_size_must_be_at_most(recorder, end, size, inside, error));
  return *inside ? laze_compose_slice(recorder, call->operands[0], axis, start, end, out, error) : LAZE_OK;
}

laze_status laze_composite_select_int(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_size index = call->attributes[LAZE_SELECT_INT_INDEX].value.size;
  laze_type type;
  bool inside;
  int axis;
  LAZE_TRY(choose_axis(recorder, call, &type, &axis, error));
  LAZE_TRY(take(recorder, call, axis, index, 1, results, &inside, error));
  if (inside) return laze_compose_drop_axis(recorder, *results, axis, results, error);
  return laze_fail(error, LAZE_OUT_OF_RANGE,
                   "%s: index %s is out of range for dim %d of %s; expected -size to size - 1", inference.operator_name,
                   laze_show_size(&inference, index).text, axis, laze_show(&inference, &type).text);
}

laze_status laze_composite_narrow(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_size start = call->attributes[LAZE_NARROW_START].value.size,
                  length = call->attributes[LAZE_NARROW_LENGTH].value.size;
  laze_type type;
  bool inside;
  int axis;
  LAZE_TRY(choose_axis(recorder, call, &type, &axis, error));
  LAZE_TRY(laze_size_must_be_at_most(recorder, 0, length, &inside, error));
  if (inside) LAZE_TRY(take(recorder, call, axis, start, length, results, &inside, error));
  if (inside) return LAZE_OK;
  return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: start %s and length %s do not lie within dim %d of %s",
                   inference.operator_name, laze_show_size(&inference, start).text,
                   laze_show_size(&inference, length).text, axis, laze_show(&inference, &type).text);
}

/* Each tensor gets a size of 1 at the new place; then they are joined there, a bounded number at a time. */
enum { STACK_BATCH = 64 };

static laze_status stack_batch(laze_recorder *recorder, const laze_value *operands, int32_t count, int axis,
                               laze_value *out, laze_error *error) {
  laze_value parts[STACK_BATCH];
  laze_attribute dim = laze_attribute_integer(axis);
  for (int32_t i = 0; i < count; i++) LAZE_TRY(laze_compose_insert_axis(recorder, operands[i], axis, &parts[i], error));
  return laze_record_call(recorder, LAZE_OP_CAT, parts, count, &dim, out, error);
}

static laze_status check_equal_shapes(laze_recorder *recorder, const laze_call *call, laze_error *error) {
  laze_type first = laze_compose_type(recorder, call->operands[0]);
  for (int32_t i = 1; i < call->operand_count; i++) {
    laze_type type = laze_compose_type(recorder, call->operands[i]);
    bool same = type.rank == first.rank;
    for (int axis = 0; same && axis < first.rank; axis++)
      LAZE_TRY(laze_size_must_equal(recorder, first.sizes[axis], type.sizes[axis], &same, error));
    if (same) continue;
    char a[160], b[160];
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "stack: tensor 0 is %s but tensor %d is %s, expected equal shapes",
                     laze_type_format(recorder->sizes, &first, a, sizeof a), i,
                     laze_type_format(recorder->sizes, &type, b, sizeof b));
  }
  return LAZE_OK;
}

laze_status laze_composite_stack(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  int axis;
  if (call->operand_count == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "stack: got no tensor, expected at least one");
  int rank = laze_recorder_type(recorder, call->operands[0])->rank;
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_STACK_DIM].value.integer, rank + 1, &axis, error));
  LAZE_TRY(check_equal_shapes(recorder, call, error));
  for (int32_t begin = 0; begin < call->operand_count; begin += STACK_BATCH) {
    int32_t left = call->operand_count - begin;
    laze_value joined[2] = {*results};
    laze_value *part = begin == 0 ? results : &joined[1];
    LAZE_TRY(stack_batch(recorder, call->operands + begin, left < STACK_BATCH ? left : STACK_BATCH, axis, part, error));
    laze_attribute dim = laze_attribute_integer(axis);
    if (begin > 0) LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, joined, 2, &dim, results, error));
  }
  return LAZE_OK;
}
