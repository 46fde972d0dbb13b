/* Reads tables of derivatives. An entry names an operator and gives a formula for each argument, or several at once:
 *
 *   - name: mul.Tensor                the formula as an operator that expands to it:
 *     self: grad * conj(other)          mul.Tensor(Tensor self, Tensor other, Tensor result, Tensor grad) -> Tensor
 *     other: grad * conj(self)
 *
 * so that it is checked and written as composites are. What it reads of is what has to be kept until then. A gradient
 * is there, if only as zeros, unless the formula asks whether it is: present(grad). */
#include "ops/opgen/derivative.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/check.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static gen_place place_at(const gen_derivative *derivative, int line) {
  return (gen_place){derivative->at.file, line, derivative->at.name};
}

/* The derivative of an operator, which is to have one; NULL: it has one already. */
static gen_derivative *add_derivative(gen_table *table, gen_operator *op, gen_place at) {
  if (op->derivative != NULL) {
    report_error(&table->report, at, "it has a derivative at %s:%d already; drop one", op->derivative->at.file,
                 op->derivative->at.line);
    return NULL;
  }
  gen_derivative *derivative = memory_take(sizeof(*derivative));
  derivative->at = at;
  derivative->at.name = op->schema.name;
  derivative->op = op;
  derivative->differentiable = ~0u;
  op->derivative = derivative;
  return derivative;
}

/* The operator's results never have a gradient. */
static void mark_none(gen_table *table, gen_operator *op, gen_place at) {
  gen_derivative *derivative = add_derivative(table, op, at);
  if (derivative != NULL) derivative->none = true;
}

/* Its formulas are right where its results are complex. */
static void mark_complex(gen_table *table, gen_operator *op, gen_place at) {
  if (op->complex_gradient) report_error(&table->report, at, "%s is on the list already; drop one", op->schema.name);
  op->complex_gradient = true;
}

/* A list of operators: names, or patterns such as "*_like". */
static void read_list(gen_table *table, const char *path, const gen_tree *list,
                      void (*mark)(gen_table *table, gen_operator *op, gen_place at)) {
  for (int i = 0; i < list->count; i++) {
    const gen_place at = {path, list->items[i]->line, list->items[i]->text};
    bool found = false;
    for (int k = 0; k < table->count; k++) {
      if (fnmatch(list->items[i]->text, table->operators[k]->schema.name, 0) != 0) continue;
      found = true;
      mark(table, table->operators[k], at);
    }
    if (!found) report_error(&table->report, at, "no operator has this name; drop it from the list");
  }
}

static void read_differentiable(gen_table *table, gen_derivative *derivative, const gen_tree *value) {
  const int results = derivative->op->schema.result_count;
  if (value->form != TREE_LIST || value->count != results) {
    report_error(&table->report, place_at(derivative, value->line),
                 "\"output_differentiability\" is a list of %d, one for each result: [true, false]", results);
    return;
  }
  for (int i = 0; i < value->count; i++)
    if (strcmp(value->items[i]->text, "false") == 0) derivative->differentiable &= ~(1u << i);
}

/* The arguments that a key names, "self, other"; 0: a fault was reported. */
static uint64_t find_arguments(gen_table *table, const gen_derivative *derivative, const gen_tree *key,
                               const char **symbol) {
  const gen_schema *schema = &derivative->op->schema;
  uint64_t found = 0;
  *symbol = derivative->op->symbol;
  for (const char *name = key->text; *name != '\0'; name += strspn(name, ", ")) {
    const char *word = memory_copy(name, strcspn(name, ", "));
    const int index = schema_find(schema, word);
    const gen_kind kind = index < 0 ? KIND_WRONG : schema->arguments[index].kind;
    if (kind != KIND_TENSOR && kind != KIND_TENSOR_LIST && kind != KIND_OPTIONAL_LIST) {
      report_error(&table->report, place_at(derivative, key->line),
                   "\"%s\" is no argument that is a tensor; write name, output_differentiability or one of those",
                   word);
      return 0;
    }
    found |= (uint64_t)1 << index;
    *symbol = memory_format("%s_%s", *symbol, word);
    name += strlen(word);
  }
  return found;
}

/* `not_implemented` with what is missing in brackets. */
static const char *find_reason(const char *text) {
  static const char word[] = "not_implemented(";
  if (strncmp(text, word, sizeof(word) - 1) != 0) return NULL;
  const char *reason = text + sizeof(word) - 1;
  return memory_copy(reason, strcspn(reason, ")"));
}

static void read_formula(gen_table *table, gen_derivative *derivative, const gen_tree *key, const gen_tree *value) {
  gen_formula formula = {.at = place_at(derivative, value->text_line), .text = value->text};
  formula.gives = find_arguments(table, derivative, key, &formula.symbol);
  if (formula.gives == 0) return;
  if (value->form != TREE_SCALAR || *value->text == '\0') {
    report_error(&table->report, place_at(derivative, value->line),
                 "\"%s\" is a formula, non_differentiable, not_implemented(why), c or c(types)", key->text);
    return;
  }
  if (strcmp(value->text, "non_differentiable") == 0) {
    derivative->constant |= formula.gives;
    return;
  }
  if (find_reason(value->text) != NULL) {
    derivative->not_implemented = find_reason(value->text);
    return;
  }
  const bool asks_types = strcmp(value->text, "c(types)") == 0;
  formula.by_hand = asks_types || strcmp(value->text, "c") == 0;
  formula.reads = formula.by_hand && !asks_types ? ~(uint64_t)0 : 0;
  derivative->formulas = memory_grow(derivative->formulas, derivative->formula_count, sizeof(*derivative->formulas));
  derivative->formulas[derivative->formula_count++] = formula;
}

static void read_entry(gen_table *table, const char *path, const gen_tree *entry) {
  const gen_tree *none = tree_get(entry, "nondifferentiable"), *complex = tree_get(entry, "complex");
  const gen_tree *name = tree_get(entry, "name");
  gen_place at = {path, entry->line, NULL};
  if (none != NULL && none->form == TREE_LIST) {
    read_list(table, path, none, mark_none);
    return;
  }
  if (complex != NULL && complex->form == TREE_LIST) {
    read_list(table, path, complex, mark_complex);
    return;
  }
  if (name == NULL || name->form != TREE_SCALAR) {
    report_error(&table->report, at,
                 "an entry without operator; start it with \"- name: mul.Tensor\", \"- nondifferentiable: [...]\" or "
                 "\"- complex: [...]\"");
    return;
  }
  at.name = name->text;
  gen_operator *op = table_find(table, name->text);
  if (op == NULL) {
    const char *near = table_suggest(table, name->text);
    report_error(&table->report, at, "no operator has this name%s",
                 near == NULL ? "" : memory_format("; did you mean \"%s\"?", near));
    return;
  }
  gen_derivative *derivative = add_derivative(table, op, at);
  if (derivative == NULL) return;
  derivative->entry = entry;
  for (int i = 0; i < entry->count; i++) {
    const char *key = entry->keys[i]->text;
    if (strcmp(key, "name") == 0) continue;
    if (strcmp(key, "output_differentiability") == 0)
      read_differentiable(table, derivative, entry->items[i]);
    else
      read_formula(table, derivative, entry->keys[i], entry->items[i]);
  }
}

void table_read_derivatives(gen_table *table, const char *path) {
  const gen_tree *root = tree_read(path, &table->report);
  table->derivative_files = memory_grow(table->derivative_files, table->derivative_file_count, sizeof(char *));
  table->derivative_files[table->derivative_file_count++] = path;
  for (int i = 0; root != NULL && i < root->count; i++) read_entry(table, path, root->items[i]);
}

/* "result" of one result, "values" or "result1" of several; its gradient is "grad", "grad_values" or "grad1". */
static void name_result(const gen_schema *schema, int index, const char **result, const char **gradient) {
  const char *name = schema->result_names[index];
  if (schema->result_count == 1) {
    *result = "result";
    *gradient = "grad";
  } else if (name != NULL && schema_find(schema, name) < 0) {
    *result = name;
    *gradient = memory_format("grad_%s", name);
  } else {
    *result = memory_format("result%d", index);
    *gradient = memory_format("grad%d", index);
  }
}

static int count_bits(uint64_t bits) {
  return __builtin_popcountll(bits);
}

/* The operator that a formula is the expansion of. */
static gen_operator *make_function(const gen_derivative *derivative, const gen_formula *formula) {
  const gen_schema *schema = &derivative->op->schema;
  gen_operator *function = memory_take(sizeof(*function));
  *function = (gen_operator){.at = formula->at,
                             .symbol = formula->symbol,
                             .upper = derivative->op->upper,
                             .schema = *schema,
                             .op_class = CLASS_COMPOSITE};
  gen_schema *own = &function->schema;
  own->count = schema->count + 2 * schema->result_count;
  own->arguments = memory_take((size_t)own->count * sizeof(*own->arguments));
  memcpy(own->arguments, schema->arguments, (size_t)schema->count * sizeof(*own->arguments));
  for (int i = 0; i < schema->result_count; i++) {
    gen_argument *result = &own->arguments[schema->count + i], *gradient = result + schema->result_count;
    result->kind = gradient->kind = KIND_TENSOR;
    name_result(schema, i, &result->name, &gradient->name);
    gradient->optional = strstr(formula->text, memory_format("present(%s)", gradient->name)) != NULL;
  }
  own->result_count = count_bits(formula->gives);
  schema_number(own);
  return function;
}

/* Bits of the arguments whose values an expression reads. Functions of the language look at types alone. */
static uint64_t find_values(const gen_expression *expression) {
  uint64_t found = 0;
  if (expression->form == FORM_NAME && expression->variable == NULL) return (uint64_t)1 << expression->argument;
  for (int i = 0; i < expression->count; i++)
    if (expression->builtin == NULL || expression->items[i]->form != FORM_NAME)
      found |= find_values(expression->items[i]);
  return found;
}

static void check_formula(gen_table *table, const gen_derivative *derivative, gen_formula *formula) {
  formula->function = make_function(derivative, formula);
  if (formula->by_hand) return;
  gen_program *program = program_parse(formula->text, formula->at, &table->report);
  formula->function->composite = program;
  const int errors = table->report.errors;
  if (program != NULL) check_formula_of(table, formula->function, derivative->op->when);
  if (program == NULL || table->report.errors > errors) return;
  for (int i = 0; i < program->count; i++) formula->reads |= find_values(program->statements[i].value);
  for (int i = 0; i < program->result_count; i++) formula->reads |= find_values(program->results[i]);
}

void table_check_derivatives(gen_table *table) {
  for (int i = 0; i < table->count; i++) {
    gen_derivative *derivative = table->operators[i]->derivative;
    if (derivative == NULL) continue;
    const gen_schema *schema = &table->operators[i]->schema;
    if (derivative->formula_count > 0 && (schema->result_count < 1 || schema->count + 2 * schema->result_count > 64)) {
      report_error(&table->report, derivative->at, "a formula needs an operator that says how many results it has");
      continue;
    }
    for (int k = 0; k < derivative->formula_count; k++) check_formula(table, derivative, &derivative->formulas[k]);
  }
}
