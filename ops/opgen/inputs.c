/* What a run of opgen reads, in the order in which it is understood. */
#include "ops/opgen/inputs.h"

#include "ops/opgen/check.h"
#include "ops/opgen/derivative.h"
#include "ops/opgen/function.h"

static void read_tables(gen_table *table, const gen_inputs *inputs) {
  for (int i = 0; i < inputs->header_count; i++)
    known_read(&table->known, inputs->headers[i].kind, inputs->headers[i].path, &table->report);
  table_read_rules(table, inputs->rules);
  for (int i = 0; i < inputs->table_count; i++) table_read_operators(table, inputs->tables[i]);
}

/* Formulas are named after the symbols of operators, and refer to all of them. */
static void read_derivatives(gen_table *table, const gen_inputs *inputs) {
  for (int i = 0; i < inputs->derivative_count; i++) table_read_derivatives(table, inputs->derivatives[i]);
}

/* Later checks build on what earlier ones found right; entries that could not be read are not there at all, so that
 * expressions are looked at only once everything was read. */
static void check_tables(gen_table *table, const gen_inputs *inputs) {
  const int read_errors = table->report.errors;
  table_name_operators(table);
  read_derivatives(table, inputs);
  table_name_functions(table);
  table_check_entries(table);
  if (read_errors > 0) return;
  for (int i = 0; i < table->count; i++) check_operator(table, table->operators[i]);
  if (table->report.errors == 0) check_recursion(table);
  if (table->report.errors == 0) table_check_derivatives(table);
}

void inputs_read(gen_table *table, const gen_inputs *inputs) {
  read_tables(table, inputs);
  check_tables(table, inputs);
}
