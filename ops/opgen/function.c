/* C functions of operators: who shares one, and what is exported under which name. */
#include "ops/opgen/function.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"
#include "ops/opgen/output.h"

#include <string.h>

const char *function_join(const char *list, const char *item) {
  if (*item == '\0') return list;
  return *list == '\0' ? item : memory_format("%s, %s", list, item);
}

bool function_has_more(const gen_operator *op) {
  for (int i = 0; i < op->schema.count; i++)
    if (op->schema.arguments[i].is_further) return true;
  return false;
}

bool function_takes_context(const gen_operator *op) {
  for (int i = 0; i < op->schema.count; i++)
    if (op->schema.arguments[i].kind <= KIND_OPTIONAL_LIST) return false;
  return true;
}

bool function_passes_scalar(const gen_argument *argument) {
  return argument->optional && kind_is_number(argument->kind) && argument->kind != KIND_LITERAL;
}

const gen_operator *function_next(const gen_table *table, const gen_operator *lead, int *index) {
  while (*index < table->count) {
    const gen_operator *op = table->operators[(*index)++];
    if (op->lead == lead) return op;
  }
  return NULL;
}

static bool is_tensor_or_number(gen_kind kind) {
  return kind == KIND_TENSOR || kind == KIND_SCALAR;
}

bool function_is_mixed(const gen_table *table, const gen_operator *op, int argument) {
  int next = 0;
  for (const gen_operator *other; (other = function_next(table, op->lead, &next)) != NULL;)
    if (other->schema.arguments[argument].kind != op->lead->schema.arguments[argument].kind) return true;
  return false;
}

/* --- C text --- */

const char *function_result(const gen_operator *op) {
  return op->schema.result_count == 1 ? "laze_tensor *" : "void ";
}

const char *function_parameter(const gen_argument *argument) {
  const char *name = c_name(argument->name);
  if (argument->as_integer) return memory_format("int64_t %s", name);
  if (function_passes_scalar(argument)) return memory_format("laze_scalar %s", name);
  switch (argument->kind) {
  case KIND_TENSOR: return memory_format("laze_tensor *%s", name);
  case KIND_TENSOR_LIST:
  case KIND_OPTIONAL_LIST: return memory_format("laze_tensor *const *%s, int32_t %s_count", name, name);
  case KIND_SCALAR:
  case KIND_LITERAL: return memory_format("laze_scalar %s", name);
  case KIND_FLOAT: return memory_format("double %s", name);
  case KIND_BOOL: return memory_format("bool %s", name);
  case KIND_DTYPE: return memory_format("laze_dtype %s", name);
  case KIND_STRING: return memory_format("const char *%s", name);
  case KIND_INT_LIST:
  case KIND_SIZE_LIST: return memory_format("laze_ints %s", name);
  case KIND_FLOAT_LIST: return memory_format("laze_reals %s", name);
  case KIND_STRING_LIST: return memory_format("laze_strings %s", name);
  default: return memory_format("int64_t %s", name);
  }
}

static const char *argument_name(const gen_argument *argument) {
  const char *name = c_name(argument->name);
  return kind_is_tensors(argument->kind) ? memory_format("%s, %s_count", name, name) : name;
}

/* Context, arguments as `write` gives them, results, further arguments; never empty. */
static const char *argument_list(const gen_operator *op, const char *context, const char *results, bool further,
                                 const char *(*write)(const gen_argument *argument)) {
  const char *list = function_takes_context(op) ? context : "";
  for (int i = 0; i < op->schema.count; i++)
    if (!op->schema.arguments[i].is_further) list = function_join(list, write(&op->schema.arguments[i]));
  if (op->schema.result_count > 1) list = function_join(list, results);
  for (int i = 0; i < op->schema.count && further; i++)
    if (op->schema.arguments[i].is_further) list = function_join(list, write(&op->schema.arguments[i]));
  return list;
}

const char *function_arguments(const gen_operator *op, bool further) {
  return argument_list(op, "context", "results", further, argument_name);
}

static const char *parameters(const gen_operator *op, bool further) {
  return argument_list(op, "laze_context *context", "laze_tensor **results", further, function_parameter);
}

const char *function_declaration(const gen_operator *op) {
  return memory_format("%slaze_%s(%s)", function_result(op), op->function, parameters(op, false));
}

const char *function_declaration_at(const gen_operator *op) {
  return memory_format("%slaze_%s_at(%s, const char *file, int32_t line)", function_result(op), op->function,
                       parameters(op, true));
}

static const char *default_argument(const gen_argument *argument) {
  if (function_passes_scalar(argument)) return "LAZE_NONE";
  switch (argument->kind) {
  case KIND_SCALAR:
  case KIND_LITERAL: return "LAZE_NONE";
  case KIND_DTYPE: return "LAZE_DTYPE_NONE";
  case KIND_INT_LIST:
  case KIND_SIZE_LIST: return "LAZE_ALL_DIMS";
  case KIND_FLOAT_LIST: return "LAZE_NO_REALS";
  case KIND_STRING_LIST: return "LAZE_NO_STRINGS";
  case KIND_FLOAT: return c_real(argument->value.real);
  case KIND_BOOL: return argument->value.integer ? "true" : "false";
  case KIND_INT:
  case KIND_SIZE: return c_integer(argument->value.integer);
  default: return "NULL";
  }
}

const char *function_defaults(const gen_operator *op) {
  const char *list = "";
  for (int i = 0; i < op->schema.count; i++)
    if (op->schema.arguments[i].is_further) list = function_join(list, default_argument(&op->schema.arguments[i]));
  return list;
}

/* --- who shares a function --- */

static bool argument_agrees(const gen_argument *a, const gen_argument *b) {
  const bool kinds = a->kind == b->kind || (is_tensor_or_number(a->kind) && is_tensor_or_number(b->kind));
  return kinds && strcmp(a->name, b->name) == 0 && a->optional == b->optional && a->is_further == b->is_further &&
         a->as_integer == b->as_integer && a->has_default == b->has_default &&
         (!a->is_further || (a->kind == b->kind && literal_equal(&a->value, &b->value)));
}

/* Whether the two differ in Tensor and Scalar alone, and in that. */
static bool shares(const gen_operator *op, const gen_operator *lead) {
  const gen_schema *a = &op->schema, *b = &lead->schema;
  bool differs = false;
  if (strcmp(op->at.file, lead->at.file) != 0 || a->count != b->count || a->result_count != b->result_count)
    return false;
  for (int i = 0; i < a->count; i++) {
    if (!argument_agrees(&a->arguments[i], &b->arguments[i])) return false;
    if (a->arguments[i].kind == b->arguments[i].kind) continue;
    if (b->arguments[i].kind != KIND_TENSOR) return false;
    differs = true;
  }
  return differs && function_takes_context(op) == function_takes_context(lead);
}

static int count_tensors(const gen_operator *op) {
  int count = 0;
  for (int i = 0; i < op->schema.count; i++) count += op->schema.arguments[i].kind == KIND_TENSOR;
  return count;
}

/* The operator of the same C name with the most tensors: the first of them. */
static const gen_operator *find_lead(const gen_table *table, const gen_operator *op) {
  const gen_operator *lead = op;
  for (int i = table->count - 1; i >= 0; i--) {
    const gen_operator *other = table->operators[i];
    if (!operator_has_function(other) || strcmp(other->c_name, op->c_name) != 0) continue;
    if (count_tensors(other) >= count_tensors(lead)) lead = other;
  }
  return lead;
}

/* "mul_number": what stands behind the name tells tensors and numbers where these differ. */
static const char *exported_name(const gen_table *table, const gen_operator *op) {
  const char *suffix = "";
  int mixed = 0;
  if (op->lead == op) return op->c_name;
  for (int i = 0; i < op->schema.count; i++) {
    if (!function_is_mixed(table, op, i)) continue;
    suffix = memory_format("%s_%s", suffix, op->schema.arguments[i].kind == KIND_TENSOR ? "tensor" : "number");
    mixed++;
  }
  return memory_format("%s%s", op->c_name, mixed == 1 ? "_number" : suffix);
}

static void report_conflict(gen_table *table, const gen_operator *op, const gen_operator *lead) {
  report_error(&table->report, op->at,
               "its C function laze_%s is also that of %s (%s:%d), which differs in more than Tensor and Scalar; name "
               "one otherwise, c: {name: ...}, or none",
               op->c_name, lead->schema.name, lead->at.file, lead->at.line);
}

static void find_leads(gen_table *table) {
  for (int i = 0; i < table->count; i++) {
    gen_operator *op = table->operators[i];
    if (!operator_has_function(op)) continue;
    op->lead = find_lead(table, op);
    if (op->lead == op || shares(op, op->lead)) continue;
    report_conflict(table, op, op->lead);
    op->c_name = NULL; /* of which is no more to be said */
  }
  for (int i = 0; i < table->count; i++)
    if (operator_has_function(table->operators[i]))
      table->operators[i]->function = exported_name(table, table->operators[i]);
}

/* --- names that are taken --- */

typedef struct {
  const char *name;
  const gen_operator *op;
} taken_name;

typedef struct {
  taken_name *items;
  int count;
} taken_names;

static void take(taken_names *names, const char *name, const gen_operator *op) {
  names->items = memory_grow(names->items, names->count, sizeof(*names->items));
  names->items[names->count++] = (taken_name){name, op};
}

/* What an operator adds to the interface, whether or not it has a longer form now: that may come. */
static void take_names(taken_names *names, const gen_operator *op) {
  take(names, memory_format("laze_%s_at", op->function), op);
  if (op->lead != op) return;
  take(names, memory_format("laze_%s", op->c_name), op);
  take(names, memory_format("laze_%s_with", op->c_name), op);
  take(names, memory_format("laze_%s_of", op->c_name), op);
  if (op->in_place == NULL) return;
  take(names, memory_format("laze_%s_", op->c_name), op);
  take(names, memory_format("laze_%s_with_", op->c_name), op);
  take(names, memory_format("laze_%s_in_place", op->c_name), op);
}

static void check_name(gen_table *table, const taken_names *names, int index) {
  const taken_name *name = &names->items[index];
  if (known_has(&table->known, KNOWN_API, name->name))
    report_error(&table->report, name->op->at,
                 "its %s is already part of the hand-written interface; name it otherwise: c: {name: ...}", name->name);
  for (int i = 0; i < index; i++)
    if (strcmp(names->items[i].name, name->name) == 0 && names->items[i].op->lead != name->op->lead)
      report_error(&table->report, name->op->at, "its %s is also one of %s; name one otherwise: c: {name: ...}",
                   name->name, names->items[i].op->schema.name);
}

void table_name_functions(gen_table *table) {
  taken_names names = {0};
  find_leads(table);
  for (int i = 0; i < table->count; i++)
    if (operator_has_function(table->operators[i])) take_names(&names, table->operators[i]);
  for (int i = 0; i < names.count; i++) check_name(table, &names, i);
}
