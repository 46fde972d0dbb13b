/* ir/op.gen.c: what the tables say about each operator, as data. */
#include "ops/opgen/memory.h"
#include "ops/opgen/output.h"

#include <stdlib.h>
#include <string.h>

static void write_default_items(const gen_operator *op, const gen_argument *argument, FILE *out) {
  if (argument->value.form != LITERAL_LIST || argument->value.count == 0) return;
  fprintf(out, "static const laze_size %s_%s_default[] = {", op->symbol, argument->name);
  for (int i = 0; i < argument->value.count; i++)
    fprintf(out, "%s%s", i == 0 ? "" : ", ", c_integer(argument->value.items[i]));
  fprintf(out, "};\n");
}

/* The initialiser of a laze_scalar; calls are not constant expressions. */
static const char *scalar_initialiser(const gen_literal *value) {
  if (value->form == LITERAL_REAL) return memory_format("{.dtype = LAZE_F64, .value.real = %s}", c_real(value->real));
  return memory_format("{.dtype = %s, .value.integer = %s}", value->form == LITERAL_BOOL ? "LAZE_BOOL" : "LAZE_I64",
                       c_integer(value->integer));
}

static const char *default_text(const gen_operator *op, const gen_argument *argument) {
  const gen_literal *value = &argument->value;
  const gen_kind kind = argument->kind == KIND_SCALAR ? KIND_LITERAL : argument->kind;
  const char *start = memory_format("{.kind = %s, .present = true", kind_enumerator(kind));
  if (value->form == LITERAL_NONE) return memory_format("{.kind = %s}", kind_enumerator(kind));
  switch (kind) {
  case KIND_LITERAL: return memory_format("%s, .value.literal = %s}", start, scalar_initialiser(value));
  case KIND_SIZE: return memory_format("%s, .value.size = %s}", start, c_integer(value->integer));
  case KIND_FLOAT: return memory_format("%s, .value.real = %s}", start, c_real(value->real));
  case KIND_DTYPE:
    return memory_format("%s, .value.integer = %s}", start, dtype_infos[dtype_find(value->text)].enumerator);
  case KIND_STRING: return memory_format("%s, .value.string = %s}", start, c_string(value->text));
  case KIND_INT_LIST:
  case KIND_SIZE_LIST:
    if (value->count == 0) return memory_format("%s}", start);
    return memory_format("%s, .count = %d, .value.items = %s_%s_default}", start, value->count, op->symbol,
                         argument->name);
  default: return memory_format("%s, .value.integer = %s}", start, c_integer(value->integer));
  }
}

static void write_argument(const gen_operator *op, const gen_argument *argument, FILE *out) {
  fprintf(out, "    {.name = \"%s\", .kind = %s, .position = %d", argument->name, kind_enumerator(argument->kind),
          argument->position);
  const bool optional = argument->optional || (kind_is_operand(argument->kind) && argument_may_be_absent(argument));
  if (optional) fprintf(out, ", .optional = true");
  if (argument->has_default) fprintf(out, ", .has_default = true");
  if (argument->keyword_only) fprintf(out, ", .keyword_only = true");
  if (argument->list_size > 0) fprintf(out, ", .list_size = %d", argument->list_size);
  if (argument->has_default) fprintf(out, ", .default_value = %s", default_text(op, argument));
  fprintf(out, "},\n");
}

static void write_arguments(const gen_operator *op, FILE *out) {
  if (op->schema.count == 0) return;
  for (int i = 0; i < op->schema.count; i++) write_default_items(op, &op->schema.arguments[i], out);
  fprintf(out, "static const laze_argument_info %s_arguments[] = {\n", op->symbol);
  for (int i = 0; i < op->schema.count; i++) write_argument(op, &op->schema.arguments[i], out);
  fprintf(out, "};\n");
}

static const char *dtype_mask(const gen_operator *op) {
  return op->op_class == CLASS_ELEMENTWISE ? dtype_mask_text(op->dtypes) : "0";
}

static void write_info(const gen_operator *op, FILE *out) {
  fprintf(out, "    [LAZE_OP_%s] = {.name = %s,\n", op->upper, c_string(op->schema.name));
  fprintf(out, "     .base = \"%s\",\n     .symbol = \"%s\",\n     .schema = %s,\n     .source = \"%s\",\n",
          op->schema.base, op->symbol, c_string(op->schema.text), operator_source(op));
  fprintf(out, "     .op_class = %s,\n", class_enumerator(op->op_class));
  if (strcmp(op->effect, "NONE") != 0) fprintf(out, "     .effect = LAZE_EFFECT_%s,\n", op->effect);
  if (op->compute != COMPUTE_NONE)
    fprintf(out, "     .compute = %s,\n     .compute_dtypes = %s,\n", compute_enumerator(op->compute), dtype_mask(op));
  if (op->combine != NULL)
    fprintf(out, "     .combine = LAZE_OP_%s,\n     .initial = LAZE_INITIAL_%s,\n", op->combine->upper, op->initial);
  if (op->test != NULL && op->test->exact) fprintf(out, "     .exact = true,\n");
  if (op->late) fprintf(out, "     .late = true,\n");
  fprintf(out, "     .argument_count = %d,\n     .segment_count = %d,\n     .attribute_count = %d,\n", op->schema.count,
          operator_segments(op), operator_attributes(op));
  fprintf(out, "     .result_count = %d,\n", op->schema.result_count);
  if (op->regions > 0) fprintf(out, "     .region_count = %d,\n", op->regions);
  if (op->schema.count > 0) fprintf(out, "     .arguments = %s_arguments,\n", op->symbol);
  if (operator_has_inference(op)) fprintf(out, "     .infer = laze_infer_%s,\n", op->symbol);
  if (operator_has_expansion(op)) fprintf(out, "     .expand = laze_expand_%s,\n", op->symbol);
  if (op->when != NULL) fprintf(out, "     .must_expand = laze_must_expand_%s,\n", op->symbol);
  fprintf(out, "    },\n");
}

typedef struct gen_indexed {
  const gen_operator *op;
  int index;
} gen_indexed;

static int compare_names(const void *left, const void *right) {
  const gen_indexed *a = left, *b = right;
  const int order = strcmp(a->op->schema.base, b->op->schema.base);
  return order != 0 ? order : a->index - b->index;
}

static void write_index(const gen_table *table, FILE *out) {
  gen_indexed *sorted = memory_take((size_t)table->count * sizeof(*sorted));
  for (int i = 0; i < table->count; i++) sorted[i] = (gen_indexed){table->operators[i], i};
  qsort(sorted, (size_t)table->count, sizeof(*sorted), compare_names);
  fprintf(out, "const laze_op laze_ops_by_name[LAZE_OP_COUNT - 1] = {\n");
  for (int i = 0; i < table->count; i++) fprintf(out, "    LAZE_OP_%s,\n", sorted[i].op->upper);
  fprintf(out, "};\n");
}

void write_op_table(const gen_table *table, const gen_shard *shard, FILE *out) {
  (void)shard;
  fprintf(out, "/* What the operator tables say, as data. Generated by ops/opgen. */\n#include \"ir/op.gen.h\"\n\n"
               "#include \"ir/composite.gen.h\"\n#include \"ir/inference.gen.h\"\n\n");
  for (int i = 0; i < table->count; i++) write_arguments(table->operators[i], out);
  fprintf(out,
          "\nconst laze_op laze_op_count = LAZE_OP_COUNT;\n\nconst laze_op_info laze_op_infos[LAZE_OP_COUNT] = {\n");
  fprintf(out, "    [LAZE_OP_NONE] = {.name = \"\", .base = \"\", .symbol = \"\", .schema = \"\", .source = \"\"},\n");
  for (int i = 0; i < table->count; i++) write_info(table->operators[i], out);
  fprintf(out, "};\n\n");
  write_index(table, out);
}
