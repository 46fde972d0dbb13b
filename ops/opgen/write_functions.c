/* lazy/functions_*.gen.c: the functions of laze/functions/, in which each packs its arguments into a frame. */
#include "ops/opgen/allocate.h"
#include "ops/opgen/function.h"
#include "ops/opgen/output.h"

#include <string.h>

/* An argument's value. */
static const char *source(const gen_argument *argument) {
  const char *name = c_name(argument->name);
  return argument->as_integer ? memory_format("laze_scalar_integer(%s)", name) : name;
}

static const char *default_list(const gen_argument *argument) {
  const char *items = "";
  for (int i = 0; i < argument->value.count; i++)
    items = memory_format("%s%s%s", items, i == 0 ? "" : ", ", c_integer(argument->value.items[i]));
  return memory_format("laze_attribute_%s((const laze_size[]){%s}, %d)",
                       argument->kind == KIND_INT_LIST ? "integers" : "sizes", items, argument->value.count);
}

static const char *list_attribute(const gen_argument *argument, const char *value) {
  const char *kind = kind_enumerator(argument->kind);
  const bool absent = argument->optional && (!argument->has_default || argument->value.form == LITERAL_NONE);
  const char *packed = memory_format("laze_pack_ints%s(%s, %s)", absent ? "_if_any" : "", kind, value);
  if (!argument->has_default || argument->value.form == LITERAL_NONE || argument->value.count == 0) return packed;
  return memory_format("%s.items == NULL ? %s : %s", value, default_list(argument), packed);
}

static const char *make_number(const gen_argument *argument, const char *value) {
  switch (argument->kind) {
  case KIND_SIZE: return memory_format("laze_attribute_size(laze_size_from_number(%s))", value);
  case KIND_FLOAT: return memory_format("laze_attribute_real(%s)", value);
  case KIND_BOOL: return memory_format("laze_attribute_boolean(%s)", value);
  default: return memory_format("laze_attribute_integer(%s)", value);
  }
}

static const char *default_number(const gen_argument *argument) {
  if (!argument->has_default || argument->value.form == LITERAL_NONE)
    return memory_format("laze_attribute_absent(%s)", kind_enumerator(argument->kind));
  if (argument->kind == KIND_FLOAT) return make_number(argument, c_real(argument->value.real));
  if (argument->kind == KIND_BOOL) return make_number(argument, argument->value.integer ? "true" : "false");
  return make_number(argument, c_integer(argument->value.integer));
}

static const char *number_attribute(const gen_argument *argument, const char *value) {
  if (!function_passes_scalar(argument)) return make_number(argument, value);
  return memory_format("laze_pack_number(%s, %s, %s)", kind_enumerator(argument->kind), value,
                       default_number(argument));
}

static const char *literal_attribute(const gen_argument *argument, const char *value) {
  const char *packed = memory_format("laze_attribute_literal(%s)", value);
  const char *otherwise = NULL;
  if (argument->has_default && argument->value.form != LITERAL_NONE)
    otherwise = memory_format("laze_attribute_literal(%s)", c_scalar_call(&argument->value));
  else if (argument->optional)
    otherwise = "laze_attribute_absent(LAZE_ARGUMENT_LITERAL)";
  if (otherwise == NULL) return packed;
  return memory_format("%s.dtype == LAZE_DTYPE_NONE ? %s : %s", value, otherwise, packed);
}

static const char *string_attribute(const gen_argument *argument, const char *value) {
  if (!argument->has_default || argument->value.form == LITERAL_NONE)
    return memory_format("laze_attribute_string(%s)", value);
  return memory_format("laze_attribute_string(%s == NULL ? %s : %s)", value, c_string(argument->value.text), value);
}

static const char *dtype_attribute(const gen_argument *argument, const char *value) {
  if (argument->has_default && argument->value.form == LITERAL_DTYPE)
    return memory_format("laze_attribute_dtype(%s == LAZE_DTYPE_NONE ? %s : %s)", value,
                         dtype_infos[dtype_find(argument->value.text)].enumerator, value);
  return memory_format("laze_attribute_dtype%s(%s)", argument->optional ? "_if_any" : "", value);
}

/* Lists of numbers and of strings. None given: absent where the argument may be, or else empty. */
static const char *items_attribute(const gen_argument *argument, const char *value) {
  const char *absent = argument->optional ? "true" : "false";
  if (argument->kind == KIND_FLOAT_LIST) return memory_format("laze_pack_reals(%s, %s)", value, absent);
  return memory_format("laze_pack_strings(%s_packed, %s, %s)", argument->name, value, absent);
}

static const char *attribute_text(const gen_argument *argument) {
  const char *value = source(argument);
  switch (argument->kind) {
  case KIND_INT_LIST:
  case KIND_SIZE_LIST: return list_attribute(argument, value);
  case KIND_FLOAT_LIST:
  case KIND_STRING_LIST: return items_attribute(argument, value);
  case KIND_LITERAL: return literal_attribute(argument, value);
  case KIND_STRING: return string_attribute(argument, value);
  case KIND_DTYPE: return dtype_attribute(argument, value);
  default: return number_attribute(argument, value);
  }
}

static void write_attributes(const gen_operator *op, FILE *out) {
  if (operator_attributes(op) == 0) return;
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    if (argument->kind != KIND_STRING_LIST) continue;
    fprintf(out, "  char %s_local[LAZE_PACK_BYTES];\n", argument->name);
    fprintf(out, "  char *%s_packed = laze_pack_reserve_strings(%s_local, &%s);\n", argument->name, argument->name,
            source(argument));
  }
  fprintf(out, "  const laze_attribute attributes[] = {\n");
  for (int i = 0; i < op->schema.count; i++)
    if (!kind_is_operand(op->schema.arguments[i].kind))
      fprintf(out, "      %s,\n", attribute_text(&op->schema.arguments[i]));
  fprintf(out, "  };\n");
}

static const char *plain_operand(const gen_argument *argument) {
  return memory_format("{.%s = %s}", argument->kind == KIND_SCALAR ? "scalar" : "tensor", source(argument));
}

static void write_plain_operands(const gen_operator *op, FILE *out) {
  const char *separator = "";
  fprintf(out, "  const laze_frame_operand operands[] = {");
  for (int i = 0; i < op->schema.count; i++) {
    if (!kind_is_operand(op->schema.arguments[i].kind)) continue;
    fprintf(out, "%s%s", separator, plain_operand(&op->schema.arguments[i]));
    separator = ", ";
  }
  fprintf(out, "};\n");
}

static const gen_argument *tensor_list(const gen_operator *op) {
  for (int i = 0; i < op->schema.count; i++)
    if (kind_is_tensors(op->schema.arguments[i].kind)) return &op->schema.arguments[i];
  return NULL;
}

static bool is_plain(const gen_operator *op) {
  for (int i = 0; i < op->schema.count; i++)
    if (kind_is_operand(op->schema.arguments[i].kind) && argument_may_be_absent(&op->schema.arguments[i])) return false;
  return tensor_list(op) == NULL;
}

static const char *segment_text(const gen_argument *argument) {
  const char *value = source(argument);
  if (argument->kind == KIND_OPTIONAL_LIST)
    return memory_format("laze_pack_optional_tensors(operands, &count, %s, %s_count)", value, value);
  if (argument->kind == KIND_TENSOR_LIST)
    return memory_format("laze_pack_tensors(operands, &count, %s, %s_count)", value, value);
  if (!argument_may_be_absent(argument))
    return memory_format("laze_pack_required(operands, &count, (laze_frame_operand)%s)", plain_operand(argument));
  return memory_format("laze_pack_%s(operands, &count, %s)", argument->kind == KIND_SCALAR ? "scalar" : "tensor",
                       value);
}

static void write_packed_operands(const gen_operator *op, FILE *out) {
  const int segments = operator_segments(op);
  const gen_argument *list = tensor_list(op);
  if (list != NULL) {
    const char *name = c_name(list->name);
    fprintf(out, "  laze_frame_operand local[LAZE_PACK_LOCAL];\n");
    fprintf(out, "  laze_frame_operand *operands = laze_pack_reserve(local, %d, &%s, &%s_count);\n", segments - 1, name,
            name);
  } else {
    fprintf(out, "  laze_frame_operand operands[%d];\n", segments);
  }
  fprintf(out, "  int32_t segments[%d], count = 0;\n", segments);
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    if (kind_is_operand(argument->kind))
      fprintf(out, "  segments[%d] = %s;\n", argument->position, segment_text(argument));
  }
}

static void write_frame(const gen_operator *op, FILE *out) {
  const bool plain = is_plain(op);
  fprintf(out, "  const laze_frame frame = {.called = \"laze_%s\", .op = LAZE_OP_%s", op->c_name, op->upper);
  if (function_takes_context(op)) fprintf(out, ", .context = context");
  if (plain && operator_segments(op) > 0)
    fprintf(out, ", .operand_count = %d, .operands = operands", operator_segments(op));
  if (!plain) fprintf(out, ", .operand_count = count, .operands = operands, .segments = segments");
  if (operator_attributes(op) > 0) fprintf(out, ", .attributes = attributes");
  fprintf(out, ", .location = {.file = file, .line = line}};\n");
}

static void write_at(const gen_operator *op, FILE *out) {
  fprintf(out, "%s {\n", function_declaration_at(op));
  if (!is_plain(op))
    write_packed_operands(op, out);
  else if (operator_segments(op) > 0)
    write_plain_operands(op, out);
  write_attributes(op, out);
  write_frame(op, out);
  const bool one = op->schema.result_count == 1;
  if (one) fprintf(out, "  laze_tensor *result = NULL;\n");
  fprintf(out, "  laze_frame_record(&frame, %s);\n",
          one                            ? "&result"
          : op->schema.result_count == 0 ? "NULL"
                                         : "results");
  if (tensor_list(op) != NULL) fprintf(out, "  laze_pack_release(local, operands);\n");
  for (int i = 0; i < op->schema.count; i++)
    if (op->schema.arguments[i].kind == KIND_STRING_LIST)
      fprintf(out, "  laze_pack_release_strings(%s_local, %s_packed);\n", op->schema.arguments[i].name,
              op->schema.arguments[i].name);
  if (one) fprintf(out, "  return result;\n");
  fprintf(out, "}\n");
}

static void write_function(const gen_operator *op, FILE *out) {
  write_origin(op, out);
  write_at(op, out);
  if (op->lead == op)
    fprintf(out, "%s {\n  %slaze_%s_at(%s, NULL, 0);\n}\n", function_declaration(op),
            op->schema.result_count == 1 ? "return " : "", op->c_name,
            function_join(function_arguments(op, false), function_defaults(op)));
  fputc('\n', out);
}

void write_functions(const gen_table *table, const gen_shard *shard, FILE *out) {
  fprintf(out,
          "/* Functions of laze/functions/%s.h. Generated by ops/opgen. */\n#define LAZE_NO_MACROS\n"
          "#include \"laze/functions.h\"\n\n#include \"ir/op.gen.h\"\n#include \"lazy/record/pack.h\"\n\n",
          output_family(shard->table));
  for (int i = 0; i < table->count; i++) {
    const gen_operator *op = table->operators[i];
    if (operator_has_function(op) && shard_holds(shard, op)) write_function(op, out);
  }
}
