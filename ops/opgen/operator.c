/* What an entry is called inside the library: words of classes, and symbols. "add.Tensor" is LAZE_OP_ADD,
 * "sum.dim_IntList" is LAZE_OP_SUM_DIM_INTLIST. (What users call it: function.h.) */
#include "ops/opgen/operator.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"
#include "ops/opgen/table.h"

#include <ctype.h>
#include <string.h>

static const char *const class_names[CLASS_COUNT] = {"composite", "elementwise", "reduction", "scan",
                                                     "movement",  "indexing",    "product",   "creation",
                                                     "random",    "library",     "control",   "structure"};

static const struct {
  const char *name, *enumerator;
} computes[COMPUTE_COUNT] = {
    [COMPUTE_NONE] = {"", "LAZE_COMPUTE_NONE"},
    [COMPUTE_PROMOTED] = {"promote", "LAZE_COMPUTE_PROMOTED"},
    [COMPUTE_FLOAT] = {"float", "LAZE_COMPUTE_FLOAT"},
    [COMPUTE_COMPARE] = {"compare", "LAZE_COMPUTE_COMPARE"},
    [COMPUTE_LOGICAL] = {"logical", "LAZE_COMPUTE_LOGICAL"},
    [COMPUTE_SELECT] = {"select", "LAZE_COMPUTE_SELECT"},
    [COMPUTE_CONVERT] = {"convert", "LAZE_COMPUTE_CONVERT"},
    [COMPUTE_BITS] = {"bits", "LAZE_COMPUTE_BITS"},
    [COMPUTE_PART] = {"part", "LAZE_COMPUTE_PART"},
    [COMPUTE_PAIR] = {"pair", "LAZE_COMPUTE_PAIR"},
};

static const char *upper(const char *text) {
  char *copy = memory_copy(text, strlen(text));
  for (char *c = copy; *c != '\0'; c++) *c = (char)toupper((unsigned char)*c);
  return copy;
}

const char *class_name(gen_class op_class) {
  return class_names[op_class];
}

const char *class_enumerator(gen_class op_class) {
  return memory_format("LAZE_CLASS_%s", upper(class_names[op_class]));
}

gen_class class_find(const char *name) {
  for (int i = CLASS_ELEMENTWISE; i < CLASS_COUNT; i++)
    if (strcmp(class_names[i], name) == 0) return (gen_class)i;
  return CLASS_COUNT;
}

const char *compute_enumerator(gen_compute compute) {
  return computes[compute].enumerator;
}

gen_compute compute_find(const char *name) {
  for (int i = COMPUTE_PROMOTED; i < COMPUTE_COUNT; i++)
    if (strcmp(computes[i].name, name) == 0) return (gen_compute)i;
  return COMPUTE_COUNT;
}

bool operator_is_callable(const gen_operator *op) {
  for (int i = 0; i < op->schema.count; i++)
    if (op->schema.arguments[i].kind == KIND_DATA) return false;
  return op->op_class != CLASS_CONTROL && op->op_class != CLASS_STRUCTURE;
}

int operator_target(const gen_operator *op) {
  const int self = schema_find(&op->schema, "self");
  return self < 0 ? 0 : self;
}

int operator_segments(const gen_operator *op) {
  int count = 0;
  for (int i = 0; i < op->schema.count; i++) count += kind_is_operand(op->schema.arguments[i].kind);
  return count;
}

int operator_attributes(const gen_operator *op) {
  return op->schema.count - operator_segments(op);
}

bool operator_is_fixed(const gen_operator *op, int argument) {
  for (int i = 0; i < argument; i++) {
    const gen_argument *before = &op->schema.arguments[i];
    if (kind_is_operand(before->kind) && (kind_is_tensors(before->kind) || argument_may_be_absent(before)))
      return false;
  }
  return true;
}

const char *operator_attribute_name(const gen_operator *op, int argument) {
  return memory_format("LAZE_%s_%s", op->upper, upper(op->schema.arguments[argument].name));
}

const char *operator_source(const gen_operator *op) {
  const char *path = op->at.file;
  for (const char *found = path; (found = strstr(found, "ops/")) != NULL; found += 4)
    if (found == op->at.file || found[-1] == '/') path = found;
  return memory_format("%s:%d", path, op->at.line);
}

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

static void check_against(gen_table *table, const gen_operator *op, const gen_operator *other) {
  if (strcmp(op->symbol, other->symbol) == 0)
    report_error(&table->report, op->at, "LAZE_OP_%s also stands for %s (%s:%d); rename one", op->upper,
                 other->schema.name, other->at.file, other->at.line);
}

static void check_in_place(gen_table *table, const gen_operator *op, const gen_operator *other, bool is_before) {
  const char *name = op->in_place;
  const size_t base = strcspn(name, ".");
  if (strcmp(other->schema.base, memory_copy(name, base)) == 0)
    report_error(&table->report, op->at, "its form in place, %s, has the name of an operator (%s:%d); rename one", name,
                 other->at.file, other->at.line);
  if (is_before && other->in_place != NULL && strcmp(other->in_place, name) == 0)
    report_error(&table->report, op->at, "its form in place, %s, is also that of %s (%s:%d); name one otherwise", name,
                 other->schema.name, other->at.file, other->at.line);
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
    for (int k = 0; k < table->count; k++) {
      if (k < i) check_against(table, op, table->operators[k]);
      if (k != i) check_attribute_names(table, op, table->operators[k]);
      if (k != i && op->in_place != NULL) check_in_place(table, op, table->operators[k], k < i);
    }
  }
}
