/* An axis at a smaller size without what that size cannot show: each element the mean of all that lie under a curve as
 * wide as the elements of the result are apart.
 *
 *   weights[i, k] = curve((k + 0.5 - middle of i) / width), over their sum        width: at least 1 element
 *   result[.., i, ..] = the sum over k of self[.., k, ..] * weights[i, k], where that is not 0
 */
#include "ir/composite/resampling.h"

#include "ir/composite/support.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  laze_dtype dtype;
  laze_error *error;
} antialias;

static laze_status with_number(const antialias *a, laze_op op, laze_value value, double number, laze_value *out) {
  return laze_compose_with_number(a->recorder, op, value, laze_scalar_real(number), out, a->error);
}

static laze_status binary(const antialias *a, laze_op op, laze_value x, laze_value y, laze_value *out) {
  return laze_compose_binary(a->recorder, op, x, y, out, a->error);
}

/* Where each element of the result has its middle in self, over the width of the curve: [out, 1] - [in]. */
static laze_status find_distances(const antialias *a, laze_size size, laze_size to, laze_value step, laze_value *out) {
  const laze_size column[] = {to, 1};
  laze_value middles, width;
  LAZE_TRY(laze_compose_iota(a->recorder, column, 2, 0, a->dtype, &middles, a->error));
  LAZE_TRY(with_number(a, LAZE_OP_ADD, middles, 0.5, &middles));
  LAZE_TRY(binary(a, LAZE_OP_MUL, middles, step, &middles));
  LAZE_TRY(laze_compose_iota(a->recorder, &size, 1, 0, a->dtype, out, a->error));
  LAZE_TRY(with_number(a, LAZE_OP_ADD, *out, 0.5, out));
  LAZE_TRY(binary(a, LAZE_OP_SUB, *out, middles, out));
  LAZE_TRY(with_number(a, LAZE_OP_MAXIMUM, step, 1, &width));
  LAZE_TRY(binary(a, LAZE_OP_DIV, *out, width, out));
  return laze_compose_unary(a->recorder, LAZE_OP_ABS, *out, out, a->error);
}

/* 1 - x, up to x = 1. */
static laze_status line(const antialias *a, laze_value x, laze_value *out) {
  LAZE_TRY(laze_compose_unary(a->recorder, LAZE_OP_NEG, x, out, a->error));
  LAZE_TRY(with_number(a, LAZE_OP_ADD, *out, 1, out));
  return with_number(a, LAZE_OP_MAXIMUM, *out, 0, out);
}

/* Two cubic pieces, up to x = 1 and to x = 2. */
static laze_status curve(const antialias *a, laze_value x, laze_value *out) {
  static const double near[] = {1.5, -2.5, 0, 1}, far[] = {-0.5, 2.5, -4, 2};
  laze_value chosen[3];
  LAZE_TRY(laze_record_number(a->recorder, a->dtype, laze_scalar_integer(0), &chosen[2], a->error));
  LAZE_TRY(with_number(a, LAZE_OP_LT, x, 2, &chosen[0]));
  LAZE_TRY(laze_compose_polynomial(a->recorder, x, far, 4, &chosen[1], a->error));
  LAZE_TRY(laze_record_call(a->recorder, LAZE_OP_WHERE_SELF, chosen, 3, NULL, &chosen[2], a->error));
  LAZE_TRY(with_number(a, LAZE_OP_LT, x, 1, &chosen[0]));
  LAZE_TRY(laze_compose_polynomial(a->recorder, x, near, 4, &chosen[1], a->error));
  return laze_record_call(a->recorder, LAZE_OP_WHERE_SELF, chosen, 3, NULL, out, a->error);
}

static laze_status sum_over(const antialias *a, laze_value value, int axis, bool keep, laze_value *out) {
  const laze_size axes[] = {axis};
  laze_attribute attributes[] = {laze_attribute_integers(axes, 1), laze_attribute_boolean(keep),
                                 laze_attribute_dtype(a->dtype)};
  return laze_record_call(a->recorder, LAZE_OP_SUM_DIM_INTLIST, &value, 1, attributes, out, a->error);
}

/* [.., in, ..] as [.., 1, in, ..] times [out, in, 1 ..]. */
static laze_status weigh(const antialias *a, laze_value weights, int axis, laze_value *value) {
  const laze_type type = laze_compose_type(a->recorder, *value), table = laze_compose_type(a->recorder, weights);
  laze_size sizes[LAZE_MAX_RANK] = {table.sizes[0], table.sizes[1]};
  laze_value chosen[3], zero;
  int rank = 2;
  for (int i = axis + 1; i < type.rank; i++) sizes[rank++] = 1;
  LAZE_TRY(laze_compose_reshape(a->recorder, weights, sizes, rank, &weights, a->error));
  LAZE_TRY(laze_compose_insert_axis(a->recorder, *value, axis, value, a->error));
  LAZE_TRY(laze_record_number(a->recorder, a->dtype, laze_scalar_integer(0), &zero, a->error));
  LAZE_TRY(binary(a, LAZE_OP_NE, weights, zero, &chosen[0]));
  LAZE_TRY(binary(a, LAZE_OP_MUL, *value, weights, &chosen[1]));
  chosen[2] = zero;
  LAZE_TRY(laze_record_call(a->recorder, LAZE_OP_WHERE_SELF, chosen, 3, NULL, value, a->error));
  return sum_over(a, *value, axis + 1, false, value);
}

laze_status laze_compose_antialiased(laze_recorder *recorder, bool cubic, int axis, laze_size to, laze_value step,
                                     laze_value *value, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, *value);
  const antialias a = {recorder, (laze_dtype)type.dtype, error};
  laze_value distances, weights, sum;
  LAZE_TRY(find_distances(&a, type.sizes[axis], to, step, &distances));
  LAZE_TRY(cubic ? curve(&a, distances, &weights) : line(&a, distances, &weights));
  LAZE_TRY(sum_over(&a, weights, 1, true, &sum));
  LAZE_TRY(binary(&a, LAZE_OP_DIV, weights, sum, &weights));
  return weigh(&a, weights, axis, value);
}
