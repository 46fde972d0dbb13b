/* Reductions of segments that lie behind each other along an axis:
 *
 *   data [.., elements, rest..]   =>  [.., 1, elements, rest]       which is reduced along the elements, where
 *   lengths [.., segments]        =>  [.., segments, elements, 1]   says what belongs to a segment
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

/* Operands: data, lengths, indices, offsets, initial. */
enum { DATA, LENGTHS, INDICES, OFFSETS, INITIAL };

static laze_status check(laze_recorder *recorder, const laze_call *call, const laze_type *data, int axis,
                         laze_error *error) {
  const laze_value lengths = laze_call_operand(call, LENGTHS), offsets = laze_call_operand(call, OFFSETS);
  if (!laze_value_is_none(laze_call_operand(call, INDICES)))
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: indices do not say where segments are; pass lengths or offsets",
                     laze_compose_name(call));
  if (laze_value_is_none(lengths) == laze_value_is_none(offsets))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %s; expected one of lengths and offsets",
                     laze_compose_name(call), laze_value_is_none(lengths) ? "neither" : "both");
  const laze_type type = laze_compose_type(recorder, laze_value_is_none(lengths) ? offsets : lengths);
  bool fits = type.rank == axis + 1 && laze_dtype_is_float((laze_dtype)data->dtype);
  for (int i = 0; fits && i < axis; i++)
    LAZE_TRY(laze_size_must_equal(recorder, type.sizes[i], data->sizes[i], &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(
      error, LAZE_INVALID_ARGUMENT,
      "%s: data is %s of %d dims, and segments along its dim %d are given by %d dims; expected floats, and "
      "the dims in front of that one",
      laze_compose_name(call), laze_dtype_name((laze_dtype)data->dtype), data->rank, axis, type.rank);
}

/* [.., segments, elements, 1]: whether an element lies in a segment. */
static laze_status find_inside(laze_recorder *recorder, const laze_value *bounds, laze_size elements, laze_value *out,
                               laze_error *error) {
  const laze_type type = laze_compose_type(recorder, bounds[0]);
  laze_value place, beyond[2];
  LAZE_TRY(laze_compose_iota(recorder, (laze_size[]){elements, 1}, 2, 0, LAZE_I64, &place, error));
  for (int i = 0; i < 2; i++) {
    laze_value edge;
    LAZE_TRY(laze_compose_insert_axis(recorder, bounds[i], type.rank, &edge, error));
    LAZE_TRY(laze_compose_insert_axis(recorder, edge, type.rank + 1, &edge, error));
    LAZE_TRY(laze_compose_binary(recorder, i == 0 ? LAZE_OP_GE : LAZE_OP_LT, place, edge, &beyond[i], error));
  }
  return laze_compose_binary(recorder, LAZE_OP_LOGICAL_AND, beyond[0], beyond[1], out, error);
}

laze_status laze_composite_segment_reduce(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[DATA]);
  laze_value bounds[2] = {laze_call_operand(call, LENGTHS), laze_call_operand(call, OFFSETS)}, operands[3];
  laze_size sizes[LAZE_MAX_RANK + 1], rest;
  int axis;
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_SEGMENT_REDUCE_AXIS].value.integer, type.rank, &axis,
                             error));
  if (type.rank == 0 || axis + 3 > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: data has %d dims, and its dim %d is no axis of segments",
                     laze_compose_name(call), type.rank, axis);
  LAZE_TRY(check(recorder, call, &type, axis, error));
  const bool by_length = !laze_value_is_none(bounds[0]);
  LAZE_TRY(laze_record_call(recorder, by_length ? LAZE_OP__SEGMENTS_OF_LENGTHS : LAZE_OP__SEGMENTS_OF_OFFSETS,
                            &bounds[by_length ? 0 : 1], 1, NULL, bounds, error));
  LAZE_TRY(find_inside(recorder, bounds, type.sizes[axis], &operands[1], error));
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes + axis + 1, type.rank - axis - 1, &rest, error));
  for (int i = 0; i < axis; i++) sizes[i] = type.sizes[i];
  sizes[axis] = 1;
  sizes[axis + 1] = type.sizes[axis];
  sizes[axis + 2] = rest;
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[DATA], sizes, axis + 3, &operands[0], error));
  operands[2] = laze_call_operand(call, INITIAL);
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__SEGMENT_REDUCED, operands, 3,
                            &call->attributes[LAZE_SEGMENT_REDUCE_REDUCE], results, error));
  sizes[axis] = laze_compose_type(recorder, bounds[0]).sizes[axis];
  for (int i = axis + 1; i < type.rank; i++) sizes[i] = type.sizes[i];
  return laze_compose_reshape(recorder, *results, sizes, type.rank, results, error);
}
