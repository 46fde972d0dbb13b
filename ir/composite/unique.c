/* Each value once. Equal elements stand side by side in sorted order (and those of unique_consecutive do anyway), so
 * that a group starts where an element is not what stands before it; a NaN is nothing that stands before it.
 *
 *   self     [3, 1, 3]     sorted [1, 3, 3], from [1, 0, 2]
 *   starts   [true, true, false]     groups [0, 1, 1]
 *   places   of the starts: [0, 1], i64[u0]
 *     values    sorted[places]                     [1, 3]
 *     inverse   groups, back where they were       [1, 0, 1]
 *     counts    the next place, less this one      [1, 2]
 *
 * Slices along a dim are ordered by ranks: columns are ranked by themselves, and pairs of ranks become one key of the
 * next round, until there is one rank for each slice, equal where all elements are.
 *
 *   rows [b,x] [a,y] [b,x]     ranks [1,0] [0,1] [1,0]     keys 1*3+0, 0*3+1, 1*3+0     ranks 1, 0, 1
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

/* What a call is for, whatever its name. */
typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_value self;
  laze_type type;
  int axis;         /* -1: elements of all dims */
  laze_size length; /* of what is compared: elements, or slices along the axis */
  bool wants_inverse, wants_counts;
} uniqueness;

static laze_status expand_number(laze_recorder *recorder, laze_dtype dtype, const laze_size *sizes, int rank,
                                 laze_value *out, laze_error *error) {
  LAZE_TRY(laze_record_number(recorder, dtype, laze_scalar_integer(0), out, error));
  return laze_compose_expand(recorder, *out, sizes, rank, out, error);
}

static laze_status record_size(laze_recorder *recorder, laze_size size, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_size(size), laze_attribute_dtype(LAZE_I64)};
  return laze_record_call(recorder, LAZE_OP_SIZE_TENSOR, NULL, 0, attributes, out, error);
}

/* What stands before each element along axis 0; before the first, a number. */
static laze_status find_previous(laze_recorder *recorder, laze_value values, laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, values);
  laze_size first[LAZE_MAX_RANK] = {1}, length = type.sizes[0];
  laze_attribute dim = laze_attribute_integer(0);
  laze_value operands[2] = {[1] = values};
  for (int i = 1; i < type.rank; i++) first[i] = type.sizes[i];
  LAZE_TRY(expand_number(recorder, type.dtype, first, type.rank, &operands[0], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, operands, 2, &dim, out, error));
  return laze_compose_slice(recorder, *out, 0, 0, length, out, error);
}

/* Where a group starts along axis 0: bool, of the values' sizes. */
static laze_status find_starts(laze_recorder *recorder, laze_value values, laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, values);
  laze_value previous, index, first;
  LAZE_TRY(find_previous(recorder, values, &previous, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_NE, values, previous, out, error));
  LAZE_TRY(laze_compose_iota(recorder, type.sizes, type.rank, 0, LAZE_I64, &index, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_EQ, index, laze_scalar_integer(0), &first, error));
  return laze_compose_binary(recorder, LAZE_OP_LOGICAL_OR, *out, first, out, error);
}

/* The number of the group that each element is in. */
static laze_status find_groups(laze_recorder *recorder, laze_value starts, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_integer(0), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CUMSUM, &starts, 1, attributes, out, error));
  return laze_compose_with_number(recorder, LAZE_OP_SUB, *out, laze_scalar_integer(1), out, error);
}

/* Groups of elements in order, back where the elements came from. */
static laze_status find_ranks(laze_recorder *recorder, laze_value starts, laze_value order, laze_value *out,
                              laze_error *error) {
  laze_type type = laze_compose_type(recorder, order);
  laze_attribute dim = laze_attribute_integer(0);
  laze_value operands[3] = {[1] = order};
  LAZE_TRY(expand_number(recorder, LAZE_I64, type.sizes, type.rank, &operands[0], error));
  LAZE_TRY(find_groups(recorder, starts, &operands[2], error));
  return laze_record_call(recorder, LAZE_OP_SCATTER_SRC, operands, 3, &dim, out, error);
}

static laze_status sort(laze_recorder *recorder, laze_value values, laze_value sorted[2], laze_error *error) {
  laze_attribute order[] = {laze_attribute_integer(0), laze_attribute_boolean(false)};
  return laze_record_call(recorder, LAZE_OP_SORT, &values, 1, order, sorted, error);
}

/* The rank of each element in its column. */
static laze_status rank_columns(laze_recorder *recorder, laze_value *columns, laze_error *error) {
  laze_value sorted[2], starts;
  LAZE_TRY(sort(recorder, *columns, sorted, error));
  LAZE_TRY(find_starts(recorder, sorted[0], &starts, error));
  return find_ranks(recorder, starts, sorted[1], columns, error);
}

/* Pairs of columns as one: the first, times the number of rows, and the second. The last of an odd number has nothing
 * beside it. */
static laze_status join_columns(const uniqueness *u, laze_value *ranks, laze_size *count, laze_error *error) {
  laze_recorder *recorder = u->recorder;
  laze_size pairs = (*count + 1) / 2, shape[] = {u->length, pairs, 2}, column[] = {u->length, 1};
  laze_attribute dim = laze_attribute_integer(1);
  laze_value halves[2], operands[2] = {*ranks}, length;
  if (*count % 2 == 1) {
    LAZE_TRY(expand_number(recorder, LAZE_I64, column, 2, &operands[1], error));
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, operands, 2, &dim, ranks, error));
  }
  LAZE_TRY(laze_compose_reshape(recorder, *ranks, shape, 3, ranks, error));
  for (int i = 0; i < 2; i++) {
    LAZE_TRY(laze_compose_slice(recorder, *ranks, 2, i, i + 1, &halves[i], error));
    LAZE_TRY(laze_compose_drop_axis(recorder, halves[i], 2, &halves[i], error));
  }
  LAZE_TRY(record_size(recorder, u->length, &length, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, halves[0], length, ranks, error));
  *count = pairs;
  return laze_compose_binary(recorder, LAZE_OP_ADD, *ranks, halves[1], ranks, error);
}

/* The slices along the axis, one row for each. */
static laze_status find_rows(const uniqueness *u, laze_value *out, laze_size *columns, laze_error *error) {
  laze_size axes[LAZE_MAX_RANK] = {u->axis}, shape[2] = {u->length}, others[LAZE_MAX_RANK];
  int next = 1;
  for (int i = 0; i < u->type.rank; i++)
    if (i != u->axis) axes[next++] = i;
  for (int i = 1; i < u->type.rank; i++) others[i - 1] = u->type.sizes[axes[i]];
  LAZE_TRY(laze_size_product(u->recorder->sizes, others, u->type.rank - 1, columns, error));
  LAZE_TRY(laze_compose_permute(u->recorder, u->self, axes, u->type.rank, out, error));
  shape[1] = *columns;
  return laze_compose_reshape(u->recorder, *out, shape, 2, out, error);
}

/* One rank for each slice along the axis. */
static laze_status rank_rows(const uniqueness *u, laze_value *ranks, laze_error *error) {
  laze_size columns;
  LAZE_TRY(find_rows(u, ranks, &columns, error));
  if (!laze_size_is_constant(columns))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "%s: slices along dim %d have a number of elements that is not known when it is recorded; give "
                     "the other dims sizes that are numbers",
                     laze_compose_name(u->call), u->axis);
  LAZE_TRY(rank_columns(u->recorder, ranks, error));
  while (columns > 1) {
    LAZE_TRY(join_columns(u, ranks, &columns, error));
    LAZE_TRY(rank_columns(u->recorder, ranks, error));
  }
  return laze_compose_reshape(u->recorder, *ranks, &u->length, 1, ranks, error);
}

/* Where one of several elements of a row starts a group. */
static laze_status join_starts(laze_recorder *recorder, laze_value *starts, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_integer(1), laze_attribute_boolean(false)};
  return laze_record_call(recorder, LAZE_OP_ANY_DIM, starts, 1, attributes, starts, error);
}

/* How many elements each group has, by where it starts and the next does. */
static laze_status find_counts(const uniqueness *u, laze_value places, laze_value *out, laze_error *error) {
  laze_recorder *recorder = u->recorder;
  laze_size groups = laze_compose_type(recorder, places).sizes[0], one = 1, end;
  laze_attribute dim = laze_attribute_integer(0);
  laze_value operands[2] = {places}, next;
  LAZE_TRY(record_size(recorder, u->length, &operands[1], error));
  LAZE_TRY(laze_compose_reshape(recorder, operands[1], &one, 1, &operands[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, operands, 2, &dim, &next, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '+', groups, 1, &end, error));
  LAZE_TRY(laze_compose_slice(recorder, next, 0, 1, end, &next, error));
  return laze_compose_binary(recorder, LAZE_OP_SUB, next, places, out, error);
}

/* Groups that start at `starts`, of which `values` has elements or slices along `axis`, in order; `inverse` is the
 * group of each, or none. */
static laze_status finish(const uniqueness *u, laze_value values, int axis, laze_value starts, laze_value inverse,
                          laze_value *results, laze_error *error) {
  laze_recorder *recorder = u->recorder;
  laze_attribute dim = laze_attribute_integer(axis);
  laze_value operands[2] = {values};
  const laze_size none = 0;
  LAZE_TRY(laze_compose_places(recorder, starts, &operands[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, &results[0], error));
  if (!u->wants_inverse || !u->wants_counts)
    LAZE_TRY(laze_compose_iota(recorder, &none, 1, 0, LAZE_I64, &results[2], error));
  results[1] = results[2];
  if (u->wants_inverse) results[1] = inverse;
  if (u->wants_inverse && u->axis < 0)
    LAZE_TRY(laze_compose_reshape(recorder, inverse, u->type.sizes, u->type.rank, &results[1], error));
  return u->wants_counts ? find_counts(u, operands[1], &results[2], error) : LAZE_OK;
}

/* A dim that has no elements of its own is nothing to compare. */
static laze_status check_slices(const uniqueness *u, laze_error *error) {
  laze_size empty_axes = 0;
  char text[128];
  for (int i = 0; i < u->type.rank; i++) {
    bool empty = false;
    if (i != u->axis) LAZE_TRY(laze_size_may_equal(u->recorder, u->type.sizes[i], 0, &empty, error));
    empty_axes += empty;
  }
  if (empty_axes == 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: slices of %s along dim %d have no elements to compare",
                   laze_compose_name(u->call), laze_type_format(u->recorder->sizes, &u->type, text, sizeof text),
                   u->axis);
}

/* `dim`: NULL or absent for all elements. */
static laze_status describe(laze_recorder *recorder, const laze_call *call, const laze_attribute *dim, bool inverse,
                            bool counts, uniqueness *out, laze_error *error) {
  *out = (uniqueness){.recorder = recorder,
                      .call = call,
                      .self = call->operands[0],
                      .type = laze_compose_type(recorder, call->operands[0]),
                      .axis = -1,
                      .wants_inverse = inverse,
                      .wants_counts = counts};
  if (!dim || !dim->present)
    return laze_size_product(recorder->sizes, out->type.sizes, out->type.rank, &out->length, error);
  if (out->type.rank == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dim %lld of a tensor without dims; leave dim out",
                     laze_compose_name(call), (long long)dim->value.integer);
  LAZE_TRY(laze_compose_axis(recorder, call, dim->value.integer, out->type.rank, &out->axis, error));
  out->length = out->type.sizes[out->axis];
  return check_slices(out, error);
}

static laze_status find_unique(const uniqueness *u, laze_value *results, laze_error *error) {
  laze_value keys, sorted[2], starts, inverse = LAZE_VALUE_NONE;
  LAZE_TRY(u->axis < 0 ? laze_compose_reshape(u->recorder, u->self, &u->length, 1, &keys, error)
                       : rank_rows(u, &keys, error));
  LAZE_TRY(sort(u->recorder, keys, sorted, error));
  LAZE_TRY(find_starts(u->recorder, sorted[0], &starts, error));
  if (u->axis < 0) {
    if (u->wants_inverse) LAZE_TRY(find_ranks(u->recorder, starts, sorted[1], &inverse, error));
    return finish(u, sorted[0], 0, starts, inverse, results, error);
  }
  laze_attribute dim = laze_attribute_integer(u->axis);
  laze_value operands[2] = {u->self, sorted[1]};
  LAZE_TRY(laze_record_call(u->recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, &sorted[0], error));
  return finish(u, sorted[0], u->axis, starts, keys, results, error);
}

static laze_status find_consecutive(const uniqueness *u, laze_value *results, laze_error *error) {
  laze_value values, starts, inverse = LAZE_VALUE_NONE;
  laze_size columns;
  LAZE_TRY(u->axis < 0 ? laze_compose_reshape(u->recorder, u->self, &u->length, 1, &values, error)
                       : find_rows(u, &values, &columns, error));
  LAZE_TRY(find_starts(u->recorder, values, &starts, error));
  if (u->axis >= 0) LAZE_TRY(join_starts(u->recorder, &starts, error));
  if (u->wants_inverse) LAZE_TRY(find_groups(u->recorder, starts, &inverse, error));
  return finish(u, u->axis < 0 ? values : u->self, u->axis < 0 ? 0 : u->axis, starts, inverse, results, error);
}

laze_status laze_composite_unique(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  uniqueness u;
  LAZE_TRY(describe(recorder, call, &attributes[LAZE_UNIQUE_DIM], attributes[LAZE_UNIQUE_RETURN_INVERSE].value.integer,
                    attributes[LAZE_UNIQUE_RETURN_COUNTS].value.integer, &u, error));
  return find_unique(&u, results, error);
}

laze_status laze_composite__unique2(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  uniqueness u;
  LAZE_TRY(describe(recorder, call, NULL, attributes[LAZE__UNIQUE2_RETURN_INVERSE].value.integer,
                    attributes[LAZE__UNIQUE2_RETURN_COUNTS].value.integer, &u, error));
  return find_unique(&u, results, error);
}

laze_status laze_composite_unique_dim(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  uniqueness u;
  LAZE_TRY(describe(recorder, call, &attributes[LAZE_UNIQUE_DIM_DIM],
                    attributes[LAZE_UNIQUE_DIM_RETURN_INVERSE].value.integer,
                    attributes[LAZE_UNIQUE_DIM_RETURN_COUNTS].value.integer, &u, error));
  return find_unique(&u, results, error);
}

laze_status laze_composite_unique_consecutive(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  uniqueness u;
  LAZE_TRY(describe(recorder, call, &attributes[LAZE_UNIQUE_CONSECUTIVE_DIM],
                    attributes[LAZE_UNIQUE_CONSECUTIVE_RETURN_INVERSE].value.integer,
                    attributes[LAZE_UNIQUE_CONSECUTIVE_RETURN_COUNTS].value.integer, &u, error));
  return find_consecutive(&u, results, error);
}
