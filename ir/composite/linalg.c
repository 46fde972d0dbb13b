/* Linear algebra whose expansion depends on ranks or sizes, over factors of matrices:
 *
 *   solve       A [..., n,n]   B [n] or [..., n]  ──>  B as a column, LU of A, and the column back
 *   qr          a, tau = geqrf A      R = upper triangle of a      Q = the product of the reflections in a
 *   tensorinv   [a, b, c...] with a b = c...      reshaped to a square, and the inverse back
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <string.h>

/* Whether B is a vector, or a batch of as many vectors as there are matrices: it has the sizes of A but the last. */
static laze_status is_vector(laze_recorder *recorder, const laze_type *a, const laze_type *b, bool *out,
                             laze_error *error) {
  *out = b->rank == 1 || b->rank == a->rank - 1;
  for (int i = 0; i < b->rank && b->rank > 1 && *out; i++)
    LAZE_TRY(laze_size_may_equal(recorder, a->sizes[i], b->sizes[i], out, error));
  return LAZE_OK;
}

laze_status laze_composite__linalg_solve_ex(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  laze_type a = laze_compose_type(recorder, call->operands[0]), b = laze_compose_type(recorder, call->operands[1]);
  bool left = call->attributes[LAZE__LINALG_SOLVE_EX_LEFT].value.integer != 0, vector;
  laze_attribute factor[] = {laze_attribute_boolean(true), call->attributes[LAZE__LINALG_SOLVE_EX_CHECK_ERRORS]};
  laze_attribute solve[] = {laze_attribute_boolean(left), laze_attribute_boolean(false)};
  laze_value factors[3], operands[3];
  LAZE_TRY(is_vector(recorder, &a, &b, &vector, error));
  if (vector && !left)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: B is a vector, which cannot stand to the right of X A; pass it as a matrix of one row, or "
                     "left=true",
                     laze_compose_name(call));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_LINALG_LU_FACTOR_EX, call->operands, 1, factor, factors, error));
  operands[0] = factors[0];
  operands[1] = factors[1];
  operands[2] = call->operands[1];
  if (vector) LAZE_TRY(laze_compose_insert_axis(recorder, operands[2], b.rank, &operands[2], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_LINALG_LU_SOLVE, operands, 3, solve, &results[0], error));
  if (vector) {
    int rank = laze_recorder_type(recorder, results[0])->rank;
    LAZE_TRY(laze_compose_drop_axis(recorder, results[0], rank - 1, &results[0], error));
  }
  memcpy(results + 1, factors, sizeof factors);
  return LAZE_OK;
}

laze_status laze_composite_linalg_lstsq(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  const laze_attribute *driver = &call->attributes[LAZE_LINALG_LSTSQ_DRIVER];
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_type a = laze_compose_type(recorder, call->operands[0]), b = laze_compose_type(recorder, call->operands[1]);
  laze_attribute attributes[] = {call->attributes[LAZE_LINALG_LSTSQ_RCOND],
                                 driver->present ? *driver : laze_attribute_string("gelsy")};
  laze_value operands[2] = {call->operands[0], call->operands[1]};
  bool vector = false;
  if (a.rank >= 2 && b.rank == a.rank - 1) LAZE_TRY(is_vector(recorder, &a, &b, &vector, error));
  if (a.rank < 2 || (!vector && b.rank != a.rank))
    return laze_fail(
        error, LAZE_INVALID_ARGUMENT,
        "%s: got %s and %s; expected matrices, with at least 2 dimensions, and as many matrices or vectors "
        "with as many rows",
        inference.operator_name, laze_show(&inference, &a).text, laze_show(&inference, &b).text);
  if (vector) LAZE_TRY(laze_compose_insert_axis(recorder, operands[1], b.rank, &operands[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__LINALG_LSTSQ, operands, 2, attributes, results, error));
  return vector ? laze_compose_drop_axis(recorder, results[0], a.rank - 1, &results[0], error) : LAZE_OK;
}

/* Q with `columns` columns: the reflections, and columns of zeros behind them where there are fewer. */
static laze_status make_orthogonal(laze_recorder *recorder, const laze_value *reflections, laze_size columns,
                                   laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, reflections[0]);
  laze_value operands[2] = {reflections[0], reflections[1]}, parts[2];
  laze_size more, none = 0;
  bool fits;
  LAZE_TRY(laze_size_is_at_most(recorder, columns, type.sizes[type.rank - 1], &fits, error));
  if (fits) {
    LAZE_TRY(laze_compose_slice(recorder, operands[0], type.rank - 1, none, columns, &operands[0], error));
  } else {
    laze_attribute dim = laze_attribute_integer(-1), filled[2];
    LAZE_TRY(laze_size_arithmetic(recorder, '-', columns, type.sizes[type.rank - 1], &more, error));
    type.sizes[type.rank - 1] = more;
    filled[0] = laze_attribute_sizes(type.sizes, type.rank);
    filled[1] = laze_attribute_dtype(type.dtype);
    parts[0] = operands[0];
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_ZEROS, NULL, 0, filled, &parts[1], error));
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, parts, 2, &dim, &operands[0], error));
  }
  return laze_record_call(recorder, LAZE_OP_LINALG_HOUSEHOLDER_PRODUCT, operands, 2, NULL, out, error);
}

laze_status laze_composite_linalg_qr(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  const char *mode = call->attributes[LAZE_LINALG_QR_MODE].value.string;
  bool complete = !strcmp(mode, "complete"), triangle = !strcmp(mode, "r");
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_attribute diagonal = laze_attribute_size(0);
  laze_value reflections[2];
  laze_size none = 0, side;
  if (!complete && !triangle && strcmp(mode, "reduced"))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: mode is \"%s\"; write \"reduced\", \"complete\" or \"r\"",
                     laze_compose_name(call), mode);
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_GEQRF, call->operands, 1, NULL, reflections, error));
  const laze_size *own = type.sizes + type.rank - 2;
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MIN, own[0], own[1], &side, error));
  if (complete) side = own[0];
  LAZE_TRY(laze_compose_slice(recorder, reflections[0], type.rank - 2, 0, side, &results[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_TRIU, &results[1], 1, &diagonal, &results[1], error));
  if (!triangle) return make_orthogonal(recorder, reflections, side, &results[0], error);
  laze_attribute filled[] = {laze_attribute_sizes(&none, 1), laze_attribute_dtype(type.dtype)};
  return laze_record_call(recorder, LAZE_OP_ZEROS, NULL, 0, filled, &results[0], error);
}

/* The tensor as a matrix whose columns are the axes from `split` on, which must be square. */
static laze_status as_square(laze_recorder *recorder, const laze_call *call, laze_value value, int split,
                             laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, value);
  laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_size sizes[2];
  bool square;
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, split, &sizes[0], error));
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes + split, type.rank - split, &sizes[1], error));
  LAZE_TRY(laze_size_must_equal(recorder, sizes[0], sizes[1], &square, error));
  if (square) return laze_compose_reshape(recorder, value, sizes, 2, out, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: the first %d dims of %s have %s elements and the others %s; as many were expected",
                   inference.operator_name, split, laze_show(&inference, &type).text,
                   laze_show_size(&inference, sizes[0]).text, laze_show_size(&inference, sizes[1]).text);
}

laze_status laze_composite_linalg_tensorinv(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  int64_t split = call->attributes[LAZE_LINALG_TENSORINV_IND].value.integer;
  laze_size sizes[LAZE_MAX_RANK];
  laze_value square;
  if (split <= 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: ind is %lld; 1 or more was expected", laze_compose_name(call),
                     (long long)split);
  int first = split < type.rank ? (int)split : type.rank;
  LAZE_TRY(as_square(recorder, call, call->operands[0], first, &square, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_LINALG_INV, square, &square, error));
  for (int i = 0; i < type.rank; i++) sizes[i] = type.sizes[(i + first) % type.rank];
  return laze_compose_reshape(recorder, square, sizes, type.rank, results, error);
}

/* Moves the axes that are named to the end, in their order. */
static laze_status move_to_end(laze_recorder *recorder, const laze_call *call, laze_size_list dims, laze_value *value,
                               laze_error *error) {
  int rank = laze_recorder_type(recorder, *value)->rank, count = 0;
  bool named[LAZE_MAX_RANK] = {false};
  laze_size order[LAZE_MAX_RANK];
  for (int32_t i = 0; i < dims.count; i++) {
    int axis;
    LAZE_TRY(laze_compose_axis(recorder, call, dims.items[i], rank, &axis, error));
    if (named[axis])
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dims names dim %d twice", laze_compose_name(call), axis);
    named[axis] = true;
    order[rank - dims.count + i] = axis;
  }
  for (int i = 0; i < rank; i++)
    if (!named[i]) order[count++] = i;
  return laze_compose_permute(recorder, *value, order, rank, value, error);
}

laze_status laze_composite_linalg_tensorsolve(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  laze_size_list dims = laze_attribute_list(&call->attributes[LAZE_LINALG_TENSORSOLVE_DIMS]);
  laze_type other = laze_compose_type(recorder, call->operands[1]);
  laze_value operands[2] = {call->operands[0]};
  laze_attribute left = laze_attribute_boolean(true);
  laze_size elements;
  if (dims.present) LAZE_TRY(move_to_end(recorder, call, dims, &operands[0], error));
  laze_type self = laze_compose_type(recorder, operands[0]);
  int split = other.rank < self.rank ? other.rank : self.rank;
  LAZE_TRY(as_square(recorder, call, operands[0], split, &operands[0], error));
  LAZE_TRY(laze_type_elements(recorder->sizes, &other, &elements, error));
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[1], &elements, 1, &operands[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_LINALG_SOLVE, operands, 2, &left, results, error));
  return laze_compose_reshape(recorder, results[0], self.sizes + split, self.rank - split, results, error);
}
