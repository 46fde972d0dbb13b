/* Indices that numbers of the call decide, written as constants:
 *
 *   combinations of 3, 2 at a time    0 1 . 0 2 . 1 2
 *   tril_indices of 2 x 3, offset 1   rows 0 0 1 1 1    columns 0 1 0 1 2
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

/* Constants beyond that make graphs that nobody wants to hold. */
enum { MOST_INDICES = 1 << 24 };

static laze_status record_indices(laze_recorder *recorder, const int64_t *indices, const laze_size sizes[2],
                                  laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_dtype(LAZE_I64),
                                 laze_attribute_sizes(sizes, 2),
                                 {.kind = LAZE_ARGUMENT_DATA,
                                  .present = true,
                                  .value.data = laze_data_of(indices, sizes[0] * sizes[1] * (int64_t)sizeof *indices)}};
  return laze_record_call(recorder, LAZE_OP_CONSTANT, NULL, 0, attributes, out, error);
}

static laze_status refuse_many(const laze_call *call, laze_error *error) {
  return laze_fail(error, LAZE_UNSUPPORTED, "%s: the result has more than %d indices", laze_compose_name(call),
                   MOST_INDICES);
}

/* The next choice in order; false behind the last. Each place of `row` stays below `count`, and is greater than the one
 * in front of it by `gap` at least. */
static bool next_choice(int64_t *row, int64_t length, int64_t count, int64_t gap) {
  int64_t place = length - 1;
  while (place >= 0 && row[place] == count - 1 - gap * (length - 1 - place)) place--;
  if (place < 0) return false;
  row[place]++;
  for (int64_t i = place + 1; i < length; i++) row[i] = row[i - 1] + gap;
  return true;
}

/* How many choices there are; -1: too many. */
static int64_t count_choices(int64_t length, int64_t count, int64_t gap) {
  const int64_t most = gap == 1 ? count : count + length - 1; /* with replacement, as many of that many */
  int64_t found = 1;
  if (count == 0 || length > most) return 0;
  if (most > MOST_INDICES) return -1;
  if (length > most - length && gap == 1) length = most - length;
  for (int64_t i = 1; i <= length && found >= 0; i++) {
    found = found * (most - length + i) / i;
    if (found > MOST_INDICES) found = -1;
  }
  return found;
}

laze_status laze_composite_combinations(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const int64_t length = call->attributes[LAZE_COMBINATIONS_R].value.integer;
  const int64_t gap = call->attributes[LAZE_COMBINATIONS_WITH_REPLACEMENT].value.integer ? 0 : 1;
  laze_attribute dim = laze_attribute_integer(0);
  laze_value operands[2] = {call->operands[0]};
  laze_status status;
  bool empty;
  if (type.rank != 1 || length < 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %lld of a tensor of %d dims; expected 0 or more of a list",
                     laze_compose_name(call), (long long)length, type.rank);
  if (length == 0) return laze_compose_slice(recorder, operands[0], 0, 0, 0, results, error);
  LAZE_TRY(laze_size_is_equal(recorder, type.sizes[0], 0, &empty, error)); /* lazily, that finds the size */
  if (!laze_size_is_constant(type.sizes[0]))
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: the list has a size that is not known when the call is made",
                     laze_compose_name(call));
  const int64_t rows = length > MOST_INDICES ? -1 : count_choices(length, type.sizes[0], gap);
  if (rows < 0 || rows > MOST_INDICES / length) return refuse_many(call, error);
  const laze_size sizes[2] = {rows, length}, elements = rows * length;
  int64_t *indices = laze_alloc_array(recorder->context, elements + length, sizeof *indices);
  if (!indices) return laze_fail_memory(error, "a list of choices", -1);
  for (int64_t i = 0; i < length; i++) indices[i] = i * gap;
  for (int64_t row = 1; row < rows; row++) {
    int64_t *next = indices + row * length;
    for (int64_t i = 0; i < length; i++) next[i] = next[i - length];
    (void)next_choice(next, length, type.sizes[0], gap);
  }
  status = record_indices(recorder, indices, (laze_size[]){1, elements}, &operands[1], error);
  laze_free(recorder->context, indices);
  LAZE_TRY(status);
  LAZE_TRY(laze_compose_reshape(recorder, operands[1], &elements, 1, &operands[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, results, error));
  return laze_compose_reshape(recorder, *results, sizes, 2, results, error);
}

/* Columns [first, end) of a row that belong to the triangle. */
static void find_columns(int64_t row, int64_t columns, int64_t offset, bool upper, int64_t *first, int64_t *end) {
  const int64_t from = row + offset + (upper ? 0 : 1);
  const int64_t cut = from < 0 ? 0 : from > columns ? columns : from;
  *first = upper ? cut : 0;
  *end = upper ? columns : cut;
}

static laze_status triangle(laze_recorder *recorder, const laze_call *call, bool upper, laze_value *out,
                            laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  const int64_t rows = attributes[0].value.integer, columns = attributes[1].value.integer,
                offset = attributes[2].value.integer;
  int64_t first, end, count = 0;
  if (rows < 0 || columns < 0 || offset > LAZE_MAX_ELEMENTS || offset < -LAZE_MAX_ELEMENTS)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %lld rows, %lld columns and offset %lld; expected 0 or more",
                     laze_compose_name(call), (long long)rows, (long long)columns, (long long)offset);
  if (rows > MOST_INDICES || columns > MOST_INDICES) return refuse_many(call, error);
  for (int64_t row = 0; row < rows; row++) {
    find_columns(row, columns, offset, upper, &first, &end);
    count += end - first;
  }
  if (count > MOST_INDICES / 2) return refuse_many(call, error);
  int64_t *indices = laze_alloc_array(recorder->context, 2 * count + 1, sizeof *indices);
  if (!indices) return laze_fail_memory(error, "a list of indices", -1);
  for (int64_t row = 0, next = 0; row < rows; row++) {
    find_columns(row, columns, offset, upper, &first, &end);
    for (int64_t column = first; column < end; column++, next++) {
      indices[next] = row;
      indices[count + next] = column;
    }
  }
  laze_status status = record_indices(recorder, indices, (laze_size[]){2, count}, out, error);
  laze_free(recorder->context, indices);
  LAZE_TRY(status);
  const laze_dtype dtype = attributes[3].present ? (laze_dtype)attributes[3].value.integer : LAZE_I64;
  return laze_compose_to(recorder, *out, dtype, out, error);
}

laze_status laze_composite_tril_indices(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return triangle(recorder, call, false, results, error);
}

laze_status laze_composite_triu_indices(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return triangle(recorder, call, true, results, error);
}
