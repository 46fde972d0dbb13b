/* Boxed calls: the operator is found by name and by what its arguments accept, then recorded like any other. */
#include "base/arena.h"
#include "base/checked.h"
#include "base/float_control.h"
#include "lazy/frame.h"
#include "lazy/handle_table.h"
#include "lazy/pack.h"

#include <string.h>

typedef struct {
  const laze_argument *arguments; /* in schema order */
  int32_t count;
} passed;

static bool is_default(const passed *given, int32_t index) {
  return index >= given->count || given->arguments[index].kind == LAZE_PASS_DEFAULT;
}

static bool is_number(int32_t kind) {
  return kind == LAZE_PASS_SCALAR || kind == LAZE_PASS_INTEGER || kind == LAZE_PASS_REAL;
}

/* Whether what was passed can stand for this argument of the schema. */
static bool accepts_argument(const laze_argument_info *info, const passed *given, int32_t index) {
  if (is_default(given, index)) return info->optional || info->has_default;
  const laze_argument *argument = &given->arguments[index];
  switch (info->kind) {
  case LAZE_ARGUMENT_TENSOR: return argument->kind == LAZE_PASS_TENSOR;
  case LAZE_ARGUMENT_TENSOR_LIST:
    return argument->kind == LAZE_PASS_TENSORS && (argument->value.tensors || argument->count <= 0);
  case LAZE_ARGUMENT_SCALAR:
  case LAZE_ARGUMENT_LITERAL: return is_number(argument->kind);
  case LAZE_ARGUMENT_FLOAT: return argument->kind == LAZE_PASS_REAL || argument->kind == LAZE_PASS_INTEGER;
  case LAZE_ARGUMENT_STRING: return argument->kind == LAZE_PASS_STRING && argument->value.string;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST:
    return argument->kind == LAZE_PASS_INTEGERS || (argument->kind == LAZE_PASS_INTEGER && info->list_size > 0);
  case LAZE_ARGUMENT_DATA: return false;
  default: return argument->kind == LAZE_PASS_INTEGER;
  }
}

/* The index of the first argument that the operator does not accept; -1 when it accepts all. */
static int32_t first_refused(const laze_op_info *info, const passed *given) {
  for (int32_t i = 0; i < info->argument_count; i++)
    if (!accepts_argument(&info->arguments[i], given, i)) return i;
  return given->count > info->argument_count ? info->argument_count : -1;
}

/* Lists the schemas of the name's overloads. */
static laze_status fail_overloads(const char *name, laze_error *error) {
  char list[700] = "";
  size_t length = 0;
  for (int i = 0; laze_op_overload(name, i) != LAZE_OP_NONE && length < sizeof list - 1; i++) {
    const char *schema = laze_op_get(laze_op_overload(name, i))->schema;
    size_t room = sizeof list - 1 - length, size = strlen(schema) + 3;
    if (size > room) break;
    memcpy(list + length, "\n  ", 3);
    memcpy(list + length + 3, schema, size - 3);
    length += size;
    list[length] = 0;
  }
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: no overload accepts these arguments; there are%s", name, list);
}

static laze_status find_op(const char *name, const passed *given, laze_op *out, laze_error *error) {
  if (!name) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_call_by_name: the operator's name is NULL");
  laze_op op = laze_op_find(name);
  if (op != LAZE_OP_NONE) {
    const laze_op_info *info = laze_op_get(op);
    int32_t refused = first_refused(info, given);
    *out = op;
    if (refused < 0) return LAZE_OK;
    if (refused == info->argument_count)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d arguments were passed, but the schema is %s", info->name,
                       (int)given->count, info->schema);
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     is_default(given, refused) ? "%s: argument '%s' is missing; the schema is %s"
                                                : "%s: argument '%s' has the wrong kind; the schema is %s",
                     info->name, info->arguments[refused].name, info->schema);
  }
  if (laze_op_overload(name, 0) == LAZE_OP_NONE)
    return laze_fail(error, LAZE_NOT_FOUND, "no operator is called '%s'", name);
  for (int i = 0; (op = laze_op_overload(name, i)) != LAZE_OP_NONE; i++) {
    *out = op;
    if (first_refused(laze_op_get(op), given) < 0) return LAZE_OK;
  }
  return fail_overloads(name, error);
}

static laze_scalar scalar_of(const laze_argument *argument) {
  if (argument->kind == LAZE_PASS_INTEGER) return laze_scalar_integer(argument->value.integer);
  if (argument->kind == LAZE_PASS_REAL) return laze_scalar_real(argument->value.real);
  return argument->value.scalar;
}

/* A frame being packed. */
typedef struct {
  laze_arena arena;
  laze_frame_operand *operands;
  int32_t operand_count;
  int32_t *segments;
  laze_attribute *attributes;
} packing;

static void pack_operand(packing *pack, const laze_argument_info *info, const passed *given, int32_t index) {
  int32_t *segment = &pack->segments[info->position];
  const laze_argument *argument = &given->arguments[index];
  *segment = -1;
  if (is_default(given, index)) return;
  if (info->kind == LAZE_ARGUMENT_TENSOR_LIST) {
    *segment = argument->count > 0 ? argument->count : 0;
    for (int32_t i = 0; i < *segment; i++)
      pack->operands[pack->operand_count++] = (laze_frame_operand){.tensor = argument->value.tensors[i]};
    return;
  }
  if (info->kind == LAZE_ARGUMENT_TENSOR && info->optional && !argument->value.tensor) return;
  *segment = 1;
  laze_frame_operand *operand = &pack->operands[pack->operand_count++];
  if (info->kind == LAZE_ARGUMENT_TENSOR)
    *operand = (laze_frame_operand){.tensor = argument->value.tensor};
  else
    *operand = (laze_frame_operand){.scalar = scalar_of(argument)};
}

static laze_status pack_list(packing *pack, const laze_argument_info *info, const laze_argument *argument,
                             laze_attribute *out, laze_error *error) {
  bool single = argument->kind == LAZE_PASS_INTEGER;
  int32_t count = single ? info->list_size : argument->count;
  if (count < 0 || (count > 0 && !single && !argument->value.integers))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "argument '%s': %d integers at %p are no list", info->name,
                     (int)count, (const void *)argument->value.integers);
  laze_size *items = laze_arena_alloc_array(&pack->arena, count, sizeof *items);
  if (!items) return laze_fail_memory(error, "a list of integers", count);
  for (int32_t i = 0; i < count; i++) {
    items[i] = single ? argument->value.integer : argument->value.integers[i];
  }
  out->count = count;
  out->value.items = items;
  return LAZE_OK;
}

static laze_status pack_attribute(packing *pack, const laze_argument_info *info, const passed *given, int32_t index,
                                  laze_error *error) {
  laze_attribute *out = &pack->attributes[info->position];
  if (is_default(given, index)) {
    *out = info->has_default ? info->default_value : (laze_attribute){.kind = (uint8_t)info->kind};
    return LAZE_OK;
  }
  const laze_argument *argument = &given->arguments[index];
  *out = (laze_attribute){.kind = (uint8_t)info->kind, .present = true};
  switch (info->kind) {
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST: return pack_list(pack, info, argument, out, error);
  case LAZE_ARGUMENT_STRING: out->value.string = argument->value.string; return LAZE_OK;
  case LAZE_ARGUMENT_LITERAL: out->value.literal = scalar_of(argument); return LAZE_OK;
  case LAZE_ARGUMENT_FLOAT:
    out->value.real = argument->kind == LAZE_PASS_REAL ? argument->value.real : (double)argument->value.integer;
    return LAZE_OK;
  case LAZE_ARGUMENT_SIZE: out->value.size = laze_size_saturate(argument->value.integer); return LAZE_OK;
  case LAZE_ARGUMENT_BOOL: out->value.integer = argument->value.integer != 0; return LAZE_OK;
  default: out->value.integer = argument->value.integer; return LAZE_OK;
  }
}

static laze_status pack_frame(packing *pack, const laze_op_info *info, const passed *given, laze_error *error) {
  int64_t operands = info->argument_count;
  for (int32_t i = 0; i < given->count; i++)
    if (given->arguments[i].kind == LAZE_PASS_TENSORS && given->arguments[i].count > 0)
      operands += given->arguments[i].count;
  pack->operands = laze_arena_alloc_array(&pack->arena, operands, sizeof *pack->operands);
  pack->segments = laze_arena_alloc_array(&pack->arena, info->segment_count, sizeof *pack->segments);
  pack->attributes = laze_arena_alloc_array(&pack->arena, info->attribute_count, sizeof *pack->attributes);
  if (!pack->operands || !pack->segments || !pack->attributes) return laze_fail_memory(error, info->name, -1);
  for (int32_t i = 0; i < info->argument_count; i++) {
    if (laze_argument_is_operand(info->arguments[i].kind))
      pack_operand(pack, &info->arguments[i], given, i);
    else if (pack_attribute(pack, &info->arguments[i], given, i, error) != LAZE_OK)
      return laze_error_prefix(error, "%s", info->name);
  }
  return LAZE_OK;
}

/* The lazy object of the first tensor, or else of the context. */
static laze_lazy *find_lazy(laze_context *context, const passed *given) {
  for (int32_t i = 0; i < given->count; i++) {
    const laze_argument *argument = &given->arguments[i];
    laze_lazy *lazy = argument->kind == LAZE_PASS_TENSOR ? laze_handle_lazy(argument->value.tensor)
                      : argument->kind == LAZE_PASS_TENSORS && argument->count > 0 && argument->value.tensors
                          ? laze_handle_lazy(argument->value.tensors[0])
                          : NULL;
    if (lazy) return lazy;
  }
  return laze_lazy_get(context);
}

static laze_tensor *fail_call(laze_lazy *lazy, const laze_error *error) {
  laze_lazy_recorder *recorder = laze_lazy_lock(lazy);
  if (!recorder) return laze_handle_out_of_memory();
  laze_tensor *handle = laze_handle_fail(recorder, error);
  laze_lazy_unlock(lazy);
  return handle;
}

static int32_t call_by_name(laze_context *context, const char *name, const laze_argument *arguments,
                            int32_t argument_count, laze_tensor **results, int32_t capacity) {
  passed given = {arguments, arguments ? argument_count : 0};
  laze_lazy *lazy = find_lazy(context, &given);
  if (!lazy) {
    results[0] = laze_handle_out_of_memory();
    return 1;
  }
  laze_error error;
  laze_op op = LAZE_OP_NONE;
  packing pack = {0};
  laze_arena_init(&pack.arena, lazy->context);
  laze_status status = find_op(name, &given, &op, &error);
  const laze_op_info *info = laze_op_get(op);
  if (status == LAZE_OK && info->result_count > capacity)
    status = laze_fail(&error, LAZE_INVALID_ARGUMENT, "%s gives %d results, but there is room for %d", info->name,
                       (int)info->result_count, (int)capacity);
  if (status == LAZE_OK) status = pack_frame(&pack, info, &given, &error);
  int32_t count = 1;
  if (status == LAZE_OK) {
    laze_frame frame = {.context = lazy->context,
                        .called = name,
                        .op = op,
                        .operand_count = pack.operand_count,
                        .operands = pack.operands,
                        .segments = pack.segments,
                        .attributes = pack.attributes};
    laze_frame_record(&frame, results);
    count = info->result_count > 0 ? info->result_count : 1;
  } else {
    if (op != LAZE_OP_NONE) laze_op_rename_error(&error, name);
    results[0] = fail_call(lazy, &error);
  }
  laze_arena_deinit(&pack.arena);
  return count;
}

int32_t laze_call_by_name(laze_context *context, const char *name, const laze_argument *arguments,
                          int32_t argument_count, laze_tensor **results, int32_t capacity) {
  if (capacity < 1) return 0;
  laze_float_control caller = laze_float_control_enter();
  int32_t count = call_by_name(context, name, arguments, argument_count, results, capacity);
  laze_float_control_leave(&caller);
  return count;
}
