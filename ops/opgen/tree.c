#include "ops/opgen/tree.h"

#include "ops/opgen/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#define MAX_DEPTH 16

typedef struct gen_reader {
  const char *path;
  gen_report *report;
  yaml_document_t document;
} gen_reader;

static gen_tree *convert(gen_reader *reader, yaml_node_t *node, int depth);

static void convert_list(gen_reader *reader, const yaml_node_t *node, gen_tree *out, int depth) {
  out->form = TREE_LIST;
  for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
    out->items = memory_grow(out->items, out->count, sizeof(*out->items));
    out->items[out->count++] = convert(reader, yaml_document_get_node(&reader->document, *item), depth + 1);
  }
}

static void convert_map(gen_reader *reader, const yaml_node_t *node, gen_tree *out, int depth) {
  out->form = TREE_MAP;
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
    gen_tree *key = convert(reader, yaml_document_get_node(&reader->document, pair->key), depth + 1);
    gen_tree *value = convert(reader, yaml_document_get_node(&reader->document, pair->value), depth + 1);
    const gen_place at = {reader->path, key->line, NULL};
    if (key->form != TREE_SCALAR) {
      report_error(reader->report, at, "a key is not a plain word; write \"key: value\"");
      continue;
    }
    if (tree_get(out, key->text) != NULL) {
      report_error(reader->report, at, "key \"%s\" appears twice; keep one of them", key->text);
      continue;
    }
    out->keys = memory_grow(out->keys, out->count, sizeof(*out->keys));
    out->items = memory_grow(out->items, out->count, sizeof(*out->items));
    out->keys[out->count] = key;
    out->items[out->count++] = value;
  }
}

static gen_tree *convert(gen_reader *reader, yaml_node_t *node, int depth) {
  gen_tree *out = memory_take(sizeof(*out));
  out->line = (int)node->start_mark.line + 1;
  out->text_line = out->line;
  out->text = "";
  if (depth > MAX_DEPTH) {
    report_error(reader->report, (gen_place){reader->path, out->line, NULL}, "nested more than %d deep; flatten it",
                 MAX_DEPTH);
    return out;
  }
  if (node->type == YAML_SEQUENCE_NODE) {
    convert_list(reader, node, out, depth);
  } else if (node->type == YAML_MAPPING_NODE) {
    convert_map(reader, node, out, depth);
  } else {
    const yaml_scalar_style_t style = node->data.scalar.style;
    out->text = memory_copy((const char *)node->data.scalar.value, node->data.scalar.length);
    if (style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE) out->text_line++;
  }
  return out;
}

static gen_tree *read_document(gen_reader *reader, FILE *file) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) {
    report_error(reader->report, (gen_place){reader->path, 1, NULL}, "libyaml could not start: memory is out");
    return NULL;
  }
  yaml_parser_set_input_file(&parser, file);
  gen_tree *result = NULL;
  if (!yaml_parser_load(&parser, &reader->document)) {
    report_error(reader->report, (gen_place){reader->path, (int)parser.problem_mark.line + 1, NULL},
                 "no valid YAML: %s%s%s", parser.problem, parser.context != NULL ? " " : "",
                 parser.context != NULL ? parser.context : "");
  } else {
    yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    if (root != NULL) {
      result = convert(reader, root, 0);
    } else {
      result = memory_take(sizeof(*result));
      result->form = TREE_LIST;
      result->line = 1;
    }
    yaml_document_delete(&reader->document);
  }
  yaml_parser_delete(&parser);
  return result;
}

gen_tree *tree_read(const char *path, gen_report *report) {
  gen_reader reader = {.path = path, .report = report};
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    report_error(report, (gen_place){path, 1, NULL}, "cannot be read: %s", strerror(errno));
    return NULL;
  }
  gen_tree *result = read_document(&reader, file);
  fclose(file);
  return result;
}

const gen_tree *tree_get(const gen_tree *map, const char *key) {
  if (map->form != TREE_MAP) return NULL;
  for (int i = 0; i < map->count; i++)
    if (strcmp(map->keys[i]->text, key) == 0) return map->items[i];
  return NULL;
}
