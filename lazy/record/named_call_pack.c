/* What a call by name passes as a frame: operands, and attributes of the kinds that the schema has.
 *
 *   argument    passed as          in the frame
 *   Tensor      tensor, number     operand; a number has the dtype of the tensors beside it
 *   SymInt[]    sizes, tensors     sizes, and which of them tensors say
 *   others                         ir/argument.h
 */
#include "lazy/record/named_call.h"

#include "base/dtype.h"
#include "ir/argument.h"
#include "ir/call_resolve.h"

/* Of the tensors passed, those in lists too. */
static laze_promotion promotion_of(const laze_named_call *given) {
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
static laze_tensor *tensor_of(laze_named_frame *pack, const laze_named_call *given, const laze_argument *argument) {
  laze_scalar scalar = laze_argument_scalar(argument);
  laze_promotion beside = promotion_of(given);
  laze_dtype dtype = laze_call_number_dtype(scalar.dtype, &beside);
  return pack->made[pack->made_count++] = laze_tensor_from_scalar(pack->arena.context, dtype, scalar);
}

void laze_named_frame_end(laze_named_frame *pack) {
  for (int32_t i = 0; i < pack->made_count; i++) laze_tensor_release(laze_tensor_take(pack->made[i]));
  laze_arena_deinit(&pack->arena);
}

static void pack_operand(laze_named_frame *pack, const laze_argument_info *info, const laze_named_call *given,
                         int32_t index) {
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
    *operand = (laze_frame_operand){.tensor = is_tensor ? argument->value.tensor : tensor_of(pack, given, argument)};
  else
    *operand = (laze_frame_operand){.scalar = laze_argument_scalar(argument)};
}

static void add_size(laze_named_frame *pack, laze_tensor *tensor, laze_attribute *attribute, laze_size *items,
                     int32_t item) {
  pack->sizes[pack->size_count++] = (laze_frame_size){tensor, attribute, items, item, LAZE_MAX_RANK};
}

/* A list of sizes with tensors in it, or one that is a tensor. */
static laze_status pack_sizes(laze_named_frame *pack, const laze_argument *argument, laze_attribute *out,
                              laze_error *error) {
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
    if (tensors && !item.tensor)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "size %d is a NULL tensor; give a number, or a tensor without dims", (int)i);
  }
  return LAZE_OK;
}

/* Whether an argument is a list of sizes of which tensors are some. */
static bool has_tensors(const laze_argument *argument) {
  return argument->kind == LAZE_PASS_SIZES || argument->kind == LAZE_PASS_TENSORS || argument->kind == LAZE_PASS_TENSOR;
}

static laze_status pack_attribute(laze_named_frame *pack, const laze_argument_info *info, const laze_named_call *given,
                                  int32_t index, laze_error *error) {
  laze_attribute *out = &pack->attributes[info->position];
  const laze_argument *argument = given->by_schema[index];
  const bool is_list = info->kind == LAZE_ARGUMENT_INT_LIST || info->kind == LAZE_ARGUMENT_SIZE_LIST;
  const bool is_size = info->kind == LAZE_ARGUMENT_SIZE && argument && argument->kind == LAZE_PASS_TENSOR;
  if (!is_size && !(is_list && argument && has_tensors(argument)))
    return laze_argument_pack(&pack->arena, NULL, info, argument, out, error);
  *out = (laze_attribute){.kind = (uint8_t)info->kind, .present = true};
  if (is_list) return pack_sizes(pack, argument, out, error);
  add_size(pack, argument->value.tensor, out, NULL, 0);
  return LAZE_OK;
}

laze_status laze_named_call_pack(laze_named_frame *pack, const laze_op_info *info, const laze_named_call *given,
                                 laze_error *error) {
  int64_t operands = info->argument_count;
  for (int32_t i = 0; i < given->count; i++) {
    int32_t kind = given->arguments[i].kind;
    if ((kind == LAZE_PASS_TENSORS || kind == LAZE_PASS_SIZES) && given->arguments[i].count > 0)
      operands += given->arguments[i].count;
  }
  pack->sizes = laze_arena_alloc_array(&pack->arena, operands, sizeof *pack->sizes);
  pack->operands = laze_arena_alloc_array(&pack->arena, operands, sizeof *pack->operands);
  pack->made = laze_arena_alloc_array(&pack->arena, operands, sizeof(laze_tensor *));
  pack->segments = laze_arena_alloc_array(&pack->arena, info->segment_count, sizeof *pack->segments);
  pack->attributes = laze_arena_alloc_array(&pack->arena, info->attribute_count, sizeof *pack->attributes);
  if (!pack->operands || !pack->made || !pack->segments || !pack->attributes || !pack->sizes)
    return laze_fail_memory(error, info->name, -1);
  for (int32_t i = 0; i < info->argument_count; i++) {
    if (laze_argument_is_operand(info->arguments[i].kind))
      pack_operand(pack, &info->arguments[i], given, i);
    else if (pack_attribute(pack, &info->arguments[i], given, i, error) != LAZE_OK)
      return laze_error_prefix(error, "%s", info->name);
  }
  return LAZE_OK;
}
