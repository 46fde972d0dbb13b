/* Calls: functions of the language, and operators with their overloads. */
#include "ops/opgen/check.h"

#include "ops/opgen/memory.h"

#include <string.h>

static const gen_builtin builtins[] = {
    {"present", BUILTIN_PRESENT, KIND_BOOL, 1, 1, "present(argument)"},
    {"dtype", BUILTIN_DTYPE, KIND_DTYPE, 1, 1, "dtype(tensor)"},
    {"rank", BUILTIN_RANK, KIND_INT, 1, 1, "rank(tensor)"},
    {"size", BUILTIN_SIZE, KIND_SIZE, 2, 2, "size(tensor, axis)"},
    {"sizes", BUILTIN_SIZES, KIND_SIZE_LIST, 1, 1, "sizes(tensor)"},
    {"numel", BUILTIN_NUMEL, KIND_SIZE, 1, 2, "numel(tensor) or numel(tensor, dims)"},
    {"is_float", BUILTIN_IS_FLOAT, KIND_BOOL, 1, 1, "is_float(tensor) or is_float(dtype)"},
    {"promoted", BUILTIN_PROMOTED, KIND_DTYPE, 1, 16, "promoted(x, y, ...)"},
    {"float_of", BUILTIN_FLOAT_OF, KIND_DTYPE, 1, 1, "float_of(dtype)"},
};

const gen_builtin *builtin_find(const char *name) {
  for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++)
    if (strcmp(builtins[i].name, name) == 0) return &builtins[i];
  return NULL;
}

static bool is_value(const gen_expression *item) {
  return (item->kind == KIND_TENSOR || item->kind == KIND_SCALAR) && !item->optional;
}

static bool builtin_fits(const gen_builtin *builtin, const gen_expression *item, int index) {
  switch (builtin->number) {
  case BUILTIN_PRESENT: return item->form == FORM_NAME && item->argument >= 0;
  case BUILTIN_SIZE: return index == 0 ? is_value(item) : item->kind == KIND_INT && !item->optional;
  case BUILTIN_NUMEL: return index == 0 ? is_value(item) : kind_is_list(item->kind) || item->kind == KIND_INT;
  case BUILTIN_IS_FLOAT: return is_value(item) || (item->kind == KIND_DTYPE && !item->optional);
  case BUILTIN_PROMOTED: return is_value(item) || (kind_is_number(item->kind) && !item->optional);
  case BUILTIN_FLOAT_OF: return item->kind == KIND_DTYPE && !item->optional;
  default: return is_value(item);
  }
}

/* present(x) asks about absence itself, so x is not checked as a value that must be there. */
static void check_present(gen_scope *scope, gen_expression *call) {
  gen_expression *item = call->items[0];
  item->argument = item->form == FORM_NAME ? schema_find(&scope->op->schema, item->text) : -1;
  if (item->argument < 0) {
    check_fault(scope, call, "present() asks about an argument; write present(argument)");
    return;
  }
  const gen_argument *argument = &scope->op->schema.arguments[item->argument];
  scope->used |= (uint64_t)1 << item->argument;
  item->kind = argument->kind;
  if (!argument_may_be_absent(argument) && !argument->optional)
    check_fault(scope, call, "\"%s\" is never absent; drop present(), or write \"%s?\" in the schema", argument->name,
                argument_type_text(argument));
}

void check_builtin(gen_scope *scope, gen_expression *call, const gen_builtin *builtin) {
  call->builtin = builtin;
  call->kind = builtin->kind;
  bool good = call->count >= builtin->minimum && call->count <= builtin->maximum;
  if (good && builtin->number == BUILTIN_PRESENT && call->keywords[0] == NULL) {
    check_present(scope, call);
    return;
  }
  for (int i = 0; i < call->count; i++) {
    check_expression(scope, call->items[i]);
    if (call->items[i]->kind == KIND_WRONG) call->kind = KIND_WRONG;
    good = good && call->keywords[i] == NULL && builtin_fits(builtin, call->items[i], i);
  }
  if (call->kind == KIND_WRONG) return;
  if (scope->in_condition && builtin->number != BUILTIN_PRESENT) {
    check_fault(scope, call, "a condition sees no tensors; it may use attributes and present()");
  } else if (!good) {
    const bool absent = builtin->number != BUILTIN_PRESENT && call->count > 0 && call->items[0]->optional;
    check_fault(scope, call, "%s does not take this; write %s%s", builtin->name, builtin->usage,
                absent ? " of something that is present" : "");
  }
}

#define IMPOSSIBLE 1000

/* Cost of passing a plain number, or an argument that is one. */
static int number_cost(const gen_argument *parameter, const gen_expression *item) {
  switch (parameter->kind) {
  case KIND_LITERAL: return item->kind == KIND_SIZE ? IMPOSSIBLE : 0;
  case KIND_SCALAR: return 1;
  case KIND_TENSOR: return 3;
  case KIND_INT: return item->kind == KIND_INT ? 0 : IMPOSSIBLE;
  case KIND_SIZE: return kind_is_integer(item->kind) ? 0 : IMPOSSIBLE;
  case KIND_FLOAT: return item->kind == KIND_FLOAT ? 0 : item->form == FORM_INTEGER ? 1 : IMPOSSIBLE;
  case KIND_BOOL: return item->kind == KIND_BOOL ? 0 : IMPOSSIBLE;
  case KIND_INT_LIST: return item->kind == KIND_INT && parameter->list_size > 0 ? 1 : IMPOSSIBLE;
  case KIND_SIZE_LIST: return kind_is_integer(item->kind) && parameter->list_size > 0 ? 1 : IMPOSSIBLE;
  default: return IMPOSSIBLE;
  }
}

/* How far an expression is from what the parameter wants; IMPOSSIBLE when it cannot be passed. */
static int conversion_cost(const gen_argument *parameter, const gen_expression *item) {
  if (item->kind == KIND_ABSENT) return parameter->optional ? 0 : IMPOSSIBLE;
  if (item->optional && !argument_may_be_absent(parameter)) return IMPOSSIBLE;
  if (kind_is_number(item->kind)) return number_cost(parameter, item);
  if (item->kind == parameter->kind) return 0;
  if (item->kind == KIND_SCALAR && parameter->kind == KIND_TENSOR) return item->optional ? IMPOSSIBLE : 2;
  if (item->kind == KIND_INT_LIST && parameter->kind == KIND_SIZE_LIST) return 0;
  /* An empty list has no element type. */
  if (item->form == FORM_LIST && item->count == 0 && parameter->kind == KIND_TENSOR_LIST) return 0;
  return IMPOSSIBLE;
}

/* The argument that item `index` of a call stands for, or -1. */
static int parameter_of(const gen_operator *callee, const gen_expression *call, int index) {
  const gen_schema *schema = &callee->schema;
  if (call->keywords != NULL && call->keywords[index] != NULL) return schema_find(schema, call->keywords[index]);
  return index < schema->count && !schema->arguments[index].keyword_only ? index : -1;
}

typedef struct gen_match {
  int cost;
  gen_expression **bound;
  const char *reason; /* when impossible */
} gen_match;

static gen_match match(const gen_operator *callee, const gen_expression *call) {
  const gen_schema *schema = &callee->schema;
  gen_match out = {.bound = memory_take((size_t)schema->count * sizeof(*out.bound))};
  for (int i = 0; i < call->count && out.reason == NULL; i++) {
    const int index = parameter_of(callee, call, i);
    if (index < 0) {
      const char *keyword = call->keywords[i];
      out.reason =
          keyword != NULL ? memory_format("it has no argument \"%s\"", keyword) : "it takes fewer positional arguments";
    } else if (out.bound[index] != NULL) {
      out.reason = memory_format("\"%s\" is given twice", schema->arguments[index].name);
    } else {
      const int cost = conversion_cost(&schema->arguments[index], call->items[i]);
      out.bound[index] = call->items[i];
      out.cost += cost;
      if (cost >= IMPOSSIBLE)
        out.reason = memory_format("\"%s\" is %s, given %s%s", schema->arguments[index].name,
                                   argument_type_text(&schema->arguments[index]), kind_name(call->items[i]->kind),
                                   call->items[i]->optional ? " that may be absent" : "");
    }
  }
  for (int i = 0; i < schema->count && out.reason == NULL; i++)
    if (out.bound[i] == NULL && !schema->arguments[i].has_default)
      out.reason = memory_format("\"%s\" is missing", schema->arguments[i].name);
  return out;
}

static void unknown_operator(gen_scope *scope, gen_expression *call, const char *base) {
  const char *near = table_suggest(scope->table, base);
  if (near != NULL)
    check_fault(scope, call, "no operator or function \"%s\"; did you mean \"%s\"?", base, near);
  else
    check_fault(scope, call, "no operator or function \"%s\"; add its entry or call another", base);
}

/* What generated code records for plain numbers that a call passes as tensors must be in the table, and a list that was
 * received can be passed on only as it lies. */
static void check_operands(gen_scope *scope, gen_expression *call) {
  for (int i = 0; i < call->callee->schema.count; i++) {
    const gen_expression *item = call->bound[i];
    const gen_kind kind = call->callee->schema.arguments[i].kind;
    if (item == NULL || !kind_is_operand(kind)) continue;
    if (kind == KIND_TENSOR_LIST && item->form != FORM_LIST && operator_segments(call->callee) > 1)
      check_fault(scope, call, "\"%s\" cannot be passed beside other tensors; write \"composite: c\"", item->text);
    else if (item->kind == KIND_SIZE && table_find(scope->table, "size_tensor") == NULL)
      check_fault(scope, call,
                  "a size becomes a tensor here, which needs the operator size_tensor(SymInt value, *, "
                  "ScalarType? dtype=None); add it");
    else if (item->kind == KIND_SCALAR && kind == KIND_TENSOR && table_conversion(scope->table) == NULL)
      check_fault(scope, call,
                  "a Scalar becomes a tensor here, which needs an operator with \"compute: convert\"; add it");
  }
}

static void set_callee(gen_scope *scope, gen_expression *call, const gen_operator *callee, gen_expression **bound) {
  call->callee = callee;
  call->bound = bound;
  call->kind = callee->schema.result_count == 1 ? KIND_TENSOR : KIND_SEVERAL;
  check_operands(scope, call);
}

void check_overload(gen_scope *scope, gen_expression *call, const char *base) {
  for (int i = 0; i < call->count; i++)
    if (call->items[i]->kind == KIND_WRONG) {
      call->kind = KIND_WRONG;
      return;
    }
  gen_match best = {.cost = IMPOSSIBLE};
  const gen_operator *chosen = NULL, *candidate = table_find(scope->table, strchr(base, '.') != NULL ? base : "");
  const bool exact = candidate != NULL;
  const char *reasons = "";
  int index = 0, tried = 0;
  while (exact ? tried == 0 : (candidate = table_next(scope->table, base, &index)) != NULL) {
    const gen_match found = match(candidate, call);
    tried++;
    if (!operator_is_callable(candidate)) continue;
    if (found.reason != NULL)
      reasons = memory_format("%s\n    %s: %s", reasons, candidate->schema.text, found.reason);
    else if (chosen == NULL || found.cost < best.cost) {
      best = found;
      chosen = candidate;
    }
  }
  if (chosen != NULL)
    set_callee(scope, call, chosen, best.bound);
  else if (tried == 0)
    unknown_operator(scope, call, base);
  else if (*reasons == '\0')
    check_fault(scope, call, "\"%s\" cannot be called in an expression; write \"composite: c\"", base);
  else
    check_fault(scope, call, "no overload of \"%s\" takes these arguments; pass what one of them wants:%s", base,
                reasons);
}

void check_call(gen_scope *scope, gen_expression *call) {
  const gen_builtin *builtin = builtin_find(call->text);
  if (builtin != NULL) {
    check_builtin(scope, call, builtin);
    return;
  }
  for (int i = 0; i < call->count; i++) check_expression(scope, call->items[i]);
  if (scope->in_condition)
    check_fault(scope, call, "a condition calls no operators; it may use attributes and present()");
  else
    check_overload(scope, call, call->text);
}
