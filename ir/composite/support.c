/* What every composite runs on: how it is entered, and sizes and dtypes of values that it asks for. */
#include "ir/composite/support.h"

#include "base/checked.h"
#include "base/status.h"

laze_status laze_expand_composite(laze_recorder *recorder, const laze_call *call, laze_expand_function composite,
                                  laze_value *results, laze_error *error) {
  static const laze_value none[1];
  const laze_op origin = recorder->origin;
  laze_call whole = *call;
  if (!whole.operands) whole.operands = none; /* a list without items is a place, too */
  if (origin == LAZE_OP_NONE) recorder->origin = call->op;
  const laze_status status = composite(recorder, &whole, results, error);
  recorder->origin = origin;
  return status;
}

laze_status laze_record_here(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  laze_call located = *call;
  located.location = recorder->location;
  located.origin = recorder->origin;
  return recorder->record(recorder, &located, results, error);
}

laze_status laze_record_unary(laze_recorder *recorder, laze_op op, laze_value a, laze_value *result,
                              laze_error *error) {
  return laze_record_here(recorder, &(laze_call){.op = op, .operand_count = 1, .operands = &a}, result, error);
}

laze_status laze_record_binary(laze_recorder *recorder, laze_op op, laze_value a, laze_value b, laze_value *result,
                               laze_error *error) {
  const laze_value operands[] = {a, b};
  return laze_record_here(recorder, &(laze_call){.op = op, .operand_count = 2, .operands = operands}, result, error);
}

laze_status laze_record_ternary(laze_recorder *recorder, laze_op op, laze_value a, laze_value b, laze_value c,
                                laze_value *result, laze_error *error) {
  const laze_value operands[] = {a, b, c};
  return laze_record_here(recorder, &(laze_call){.op = op, .operand_count = 3, .operands = operands}, result, error);
}

laze_status laze_record_conversion(laze_recorder *recorder, laze_op op, laze_value value, laze_dtype dtype,
                                   laze_value *out, laze_error *error) {
  const laze_attribute attribute = laze_attribute_dtype(dtype);
  const laze_call call = {.op = op, .operand_count = 1, .operands = &value, .attributes = &attribute};
  *out = value;
  return laze_recorder_type(recorder, value)->dtype == dtype ? LAZE_OK : laze_record_here(recorder, &call, out, error);
}

laze_status laze_record_integer(laze_recorder *recorder, laze_dtype dtype, int64_t value, laze_value *out,
                                laze_error *error) {
  return laze_record_number(recorder, dtype, laze_scalar_integer(value), out, error);
}

laze_status laze_record_real(laze_recorder *recorder, laze_dtype dtype, double value, laze_value *out,
                             laze_error *error) {
  return laze_record_number(recorder, dtype, laze_scalar_real(value), out, error);
}

laze_value laze_call_operand(const laze_call *call, int32_t position) {
  int32_t first;
  return laze_call_segment(call, position, &first) == 1 ? call->operands[first] : LAZE_VALUE_NONE;
}

int32_t laze_compact_operands(laze_value *operands, int32_t *segments, int32_t segment_count) {
  int32_t kept = 0, next = 0;
  for (int32_t i = 0; i < segment_count; i++) {
    if (segments[i] == 1 && laze_value_is_none(operands[next])) {
      segments[i] = -1;
      next++;
    }
    for (int32_t k = 0; k < segments[i]; k++) operands[kept++] = operands[next++];
  }
  return kept;
}

laze_status laze_promote_operands(laze_recorder *recorder, const laze_promoted_operand *operands, int32_t count,
                                  laze_dtype *out, laze_error *error) {
  laze_promotion promotion = {0};
  for (int32_t i = 0; i < count; i++) {
    const laze_type number = {.kind = LAZE_TYPE_TENSOR, .dtype = (uint8_t)operands[i].number};
    if (operands[i].number != LAZE_DTYPE_NONE)
      laze_promotion_add(&promotion, &number, true);
    else if (!laze_value_is_none(operands[i].value))
      laze_promotion_add(&promotion, laze_recorder_type(recorder, operands[i].value), operands[i].is_number);
  }
  return laze_promotion_check(&promotion, laze_op_get(recorder->origin)->name, out, error);
}

laze_status laze_record_number_beside(laze_recorder *recorder, laze_value other, laze_scalar number, laze_value *out,
                                      laze_error *error) {
  const laze_promoted_operand both[] = {{.value = other}, {.number = number.dtype}};
  laze_dtype dtype =
      laze_value_is_none(other) ? LAZE_DTYPE_NONE : (laze_dtype)laze_recorder_type(recorder, other)->dtype;
  if (dtype == LAZE_DTYPE_NONE || laze_dtype_category(number.dtype) > laze_dtype_category(dtype))
    LAZE_TRY(laze_promote_operands(recorder, both, 2, &dtype, error));
  return laze_record_number(recorder, dtype, number, out, error);
}

laze_status laze_record_integer_beside(laze_recorder *recorder, laze_value other, int64_t value, laze_value *out,
                                       laze_error *error) {
  return laze_record_number_beside(recorder, other, laze_scalar_integer(value), out, error);
}

laze_status laze_record_real_beside(laze_recorder *recorder, laze_value other, double value, laze_value *out,
                                    laze_error *error) {
  return laze_record_number_beside(recorder, other, laze_scalar_real(value), out, error);
}

laze_size_list laze_value_sizes(laze_recorder *recorder, laze_value value, laze_size *storage) {
  const laze_type *type = laze_recorder_type(recorder, value);
  for (int i = 0; i < type->rank; i++) storage[i] = type->sizes[i];
  return (laze_size_list){storage, type->rank, true};
}

laze_status laze_value_size(laze_recorder *recorder, const laze_call *call, laze_value value, int64_t axis,
                            laze_size *out, laze_error *error) {
  laze_inference inference = {recorder->sizes, laze_op_get(call->op)->name, error};
  const laze_type *type = laze_recorder_type(recorder, value);
  int index;
  LAZE_TRY(laze_infer_axis(&inference, axis, type->rank, &index));
  *out = type->rank == 0 ? 1 : type->sizes[index];
  return LAZE_OK;
}

laze_status laze_value_elements(laze_recorder *recorder, const laze_call *call, laze_value value, laze_size_list dims,
                                laze_size *out, laze_error *error) {
  laze_inference inference = {recorder->sizes, laze_op_get(call->op)->name, error};
  const laze_type *type = laze_recorder_type(recorder, value);
  if (!dims.present || dims.count == 0) return laze_size_product(recorder->sizes, type->sizes, type->rank, out, error);
  laze_size joined[LAZE_MAX_RANK];
  int count = 0;
  for (int32_t i = 0; i < dims.count; i++) {
    int index;
    LAZE_TRY(laze_infer_axis(&inference, dims.items[i], type->rank, &index));
    if (count == LAZE_MAX_RANK)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d dims for a tensor of rank %d; name each dim once",
                       inference.operator_name, dims.count, type->rank);
    joined[count++] = type->rank == 0 ? 1 : type->sizes[index];
  }
  return laze_size_product(recorder->sizes, joined, count, out, error);
}

static laze_status constant_arithmetic(char mark, laze_size a, laze_size b, laze_size *out, laze_error *error) {
  bool overflows = false;
  switch (mark) {
  case '+': overflows = laze_add_overflows(a, b, out); break;
  case '-': overflows = laze_sub_overflows(a, b, out); break;
  case '*': overflows = laze_mul_overflows(a, b, out); break;
  default:
    if (b == 0) return laze_fail(error, LAZE_OUT_OF_RANGE, "a size is divided by zero");
    *out = laze_floor_div(a, b);
  }
  if (overflows || *out < LAZE_SIZE_CONSTANT_MIN || *out > LAZE_SIZE_CONSTANT_MAX)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "%lld %c %lld does not fit a size", (long long)a, mark, (long long)b);
  return LAZE_OK;
}

laze_status laze_size_arithmetic(laze_recorder *recorder, char mark, laze_size a, laze_size b, laze_size *out,
                                 laze_error *error) {
  if (laze_size_is_constant(a) && laze_size_is_constant(b)) return constant_arithmetic(mark, a, b, out, error);
  laze_size_table *sizes = recorder->sizes;
  if (mark == '-') {
    LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MUL, b, -1, &b, error));
    mark = '+';
  }
  const laze_size_kind kind = mark == '+' ? LAZE_SIZE_ADD : mark == '*' ? LAZE_SIZE_MUL : LAZE_SIZE_FLOOR_DIV;
  return laze_size_binary(sizes, kind, a, b, out, error);
}

laze_status laze_size_is_equal(laze_recorder *recorder, laze_size a, laze_size b, bool *out, laze_error *error) {
  *out = a == b;
  if (laze_size_is_constant(a) && laze_size_is_constant(b)) return LAZE_OK;
  return laze_size_ask_equal(recorder->sizes, a, b, out, error);
}

laze_status laze_size_is_at_most(laze_recorder *recorder, laze_size a, laze_size b, bool *out, laze_error *error) {
  *out = a <= b;
  if (laze_size_is_constant(a) && laze_size_is_constant(b)) return LAZE_OK;
  return laze_size_ask_less_equal(recorder->sizes, a, b, out, error);
}

/* `given`: the answer where only a run will know. */
static laze_status settle(laze_recorder *recorder, laze_fact question, bool given, bool *out, laze_error *error) {
  question.holds = given;
  question.carried = true;
  question.asker = recorder->origin == LAZE_OP_NONE ? NULL : laze_op_get(recorder->origin)->name;
  return laze_size_ask(recorder->sizes, question, out, error);
}

laze_status laze_size_must_equal(laze_recorder *recorder, laze_size a, laze_size b, bool *out, laze_error *error) {
  return settle(recorder, (laze_fact){.kind = LAZE_FACT_EQUAL, .a = a, .b = b}, true, out, error);
}

laze_status laze_size_must_be_at_most(laze_recorder *recorder, laze_size a, laze_size b, bool *out, laze_error *error) {
  return settle(recorder, (laze_fact){.kind = LAZE_FACT_LESS_EQUAL, .a = a, .b = b}, true, out, error);
}

laze_status laze_size_may_equal(laze_recorder *recorder, laze_size a, laze_size b, bool *out, laze_error *error) {
  return settle(recorder, (laze_fact){.kind = LAZE_FACT_EQUAL, .a = a, .b = b}, false, out, error);
}

laze_status laze_size_may_be_at_most(laze_recorder *recorder, laze_size a, laze_size b, bool *out, laze_error *error) {
  return settle(recorder, (laze_fact){.kind = LAZE_FACT_LESS_EQUAL, .a = a, .b = b}, false, out, error);
}
