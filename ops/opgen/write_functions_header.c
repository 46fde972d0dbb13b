/* include/laze/functions.h and, for every file of entries, include/laze/functions/<family>.h: what the library exports
 * for each C function, and above it the macro that users call.
 *
 *   laze_mul(x, 2)  =>  laze_mul_of(x, LAZE_OPERAND(2), LAZE_HERE)     inline: a tensor or a number?
 *                   =>  laze_mul_number_at(x, number, file, line)      in the library
 */
#include "ops/opgen/allocate.h"
#include "ops/opgen/function.h"
#include "ops/opgen/output.h"

#include <ctype.h>
#include <string.h>

/* --- comments --- */

static const char *default_text(const gen_argument *argument) {
  const gen_literal *value = &argument->value;
  const char *items = "";
  switch (value->form) {
  case LITERAL_NONE: return "absent";
  case LITERAL_INTEGER: return c_integer(value->integer);
  case LITERAL_REAL: return c_real(value->real);
  case LITERAL_BOOL: return value->integer ? "true" : "false";
  case LITERAL_LIST:
    for (int i = 0; i < value->count; i++) items = function_join(items, c_integer(value->items[i]));
    return memory_format("{%s}", items);
  default: return value->text;
  }
}

/* What the call shows of arguments that are more than their type says. */
static const char *argument_note(const gen_table *table, const gen_operator *op, int index) {
  const gen_argument *argument = &op->schema.arguments[index];
  const char *name = c_name(argument->name);
  if (argument->is_option) return NULL;
  const char *none = argument->optional ? ", or LAZE_NONE" : "";
  if (function_is_mixed(table, op, index)) return memory_format("%s: a tensor or a number%s", name, none);
  if (function_passes_scalar(argument)) return memory_format("%s: a number%s", name, none);
  if (argument->kind == KIND_TENSOR && argument->optional) return memory_format("%s: may be NULL", name);
  if (argument->kind == KIND_DTYPE && argument->has_default)
    return memory_format("%s: LAZE_DTYPE_NONE for the default", name);
  if (kind_is_list(argument->kind) && argument->has_default) return memory_format("%s: may be LAZE_ALL_DIMS", name);
  return NULL;
}

void write_call_form(const gen_table *table, const gen_operator *op, FILE *out) {
  fprintf(out, "laze_%s(%s)", op->c_name, function_arguments(op));
  if (function_has_options(op)) fprintf(out, ", laze_%s_with(%s, options)", op->c_name, function_arguments(op));
  for (int i = 0; i < op->schema.count; i++)
    if (argument_note(table, op, i) != NULL) fprintf(out, "; %s", argument_note(table, op, i));
}

static void write_comment(const gen_table *table, const gen_operator *op, FILE *out) {
  int next = 0;
  const char *begin = "\n/*";
  for (const gen_operator *other; (other = function_next(table, op, &next)) != NULL; begin = " *")
    fprintf(out, "%s %s\n", begin, other->schema.text);
  if (op->doc != NULL) fprintf(out, " * %s\n", op->doc);
  for (int i = 0; i < op->schema.result_count && op->schema.result_count > 1; i++)
    fprintf(out, " * results[%d]: %s.\n", i,
            op->schema.result_names[i] == NULL ? "a tensor" : op->schema.result_names[i]);
  fprintf(out, " *   ");
  write_call_form(table, op, out);
  fprintf(out, " */\n");
}

/* --- declarations --- */

static void write_options(const gen_operator *op, FILE *out) {
  fprintf(out, "typedef struct laze_%s_options {\n  size_t struct_size;\n", op->c_name);
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    if (argument->is_option)
      fprintf(out, "  %s; /* default: %s */\n", function_field(argument), default_text(argument));
  }
  fprintf(out, "} laze_%s_options;\n", op->c_name);
}

static bool is_mixed(const gen_table *table, const gen_operator *op) {
  for (int i = 0; i < op->schema.count; i++)
    if (function_is_mixed(table, op, i)) return true;
  return false;
}

/* Parameters of the inline function that chooses: operands where operators differ. */
static const char *mixed_parameters(const gen_table *table, const gen_operator *lead) {
  const char *list = "";
  for (int i = 0; i < lead->schema.count; i++) {
    const gen_argument *argument = &lead->schema.arguments[i];
    if (argument->is_option) continue;
    list =
        function_join(list, function_is_mixed(table, lead, i) ? memory_format("laze_operand %s", c_name(argument->name))
                                                              : function_field(argument));
  }
  if (function_has_options(lead)) list = memory_format("%s, const laze_%s_options *options", list, lead->c_name);
  return memory_format("%s, const char *file, int32_t line", list);
}

static const char *mixed_arguments(const gen_table *table, const gen_operator *op) {
  const char *list = "";
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    const char *name = c_name(argument->name);
    if (argument->is_option) continue;
    if (!function_is_mixed(table, op, i))
      list = function_join(list, name);
    else if (argument->kind == KIND_SCALAR)
      list = function_join(list, memory_format("%s.number", name));
    else
      list = function_join(list, memory_format(op == op->lead ? "laze_operand_tensor(%s)" : "%s.tensor", name));
  }
  return memory_format("%s%s, file, line", list, function_has_options(op) ? ", options" : "");
}

/* Whether what was given is what the operator takes. An absent operand is as good as a number. */
static const char *mixed_condition(const gen_table *table, const gen_operator *op) {
  const char *condition = "";
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    const char *name = c_name(argument->name);
    if (!function_is_mixed(table, op, i)) continue;
    const char *is_tensor =
        argument->optional ? memory_format("%s.tensor != NULL", name) : memory_format("%s.is_tensor", name);
    const char *is_number =
        argument->optional ? memory_format("%s.tensor == NULL", name) : memory_format("!%s.is_tensor", name);
    condition = memory_format("%s%s%s", condition, *condition == '\0' ? "" : " && ",
                              argument->kind == KIND_SCALAR ? is_number : is_tensor);
  }
  return condition;
}

static void write_choice(const gen_table *table, const gen_operator *lead, FILE *out) {
  const char *give = lead->schema.result_count == 1 ? "return " : "";
  int next = 0;
  fprintf(out, "static inline %slaze_%s_of(%s) {\n", function_result(lead), lead->c_name,
          mixed_parameters(table, lead));
  for (const gen_operator *op; (op = function_next(table, lead, &next)) != NULL;)
    if (op != lead)
      fprintf(out, "  if (%s)\n    %slaze_%s_at(%s);\n", mixed_condition(table, op), give, op->function,
              mixed_arguments(table, op));
  fprintf(out, "  %slaze_%s_at(%s);\n}\n", give, lead->function, mixed_arguments(table, lead));
}

static void write_declarations(const gen_table *table, const gen_operator *lead, FILE *out) {
  int next = 0;
  write_comment(table, lead, out);
  if (function_has_options(lead)) write_options(lead, out);
  fprintf(out, "LAZE_API %s;\n", function_declaration(lead));
  for (const gen_operator *op; (op = function_next(table, lead, &next)) != NULL;)
    fprintf(out, "LAZE_API %s;\n", function_declaration_at(op));
  if (is_mixed(table, lead)) write_choice(table, lead, out);
}

/* --- macros --- */

/* How the macro passes an argument that it converts; NULL: as it is. */
static const char *conversion(const gen_table *table, const gen_operator *op, int index) {
  const gen_argument *argument = &op->schema.arguments[index];
  if (argument->as_integer) return NULL;
  if (function_is_mixed(table, op, index)) return "LAZE_OPERAND";
  if (argument->kind == KIND_SCALAR || argument->kind == KIND_LITERAL || function_passes_scalar(argument))
    return "LAZE_NUMBER";
  return kind_is_list(argument->kind) ? "LAZE_LIST" : NULL;
}

typedef struct {
  const char *parameters; /* "self, ..." */
  const char *arguments;  /* "self, LAZE_LIST(__VA_ARGS__)" */
} gen_macro;

/* The last argument that is converted, -1: none. Not behind a list of tensors, which is two arguments of the call and
 * may be one of the macro (LAZE_TENSORS). */
static int last_converted(const gen_table *table, const gen_operator *op) {
  int last = -1;
  for (int i = 0; i < op->schema.count && op->schema.arguments[i].kind != KIND_TENSOR_LIST; i++)
    if (!op->schema.arguments[i].is_option && conversion(table, op, i) != NULL) last = i;
  return last;
}

static bool has_arguments_behind(const gen_operator *op, int last) {
  for (int i = last + 1; i < op->schema.count; i++)
    if (!op->schema.arguments[i].is_option) return true;
  return op->schema.result_count > 1;
}

/* Names parameters up to the last one that is converted; what comes behind it, or else that one, is "...", which commas
 * inside of braces do no harm. */
static gen_macro macro_of(const gen_table *table, const gen_operator *op, bool options) {
  const int last = last_converted(table, op);
  if (last < 0) return (gen_macro){"...", "__VA_ARGS__"};
  const bool rest = options || has_arguments_behind(op, last);
  const char *context = function_takes_context(op) ? "context" : "";
  gen_macro macro = {context, context};
  for (int i = 0; i <= last; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    const char *call = conversion(table, op, i);
    if (argument->is_option) continue;
    const bool is_last = i == last && !rest;
    const char *name = is_last ? "__VA_ARGS__" : c_name(argument->name);
    macro.parameters = function_join(macro.parameters, is_last ? "..." : name);
    macro.arguments = function_join(macro.arguments, call == NULL ? name : memory_format("%s(%s)", call, name));
  }
  if (!rest) return macro;
  return (gen_macro){function_join(macro.parameters, "..."), function_join(macro.arguments, "__VA_ARGS__")};
}

static void write_macro(const char *head, const char *value, FILE *out) {
  const bool fits = strlen(head) + strlen(value) < 110;
  fprintf(out, "#define %s%s%s\n", head, fits ? " " : " \\\n  ", value);
}

static void write_macros(const gen_table *table, const gen_operator *op, FILE *out) {
  const char *called = memory_format("laze_%s_%s", op->c_name, is_mixed(table, op) ? "of" : "at");
  const bool options = function_has_options(op);
  const gen_macro plain = macro_of(table, op, false), with = macro_of(table, op, true);
  write_macro(memory_format("laze_%s(%s)", op->c_name, plain.parameters),
              memory_format("%s(%s%s, LAZE_HERE)", called, plain.arguments, options ? ", NULL" : ""), out);
  if (options)
    write_macro(memory_format("laze_%s_with(%s)", op->c_name, with.parameters),
                memory_format("%s(%s, LAZE_HERE)", called, with.arguments), out);
}

/* --- files --- */

static bool is_of(const gen_operator *op, const gen_shard *shard) {
  return operator_has_function(op) && op->lead == op && strcmp(op->at.file, shard->table) == 0;
}

void write_family_header(const gen_table *table, const gen_shard *shard, FILE *out) {
  const char *family = output_family(shard->table);
  char *guard = memory_copy(family, strlen(family));
  for (char *c = guard; *c != '\0'; c++) *c = (char)(isalnum((unsigned char)*c) ? toupper((unsigned char)*c) : '_');
  fprintf(out,
          "/* Operators of ops/native_functions/%s.yaml as C functions; laze/functions.h says how they are called.\n"
          " * Generated by ops/opgen. */\n"
          "#ifndef LAZE_FUNCTIONS_%s_H\n#define LAZE_FUNCTIONS_%s_H\n\n#include \"laze/call.h\"\n\n"
          "#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
          family, guard, guard);
  for (int i = 0; i < table->count; i++)
    if (is_of(table->operators[i], shard)) write_declarations(table, table->operators[i], out);
  fprintf(out, "\n#ifndef LAZE_NO_MACROS\n");
  for (int i = 0; i < table->count; i++)
    if (is_of(table->operators[i], shard)) write_macros(table, table->operators[i], out);
  fprintf(out, "#endif\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

static const char head[] =
    "/* Every operator as a C function, a header for each family. Generated by ops/opgen from the operator tables.\n"
    " *\n"
    " *   laze_add(x, y)  laze_mul(x, 2)           a tensor or a number, where the operator takes both\n"
    " *   laze_sum_dim(x, 1, true)                 one axis; several are LAZE_INTS(0, 1), all are LAZE_ALL_DIMS\n"
    " *   laze_slice(x, 0, 1, LAZE_NONE, 1)        a number that may be absent\n"
    " *   laze_cat(LAZE_TENSORS(x, y), 0)          a list of tensors: an array and its length\n"
    " *   laze_add_with(x, y, &(laze_add_options){.alpha = LAZE_NUMBER(2)})\n"
    " *\n"
    " * In options, what is left out is the schema's default, and every field that is set counts: an optional number "
    "is\n"
    " * a laze_scalar, absent when it is zero as a whole. struct_size 0 stands for the size in the library's own "
    "header,\n"
    " * good for programs that are built with it; others set it to sizeof.\n"
    " *\n"
    " * A function returns a new handle of the current scope, never NULL: what is wrong becomes an error handle\n"
    " * (laze/tensor.h). Operators with several results write them to `results` (may be NULL). Those without a tensor\n"
    " * argument take the context first (NULL: the default).\n"
    " *\n"
    " * The calls are macros (laze/call.h), which add where they stand: a file name must live as long as what was\n"
    " * recorded (a string literal does). What the library exports is plain functions: laze_add, which has an "
    "address,\n"
    " * takes tensors and no options; laze_add_at and, for numbers, laze_add_number_at take all. LAZE_NO_MACROS "
    "leaves\n"
    " * these alone.\n"
    " */\n"
    "#ifndef LAZE_FUNCTIONS_H\n"
    "#define LAZE_FUNCTIONS_H\n\n";

void write_functions_header(const gen_table *table, const gen_shard *shard, FILE *out) {
  (void)shard;
  fputs(head, out);
  for (int i = 0; i < table->count; i++)
    if (output_starts_family(table, i))
      fprintf(out, "#include \"laze/functions/%s.h\"\n", output_family(table->operators[i]->at.file));
  fprintf(out, "\n#endif\n");
}
