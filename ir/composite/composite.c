/* The primitives that composites by hand are made of, one call each: axes, shapes, ranges, numbers. */
#include "ir/composite/composite.h"

#include "ir/composite/support.h"
#include "ir/op.gen.h"

laze_status laze_compose_axis(laze_recorder *recorder, const laze_call *call, int64_t axis, int rank, int *out,
                              laze_error *error) {
  laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  return laze_infer_axis(&inference, axis, rank, out);
}

laze_status laze_compose_reshape(laze_recorder *recorder, laze_value value, const laze_size *sizes, int rank,
                                 laze_value *out, laze_error *error) {
  laze_attribute shape = laze_attribute_sizes(sizes, rank);
  return laze_record_call(recorder, LAZE_OP_RESHAPE, &value, 1, &shape, out, error);
}

laze_status laze_compose_expand(laze_recorder *recorder, laze_value value, const laze_size *sizes, int rank,
                                laze_value *out, laze_error *error) {
  laze_attribute size = laze_attribute_sizes(sizes, rank);
  return laze_record_call(recorder, LAZE_OP_EXPAND, &value, 1, &size, out, error);
}

laze_status laze_compose_full(laze_recorder *recorder, laze_dtype dtype, laze_scalar number, const laze_size *sizes,
                              int rank, laze_value *out, laze_error *error) {
  LAZE_TRY(laze_record_number(recorder, dtype, number, out, error));
  return rank == 0 ? LAZE_OK : laze_compose_expand(recorder, *out, sizes, rank, out, error);
}

laze_status laze_compose_permute(laze_recorder *recorder, laze_value value, const laze_size *axes, int rank,
                                 laze_value *out, laze_error *error) {
  laze_attribute dims = laze_attribute_integers(axes, rank);
  return laze_record_call(recorder, LAZE_OP_PERMUTE, &value, 1, &dims, out, error);
}

laze_status laze_compose_slice(laze_recorder *recorder, laze_value value, int axis, laze_size start, laze_size end,
                               laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_integer(axis), laze_attribute_size(start), laze_attribute_size(end),
                                 laze_attribute_integer(1)};
  return laze_record_call(recorder, LAZE_OP_SLICE, &value, 1, attributes, out, error);
}

laze_status laze_compose_to(laze_recorder *recorder, laze_value value, laze_dtype dtype, laze_value *out,
                            laze_error *error) {
  return laze_record_conversion(recorder, LAZE_OP_TO_DTYPE, value, dtype, out, error);
}

laze_status laze_compose_iota(laze_recorder *recorder, const laze_size *sizes, int rank, int axis, laze_dtype dtype,
                              laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_sizes(sizes, rank), laze_attribute_integer(axis),
                                 laze_attribute_dtype(dtype)};
  return laze_record_call(recorder, LAZE_OP_IOTA, NULL, 0, attributes, out, error);
}

laze_status laze_compose_size(laze_recorder *recorder, laze_size size, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_size(size), laze_attribute_dtype(LAZE_I64)};
  return laze_record_call(recorder, LAZE_OP_SIZE_TENSOR, NULL, 0, attributes, out, error);
}

laze_status laze_compose_unary(laze_recorder *recorder, laze_op op, laze_value a, laze_value *out, laze_error *error) {
  return laze_record_call(recorder, op, &a, 1, NULL, out, error);
}

laze_status laze_compose_binary(laze_recorder *recorder, laze_op op, laze_value a, laze_value b, laze_value *out,
                                laze_error *error) {
  laze_value operands[] = {a, b};
  return laze_record_call(recorder, op, operands, 2, NULL, out, error);
}

laze_status laze_compose_with_number(laze_recorder *recorder, laze_op op, laze_value a, laze_scalar number,
                                     laze_value *out, laze_error *error) {
  laze_value constant;
  LAZE_TRY(laze_record_number(recorder, laze_recorder_type(recorder, a)->dtype, number, &constant, error));
  return laze_compose_binary(recorder, op, a, constant, out, error);
}

laze_status laze_compose_insert_axis(laze_recorder *recorder, laze_value value, int axis, laze_value *out,
                                     laze_error *error) {
  laze_attribute dim = laze_attribute_integer(axis);
  return laze_record_call(recorder, LAZE_OP_UNSQUEEZE, &value, 1, &dim, out, error);
}

laze_status laze_compose_drop_axis(laze_recorder *recorder, laze_value value, int axis, laze_value *out,
                                   laze_error *error) {
  laze_type type = laze_compose_type(recorder, value);
  int rank = 0;
  for (int i = 0; i < type.rank; i++)
    if (i != axis) type.sizes[rank++] = type.sizes[i];
  return laze_compose_reshape(recorder, value, type.sizes, rank, out, error);
}

laze_status laze_compose_swap_axes(laze_recorder *recorder, laze_value value, int a, int b, laze_value *out,
                                   laze_error *error) {
  int rank = laze_recorder_type(recorder, value)->rank;
  laze_size axes[LAZE_MAX_RANK];
  *out = value;
  if (a == b) return LAZE_OK;
  for (int i = 0; i < rank; i++) axes[i] = i == a ? b : i == b ? a : i;
  return laze_compose_permute(recorder, value, axes, rank, out, error);
}

laze_status laze_compose_refuse_empty(laze_recorder *recorder, const laze_call *call, const laze_type *type, int axis,
                                      laze_error *error) {
  bool filled;
  char text[128];
  LAZE_TRY(laze_size_must_be_at_most(recorder, 1, type->sizes[axis], &filled, error));
  if (filled) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: axis %d of %s has no element to choose; search axes that have some", laze_compose_name(call),
                   axis, laze_type_format(recorder->sizes, type, text, sizeof text));
}
