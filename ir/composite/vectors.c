/* Products of vectors and of all pairs of elements.
 *
 *   outer   [n, 1] * [m]                     kron    [n, 1, m, 1] * [1, p, 1, q], as [n * p, m * q]
 *   vecdot  the sum of x * y over one dim    cross   a[i + 1] * b[i + 2] - a[i + 2] * b[i + 1] for i of 0 1 2
 *   bilinear   ([b, i] mm [i, o * j] as [b, o, j]) bmm [b, j, 1]
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

static laze_status refuse(laze_recorder *recorder, const laze_call *call, const char *expected, laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_type a = laze_compose_type(recorder, call->operands[0]),
                  b = laze_compose_type(recorder, call->operands[1]);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %s and %s; expected %s", inference.operator_name,
                   laze_show(&inference, &a).text, laze_show(&inference, &b).text, expected);
}

laze_status laze_composite_outer(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  laze_value column;
  if (laze_recorder_type(recorder, call->operands[0])->rank != 1 ||
      laze_recorder_type(recorder, call->operands[1])->rank != 1)
    return refuse(recorder, call, "two vectors", error);
  LAZE_TRY(laze_compose_insert_axis(recorder, call->operands[0], 1, &column, error));
  return laze_compose_binary(recorder, LAZE_OP_MUL, column, call->operands[1], results, error);
}

laze_status laze_composite_linalg_vecdot(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_dtype a = (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype,
                   b = (laze_dtype)laze_recorder_type(recorder, call->operands[1])->dtype;
  laze_size dim = call->attributes[LAZE_LINALG_VECDOT_DIM].value.integer;
  laze_attribute along[] = {laze_attribute_integers(&dim, 1), laze_attribute_boolean(false),
                            laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value product;
  if (a != b || !laze_dtype_is_inexact(a))
    return refuse(recorder, call, "floats or complex numbers of one dtype", error);
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_CONJ, call->operands[0], &product, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, product, call->operands[1], &product, error));
  return laze_record_call(recorder, LAZE_OP_SUM_DIM_INTLIST, &product, 1, along, results, error);
}

/* Both with as many axes, their own beside one of size 1 each: `side` is where its own goes. */
static laze_status spread(laze_recorder *recorder, laze_value value, int rank, int side, laze_value *out,
                          laze_error *error) {
  const laze_type type = laze_compose_type(recorder, value);
  laze_size sizes[LAZE_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    const int axis = i - (rank - type.rank);
    sizes[2 * i + side] = axis < 0 ? 1 : type.sizes[axis];
    sizes[2 * i + 1 - side] = 1;
  }
  return laze_compose_reshape(recorder, value, sizes, 2 * rank, out, error);
}

laze_status laze_composite_kron(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  const int ranks[] = {laze_recorder_type(recorder, call->operands[0])->rank,
                       laze_recorder_type(recorder, call->operands[1])->rank};
  const int rank = ranks[0] > ranks[1] ? ranks[0] : ranks[1];
  laze_size sizes[LAZE_MAX_RANK];
  laze_value factors[2];
  if (2 * rank > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: operands have %d dims, at most %d are supported",
                     laze_compose_name(call), rank, LAZE_MAX_RANK / 2);
  for (int i = 0; i < 2; i++) LAZE_TRY(spread(recorder, call->operands[i], rank, i, &factors[i], error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, factors[0], factors[1], results, error));
  const laze_type type = laze_compose_type(recorder, *results);
  for (int i = 0; i < rank; i++) LAZE_TRY(laze_size_product(recorder->sizes, type.sizes + 2 * i, 2, &sizes[i], error));
  return laze_compose_reshape(recorder, *results, sizes, rank, results, error);
}

/* Element `index` of the three along an axis. */
static laze_status component(laze_recorder *recorder, laze_value value, int axis, int index, laze_value *out,
                             laze_error *error) {
  return laze_compose_slice(recorder, value, axis, index % 3, index % 3 + 1, out, error);
}

static laze_status cross_along(laze_recorder *recorder, const laze_value operands[2], int axis, laze_value *out,
                               laze_error *error) {
  laze_attribute dim = laze_attribute_integer(axis);
  laze_value parts[3];
  for (int i = 0; i < 3; i++) {
    laze_value products[2];
    for (int j = 0; j < 2; j++) {
      laze_value a, b;
      LAZE_TRY(component(recorder, operands[0], axis, i + 1 + j, &a, error));
      LAZE_TRY(component(recorder, operands[1], axis, i + 2 - j, &b, error));
      LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, a, b, &products[j], error));
    }
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, products[0], products[1], &parts[i], error));
  }
  return laze_record_call(recorder, LAZE_OP_CAT, parts, 3, &dim, out, error);
}

static laze_status cross(laze_recorder *recorder, const laze_call *call, int64_t dim, laze_value *results,
                         laze_error *error) {
  const laze_type a = laze_compose_type(recorder, call->operands[0]),
                  b = laze_compose_type(recorder, call->operands[1]);
  bool fits = a.rank == b.rank && a.rank > 0;
  int axis = 0;
  if (fits) LAZE_TRY(laze_compose_axis(recorder, call, dim, a.rank, &axis, error));
  if (fits) LAZE_TRY(laze_size_must_equal(recorder, a.sizes[axis], 3, &fits, error));
  if (fits) LAZE_TRY(laze_size_must_equal(recorder, b.sizes[axis], 3, &fits, error));
  if (!fits) return refuse(recorder, call, "as many dims, and 3 elements along the one that the vectors lie in", error);
  return cross_along(recorder, call->operands, axis, results, error);
}

laze_status laze_composite_linalg_cross(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return cross(recorder, call, call->attributes[LAZE_LINALG_CROSS_DIM].value.integer, results, error);
}

/* Without dim, the first that has 3 elements. */
laze_status laze_composite_cross(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  const laze_attribute *dim = &call->attributes[LAZE_CROSS_DIM];
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  int64_t first = 0;
  if (dim->present) return cross(recorder, call, dim->value.integer, results, error);
  while (first < type.rank && type.sizes[first] != 3) first++;
  if (first == type.rank) return refuse(recorder, call, "a dim of 3 elements, or its number as dim", error);
  return cross(recorder, call, first, results, error);
}

/* The axes in front of the last as one. */
static laze_status join_rows(laze_recorder *recorder, laze_value value, laze_size *rows, laze_value *out,
                             laze_error *error) {
  const laze_type type = laze_compose_type(recorder, value);
  laze_size sizes[2] = {0, type.sizes[type.rank - 1]};
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, type.rank - 1, &sizes[0], error));
  *rows = sizes[0];
  return laze_compose_reshape(recorder, value, sizes, 2, out, error);
}

static laze_status check_bilinear(laze_recorder *recorder, const laze_call *call, const laze_type types[3],
                                  laze_error *error) {
  bool fits = types[0].rank > 0 && types[0].rank == types[1].rank && types[2].rank == 3;
  for (int i = 0; i < types[0].rank - 1 && fits; i++)
    LAZE_TRY(laze_size_must_equal(recorder, types[0].sizes[i], types[1].sizes[i], &fits, error));
  for (int i = 0; i < 2 && fits; i++)
    LAZE_TRY(laze_size_must_equal(recorder, types[i].sizes[types[i].rank - 1], types[2].sizes[i + 1], &fits, error));
  if (fits) return LAZE_OK;
  return refuse(recorder, call, "equal sizes but the last, and those in the weight, which has three dims", error);
}

laze_status laze_composite_bilinear(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  static const laze_size order[] = {1, 0, 2};
  laze_type types[3];
  laze_value rows[2], weight, bias = laze_call_operand(call, 3);
  laze_size count, sizes[3];
  for (int i = 0; i < 3; i++) types[i] = laze_compose_type(recorder, call->operands[i]);
  LAZE_TRY(check_bilinear(recorder, call, types, error));
  for (int i = 0; i < 2; i++) LAZE_TRY(join_rows(recorder, call->operands[i], &count, &rows[i], error));
  LAZE_TRY(laze_compose_permute(recorder, call->operands[2], order, 3, &weight, error));
  sizes[0] = types[2].sizes[1];
  LAZE_TRY(laze_size_arithmetic(recorder, '*', types[2].sizes[0], types[2].sizes[2], &sizes[1], error));
  LAZE_TRY(laze_compose_reshape(recorder, weight, sizes, 2, &weight, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MM, rows[0], weight, &rows[0], error));
  sizes[0] = count;
  sizes[1] = types[2].sizes[0];
  sizes[2] = types[2].sizes[2];
  LAZE_TRY(laze_compose_reshape(recorder, rows[0], sizes, 3, &rows[0], error));
  LAZE_TRY(laze_compose_insert_axis(recorder, rows[1], 2, &rows[1], error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_BMM, rows[0], rows[1], results, error));
  types[0].sizes[types[0].rank - 1] = types[2].sizes[0];
  LAZE_TRY(laze_compose_reshape(recorder, *results, types[0].sizes, types[0].rank, results, error));
  if (laze_value_is_none(bias)) return LAZE_OK;
  return laze_compose_binary(recorder, LAZE_OP_ADD, *results, bias, results, error);
}
