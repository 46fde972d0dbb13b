/* The operator table as data: finding operators by name, and checking a call against its schema. */
#include "ir/op.h"

#include "ir/op.gen.h"

#include <string.h>

/* Position in laze_ops_by_name of the first operator whose base name is not before the first `length` bytes of `base`.
 */
static int32_t first_not_before(const char *base, size_t length) {
  int32_t low = 0, high = laze_op_count - 1;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    const char *name = laze_op_infos[laze_ops_by_name[middle]].base;
    int order = strncmp(name, base, length);
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool has_base(laze_op op, const char *base, size_t length) {
  const char *name = laze_op_infos[op].base;
  return strncmp(name, base, length) == 0 && name[length] == 0;
}

static laze_op overload(const char *base, size_t length, int index) {
  int32_t at = first_not_before(base, length) + index;
  if (at >= laze_op_count - 1 || !has_base(laze_ops_by_name[at], base, length)) return LAZE_OP_NONE;
  return laze_ops_by_name[at];
}

const laze_op *laze_op_overloads(const char *base, int32_t *count) {
  size_t length = strlen(base);
  int32_t first = first_not_before(base, length), end = first;
  while (end < laze_op_count - 1 && has_base(laze_ops_by_name[end], base, length)) end++;
  *count = end - first;
  return &laze_ops_by_name[first];
}

laze_op laze_op_overload(const char *base, int index) {
  return overload(base, strlen(base), index);
}

laze_op laze_op_find(const char *name) {
  size_t length = strcspn(name, ".");
  laze_op op;
  for (int i = 0; (op = overload(name, length, i)) != LAZE_OP_NONE; i++)
    if (strcmp(laze_op_infos[op].name, name) == 0) return op;
  return laze_op_overload(name, 1) == LAZE_OP_NONE ? laze_op_overload(name, 0) : LAZE_OP_NONE;
}

/* Bytes of an operator's name and ": " where such stand in front of the text; 0 otherwise. */
static size_t leading_name(const char *text) {
  char name[LAZE_ERROR_MESSAGE_SIZE];
  size_t length = strcspn(text, ": \n");
  if (length == 0 || strncmp(text + length, ": ", 2) != 0) return 0;
  memcpy(name, text, length);
  name[length] = 0;
  bool known = laze_op_find(name) != LAZE_OP_NONE || laze_op_overload(name, 0) != LAZE_OP_NONE;
  return known ? length + 2 : 0;
}

void laze_op_rename_error(laze_error *error, const char *name) {
  if (!error) return;
  char *text = error->message;
  size_t length;
  while ((length = leading_name(text)) > 0) text += length;
  memmove(error->message, text, strlen(text) + 1);
  (void)laze_error_prefix(error, "%s", name);
}

const laze_argument_info *laze_op_argument(const laze_op_info *info, const char *name) {
  for (int32_t i = 0; i < info->argument_count; i++)
    if (strcmp(info->arguments[i].name, name) == 0) return &info->arguments[i];
  return NULL;
}

int32_t laze_op_target(const laze_op_info *info) {
  const laze_argument_info *self = laze_op_argument(info, "self");
  return self ? (int32_t)(self - info->arguments) : 0;
}

int32_t laze_call_result_count(const laze_call *call) {
  const laze_op_info *info = laze_op_get(call->op);
  if (info->result_count >= 0 || info->region_count > 0) return info->result_count;
  const laze_argument_info *ranks = laze_op_argument(info, "ranks"); /* of the results, whose types the call has */
  return ranks ? call->attributes[ranks->position].count : -1;
}

int32_t laze_call_segment(const laze_call *call, int32_t position, int32_t *first) {
  *first = position;
  if (!call->segments) return 1;
  *first = 0;
  for (int32_t i = 0; i < position; i++)
    if (call->segments[i] > 0) *first += call->segments[i];
  return call->segments[position];
}

static laze_status check_segment(const laze_op_info *info, const laze_argument_info *argument, int32_t count,
                                 laze_error *error) {
  if (count == -1 && argument->optional) return LAZE_OK;
  if (count == -1)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: argument '%s' is missing; pass a value", info->name,
                     argument->name);
  if (laze_argument_is_operands(argument->kind) ? count < 0 : count != 1)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: argument '%s' got %d values, expected %s", info->name,
                     argument->name, count, laze_argument_is_operands(argument->kind) ? "a list" : "one");
  return LAZE_OK;
}

static laze_status check_attribute(const laze_op_info *info, const laze_argument_info *argument,
                                   const laze_attribute *attribute, laze_error *error) {
  if (attribute->kind != argument->kind)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: attribute '%s' has kind %d, expected %d", info->name,
                     argument->name, attribute->kind, argument->kind);
  if (!attribute->present && !argument->optional)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: attribute '%s' is missing; write %s=...", info->name,
                     argument->name, argument->name);
  return LAZE_OK;
}

laze_status laze_call_check(const laze_call *call, laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  int32_t operands = 0;
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (!laze_argument_is_operand(argument->kind)) {
      LAZE_TRY(check_attribute(info, argument, &call->attributes[argument->position], error));
      continue;
    }
    int32_t count = call->segments ? call->segments[argument->position] : 1;
    LAZE_TRY(check_segment(info, argument, count, error));
    operands += count > 0 ? count : 0;
  }
  if (operands != call->operand_count)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %d operands, but its segments name %d", info->name,
                     call->operand_count, operands);
  return LAZE_OK;
}
