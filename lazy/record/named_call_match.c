/* Which operator a call by name means: what is passed is described to the ranking of overloads. */
#include "lazy/record/named_call.h"

#include "base/context.h"
#include "base/dtype.h"
#include "ir/argument.h"
#include "ir/call_resolve.h"
#include "lazy/value/handle.h"

laze_passed_kind laze_named_call_passed(const laze_argument *argument) {
  switch (argument->kind) {
  case LAZE_PASS_TENSOR: return LAZE_PASSED_TENSOR;
  case LAZE_PASS_TENSORS:
    if (argument->count < 0 || (argument->count > 0 && !argument->value.tensors)) return LAZE_PASSED_OTHER;
    for (int32_t i = 0; i < argument->count; i++)
      if (!argument->value.tensors[i]) return LAZE_PASSED_OPTIONAL_LIST;
    return argument->count == 0 ? LAZE_PASSED_EMPTY_LIST : LAZE_PASSED_TENSOR_LIST;
  case LAZE_PASS_SIZES:
    if (argument->count < 0 || (argument->count > 0 && !argument->value.sizes)) return LAZE_PASSED_OTHER;
    return argument->count == 0 ? LAZE_PASSED_EMPTY_LIST : LAZE_PASSED_MIXED_LIST;
  }
  return laze_argument_passed(argument);
}

/* A tensor that may stand for a number. */
static bool is_scalar_tensor(const laze_argument *argument) {
  laze_tensor *tensor = argument->kind == LAZE_PASS_TENSOR ? argument->value.tensor : NULL;
  return tensor && laze_tensor_rank(tensor) == 0 && laze_dtype_is_index(laze_tensor_dtype(tensor));
}

static bool is_number(laze_passed_kind kind) {
  return kind == LAZE_PASSED_BOOL || kind == LAZE_PASSED_INTEGER || kind == LAZE_PASSED_REAL ||
         kind == LAZE_PASSED_LITERAL || kind == LAZE_PASSED_CODE;
}

static bool is_tensors(laze_passed_kind kind) {
  return kind == LAZE_PASSED_TENSOR || kind == LAZE_PASSED_TENSOR_LIST || kind == LAZE_PASSED_OPTIONAL_LIST ||
         kind == LAZE_PASSED_SCALAR_TENSOR;
}

/* A number stands for a tensor beside one, which says what it is promoted to. Arithmetic takes two numbers as well. */
static laze_status check_numbers(const laze_named_call *given, const laze_passed *listed, laze_op op,
                                 laze_error *error) {
  const char *argument = NULL;
  if (laze_op_get(op)->takes_numbers) return LAZE_OK;
  for (int32_t i = 0; i < given->count; i++) {
    if (is_tensors(listed[i].kind)) return LAZE_OK;
    if (!is_number(listed[i].kind)) continue;
    const laze_argument_info *info = &laze_op_get(op)->arguments[listed[i].argument];
    if (info->kind == LAZE_ARGUMENT_TENSOR) argument = info->name;
  }
  if (!argument) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: no argument is a tensor; a number may stand for '%s' beside a tensor: make one of it",
                   given->name, argument);
}

static laze_status find_operator(const laze_named_call *given, const laze_overload_call *call, laze_op *out,
                                 laze_error *error) {
  *out = given->op;
  return *out == LAZE_OP_NONE ? laze_call_resolve(call, out, error) : laze_call_fit(call, *out, error);
}

/* Finds the operator. Where none takes what is passed as it is, tensors may stand for sizes. */
static laze_status resolve(const char *function, const laze_named_call *given, laze_positions positions,
                           laze_passed *listed, laze_op *out, laze_error *error) {
  LAZE_TRY(laze_arguments_list(function, given->name, given->arguments, given->count, laze_named_call_passed, listed,
                               error));
  laze_overload_call call = {given->name, positions, listed, given->count, false, true};
  laze_status status = find_operator(given, &call, out, error);
  if (status == LAZE_OK) return check_numbers(given, listed, *out, error);
  if (status != LAZE_INVALID_ARGUMENT) return status;
  for (int32_t i = 0; i < given->count; i++)
    if (is_scalar_tensor(&given->arguments[i])) listed[i].kind = LAZE_PASSED_SCALAR_TENSOR;
  call.sizes_from_values = true;
  return find_operator(given, &call, out, NULL) == LAZE_OK ? LAZE_OK : status;
}

laze_status laze_named_call_match(laze_named_call *given, laze_arena *arena, laze_op *out, laze_error *error) {
  laze_passed listed[LAZE_MOST_ARGUMENTS];
  LAZE_TRY(resolve("laze_call_by_name", given, LAZE_POSITIONS_ALL, listed, out, error));
  const laze_op_info *info = laze_op_get(*out);
  given->by_schema = laze_arena_alloc_array(arena, info->argument_count, sizeof *given->by_schema);
  if (!given->by_schema) return laze_fail_memory(error, info->name, -1);
  for (int32_t i = 0; i < info->argument_count; i++) given->by_schema[i] = NULL;
  for (int32_t i = 0; i < given->count; i++)
    if (listed[i].kind != LAZE_PASSED_LEFT_OUT) given->by_schema[listed[i].argument] = &given->arguments[i];
  return LAZE_OK;
}

laze_status laze_call_match(const char *name, const laze_argument *arguments, int32_t argument_count,
                            int32_t positions_end, laze_error *error) {
  laze_passed listed[LAZE_MOST_ARGUMENTS];
  laze_error refusal;
  laze_op op;
  laze_arena arena;
  laze_named_call given = {.name = name, .arguments = arguments, .count = arguments ? argument_count : 0};
  laze_positions positions = positions_end ? LAZE_POSITIONS_BEFORE_KEYWORDS : LAZE_POSITIONS_ALL;
  laze_arena_init(&arena, laze_context_default());
  laze_status status = laze_named_call_form(&given, &arena, &refusal);
  if (status == LAZE_OK) status = resolve(__func__, &given, positions, listed, &op, &refusal);
  laze_arena_deinit(&arena);
  if (status != LAZE_OK && error) *error = refusal;
  return status;
}
