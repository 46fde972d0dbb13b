/* From what is passed to what a node holds, and back to what a kernel sees. */
#include "lazy/library/arguments.h"

#include "base/dtype.h"
#include "ir/attribute.h"
#include "lazy/record/named_call.h"

#include <string.h>

/* --- binding --- */

/* The one operator that the name means, for the ranking of overloads. */
static bool candidate_of(const void *self, const char *name, int32_t index, laze_candidate *out) {
  const laze_library_schema *schema = self;
  (void)name;
  if (index > 0) return false;
  *out = (laze_candidate){schema, schema->name, schema->text, schema->argument_count};
  return true;
}

static void parameter_of(const void *op, int32_t index, laze_parameter *out) {
  const laze_argument_info *argument = &((const laze_library_schema *)op)->arguments[index];
  *out = (laze_parameter){.name = argument->name,
                          .kind = argument->kind,
                          .may_be_absent = argument->optional,
                          .may_be_left_out = argument->optional || argument->has_default,
                          .keyword_only = argument->keyword_only,
                          .list_size = argument->list_size};
}

/* Items that are strings behind each other, as strings. */
static laze_status unpack_strings(laze_arena *arena, const laze_attribute *attribute, laze_argument *out,
                                  laze_error *error) {
  const char **items = laze_arena_alloc_array(arena, attribute->count, sizeof *items);
  if (!items) return laze_fail_memory(error, "a list of strings", -1);
  for (int32_t i = 0; i < attribute->count; i++) items[i] = laze_attribute_text(attribute, i);
  *out = (laze_argument){.kind = LAZE_PASS_STRINGS, .count = attribute->count, .value.strings = items};
  return LAZE_OK;
}

static laze_status bind_attribute(laze_arena *arena, const laze_argument_info *info, const laze_argument *given,
                                  laze_argument *out, laze_error *error) {
  laze_attribute attribute;
  LAZE_TRY(laze_argument_pack(arena, NULL, info, given, &attribute, error));
  *out = (laze_argument){.kind = LAZE_PASS_NONE};
  if (!attribute.present) return LAZE_OK;
  switch (info->kind) {
  case LAZE_ARGUMENT_STRING_LIST: return unpack_strings(arena, &attribute, out, error);
  case LAZE_ARGUMENT_FLOAT_LIST:
    *out = (laze_argument){.kind = LAZE_PASS_REALS, .count = attribute.count, .value.reals = attribute.value.reals};
    return LAZE_OK;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST:
    *out =
        (laze_argument){.kind = LAZE_PASS_INTEGERS, .count = attribute.count, .value.integers = attribute.value.items};
    return LAZE_OK;
  case LAZE_ARGUMENT_FLOAT:
    *out = (laze_argument){.kind = LAZE_PASS_REAL, .value.real = attribute.value.real};
    return LAZE_OK;
  case LAZE_ARGUMENT_STRING:
    *out = (laze_argument){.kind = LAZE_PASS_STRING, .value.string = attribute.value.string};
    return LAZE_OK;
  case LAZE_ARGUMENT_BOOL:
    *out = (laze_argument){.kind = LAZE_PASS_BOOL, .value.integer = attribute.value.integer};
    return LAZE_OK;
  case LAZE_ARGUMENT_DTYPE:
    *out = (laze_argument){.kind = LAZE_PASS_DTYPE, .value.integer = attribute.value.integer};
    return LAZE_OK;
  default: *out = (laze_argument){.kind = LAZE_PASS_INTEGER, .value.integer = attribute.value.integer}; return LAZE_OK;
  }
}

static bool is_given(const laze_argument *given) {
  return given && given->kind != LAZE_PASS_NONE;
}

static laze_status bind_operand(const laze_argument_info *info, const laze_argument *given, const char *name,
                                laze_argument *out, laze_error *error) {
  *out = (laze_argument){.kind = LAZE_PASS_NONE};
  if (info->kind == LAZE_ARGUMENT_SCALAR && given == NULL && info->has_default && info->default_value.present)
    *out = (laze_argument){.kind = LAZE_PASS_SCALAR, .value.scalar = info->default_value.value.literal};
  if (!is_given(given)) return LAZE_OK;
  const bool is_null = given->kind == LAZE_PASS_TENSOR && !given->value.tensor;
  if (is_null && info->optional) return LAZE_OK;
  *out = *given;
  out->name = NULL;
  if (laze_argument_is_number(given))
    *out = (laze_argument){.kind = LAZE_PASS_SCALAR, .value.scalar = laze_argument_scalar(given)};
  if (is_null || (info->kind == LAZE_ARGUMENT_TENSOR && out->kind == LAZE_PASS_SCALAR))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: argument '%s' is %s; a tensor was expected", name, info->name,
                     is_null ? "NULL" : "a number");
  return LAZE_OK;
}

static laze_status match(const laze_library_schema *schema, const laze_argument *arguments, int32_t count,
                         laze_passed *listed, laze_error *error) {
  laze_candidate candidate;
  char reason[200];
  const laze_overloads overloads = {.self = schema, .candidate = candidate_of, .parameter = parameter_of};
  const laze_overload_call call = {schema->name, LAZE_POSITIONS_ALL, listed, count, false, false};
  LAZE_TRY(
      laze_arguments_list("laze_library_call", schema->name, arguments, count, laze_named_call_passed, listed, error));
  if (laze_overload_choose(&overloads, &call, &candidate)) return LAZE_OK;
  (void)candidate_of(schema, schema->name, 0, &candidate);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s; the schema is %.200s", schema->name,
                   laze_overload_reason(&overloads, &call, &candidate, reason, sizeof reason), schema->text);
}

laze_status laze_library_bind(laze_arena *arena, const laze_library_schema *schema, const laze_argument *arguments,
                              int32_t count, laze_argument *bound, laze_error *error) {
  const laze_argument *given[LAZE_MOST_ARGUMENTS] = {NULL};
  laze_passed listed[LAZE_MOST_ARGUMENTS];
  LAZE_TRY(match(schema, arguments, arguments ? count : 0, listed, error));
  for (int32_t i = 0; arguments && i < count; i++)
    if (listed[i].kind != LAZE_PASSED_LEFT_OUT) given[listed[i].argument] = &arguments[i];
  for (int32_t i = 0; i < schema->argument_count; i++) {
    const laze_argument_info *info = &schema->arguments[i];
    const laze_status status = laze_argument_is_operand(info->kind)
                                   ? bind_operand(info, given[i], schema->name, &bound[i], error)
                                   : bind_attribute(arena, info, given[i], &bound[i], error);
    if (status != LAZE_OK) return laze_error_prefix(error, "%s", schema->name);
  }
  return LAZE_OK;
}

/* --- laying out --- */

int32_t laze_library_tensors(const laze_library_schema *schema, const laze_argument *bound, laze_tensor **out) {
  int32_t count = 0;
  for (int32_t i = 0; i < schema->argument_count; i++) {
    const bool is_list = bound[i].kind == LAZE_PASS_TENSORS;
    if (!is_list && bound[i].kind != LAZE_PASS_TENSOR) continue;
    for (int32_t k = 0; k < (is_list ? bound[i].count : 1); k++, count++)
      if (out) out[count] = is_list ? bound[i].value.tensors[k] : bound[i].value.tensor;
  }
  return count;
}

static laze_status room_for(laze_arena *arena, const laze_library_schema *schema, const laze_argument *bound,
                            laze_library_layout *out, laze_error *error) {
  int64_t items = 2 * schema->argument_count;
  for (int32_t i = 0; i < schema->argument_count; i++)
    items += bound[i].kind == LAZE_PASS_SCALAR || bound[i].count > 0 ? 1 + bound[i].count : 0;
  *out = (laze_library_layout){0};
  out->operands =
      laze_arena_alloc_array(arena, items + laze_library_tensors(schema, bound, NULL), sizeof *out->operands);
  out->made = laze_arena_alloc_array(arena, items, sizeof(laze_tensor *));
  out->integers = laze_arena_alloc_array(arena, items, sizeof *out->integers);
  out->reals = laze_arena_alloc_array(arena, items, sizeof *out->reals);
  out->strings = laze_arena_alloc_array(arena, items, sizeof *out->strings);
  return out->operands && out->made && out->integers && out->reals && out->strings
             ? LAZE_OK
             : laze_fail_memory(error, "a call", -1);
}

static bool is_list(laze_argument_kind kind) {
  return kind == LAZE_ARGUMENT_TENSOR_LIST || (kind >= LAZE_ARGUMENT_INT_LIST && kind <= LAZE_ARGUMENT_STRING_LIST);
}

/* A number is an operand: it is an input of what runs, and another one compiles nothing. */
static laze_status add_number(laze_arena *arena, laze_scalar number, laze_library_layout *out, laze_error *error) {
  if (number.dtype == LAZE_C128)
    return laze_fail(error, LAZE_UNSUPPORTED, "a Scalar is complex; kernels take real ones");
  if (number.dtype == LAZE_U64 && number.value.integer < 0)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "a Scalar is %llu; kernels take integers of 64 bits with a sign",
                     (unsigned long long)number.value.integer);
  const laze_dtype dtype = number.dtype == LAZE_BOOL ? LAZE_BOOL : laze_scalar_is_real(number) ? LAZE_F64 : LAZE_I64;
  laze_tensor *made = laze_tensor_from_scalar(arena->context, dtype, number);
  out->operands[out->operand_count++] = out->made[out->made_count++] = made;
  return LAZE_OK;
}

void laze_library_give_back(const laze_library_layout *layout) {
  for (int32_t i = 0; i < layout->made_count; i++) laze_tensor_release(laze_tensor_take(layout->made[i]));
}

static laze_status lay_out_one(laze_arena *arena, const laze_argument *bound, laze_library_layout *out,
                               laze_error *error) {
  switch (bound->kind) {
  case LAZE_PASS_TENSOR: out->operands[out->operand_count++] = bound->value.tensor; return LAZE_OK;
  case LAZE_PASS_SCALAR: return add_number(arena, bound->value.scalar, out, error);
  case LAZE_PASS_REAL: out->reals[out->real_count++] = bound->value.real; return LAZE_OK;
  case LAZE_PASS_STRING: out->strings[out->string_count++] = bound->value.string; return LAZE_OK;
  case LAZE_PASS_INTEGER:
  case LAZE_PASS_BOOL:
  case LAZE_PASS_DTYPE: out->integers[out->integer_count++] = bound->value.integer; return LAZE_OK;
  default: break;
  }
  for (int32_t i = 0; i < bound->count; i++) {
    if (bound->kind == LAZE_PASS_TENSORS) out->operands[out->operand_count++] = bound->value.tensors[i];
    if (bound->kind == LAZE_PASS_INTEGERS) out->integers[out->integer_count++] = bound->value.integers[i];
    if (bound->kind == LAZE_PASS_REALS) out->reals[out->real_count++] = bound->value.reals[i];
    if (bound->kind == LAZE_PASS_STRINGS) out->strings[out->string_count++] = bound->value.strings[i];
  }
  return LAZE_OK;
}

laze_status laze_library_lay_out(laze_arena *arena, const laze_library_schema *schema, const laze_argument *bound,
                                 laze_library_layout *out, laze_error *error) {
  LAZE_TRY(room_for(arena, schema, bound, out, error));
  for (int32_t i = 0; i < schema->argument_count; i++) {
    const laze_argument_info *info = &schema->arguments[i];
    const bool absent = bound[i].kind == LAZE_PASS_NONE;
    if (is_list(info->kind))
      out->integers[out->integer_count++] = absent ? -1 : bound[i].count;
    else if (info->optional)
      out->integers[out->integer_count++] = !absent;
    if (!absent && lay_out_one(arena, &bound[i], out, error) != LAZE_OK)
      return laze_error_prefix(error, "%s: argument '%s'", schema->name, info->name);
  }
  return LAZE_OK;
}

/* --- reading back --- */

/* What is left of a call's lists. */
typedef struct {
  const laze_opaque_call *call;
  const laze_opaque_tensor *operands;
  int32_t operand, integer, real, string;
  bool fits;
} layout_reader;

static int64_t next_integer(layout_reader *self) {
  self->fits &= self->integer < self->call->integers.count;
  return self->fits ? self->call->integers.items[self->integer++] : 0;
}

/* Takes `count` items of a list; where there are not so many, none. */
static int32_t take(layout_reader *self, int32_t *next, int32_t all, int64_t count) {
  const int32_t begins = *next;
  self->fits &= count >= 0 && count <= all - begins;
  if (self->fits) *next += (int32_t)count;
  return begins;
}

static void read_items(layout_reader *self, laze_argument_kind kind, int64_t count, laze_library_value *out) {
  const laze_opaque_call *call = self->call;
  out->count = (int32_t)count;
  switch (kind) {
  case LAZE_ARGUMENT_FLOAT_LIST:
    out->kind = LAZE_PASS_REALS;
    out->value.reals = call->reals.items + take(self, &self->real, call->reals.count, count);
    return;
  case LAZE_ARGUMENT_STRING_LIST:
    out->kind = LAZE_PASS_STRINGS;
    out->value.strings = call->strings.items + take(self, &self->string, call->strings.count, count);
    return;
  case LAZE_ARGUMENT_TENSOR_LIST:
    out->kind = LAZE_PASS_TENSORS;
    out->value.tensors = self->operands + take(self, &self->operand, call->operand_count, count);
    return;
  default:
    out->kind = LAZE_PASS_INTEGERS;
    out->value.integers = call->integers.items + take(self, &self->integer, call->integers.count, count);
  }
}

/* A number that is an operand; where types are asked for, its value is not known. */
static void read_number(layout_reader *self, laze_library_value *out) {
  const int32_t index = take(self, &self->operand, self->call->operand_count, 1);
  out->kind = LAZE_PASS_DEFAULT;
  if (!self->fits) return;
  const laze_opaque_tensor *operand = &self->operands[index];
  self->fits &= operand->rank == 0 && !laze_dtype_is_complex(operand->dtype);
  if (!self->fits || !operand->data) return;
  const laze_scalar number = laze_scalar_load(operand->dtype, operand->data, 0);
  out->kind = number.dtype == LAZE_BOOL     ? LAZE_PASS_BOOL
              : laze_scalar_is_real(number) ? LAZE_PASS_REAL
                                            : LAZE_PASS_INTEGER;
  if (out->kind == LAZE_PASS_REAL)
    out->value.real = number.value.real;
  else
    out->value.integer = number.value.integer;
}

static void read_one(layout_reader *self, laze_argument_kind kind, laze_library_value *out) {
  const laze_opaque_call *call = self->call;
  int32_t index;
  switch (kind) {
  case LAZE_ARGUMENT_TENSOR:
    out->kind = LAZE_PASS_TENSOR;
    out->value.tensors = self->operands + take(self, &self->operand, call->operand_count, 1);
    return;
  case LAZE_ARGUMENT_SCALAR: read_number(self, out); return;
  case LAZE_ARGUMENT_FLOAT:
    index = take(self, &self->real, call->reals.count, 1);
    out->kind = LAZE_PASS_REAL;
    if (self->fits) out->value.real = call->reals.items[index];
    return;
  case LAZE_ARGUMENT_STRING:
    index = take(self, &self->string, call->strings.count, 1);
    out->kind = LAZE_PASS_STRING;
    if (self->fits) out->value.string = call->strings.items[index];
    return;
  default:
    out->kind = kind == LAZE_ARGUMENT_BOOL    ? LAZE_PASS_BOOL
                : kind == LAZE_ARGUMENT_DTYPE ? LAZE_PASS_DTYPE
                                              : LAZE_PASS_INTEGER;
    out->value.integer = next_integer(self);
  }
}

laze_status laze_library_read_layout(const laze_library_schema *schema, const laze_opaque_call *call,
                                     const laze_opaque_tensor *operands, laze_library_value *values, int32_t *first,
                                     laze_error *error) {
  layout_reader self = {.call = call, .operands = operands, .fits = true};
  for (int32_t i = 0; i < schema->argument_count && self.fits; i++) {
    const laze_argument_info *info = &schema->arguments[i];
    int64_t count = 1;
    values[i] = (laze_library_value){.kind = LAZE_PASS_NONE};
    if (first) first[i] = self.operand;
    if (is_list(info->kind) || info->optional) count = next_integer(&self);
    if (!self.fits || (info->optional && count == (is_list(info->kind) ? -1 : 0))) continue;
    if (is_list(info->kind))
      read_items(&self, info->kind, count, &values[i]);
    else
      read_one(&self, info->kind, &values[i]);
  }
  if (self.fits && self.operand == call->operand_count && self.integer == call->integers.count &&
      self.real == call->reals.count && self.string == call->strings.count)
    return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "its operands and lists are none of a call of %.200s; record it again",
                   schema->text);
}
