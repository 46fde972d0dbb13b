/* Where elements are not 0: how many there are is a size that the run finds.
 *
 *   self [0, 7, 5]   == 0            [true, false, false]
 *                    sorted, stable  indices [1, 2, 0]: those of elements that are not 0 stand first, in order
 *                    how many        2, which defines u0
 *                    slice           i64[u0]
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/defined_size.h"
#include "ir/op.gen.h"
#include "shape_inference/rules.h"

laze_status laze_compose_places(laze_recorder *recorder, laze_value self, laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, self);
  laze_attribute order[] = {laze_attribute_integer(0), laze_attribute_boolean(false)};
  laze_value flat, is_zero, sorted[2];
  laze_size elements, size;
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, type.rank, &elements, error));
  LAZE_TRY(laze_compose_reshape(recorder, self, &elements, 1, &flat, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_EQ, flat, laze_scalar_integer(0), &is_zero, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SORT, &is_zero, 1, order, sorted, error));
  /* A closer bound would be part of the program's key. A mask is counted as it is, as whoever asks for its sum does, so
   * that both are one size. */
  laze_size_source count = {.value = self, .high = LAZE_SIZE_CONSTANT_MAX};
  if (type.dtype != LAZE_BOOL)
    LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_NE, self, laze_scalar_integer(0), &count.value, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_SUM, count.value, &count.value, error));
  LAZE_TRY(laze_record_size_from(recorder, &count, &size, error));
  return laze_compose_slice(recorder, sorted[1], 0, 0, size, out, error);
}

static laze_status record_size(laze_recorder *recorder, laze_size size, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_size(size), laze_attribute_dtype(LAZE_I64)};
  return laze_record_call(recorder, LAZE_OP_SIZE_TENSOR, NULL, 0, attributes, out, error);
}

/* The index along `axis` of each place. */
static laze_status find_index(laze_recorder *recorder, laze_value places, const laze_type *type, int axis,
                              laze_value *out, laze_error *error) {
  laze_value size;
  laze_size stride;
  LAZE_TRY(laze_size_product(recorder->sizes, type->sizes + axis + 1, type->rank - axis - 1, &stride, error));
  LAZE_TRY(record_size(recorder, stride, &size, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_FLOOR_DIVIDE, places, size, out, error));
  if (axis == 0) return LAZE_OK;
  LAZE_TRY(record_size(recorder, type->sizes[axis], &size, error));
  return laze_compose_binary(recorder, LAZE_OP_REMAINDER, *out, size, out, error);
}

laze_status laze_compose_places_by_axis(laze_recorder *recorder, laze_value self, laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, self);
  laze_value places;
  LAZE_TRY(laze_compose_places(recorder, self, &places, error));
  out[0] = places;
  for (int axis = 0; axis < type.rank && type.rank > 1; axis++)
    LAZE_TRY(find_index(recorder, places, &type, axis, &out[axis], error));
  return LAZE_OK;
}

laze_status laze_composite_nonzero(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                   laze_error *error) {
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_value columns[LAZE_MAX_RANK];
  laze_attribute dim = laze_attribute_integer(1);
  LAZE_TRY(laze_compose_places_by_axis(recorder, call->operands[0], columns, error));
  laze_size sizes[] = {laze_compose_type(recorder, columns[0]).sizes[0], 0};
  if (type.rank == 0) return laze_compose_iota(recorder, sizes, 2, 1, LAZE_I64, results, error);
  for (int axis = 0; axis < type.rank; axis++)
    LAZE_TRY(laze_compose_insert_axis(recorder, columns[axis], 1, &columns[axis], error));
  *results = columns[0];
  return type.rank == 1 ? LAZE_OK : laze_record_call(recorder, LAZE_OP_CAT, columns, type.rank, &dim, results, error);
}

laze_status laze_composite_masked_select(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_type types[2], shape;
  laze_value operands[2];
  laze_attribute dim = laze_attribute_integer(0);
  laze_size elements;
  for (int i = 0; i < 2; i++) types[i] = laze_compose_type(recorder, call->operands[i]);
  if (types[1].dtype != LAZE_BOOL)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: mask is %s, expected bool", inference.operator_name,
                     laze_dtype_name(types[1].dtype));
  LAZE_TRY(laze_shape_broadcast(&inference, (const laze_type *const[]){&types[0], &types[1]}, 2, &shape));
  for (int i = 0; i < 2; i++)
    LAZE_TRY(laze_compose_expand(recorder, call->operands[i], shape.sizes, shape.rank, &operands[i], error));
  LAZE_TRY(laze_size_product(recorder->sizes, shape.sizes, shape.rank, &elements, error));
  LAZE_TRY(laze_compose_reshape(recorder, operands[0], &elements, 1, &operands[0], error));
  LAZE_TRY(laze_compose_places(recorder, operands[1], &operands[1], error));
  return laze_record_call(recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, results, error);
}

/* The places of what is not 0, and behind them those of zeros, `size` in all, zeros being too few: then any. */
static laze_status static_places(laze_recorder *recorder, laze_value self, laze_size size, laze_value *out,
                                 laze_error *error) {
  const laze_type type = laze_compose_type(recorder, self);
  const laze_attribute order[] = {laze_attribute_integer(0), laze_attribute_boolean(false)};
  const laze_attribute dim = laze_attribute_integer(0);
  laze_value sorted[2], joined[2];
  laze_size elements;
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, type.rank, &elements, error));
  LAZE_TRY(laze_compose_reshape(recorder, self, &elements, 1, &self, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_EQ, self, laze_scalar_integer(0), &self, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SORT, &self, 1, order, sorted, error));
  joined[0] = sorted[1];
  LAZE_TRY(laze_compose_iota(recorder, &size, 1, 0, LAZE_I64, &joined[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, joined, 2, &dim, out, error));
  return laze_compose_slice(recorder, *out, 0, 0, size, out, error);
}

/* [size, 1]: whether a row is one of nonzero. */
static laze_status static_rows(laze_recorder *recorder, laze_value self, laze_size size, laze_value *out,
                               laze_error *error) {
  laze_value count, row;
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_NE, self, laze_scalar_integer(0), &count, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_SUM, count, &count, error));
  LAZE_TRY(laze_compose_iota(recorder, (laze_size[]){size, 1}, 2, 0, LAZE_I64, &row, error));
  return laze_compose_binary(recorder, LAZE_OP_LT, row, count, out, error);
}

laze_status laze_composite_nonzero_static(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_size size = call->attributes[LAZE_NONZERO_STATIC_SIZE].value.size;
  const laze_attribute dim = laze_attribute_integer(1);
  laze_value places, columns[LAZE_MAX_RANK], choice[3];
  bool fits;
  LAZE_TRY(laze_size_must_be_at_most(recorder, 0, size, &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: size is below 0; expected how many rows there are to be",
                     laze_compose_name(call));
  if (type.rank == 0) return laze_compose_iota(recorder, (laze_size[]){size, 0}, 2, 1, LAZE_I64, results, error);
  LAZE_TRY(static_places(recorder, call->operands[0], size, &places, error));
  for (int axis = 0; axis < type.rank; axis++) {
    LAZE_TRY(find_index(recorder, places, &type, axis, &columns[axis], error));
    LAZE_TRY(laze_compose_insert_axis(recorder, columns[axis], 1, &columns[axis], error));
  }
  choice[1] = columns[0];
  if (type.rank > 1) LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, columns, type.rank, &dim, &choice[1], error));
  LAZE_TRY(static_rows(recorder, call->operands[0], size, &choice[0], error));
  LAZE_TRY(laze_record_number(recorder, LAZE_I64,
                              laze_scalar_integer(call->attributes[LAZE_NONZERO_STATIC_FILL_VALUE].value.integer),
                              &choice[2], error));
  return laze_record_call(recorder, LAZE_OP_WHERE_SELF, choice, 3, NULL, results, error);
}
