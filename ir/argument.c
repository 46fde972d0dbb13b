/* What is passed by name, as attributes:
 *
 *   argument    passed as                    attribute
 *   SymInt[]    integers, a number           sizes: numbers, and in graphs expressions
 *   float[]     reals, integers, a number    reals
 */
#include "ir/argument.h"

#include "base/dtype.h"
#include "ir/attribute.h"

#include <string.h>

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

laze_passed_kind laze_argument_passed(const laze_argument *argument) {
  switch (argument->kind) {
  case LAZE_PASS_DEFAULT: return LAZE_PASSED_LEFT_OUT;
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
  }
  return LAZE_PASSED_OTHER; /* not one of the enumeration */
}

laze_status laze_arguments_list(const char *function, const char *name, const laze_argument *arguments, int32_t count,
                                laze_passed_kind (*kind_of)(const laze_argument *argument), laze_passed *passed,
                                laze_error *error) {
  if (!name) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the operator's name is NULL", function);
  if (count < 0 || count > LAZE_MOST_ARGUMENTS)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%.64s: %d arguments were passed; no operator takes more than %d",
                     name, (int)count, LAZE_MOST_ARGUMENTS);
  const char *named = NULL; /* the last one with a name */
  for (int32_t i = 0; i < count; i++) {
    const laze_argument *argument = &arguments[i];
    if (!argument->name && named)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "%.64s: argument %d is passed by position behind '%.64s', which has a name; give it one, too",
                       name, (int)i, named);
    named = argument->name;
    passed[i] = (laze_passed){.name = named,
                              .name_length = named ? (int32_t)strnlen(named, LAZE_LONGEST_NAME) : 0,
                              .kind = kind_of(argument)};
  }
  return LAZE_OK;
}

bool laze_argument_is_number(const laze_argument *argument) {
  return argument->kind == LAZE_PASS_SCALAR || argument->kind == LAZE_PASS_INTEGER ||
         argument->kind == LAZE_PASS_REAL || argument->kind == LAZE_PASS_BOOL;
}

laze_scalar laze_argument_scalar(const laze_argument *argument) {
  if (argument->kind == LAZE_PASS_INTEGER) return laze_scalar_integer(argument->value.integer);
  if (argument->kind == LAZE_PASS_REAL) return laze_scalar_real(argument->value.real);
  if (argument->kind == LAZE_PASS_BOOL) return laze_scalar_boolean(argument->value.integer != 0);
  return argument->value.scalar;
}

/* An integer or a bool, in either of the ways to pass one. */
static int64_t integer_of(const laze_argument *argument) {
  return argument->kind == LAZE_PASS_SCALAR ? argument->value.scalar.value.integer : argument->value.integer;
}

/* A size: a number, or an expression of the table. */
static laze_status read_size(const laze_size_table *sizes, const laze_argument_info *info, int64_t number,
                             laze_size *out, laze_error *error) {
  *out = sizes ? number : laze_size_from_number(number);
  if (!sizes || laze_size_is_valid(sizes, number)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "argument '%s': %lld is neither a number from -2^62 nor a size of this graph; laze_graph_size() "
                   "gives these",
                   info->name, (long long)number);
}

/* The ranking takes any list of integers for one; of other kinds it asks itself. */
static laze_status check_integers(const laze_argument_info *info, const laze_argument *argument, laze_error *error) {
  if (argument->count == 0 || (argument->count > 0 && argument->value.integers)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "argument '%s': %d integers at %p are no list; pass how many there are and where they are",
                   info->name, (int)argument->count, (const void *)argument->value.integers);
}

static laze_status pack_reals(laze_arena *arena, const laze_argument_info *info, const laze_argument *argument,
                              laze_attribute *out, laze_error *error) {
  bool single = laze_argument_is_number(argument);
  int32_t count = single ? info->list_size : argument->count;
  if (argument->kind == LAZE_PASS_INTEGERS) LAZE_TRY(check_integers(info, argument, error));
  double *items = laze_arena_alloc_array(arena, count, sizeof *items);
  if (!items) return laze_fail_memory(error, "a list of numbers", -1);
  for (int32_t i = 0; i < count; i++)
    items[i] = single                                 ? laze_scalar_as_real(laze_argument_scalar(argument))
               : argument->kind == LAZE_PASS_INTEGERS ? (double)argument->value.integers[i]
                                                      : argument->value.reals[i];
  *out = laze_attribute_reals(items, count);
  return LAZE_OK;
}

/* They lie behind each other. */
static laze_status pack_strings(laze_arena *arena, const laze_argument *argument, laze_attribute *out,
                                laze_error *error) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < argument->count; i++) bytes += (int64_t)strlen(argument->value.strings[i]) + 1;
  char *packed = laze_arena_alloc(arena, bytes), *end = packed;
  if (!packed) return laze_fail_memory(error, "a list of strings", bytes);
  for (int32_t i = 0; i < argument->count; i++) {
    size_t length = strlen(argument->value.strings[i]) + 1;
    memcpy(end, argument->value.strings[i], length);
    end += length;
  }
  *out = laze_attribute_strings(packed, argument->count);
  return LAZE_OK;
}

static laze_status pack_list(laze_arena *arena, const laze_size_table *sizes, const laze_argument_info *info,
                             const laze_argument *argument, laze_attribute *out, laze_error *error) {
  bool single = laze_argument_is_number(argument);
  int32_t count = single ? info->list_size : argument->count;
  if (argument->kind == LAZE_PASS_INTEGERS) LAZE_TRY(check_integers(info, argument, error));
  laze_size *items = laze_arena_alloc_array(arena, count, sizeof *items);
  if (!items) return laze_fail_memory(error, "a list of integers", -1);
  for (int32_t i = 0; i < count; i++) {
    items[i] = single ? integer_of(argument) : argument->value.integers[i];
    if (sizes && info->kind == LAZE_ARGUMENT_SIZE_LIST) LAZE_TRY(read_size(sizes, info, items[i], &items[i], error));
  }
  out->count = count;
  out->value.items = items;
  return LAZE_OK;
}

laze_status laze_argument_pack(laze_arena *arena, const laze_size_table *sizes, const laze_argument_info *info,
                               const laze_argument *argument, laze_attribute *out, laze_error *error) {
  if (!argument || argument->kind == LAZE_PASS_NONE) {
    *out = !argument && info->has_default ? info->default_value : (laze_attribute){.kind = (uint8_t)info->kind};
    return LAZE_OK;
  }
  *out = (laze_attribute){.kind = (uint8_t)info->kind, .present = true};
  switch (info->kind) {
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST: return pack_list(arena, sizes, info, argument, out, error);
  case LAZE_ARGUMENT_FLOAT_LIST: return pack_reals(arena, info, argument, out, error);
  case LAZE_ARGUMENT_STRING_LIST: return pack_strings(arena, argument, out, error);
  case LAZE_ARGUMENT_STRING: out->value.string = argument->value.string; return LAZE_OK;
  case LAZE_ARGUMENT_LITERAL: out->value.literal = laze_argument_scalar(argument); return LAZE_OK;
  case LAZE_ARGUMENT_FLOAT: out->value.real = laze_scalar_as_real(laze_argument_scalar(argument)); return LAZE_OK;
  case LAZE_ARGUMENT_SIZE: return read_size(sizes, info, integer_of(argument), &out->value.size, error);
  case LAZE_ARGUMENT_BOOL: out->value.integer = integer_of(argument) != 0; return LAZE_OK;
  case LAZE_ARGUMENT_INT:
  case LAZE_ARGUMENT_DTYPE: out->value.integer = integer_of(argument); return LAZE_OK;
  case LAZE_ARGUMENT_TENSOR:
  case LAZE_ARGUMENT_TENSOR_LIST:
  case LAZE_ARGUMENT_OPTIONAL_LIST:
  case LAZE_ARGUMENT_SCALAR: break; /* operands */
  case LAZE_ARGUMENT_DATA: break;   /* fits nothing that can be passed */
  }
  return laze_fail(error, LAZE_INTERNAL, "argument '%s' is no attribute of a call by name", info->name);
}
