/* Boxed calls: the operator is found by name and by what its arguments accept, then recorded like any other.
 *
 *   passed     x, [0], keepdim=true        in any order once they have names
 *   schema     self, dim, keepdim, dtype   of the operator that fits best
 *   by_schema  x, [0], true, NULL          NULL: left out
 */
#include "base/arena.h"
#include "base/dtype.h"
#include "base/float_control.h"
#include "ir/attribute.h"
#include "ir/call_resolve.h"
#include "lazy/lazy.h"
#include "lazy/record/frame.h"
#include "lazy/value/handle.h"
#include "lazy/value/pending.h"

#include <string.h>

/* A call. */
typedef struct {
  const char *name; /* of the operator, as the caller wrote it */
  const laze_argument *arguments;
  int32_t count;
  laze_location location;
  const laze_argument **by_schema; /* what is passed for each argument of the schema; NULL: nothing */
} passed;

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

/* A frame being packed. */
typedef struct {
  laze_arena arena;
  laze_frame_operand *operands;
  int32_t operand_count;
  int32_t *segments;
  laze_attribute *attributes;
  laze_frame_size *sizes; /* of the attributes, those that tensors say */
  int32_t size_count;
} packing;

/* A tensor that may stand for a number. */
static bool is_scalar_tensor(const laze_argument *argument) {
  laze_tensor *tensor = argument->kind == LAZE_PASS_TENSOR ? argument->value.tensor : NULL;
  return tensor && laze_tensor_rank(tensor) == 0 && laze_dtype_is_index(laze_tensor_dtype(tensor));
}

/* Tells the ranking what is passed. */
static laze_status list_passed(const passed *given, laze_passed *listed, laze_error *error) {
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

/* Finds the operator. Where none takes what is passed as it is, tensors may stand for sizes. */
static laze_status resolve(const passed *given, laze_positions positions, laze_passed *listed, laze_op *out,
                           laze_error *error) {
  LAZE_TRY(list_passed(given, listed, error));
  laze_overload_call call = {given->name, positions, listed, given->count, false};
  laze_status status = laze_call_resolve(&call, out, error);
  if (status != LAZE_INVALID_ARGUMENT) return status;
  for (int32_t i = 0; i < given->count; i++)
    if (is_scalar_tensor(&given->arguments[i])) listed[i].kind = LAZE_PASSED_SCALAR_TENSOR;
  call.sizes_from_values = true;
  return laze_call_resolve(&call, out, NULL) == LAZE_OK ? LAZE_OK : status;
}

/* Finds the operator, and which of its arguments each thing passed is. */
static laze_status find_op(packing *pack, passed *given, laze_op *out, laze_error *error) {
  laze_passed listed[MAX_ARGUMENTS];
  LAZE_TRY(resolve(given, LAZE_POSITIONS_ALL, listed, out, error));
  const laze_op_info *info = laze_op_get(*out);
  given->by_schema = laze_arena_alloc_array(&pack->arena, info->argument_count, sizeof *given->by_schema);
  if (!given->by_schema) return laze_fail_memory(error, info->name, -1);
  for (int32_t i = 0; i < info->argument_count; i++) given->by_schema[i] = NULL;
  for (int32_t i = 0; i < given->count; i++)
    if (listed[i].kind != LAZE_PASSED_LEFT_OUT) given->by_schema[listed[i].argument] = &given->arguments[i];
  return LAZE_OK;
}

static laze_scalar scalar_of(const laze_argument *argument) {
  if (argument->kind == LAZE_PASS_INTEGER) return laze_scalar_integer(argument->value.integer);
  if (argument->kind == LAZE_PASS_REAL) return laze_scalar_real(argument->value.real);
  if (argument->kind == LAZE_PASS_BOOL) return laze_scalar_boolean(argument->value.integer != 0);
  return argument->value.scalar;
}

/* An integer or a bool, in either of the ways to pass one. */
static int64_t integer_of(const laze_argument *argument) {
  return argument->kind == LAZE_PASS_SCALAR ? argument->value.scalar.value.integer : argument->value.integer;
}

/* Of the tensors passed, those in lists too. */
static laze_promotion promotion_of(const passed *given) {
  laze_promotion promotion = {0};
  for (int32_t i = 0; i < given->count; i++) {
    const laze_argument *argument = &given->arguments[i];
    bool is_list = argument->kind == LAZE_PASS_TENSORS;
    if (!is_list && argument->kind != LAZE_PASS_TENSOR) continue;
    laze_tensor *const *tensors = is_list ? argument->value.tensors : &argument->value.tensor;
    for (int32_t k = 0; k < (is_list ? argument->count : 1); k++) {
      laze_dtype dtype = tensors[k] ? laze_tensor_dtype(tensors[k]) : LAZE_DTYPE_NONE;
      if (dtype == LAZE_DTYPE_NONE) continue;
      laze_type type = {
          .kind = LAZE_TYPE_TENSOR, .dtype = (uint8_t)dtype, .rank = (uint8_t)laze_tensor_rank(tensors[k])};
      laze_promotion_add(&promotion, &type, false);
    }
  }
  return promotion;
}

/* A number where a tensor is wanted becomes one without dimensions. */
static laze_tensor *tensor_of(const passed *given, const laze_argument *argument, laze_context *context) {
  laze_scalar scalar = scalar_of(argument);
  laze_promotion beside = promotion_of(given);
  return laze_tensor_from_scalar(context, laze_call_number_dtype(scalar.dtype, &beside), scalar);
}

static void pack_operand(packing *pack, const laze_argument_info *info, const passed *given, int32_t index) {
  int32_t *segment = &pack->segments[info->position];
  const laze_argument *argument = given->by_schema[index];
  *segment = -1;
  if (!argument || argument->kind == LAZE_PASS_NONE) return;
  if (laze_argument_is_operands(info->kind)) {
    *segment = argument->kind == LAZE_PASS_TENSORS ? argument->count : 0; /* another empty list */
    for (int32_t i = 0; i < *segment; i++)
      pack->operands[pack->operand_count++] = (laze_frame_operand){.tensor = argument->value.tensors[i]};
    return;
  }
  bool is_tensor = argument->kind == LAZE_PASS_TENSOR;
  if (is_tensor && info->optional && !argument->value.tensor) return;
  *segment = 1;
  laze_frame_operand *operand = &pack->operands[pack->operand_count++];
  if (info->kind == LAZE_ARGUMENT_TENSOR || is_tensor)
    *operand = (laze_frame_operand){.tensor = is_tensor ? argument->value.tensor
                                                        : tensor_of(given, argument, pack->arena.context)};
  else
    *operand = (laze_frame_operand){.scalar = scalar_of(argument)};
}

/* One number, in a way to pass it, that stands for a list. */
static bool is_number(const laze_argument *argument) {
  return argument->kind == LAZE_PASS_SCALAR || argument->kind == LAZE_PASS_INTEGER ||
         argument->kind == LAZE_PASS_REAL || argument->kind == LAZE_PASS_BOOL;
}

static laze_status pack_reals(packing *pack, const laze_argument_info *info, const laze_argument *argument,
                              laze_attribute *out, laze_error *error) {
  bool single = is_number(argument);
  int32_t count = single ? info->list_size : argument->count;
  if (count > 0 && argument->kind == LAZE_PASS_INTEGERS && !argument->value.integers)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "argument '%s': %d integers at NULL are no list", info->name,
                     (int)count);
  double *items = laze_arena_alloc_array(&pack->arena, count, sizeof *items);
  if (!items) return laze_fail_memory(error, "a list of numbers", -1);
  for (int32_t i = 0; i < count; i++)
    items[i] = single                                 ? laze_scalar_as_real(scalar_of(argument))
               : argument->kind == LAZE_PASS_INTEGERS ? (double)argument->value.integers[i]
                                                      : argument->value.reals[i];
  *out = laze_attribute_reals(items, count);
  return LAZE_OK;
}

/* They lie behind each other. */
static laze_status pack_strings(packing *pack, const laze_argument *argument, laze_attribute *out, laze_error *error) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < argument->count; i++) bytes += (int64_t)strlen(argument->value.strings[i]) + 1;
  char *packed = laze_arena_alloc(&pack->arena, bytes), *end = packed;
  if (!packed) return laze_fail_memory(error, "a list of strings", bytes);
  for (int32_t i = 0; i < argument->count; i++) {
    size_t length = strlen(argument->value.strings[i]) + 1;
    memcpy(end, argument->value.strings[i], length);
    end += length;
  }
  *out = laze_attribute_strings(packed, argument->count);
  return LAZE_OK;
}

static void add_size(packing *pack, laze_tensor *tensor, laze_attribute *attribute, laze_size *items, int32_t item) {
  pack->sizes[pack->size_count++] = (laze_frame_size){tensor, attribute, items, item, LAZE_MAX_RANK};
}

/* A list of sizes with tensors in it, or one that is a tensor. */
static laze_status pack_sizes(packing *pack, const laze_argument *argument, laze_attribute *out, laze_error *error) {
  bool whole = argument->kind == LAZE_PASS_TENSOR;
  laze_size *items = laze_arena_alloc_array(&pack->arena, whole ? LAZE_MAX_RANK : argument->count, sizeof *items);
  if (!items) return laze_fail_memory(error, "a list of sizes", -1);
  out->value.items = items;
  if (whole) add_size(pack, argument->value.tensor, out, items, -1);
  out->count = whole ? 0 : argument->count;
  for (int32_t i = 0; i < out->count; i++) {
    bool tensors = argument->kind == LAZE_PASS_TENSORS;
    const laze_size_item item = tensors ? (laze_size_item){argument->value.tensors[i], 0} : argument->value.sizes[i];
    items[i] = item.tensor ? 0 : laze_size_from_number(item.number);
    if (item.tensor) add_size(pack, item.tensor, out, items, i);
    if (tensors && !item.tensor) return laze_fail(error, LAZE_INVALID_ARGUMENT, "size %d is a NULL tensor", (int)i);
  }
  return LAZE_OK;
}

static laze_status pack_list(packing *pack, const laze_argument_info *info, const laze_argument *argument,
                             laze_attribute *out, laze_error *error) {
  bool has_tensors =
      argument->kind == LAZE_PASS_SIZES || argument->kind == LAZE_PASS_TENSORS || argument->kind == LAZE_PASS_TENSOR;
  if (has_tensors) return pack_sizes(pack, argument, out, error);
  bool single = is_number(argument);
  int32_t count = single ? info->list_size : argument->count;
  if (count < 0 || (count > 0 && !single && !argument->value.integers))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "argument '%s': %d integers at %p are no list", info->name,
                     (int)count, (const void *)argument->value.integers);
  laze_size *items = laze_arena_alloc_array(&pack->arena, count, sizeof *items);
  if (!items) return laze_fail_memory(error, "a list of integers", -1);
  for (int32_t i = 0; i < count; i++) {
    items[i] = single ? integer_of(argument) : argument->value.integers[i];
  }
  out->count = count;
  out->value.items = items;
  return LAZE_OK;
}

static laze_status pack_attribute(packing *pack, const laze_argument_info *info, const passed *given, int32_t index,
                                  laze_error *error) {
  laze_attribute *out = &pack->attributes[info->position];
  const laze_argument *argument = given->by_schema[index];
  if (!argument || argument->kind == LAZE_PASS_NONE) {
    *out = !argument && info->has_default ? info->default_value : (laze_attribute){.kind = (uint8_t)info->kind};
    return LAZE_OK;
  }
  *out = (laze_attribute){.kind = (uint8_t)info->kind, .present = true};
  if (info->kind == LAZE_ARGUMENT_SIZE && argument->kind == LAZE_PASS_TENSOR) {
    add_size(pack, argument->value.tensor, out, NULL, 0);
    return LAZE_OK;
  }
  switch (info->kind) {
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST: return pack_list(pack, info, argument, out, error);
  case LAZE_ARGUMENT_FLOAT_LIST: return pack_reals(pack, info, argument, out, error);
  case LAZE_ARGUMENT_STRING_LIST: return pack_strings(pack, argument, out, error);
  case LAZE_ARGUMENT_STRING: out->value.string = argument->value.string; return LAZE_OK;
  case LAZE_ARGUMENT_LITERAL: out->value.literal = scalar_of(argument); return LAZE_OK;
  case LAZE_ARGUMENT_FLOAT: out->value.real = laze_scalar_as_real(scalar_of(argument)); return LAZE_OK;
  case LAZE_ARGUMENT_SIZE: out->value.size = laze_size_from_number(integer_of(argument)); return LAZE_OK;
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

static laze_status pack_frame(packing *pack, const laze_op_info *info, const passed *given, laze_error *error) {
  int64_t operands = info->argument_count;
  for (int32_t i = 0; i < given->count; i++) {
    int32_t kind = given->arguments[i].kind;
    if ((kind == LAZE_PASS_TENSORS || kind == LAZE_PASS_SIZES) && given->arguments[i].count > 0)
      operands += given->arguments[i].count;
  }
  pack->sizes = laze_arena_alloc_array(&pack->arena, operands, sizeof *pack->sizes);
  pack->operands = laze_arena_alloc_array(&pack->arena, operands, sizeof *pack->operands);
  pack->segments = laze_arena_alloc_array(&pack->arena, info->segment_count, sizeof *pack->segments);
  pack->attributes = laze_arena_alloc_array(&pack->arena, info->attribute_count, sizeof *pack->attributes);
  if (!pack->operands || !pack->segments || !pack->attributes || !pack->sizes)
    return laze_fail_memory(error, info->name, -1);
  for (int32_t i = 0; i < info->argument_count; i++) {
    if (laze_argument_is_operand(info->arguments[i].kind))
      pack_operand(pack, &info->arguments[i], given, i);
    else if (pack_attribute(pack, &info->arguments[i], given, i, error) != LAZE_OK)
      return laze_error_prefix(error, "%s", info->name);
  }
  return LAZE_OK;
}

static laze_lazy *lazy_of(const laze_argument *argument) {
  if (argument->kind == LAZE_PASS_TENSOR) return laze_handle_lazy(argument->value.tensor);
  laze_lazy *lazy = NULL;
  bool is_list = argument->kind == LAZE_PASS_TENSORS && argument->value.tensors;
  for (int32_t i = 0; is_list && i < argument->count && !lazy; i++) lazy = laze_handle_lazy(argument->value.tensors[i]);
  for (int32_t i = 0; argument->kind == LAZE_PASS_SIZES && argument->value.sizes && i < argument->count && !lazy; i++)
    lazy = laze_handle_lazy(argument->value.sizes[i].tensor);
  return lazy;
}

/* The lazy object of the first tensor, or else of the context. */
static laze_lazy *find_lazy(laze_context *context, const passed *given) {
  for (int32_t i = 0; i < given->count; i++) {
    laze_lazy *lazy = lazy_of(&given->arguments[i]);
    if (lazy) return lazy;
  }
  return laze_lazy_get(context);
}

static laze_tensor *fail_call(laze_lazy *lazy, const passed *given, laze_op op, laze_error *error) {
  if (op != LAZE_OP_NONE) laze_op_rename_error(error, given->name);
  if (given->location.file) (void)laze_error_prefix(error, "%s:%d", given->location.file, (int)given->location.line);
  laze_thread_state *thread = laze_lazy_lock(lazy);
  if (!thread) return laze_handle_out_of_memory();
  laze_tensor *handle = laze_handle_fail(thread, error);
  laze_lazy_unlock(lazy);
  return handle;
}

static int32_t record(const packing *pack, const passed *given, laze_op op, laze_tensor **results) {
  laze_frame frame = {.context = pack->arena.context,
                      .called = given->name,
                      .op = op,
                      .operand_count = pack->operand_count,
                      .operands = pack->operands,
                      .segments = pack->segments,
                      .attributes = pack->attributes,
                      .sizes = pack->sizes,
                      .size_count = pack->size_count,
                      .location = given->location};
  return laze_frame_record(&frame, results);
}

static laze_status refuse_results(const laze_op_info *info, int32_t count, int32_t capacity, laze_error *error) {
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s gives %d results, but there is room for %d", info->name,
                   (int)count, (int)capacity);
}

/* Records a call whose results are counted only then. */
static int32_t record_counted(laze_lazy *lazy, const packing *pack, const passed *given, laze_op op,
                              laze_tensor **results, int32_t capacity) {
  laze_tensor *found[LAZE_PENDING_MAX_RESULTS];
  laze_error error;
  int32_t count = record(pack, given, op, found);
  if (count > capacity) {
    (void)refuse_results(laze_op_get(op), count, capacity, &error);
    results[0] = fail_call(lazy, given, op, &error);
    return 1;
  }
  memcpy(results, found, (size_t)count * sizeof *results);
  return count;
}

static int32_t call_by_name(laze_context *context, passed *given, laze_tensor **results, int32_t capacity) {
  laze_lazy *lazy = find_lazy(context, given);
  if (!lazy) {
    results[0] = laze_handle_out_of_memory();
    return 1;
  }
  laze_error error;
  laze_op op = LAZE_OP_NONE;
  packing pack = {0};
  laze_arena_init(&pack.arena, lazy->context);
  laze_status status = find_op(&pack, given, &op, &error);
  const laze_op_info *info = laze_op_get(op);
  if (status == LAZE_OK && info->result_count > capacity)
    status = refuse_results(info, info->result_count, capacity, &error);
  if (status == LAZE_OK) status = pack_frame(&pack, info, given, &error);
  int32_t count = 1;
  if (status != LAZE_OK)
    results[0] = fail_call(lazy, given, op, &error);
  else if (info->result_count < 0)
    count = record_counted(lazy, &pack, given, op, results, capacity);
  else
    count = record(&pack, given, op, results);
  laze_arena_deinit(&pack.arena);
  return count;
}

laze_status laze_call_match(const char *name, const laze_argument *arguments, int32_t argument_count,
                            int32_t positions_end, laze_error *error) {
  laze_passed listed[MAX_ARGUMENTS];
  laze_error refusal;
  laze_op op;
  const passed given = {.name = name, .arguments = arguments, .count = arguments ? argument_count : 0};
  laze_positions positions = positions_end ? LAZE_POSITIONS_BEFORE_KEYWORDS : LAZE_POSITIONS_ALL;
  laze_status status = resolve(&given, positions, listed, &op, &refusal);
  if (status != LAZE_OK && error) *error = refusal;
  return status;
}

int32_t laze_call_by_name_at(laze_context *context, const char *name, const laze_argument *arguments,
                             int32_t argument_count, laze_tensor **results, int32_t capacity, const char *file,
                             int32_t line) {
  if (capacity < 1 || !results) return 0;
  passed given = {.name = name,
                  .arguments = arguments,
                  .count = arguments ? argument_count : 0,
                  .location = {.file = file, .line = line}};
  laze_float_control caller;
  laze_float_control_enter(&caller);
  int32_t count = call_by_name(context, &given, results, capacity);
  laze_float_control_leave(&caller);
  return count;
}

int32_t laze_call_by_name(laze_context *context, const char *name, const laze_argument *arguments,
                          int32_t argument_count, laze_tensor **results, int32_t capacity) {
  return laze_call_by_name_at(context, name, arguments, argument_count, results, capacity, NULL, 0);
}
