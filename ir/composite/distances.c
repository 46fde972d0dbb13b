/* Distances between rows: norms of differences.
 *
 *   cdist   x1 [.., p, 1, m] - x2 [.., 1, r, m], and the norm over m         [.., p, r]
 *   pdist   rows i < j of one matrix, pair k of n rows:
 *
 *             k    0 1 2 3 4 5        start(i) = i * (2n - i - 1) / 2 pairs have a first row below i,
 *             i j  01 02 03 12 13 23  so that i follows from the root of a square, and j from what is left
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

static laze_status reduce_last(laze_recorder *recorder, laze_op op, laze_value value, laze_value *out,
                               laze_error *error) {
  const laze_type type = laze_compose_type(recorder, value);
  laze_size last = -1;
  laze_attribute along[] = {laze_attribute_integers(&last, 1), laze_attribute_boolean(false),
                            laze_attribute_dtype((laze_dtype)type.dtype)}; /* the last for sums alone */
  return laze_record_call(recorder, op, &value, 1, along, out, error);
}

/* The largest magnitude; of nothing that is 0. */
static laze_status largest(laze_recorder *recorder, laze_value magnitudes, laze_value *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, magnitudes);
  bool nothing;
  LAZE_TRY(laze_size_may_equal(recorder, type.sizes[type.rank - 1], 0, &nothing, error));
  return reduce_last(recorder, nothing ? LAZE_OP_SUM_DIM_INTLIST : LAZE_OP_AMAX, magnitudes, out, error);
}

/* The norm of order p over the last axis. */
static laze_status norm(laze_recorder *recorder, laze_value difference, double p, laze_value *out, laze_error *error) {
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, difference)->dtype;
  laze_value each;
  if (p == 0) {
    LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_NE, difference, laze_scalar_integer(0), &each, error));
    LAZE_TRY(laze_compose_to(recorder, each, dtype, &each, error));
    return reduce_last(recorder, LAZE_OP_SUM_DIM_INTLIST, each, out, error);
  }
  if (isinf(p)) {
    LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_ABS, difference, &each, error));
    return largest(recorder, each, out, error);
  }
  laze_size last = -1;
  laze_attribute along[] = {laze_attribute_literal(laze_scalar_real(p)), laze_attribute_integers(&last, 1),
                            laze_attribute_boolean(false)};
  return laze_record_call(recorder, LAZE_OP__NORM_OVER, &difference, 1, along, out, error);
}

static laze_status check_order(const laze_call *call, double p, laze_error *error) {
  if (p >= 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: p is %g, expected 0 or more", laze_compose_name(call), p);
}

static laze_status check_rows(laze_recorder *recorder, const laze_call *call, laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_type a = laze_compose_type(recorder, call->operands[0]),
                  b = laze_compose_type(recorder, call->operands[1]);
  bool fits = a.rank >= 2 && b.rank >= 2 && laze_dtype_is_float((laze_dtype)a.dtype) &&
              laze_dtype_is_float((laze_dtype)b.dtype);
  if (fits) LAZE_TRY(laze_size_must_equal(recorder, a.sizes[a.rank - 1], b.sizes[b.rank - 1], &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: got %s and %s; expected floats with 2 dims or more, and as many "
                   "elements in a row",
                   inference.operator_name, laze_show(&inference, &a).text, laze_show(&inference, &b).text);
}

static laze_status between_rows(laze_recorder *recorder, const laze_call *call, double p, const laze_attribute *mode,
                                laze_value *results, laze_error *error) {
  laze_value pair[2];
  LAZE_TRY(check_rows(recorder, call, error));
  LAZE_TRY(check_order(call, p, error));
  if (mode->present && (mode->value.integer < 0 || mode->value.integer > 2))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: compute_mode is %lld, expected 0 to 2", laze_compose_name(call),
                     (long long)mode->value.integer);
  for (int i = 0; i < 2; i++) {
    const int rank = laze_recorder_type(recorder, call->operands[i])->rank;
    LAZE_TRY(laze_compose_insert_axis(recorder, call->operands[i], rank - 1 - i, &pair[i], error));
  }
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, pair[0], pair[1], &pair[0], error));
  return norm(recorder, pair[0], p, results, error);
}

laze_status laze_composite_cdist(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  return between_rows(recorder, call, call->attributes[LAZE_CDIST_P].value.real,
                      &call->attributes[LAZE_CDIST_COMPUTE_MODE], results, error);
}

laze_status laze_composite__cdist_forward(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  return between_rows(recorder, call, call->attributes[LAZE__CDIST_FORWARD_P].value.real,
                      &call->attributes[LAZE__CDIST_FORWARD_COMPUTE_MODE], results, error);
}

/* Pairs of rows */

typedef struct {
  laze_recorder *recorder;
  laze_value doubled, pair; /* 2n - 1, and k of each pair, i64 */
  laze_error *error;
} pairing;

/* start(row) = row * (2n - 1 - row) / 2 */
static laze_status find_start(const pairing *p, laze_value row, laze_value *out) {
  laze_value rest;
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_SUB, p->doubled, row, &rest, p->error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_MUL, row, rest, out, p->error));
  return laze_compose_with_number(p->recorder, LAZE_OP_FLOOR_DIVIDE, *out, laze_scalar_integer(2), out, p->error);
}

/* row + step where start(row + offset) compares with the pair as `op` says. */
static laze_status correct(const pairing *p, laze_op op, int64_t offset, int64_t step, laze_value *row) {
  laze_value other, wrong;
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_ADD, *row, laze_scalar_integer(offset), &other, p->error));
  LAZE_TRY(find_start(p, other, &other));
  LAZE_TRY(laze_compose_binary(p->recorder, op, other, p->pair, &wrong, p->error));
  LAZE_TRY(laze_compose_to(p->recorder, wrong, LAZE_I64, &wrong, p->error));
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_MUL, wrong, laze_scalar_integer(step), &wrong, p->error));
  return laze_compose_binary(p->recorder, LAZE_OP_ADD, *row, wrong, row, p->error);
}

/* The first row: ((2n - 1) - sqrt((2n - 1)^2 - 8k)) / 2 rounded down, which the root may miss by one. */
static laze_status find_first(const pairing *p, laze_value *out) {
  laze_value square, rest;
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_MUL, p->doubled, p->doubled, &square, p->error));
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_MUL, p->pair, laze_scalar_integer(8), &rest, p->error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_SUB, square, rest, &rest, p->error));
  LAZE_TRY(laze_compose_to(p->recorder, rest, LAZE_F64, &rest, p->error));
  LAZE_TRY(laze_compose_unary(p->recorder, LAZE_OP_SQRT, rest, &rest, p->error));
  LAZE_TRY(laze_compose_to(p->recorder, p->doubled, LAZE_F64, out, p->error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_SUB, *out, rest, out, p->error));
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_MUL, *out, laze_scalar_real(0.5), out, p->error));
  LAZE_TRY(laze_compose_to(p->recorder, *out, LAZE_I64, out, p->error));
  LAZE_TRY(correct(p, LAZE_OP_GT, 0, -1, out));
  return correct(p, LAZE_OP_LE, 1, 1, out);
}

static laze_status find_second(const pairing *p, laze_value first, laze_value *out) {
  laze_value start;
  LAZE_TRY(find_start(p, first, &start));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_SUB, p->pair, start, out, p->error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_ADD, *out, first, out, p->error));
  return laze_compose_with_number(p->recorder, LAZE_OP_ADD, *out, laze_scalar_integer(1), out, p->error);
}

static laze_status begin_pairs(laze_recorder *recorder, laze_size rows, pairing *out, laze_error *error) {
  laze_size less, count, doubled;
  *out = (pairing){.recorder = recorder, .error = error};
  LAZE_TRY(laze_size_arithmetic(recorder, '-', rows, 1, &less, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', rows, less, &count, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '/', count, 2, &count, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '+', rows, less, &doubled, error));
  LAZE_TRY(laze_compose_size(recorder, doubled, &out->doubled, error));
  return laze_compose_iota(recorder, &count, 1, 0, LAZE_I64, &out->pair, error);
}

static laze_status within_rows(laze_recorder *recorder, const laze_call *call, double p, laze_value *results,
                               laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_attribute dim = laze_attribute_integer(0);
  laze_value rows[2], operands[2] = {call->operands[0]};
  pairing pairs;
  if (type.rank != 2 || !laze_dtype_is_float((laze_dtype)type.dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self is %s with %d dims, expected a matrix of floats",
                     laze_compose_name(call), laze_dtype_name((laze_dtype)type.dtype), type.rank);
  LAZE_TRY(check_order(call, p, error));
  LAZE_TRY(begin_pairs(recorder, type.sizes[0], &pairs, error));
  LAZE_TRY(find_first(&pairs, &rows[0]));
  LAZE_TRY(find_second(&pairs, rows[0], &rows[1]));
  for (int i = 0; i < 2; i++) {
    operands[1] = rows[i];
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, &rows[i], error));
  }
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, rows[0], rows[1], &rows[0], error));
  return norm(recorder, rows[0], p, results, error);
}

laze_status laze_composite_pdist(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  return within_rows(recorder, call, call->attributes[LAZE_PDIST_P].value.real, results, error);
}

laze_status laze_composite__pdist_forward(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  return within_rows(recorder, call, call->attributes[LAZE__PDIST_FORWARD_P].value.real, results, error);
}
