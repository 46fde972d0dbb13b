#include "ops/opgen/table.h"

#include "ops/opgen/entry.h"
#include "ops/opgen/memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_rule_list(gen_table *table, const char *path, const gen_tree *list, gen_rule **rules, int *count) {
  for (int i = 0; list != NULL && i < list->count; i++) {
    gen_rule rule = {.at = {path, list->items[i]->line, NULL}};
    if (!schema_parse(list->items[i]->text, rule.at, true, &table->report, &rule.schema)) continue;
    for (int k = 0; k < *count; k++)
      if (strcmp((*rules)[k].schema.name, rule.schema.name) == 0)
        report_error(&table->report, rule.at, "rule \"%s\" is there twice; drop one", rule.schema.name);
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
  read_rule_list(table, path, tree_get(root, "shape"), &table->shapes, &table->shape_count);
  read_rule_list(table, path, tree_get(root, "dtype"), &table->dtypes, &table->dtype_count);
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

static char *read_text(gen_table *table, const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  size_t size = 0;
  if (file == NULL || getdelim(&text, &size, '\0', file) < 0) {
    report_error(&table->report, (gen_place){path, 1, NULL}, "cannot be read: %s", strerror(errno));
    free(text);
    text = NULL;
  }
  if (file != NULL) fclose(file);
  return text;
}

void table_read_api(gen_table *table, const char *path) {
  char *text = read_text(table, path);
  for (char *c = text; c != NULL && *c != '\0'; c++) {
    char *end = c + 1;
    if (strncmp(c, "/*", 2) == 0) {
      end = strstr(c, "*/");
      if (end == NULL) break;
      end += 2; /* past the whole mark, so that its slash starts no other comment */
    } else if (isalpha((unsigned char)*c) || *c == '_') {
      while (isalnum((unsigned char)*end) || *end == '_') end++;
      if (strncmp(c, "laze_", 5) == 0) {
        table->api = memory_grow(table->api, table->api_count, sizeof(*table->api));
        table->api[table->api_count++] = memory_copy(c, (size_t)(end - c));
      }
    }
    c = end - 1;
  }
  free(text);
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

/* Levenshtein's distance, for words of at most 31 letters; 99 otherwise. */
static int distance(const char *a, const char *b) {
  int row[32];
  const size_t size = strlen(b);
  if (size > 31) return 99;
  for (size_t k = 0; k <= size; k++) row[k] = (int)k;
  for (size_t i = 0; a[i] != '\0'; i++) {
    int corner = row[0];
    row[0] = (int)i + 1;
    for (size_t k = 0; k < size; k++) {
      const int replaced = corner + (a[i] != b[k]);
      corner = row[k + 1];
      const int moved = (row[k] < corner ? row[k] : corner) + 1;
      row[k + 1] = replaced < moved ? replaced : moved;
    }
  }
  return row[size];
}

const char *table_suggest(const gen_table *table, const char *name) {
  const char *best = NULL;
  int best_distance = 3;
  for (int i = 0; i < table->count; i++) {
    const int found = distance(name, table->operators[i]->schema.base);
    if (found < best_distance) {
      best_distance = found;
      best = table->operators[i]->schema.base;
    }
  }
  return best;
}
