/* Gradients of normalisations and poolings, as PyTorch's core has them.
 *
 *   what is wanted    output_mask, [1, 1, 0]: input, weight, not bias; a result that is not wanted has no elements
 *   avg_pool2d        each element of an axis counts in each window by a table [windows, elements]: the gradient is
 *                     rows^T grad columns, without the terms that are 0 times something, which may be infinite
 */
#include "ir/composite/gradients.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/composite/window.h"
#include "ir/op.gen.h"

laze_status laze_compose_wanted(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  const laze_attribute *mask = &call->attributes[laze_op_argument(laze_op_get(call->op), "output_mask")->position];
  const laze_size none = 0;
  if (mask->count != 3)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: output_mask has %d numbers, expected 3",
                     laze_compose_name(call), mask->count);
  for (int i = 0; i < 3; i++) {
    if (mask->value.items[i] != 0) continue;
    const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype;
    LAZE_TRY(laze_record_number(recorder, dtype, laze_scalar_integer(0), &results[i], error));
    LAZE_TRY(laze_compose_expand(recorder, results[i], &none, 1, &results[i], error));
  }
  return LAZE_OK;
}

/* An axis in front of all of them, so that there is one which the weight's gradient is summed over. */
laze_status laze_composite_native_layer_norm_backward(laze_recorder *recorder, const laze_call *call,
                                                      laze_value *results, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[1]);
  const laze_size_list shape = laze_attribute_list(&call->attributes[LAZE_NATIVE_LAYER_NORM_BACKWARD_NORMALIZED_SHAPE]);
  laze_value operands[5] = {LAZE_VALUE_NONE, LAZE_VALUE_NONE, LAZE_VALUE_NONE, LAZE_VALUE_NONE,
                            laze_call_operand(call, 4)};
  laze_size axes[LAZE_MAX_RANK];
  const int outer = type.rank - shape.count + 1;
  bool fits = shape.count > 0 && outer >= 1 && type.rank < LAZE_MAX_RANK;
  for (int i = 0; fits && i < shape.count; i++)
    LAZE_TRY(laze_size_must_equal(recorder, type.sizes[outer - 1 + i], shape.items[i], &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: normalized_shape has %d sizes, which are not those of the last dims of an input of %d",
                     laze_compose_name(call), (int)shape.count, type.rank);
  for (int i = 0; i < 4; i++) LAZE_TRY(laze_compose_insert_axis(recorder, call->operands[i], 0, &operands[i], error));
  for (int i = 0; i <= type.rank; i++) axes[i] = i;
  laze_attribute attributes[] = {laze_attribute_integers(axes + outer, shape.count),
                                 laze_attribute_integers(axes, outer)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__LAYER_NORM_BACKWARD, operands, 5, attributes, results, error));
  LAZE_TRY(laze_compose_drop_axis(recorder, results[0], 0, &results[0], error));
  return laze_compose_wanted(recorder, call, results, error);
}

laze_status laze_composite_native_group_norm_backward(laze_recorder *recorder, const laze_call *call,
                                                      laze_value *results, laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  const laze_size channels = attributes[LAZE_NATIVE_GROUP_NORM_BACKWARD_C].value.size;
  const int64_t groups = attributes[LAZE_NATIVE_GROUP_NORM_BACKWARD_GROUP].value.integer;
  const laze_value operands[5] = {call->operands[0], call->operands[1], call->operands[2], call->operands[3],
                                  laze_call_operand(call, 4)};
  laze_size rest = 0, within = 0;
  bool divides = groups > 0;
  if (divides) LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MOD, channels, groups, &rest, error));
  if (divides) LAZE_TRY(laze_size_must_equal(recorder, rest, 0, &divides, error));
  if (!divides)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the channels cannot be parted into %lld groups",
                     laze_compose_name(call), (long long)groups);
  LAZE_TRY(laze_size_arithmetic(recorder, '/', channels, groups, &within, error));
  const laze_size batch = attributes[LAZE_NATIVE_GROUP_NORM_BACKWARD_N].value.size;
  const laze_size grouped[] = {batch, groups, within, attributes[LAZE_NATIVE_GROUP_NORM_BACKWARD_HXW].value.size};
  const laze_size by_channel[] = {groups, within, 1}, by_group[] = {batch, groups, 1, 1};
  laze_attribute shapes[] = {laze_attribute_sizes(grouped, 4), laze_attribute_sizes(by_channel, 3),
                             laze_attribute_sizes(by_group, 4)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__GROUP_NORM_BACKWARD, operands, 5, shapes, results, error));
  for (int i = 1; i < 3; i++) LAZE_TRY(laze_compose_reshape(recorder, results[i], &channels, 1, &results[i], error));
  return laze_compose_wanted(recorder, call, results, error);
}

/* Where the windows of an axis begin or end, [windows, 1], kept within limits. */
static laze_status find_edge(laze_recorder *recorder, const laze_attribute *place, laze_size windows, int64_t from,
                             const laze_size limits[2], laze_value *out, laze_error *error) {
  const laze_size column[] = {windows, 1};
  laze_value least, most;
  LAZE_TRY(laze_compose_iota(recorder, column, 2, 0, LAZE_I64, out, error));
  LAZE_TRY(
      laze_compose_with_number(recorder, LAZE_OP_MUL, *out, laze_scalar_integer(place->value.items[1]), out, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_ADD, *out, laze_scalar_integer(from), out, error));
  LAZE_TRY(laze_compose_size(recorder, limits[0], &least, error));
  LAZE_TRY(laze_compose_size(recorder, limits[1], &most, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MAXIMUM, *out, least, out, error));
  return laze_compose_binary(recorder, LAZE_OP_MINIMUM, *out, most, out, error);
}

laze_status laze_composite__pooled_table(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_attribute *attributes = call->attributes, *place = &attributes[LAZE__POOLED_TABLE_PLACE];
  const laze_size windows = attributes[LAZE__POOLED_TABLE_WINDOWS].value.size,
                  size = attributes[LAZE__POOLED_TABLE_SIZE].value.size;
  const laze_dtype dtype = (laze_dtype)attributes[LAZE__POOLED_TABLE_DTYPE].value.integer;
  const bool padded = attributes[LAZE__POOLED_TABLE_PADDED].value.integer != 0;
  const int64_t padding = place->value.items[2], end = place->value.items[0] - padding;
  laze_size within[2] = {0, size}, around[2] = {-padding, 0};
  laze_attribute table[] = {laze_attribute_size(size), laze_attribute_dtype(dtype)};
  laze_value edges[2], lengths[2];
  LAZE_TRY(laze_size_arithmetic(recorder, '+', size, padding, &around[1], error));
  LAZE_TRY(find_edge(recorder, place, windows, -padding, within, &edges[0], error));
  LAZE_TRY(find_edge(recorder, place, windows, end, within, &edges[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__PARTS_TABLE, edges, 2, table, results, error));
  if (attributes[LAZE__POOLED_TABLE_AVERAGES].value.integer == 0) return LAZE_OK;
  LAZE_TRY(find_edge(recorder, place, windows, -padding, padded ? around : within, &lengths[0], error));
  LAZE_TRY(find_edge(recorder, place, windows, end, padded ? around : within, &lengths[1], error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, lengths[1], lengths[0], &lengths[0], error));
  LAZE_TRY(laze_compose_to(recorder, lengths[0], dtype, &lengths[0], error));
  return laze_compose_binary(recorder, LAZE_OP_DIV, *results, lengths[0], results, error);
}

static laze_status fail_pool(laze_recorder *recorder, const laze_call *call, laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_type grad = laze_compose_type(recorder, call->operands[0]),
                  self = laze_compose_type(recorder, call->operands[1]);
  return laze_fail(
      error, LAZE_INVALID_ARGUMENT,
      "%s: grad_output is %s and self %s; expected floats of 3 or 4 dims, the first of the same sizes, and "
      "the others of grad_output as many as there are windows",
      inference.operator_name, laze_show(&inference, &grad).text, laze_show(&inference, &self).text);
}

/* How many windows there are along an axis. */
static laze_status count_windows(laze_recorder *recorder, const laze_windows *w, int dim, laze_size size,
                                 laze_size *out, laze_error *error) {
  const int64_t cover = (w->size[dim] - 1) * w->dilation[dim] + 1;
  laze_size begun;
  LAZE_TRY(laze_size_arithmetic(recorder, '+', size, 2 * w->low[dim] - cover, out, error));
  LAZE_TRY(laze_size_binary(recorder->sizes, w->up ? LAZE_SIZE_CEIL_DIV : LAZE_SIZE_FLOOR_DIV, *out, w->stride[dim],
                            out, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '+', *out, 1, out, error));
  if (!w->up) return LAZE_OK;
  LAZE_TRY(laze_size_arithmetic(recorder, '+', size, w->low[dim], &begun, error));
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_CEIL_DIV, begun, w->stride[dim], &begun, error));
  return laze_size_binary(recorder->sizes, LAZE_SIZE_MIN, *out, begun, out, error);
}

/* Refuses a gradient that has not the shape that pooling self gives. */
static laze_status check_pool(laze_recorder *recorder, const laze_call *call, laze_windows *windows,
                              laze_error *error) {
  const laze_type grad = laze_compose_type(recorder, call->operands[0]),
                  self = laze_compose_type(recorder, call->operands[1]);
  bool fits = (self.rank == 3 || self.rank == 4) && grad.rank == self.rank && grad.dtype == self.dtype &&
              laze_dtype_is_float((laze_dtype)self.dtype);
  LAZE_TRY(laze_windows_read_pool(call, windows, error));
  for (int i = 0; fits && i < self.rank; i++) {
    const int dim = i - (self.rank - 2);
    laze_size expected = self.sizes[i];
    if (dim >= 0) LAZE_TRY(count_windows(recorder, windows, dim, self.sizes[i], &expected, error));
    LAZE_TRY(laze_size_must_equal(recorder, grad.sizes[i], expected, &fits, error));
  }
  return fits ? LAZE_OK : fail_pool(recorder, call, error);
}

laze_status laze_composite_avg_pool2d_backward(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  const laze_attribute *attributes = call->attributes,
                       *override = &attributes[LAZE_AVG_POOL2D_BACKWARD_DIVISOR_OVERRIDE];
  const bool padded = attributes[LAZE_AVG_POOL2D_BACKWARD_COUNT_INCLUDE_PAD].value.integer != 0;
  const laze_type grad = laze_compose_type(recorder, call->operands[0]),
                  self = laze_compose_type(recorder, call->operands[1]);
  laze_windows windows = {.dims = 2};
  laze_value tables[2];
  LAZE_TRY(check_pool(recorder, call, &windows, error));
  if (override->present && override->value.integer == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: divisor_override is 0", laze_compose_name(call));
  for (int i = 0; i < 2; i++) {
    const laze_size place[] = {windows.size[i], windows.stride[i], windows.low[i]};
    laze_attribute table[] = {laze_attribute_size(grad.sizes[grad.rank - 2 + i]),
                              laze_attribute_size(self.sizes[self.rank - 2 + i]),
                              laze_attribute_integers(place, 3),
                              laze_attribute_boolean(padded),
                              laze_attribute_boolean(!override->present),
                              laze_attribute_dtype((laze_dtype)self.dtype)};
    LAZE_TRY(laze_record_call(recorder, LAZE_OP__POOLED_TABLE, NULL, 0, table, &tables[i], error));
  }
  for (int i = 0; i < 2; i++) {
    const laze_value operands[] = {i == 0 ? call->operands[0] : *results, tables[i]};
    const laze_attribute dim = laze_attribute_integer(i - 2);
    LAZE_TRY(laze_record_call(recorder, LAZE_OP__SPREAD, operands, 2, &dim, results, error));
  }
  if (!override->present) return LAZE_OK;
  return laze_compose_with_number(recorder, LAZE_OP_DIV, *results, laze_scalar_integer(override->value.integer),
                                  results, error);
}

laze_status laze_composite_max_pool2d_with_indices_backward(laze_recorder *recorder, const laze_call *call,
                                                            laze_value *results, laze_error *error) {
  laze_type type = laze_compose_type(recorder, call->operands[1]),
            grad = laze_compose_type(recorder, call->operands[0]),
            indices = laze_compose_type(recorder, call->operands[2]);
  laze_windows windows = {.dims = 2};
  laze_attribute dim = laze_attribute_integer(-1);
  laze_value operands[3];
  bool fits = indices.rank == grad.rank && indices.dtype == LAZE_I64;
  LAZE_TRY(check_pool(recorder, call, &windows, error));
  for (int i = 0; fits && i < grad.rank; i++)
    LAZE_TRY(laze_size_must_equal(recorder, grad.sizes[i], indices.sizes[i], &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: indices have not the sizes of grad_output, or are not i64",
                     laze_compose_name(call));
  LAZE_TRY(laze_compose_flat_places(recorder, call->operands[2], 2, &operands[1], error));
  LAZE_TRY(laze_compose_flat_places(recorder, call->operands[0], 2, &operands[2], error));
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)type.dtype, laze_scalar_integer(0), &operands[0], error));
  LAZE_TRY(laze_compose_expand(recorder, operands[0], type.sizes, type.rank, &operands[0], error));
  LAZE_TRY(laze_compose_flat_places(recorder, operands[0], 2, &operands[0], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SCATTER_ADD, operands, 3, &dim, results, error));
  return laze_compose_reshape(recorder, *results, type.sizes, type.rank, results, error);
}

laze_status laze_composite__unreduce(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  const laze_attribute *dims = &call->attributes[LAZE__UNREDUCE_DIM];
  const laze_attribute *size = &call->attributes[LAZE__UNREDUCE_SIZE];
  const bool all = !dims->present || dims->count == 0;
  laze_size kept[LAZE_MAX_RANK];
  for (int i = 0; i < size->count; i++) kept[i] = all ? 1 : size->value.items[i];
  for (int i = 0; i < dims->count; i++) {
    int axis;
    LAZE_TRY(laze_compose_axis(recorder, call, dims->value.items[i], size->count, &axis, error));
    if (size->count > 0) kept[axis] = 1;
  }
  *results = call->operands[0];
  const bool is_one = all && laze_recorder_type(recorder, *results)->rank == 0; /* at each place as it is */
  if (!call->attributes[LAZE__UNREDUCE_KEEPDIM].value.integer && !is_one)
    LAZE_TRY(laze_compose_reshape(recorder, *results, kept, size->count, results, error));
  return laze_compose_expand(recorder, *results, size->value.items, size->count, results, error);
}

laze_status laze_composite__chosen_backward(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  const laze_attribute *size = &call->attributes[LAZE__CHOSEN_BACKWARD_SIZE];
  const bool kept = call->attributes[LAZE__CHOSEN_BACKWARD_KEEPDIM].value.integer != 0;
  laze_value gradient = call->operands[0], indices = call->operands[1], zeros;
  int axis;
  *results = gradient; /* of a single element, that one was chosen */
  if (size->count == 0) return LAZE_OK;
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE__CHOSEN_BACKWARD_DIM].value.integer, size->count,
                             &axis, error));
  if (!kept) {
    LAZE_TRY(laze_compose_insert_axis(recorder, gradient, axis, &gradient, error));
    LAZE_TRY(laze_compose_insert_axis(recorder, indices, axis, &indices, error));
  }
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, gradient)->dtype;
  LAZE_TRY(laze_compose_full(recorder, dtype, laze_scalar_integer(0), size->value.items, size->count, &zeros, error));
  const laze_attribute attributes[] = {laze_attribute_integer(axis), laze_attribute_string("none")};
  return laze_record_call(recorder, LAZE_OP__SCATTER, (const laze_value[]){zeros, indices, gradient}, 3, attributes,
                          results, error);
}
