/* Where values stand among others in order.
 *
 *   searchsorted   a range of places for each value, [0, n) at first, is halved until none is left:
 *
 *     low = 0, high = n           mid = low + (high - low) / 2
 *     sorted[mid] < value         low = mid + 1   (with right: sorted[mid] <= value)
 *     otherwise                   high = mid      and so on, as often as n has bits
 *
 *   isin           the element at that place is the value; of few others each is compared
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <string.h>

enum { FEW_ELEMENTS = 16 };

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_value sorted, values; /* of one dtype */
  laze_value sorter;         /* or LAZE_VALUE_NONE */
  bool right, narrow;        /* of equal ones behind the last; the result is i32 */
  bool nan_last;             /* a NaN among those in order is behind all, not in front of the value */
  laze_error *error;
} search;

static laze_status refuse_bool(const laze_call *call, laze_dtype dtype, laze_error *error) {
  if (dtype != LAZE_BOOL) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got bool, expected numbers: convert it with to(u8) first",
                   laze_compose_name(call));
}

static laze_status promote(search *s, bool is_number) {
  const laze_promoted_operand operands[] = {{.value = s->sorted}, {.value = s->values, .is_number = is_number}};
  laze_dtype dtype;
  LAZE_TRY(laze_promote_operands(s->recorder, operands, 2, &dtype, s->error));
  LAZE_TRY(refuse_bool(s->call, dtype, s->error));
  LAZE_TRY(laze_compose_to(s->recorder, s->sorted, dtype, &s->sorted, s->error));
  return laze_compose_to(s->recorder, s->values, dtype, &s->values, s->error);
}

/* Sequences side by side are for as many rows of values. */
static laze_status check_shapes(const search *s, bool is_number) {
  const laze_inference inference = {s->recorder->sizes, laze_compose_name(s->call), s->error};
  const laze_type sorted = laze_compose_type(s->recorder, s->sorted),
                  values = laze_compose_type(s->recorder, s->values);
  bool fits = sorted.rank == 1 || (!is_number && sorted.rank == values.rank && sorted.rank > 0);
  for (int i = 0; i < sorted.rank - 1 && fits; i++)
    LAZE_TRY(laze_size_must_equal(s->recorder, sorted.sizes[i], values.sizes[i], &fits, s->error));
  if (fits) return LAZE_OK;
  return laze_fail(s->error, LAZE_INVALID_ARGUMENT,
                   "%s: %s for values %s; expected a list, or a row for each row of the values",
                   inference.operator_name, laze_show(&inference, &sorted).text, laze_show(&inference, &values).text);
}

/* Rows in the order that the sorter gives. */
static laze_status apply_sorter(search *s) {
  const laze_inference inference = {s->recorder->sizes, laze_compose_name(s->call), s->error};
  const laze_type sorted = laze_compose_type(s->recorder, s->sorted);
  if (laze_value_is_none(s->sorter)) return LAZE_OK;
  const laze_type sorter = laze_compose_type(s->recorder, s->sorter);
  laze_attribute dim = laze_attribute_integer(-1);
  laze_value operands[] = {s->sorted, s->sorter};
  bool fits = sorter.rank == sorted.rank && sorter.dtype == LAZE_I64;
  for (int i = 0; i < sorted.rank && fits; i++)
    LAZE_TRY(laze_size_must_equal(s->recorder, sorted.sizes[i], sorter.sizes[i], &fits, s->error));
  if (fits) return laze_record_call(s->recorder, LAZE_OP_GATHER, operands, 2, &dim, &s->sorted, s->error);
  return laze_fail(s->error, LAZE_INVALID_ARGUMENT, "%s: sorter is %s, expected i64 with the sizes of %s",
                   inference.operator_name, laze_show(&inference, &sorter).text, laze_show(&inference, &sorted).text);
}

/* The elements of the sequences at `places`, which has the shape of the values. */
static laze_status look(const search *s, laze_value places, laze_value *out) {
  const laze_type sorted = laze_compose_type(s->recorder, s->sorted),
                  values = laze_compose_type(s->recorder, s->values);
  laze_attribute dim = laze_attribute_integer(-1);
  laze_value operands[] = {s->sorted, places};
  if (sorted.rank == values.rank && sorted.rank > 1)
    return laze_record_call(s->recorder, LAZE_OP_GATHER, operands, 2, &dim, out, s->error);
  laze_size elements;
  LAZE_TRY(laze_size_product(s->recorder->sizes, values.sizes, values.rank, &elements, s->error));
  LAZE_TRY(laze_compose_reshape(s->recorder, places, &elements, 1, &operands[1], s->error));
  LAZE_TRY(laze_record_call(s->recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, out, s->error));
  return laze_compose_reshape(s->recorder, *out, values.sizes, values.rank, out, s->error);
}

static laze_status choose(const search *s, laze_value condition, laze_value a, laze_value b, laze_value *out) {
  laze_value operands[] = {condition, a, b};
  return laze_record_call(s->recorder, LAZE_OP_WHERE_SELF, operands, 3, NULL, out, s->error);
}

/* Whether an element stands in front of the value: where it is not at least the value, so that a NaN is behind all. */
static laze_status is_before(const search *s, laze_value element, laze_value *out) {
  if (s->nan_last) return laze_compose_binary(s->recorder, LAZE_OP_LT, element, s->values, out, s->error);
  LAZE_TRY(laze_compose_binary(s->recorder, s->right ? LAZE_OP_GT : LAZE_OP_GE, element, s->values, out, s->error));
  return laze_compose_unary(s->recorder, LAZE_OP_LOGICAL_NOT, *out, out, s->error);
}

/* Halves the ranges that are not empty. */
static laze_status halve(const search *s, laze_value bounds[2]) {
  laze_recorder *recorder = s->recorder;
  laze_value left, half, middle, element, before, behind, above, narrowed[2];
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_LT, bounds[0], bounds[1], &left, s->error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, bounds[1], bounds[0], &half, s->error));
  LAZE_TRY(
      laze_compose_with_number(recorder, LAZE_OP_BITWISE_RIGHT_SHIFT, half, laze_scalar_integer(1), &half, s->error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, bounds[0], half, &middle, s->error));
  LAZE_TRY(laze_record_number(recorder, LAZE_I64, laze_scalar_integer(0), &above, s->error));
  LAZE_TRY(choose(s, left, middle, above, &middle)); /* an empty range may lie behind the last element */
  LAZE_TRY(look(s, middle, &element));
  LAZE_TRY(is_before(s, element, &before));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_ADD, middle, laze_scalar_integer(1), &above, s->error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_LOGICAL_AND, left, before, &behind, s->error));
  LAZE_TRY(choose(s, behind, above, bounds[0], &narrowed[0]));
  LAZE_TRY(choose(s, before, bounds[1], middle, &narrowed[1]));
  LAZE_TRY(choose(s, left, narrowed[1], bounds[1], &bounds[1]));
  bounds[0] = narrowed[0];
  return LAZE_OK;
}

static laze_status find_by_halves(const search *s, int64_t size, laze_value *out) {
  const laze_type values = laze_compose_type(s->recorder, s->values);
  laze_value bounds[2];
  for (int i = 0; i < 2; i++) {
    LAZE_TRY(laze_compose_full(s->recorder, LAZE_I64, laze_scalar_integer(i == 0 ? 0 : size), values.sizes, values.rank,
                               &bounds[i], s->error));
  }
  for (; size > 0; size /= 2) LAZE_TRY(halve(s, bounds));
  *out = bounds[0];
  return LAZE_OK;
}

/* How many elements stand in front of each value: what the search finds, however many there are. */
static laze_status find_by_count(const search *s, laze_value *out) {
  search each = *s;
  const int rank = laze_recorder_type(s->recorder, s->values)->rank;
  laze_size axis = rank;
  laze_attribute along[] = {laze_attribute_integers(&axis, 1), laze_attribute_boolean(false),
                            laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value element = s->sorted;
  LAZE_TRY(laze_compose_insert_axis(s->recorder, s->values, rank, &each.values, s->error));
  const int sorted = laze_recorder_type(s->recorder, element)->rank;
  if (sorted > 1) LAZE_TRY(laze_compose_insert_axis(s->recorder, element, sorted - 1, &element, s->error));
  LAZE_TRY(is_before(&each, element, out));
  return laze_record_call(s->recorder, LAZE_OP_SUM_DIM_INTLIST, out, 1, along, out, s->error);
}

static laze_status find(search *s, bool is_number, laze_value *out) {
  LAZE_TRY(promote(s, is_number));
  LAZE_TRY(check_shapes(s, is_number));
  LAZE_TRY(apply_sorter(s));
  const laze_type sorted = laze_compose_type(s->recorder, s->sorted);
  const laze_size size = sorted.sizes[sorted.rank - 1];
  LAZE_TRY(laze_size_is_constant(size) ? find_by_halves(s, size, out) : find_by_count(s, out));
  return s->narrow ? laze_compose_to(s->recorder, *out, LAZE_I32, out, s->error) : LAZE_OK;
}

/* `side` is another way to say `right`. */
static laze_status read_side(const laze_call *call, const laze_attribute *side, bool *right, laze_error *error) {
  if (!side->present) return LAZE_OK;
  const bool is_right = strcmp(side->value.string, "right") == 0;
  if (!is_right && (strcmp(side->value.string, "left") != 0 || *right))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: side is \"%.16s\" and right %s; expected \"left\" or \"right\", and the same of both",
                     laze_compose_name(call), side->value.string, *right ? "true" : "false");
  *right = is_right;
  return LAZE_OK;
}

static laze_status search_sorted(laze_recorder *recorder, const laze_call *call, bool is_number, laze_value *results,
                                 laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  search s = {.recorder = recorder,
              .call = call,
              .sorted = call->operands[0],
              .values = call->operands[1],
              .sorter = laze_call_operand(call, 2),
              .right = attributes[LAZE_SEARCHSORTED_RIGHT].value.integer != 0,
              .narrow = attributes[LAZE_SEARCHSORTED_OUT_INT32].value.integer != 0,
              .error = error};
  LAZE_TRY(read_side(call, &attributes[LAZE_SEARCHSORTED_SIDE], &s.right, error));
  return find(&s, is_number, results);
}

laze_status laze_composite_searchsorted(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return search_sorted(recorder, call, false, results, error);
}

/* The attributes of the one with a number stand where those of the other do. */
laze_status laze_composite_searchsorted_scalar(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  return search_sorted(recorder, call, true, results, error);
}

static laze_status find_bucket(laze_recorder *recorder, const laze_call *call, bool is_number, laze_value *results,
                               laze_error *error) {
  const int rank = laze_recorder_type(recorder, call->operands[1])->rank;
  search s = {.recorder = recorder,
              .call = call,
              .sorted = call->operands[1],
              .values = call->operands[0],
              .sorter = LAZE_VALUE_NONE,
              .right = call->attributes[LAZE_BUCKETIZE_RIGHT].value.integer != 0,
              .narrow = call->attributes[LAZE_BUCKETIZE_OUT_INT32].value.integer != 0,
              .error = error};
  if (rank != 1)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: boundaries has %d dims, expected a list",
                     laze_compose_name(call), rank);
  return find(&s, is_number, results);
}

laze_status laze_composite_bucketize(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  return find_bucket(recorder, call, false, results, error);
}

laze_status laze_composite_bucketize_scalar(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  return find_bucket(recorder, call, true, results, error);
}

/* Whether each value is among the others */

static laze_status compare_each(const search *s, laze_value *out) {
  laze_size axis = laze_recorder_type(s->recorder, s->values)->rank;
  laze_attribute along[] = {laze_attribute_integers(&axis, 1), laze_attribute_boolean(false)};
  laze_value value;
  LAZE_TRY(laze_compose_insert_axis(s->recorder, s->values, (int)axis, &value, s->error));
  LAZE_TRY(laze_compose_binary(s->recorder, LAZE_OP_EQ, value, s->sorted, out, s->error));
  return laze_record_call(s->recorder, LAZE_OP_ANY_DIMS, out, 1, along, out, s->error);
}

static laze_status compare_found(search *s, int64_t size, laze_value *out) {
  laze_attribute order[] = {laze_attribute_integer(0), laze_attribute_boolean(false)};
  laze_value sorted[2], element;
  LAZE_TRY(laze_record_call(s->recorder, LAZE_OP_SORT, &s->sorted, 1, order, sorted, s->error));
  s->sorted = sorted[0];
  LAZE_TRY(find_by_halves(s, size, out));
  LAZE_TRY(laze_compose_with_number(s->recorder, LAZE_OP_MINIMUM, *out, laze_scalar_integer(size - 1), out, s->error));
  LAZE_TRY(look(s, *out, &element));
  return laze_compose_binary(s->recorder, LAZE_OP_EQ, element, s->values, out, s->error);
}

static laze_status find_members(laze_recorder *recorder, const laze_call *call, int number, laze_value *results,
                                laze_error *error) {
  const laze_promoted_operand operands[] = {{.value = call->operands[0], .is_number = number == 0},
                                            {.value = call->operands[1], .is_number = number == 1}};
  laze_dtype dtype;
  const laze_type others = laze_compose_type(recorder, call->operands[1]);
  search s = {.recorder = recorder, .call = call, .nan_last = true, .error = error};
  laze_size size;
  LAZE_TRY(laze_promote_operands(recorder, operands, 2, &dtype, error));
  LAZE_TRY(refuse_bool(call, dtype, error));
  LAZE_TRY(laze_compose_to(recorder, call->operands[0], dtype, &s.values, error));
  LAZE_TRY(laze_compose_to(recorder, call->operands[1], dtype, &s.sorted, error));
  LAZE_TRY(laze_size_product(recorder->sizes, others.sizes, others.rank, &size, error));
  LAZE_TRY(laze_compose_reshape(recorder, s.sorted, &size, 1, &s.sorted, error));
  const bool many = laze_size_is_constant(size) && size > FEW_ELEMENTS;
  LAZE_TRY(many ? compare_found(&s, size, results) : compare_each(&s, results));
  if (call->attributes[LAZE_ISIN_TENSOR_TENSOR_INVERT].value.integer == 0) return LAZE_OK;
  return laze_compose_unary(recorder, LAZE_OP_LOGICAL_NOT, *results, results, error);
}

laze_status laze_composite_isin_tensor_tensor(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  return find_members(recorder, call, -1, results, error);
}

laze_status laze_composite_isin_tensor_scalar(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  return find_members(recorder, call, 1, results, error);
}

laze_status laze_composite_isin_scalar_tensor(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  return find_members(recorder, call, 0, results, error);
}
