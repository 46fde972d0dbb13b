/* include/laze/functions.h and, for every file of entries, include/laze/functions/<family>.h: what the library exports
 * for each C function, and above it the macro that users call.
 *
 *   laze_mul(x, 2)   =>  laze_mul_of(x, LAZE_OPERAND(2), LAZE_HERE)         inline: a tensor or a number?
 *                    =>  laze_mul_number_at(x, number, file, line)          in the library
 *   laze_mul_(x, 2)  =>  laze_mul_in_place(x, LAZE_OPERAND(2), LAZE_HERE)   inline: laze_mul_of, then
 *                    =>  laze_results_give_at(...)                          in the library, the same for all
 */
#include "ops/opgen/allocate.h"
#include "ops/opgen/function.h"
#include "ops/opgen/output.h"

#include <ctype.h>
#include <string.h>

/* --- comments --- */

/* What the call shows of arguments that are more than their type says. */
static const char *argument_note(const gen_table *table, const gen_operator *op, int index) {
  const gen_argument *argument = &op->schema.arguments[index];
  const char *name = c_name(argument->name);
  if (function_is_mixed(table, op, index))
    return memory_format("%s: a tensor or a number%s", name, argument->optional ? ", or LAZE_NONE" : "");
  if (function_passes_scalar(argument)) return memory_format("%s: or LAZE_NONE", name);
  if (argument->kind == KIND_SCALAR && argument->has_default) return memory_format("%s: or LAZE_NONE", name);
  if (argument->kind == KIND_TENSOR && argument->optional) return memory_format("%s: or NULL", name);
  if (argument->kind == KIND_DTYPE && argument->has_default) return memory_format("%s: or LAZE_DTYPE_NONE", name);
  if (argument->kind == KIND_OPTIONAL_LIST) return memory_format("%s: tensors, or NULL", name);
  if (argument->kind == KIND_FLOAT_LIST && argument->has_default) return memory_format("%s: or LAZE_NO_REALS", name);
  if (argument->kind == KIND_STRING_LIST && argument->has_default) return memory_format("%s: or LAZE_NO_STRINGS", name);
  if (kind_is_list(argument->kind) && argument->has_default) return memory_format("%s: or LAZE_ALL_DIMS", name);
  return NULL;
}

void write_call_form(const gen_table *table, const gen_operator *op, FILE *out) {
  fprintf(out, "laze_%s(%s)", op->c_name, function_arguments(op, false));
  if (function_has_more(op)) fprintf(out, ", laze_%s_with(%s)", op->c_name, function_arguments(op, true));
  if (op->in_place != NULL) fprintf(out, ", in place laze_%s_", op->c_name);
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

static bool is_mixed(const gen_table *table, const gen_operator *op) {
  for (int i = 0; i < op->schema.count; i++)
    if (function_is_mixed(table, op, i)) return true;
  return false;
}

/* The parameters of an inline function: operands where operators differ, but for argument `tensor`, which is one. */
static const char *mixed_parameters(const gen_table *table, const gen_operator *lead, int tensor) {
  const char *list = "", *further = "";
  for (int i = 0; i < lead->schema.count; i++) {
    const gen_argument *argument = &lead->schema.arguments[i];
    const char **to = argument->is_further ? &further : &list;
    const bool mixed = i != tensor && function_is_mixed(table, lead, i);
    *to = function_join(*to, mixed ? memory_format("laze_operand %s", c_name(argument->name))
                                   : function_parameter(argument));
  }
  if (lead->schema.result_count > 1) list = function_join(list, "laze_tensor **results");
  return memory_format("%s, const char *file, int32_t line", function_join(list, further));
}

/* What it passes on to one of them. */
static const char *mixed_arguments(const gen_table *table, const gen_operator *op) {
  const char *list = "", *further = "";
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    const char *name = c_name(argument->name), **to = argument->is_further ? &further : &list;
    if (function_is_mixed(table, op, i) && argument->kind == KIND_SCALAR)
      name = memory_format("%s.number", name);
    else if (function_is_mixed(table, op, i))
      name = memory_format(op == op->lead ? "laze_operand_tensor(%s)" : "%s.tensor", name);
    *to = function_join(*to, name);
  }
  if (op->schema.result_count > 1) list = function_join(list, "results");
  return memory_format("%s, file, line", function_join(list, further));
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
          mixed_parameters(table, lead, -1));
  for (const gen_operator *op; (op = function_next(table, lead, &next)) != NULL;)
    if (op != lead)
      fprintf(out, "  if (%s)\n    %slaze_%s_at(%s);\n", mixed_condition(table, op), give, op->function,
              mixed_arguments(table, op));
  fprintf(out, "  %slaze_%s_at(%s);\n}\n", give, lead->function, mixed_arguments(table, lead));
}

/* What laze_add_in_place() passes on to laze_add_of(): its parameters, of which the target may be an operand there. */
static const char *in_place_arguments(const gen_table *table, const gen_operator *lead, int target) {
  const char *list = "", *further = "";
  for (int i = 0; i < lead->schema.count; i++) {
    const gen_argument *argument = &lead->schema.arguments[i];
    const char *name = c_name(argument->name), **to = argument->is_further ? &further : &list;
    if (kind_is_tensors(argument->kind)) name = memory_format("%s, %s_count", name, name);
    if (i == target && function_is_mixed(table, lead, i)) name = memory_format("laze_operand_from_tensor(%s)", name);
    *to = function_join(*to, name);
  }
  return memory_format("%s, file, line", function_join(list, further));
}

static void write_in_place(const gen_table *table, const gen_operator *lead, FILE *out) {
  const int target = operator_target(lead);
  fprintf(out, "static inline laze_tensor *laze_%s_in_place(%s) {\n", lead->c_name,
          mixed_parameters(table, lead, target));
  fprintf(out, "  laze_tensor *result = laze_%s_%s(%s);\n", lead->c_name, is_mixed(table, lead) ? "of" : "at",
          in_place_arguments(table, lead, target));
  fprintf(out, "  return laze_result_give_at(LAZE_IN_PLACE, \"laze_%s_\", %s, result, file, line);\n}\n", lead->c_name,
          c_name(lead->schema.arguments[target].name));
}

static void write_declarations(const gen_table *table, const gen_operator *lead, FILE *out) {
  int next = 0;
  write_comment(table, lead, out);
  fprintf(out, "LAZE_API %s;\n", function_declaration(lead));
  for (const gen_operator *op; (op = function_next(table, lead, &next)) != NULL;)
    fprintf(out, "LAZE_API %s;\n", function_declaration_at(op));
  if (is_mixed(table, lead)) write_choice(table, lead, out);
  if (lead->in_place != NULL) write_in_place(table, lead, out);
}

/* --- macros --- */

/* Which macro of a function. */
typedef struct {
  const char *suffix; /* of its name */
  bool further;       /* it takes the further arguments */
  bool in_place;
} gen_macro_form;

/* How the macro passes an argument that it converts; NULL: as it is. */
static const char *conversion(const gen_table *table, const gen_operator *op, int index, bool in_place) {
  const gen_argument *argument = &op->schema.arguments[index];
  if (argument->as_integer || (in_place && index == operator_target(op))) return NULL;
  if (function_is_mixed(table, op, index)) return "LAZE_OPERAND";
  if (argument->kind == KIND_SCALAR || argument->kind == KIND_LITERAL || function_passes_scalar(argument))
    return "LAZE_NUMBER";
  return kind_is_list(argument->kind) ? "LAZE_LIST" : NULL;
}

/* A parameter of the C function: its name, and what the macro passes it through (NULL: nothing). */
typedef struct {
  const char *name, *conversion;
} gen_macro_parameter;

typedef struct {
  gen_macro_parameter *items;
  int count;
} gen_macro_parameters;

static void add_parameter(gen_macro_parameters *list, const char *name, const char *conversion) {
  list->items = memory_grow(list->items, list->count, sizeof(*list->items));
  list->items[list->count++] = (gen_macro_parameter){name, conversion};
}

static void add_arguments(gen_macro_parameters *list, const gen_table *table, const gen_operator *op, bool in_place,
                          bool further) {
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    if (argument->is_further != further) continue;
    add_parameter(list, c_name(argument->name), conversion(table, op, i, in_place));
    if (kind_is_tensors(argument->kind)) add_parameter(list, memory_format("%s_count", c_name(argument->name)), NULL);
  }
}

static gen_macro_parameters list_parameters(const gen_table *table, const gen_operator *op,
                                            const gen_macro_form *form) {
  gen_macro_parameters list = {0};
  if (function_takes_context(op)) add_parameter(&list, "context", NULL);
  add_arguments(&list, table, op, form->in_place, false);
  if (op->schema.result_count > 1) add_parameter(&list, "results", NULL);
  if (form->further) add_arguments(&list, table, op, form->in_place, true);
  return list;
}

/* How many parameters the macro names: up to the last one that is converted; what comes behind is "...", or else that
 * one, so that commas inside of braces do it no harm. None where there is a list of tensors, which is two arguments of
 * the call and may be one of the macro (LAZE_TENSORS). */
static int count_named(const gen_operator *op, const gen_macro_parameters *list) {
  int named = 0;
  for (int i = 0; i < op->schema.count; i++)
    if (kind_is_tensors(op->schema.arguments[i].kind)) return 0;
  for (int i = 0; i < list->count; i++)
    if (list->items[i].conversion != NULL) named = i + 1;
  return named;
}

#define MACRO_COLUMNS 116

/* A #define, on several lines where it is too long for one: broken behind commas. */
static void write_macro(const char *head, const char *value, FILE *out) {
  fprintf(out, "#define %s", head);
  if (strlen(head) + strlen(value) + sizeof("#define") > MACRO_COLUMNS) fprintf(out, " \\\n ");
  while (strlen(value) > MACRO_COLUMNS) {
    size_t at = MACRO_COLUMNS;
    while (at > 0 && (value[at] != ' ' || value[at - 1] != ',')) at--;
    if (at == 0) break;
    fprintf(out, " %.*s \\\n     ", (int)at, value);
    value += at + 1;
  }
  fprintf(out, " %s\n", value);
}

/* #define laze_mul(self, ...) laze_mul_of(self, LAZE_OPERAND(__VA_ARGS__), LAZE_HERE), or the longer form. */
static void write_form(const gen_table *table, const gen_operator *op, const gen_macro_form *form, FILE *out) {
  const gen_macro_parameters list = list_parameters(table, op, form);
  const char *function = form->in_place ? "in_place" : is_mixed(table, op) ? "of" : "at";
  const int named = count_named(op, &list);
  const char *parameters = "", *arguments = "";
  for (int i = 0; i < named; i++) {
    const bool is_last = i == list.count - 1;
    const char *name = is_last ? "__VA_ARGS__" : list.items[i].name, *through = list.items[i].conversion;
    parameters = function_join(parameters, is_last ? "..." : name);
    arguments = function_join(arguments, through == NULL ? name : memory_format("%s(%s)", through, name));
  }
  if (named < list.count) {
    parameters = function_join(parameters, "...");
    arguments = function_join(arguments, "__VA_ARGS__");
  }
  if (!form->further) arguments = function_join(arguments, function_defaults(op));
  write_macro(memory_format("laze_%s%s(%s)", op->c_name, form->suffix, parameters),
              memory_format("laze_%s_%s(%s, LAZE_HERE)", op->c_name, function, arguments), out);
}

static void write_macros(const gen_table *table, const gen_operator *op, FILE *out) {
  static const gen_macro_form forms[] = {
      {"", false, false}, {"_with", true, false}, {"_", false, true}, {"_with_", true, true}};
  for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
    const bool there = (!forms[i].further || function_has_more(op)) && (!forms[i].in_place || op->in_place != NULL);
    if (there) write_form(table, op, &forms[i], out);
  }
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
    " *   LAZE_REALS(0.5, 2)  LAZE_STRINGS(\"a\")    lists of numbers and of strings; none: LAZE_NO_REALS, "
    "LAZE_NO_STRINGS\n"
    " *   laze_sum_with(x, LAZE_F64)               the same with the arguments that the short form leaves out, in the\n"
    " *   laze_add_with(x, y, 2)                   order of the schema; LAZE_NONE, LAZE_DTYPE_NONE, NULL: the default\n"
    " *   laze_add_(x, y)  laze_add_with_(x, y, 2) in place: x, which is returned, has the sum from now on "
    "(laze/call.h),\n"
    " *                                            of operators whose comment says so\n"
    " *   laze_out(z, laze_add(x, y))              the same for another tensor, of any operator\n"
    " *\n"
    " * A function returns a new handle of the current scope, never NULL: what is wrong becomes an error handle\n"
    " * (laze/tensor.h). Operators with several results write them to `results` (may be NULL). Those without a tensor\n"
    " * argument take the context first (NULL: the default).\n"
    " *\n"
    " * The calls are macros (laze/call.h), which add where they stand: a file name must live as long as what was\n"
    " * recorded (a string literal does). What the library exports is plain functions: laze_add, which has an address\n"
    " * and takes tensors; laze_add_at and, for numbers, laze_add_number_at, which take all. LAZE_NO_MACROS leaves "
    "these\n"
    " * alone.\n"
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
