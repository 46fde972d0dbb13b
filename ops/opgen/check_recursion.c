/* Composites that expand into themselves would never end: a depth-first search over "expands into". */
#include "ops/opgen/check.h"

#include <string.h>

static void visit(gen_table *table, gen_operator *op);

static void visit_expression(gen_table *table, gen_operator *op, const gen_expression *expression) {
  for (int i = 0; i < expression->count; i++) visit_expression(table, op, expression->items[i]);
  const gen_operator *callee = expression->callee;
  /* A primitive that expands in some forms only is taken for one that does not: its own composite leads away from it.
   */
  if (callee == NULL || callee->op_class != CLASS_COMPOSITE) return;
  for (int i = 0; i < table->count; i++) {
    gen_operator *next = table->operators[i];
    if (next != callee) continue;
    if (next->reached && !next->left) {
      gen_place at = op->at;
      at.line = expression->line;
      report_error(&table->report, at, "expands into itself through %s; call another overload or operator",
                   next->schema.name);
    } else {
      visit(table, next);
    }
  }
}

static void visit(gen_table *table, gen_operator *op) {
  if (op->reached) return;
  op->reached = true;
  const gen_program *program = op->composite;
  for (int i = 0; program != NULL && i < program->count; i++) visit_expression(table, op, program->statements[i].value);
  for (int i = 0; program != NULL && i < program->result_count; i++) visit_expression(table, op, program->results[i]);
  op->left = true;
}

void check_recursion(gen_table *table) {
  for (int i = 0; i < table->count; i++) visit(table, table->operators[i]);
}
