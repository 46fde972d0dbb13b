/* Reads all files of entries and rules.yaml into one table, and finds entries and rules in it by name. */
#include "ops/opgen/table.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"

#include <string.h>

static void check_rule(gen_table *table, gen_place at, gen_known_kind kind, const char *name) {
  if (!table->known.was_read[kind] || known_has(&table->known, kind, name)) return;
  const char *near = known_suggest(&table->known, kind, name), *family = kind == KNOWN_SHAPE ? "shape" : "dtype";
  report_error(&table->report, at, "%s rule \"%s\" has no function; write laze_%s_%s of shape_inference/rules.h%s",
               family, name, family, name, near == NULL ? "" : memory_format("; did you mean \"%s\"?", near));
}

static void read_rule_list(gen_table *table, const gen_tree *root, const char *path, gen_known_kind kind) {
  gen_rule **rules = kind == KNOWN_SHAPE ? &table->shapes : &table->dtypes;
  int *count = kind == KNOWN_SHAPE ? &table->shape_count : &table->dtype_count;
  const gen_tree *list = tree_get(root, kind == KNOWN_SHAPE ? "shape" : "dtype");
  for (int i = 0; list != NULL && i < list->count; i++) {
    gen_rule rule = {.at = {path, list->items[i]->line, NULL}};
    if (!schema_parse(list->items[i]->text, rule.at, true, &table->report, &rule.schema)) continue;
    for (int k = 0; k < *count; k++)
      if (strcmp((*rules)[k].schema.name, rule.schema.name) == 0)
        report_error(&table->report, rule.at, "rule \"%s\" is there twice; drop one", rule.schema.name);
    check_rule(table, rule.at, kind, rule.schema.name);
    *rules = memory_grow(*rules, *count, sizeof(**rules));
    (*rules)[(*count)++] = rule;
  }
}

void table_read_rules(gen_table *table, const char *path) {
  const gen_tree *root = tree_read(path, &table->report);
  if (root == NULL) return;
  for (int i = 0; i < root->count && root->form == TREE_MAP; i++)
    if (strcmp(root->keys[i]->text, "shape") != 0 && strcmp(root->keys[i]->text, "dtype") != 0)
      report_error(&table->report, (gen_place){path, root->keys[i]->line, NULL},
                   "unknown key \"%s\"; rules stand under \"shape\" or \"dtype\"", root->keys[i]->text);
  read_rule_list(table, root, path, KNOWN_SHAPE);
  read_rule_list(table, root, path, KNOWN_DTYPE);
}

static void read_operator(gen_table *table, const char *path, const gen_tree *entry) {
  const gen_place at = {path, entry->line, NULL};
  const gen_tree *func = tree_get(entry, "func");
  if (entry->form != TREE_MAP || func == NULL || func->form != TREE_SCALAR) {
    report_error(&table->report, at, "an entry without schema; start it with \"- func: name(Tensor self) -> Tensor\"");
    return;
  }
  gen_operator *op = memory_take(sizeof(*op));
  op->entry = entry;
  op->at = at;
  op->at.name = memory_copy(func->text, strcspn(func->text, "("));
  if (!schema_parse(func->text, op->at, false, &table->report, &op->schema)) return;
  op->at.name = op->schema.name;
  const gen_operator *other = table_find(table, op->schema.name);
  if (other != NULL) {
    report_error(&table->report, op->at, "this operator is already at %s:%d; drop one or name another overload",
                 other->at.file, other->at.line);
    return;
  }
  entry_read(table, op);
  table->operators = memory_grow(table->operators, table->count, sizeof(*table->operators));
  table->operators[table->count++] = op;
}

void table_read_operators(gen_table *table, const char *path) {
  const gen_tree *root = tree_read(path, &table->report);
  if (root == NULL) return;
  if (root->form != TREE_LIST) {
    report_error(&table->report, (gen_place){path, 1, NULL},
                 "a table is a list of entries; start each with \"- func:\"");
    return;
  }
  for (int i = 0; i < root->count; i++) read_operator(table, path, root->items[i]);
}

gen_operator *table_find(const gen_table *table, const char *name) {
  for (int i = 0; i < table->count; i++)
    if (strcmp(table->operators[i]->schema.name, name) == 0) return table->operators[i];
  return NULL;
}

gen_operator *table_next(const gen_table *table, const char *base, int *index) {
  while (*index < table->count) {
    gen_operator *op = table->operators[(*index)++];
    if (strcmp(op->schema.base, base) == 0) return op;
  }
  return NULL;
}

const gen_operator *table_conversion(const gen_table *table) {
  for (int i = 0; i < table->count; i++)
    if (table->operators[i]->compute == COMPUTE_CONVERT) return table->operators[i];
  return NULL;
}

static const gen_rule *find_rule(const gen_rule *rules, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(rules[i].schema.name, name) == 0) return &rules[i];
  return NULL;
}

const gen_rule *table_shape(const gen_table *table, const char *name) {
  return find_rule(table->shapes, table->shape_count, name);
}

const gen_rule *table_dtype(const gen_table *table, const char *name) {
  return find_rule(table->dtypes, table->dtype_count, name);
}

const char *table_suggest(const gen_table *table, const char *name) {
  const char *best = NULL;
  int best_distance = NEAR_WORDS + 1;
  for (int i = 0; i < table->count; i++) {
    const int found = word_distance(name, table->operators[i]->schema.base);
    if (found < best_distance) {
      best_distance = found;
      best = table->operators[i]->schema.base;
    }
  }
  return best;
}
