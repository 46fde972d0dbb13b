/* What the elements of operators are whose contents may be looked through. Only i64 is computed with, whose numbers and
 * sizes agree as far as sizes go. */
#include "ir/known_size.h"

#include "ir/op.gen.h"

static bool element(laze_value value, int64_t index, laze_content *out) {
  *out = (laze_content){.values = {value}, .indices = {index}};
  return true;
}

bool laze_contents_size(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                        laze_content *out) {
  (void)recorder, (void)index;
  *out = (laze_content){.is_size = true, .size = call->attributes[LAZE_SIZE_TENSOR_VALUE].value.size};
  return type->dtype == LAZE_I64;
}

/* The same elements in the same order; a conversion only to a wider dtype. */
bool laze_contents_same(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                        laze_content *out) {
  laze_dtype from = laze_recorder_type(recorder, call->operands[0])->dtype;
  bool keeps = from == type->dtype || (laze_dtype_is_index(from) && type->dtype == LAZE_I64);
  return keeps && element(call->operands[0], index, out);
}

/* Of lists alone, with a first index that is a number. */
bool laze_contents_slice(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                         laze_content *out) {
  const laze_type *self = laze_recorder_type(recorder, call->operands[0]);
  const laze_attribute *start = &call->attributes[LAZE_SLICE_START];
  laze_size first = start->present ? start->value.size : 0;
  if (self->rank != 1 || !laze_size_is_constant(self->sizes[0]) || !laze_size_is_constant(first)) return false;
  if (first < 0) first += self->sizes[0];
  if (first < 0) first = 0;
  (void)type;
  return element(call->operands[0], first + index * call->attributes[LAZE_SLICE_STEP].value.integer, out);
}

/* Lists one behind the other. */
bool laze_contents_cat(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                       laze_content *out) {
  for (int32_t i = 0; i < call->operand_count; i++) {
    const laze_type *part = laze_recorder_type(recorder, call->operands[i]);
    if (part->rank != 1 || !laze_size_is_constant(part->sizes[0]) || part->dtype != type->dtype) return false;
    if (index < part->sizes[0]) return element(call->operands[i], index, out);
    index -= part->sizes[0];
  }
  return false;
}

/* Of two operands with the result's shape or none. */
static bool combine(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                    laze_content *out) {
  for (int32_t i = 0; i < 2; i++) {
    const laze_type *operand = laze_recorder_type(recorder, call->operands[i]);
    if (operand->dtype != LAZE_I64 || (operand->rank > 0 && !laze_type_equal(operand, type))) return false;
    out->values[i] = call->operands[i];
    out->indices[i] = operand->rank > 0 ? index : 0;
  }
  out->is_size = false;
  out->is_pair = true;
  out->scale = 1;
  return call->operand_count == 2 && type->dtype == LAZE_I64;
}

bool laze_contents_add(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                       laze_content *out) {
  out->kind = LAZE_SIZE_ADD;
  return combine(recorder, call, type, index, out);
}
bool laze_contents_sub(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                       laze_content *out) {
  bool known = laze_contents_add(recorder, call, type, index, out);
  out->scale = -1;
  return known;
}
bool laze_contents_mul(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                       laze_content *out) {
  out->kind = LAZE_SIZE_MUL;
  return combine(recorder, call, type, index, out);
}
bool laze_contents_maximum(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                           laze_content *out) {
  out->kind = LAZE_SIZE_MAX;
  return combine(recorder, call, type, index, out);
}
bool laze_contents_minimum(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                           laze_content *out) {
  out->kind = LAZE_SIZE_MIN;
  return combine(recorder, call, type, index, out);
}
