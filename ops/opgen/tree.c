/* YAML as libyaml gives it, as a tree of scalars, lists and maps that keeps the line of everything. What a table has no
 * use for (aliases, several documents, keys that are no words) is a fault.
 */
#include "ops/opgen/tree.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"

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

static void report_parser(gen_reader *reader, const yaml_parser_t *parser) {
  report_error(reader->report, (gen_place){reader->path, (int)parser->problem_mark.line + 1, NULL},
               "no valid YAML: %s%s%s", parser->problem != NULL ? parser->problem : "memory is out",
               parser->context != NULL ? " " : "", parser->context != NULL ? parser->context : "");
}

static bool start(gen_reader *reader, yaml_parser_t *parser, FILE *file) {
  if (!yaml_parser_initialize(parser)) {
    report_error(reader->report, (gen_place){reader->path, 1, NULL}, "libyaml could not start: memory is out");
    return false;
  }
  rewind(file);
  yaml_parser_set_input_file(parser, file);
  return true;
}

/* Refuses what a tree cannot hold, or not within bounds: aliases (each of a list of aliases doubles it, and a list may
 * hold itself) and all documents but the first. */
static bool check_event(gen_reader *reader, const yaml_event_t *event, int *documents) {
  const gen_place at = {reader->path, (int)event->start_mark.line + 1, NULL};
  if (event->type == YAML_ALIAS_EVENT) {
    report_error(reader->report, at, "the alias *%s; tables have none, write out what it stands for",
                 (const char *)event->data.alias.anchor);
    return false;
  }
  if (event->type == YAML_DOCUMENT_START_EVENT && ++*documents > 1) {
    report_error(reader->report, at, "a second document; a table is one, drop the \"---\"");
    return false;
  }
  return true;
}

static bool check_stream(gen_reader *reader, FILE *file) {
  yaml_parser_t parser;
  if (!start(reader, &parser, file)) return false;
  bool good = true, done = false;
  for (int documents = 0; good && !done;) {
    yaml_event_t event;
    if (!yaml_parser_parse(&parser, &event)) {
      report_parser(reader, &parser);
      good = false;
    } else {
      done = event.type == YAML_STREAM_END_EVENT;
      good = check_event(reader, &event, &documents);
      yaml_event_delete(&event);
    }
  }
  yaml_parser_delete(&parser);
  return good;
}

static gen_tree *read_document(gen_reader *reader, FILE *file) {
  yaml_parser_t parser;
  if (!check_stream(reader, file) || !start(reader, &parser, file)) return NULL;
  gen_tree *result = NULL;
  if (!yaml_parser_load(&parser, &reader->document)) {
    report_parser(reader, &parser);
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
