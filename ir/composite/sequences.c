/* Sequences and what is computed of neighbours in them.
 *
 *   trapezoid    the sum over (y[i] + y[i+1]) / 2 * (x[i+1] - x[i])
 *   vander       1, then the running product of x
 *   tril_indices constants: they depend on nothing but numbers that the call has
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

/* Slices without the last (side 0) or the first element of an axis. */
static laze_status neighbours(laze_recorder *recorder, laze_value self, int axis, int side, laze_value *out,
                              laze_error *error) {
  const laze_size size = laze_recorder_type(recorder, self)->sizes[axis];
  laze_size count;
  LAZE_TRY(laze_size_arithmetic(recorder, '-', size, 1, &count, error));
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MAX, count, 0, &count, error));
  if (side == 0) return laze_compose_slice(recorder, self, axis, 0, count, out, error);
  LAZE_TRY(laze_size_arithmetic(recorder, '-', size, count, &count, error));
  return laze_compose_slice(recorder, self, axis, count, size, out, error);
}

/* What an operator makes of each element behind the first (second operand first) and the one in front of it. */
static laze_status of_neighbours(laze_recorder *recorder, laze_op op, laze_value self, int axis, laze_value *out,
                                 laze_error *error) {
  laze_value pair[2];
  LAZE_TRY(neighbours(recorder, self, axis, 1, &pair[0], error));
  LAZE_TRY(neighbours(recorder, self, axis, 0, &pair[1], error));
  return laze_compose_binary(recorder, op, pair[0], pair[1], out, error);
}

laze_status laze_composite_diff(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_op op = type.dtype == LAZE_BOOL ? LAZE_OP_LOGICAL_XOR : LAZE_OP_SUB;
  const laze_value before = laze_call_operand(call, 1), behind = laze_call_operand(call, 2);
  int64_t times = call->attributes[LAZE_DIFF_N].value.integer;
  laze_attribute dim;
  laze_value parts[3];
  int32_t count = 0;
  int axis;
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_DIFF_DIM].value.integer, type.rank, &axis, error));
  if (type.rank == 0 || times < 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: n is %lld for a tensor of %d dims; expected 0 or more of both, "
                     "and a dim",
                     laze_compose_name(call), (long long)times, type.rank);
  if (!laze_value_is_none(before)) parts[count++] = before;
  parts[count++] = call->operands[0];
  if (!laze_value_is_none(behind)) parts[count++] = behind;
  dim = laze_attribute_integer(axis);
  *results = call->operands[0];
  if (count > 1 && times > 0) LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, parts, count, &dim, results, error));
  for (; times > 0; times--) {
    const laze_size size = laze_recorder_type(recorder, *results)->sizes[axis];
    if (size == 0) break;
    if (times > LAZE_MAX_LISTED && !laze_size_is_constant(size))
      return laze_fail(error, LAZE_UNSUPPORTED, "%s: n is %lld for a size that is not known; pass at most %d",
                       laze_compose_name(call), (long long)times, LAZE_MAX_LISTED);
    LAZE_TRY(of_neighbours(recorder, op, *results, axis, results, error));
  }
  return LAZE_OK;
}

/* y, its axis, and where they are given, the places x with as many axes as y. */
typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_value y;
  int axis;
} area;

static laze_status begin_area(laze_recorder *recorder, const laze_call *call, int64_t dim, area *out,
                              laze_error *error) {
  *out = (area){.recorder = recorder, .call = call, .y = call->operands[0]};
  const laze_type type = laze_compose_type(recorder, out->y);
  if (type.rank == 0 || type.dtype == LAZE_BOOL)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: y is %s with %d dims; expected numbers along one at least",
                     laze_compose_name(call), laze_dtype_name((laze_dtype)type.dtype), type.rank);
  return laze_compose_axis(recorder, call, dim, type.rank, &out->axis, error);
}

/* The distances between places: a list lies along the axis, others have axes of 1 in front. */
static laze_status find_distances(const area *a, laze_value *out, laze_error *error) {
  const laze_type y = laze_compose_type(a->recorder, a->y), x = laze_compose_type(a->recorder, a->call->operands[1]);
  laze_size sizes[LAZE_MAX_RANK];
  bool fits = x.dtype != LAZE_BOOL && x.rank > 0;
  *out = a->call->operands[1];
  if (x.rank == 1 && fits) LAZE_TRY(laze_size_must_equal(a->recorder, x.sizes[0], y.sizes[a->axis], &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: x must be numbers, and a list of them as long as y along dim %d", laze_compose_name(a->call),
                     a->axis);
  const int added = y.rank > x.rank ? y.rank - x.rank : 0;
  for (int i = 0; i < y.rank; i++) {
    if (x.rank == 1) sizes[i] = i == a->axis ? x.sizes[0] : 1;
    if (x.rank != 1) sizes[i] = i < added ? 1 : x.sizes[i - added];
  }
  if (added > 0) LAZE_TRY(laze_compose_reshape(a->recorder, *out, sizes, y.rank, out, error));
  const int axis = a->axis + (x.rank > y.rank ? x.rank - y.rank : 0);
  return of_neighbours(a->recorder, LAZE_OP_SUB, *out, axis < laze_recorder_type(a->recorder, *out)->rank ? axis : 0,
                       out, error);
}

static laze_status add_up(const area *a, laze_value self, laze_value *out, laze_error *error) {
  laze_size axis = a->axis;
  laze_attribute attributes[] = {laze_attribute_integers(&axis, 1), laze_attribute_boolean(false),
                                 laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  return laze_record_call(a->recorder, LAZE_OP_SUM_DIM_INTLIST, &self, 1, attributes, out, error);
}

/* Of nothing the area is 0. */
static laze_status is_empty(const area *a, bool *out, laze_error *error) {
  return laze_size_may_equal(a->recorder, laze_recorder_type(a->recorder, a->y)->sizes[a->axis], 0, out, error);
}

static laze_status no_area(const area *a, laze_value *out, laze_error *error) {
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(a->recorder, a->y)->dtype;
  LAZE_TRY(add_up(a, a->y, out, error));
  return laze_compose_to(a->recorder, *out, dtype, out, error);
}

static laze_status scale(laze_recorder *recorder, laze_value *value, double number, laze_error *error) {
  laze_value factor;
  laze_type type = laze_compose_type(recorder, *value);
  const laze_dtype dtype = laze_float_dtype((laze_dtype)type.dtype);
  LAZE_TRY(laze_record_number(recorder, dtype, laze_scalar_real(number), &factor, error));
  return laze_compose_binary(recorder, LAZE_OP_MUL, *value, factor, value, error);
}

laze_status laze_composite_trapezoid_x(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  laze_value sums, distances;
  bool empty;
  area a;
  LAZE_TRY(begin_area(recorder, call, call->attributes[LAZE_TRAPEZOID_X_DIM].value.integer, &a, error));
  LAZE_TRY(is_empty(&a, &empty, error));
  if (empty) return no_area(&a, results, error);
  LAZE_TRY(find_distances(&a, &distances, error));
  LAZE_TRY(of_neighbours(recorder, LAZE_OP_ADD, a.y, a.axis, &sums, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, sums, distances, results, error));
  LAZE_TRY(add_up(&a, *results, results, error));
  return scale(recorder, results, 0.5, error);
}

laze_status laze_composite_cumulative_trapezoid_x(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                  laze_error *error) {
  laze_value sums, distances;
  area a;
  LAZE_TRY(begin_area(recorder, call, call->attributes[LAZE_CUMULATIVE_TRAPEZOID_X_DIM].value.integer, &a, error));
  laze_attribute attributes[] = {laze_attribute_integer(a.axis), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  LAZE_TRY(find_distances(&a, &distances, error));
  LAZE_TRY(of_neighbours(recorder, LAZE_OP_ADD, a.y, a.axis, &sums, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, sums, distances, results, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CUMSUM, results, 1, attributes, results, error));
  return scale(recorder, results, 0.5, error);
}

static laze_status read_distance(const laze_call *call, laze_scalar given, double *out, laze_error *error) {
  *out = laze_scalar_as_real(given);
  if (given.dtype != LAZE_BOOL) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dx is a bool, expected a number", laze_compose_name(call));
}

/* Each element counts once, but the first and the last half. */
laze_status laze_composite_trapezoid_dx(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  laze_value ends[2];
  double dx;
  bool empty;
  area a;
  LAZE_TRY(begin_area(recorder, call, call->attributes[LAZE_TRAPEZOID_DX_DIM].value.integer, &a, error));
  LAZE_TRY(read_distance(call, call->attributes[LAZE_TRAPEZOID_DX_DX].value.literal, &dx, error));
  LAZE_TRY(is_empty(&a, &empty, error));
  if (empty) return no_area(&a, results, error);
  for (int i = 0; i < 2; i++) {
    laze_attribute at[] = {laze_attribute_integer(a.axis), laze_attribute_size(-i)};
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_SELECT_INT, &a.y, 1, at, &ends[i], error));
  }
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, ends[0], ends[1], &ends[0], error));
  LAZE_TRY(scale(recorder, &ends[0], 0.5, error));
  LAZE_TRY(add_up(&a, a.y, results, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, *results, ends[0], results, error));
  return scale(recorder, results, dx, error);
}

laze_status laze_composite_cumulative_trapezoid_dx(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  double dx;
  area a;
  LAZE_TRY(begin_area(recorder, call, call->attributes[LAZE_CUMULATIVE_TRAPEZOID_DX_DIM].value.integer, &a, error));
  LAZE_TRY(read_distance(call, call->attributes[LAZE_CUMULATIVE_TRAPEZOID_DX_DX].value.literal, &dx, error));
  laze_attribute attributes[] = {laze_attribute_integer(a.axis), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  LAZE_TRY(of_neighbours(recorder, LAZE_OP_ADD, a.y, a.axis, results, error));
  LAZE_TRY(scale(recorder, results, dx / 2, error));
  return laze_record_call(recorder, LAZE_OP_CUMSUM, results, 1, attributes, results, error);
}

/* [.., n] to [.., n, powers], from the power 0 on; in integers as wide as products are. */
static laze_status powers(laze_recorder *recorder, laze_value x, laze_size count, laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, x);
  laze_value parts[2];
  laze_size more;
  bool several;
  const int last = type.rank;
  laze_attribute product[] = {laze_attribute_integer(last), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  LAZE_TRY(laze_size_arithmetic(recorder, '-', count, 1, &more, error));
  type.rank++;
  type.sizes[last] = 1;
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)type.dtype, laze_scalar_integer(1), &parts[0], error));
  LAZE_TRY(laze_compose_expand(recorder, parts[0], type.sizes, type.rank, &parts[0], error));
  LAZE_TRY(laze_compose_insert_axis(recorder, x, last, &parts[1], error));
  LAZE_TRY(laze_size_must_be_at_most(recorder, 0, more, &several, error));
  type.sizes[last] = several ? more : 0;
  LAZE_TRY(laze_compose_expand(recorder, parts[1], type.sizes, type.rank, &parts[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CUMPROD, &parts[1], 1, product, &parts[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, parts, 2, product, out, error));
  return several ? LAZE_OK : laze_compose_slice(recorder, *out, last, 0, 0, out, error);
}

laze_status laze_composite_vander(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  const laze_attribute *count = &call->attributes[LAZE_VANDER_N];
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_size axis = 1;
  laze_attribute dims = laze_attribute_integers(&axis, 1);
  if (type.rank != 1 || (count->present && (count->value.integer < 0 || count->value.integer > LAZE_MAX_ELEMENTS)))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got a tensor of %d dims, or a number below 0; expected a list",
                     laze_compose_name(call), type.rank);
  LAZE_TRY(powers(recorder, call->operands[0], count->present ? count->value.integer : type.sizes[0], results, error));
  if (call->attributes[LAZE_VANDER_INCREASING].value.integer) return LAZE_OK;
  return laze_record_call(recorder, LAZE_OP_FLIP, results, 1, &dims, results, error);
}

laze_status laze_composite_linalg_vander(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_attribute *count = &call->attributes[LAZE_LINALG_VANDER_N];
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_value x = call->operands[0];
  bool fits = type.rank < LAZE_MAX_RANK && type.dtype != LAZE_BOOL;
  if (fits && count->present) LAZE_TRY(laze_size_must_be_at_most(recorder, 2, count->value.size, &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: expected numbers, and N of 2 or more", laze_compose_name(call));
  if (type.rank == 0) LAZE_TRY(laze_compose_insert_axis(recorder, x, 0, &x, error));
  const laze_size own = type.rank == 0 ? 1 : type.sizes[type.rank - 1];
  return powers(recorder, x, count->present ? count->value.size : own, results, error);
}

laze_status laze_composite_logspace(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  const laze_attribute *dtype = &call->attributes[LAZE_LOGSPACE_DTYPE];
  const laze_dtype wanted = dtype->present ? (laze_dtype)dtype->value.integer : LAZE_F32;
  laze_attribute attributes[] = {call->attributes[LAZE_LOGSPACE_START], call->attributes[LAZE_LOGSPACE_END],
                                 call->attributes[LAZE_LOGSPACE_STEPS], laze_attribute_dtype(LAZE_F64)};
  laze_value base;
  const bool complex = laze_dtype_is_complex(wanted);
  if (complex) attributes[3] = laze_attribute_dtype(LAZE_C128);
  if (!complex && !laze_dtype_is_float(wanted)) /* both ends are whole numbers then */
    for (int i = 0; i < 2; i++)
      attributes[i].value.literal = laze_scalar_real(trunc(laze_scalar_as_real(attributes[i].value.literal)));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_LINSPACE, NULL, 0, attributes, results, error));
  LAZE_TRY(laze_record_number(recorder, LAZE_F64, laze_scalar_real(call->attributes[LAZE_LOGSPACE_BASE].value.real),
                              &base, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_POW_TENSOR_TENSOR, base, *results, results, error));
  return laze_compose_to(recorder, *results, wanted, results, error);
}
