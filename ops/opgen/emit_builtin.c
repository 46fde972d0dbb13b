/* The functions of the expression language. */
#include "ops/opgen/emit.h"

#include "ops/opgen/memory.h"
#include "ops/opgen/output.h"

static const char *emit_present(gen_emitter *emitter, const gen_expression *item) {
  if (!kind_is_operand(item->kind))
    return memory_format("call->attributes[%s].present", operator_attribute_name(emitter->op, item->argument));
  emitter->loaded |= (uint64_t)1 << item->argument;
  return memory_format("!laze_value_is_none(%s)", c_name(item->text));
}

static const char *emit_size(gen_emitter *emitter, const gen_expression *call) {
  const char *value = emit_value(emitter, call->items[0], NULL), *axis = emit_value(emitter, call->items[1], NULL);
  const char *name = emit_temporary(emitter, "size");
  emit_line(emitter, "laze_size %s;", name);
  emit_line(emitter, "LAZE_TRY(laze_value_size(recorder, call, %s, %s, &%s, error));", value, axis, name);
  return name;
}

static const char *emit_sizes(gen_emitter *emitter, const gen_expression *call) {
  const char *value = emit_value(emitter, call->items[0], NULL), *storage = emit_temporary(emitter, "sizes");
  if (emitter->depth == 1)
    emit_line(emitter, "laze_size %s[LAZE_MAX_RANK];", storage);
  else
    fprintf(emitter->storage, "  laze_size %s[LAZE_MAX_RANK];\n", storage);
  return memory_format("laze_value_sizes(recorder, %s, %s)", value, storage);
}

static const char *emit_numel(gen_emitter *emitter, const gen_expression *call) {
  const char *value = emit_value(emitter, call->items[0], NULL), *dims = "(laze_size_list){.present = false}";
  if (call->count == 2) {
    dims = emit_value(emitter, call->items[1], NULL);
    if (call->items[1]->kind == KIND_INT)
      dims = memory_format("(laze_size_list){(const laze_size[]){%s}, 1, true}", dims);
  }
  const char *name = emit_temporary(emitter, "numel");
  emit_line(emitter, "laze_size %s;", name);
  emit_line(emitter, "LAZE_TRY(laze_value_elements(recorder, call, %s, %s, &%s, error));", value, dims, name);
  return name;
}

static const char *promoted_item(gen_emitter *emitter, const gen_expression *item) {
  if (item->kind == KIND_LITERAL) return memory_format("{.number = %s.dtype}", emit_value(emitter, item, NULL));
  if (kind_is_number(item->kind))
    return memory_format("{.number = %s}", item->kind == KIND_FLOAT  ? "LAZE_F64"
                                           : item->kind == KIND_BOOL ? "LAZE_BOOL"
                                                                     : "LAZE_I64");
  return memory_format("{.value = %s%s}", emit_value(emitter, item, NULL),
                       item->kind == KIND_SCALAR ? ", .is_number = true" : "");
}

static const char *emit_promoted(gen_emitter *emitter, const gen_expression *call) {
  const char *items = "";
  for (int i = 0; i < call->count; i++)
    items = memory_format("%s%s%s", items, i == 0 ? "" : ", ", promoted_item(emitter, call->items[i]));
  const char *name = emit_temporary(emitter, "dtype");
  emit_line(emitter, "const laze_promoted_operand %s_of[] = {%s};", name, items);
  emit_line(emitter, "const laze_dtype %s = laze_promote_operands(recorder, %s_of, %d);", name, name, call->count);
  return name;
}

const char *emit_builtin(gen_emitter *emitter, const gen_expression *call) {
  const gen_expression *item = call->items[0];
  switch (call->builtin->number) {
  case BUILTIN_PRESENT: return emit_present(emitter, item);
  case BUILTIN_SIZE: return emit_size(emitter, call);
  case BUILTIN_SIZES: return emit_sizes(emitter, call);
  case BUILTIN_NUMEL: return emit_numel(emitter, call);
  case BUILTIN_PROMOTED: return emit_promoted(emitter, call);
  case BUILTIN_COUNT:
    return memory_format("call->attributes[%s].count", operator_attribute_name(emitter->op, item->argument));
  default: break;
  }
  const char *value = emit_value(emitter, item, NULL);
  const char *dtype =
      item->kind == KIND_DTYPE ? value : memory_format("laze_recorder_type(recorder, %s)->dtype", value);
  switch (call->builtin->number) {
  case BUILTIN_RANK: return memory_format("laze_recorder_type(recorder, %s)->rank", value);
  case BUILTIN_IS_FLOAT: return memory_format("laze_dtype_is_float(%s)", dtype);
  case BUILTIN_FLOAT_OF: return memory_format("laze_float_dtype(%s)", dtype);
  default: return dtype;
  }
}
