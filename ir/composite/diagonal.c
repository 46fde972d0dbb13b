/* Diagonals of two dims, read and written.
 *
 *   diagonal of [3, 4], offset 1    flat, from 1 on, every 5-th    1 . 6 . 11       a slice
 *   diag_embed of a, b, offset 1    where(column - row == 1, the list along rows, 0)
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/composite/window.h"
#include "ir/op.gen.h"

typedef struct {
  int64_t offset;
  int a, b; /* the axes of rows and columns */
} plane;

/* Reads offset, dim1 and dim2, the attributes of all of these. `rank`: of what has both dims. */
static laze_status find_plane(laze_recorder *recorder, const laze_call *call, int rank, plane *out, laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  out->offset = attributes[0].value.integer;
  LAZE_TRY(laze_compose_axis(recorder, call, attributes[1].value.integer, rank, &out->a, error));
  LAZE_TRY(laze_compose_axis(recorder, call, attributes[2].value.integer, rank, &out->b, error));
  if (out->a != out->b && out->offset <= LAZE_MAX_ELEMENTS && out->offset >= -LAZE_MAX_ELEMENTS) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: dim1 %d, dim2 %d and offset %lld name no diagonal; dims must differ", laze_compose_name(call),
                   out->a, out->b, (long long)out->offset);
}

/* The diagonal begins at (row, column), and is as long as both axes have places from there on. */
laze_status laze_compose_diagonal(laze_recorder *recorder, laze_size rows, laze_size columns, int64_t offset,
                                  laze_size *first, laze_size *length, laze_error *error) {
  laze_size row = offset < 0 ? -offset : 0, column = offset > 0 ? offset : 0, down, across;
  LAZE_TRY(laze_size_arithmetic(recorder, '-', rows, row, &down, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', columns, column, &across, error));
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MIN, down, across, length, error));
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MAX, *length, 0, length, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', row, columns, first, error));
  return laze_size_arithmetic(recorder, '+', *first, column, first, error);
}

/* Places first, first + step, ... of the last axis, `length` of them. */
static laze_status take_every(laze_recorder *recorder, laze_value value, int axis, laze_size first, laze_size length,
                              laze_size step, laze_value *out, laze_error *error) {
  laze_value operands[2] = {value}, size;
  laze_size end;
  if (laze_size_is_constant(step)) {
    LAZE_TRY(laze_size_arithmetic(recorder, '*', length, step, &end, error));
    LAZE_TRY(laze_size_arithmetic(recorder, '+', end, first, &end, error));
    laze_attribute slice[] = {laze_attribute_integer(axis), laze_attribute_size(length == 0 ? 0 : first),
                              laze_attribute_size(length == 0 ? 0 : end), laze_attribute_integer(step)};
    return laze_record_call(recorder, LAZE_OP_SLICE, &value, 1, slice, out, error);
  }
  laze_attribute dim = laze_attribute_integer(axis);
  LAZE_TRY(laze_compose_iota(recorder, &length, 1, 0, LAZE_I64, &operands[1], error));
  LAZE_TRY(laze_compose_size(recorder, step, &size, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, operands[1], size, &operands[1], error));
  LAZE_TRY(laze_compose_size(recorder, first, &size, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, operands[1], size, &operands[1], error));
  return laze_record_call(recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, out, error);
}

static laze_status take_diagonal(laze_recorder *recorder, laze_value self, plane p, laze_value *out,
                                 laze_error *error) {
  laze_type type = laze_compose_type(recorder, self);
  laze_size order[LAZE_MAX_RANK], sizes[LAZE_MAX_RANK], first, length, step;
  int rank = 0;
  for (int i = 0; i < type.rank; i++) {
    if (i == p.a || i == p.b) continue;
    sizes[rank] = type.sizes[i];
    order[rank++] = i;
  }
  order[rank] = p.a;
  order[rank + 1] = p.b;
  LAZE_TRY(laze_compose_permute(recorder, self, order, type.rank, out, error));
  LAZE_TRY(laze_compose_diagonal(recorder, type.sizes[p.a], type.sizes[p.b], p.offset, &first, &length, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', type.sizes[p.a], type.sizes[p.b], &sizes[rank], error));
  LAZE_TRY(laze_size_arithmetic(recorder, '+', type.sizes[p.b], 1, &step, error));
  LAZE_TRY(laze_compose_reshape(recorder, *out, sizes, rank + 1, out, error));
  return take_every(recorder, *out, rank, first, length, step, out, error);
}

laze_status laze_composite_diagonal(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  plane p;
  LAZE_TRY(find_plane(recorder, call, laze_recorder_type(recorder, call->operands[0])->rank, &p, error));
  return take_diagonal(recorder, call->operands[0], p, results, error);
}

laze_status laze_composite_trace(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  if (type.rank != 2 || type.dtype == LAZE_BOOL)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got a tensor of %d dims and %s; expected a matrix of numbers",
                     laze_compose_name(call), type.rank, laze_dtype_name((laze_dtype)type.dtype));
  LAZE_TRY(take_diagonal(recorder, call->operands[0], (plane){.a = 0, .b = 1}, results, error));
  return laze_compose_unary(recorder, LAZE_OP_SUM, *results, results, error);
}

/* The last axis as the diagonal of the last two: along rows, which the offset moves to the right, or along columns. */
static laze_status make_plane(laze_recorder *recorder, laze_value self, int64_t offset, laze_value *out,
                              laze_error *error) {
  laze_type type = laze_compose_type(recorder, self);
  const int64_t beside = offset < 0 ? -offset : offset;
  const int last = type.rank - 1;
  laze_value indices[2], choice[3];
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)type.dtype, laze_scalar_integer(0), &choice[2], error));
  LAZE_TRY(laze_compose_pad(recorder, self, choice[2], last, (laze_size[]){0, beside}, &choice[1], error));
  LAZE_TRY(laze_size_arithmetic(recorder, '+', type.sizes[last], beside, &type.sizes[last], error));
  LAZE_TRY(laze_compose_insert_axis(recorder, choice[1], offset < 0 ? last : last + 1, &choice[1], error));
  type.sizes[type.rank++] = type.sizes[last];
  LAZE_TRY(laze_compose_expand(recorder, choice[1], type.sizes, type.rank, &choice[1], error));
  for (int i = 0; i < 2; i++)
    LAZE_TRY(laze_compose_iota(recorder, type.sizes + last, 2, i, LAZE_I64, &indices[i], error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, indices[1], indices[0], &choice[0], error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_EQ, choice[0], laze_scalar_integer(offset), &choice[0], error));
  return laze_record_call(recorder, LAZE_OP_WHERE_SELF, choice, 3, NULL, out, error);
}

static laze_status check_room(laze_recorder *recorder, const laze_call *call, int least, int most, laze_error *error) {
  const int rank = laze_recorder_type(recorder, call->operands[0])->rank;
  if (rank >= least && rank <= most) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got a tensor of %d dims, expected %d to %d",
                   laze_compose_name(call), rank, least, most);
}

laze_status laze_composite_diag_embed(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  laze_size order[LAZE_MAX_RANK];
  plane p;
  LAZE_TRY(check_room(recorder, call, 1, LAZE_MAX_RANK - 1, error));
  const int rank = laze_recorder_type(recorder, call->operands[0])->rank + 1;
  LAZE_TRY(find_plane(recorder, call, rank, &p, error));
  LAZE_TRY(make_plane(recorder, call->operands[0], p.offset, results, error));
  for (int axis = 0, next = 0; axis < rank; axis++)
    order[axis] = axis == p.a ? rank - 2 : axis == p.b ? rank - 1 : next++;
  return laze_compose_permute(recorder, *results, order, rank, results, error);
}

laze_status laze_composite_diag(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  const plane p = {.offset = call->attributes[LAZE_DIAG_DIAGONAL].value.integer, .a = 0, .b = 1};
  LAZE_TRY(check_room(recorder, call, 1, 2, error));
  if (p.offset > LAZE_MAX_ELEMENTS || p.offset < -LAZE_MAX_ELEMENTS)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: no matrix has a diagonal %lld", laze_compose_name(call),
                     (long long)p.offset);
  if (laze_recorder_type(recorder, call->operands[0])->rank == 2)
    return take_diagonal(recorder, call->operands[0], p, results, error);
  return make_plane(recorder, call->operands[0], p.offset, results, error);
}
