/* Rows of a table, taken together by bags that lie behind each other:
 *
 *   indices 4 1 | 3 | 3 0 2     offsets 0 2 3      where each bag begins
 *   bags    0 0 | 1 | 2 2 2                        how many bags have begun, less 1
 *
 * so that a bag's sum is index_add of the rows that the indices name. Indices that are padding count for nothing. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

enum { SUM, MEAN, LARGEST };

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_type weight;
  laze_size count, bags;
  laze_value indices, offsets, numbers; /* i64; `numbers`: the bag of each index */
  laze_value rows, kept;                /* `kept`: bool[count], or LAZE_VALUE_NONE where there is no padding */
  laze_error *error;
} bagging;

static const laze_attribute *argument(const bagging *b, const char *name) {
  return &b->call->attributes[laze_op_argument(laze_op_get(b->call->op), name)->position];
}

static laze_status read_list(const bagging *b, int position, const char *name, laze_value *out) {
  const laze_type type = laze_compose_type(b->recorder, b->call->operands[position]);
  if (type.rank == 1 && laze_dtype_is_index((laze_dtype)type.dtype))
    return laze_compose_to(b->recorder, b->call->operands[position], LAZE_I64, out, b->error);
  return laze_fail(b->error, LAZE_INVALID_ARGUMENT, "%s: %s is %s with %d dims, expected a list of %s",
                   laze_compose_name(b->call), name, laze_dtype_name((laze_dtype)type.dtype), type.rank,
                   laze_dtype_list(laze_dtype_index_set(), LAZE_NAME_SHORT, " or ").text);
}

/* With include_last_offset, the last offset is the end of the last bag. */
static laze_status read_offsets(bagging *b) {
  bool any;
  LAZE_TRY(read_list(b, 2, "offsets", &b->offsets));
  b->bags = laze_recorder_type(b->recorder, b->offsets)->sizes[0];
  if (argument(b, "include_last_offset")->value.integer == 0) return LAZE_OK;
  LAZE_TRY(laze_size_must_be_at_most(b->recorder, 1, b->bags, &any, b->error));
  if (!any)
    return laze_fail(b->error, LAZE_INVALID_ARGUMENT, "%s: offsets is empty, expected the end of the last bag at least",
                     laze_compose_name(b->call));
  LAZE_TRY(laze_size_arithmetic(b->recorder, '-', b->bags, 1, &b->bags, b->error));
  return laze_compose_slice(b->recorder, b->offsets, 0, 0, b->bags, &b->offsets, b->error);
}

static laze_status full(const bagging *b, laze_dtype dtype, laze_scalar number, const laze_size *sizes, int rank,
                        laze_value *out) {
  return laze_compose_full(b->recorder, dtype, number, sizes, rank, out, b->error);
}

static laze_status add_at(const bagging *b, laze_value self, laze_value index, laze_value source, laze_value *out) {
  laze_attribute dim = laze_attribute_integer(0);
  laze_value operands[] = {self, index, source};
  return laze_record_call(b->recorder, LAZE_OP_INDEX_ADD, operands, 3, &dim, out, b->error);
}

static laze_status choose(const bagging *b, laze_value condition, laze_value a, laze_value other, laze_value *out) {
  laze_value operands[] = {condition, a, other};
  return laze_record_call(b->recorder, LAZE_OP_WHERE_SELF, operands, 3, NULL, out, b->error);
}

/* The bag of each index. One in front of the first bag gets a number that the run refuses. */
static laze_status number_bags(bagging *b) {
  laze_attribute along[] = {laze_attribute_integer(0), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value begun, none, beyond;
  laze_size places;
  LAZE_TRY(laze_size_arithmetic(b->recorder, '+', b->count, 1, &places, b->error));
  LAZE_TRY(full(b, LAZE_I64, laze_scalar_integer(0), &places, 1, &none));
  LAZE_TRY(full(b, LAZE_I64, laze_scalar_integer(1), &b->bags, 1, &begun));
  LAZE_TRY(add_at(b, none, b->offsets, begun, &begun));
  LAZE_TRY(laze_record_call(b->recorder, LAZE_OP_CUMSUM, &begun, 1, along, &begun, b->error));
  LAZE_TRY(laze_compose_slice(b->recorder, begun, 0, 0, b->count, &begun, b->error));
  LAZE_TRY(laze_compose_with_number(b->recorder, LAZE_OP_SUB, begun, laze_scalar_integer(1), &begun, b->error));
  LAZE_TRY(laze_compose_with_number(b->recorder, LAZE_OP_LT, begun, laze_scalar_integer(0), &none, b->error));
  LAZE_TRY(laze_record_number(b->recorder, LAZE_I64, laze_scalar_integer(INT64_MAX), &beyond, b->error));
  return choose(b, none, beyond, begun, &b->numbers);
}

/* Which indices are no padding. A negative one counts from the back, but for _embedding_bag, where it means none. */
static laze_status find_padding(bagging *b) {
  const laze_argument_info *info = laze_op_argument(laze_op_get(b->call->op), "padding_idx");
  const laze_attribute *given = info ? &b->call->attributes[info->position] : NULL;
  const bool wraps = info && b->call->op == LAZE_OP_EMBEDDING_BAG_PADDING_IDX;
  laze_value padding, size;
  b->kept = LAZE_VALUE_NONE;
  if (!given || !given->present || (!wraps && given->value.integer < 0)) return LAZE_OK;
  LAZE_TRY(laze_record_number(b->recorder, LAZE_I64, laze_scalar_integer(given->value.integer), &padding, b->error));
  if (given->value.integer < 0) {
    laze_attribute rows[] = {laze_attribute_size(b->weight.sizes[0]), laze_attribute_dtype(LAZE_I64)};
    LAZE_TRY(laze_record_call(b->recorder, LAZE_OP_SIZE_TENSOR, NULL, 0, rows, &size, b->error));
    LAZE_TRY(laze_compose_binary(b->recorder, LAZE_OP_ADD, padding, size, &padding, b->error));
  }
  return laze_compose_binary(b->recorder, LAZE_OP_NE, b->indices, padding, &b->kept, b->error);
}

static laze_status find_rows(bagging *b, int64_t mode) {
  laze_attribute dim = laze_attribute_integer(0);
  laze_value factors = laze_call_operand(b->call, 3);
  LAZE_TRY(laze_record_call(b->recorder, LAZE_OP_INDEX_SELECT, (laze_value[]){b->call->operands[0], b->indices}, 2,
                            &dim, &b->rows, b->error));
  if (laze_value_is_none(factors)) return LAZE_OK;
  const laze_type type = laze_compose_type(b->recorder, factors);
  bool fits = mode == SUM && type.rank == 1 && type.dtype == b->weight.dtype;
  if (fits) LAZE_TRY(laze_size_must_equal(b->recorder, type.sizes[0], b->count, &fits, b->error));
  if (!fits)
    return laze_fail(b->error, LAZE_INVALID_ARGUMENT,
                     "%s: per_sample_weights is %s with %d dims, mode %lld; expected a list of %s as long as indices, "
                     "and mode 0, which is the sum",
                     laze_compose_name(b->call), laze_dtype_name((laze_dtype)type.dtype), type.rank, (long long)mode,
                     laze_dtype_name((laze_dtype)b->weight.dtype));
  LAZE_TRY(laze_compose_insert_axis(b->recorder, factors, 1, &factors, b->error));
  return laze_compose_binary(b->recorder, LAZE_OP_MUL, b->rows, factors, &b->rows, b->error);
}

/* The rows, with a number in place of those that are padding. */
static laze_status mask_rows(const bagging *b, laze_scalar number, laze_value *out) {
  laze_value other, kept;
  *out = b->rows;
  if (laze_value_is_none(b->kept)) return LAZE_OK;
  LAZE_TRY(laze_record_number(b->recorder, (laze_dtype)b->weight.dtype, number, &other, b->error));
  LAZE_TRY(laze_compose_insert_axis(b->recorder, b->kept, 1, &kept, b->error));
  return choose(b, kept, b->rows, other, out);
}

/* How many rows each bag has that are no padding. */
static laze_status count_rows(const bagging *b, laze_value *out) {
  laze_value none, each;
  LAZE_TRY(full(b, LAZE_I64, laze_scalar_integer(0), &b->bags, 1, &none));
  if (laze_value_is_none(b->kept))
    LAZE_TRY(full(b, LAZE_I64, laze_scalar_integer(1), &b->count, 1, &each));
  else
    LAZE_TRY(laze_compose_to(b->recorder, b->kept, LAZE_I64, &each, b->error));
  return add_at(b, none, b->numbers, each, out);
}

static laze_status add_rows(const bagging *b, bool is_mean, laze_value counts, laze_value *out) {
  const laze_dtype dtype = (laze_dtype)b->weight.dtype;
  const laze_size sizes[] = {b->bags, b->weight.sizes[1]};
  laze_value none, rows, divisor;
  LAZE_TRY(full(b, dtype, laze_scalar_integer(0), sizes, 2, &none));
  LAZE_TRY(mask_rows(b, laze_scalar_integer(0), &rows));
  LAZE_TRY(add_at(b, none, b->numbers, rows, out));
  if (!is_mean) return LAZE_OK;
  LAZE_TRY(laze_compose_with_number(b->recorder, LAZE_OP_MAXIMUM, counts, laze_scalar_integer(1), &divisor, b->error));
  LAZE_TRY(laze_compose_to(b->recorder, divisor, dtype, &divisor, b->error));
  LAZE_TRY(laze_compose_insert_axis(b->recorder, divisor, 1, &divisor, b->error));
  return laze_compose_binary(b->recorder, LAZE_OP_DIV, *out, divisor, out, b->error);
}

static laze_status reduce_at(const bagging *b, laze_value self, laze_value source, const char *reduce,
                             laze_value *out) {
  laze_attribute attributes[] = {laze_attribute_integer(0), laze_attribute_string(reduce),
                                 laze_attribute_boolean(true)};
  laze_value operands[] = {self, b->numbers, source};
  return laze_record_call(b->recorder, LAZE_OP_INDEX_REDUCE, operands, 3, attributes, out, b->error);
}

/* 0 where a bag has no rows. */
static laze_status clear_empty(const bagging *b, laze_value counts, laze_value *value) {
  laze_value any, zero;
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(b->recorder, *value)->dtype;
  LAZE_TRY(laze_compose_with_number(b->recorder, LAZE_OP_GT, counts, laze_scalar_integer(0), &any, b->error));
  LAZE_TRY(laze_compose_insert_axis(b->recorder, any, 1, &any, b->error));
  LAZE_TRY(laze_record_number(b->recorder, dtype, laze_scalar_integer(0), &zero, b->error));
  return choose(b, any, *value, zero, value);
}

/* The largest elements, and in *chosen the index of the first row that has each. */
static laze_status find_largest(const bagging *b, laze_value counts, laze_value *out, laze_value *chosen) {
  const laze_dtype dtype = (laze_dtype)b->weight.dtype;
  const laze_size sizes[] = {b->bags, b->weight.sizes[1]}, rows[] = {b->count, sizes[1]};
  laze_attribute dim = laze_attribute_integer(0);
  laze_value start, elements, own, same, none, place, beyond;
  LAZE_TRY(full(b, dtype, laze_dtype_lowest(dtype), sizes, 2, &start));
  LAZE_TRY(mask_rows(b, laze_dtype_lowest(dtype), &elements));
  LAZE_TRY(reduce_at(b, start, elements, "amax", &start));
  LAZE_TRY(
      laze_record_call(b->recorder, LAZE_OP_INDEX_SELECT, (laze_value[]){start, b->numbers}, 2, &dim, &own, b->error));
  LAZE_TRY(laze_compose_binary(b->recorder, LAZE_OP_EQ, elements, own, &same, b->error));
  LAZE_TRY(laze_compose_unary(b->recorder, LAZE_OP_ISNAN, elements, &none, b->error)); /* the largest, as of amax */
  LAZE_TRY(laze_compose_binary(b->recorder, LAZE_OP_LOGICAL_OR, same, none, &same, b->error));
  LAZE_TRY(laze_compose_iota(b->recorder, rows, 2, 0, LAZE_I64, &place, b->error));
  LAZE_TRY(laze_record_number(b->recorder, LAZE_I64, laze_scalar_integer(INT64_MAX), &beyond, b->error));
  LAZE_TRY(choose(b, same, place, beyond, &place));
  LAZE_TRY(full(b, LAZE_I64, laze_scalar_integer(INT64_MAX), sizes, 2, chosen));
  LAZE_TRY(reduce_at(b, *chosen, place, "amin", chosen));
  *out = start;
  LAZE_TRY(clear_empty(b, counts, out));
  return clear_empty(b, counts, chosen);
}

/* The places of the rows, as the indices that they have in the table. */
static laze_status read_indices(const bagging *b, laze_value *chosen) {
  const laze_type type = laze_compose_type(b->recorder, *chosen);
  laze_attribute dim = laze_attribute_integer(0);
  laze_value flat[2] = {b->indices};
  laze_size elements;
  bool nothing;
  LAZE_TRY(laze_size_may_equal(b->recorder, b->count, 0, &nothing, b->error));
  if (nothing) return LAZE_OK;
  LAZE_TRY(laze_size_product(b->recorder->sizes, type.sizes, 2, &elements, b->error));
  LAZE_TRY(laze_compose_reshape(b->recorder, *chosen, &elements, 1, &flat[1], b->error));
  LAZE_TRY(laze_record_call(b->recorder, LAZE_OP_INDEX_SELECT, flat, 2, &dim, chosen, b->error));
  LAZE_TRY(laze_compose_reshape(b->recorder, *chosen, type.sizes, 2, chosen, b->error));
  return LAZE_OK;
}

static laze_status embed(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  bagging b = {.recorder = recorder, .call = call, .weight = laze_compose_type(recorder, call->operands[0])};
  b.error = error;
  const int64_t mode = argument(&b, "mode")->value.integer;
  laze_value counts;
  if (b.weight.rank != 2 || !laze_dtype_is_float((laze_dtype)b.weight.dtype) || mode < SUM || mode > LARGEST)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: weight is %s with %d dims, mode %lld; expected a matrix of floats, and 0 for sums, 1 for "
                     "means, 2 for largest elements",
                     laze_compose_name(call), laze_dtype_name((laze_dtype)b.weight.dtype), b.weight.rank,
                     (long long)mode);
  LAZE_TRY(read_list(&b, 1, "indices", &b.indices));
  b.count = laze_recorder_type(recorder, b.indices)->sizes[0];
  LAZE_TRY(read_offsets(&b));
  LAZE_TRY(number_bags(&b));
  LAZE_TRY(find_padding(&b));
  LAZE_TRY(find_rows(&b, mode));
  LAZE_TRY(count_rows(&b, &counts));
  results[1] = b.numbers;
  results[2] = results[3] = counts;
  if (mode != LARGEST) return add_rows(&b, mode == MEAN, counts, &results[0]);
  LAZE_TRY(find_largest(&b, counts, &results[0], &results[3]));
  LAZE_TRY(read_indices(&b, &results[3]));
  return clear_empty(&b, counts, &results[3]);
}

laze_status laze_composite_embedding_bag(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  return embed(recorder, call, results, error);
}

laze_status laze_composite_embedding_bag_padding_idx(laze_recorder *recorder, const laze_call *call,
                                                     laze_value *results, laze_error *error) {
  return embed(recorder, call, results, error);
}

laze_status laze_composite__embedding_bag(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  return embed(recorder, call, results, error);
}
