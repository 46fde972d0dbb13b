/* Gradients of factors of matrices that need not be square:
 *
 *   P A = | L1 | U        L2 = A2 U^-1   gives to U what U^-1 is asked for
 *         | L2 |
 *   P A = L [ U1 U2 ]     U2 = L^-1 A2   gives to L what L^-1 is asked for
 */
#include "ir/composite/composite.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

static laze_status adjoint(laze_recorder *recorder, laze_value self, laze_value *out, laze_error *error) {
  return laze_compose_unary(recorder, LAZE_OP_ADJOINT, self, out, error);
}

static laze_status product(laze_recorder *recorder, laze_value a, laze_value b, laze_value *out, laze_error *error) {
  return laze_compose_binary(recorder, LAZE_OP_MATMUL, a, b, out, error);
}

/* Solves with a triangle: self X = b, or X self = b. */
static laze_status solve(laze_recorder *recorder, laze_value self, laze_value b, bool upper, bool left, bool unit,
                         laze_value *out, laze_error *error) {
  const laze_attribute attributes[] = {laze_attribute_boolean(upper), laze_attribute_boolean(left),
                                       laze_attribute_boolean(unit)};
  return laze_record_call(recorder, LAZE_OP_LINALG_SOLVE_TRIANGULAR, (const laze_value[]){self, b}, 2, attributes, out,
                          error);
}

/* The first and the other rows (axis -2) or columns (-1) of a matrix. */
static laze_status split(laze_recorder *recorder, laze_value self, int from_back, laze_size first, laze_value parts[2],
                         laze_error *error) {
  const laze_type type = *laze_recorder_type(recorder, self);
  const int axis = type.rank - from_back;
  LAZE_TRY(laze_compose_slice(recorder, self, axis, 0, first, &parts[0], error));
  return laze_compose_slice(recorder, self, axis, first, type.sizes[axis], &parts[1], error);
}

static laze_status join(laze_recorder *recorder, const laze_value parts[2], int64_t axis, laze_value *out,
                        laze_error *error) {
  const laze_attribute dim = laze_attribute_integer(axis);
  return laze_record_call(recorder, LAZE_OP_CAT, parts, 2, &dim, out, error);
}

/* to -= a b. */
static laze_status subtract_product(laze_recorder *recorder, laze_value a, laze_value b, laze_value *to,
                                    laze_error *error) {
  laze_value both;
  LAZE_TRY(product(recorder, a, b, &both, error));
  return laze_compose_binary(recorder, LAZE_OP_SUB, *to, both, to, error);
}

static laze_status square(laze_recorder *recorder, laze_op op, laze_value a, laze_value b, laze_value c, laze_value d,
                          laze_value *out, laze_error *error) {
  return laze_record_call(recorder, op, (const laze_value[]){a, b, c, d}, 4, NULL, out, error);
}

/* [A1 A2] = L [U1 U2]. */
static laze_status wide_lu(laze_recorder *recorder, laze_value grad_l, laze_value grad_u, laze_value l, laze_value u,
                           laze_size rank, laze_value *out, laze_error *error) {
  laze_value given[2], factors[2], parts[2], turned;
  LAZE_TRY(split(recorder, grad_u, 1, rank, given, error));
  LAZE_TRY(split(recorder, u, 1, rank, factors, error));
  LAZE_TRY(adjoint(recorder, l, &turned, error));
  LAZE_TRY(solve(recorder, turned, given[1], true, true, true, &parts[1], error));
  LAZE_TRY(adjoint(recorder, factors[1], &turned, error));
  LAZE_TRY(subtract_product(recorder, parts[1], turned, &grad_l, error));
  LAZE_TRY(square(recorder, LAZE_OP__LU_SQUARE_BACKWARD, grad_l, given[0], l, factors[0], &parts[0], error));
  return join(recorder, parts, -1, out, error);
}

/* [A1; A2] = [L1; L2] U. */
static laze_status tall_lu(laze_recorder *recorder, laze_value grad_l, laze_value grad_u, laze_value l, laze_value u,
                           laze_size rank, laze_value *out, laze_error *error) {
  laze_value given[2], factors[2], parts[2], turned;
  LAZE_TRY(split(recorder, grad_l, 2, rank, given, error));
  LAZE_TRY(split(recorder, l, 2, rank, factors, error));
  LAZE_TRY(adjoint(recorder, u, &turned, error));
  LAZE_TRY(solve(recorder, turned, given[1], false, false, false, &parts[1], error));
  LAZE_TRY(adjoint(recorder, factors[1], &turned, error));
  LAZE_TRY(subtract_product(recorder, turned, parts[1], &grad_u, error));
  LAZE_TRY(square(recorder, LAZE_OP__LU_SQUARE_BACKWARD, given[0], grad_u, factors[0], u, &parts[0], error));
  return join(recorder, parts, -2, out, error);
}

/* The gradients are those of LU in one matrix, of which L and U have a part each. */
laze_status laze_composite__lu_factor_backward(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  const bool pivoted = call->attributes[LAZE__LU_FACTOR_BACKWARD_PIVOT].value.integer != 0;
  laze_value grad_l = call->operands[0], grad_u = call->operands[1], unpacked[3], turned;
  const laze_type type = *laze_recorder_type(recorder, call->operands[2]);
  const laze_size rows = type.sizes[type.rank - 2], columns = type.sizes[type.rank - 1];
  bool tall, wide;
  LAZE_TRY(laze_size_is_at_most(recorder, columns, rows, &tall, error));
  LAZE_TRY(laze_size_is_at_most(recorder, rows, columns, &wide, error));
  const laze_attribute both[] = {laze_attribute_boolean(true), laze_attribute_boolean(true)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_LU_UNPACK, call->operands + 2, 2, both, unpacked, error));
  if (!tall) LAZE_TRY(laze_compose_slice(recorder, grad_l, type.rank - 1, 0, rows, &grad_l, error));
  if (!wide) LAZE_TRY(laze_compose_slice(recorder, grad_u, type.rank - 2, 0, columns, &grad_u, error));
  if (tall && wide)
    LAZE_TRY(square(recorder, LAZE_OP__LU_SQUARE_BACKWARD, grad_l, grad_u, unpacked[1], unpacked[2], results, error));
  else if (tall)
    LAZE_TRY(tall_lu(recorder, grad_l, grad_u, unpacked[1], unpacked[2], columns, results, error));
  else
    LAZE_TRY(wide_lu(recorder, grad_l, grad_u, unpacked[1], unpacked[2], rows, results, error));
  if (!pivoted) return LAZE_OK;
  turned = *results;
  return product(recorder, unpacked[0], turned, results, error);
}

/* Fills a matrix up with zeros to the given sizes. */
static laze_status fill_up(laze_recorder *recorder, laze_value self, const laze_size *sizes, int rank, laze_value *out,
                           laze_error *error) {
  const laze_type type = *laze_recorder_type(recorder, self);
  laze_value zero;
  LAZE_TRY(laze_record_number(recorder, type.dtype, laze_scalar_integer(0), &zero, error));
  *out = self;
  for (int axis = rank - 2; axis < rank; axis++) {
    laze_size behind;
    LAZE_TRY(laze_size_arithmetic(recorder, '-', sizes[axis], type.sizes[axis], &behind, error));
    const laze_attribute attributes[] = {laze_attribute_integer(axis), laze_attribute_size(0),
                                         laze_attribute_size(behind)};
    LAZE_TRY(laze_record_call(recorder, LAZE_OP__PAD, (const laze_value[]){*out, zero}, 2, attributes, out, error));
  }
  return LAZE_OK;
}

laze_status laze_composite__lu_pack(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  const laze_attribute *size = &call->attributes[LAZE__LU_PACK_SIZE];
  const laze_attribute below = laze_attribute_size(-1), from = laze_attribute_size(0);
  laze_value parts[2];
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_TRIL, &call->operands[0], 1, &below, &parts[0], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_TRIU, &call->operands[1], 1, &from, &parts[1], error));
  for (int i = 0; i < 2; i++) LAZE_TRY(fill_up(recorder, parts[i], size->value.items, size->count, &parts[i], error));
  return laze_compose_binary(recorder, LAZE_OP_ADD, parts[0], parts[1], results, error);
}

/* [A1 A2] = Q [R1 R2], where A2 = Q R2 gives to Q, and R2 = Q^H A2 to A2. */
laze_status laze_composite__qr_backward(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  laze_value grad_q = call->operands[0], q = call->operands[2], given[2], factors[2], parts[2], other, turned, both;
  const laze_type type = *laze_recorder_type(recorder, call->operands[3]);
  const laze_size rows = type.sizes[type.rank - 2], columns = type.sizes[type.rank - 1];
  bool is_square;
  LAZE_TRY(laze_size_is_equal(recorder, rows, columns, &is_square, error));
  if (is_square)
    return laze_record_call(recorder, LAZE_OP__QR_SQUARE_BACKWARD, call->operands, 4, NULL, results, error);
  LAZE_TRY(split(recorder, call->operands[1], 1, rows, given, error));
  LAZE_TRY(split(recorder, call->operands[3], 1, rows, factors, error));
  LAZE_TRY(product(recorder, q, factors[1], &other, error));
  LAZE_TRY(adjoint(recorder, given[1], &turned, error));
  LAZE_TRY(product(recorder, other, turned, &both, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, grad_q, both, &grad_q, error));
  LAZE_TRY(square(recorder, LAZE_OP__QR_SQUARE_BACKWARD, grad_q, given[0], q, factors[0], &parts[0], error));
  LAZE_TRY(product(recorder, q, given[1], &parts[1], error));
  return join(recorder, parts, -1, results, error);
}

/* What is left of a gradient of vectors outside of their span, over the singular values: (g - U U^H g) / S. */
static laze_status outside(laze_recorder *recorder, laze_value vectors, laze_value gradient, laze_value values,
                           laze_value *out, laze_error *error) {
  laze_value turned, inside;
  LAZE_TRY(adjoint(recorder, vectors, &turned, error));
  LAZE_TRY(product(recorder, turned, gradient, &inside, error));
  LAZE_TRY(product(recorder, vectors, inside, &inside, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, gradient, inside, out, error));
  return laze_compose_binary(recorder, LAZE_OP_DIV, *out, values, out, error);
}

/* U inner V^H + (what U's gradient has outside of U) V^H + U (what V's has outside of V)^H. */
static laze_status join_svd(laze_recorder *recorder, const laze_value grads[2], const laze_value vectors[2],
                            laze_value inner, laze_value values, laze_value *out, laze_error *error) {
  laze_value turned, left, beyond;
  LAZE_TRY(product(recorder, vectors[0], inner, &left, error));
  LAZE_TRY(outside(recorder, vectors[0], grads[0], values, &beyond, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, left, beyond, &left, error));
  LAZE_TRY(adjoint(recorder, vectors[1], &turned, error));
  LAZE_TRY(product(recorder, left, turned, out, error));
  LAZE_TRY(outside(recorder, vectors[1], grads[1], values, &beyond, error));
  LAZE_TRY(adjoint(recorder, beyond, &beyond, error));
  LAZE_TRY(product(recorder, vectors[0], beyond, &beyond, error));
  return laze_compose_binary(recorder, LAZE_OP_ADD, *out, beyond, out, error);
}

/* Of full matrices, the first vectors count: the others are any that complete them. */
laze_status laze_composite__svd_backward(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_value grad_s = call->operands[1];
  laze_value grad_u = call->operands[0], grad_v = call->operands[2];
  const laze_value u = call->operands[3], s = call->operands[4], vh = call->operands[5];
  const laze_type type = *laze_recorder_type(recorder, s);
  const laze_size count = type.sizes[type.rank - 1];
  laze_value v, inner, values;
  LAZE_TRY(adjoint(recorder, vh, &v, error));
  LAZE_TRY(laze_compose_slice(recorder, grad_u, type.rank, 0, count, &grad_u, error));
  LAZE_TRY(laze_compose_slice(recorder, grad_v, type.rank - 1, 0, count, &grad_v, error));
  LAZE_TRY(adjoint(recorder, grad_v, &grad_v, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__SVD_TURNED, (const laze_value[]){grad_u, grad_s, grad_v, u, s, v}, 6,
                            NULL, &inner, error));
  LAZE_TRY(laze_compose_insert_axis(recorder, s, type.rank - 1, &values, error));
  return join_svd(recorder, (const laze_value[]){grad_u, grad_v}, (const laze_value[]){u, v}, inner, values, results,
                  error);
}

/* The gradient of what is left, A X - B, whose squares are residuals: nothing where there are none of these. */
static laze_status left_over(laze_recorder *recorder, const laze_call *call, laze_value *out, bool *found,
                             laze_error *error) {
  const laze_value self = call->operands[2], b = call->operands[3], solution = call->operands[4];
  const laze_type type = *laze_recorder_type(recorder, call->operands[1]);
  laze_value given, two;
  LAZE_TRY(laze_size_is_equal(recorder, type.sizes[type.rank - 1], 0, found, error));
  *found = !*found;
  if (!*found) return LAZE_OK;
  LAZE_TRY(laze_record_number(recorder, type.dtype, laze_scalar_integer(2), &two, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, call->operands[1], two, &given, error));
  LAZE_TRY(laze_compose_insert_axis(recorder, given, type.rank - 1, &given, error));
  LAZE_TRY(product(recorder, self, solution, out, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, *out, b, out, error));
  return laze_compose_binary(recorder, LAZE_OP_MUL, *out, given, out, error);
}

/* X = A^+ B, of which A has the gradient that A^+ has; what is left is at right angles to what A reaches, so that X has
 * no part in how its squares change. */
laze_status laze_composite__lstsq_backward(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  const laze_value gradient = call->operands[0], self = call->operands[2], inverse = call->operands[5];
  laze_value turned, given, rest;
  bool found;
  LAZE_TRY(adjoint(recorder, call->operands[3], &turned, error));
  LAZE_TRY(product(recorder, gradient, turned, &given, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__PINV_BACKWARD, (const laze_value[]){given, inverse, self}, 3, NULL,
                            &results[0], error));
  LAZE_TRY(adjoint(recorder, inverse, &turned, error));
  LAZE_TRY(product(recorder, turned, gradient, &results[1], error));
  LAZE_TRY(left_over(recorder, call, &rest, &found, error));
  if (!found) return LAZE_OK;
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, results[1], rest, &results[1], error));
  LAZE_TRY(adjoint(recorder, call->operands[4], &turned, error));
  LAZE_TRY(product(recorder, rest, turned, &rest, error));
  return laze_compose_binary(recorder, LAZE_OP_ADD, results[0], rest, &results[0], error);
}
