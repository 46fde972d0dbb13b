/* Which operator a call by name means: what is passed is described to the ranking of overloads. */
#include "lazy/record/named_call.h"

#include "base/context.h"
#include "base/dtype.h"
#include "ir/call_resolve.h"
#include "lazy/value/handle.h"

#include <string.h>

/* More arguments than any operator takes, and a longer name than any has. */
enum { MAX_ARGUMENTS = 64, MAX_NAME = 128 };

static laze_passed_kind kind_of_number(laze_dtype dtype) {
  if (dtype == LAZE_BOOL) return LAZE_PASSED_BOOL;
  return dtype == LAZE_I64 ? LAZE_PASSED_INTEGER : dtype == LAZE_F64 ? LAZE_PASSED_REAL : LAZE_PASSED_LITERAL;
}

static laze_passed_kind kind_of_strings(const laze_argument *argument) {
  if (argument->count < 0 || (argument->count > 0 && !argument->value.strings)) return LAZE_PASSED_OTHER;
  for (int32_t i = 0; i < argument->count; i++)
    if (!argument->value.strings[i]) return LAZE_PASSED_OTHER;
  return argument->count == 0 ? LAZE_PASSED_EMPTY_LIST : LAZE_PASSED_STRING_LIST;
}

/* What the ranking is told. A NULL tensor is one, which the call itself refuses where it needs it. */
static laze_passed_kind kind_of(const laze_argument *argument) {
  switch (argument->kind) {
  case LAZE_PASS_DEFAULT: return LAZE_PASSED_LEFT_OUT;
  case LAZE_PASS_TENSOR: return LAZE_PASSED_TENSOR;
  case LAZE_PASS_TENSORS:
    if (argument->count < 0 || (argument->count > 0 && !argument->value.tensors)) return LAZE_PASSED_OTHER;
    for (int32_t i = 0; i < argument->count; i++)
      if (!argument->value.tensors[i]) return LAZE_PASSED_OPTIONAL_LIST;
    return argument->count == 0 ? LAZE_PASSED_EMPTY_LIST : LAZE_PASSED_TENSOR_LIST;
  case LAZE_PASS_SCALAR: return kind_of_number(argument->value.scalar.dtype);
  case LAZE_PASS_INTEGER: return LAZE_PASSED_CODE;
  case LAZE_PASS_REAL: return LAZE_PASSED_REAL;
  case LAZE_PASS_INTEGERS: return argument->count == 0 ? LAZE_PASSED_EMPTY_LIST : LAZE_PASSED_INT_LIST;
  case LAZE_PASS_REALS:
    if (argument->count < 0 || (argument->count > 0 && !argument->value.reals)) return LAZE_PASSED_OTHER;
    return argument->count == 0 ? LAZE_PASSED_EMPTY_LIST : LAZE_PASSED_FLOAT_LIST;
  case LAZE_PASS_STRINGS: return kind_of_strings(argument);
  case LAZE_PASS_STRING: return argument->value.string ? LAZE_PASSED_STRING : LAZE_PASSED_OTHER;
  case LAZE_PASS_BOOL: return LAZE_PASSED_BOOL;
  case LAZE_PASS_DTYPE: return LAZE_PASSED_DTYPE;
  case LAZE_PASS_NONE: return LAZE_PASSED_ABSENT;
  case LAZE_PASS_SIZES:
    if (argument->count < 0 || (argument->count > 0 && !argument->value.sizes)) return LAZE_PASSED_OTHER;
    return argument->count == 0 ? LAZE_PASSED_EMPTY_LIST : LAZE_PASSED_MIXED_LIST;
  }
  return LAZE_PASSED_OTHER; /* not one of the enumeration */
}

/* A tensor that may stand for a number. */
static bool is_scalar_tensor(const laze_argument *argument) {
  laze_tensor *tensor = argument->kind == LAZE_PASS_TENSOR ? argument->value.tensor : NULL;
  return tensor && laze_tensor_rank(tensor) == 0 && laze_dtype_is_index(laze_tensor_dtype(tensor));
}

/* Tells the ranking what is passed. */
static laze_status list_passed(const laze_named_call *given, laze_passed *listed, laze_error *error) {
  if (!given->name) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_call_by_name: the operator's name is NULL");
  if (given->count < 0 || given->count > MAX_ARGUMENTS)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%.64s: %d arguments were passed; no operator takes more than %d",
                     given->name, (int)given->count, MAX_ARGUMENTS);
  const char *named = NULL; /* the last one with a name */
  for (int32_t i = 0; i < given->count; i++) {
    const laze_argument *argument = &given->arguments[i];
    if (!argument->name && named)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "%.64s: argument %d is passed by position behind '%.64s', which has a name; give it one, too",
                       given->name, (int)i, named);
    named = argument->name;
    listed[i] = (laze_passed){
        .name = named, .name_length = named ? (int32_t)strnlen(named, MAX_NAME) : 0, .kind = kind_of(argument)};
  }
  return LAZE_OK;
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

/* Finds the operator. Where none takes what is passed as it is, tensors may stand for sizes. */
static laze_status resolve(const laze_named_call *given, laze_positions positions, laze_passed *listed, laze_op *out,
                           laze_error *error) {
  LAZE_TRY(list_passed(given, listed, error));
  laze_overload_call call = {given->name, positions, listed, given->count, false, true};
  laze_status status = laze_call_resolve(&call, out, error);
  if (status == LAZE_OK) return check_numbers(given, listed, *out, error);
  if (status != LAZE_INVALID_ARGUMENT) return status;
  for (int32_t i = 0; i < given->count; i++)
    if (is_scalar_tensor(&given->arguments[i])) listed[i].kind = LAZE_PASSED_SCALAR_TENSOR;
  call.sizes_from_values = true;
  return laze_call_resolve(&call, out, NULL) == LAZE_OK ? LAZE_OK : status;
}

laze_status laze_named_call_match(laze_named_call *given, laze_arena *arena, laze_op *out, laze_error *error) {
  laze_passed listed[MAX_ARGUMENTS];
  LAZE_TRY(resolve(given, LAZE_POSITIONS_ALL, listed, out, error));
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
  laze_passed listed[MAX_ARGUMENTS];
  laze_error refusal;
  laze_op op;
  laze_arena arena;
  laze_named_call given = {.name = name, .arguments = arguments, .count = arguments ? argument_count : 0};
  laze_positions positions = positions_end ? LAZE_POSITIONS_BEFORE_KEYWORDS : LAZE_POSITIONS_ALL;
  laze_arena_init(&arena, laze_context_default());
  laze_status status = laze_named_call_form(&given, &arena, &refusal);
  if (status == LAZE_OK) status = resolve(&given, positions, listed, &op, &refusal);
  laze_arena_deinit(&arena);
  if (status != LAZE_OK && error) *error = refusal;
  return status;
}
