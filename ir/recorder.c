/* Calls that any recorder takes: a number as a constant, and an operator by its operands, with segments and defaults
 * filled in. */
#include "ir/recorder.h"

#include "ir/op.gen.h"

enum { MAX_SEGMENTS = 16, MAX_ATTRIBUTES = 32 };

laze_status laze_record_number(laze_recorder *recorder, laze_dtype dtype, laze_scalar value, laze_value *out,
                               laze_error *error) {
  union {
    double alignment;
    char bytes[16];
  } element = {0};
  if (!laze_dtype_is_valid(dtype)) return laze_fail(error, LAZE_INVALID_ARGUMENT, "constant: %d is no dtype", dtype);
  laze_scalar_store(value, dtype, &element, 0);
  laze_attribute attributes[] = {
      laze_attribute_dtype(dtype),
      laze_attribute_sizes(NULL, 0),
      {.kind = LAZE_ARGUMENT_DATA, .present = true, .value.data = laze_data_of(&element, laze_dtype_size(dtype))},
  };
  laze_call call = {.op = LAZE_OP_CONSTANT, .attributes = attributes};
  return recorder->record(recorder, &call, out, error);
}

/* One operand each, in order; a tensor list takes what the others leave, and trailing optional ones may be left out. */
static void derive_segments(const laze_op_info *info, int32_t operand_count, int32_t *segments) {
  int32_t given = operand_count;
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (!laze_argument_is_operand(argument->kind)) continue;
    int32_t after = info->segment_count - argument->position - 1;
    int32_t count = given > 0 ? 1 : -1;
    if (laze_argument_is_operands(argument->kind)) count = given > after ? given - after : 0;
    segments[argument->position] = count;
    given -= count > 0 ? count : 0;
  }
}

laze_status laze_record_call(laze_recorder *recorder, laze_op op, const laze_value *operands, int32_t operand_count,
                             const laze_attribute *attributes, laze_value *out, laze_error *error) {
  const laze_op_info *info = laze_op_get(op);
  int32_t segments[MAX_SEGMENTS];
  laze_attribute defaults[MAX_ATTRIBUTES];
  if (info->segment_count > MAX_SEGMENTS || info->attribute_count > MAX_ATTRIBUTES)
    return laze_fail(error, LAZE_INTERNAL, "%s: more arguments than laze_record_call can hold", info->name);
  derive_segments(info, operand_count, segments);
  for (int32_t i = 0; !attributes && i < info->argument_count; i++)
    if (!laze_argument_is_operand(info->arguments[i].kind))
      defaults[info->arguments[i].position] = info->arguments[i].default_value;
  laze_call call = {.op = op,
                    .operand_count = operand_count,
                    .operands = operands,
                    .segments = segments,
                    .attributes = attributes ? attributes : defaults};
  return recorder->record(recorder, &call, out, error);
}
