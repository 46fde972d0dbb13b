/* docs/operators.md: the operators for people. */
#include "ops/opgen/allocate.h"
#include "ops/opgen/function.h"
#include "ops/opgen/output.h"

#include <string.h>

static const char *kind_of(const gen_operator *op) {
  if (op->op_class != CLASS_COMPOSITE) return class_name(op->op_class);
  return op->late ? "composite, late" : "composite";
}

static const char *dtypes_of(const gen_operator *op) {
  if (op->op_class != CLASS_ELEMENTWISE) return "";
  if (op->dtypes == DTYPE_ALL) return "all";
  const char *text = "";
  for (int i = 0; i < DTYPE_COUNT; i++)
    if (op->dtypes >> i & 1) text = memory_format("%s%s%s", text, *text == '\0' ? "" : " ", dtype_infos[i].name);
  return text;
}

static const char *test_of(const gen_operator *op) {
  if (op->test == NULL) return "";
  return op->test->exact ? "exact" : memory_format("%g ULP", op->test->ulp);
}

/* A bar would end the cell. */
static void write_cell(const char *text, FILE *out) {
  for (; *text != '\0'; text++) {
    if (*text == '|') fputc('\\', out);
    fputc(*text == '\n' ? ' ' : *text, out);
  }
}

static void write_row(const gen_operator *op, FILE *out) {
  fprintf(out, "| ");
  if (operator_has_function(op)) fprintf(out, "`laze_%s(%s)` ", op->c_name, function_arguments(op, false));
  if (operator_has_function(op) && function_has_more(op)) fprintf(out, "`_with(%s)` ", function_arguments(op, true));
  if (operator_has_function(op) && op->in_place != NULL) fprintf(out, "`laze_%s_` ", op->c_name);
  fprintf(out, "| `");
  write_cell(op->schema.text, out);
  fprintf(out, "` | %s | %s | %s | ", kind_of(op), dtypes_of(op), test_of(op));
  write_cell(op->doc == NULL ? "" : op->doc, out);
  fprintf(out, " |\n");
}

void write_page(const gen_table *table, const gen_shard *shard, FILE *out) {
  (void)shard;
  fprintf(out, "# Operators\n\n"
               "Generated from `ops/native_functions/`. *In C* is the call of `laze/functions.h` (where several rows "
               "have the\n"
               "same, it takes tensors and numbers; `_with` is a longer form of it, and the name with `_` behind it "
               "the form in\n"
               "place). *Kind* is the class, or\n"
               "*composite* for an operator that is recorded as others (a *late* one stays whole until just before "
               "scheduling).\n"
               "*Computes in* are the dtypes to which operands are promoted. *Test* says how near to the right value "
               "results are.\n\n"
               "| Kind | How it runs natively |\n|---|---|\n"
               "| elementwise, creation, movement, indexing | in the loops of what reads them; a result that others "
               "read is stored once |\n"
               "| reduction, scan | a loop of its own, with what it reads inside |\n"
               "| product | a kernel of its own, which reads its operands from memory |\n"
               "| library | a C kernel: the one for sorting, or the one that is registered for `opaque` |\n"
               "| control, structure | steps of the program, or a loop where a region computes single elements |\n"
               "| composite | as the operators that it is recorded as |\n\n"
               "Where a program runs a step on the reference interpreter, `lazec compile --emit schedule` names it and "
               "why, and the\nmetric `fallbacks` counts it: that is a `reduce` whose region has a loop or reductions "
               "in it, and nothing else.\n");
  const char *file = "";
  for (int i = 0; i < table->count; i++) {
    const gen_operator *op = table->operators[i];
    if (strcmp(op->at.file, file) != 0) {
      file = op->at.file;
      const char *name = strrchr(file, '/') == NULL ? file : strrchr(file, '/') + 1;
      fprintf(out, "\n## %.*s\n\n| In C | Schema | Kind | Computes in | Test | |\n|---|---|---|---|---|---|\n",
              (int)strcspn(name, "."), name);
    }
    write_row(op, out);
  }
}
