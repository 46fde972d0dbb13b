/* The type checker. Kinds go up the syntax tree, what is known to be present goes down:
 *
 *   present(alpha) ? mul(other, alpha) : other
 *   ^ bool           ^ Tensor            ^ Tensor     so the whole is a Tensor
 *                    alpha is present here            and may be absent here
 */
#include "ops/opgen/check.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void check_fault(gen_scope *scope, gen_expression *expression, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  gen_place at = scope->at;
  at.line = expression->line;
  report_error(&scope->table->report, at, "%s", message);
  expression->kind = KIND_WRONG;
}

static void check_name(gen_scope *scope, gen_expression *name) {
  for (int i = 0; i < scope->variable_count; i++) {
    gen_variable *variable = scope->variables[i];
    if (strcmp(variable->name, name->text) != 0) continue;
    variable->used = true;
    name->variable = variable;
    name->kind = variable->kind;
    name->optional = variable->optional;
    return;
  }
  name->argument = schema_find(&scope->op->schema, name->text);
  if (name->argument < 0) {
    check_fault(scope, name, "\"%s\" is neither an argument nor assigned above; write one of those", name->text);
    return;
  }
  const gen_argument *argument = &scope->op->schema.arguments[name->argument];
  scope->used |= (uint64_t)1 << name->argument;
  name->kind = argument->kind;
  name->optional = argument->optional && (scope->known >> name->argument & 1) == 0;
  if (scope->in_condition && kind_is_operand(argument->kind))
    check_fault(scope, name, "a condition sees no tensors; it may use attributes and present()");
}

/* The kind of a list that holds an item. */
static gen_kind list_of(gen_kind item) {
  switch (item) {
  case KIND_TENSOR: return KIND_TENSOR_LIST;
  case KIND_FLOAT: return KIND_FLOAT_LIST;
  case KIND_SIZE: return KIND_SIZE_LIST;
  default: return KIND_INT_LIST;
  }
}

/* Integers lie beside sizes or beside reals, tensors beside tensors. */
static bool lies_in_list(const gen_expression *item, const gen_expression *list, int index) {
  const gen_kind kind = list_of(item->kind);
  if (item->optional) return false;
  if (kind == KIND_TENSOR_LIST) return index == 0 || list->kind == kind;
  if (kind == KIND_FLOAT_LIST) return list->kind == KIND_INT_LIST || list->kind == kind;
  if (kind == KIND_SIZE_LIST) return list->kind == KIND_INT_LIST || list->kind == kind;
  return kind_is_integer(item->kind) && list->kind != KIND_TENSOR_LIST;
}

static void check_list(gen_scope *scope, gen_expression *list) {
  list->kind = KIND_INT_LIST;
  for (int i = 0; i < list->count; i++) {
    gen_expression *item = list->items[i];
    check_expression(scope, item);
    if (item->kind == KIND_WRONG) {
      list->kind = KIND_WRONG;
      return;
    }
    if (!lies_in_list(item, list, i)) {
      check_fault(scope, list, "item %d of the list is %s%s; lists hold numbers or tensors that are present", i + 1,
                  kind_name(item->kind), item->optional ? " that may be absent" : "");
      return;
    }
    if (list->kind == KIND_INT_LIST) list->kind = list_of(item->kind);
  }
}

static bool is_value(gen_kind kind) {
  return kind == KIND_TENSOR || kind == KIND_SCALAR;
}

static void check_unary(gen_scope *scope, gen_expression *unary) {
  const gen_expression *item = unary->items[0];
  if (*unary->text == '!') {
    unary->kind = KIND_BOOL;
    if (item->kind != KIND_BOOL || item->optional)
      check_fault(scope, unary, "\"!\" takes a condition, given %s; call logical_not() for tensors",
                  kind_name(item->kind));
  } else if (is_value(item->kind)) {
    check_overload(scope, unary, "neg");
  } else if ((kind_is_integer(item->kind) || item->kind == KIND_FLOAT) && !item->optional) {
    unary->kind = item->kind;
  } else {
    check_fault(scope, unary, "\"-\" takes a tensor or a number, given %s", kind_name(item->kind));
  }
}

static const char *arithmetic_operator(const char *mark) {
  static const char *const names[][2] = {{"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "div"}};
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
    if (strcmp(names[i][0], mark) == 0) return names[i][1];
  return NULL;
}

static void check_arithmetic(gen_scope *scope, gen_expression *binary) {
  const gen_kind left = binary->items[0]->kind, right = binary->items[1]->kind;
  if (is_value(left) || is_value(right)) {
    check_overload(scope, binary, arithmetic_operator(binary->text));
  } else if (kind_is_integer(left) && kind_is_integer(right)) {
    binary->kind = left == KIND_SIZE ? left : right;
  } else {
    check_fault(scope, binary, "\"%s\" takes tensors or integers, given %s and %s", binary->text, kind_name(left),
                kind_name(right));
  }
}

static void check_comparison(gen_scope *scope, gen_expression *binary) {
  const gen_kind left = binary->items[0]->kind, right = binary->items[1]->kind;
  const bool equality = strcmp(binary->text, "==") == 0 || strcmp(binary->text, "!=") == 0;
  const bool numbers = kind_is_number(left) && kind_is_number(right) && (left == KIND_BOOL) == (right == KIND_BOOL);
  const bool sizes = left == KIND_SIZE || right == KIND_SIZE;
  binary->kind = KIND_BOOL;
  if (is_value(left) || is_value(right))
    check_fault(scope, binary, "\"%s\" compares attributes; call eq, ne, lt, le, gt or ge for tensors", binary->text);
  else if (sizes && !(kind_is_integer(left) && kind_is_integer(right)))
    check_fault(scope, binary, "\"%s\" compares a size with %s; compare it with an integer", binary->text,
                kind_name(left == KIND_SIZE ? right : left));
  else if (sizes && scope->in_condition)
    check_fault(scope, binary, "a condition cannot ask about a SymInt; compare int attributes");
  else if (!numbers && !(equality && left == right && (left == KIND_DTYPE || left == KIND_STRING)))
    check_fault(scope, binary, "\"%s\" cannot compare %s with %s", binary->text, kind_name(left), kind_name(right));
}

static void check_binary(gen_scope *scope, gen_expression *binary) {
  const gen_expression *left = binary->items[0], *right = binary->items[1];
  const gen_expression *absent = left->optional ? left : right->optional ? right : NULL;
  if (absent != NULL) {
    check_fault(scope, binary, "\"%s\" may be absent here; use it as \"present(%s) ? ... : ...\"", absent->text,
                absent->text);
  } else if (arithmetic_operator(binary->text) != NULL) {
    check_arithmetic(scope, binary);
  } else if (strcmp(binary->text, "&&") == 0 || strcmp(binary->text, "||") == 0) {
    binary->kind = KIND_BOOL;
    if (left->kind != KIND_BOOL || right->kind != KIND_BOOL)
      check_fault(scope, binary, "\"%s\" joins conditions, given %s and %s", binary->text, kind_name(left->kind),
                  kind_name(right->kind));
  } else {
    check_comparison(scope, binary);
  }
}

uint64_t check_presence(const gen_expression *condition, bool holds) {
  if (condition->form == FORM_UNARY && *condition->text == '!') return check_presence(condition->items[0], !holds);
  const bool is_call = condition->form == FORM_CALL && condition->kind != KIND_WRONG;
  if (is_call && condition->builtin != NULL && condition->builtin->number == BUILTIN_PRESENT)
    return holds ? (uint64_t)1 << condition->items[0]->argument : 0;
  if (condition->form == FORM_BINARY && strcmp(condition->text, holds ? "&&" : "||") == 0)
    return check_presence(condition->items[0], holds) | check_presence(condition->items[1], holds);
  return 0;
}

/* The kind of a conditional from those of its arms, KIND_WRONG where they differ. */
static gen_kind join_kinds(const gen_expression *left, const gen_expression *right) {
  if (left->kind == right->kind) return left->kind;
  if (left->kind == KIND_ABSENT) return right->kind;
  if (right->kind == KIND_ABSENT) return left->kind;
  if (kind_is_integer(left->kind) && kind_is_integer(right->kind)) return KIND_SIZE;
  if (kind_is_list(left->kind) && kind_is_list(right->kind)) return KIND_SIZE_LIST;
  return KIND_WRONG;
}

/* The kinds whose C form has a value for "absent". */
static bool may_be_absent(gen_kind kind) {
  return kind == KIND_TENSOR || kind == KIND_SCALAR || kind == KIND_DTYPE || kind == KIND_STRING || kind_is_list(kind);
}

static void check_conditional(gen_scope *scope, gen_expression *conditional) {
  gen_expression *condition = conditional->items[0], *left = conditional->items[1], *right = conditional->items[2];
  const uint64_t known = scope->known;
  check_expression(scope, condition);
  scope->known = known | check_presence(condition, true);
  check_expression(scope, left);
  scope->known = known | check_presence(condition, false);
  check_expression(scope, right);
  scope->known = known;
  conditional->kind = KIND_WRONG;
  if (condition->kind == KIND_WRONG || left->kind == KIND_WRONG || right->kind == KIND_WRONG) return;
  if (condition->kind != KIND_BOOL || condition->optional) {
    check_fault(scope, conditional, "\"?\" needs a condition on attributes, given %s; call where() for tensors",
                kind_name(condition->kind));
    return;
  }
  conditional->kind = join_kinds(left, right);
  conditional->optional = left->optional || right->optional || left->kind == KIND_ABSENT || right->kind == KIND_ABSENT;
  if (conditional->kind == KIND_WRONG || conditional->kind >= KIND_ABSENT || kind_is_tensors(conditional->kind))
    check_fault(scope, conditional, "the arms of \"?\" are %s and %s; both must be of one kind", kind_name(left->kind),
                kind_name(right->kind));
  else if (conditional->optional && !may_be_absent(conditional->kind))
    check_fault(scope, conditional, "an arm of \"?\" is %s that may be absent; give both arms a value",
                kind_name(conditional->kind));
}

static void check_operators(gen_scope *scope, gen_expression *expression) {
  const uint64_t known = scope->known;
  for (int i = 0; i < expression->count; i++) {
    check_expression(scope, expression->items[i]);
    if (expression->items[i]->kind == KIND_WRONG) {
      expression->kind = KIND_WRONG;
      return;
    }
    /* The right side of && is looked at only where the left holds, that of || where it does not. */
    if (strcmp(expression->text, "&&") == 0) scope->known |= check_presence(expression->items[i], true);
    if (strcmp(expression->text, "||") == 0) scope->known |= check_presence(expression->items[i], false);
  }
  scope->known = known;
  if (expression->form == FORM_UNARY)
    check_unary(scope, expression);
  else
    check_binary(scope, expression);
}

void check_expression(gen_scope *scope, gen_expression *expression) {
  switch (expression->form) {
  case FORM_INTEGER: expression->kind = KIND_INT; break;
  case FORM_REAL: expression->kind = KIND_FLOAT; break;
  case FORM_BOOL: expression->kind = KIND_BOOL; break;
  case FORM_STRING: expression->kind = KIND_STRING; break;
  case FORM_DTYPE: expression->kind = KIND_DTYPE; break;
  case FORM_NONE: expression->kind = KIND_ABSENT; break;
  case FORM_NAME: check_name(scope, expression); break;
  case FORM_LIST: check_list(scope, expression); break;
  case FORM_CALL: check_call(scope, expression); break;
  case FORM_CONDITIONAL: check_conditional(scope, expression); break;
  default: check_operators(scope, expression);
  }
}

static bool is_taken(const gen_scope *scope, const char *name) {
  for (int i = 0; i < scope->variable_count; i++)
    if (strcmp(scope->variables[i]->name, name) == 0) return true;
  return schema_find(&scope->op->schema, name) >= 0;
}

static void check_statement(gen_scope *scope, gen_statement *statement) {
  gen_expression *value = statement->value;
  check_expression(scope, value);
  if (statement->count == 0) {
    if (value->kind != KIND_BOOL && value->kind != KIND_WRONG)
      check_fault(scope, value, "what is required is a condition such as p >= 0, not %s", kind_name(value->kind));
    return;
  }
  const int results = value->kind == KIND_SEVERAL ? value->callee->schema.result_count : 1;
  if (value->kind != KIND_WRONG && results != statement->count)
    check_fault(scope, value, "%d names for %d results; write one name for each", statement->count, results);
  if (value->kind == KIND_ABSENT) check_fault(scope, value, "\"none\" cannot be named; write it where it is passed");
  for (int i = 0; i < statement->count; i++) {
    gen_variable *variable = statement->variables[i];
    gen_place at = scope->at;
    at.line = variable->line;
    variable->kind = value->kind == KIND_SEVERAL ? KIND_TENSOR : value->kind;
    variable->optional = value->optional;
    if (is_taken(scope, variable->name))
      report_error(&scope->table->report, at, "\"%s\" has a value already; give this one another name", variable->name);
    scope->variables = memory_grow(scope->variables, scope->variable_count, sizeof(*scope->variables));
    scope->variables[scope->variable_count++] = variable;
  }
}

static void check_results(gen_scope *scope, gen_program *program) {
  const int expected = scope->op->schema.result_count;
  int given = program->result_count;
  for (int i = 0; i < program->result_count; i++) {
    gen_expression *result = program->results[i];
    check_expression(scope, result);
    if (result->kind == KIND_WRONG) return;
    if (result->kind == KIND_SEVERAL && program->result_count == 1)
      given = result->callee->schema.result_count;
    else if (result->kind == KIND_ABSENT && scope->may_be_absent)
      result->kind = KIND_TENSOR;
    else if (result->kind != KIND_TENSOR || (result->optional && !scope->may_be_absent)) {
      check_fault(scope, result,
                  "what is returned is %s%s; return a tensor (to() makes one of a Scalar, full() of a number)",
                  kind_name(result->kind), result->optional ? " that may be absent" : "");
      return;
    }
  }
  if (given != expected)
    check_fault(scope, program->results[0], "%d results are returned, the schema has %d; return as many", given,
                expected);
}

static void check_unused(gen_scope *scope) {
  for (int i = 0; i < scope->variable_count; i++) {
    gen_place at = scope->at;
    at.line = scope->variables[i]->line;
    if (!scope->variables[i]->used && scope->variables[i]->name[0] != '_')
      report_error(&scope->table->report, at, "\"%s\" is never used; use it or drop it", scope->variables[i]->name);
  }
  for (int i = 0; i < scope->op->schema.count; i++)
    if ((scope->used >> i & 1) == 0)
      report_error(&scope->table->report, scope->at,
                   "argument \"%s\" is never used; use it in the composite or drop it",
                   scope->op->schema.arguments[i].name);
}

void check_operator(gen_table *table, gen_operator *op) {
  gen_scope scope = {.table = table, .op = op, .at = op->at};
  const int errors = table->report.errors;
  if (op->schema.count > 64) {
    report_error(&table->report, op->at, "%d arguments; at most 64 are supported", op->schema.count);
    return;
  }
  if (op->when != NULL) {
    scope.in_condition = true;
    check_expression(&scope, op->when);
    if (op->when->kind != KIND_BOOL && op->when->kind != KIND_WRONG)
      check_fault(&scope, op->when, "\"when\" is a condition such as present(alpha), not %s",
                  kind_name(op->when->kind));
    scope.in_condition = false;
    scope.known = check_presence(op->when, true);
  }
  if (op->composite == NULL) return;
  /* A primitive's own element text, lowering and rules use its arguments as well. */
  if (op->op_class != CLASS_COMPOSITE) scope.used = ~(uint64_t)0;
  for (int i = 0; i < op->composite->count; i++) check_statement(&scope, &op->composite->statements[i]);
  check_results(&scope, op->composite);
  if (table->report.errors == errors) check_unused(&scope);
}

void check_formula_of(gen_table *table, gen_operator *function, const gen_expression *when) {
  gen_scope scope = {.table = table, .op = function, .at = function->at, .may_be_absent = true};
  if (when != NULL) scope.known = check_presence(when, false);
  const gen_program *program = function->composite;
  for (int i = 0; i < program->count; i++) check_statement(&scope, &program->statements[i]);
  check_results(&scope, function->composite);
}

/* Composites that expand into themselves would never end: a depth-first search over "expands into". */
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
