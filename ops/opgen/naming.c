/* Symbols: "add.Tensor" is laze_add and LAZE_OP_ADD, "sum.dim_IntList" is laze_sum_dim_intlist. */
#include "ops/opgen/memory.h"
#include "ops/opgen/table.h"

#include <ctype.h>
#include <string.h>

static const char *lower_word(const char *text) {
  char *copy = memory_copy(text, strlen(text));
  for (char *c = copy; *c != '\0'; c++) *c = (char)tolower((unsigned char)*c);
  return copy;
}

static bool takes_base_name(const gen_table *table, const gen_operator *op) {
  if (*op->schema.overload == '\0') return true;
  return strcmp(op->schema.overload, "Tensor") == 0 && table_find(table, op->schema.base) == NULL;
}

static void name_operator(const gen_table *table, gen_operator *op) {
  const gen_schema *schema = &op->schema;
  const char *name = takes_base_name(table, op) ? schema->base : memory_format("%s_%s", schema->base, schema->overload);
  op->symbol = lower_word(name);
  char *upper = memory_copy(name, strlen(name));
  for (char *c = upper; *c != '\0'; c++) *c = (char)toupper((unsigned char)*c);
  op->upper = upper;
}

/* The names that an operator takes: its functions and its options. */
#define FORM_COUNT 4

static const char *form_name(int form, const char *symbol) {
  switch (form) {
  case 0: return memory_format("laze_%s", symbol);
  case 1: return memory_format("laze_%s_with", symbol);
  case 2: return memory_format("laze_%s_at", symbol);
  default: return memory_format("laze_%s_options", symbol);
  }
}

static void check_against_api(gen_table *table, const gen_operator *op) {
  for (int form = 0; form < FORM_COUNT && operator_is_public(op); form++) {
    const char *name = form_name(form, op->symbol);
    if (!known_has(&table->known, KNOWN_API, name)) continue;
    report_error(&table->report, op->at,
                 "its function %s is already part of the hand-written interface; rename the operator", name);
    return;
  }
}

static void check_against(gen_table *table, const gen_operator *op, const gen_operator *other) {
  if (strcmp(op->symbol, other->symbol) == 0) {
    report_error(&table->report, op->at, "its C name laze_%s is also that of %s (%s:%d); rename one", op->symbol,
                 other->schema.name, other->at.file, other->at.line);
    return;
  }
  for (int a = 0; a < FORM_COUNT; a++)
    for (int b = 0; b < FORM_COUNT; b++)
      if (a != b && strcmp(form_name(a, op->symbol), form_name(b, other->symbol)) == 0)
        report_error(&table->report, op->at, "its function %s is also one of %s; rename one", form_name(a, op->symbol),
                     other->schema.name);
}

/* LAZE_A_B_C may be attribute C of a_b or attribute b_c of a. */
static void check_attribute_names(gen_table *table, const gen_operator *op, const gen_operator *other) {
  const size_t size = strlen(other->symbol);
  if (strncmp(op->symbol, other->symbol, size) != 0 || op->symbol[size] != '_') return;
  for (int a = 0; a < op->schema.count; a++) {
    for (int b = 0; b < other->schema.count; b++) {
      const char *name = operator_attribute_name(op, a);
      if (strcmp(name, operator_attribute_name(other, b)) == 0)
        report_error(&table->report, op->at,
                     "the constant %s would also stand for an argument of %s; rename one argument", name,
                     other->schema.name);
    }
  }
}

void table_name_operators(gen_table *table) {
  for (int i = 0; i < table->count; i++) name_operator(table, table->operators[i]);
  for (int i = 0; i < table->count; i++) {
    gen_operator *op = table->operators[i];
    if (strcmp(op->symbol, "count") == 0 || strcmp(op->symbol, "none") == 0)
      report_error(&table->report, op->at, "LAZE_OP_%s has another meaning; rename the operator", op->upper);
    check_against_api(table, op);
    for (int k = 0; k < table->count; k++) {
      if (k < i) check_against(table, op, table->operators[k]);
      if (k != i) check_attribute_names(table, op, table->operators[k]);
    }
  }
}
