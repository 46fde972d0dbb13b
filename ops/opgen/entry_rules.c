/* Rule calls of entries, "reduce(self, dim, keepdim)": looks the rule up and gives each of its parameters a value. */
#include "ops/opgen/table.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"

#include <string.h>

typedef struct gen_binding {
  gen_table *table;
  gen_operator *op;
  gen_rule_call *call;
  const char *key; /* "shape" or "dtype" */
  gen_place at;
} gen_binding;

/* Gives an item of a rule call its kind: an argument of the operator or a literal. */
static bool type_item(const gen_binding *binding, gen_expression *item) {
  switch (item->form) {
  case FORM_NAME: {
    item->argument = schema_find(&binding->op->schema, item->text);
    if (item->argument < 0) break;
    const gen_argument *argument = &binding->op->schema.arguments[item->argument];
    item->kind = argument->kind;
    item->optional = argument_may_be_absent(argument);
    return true;
  }
  case FORM_INTEGER: item->kind = KIND_INT; return true;
  case FORM_BOOL: item->kind = KIND_BOOL; return true;
  case FORM_DTYPE: item->kind = KIND_DTYPE; return true;
  case FORM_NONE: item->kind = KIND_ABSENT; return true;
  case FORM_LIST:
    item->kind = KIND_INT_LIST;
    for (int i = 0; i < item->count; i++) {
      if (item->items[i]->form == FORM_INTEGER) continue;
      report_error(&binding->table->report, binding->at,
                   "%s: \"%s\" is no integer; a list for a rule holds integers, and tensors stand one by one without "
                   "brackets",
                   binding->key, item->items[i]->text);
      return false;
    }
    return true;
  default: break;
  }
  report_error(&binding->table->report, binding->at,
               "%s: \"%s\" is no argument of the operator; rules take its arguments, integers, true, false, dtypes, "
               "[integers] and none",
               binding->key, item->text);
  return false;
}

static bool item_fits(const gen_argument *parameter, const gen_expression *item) {
  if (item->kind == KIND_ABSENT) return parameter->optional;
  if (item->optional && !parameter->optional && item->kind != KIND_SCALAR) return false;
  switch (parameter->kind) {
  case KIND_TENSOR:
    return item->kind == KIND_TENSOR || (item->kind == KIND_SCALAR && (parameter->optional || !item->optional));
  case KIND_SIZE: return kind_is_integer(item->kind);
  case KIND_SIZE_LIST:
  case KIND_INT_LIST: return kind_is_list(item->kind);
  default: return parameter->kind == item->kind;
  }
}

static bool is_tensor(const gen_expression *item) {
  return item->kind == KIND_TENSOR || item->kind == KIND_SCALAR;
}

/* Gives parameter `index` its items from *next on. */
static bool bind_parameter(const gen_binding *binding, int index, int *next) {
  gen_rule_call *call = binding->call;
  const gen_argument *parameter = &call->rule->schema.arguments[index];
  call->firsts[index] = *next;
  if (parameter->kind == KIND_TENSOR_LIST) {
    if (*next < call->call->count && call->call->items[*next]->kind == KIND_TENSOR_LIST)
      (*next)++;
    else
      while (*next < call->call->count && is_tensor(call->call->items[*next]) && !call->call->items[*next]->optional)
        (*next)++;
  } else if (*next < call->call->count && item_fits(parameter, call->call->items[*next])) {
    (*next)++;
  }
  call->counts[index] = *next - call->firsts[index];
  if (call->counts[index] > 0) return true;
  report_error(&binding->table->report, binding->at, "%s: rule %s needs %s %s%s where %s is; write %s", binding->key,
               call->rule->schema.name, argument_type_text(parameter), parameter->name,
               parameter->optional ? "" : " (always present)",
               *next < call->call->count ? memory_format("\"%s\"", call->call->items[*next]->text) : "nothing",
               call->rule->schema.text);
  return false;
}

static void bind(const gen_binding *binding, const gen_rule *rule) {
  gen_rule_call *call = binding->call;
  for (int i = 0; i < call->call->count; i++) {
    if (call->call->keywords[i] != NULL) {
      report_error(&binding->table->report, binding->at, "%s: rules take no named arguments; write them in order: %s",
                   binding->key, rule->schema.text);
      return;
    }
    if (!type_item(binding, call->call->items[i])) return;
  }
  call->rule = rule;
  call->firsts = memory_take((size_t)rule->schema.count * sizeof(int));
  call->counts = memory_take((size_t)rule->schema.count * sizeof(int));
  int next = 0;
  for (int i = 0; i < rule->schema.count; i++)
    if (!bind_parameter(binding, i, &next)) return;
  if (next < call->call->count)
    report_error(&binding->table->report, binding->at, "%s: rule %s has no parameter for \"%s\"; write %s",
                 binding->key, rule->schema.name, call->call->items[next]->text, rule->schema.text);
}

static void check_call(gen_binding *binding, const gen_rule *rules, int count, const gen_rule *found) {
  const gen_expression *call = binding->call->call;
  if (call == NULL) return;
  binding->at.line = call->line;
  if (call->form == FORM_CALL && found != NULL) {
    bind(binding, found);
    return;
  }
  const char *all = "";
  for (int i = 0; i < count; i++) all = memory_format("%s %s", all, rules[i].schema.name);
  if (call->form != FORM_CALL)
    report_error(&binding->table->report, binding->at, "%s: write a rule with its arguments, such as same(self)",
                 binding->key);
  else
    report_error(&binding->table->report, binding->at, "%s: no rule \"%s\" in rules.yaml; there are:%s", binding->key,
                 call->text, all);
}

void rules_check(gen_table *table, gen_operator *op) {
  for (int i = 0; i < op->shape_count; i++) {
    gen_binding binding = {table, op, &op->shapes[i], "shape", op->at};
    const gen_expression *call = op->shapes[i].call;
    check_call(&binding, table->shapes, table->shape_count, call == NULL ? NULL : table_shape(table, call->text));
  }
  for (int i = 0; i < op->dtype_count; i++) {
    gen_binding binding = {table, op, &op->dtype_rules[i], "dtype", op->at};
    const gen_expression *call = op->dtype_rules[i].call;
    check_call(&binding, table->dtypes, table->dtype_count, call == NULL ? NULL : table_dtype(table, call->text));
  }
}
