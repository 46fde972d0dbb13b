/* codegen/interp/eval.gen.c: element functions of the reference from `eval`. */
#include "ops/opgen/allocate.h"
#include "ops/opgen/output.h"

#include <string.h>

/* The C type of an operand and of the result where the operator computes in `dtype`. */
static const char *operand_type(const gen_operator *op, int operand, const gen_dtype_info *dtype) {
  return op->compute == COMPUTE_SELECT && operand == 0 ? "bool" : dtype->c_type;
}

static const char *result_type(const gen_operator *op, const gen_dtype_info *dtype) {
  if (op->compute == COMPUTE_PAIR) return memory_format("%s _Complex", dtype->c_type);
  if (op->compute == COMPUTE_PART) return memory_copy(dtype->c_type, strcspn(dtype->c_type, " "));
  return op->compute == COMPUTE_COMPARE || op->compute == COMPUTE_LOGICAL ? "bool" : dtype->c_type;
}

static bool is_evaluated(const gen_operator *op) {
  return op->op_class == CLASS_ELEMENTWISE && op->compute != COMPUTE_CONVERT;
}

/* The types of operands, as the parameters of a loop. */
static void write_loop(const gen_operator *op, int dtype, FILE *out) {
  const gen_dtype_info *info = &dtype_infos[dtype];
  const char *types = "";
  int count = 0;
  for (int i = 0; i < op->schema.count; i++)
    if (!argument_may_be_absent(&op->schema.arguments[i]))
      types = memory_format("%s, %s", types, operand_type(op, count++, info));
  fprintf(out, "LOOP_%d(%s_%s, %s%s)\n", count, op->symbol, info->name, result_type(op, info), types);
}

static void write_element(const gen_operator *op, int dtype, FILE *out) {
  const gen_dtype_info *info = &dtype_infos[dtype];
  const char *parameters = "";
  int count = 0;
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    if (argument_may_be_absent(argument)) continue; /* calls that have it are expanded */
    const char *type = operand_type(op, count, info);
    parameters = memory_format("%s%s%s %s", parameters, count == 0 ? "" : ", ", type, argument->name);
    count++;
  }
  const char *result = result_type(op, info);
  const char *head = memory_format("static inline %s element_%s_%s(%s) {", result, op->symbol, info->name, parameters);
  const char *unused = "";
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    if (!argument_may_be_absent(argument) && strstr(op->evals[dtype], argument->name) == NULL)
      unused = memory_format("%s(void)%s; ", unused, argument->name);
  }
  /* The cast rounds what C computed in double, and cuts what it widened to int. */
  const bool casts = strcmp(result, "bool") != 0;
  const char *body = casts ? memory_format("%sreturn (%s)(%s);", unused, result, op->evals[dtype])
                           : memory_format("%sreturn %s;", unused, op->evals[dtype]);
  const bool fits = strlen(head) + strlen(body) < 117;
  write_entry_line(op, op->eval_lines[dtype], out);
  fprintf(out, fits ? "%s %s }\n" : "%s\n  %s\n}\n", head, body);
}

static void write_elements(const gen_operator *op, FILE *out) {
  write_origin(op, out);
  for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
    if (op->evals[dtype] != NULL) write_element(op, dtype, out);
  write_own_line(out);
  for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
    if (op->evals[dtype] != NULL) write_loop(op, dtype, out);
  fputc('\n', out);
}

static void write_loop_macro(int count, FILE *out) {
  fprintf(out, "#define LOOP_%d(name, result_type", count);
  for (int i = 0; i < count; i++) fprintf(out, ", type%d", i);
  fprintf(out,
          ") \\\n  static void loop_##name(int64_t count, const char *const *operands, const int64_t *strides, \\\n"
          "                          char *result, int64_t result_stride) { \\\n"
          "    for (int64_t k = 0; k < count; k++) \\\n"
          "      *(result_type *)(void *)(result + k * result_stride) = element_##name( \\\n");
  for (int i = 0; i < count; i++)
    fprintf(out, "          *(const type%d *)(const void *)(operands[%d] + k * strides[%d])%s \\\n", i, i, i,
            i + 1 < count ? "," : ");");
  fprintf(out, "  }\n");
}

static bool has_arity(const gen_table *table, int count) {
  for (int i = 0; i < table->count; i++) {
    const gen_operator *op = table->operators[i];
    int present = 0;
    for (int k = 0; k < op->schema.count; k++) present += !argument_may_be_absent(&op->schema.arguments[k]);
    if (is_evaluated(op) && present == count) return true;
  }
  return false;
}

static void write_row(const gen_operator *op, FILE *out) {
  fprintf(out, "    {");
  const char *separator = "";
  for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
    if (op->evals[dtype] == NULL) continue;
    fprintf(out, "%s[%s] = loop_%s_%s", separator, dtype_infos[dtype].enumerator, op->symbol, dtype_infos[dtype].name);
    separator = ", ";
  }
  fprintf(out, "}, /* %s */\n", op->symbol);
}

void write_eval(const gen_table *table, const gen_shard *shard, FILE *out) {
  (void)shard;
  fprintf(
      out,
      "/* One element of each elementwise operator, in C, and loops over them. Generated by ops/opgen. */\n"
      "#include \"codegen/interp/eval.h\"\n\n#include \"codegen/interp/eval_support.h\"\n#include \"ir/op.gen.h\"\n\n"
      "#include <stddef.h>\n\n"
      "/* A macro, for the loops differ in types and in nothing else. */\n");
  for (int count = 1; count <= 4; count++)
    if (has_arity(table, count)) write_loop_macro(count, out);
  fputc('\n', out);
  for (int i = 0; i < table->count; i++)
    if (is_evaluated(table->operators[i])) write_elements(table->operators[i], out);
  int row = 0;
  fprintf(out,
          "static const laze_eval_function loops[][LAZE_DTYPE_BOUND] = {\n    {NULL}, /* no elementwise operator */\n");
  for (int i = 0; i < table->count; i++)
    if (is_evaluated(table->operators[i])) write_row(table->operators[i], out);
  fprintf(out, "};\n\nstatic const uint8_t row_of[LAZE_OP_COUNT] = {\n    [LAZE_OP_NONE] = 0,\n");
  for (int i = 0; i < table->count; i++)
    if (is_evaluated(table->operators[i])) fprintf(out, "    [LAZE_OP_%s] = %d,\n", table->operators[i]->upper, ++row);
  fprintf(out, "};\n\nlaze_eval_function laze_eval_find(laze_op op, laze_dtype compute) {\n"
               "  if (op >= LAZE_OP_COUNT || compute < 0 || compute >= LAZE_DTYPE_BOUND) return NULL;\n"
               "  return loops[row_of[op]][compute];\n}\n");
}
