/* Tensors put together, each brought into a form first, and what is made of lists of tensors:
 *
 *   hstack, vstack, dstack, column_stack    forms of at least 1, 2, 3 dims, or columns; then cat
 *   block_diag      a  .  .                 each with 0 on its left and right, then one below the other
 *                   .  b  .
 *   meshgrid        x along axis 0, y along axis 1, ...; each expanded along the others
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/composite/window.h"
#include "ir/op.gen.h"

#include <string.h>

/* One of the operands in its form. `self` is borrowed. */
typedef laze_status form_function(laze_recorder *recorder, const laze_call *call, int32_t index, laze_value *out,
                                  laze_error *error);

static laze_status check_some(const laze_call *call, laze_error *error) {
  if (call->operand_count > 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got no tensor, expected at least one", laze_compose_name(call));
}

/* cat of all operands in their form. */
static laze_status join(laze_recorder *recorder, const laze_call *call, form_function *form, int axis, laze_value *out,
                        laze_error *error) {
  laze_attribute dim = laze_attribute_integer(axis);
  laze_status status = LAZE_OK;
  LAZE_TRY(check_some(call, error));
  laze_value *parts = laze_alloc_array(recorder->context, call->operand_count, sizeof *parts);
  if (!parts) return laze_fail_memory(error, "a list of tensors", -1);
  for (int32_t i = 0; i < call->operand_count && status == LAZE_OK; i++)
    status = form(recorder, call, i, &parts[i], error);
  if (status == LAZE_OK) status = laze_record_call(recorder, LAZE_OP_CAT, parts, call->operand_count, &dim, out, error);
  laze_free(recorder->context, parts);
  return status;
}

/* Each operand in its form, as a list. */
static laze_status list(laze_recorder *recorder, const laze_call *call, form_function *form, laze_value *results,
                        laze_error *error) {
  LAZE_TRY(check_some(call, error));
  if (call->operand_count > LAZE_MAX_LISTED)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: got %d tensors, expected at most %d", laze_compose_name(call),
                     (int)call->operand_count, LAZE_MAX_LISTED);
  for (int32_t i = 0; i < call->operand_count; i++) LAZE_TRY(form(recorder, call, i, &results[i], error));
  results[call->operand_count] = LAZE_VALUE_NONE;
  return LAZE_OK;
}

static laze_status at_least_1(laze_recorder *recorder, const laze_call *call, int32_t index, laze_value *out,
                              laze_error *error) {
  *out = call->operands[index];
  if (laze_recorder_type(recorder, *out)->rank > 0) return LAZE_OK;
  return laze_compose_insert_axis(recorder, *out, 0, out, error);
}

static laze_status at_least_2(laze_recorder *recorder, const laze_call *call, int32_t index, laze_value *out,
                              laze_error *error) {
  LAZE_TRY(at_least_1(recorder, call, index, out, error));
  if (laze_recorder_type(recorder, *out)->rank > 1) return LAZE_OK;
  return laze_compose_insert_axis(recorder, *out, 0, out, error);
}

static laze_status at_least_3(laze_recorder *recorder, const laze_call *call, int32_t index, laze_value *out,
                              laze_error *error) {
  LAZE_TRY(at_least_2(recorder, call, index, out, error));
  if (laze_recorder_type(recorder, *out)->rank > 2) return LAZE_OK;
  return laze_compose_insert_axis(recorder, *out, 2, out, error);
}

/* A list is a column. */
static laze_status as_columns(laze_recorder *recorder, const laze_call *call, int32_t index, laze_value *out,
                              laze_error *error) {
  LAZE_TRY(at_least_1(recorder, call, index, out, error));
  if (laze_recorder_type(recorder, *out)->rank > 1) return LAZE_OK;
  return laze_compose_insert_axis(recorder, *out, 1, out, error);
}

laze_status laze_composite_atleast_1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return at_least_1(recorder, call, 0, results, error);
}

laze_status laze_composite_atleast_1d_sequence(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  return list(recorder, call, at_least_1, results, error);
}

laze_status laze_composite_atleast_2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return at_least_2(recorder, call, 0, results, error);
}

laze_status laze_composite_atleast_2d_sequence(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  return list(recorder, call, at_least_2, results, error);
}

laze_status laze_composite_atleast_3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return at_least_3(recorder, call, 0, results, error);
}

laze_status laze_composite_atleast_3d_sequence(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  return list(recorder, call, at_least_3, results, error);
}

laze_status laze_composite_hstack(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  LAZE_TRY(check_some(call, error));
  const int rank = laze_recorder_type(recorder, call->operands[0])->rank;
  return join(recorder, call, at_least_1, rank < 2 ? 0 : 1, results, error);
}

laze_status laze_composite_vstack(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  return join(recorder, call, at_least_2, 0, results, error);
}

laze_status laze_composite_dstack(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  return join(recorder, call, at_least_3, 2, results, error);
}

laze_status laze_composite_column_stack(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return join(recorder, call, as_columns, 1, results, error);
}

/* Columns of 0 beside a block, `rows` long. */
static laze_status add_zeros(laze_recorder *recorder, laze_dtype dtype, laze_size rows, laze_size columns,
                             laze_value *parts, int32_t *count, laze_error *error) {
  laze_value zero;
  if (columns == 0) return LAZE_OK;
  LAZE_TRY(laze_record_number(recorder, dtype, laze_scalar_integer(0), &zero, error));
  return laze_compose_expand(recorder, zero, (laze_size[]){rows, columns}, 2, &parts[(*count)++], error);
}

/* A block between as much 0 as the blocks in front of and behind it are wide. */
static laze_status as_block(laze_recorder *recorder, const laze_call *call, int32_t index, laze_value *out,
                            laze_error *error) {
  laze_value parts[3];
  laze_size beside[2] = {0, 0};
  laze_attribute dim = laze_attribute_integer(1);
  int32_t count = 0;
  for (int32_t i = 0; i < call->operand_count; i++) {
    const laze_type *type = laze_recorder_type(recorder, call->operands[i]);
    if (type->rank > 2)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: tensor %d has %d dims, expected at most 2",
                       laze_compose_name(call), (int)i, type->rank);
    const laze_size width = type->rank == 0 ? 1 : type->sizes[type->rank - 1];
    if (i != index) LAZE_TRY(laze_size_arithmetic(recorder, '+', beside[i > index], width, &beside[i > index], error));
  }
  LAZE_TRY(at_least_2(recorder, call, index, out, error));
  const laze_type type = laze_compose_type(recorder, *out);
  LAZE_TRY(add_zeros(recorder, (laze_dtype)type.dtype, type.sizes[0], beside[0], parts, &count, error));
  parts[count++] = *out;
  LAZE_TRY(add_zeros(recorder, (laze_dtype)type.dtype, type.sizes[0], beside[1], parts, &count, error));
  return count == 1 ? LAZE_OK : laze_record_call(recorder, LAZE_OP_CAT, parts, count, &dim, out, error);
}

laze_status laze_composite_block_diag(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return join(recorder, call, as_block, 0, results, error);
}

/* The sizes that all operands have together. */
static laze_status find_shape(laze_recorder *recorder, const laze_call *call, laze_type *out, laze_error *error) {
  laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  *out = (laze_type){.kind = LAZE_TYPE_TENSOR};
  for (int32_t i = 0; i < call->operand_count; i++) {
    laze_type type = laze_compose_type(recorder, call->operands[i]);
    LAZE_TRY(laze_infer_broadcast_into(&inference, &type, out));
  }
  return LAZE_OK;
}

static laze_status as_broadcast(laze_recorder *recorder, const laze_call *call, int32_t index, laze_value *out,
                                laze_error *error) {
  laze_type shape;
  LAZE_TRY(find_shape(recorder, call, &shape, error));
  return laze_compose_expand(recorder, call->operands[index], shape.sizes, shape.rank, out, error);
}

laze_status laze_composite_broadcast_tensors(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  return list(recorder, call, as_broadcast, results, error);
}

/* The number of elements of each operand, which is a list or a number, and has the dtype of the first. */
static laze_status find_lengths(laze_recorder *recorder, const laze_call *call, int least, laze_size *out,
                                laze_error *error) {
  LAZE_TRY(check_some(call, error));
  const uint8_t dtype = laze_recorder_type(recorder, call->operands[0])->dtype;
  for (int32_t i = 0; i < call->operand_count; i++) {
    const laze_type *type = laze_recorder_type(recorder, call->operands[i]);
    if (type->rank < least || type->rank > 1 || type->dtype != dtype || i >= LAZE_MAX_RANK)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "%s: tensor %d has %d dims and is %s; at most %d tensors of one dtype, with one dim, were "
                       "expected",
                       laze_compose_name(call), (int)i, type->rank, laze_dtype_name((laze_dtype)type->dtype),
                       LAZE_MAX_RANK);
    out[i] = type->rank == 0 ? 1 : type->sizes[0];
  }
  return LAZE_OK;
}

/* With "xy" the first two tensors stand at each other's axis. */
static laze_status as_coordinate(laze_recorder *recorder, const laze_call *call, int32_t index, laze_value *out,
                                 laze_error *error) {
  const bool swapped = strcmp(call->attributes[LAZE_MESHGRID_INDEXING_INDEXING].value.string, "xy") == 0;
  const int count = call->operand_count;
  laze_size lengths[LAZE_MAX_RANK], sizes[LAZE_MAX_RANK], own[LAZE_MAX_RANK];
  LAZE_TRY(find_lengths(recorder, call, 0, lengths, error));
  for (int32_t i = 0; i < count; i++) {
    const int axis = swapped && count > 1 && i < 2 ? 1 - i : i;
    sizes[axis] = lengths[i];
    own[axis] = i == index ? lengths[i] : 1;
  }
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[index], own, count, out, error));
  return laze_compose_expand(recorder, *out, sizes, count, out, error);
}

laze_status laze_composite_meshgrid_indexing(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  const char *indexing = call->attributes[LAZE_MESHGRID_INDEXING_INDEXING].value.string;
  if (strcmp(indexing, "ij") != 0 && strcmp(indexing, "xy") != 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: indexing is \"%.16s\", expected \"ij\" or \"xy\"",
                     laze_compose_name(call), indexing);
  return list(recorder, call, as_coordinate, results, error);
}

/* A column of the product: each element as often as there are choices behind it, all of that as often as there are in
 * front. */
static laze_status as_choices(laze_recorder *recorder, const laze_call *call, int32_t index, laze_value *out,
                              laze_error *error) {
  laze_size lengths[LAZE_MAX_RANK], sizes[3], rows;
  LAZE_TRY(find_lengths(recorder, call, 1, lengths, error));
  sizes[1] = lengths[index];
  LAZE_TRY(laze_size_product(recorder->sizes, lengths, index, &sizes[0], error));
  LAZE_TRY(laze_size_product(recorder->sizes, lengths + index + 1, call->operand_count - index - 1, &sizes[2], error));
  LAZE_TRY(laze_size_product(recorder->sizes, sizes, 3, &rows, error));
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[index], (laze_size[]){1, sizes[1], 1}, 3, out, error));
  LAZE_TRY(laze_compose_expand(recorder, *out, sizes, 3, out, error));
  return laze_compose_reshape(recorder, *out, (laze_size[]){rows, 1}, 2, out, error);
}

laze_status laze_composite_cartesian_prod(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  laze_size lengths[LAZE_MAX_RANK];
  LAZE_TRY(find_lengths(recorder, call, 1, lengths, error));
  *results = call->operands[0];
  return call->operand_count == 1 ? LAZE_OK : join(recorder, call, as_choices, 1, results, error);
}

/* Filled up with 0 to a multiple of the number of parts, and [.., parts, the rest]. */
static laze_status as_chunks(laze_recorder *recorder, const laze_call *call, int32_t index, laze_value *out,
                             laze_error *error) {
  const int64_t parts = call->attributes[LAZE__CHUNK_CAT_NUM_CHUNKS].value.integer;
  laze_type type = laze_compose_type(recorder, call->operands[index]);
  laze_size size, sizes[LAZE_MAX_RANK + 2], around[2] = {0, 0};
  laze_value zero;
  int axis;
  LAZE_TRY(
      laze_compose_axis(recorder, call, call->attributes[LAZE__CHUNK_CAT_DIM].value.integer, type.rank, &axis, error));
  if (parts < 1 || type.rank == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %lld chunks of tensor %d with %d dims; expected 1 or more",
                     laze_compose_name(call), (long long)parts, (int)index, type.rank);
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_CEIL_DIV, type.sizes[axis], parts, &size, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', size, parts, &around[1], error));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', around[1], type.sizes[axis], &around[1], error));
  for (int i = 0; i < type.rank; i++) LAZE_TRY(laze_compose_refuse_empty(recorder, call, &type, i, error));
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)type.dtype, laze_scalar_integer(0), &zero, error));
  LAZE_TRY(laze_compose_pad(recorder, call->operands[index], zero, axis, around, out, error));
  for (int i = 0; i < axis; i++) sizes[i] = type.sizes[i];
  sizes[axis] = parts;
  type.sizes[axis] = size;
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes + axis, type.rank - axis, &sizes[axis + 1], error));
  return laze_compose_reshape(recorder, *out, sizes, axis + 2, out, error);
}

laze_status laze_composite__chunk_cat(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  const int64_t dim = call->attributes[LAZE__CHUNK_CAT_DIM].value.integer;
  int axis;
  LAZE_TRY(check_some(call, error));
  LAZE_TRY(laze_compose_axis(recorder, call, dim, laze_recorder_type(recorder, call->operands[0])->rank, &axis, error));
  return join(recorder, call, as_chunks, axis + 1, results, error);
}
