/* Calls: functions of the language, and operators with their overloads. */
#include "ops/opgen/check.h"

#include "ops/opgen/allocate.h"

#include <string.h>

static const gen_builtin builtins[] = {
    {"present", BUILTIN_PRESENT, KIND_BOOL, 1, 1, "present(argument)"},
    {"dtype", BUILTIN_DTYPE, KIND_DTYPE, 1, 1, "dtype(tensor)"},
    {"rank", BUILTIN_RANK, KIND_INT, 1, 1, "rank(tensor)"},
    {"size", BUILTIN_SIZE, KIND_SIZE, 2, 2, "size(tensor, axis)"},
    {"sizes", BUILTIN_SIZES, KIND_SIZE_LIST, 1, 1, "sizes(tensor)"},
    {"numel", BUILTIN_NUMEL, KIND_SIZE, 1, 2, "numel(tensor) or numel(tensor, dims)"},
    {"is_float", BUILTIN_IS_FLOAT, KIND_BOOL, 1, 1, "is_float(tensor) or is_float(dtype)"},
    {"is_complex", BUILTIN_IS_COMPLEX, KIND_BOOL, 1, 1, "is_complex(tensor) or is_complex(dtype)"},
    {"promoted", BUILTIN_PROMOTED, KIND_DTYPE, 1, 16, "promoted(x, y, ...)"},
    {"float_of", BUILTIN_FLOAT_OF, KIND_DTYPE, 1, 1, "float_of(dtype)"},
    {"part_of", BUILTIN_PART_OF, KIND_DTYPE, 1, 1, "part_of(dtype)"},
    {"complex_of", BUILTIN_COMPLEX_OF, KIND_DTYPE, 1, 1, "complex_of(dtype)"},
    {"count", BUILTIN_COUNT, KIND_INT, 1, 1, "count(list)"},
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
  case BUILTIN_IS_FLOAT:
  case BUILTIN_IS_COMPLEX: return is_value(item) || (item->kind == KIND_DTYPE && !item->optional);
  case BUILTIN_PROMOTED: return is_value(item) || (kind_is_number(item->kind) && !item->optional);
  case BUILTIN_PART_OF:
  case BUILTIN_COMPLEX_OF:
  case BUILTIN_FLOAT_OF: return item->kind == KIND_DTYPE && !item->optional;
  case BUILTIN_COUNT:
    return item->form == FORM_NAME && item->argument >= 0 && kind_is_list(item->kind) && !item->optional;
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
  const bool sees_tensors = builtin->number != BUILTIN_PRESENT && builtin->number != BUILTIN_COUNT;
  if (scope->in_condition && sees_tensors) {
    check_fault(scope, call, "a condition sees no tensors; it may use attributes and present()");
  } else if (!good) {
    const bool absent = builtin->number != BUILTIN_PRESENT && call->count > 0 && call->items[0]->optional;
    check_fault(scope, call, "%s does not take this; write %s%s", builtin->name, builtin->usage,
                absent ? " of something that is present" : "");
  }
}

/* The operators that an expression may call by a name, for the ranking. */
static bool candidate_of(const void *self, const char *name, int32_t index, laze_candidate *out) {
  const gen_table *table = self;
  const gen_operator *op = strchr(name, '.') != NULL ? table_find(table, name) : NULL;
  if (op != NULL && (index > 0 || !operator_is_callable(op))) return false;
  for (int at = 0; op == NULL;) {
    op = table_next(table, name, &at);
    if (op == NULL) return false;
    if (!operator_is_callable(op) || index-- > 0) op = NULL;
  }
  *out = (laze_candidate){op, op->schema.name, op->schema.text, op->schema.count};
  return true;
}

static void parameter_of(const void *op, int32_t index, laze_parameter *out) {
  const gen_argument *argument = &((const gen_operator *)op)->schema.arguments[index];
  *out = (laze_parameter){.name = argument->name,
                          .kind = (laze_argument_kind)argument->kind,
                          .may_be_absent = argument_may_be_absent(argument),
                          .may_be_left_out = argument->has_default || argument_may_be_absent(argument),
                          .keyword_only = argument->keyword_only,
                          .list_size = argument->list_size};
}

static laze_passed_kind passed_kind(const gen_expression *item) {
  switch (item->kind) {
  case KIND_TENSOR: return LAZE_PASSED_TENSOR;
  case KIND_TENSOR_LIST: return LAZE_PASSED_TENSOR_LIST;
  case KIND_OPTIONAL_LIST: return LAZE_PASSED_OPTIONAL_LIST;
  case KIND_SCALAR: return LAZE_PASSED_SCALAR;
  case KIND_INT: return LAZE_PASSED_INTEGER;
  case KIND_SIZE: return LAZE_PASSED_SIZE;
  case KIND_FLOAT: return LAZE_PASSED_REAL;
  case KIND_BOOL: return LAZE_PASSED_BOOL;
  case KIND_LITERAL: return LAZE_PASSED_LITERAL;
  case KIND_DTYPE: return LAZE_PASSED_DTYPE;
  case KIND_STRING: return LAZE_PASSED_STRING;
  case KIND_INT_LIST:
    return item->form == FORM_LIST && item->count == 0 ? LAZE_PASSED_EMPTY_LIST : LAZE_PASSED_INT_LIST;
  case KIND_SIZE_LIST: return LAZE_PASSED_SIZE_LIST;
  case KIND_FLOAT_LIST: return LAZE_PASSED_FLOAT_LIST;
  case KIND_STRING_LIST: return LAZE_PASSED_STRING_LIST;
  case KIND_ABSENT: return LAZE_PASSED_ABSENT;
  default: return LAZE_PASSED_OTHER;
  }
}

static laze_passed *describe(const gen_expression *call) {
  laze_passed *passed = memory_take((size_t)call->count * sizeof(*passed));
  for (int i = 0; i < call->count; i++) {
    const char *keyword = call->keywords != NULL ? call->keywords[i] : NULL;
    passed[i] = (laze_passed){.name = keyword,
                              .name_length = keyword != NULL ? (int32_t)strlen(keyword) : 0,
                              .kind = passed_kind(call->items[i]),
                              .may_be_absent = call->items[i]->optional};
  }
  return passed;
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
    if (kind_is_tensors(kind) && item->form != FORM_LIST && operator_segments(call->callee) > 1)
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

static void set_callee(gen_scope *scope, gen_expression *call, const gen_operator *callee, const laze_passed *passed) {
  call->callee = callee;
  call->bound = memory_take((size_t)callee->schema.count * sizeof(*call->bound));
  for (int i = 0; i < call->count; i++) call->bound[passed[i].argument] = call->items[i];
  call->kind = callee->schema.result_count == 1 ? KIND_TENSOR : KIND_SEVERAL;
  check_operands(scope, call);
}

static void refuse(gen_scope *scope, gen_expression *call, const laze_overloads *overloads,
                   const laze_overload_call *asked) {
  const char *reasons = "";
  char reason[256];
  laze_candidate candidate;
  int at = 0;
  for (int i = 0; candidate_of(scope->table, asked->name, i, &candidate); i++)
    reasons = memory_format("%s\n    %s: %s", reasons, candidate.schema,
                            laze_overload_reason(overloads, asked, &candidate, reason, sizeof(reason)));
  if (*reasons != '\0')
    check_fault(scope, call, "no overload of \"%s\" takes these arguments; pass what one of them wants:%s", asked->name,
                reasons);
  else if (table_find(scope->table, asked->name) != NULL || table_next(scope->table, asked->name, &at) != NULL)
    check_fault(scope, call, "\"%s\" cannot be called in an expression; write \"composite: c\"", asked->name);
  else
    unknown_operator(scope, call, asked->name);
}

void check_overload(gen_scope *scope, gen_expression *call, const char *base) {
  for (int i = 0; i < call->count; i++)
    if (call->items[i]->kind == KIND_WRONG) {
      call->kind = KIND_WRONG;
      return;
    }
  const laze_overloads overloads = {scope->table, candidate_of, parameter_of};
  const laze_overload_call asked = {base, LAZE_POSITIONS_BEFORE_KEYWORDS, describe(call), call->count, false, false};
  laze_candidate chosen;
  if (laze_overload_choose(&overloads, &asked, &chosen))
    set_callee(scope, call, chosen.op, asked.passed);
  else
    refuse(scope, call, &overloads, &asked);
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
