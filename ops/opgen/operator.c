#include "ops/opgen/operator.h"

#include "ops/opgen/memory.h"

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
    if (kind_is_operand(before->kind) && (before->kind == KIND_TENSOR_LIST || argument_may_be_absent(before)))
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
