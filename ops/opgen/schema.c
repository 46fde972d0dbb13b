/* Reads a schema from left to right, a piece of the grammar a function:
 *
 *   sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
 *   name            argument: type, name, default ...          what follows is passed by name
 */
#include "ops/opgen/schema.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct gen_parser {
  const char *cursor;
  gen_place at;
  gen_report *report;
  bool failed;
} gen_parser;

static void fail(gen_parser *parser, const char *expected) {
  if (parser->failed) return;
  parser->failed = true;
  const int shown = (int)strcspn(parser->cursor, "\n");
  report_error(parser->report, parser->at, "schema: expected %s at \"%.*s\"", expected, shown > 40 ? 40 : shown,
               parser->cursor);
}

static void skip_blanks(gen_parser *parser) {
  while (isspace((unsigned char)*parser->cursor)) parser->cursor++;
}

static bool accept(gen_parser *parser, const char *text) {
  skip_blanks(parser);
  const size_t size = strlen(text);
  if (strncmp(parser->cursor, text, size) != 0) return false;
  parser->cursor += size;
  return true;
}

static bool expect(gen_parser *parser, const char *text) {
  if (accept(parser, text)) return true;
  fail(parser, memory_format("\"%s\"", text));
  return false;
}

static const char *word(gen_parser *parser, const char *what) {
  skip_blanks(parser);
  const char *start = parser->cursor;
  while (isalnum((unsigned char)*parser->cursor) || *parser->cursor == '_') parser->cursor++;
  if (parser->cursor == start || isdigit((unsigned char)*start)) {
    parser->cursor = start;
    fail(parser, what);
    return "";
  }
  return memory_copy(start, (size_t)(parser->cursor - start));
}

static int64_t integer(gen_parser *parser) {
  char *end;
  errno = 0;
  skip_blanks(parser);
  const int64_t value = strtoll(parser->cursor, &end, 10);
  if (end == parser->cursor || errno != 0) fail(parser, "an integer of 64 bits");
  parser->cursor = end;
  return value;
}

static const struct {
  const char *name;
  gen_kind kind, list;
} type_names[] = {
    {"Tensor", KIND_TENSOR, KIND_TENSOR_LIST}, {"Scalar", KIND_SCALAR, KIND_WRONG},    {"int", KIND_INT, KIND_INT_LIST},
    {"SymInt", KIND_SIZE, KIND_SIZE_LIST},     {"float", KIND_FLOAT, KIND_FLOAT_LIST}, {"bool", KIND_BOOL, KIND_WRONG},
    {"ScalarType", KIND_DTYPE, KIND_WRONG},    {"str", KIND_STRING, KIND_STRING_LIST}, {"Data", KIND_DATA, KIND_WRONG},
};
#define TYPE_LIST "a type (Tensor, Scalar, int, SymInt, float, bool, ScalarType, str; [] and ? after it)"

/* "(a)", "(a!)" and "(a -> *)" after a type. */
static void parse_alias(gen_parser *parser, gen_argument *out) {
  if (*parser->cursor != '(') return;
  if (isalpha((unsigned char)parser->cursor[1])) out->alias = parser->cursor[1];
  out->written = out->alias != '\0' && parser->cursor[2] == '!';
  while (*parser->cursor != '\0' && *parser->cursor != ')') parser->cursor++;
  expect(parser, ")");
}

/* The brackets of a list, if any: Tensor[], int[2], and Tensor?[], whose items may be absent. */
static void parse_brackets(gen_parser *parser, gen_kind list, const char *start, gen_argument *out) {
  const bool items_optional = out->kind == KIND_TENSOR && strncmp(parser->cursor, "?[", 2) == 0;
  if (items_optional) parser->cursor++;
  if (*parser->cursor != '[') return;
  parser->cursor++;
  if (*parser->cursor != ']') out->list_size = (int)integer(parser);
  expect(parser, "]");
  out->kind = items_optional ? KIND_OPTIONAL_LIST : list;
  if (list != KIND_WRONG) return;
  parser->cursor = start;
  fail(parser, "a list of Tensor, Tensor?, int, SymInt, float or str");
}

static void parse_type(gen_parser *parser, gen_argument *out) {
  skip_blanks(parser);
  const char *start = parser->cursor;
  const char *name = word(parser, TYPE_LIST);
  size_t index = 0;
  while (index < sizeof(type_names) / sizeof(*type_names) && strcmp(type_names[index].name, name) != 0) index++;
  if (index == sizeof(type_names) / sizeof(*type_names)) {
    parser->cursor = start;
    fail(parser, TYPE_LIST);
    return;
  }
  out->kind = type_names[index].kind;
  parse_alias(parser, out);
  parse_brackets(parser, type_names[index].list, start, out);
  if (*parser->cursor == '?') {
    parser->cursor++;
    out->optional = true;
  }
}

static void parse_list(gen_parser *parser, gen_literal *out) {
  out->form = LITERAL_LIST;
  if (accept(parser, "]")) return;
  do {
    out->items = memory_grow(out->items, out->count, sizeof(*out->items));
    out->items[out->count++] = integer(parser);
  } while (!parser->failed && accept(parser, ","));
  expect(parser, "]");
}

static void parse_number(gen_parser *parser, gen_literal *out) {
  char *end;
  errno = 0;
  const size_t size = strspn(parser->cursor, "+-0123456789.eE");
  const char *text = memory_copy(parser->cursor, size);
  if (strpbrk(text, ".eE") != NULL) {
    out->form = LITERAL_REAL;
    out->real = strtod(text, &end);
  } else {
    out->form = LITERAL_INTEGER;
    out->integer = strtoll(text, &end, 10);
  }
  if (end == text || *end != '\0' || errno != 0) fail(parser, "a number as default");
  parser->cursor += size;
}

static void parse_literal(gen_parser *parser, gen_literal *out) {
  skip_blanks(parser);
  const char first = *parser->cursor;
  if (accept(parser, "[")) {
    parse_list(parser, out);
  } else if (first == '"' || first == '\'') {
    const char *end = strchr(parser->cursor + 1, first);
    if (end == NULL) {
      fail(parser, "a closing quote");
      return;
    }
    out->form = LITERAL_STRING;
    out->text = memory_copy(parser->cursor + 1, (size_t)(end - parser->cursor - 1));
    parser->cursor = end + 1;
  } else if (isalpha((unsigned char)first)) {
    const char *start = parser->cursor;
    const char *name = word(parser, "a default");
    out->text = name;
    out->integer = strcmp(name, "True") == 0;
    if (strcmp(name, "None") == 0)
      out->form = LITERAL_NONE;
    else if (strcmp(name, "True") == 0 || strcmp(name, "False") == 0)
      out->form = LITERAL_BOOL;
    else if (dtype_find(name) >= 0)
      out->form = LITERAL_DTYPE;
    else {
      parser->cursor = start;
      fail(parser, "a default (None, True, False, a number, a \"string\", a [list] or a dtype such as f32)");
    }
  } else {
    parse_number(parser, out);
  }
}

static bool literal_fits(const gen_argument *argument, const gen_literal *value) {
  if (value->form == LITERAL_NONE) return argument->optional;
  switch (argument->kind) {
  case KIND_SCALAR: return value->form == LITERAL_INTEGER || value->form == LITERAL_REAL || value->form == LITERAL_BOOL;
  case KIND_FLOAT: return value->form == LITERAL_INTEGER || value->form == LITERAL_REAL;
  case KIND_INT:
  case KIND_SIZE: return value->form == LITERAL_INTEGER;
  case KIND_BOOL: return value->form == LITERAL_BOOL;
  case KIND_DTYPE: return value->form == LITERAL_DTYPE;
  case KIND_STRING: return value->form == LITERAL_STRING;
  case KIND_FLOAT_LIST:
  case KIND_STRING_LIST: return value->form == LITERAL_LIST && value->count == 0;
  case KIND_INT_LIST:
  case KIND_SIZE_LIST:
    return value->form == LITERAL_LIST || (value->form == LITERAL_INTEGER && argument->list_size > 0);
  default: return false;
  }
}

/* Brings the spellings that schemas allow into one form: 1 for a float is 1.0, 0 for int[2] is [0, 0]. */
static void normalise_default(gen_argument *argument) {
  gen_literal *value = &argument->value;
  if (argument->kind == KIND_FLOAT && value->form == LITERAL_INTEGER) {
    value->form = LITERAL_REAL;
    value->real = (double)value->integer;
  }
  if (kind_is_list(argument->kind) && value->form == LITERAL_INTEGER) {
    value->form = LITERAL_LIST;
    for (int i = 0; i < argument->list_size; i++) {
      value->items = memory_grow(value->items, value->count, sizeof(*value->items));
      value->items[value->count++] = value->integer;
    }
  }
}

static void parse_argument(gen_parser *parser, gen_schema *out, bool keyword_only) {
  gen_argument argument = {.keyword_only = keyword_only};
  parse_type(parser, &argument);
  argument.name = word(parser, "an argument name");
  if (accept(parser, "=")) {
    argument.has_default = true;
    skip_blanks(parser);
    const char *start = parser->cursor;
    parse_literal(parser, &argument.value);
    argument.default_text = memory_copy(start, (size_t)(parser->cursor - start));
    if (!parser->failed && !literal_fits(&argument, &argument.value)) {
      parser->failed = true;
      report_error(parser->report, parser->at, "schema: the default of \"%s\" does not fit its type %s; %s",
                   argument.name, argument_type_text(&argument),
                   argument.value.form == LITERAL_NONE ? "write \"?\" after the type" : "write a value of that type");
    }
    normalise_default(&argument);
  }
  if (parser->failed) return;
  if (schema_find(out, argument.name) >= 0) {
    parser->failed = true;
    report_error(parser->report, parser->at, "schema: two arguments are called \"%s\"; rename one", argument.name);
    return;
  }
  out->arguments = memory_grow(out->arguments, out->count, sizeof(argument));
  out->arguments[out->count++] = argument;
}

static void parse_arguments(gen_parser *parser, gen_schema *out) {
  bool keyword_only = false;
  if (!expect(parser, "(") || accept(parser, ")")) return;
  do {
    if (accept(parser, "*"))
      keyword_only = true;
    else
      parse_argument(parser, out, keyword_only);
  } while (!parser->failed && accept(parser, ","));
  expect(parser, parser->failed ? "" : ")");
}

/* The argument whose memory has that letter, or -1. */
static int find_alias(const gen_schema *schema, char alias) {
  for (int i = 0; i < schema->count; i++)
    if (schema->arguments[i].alias == alias) return i;
  return -1;
}

static void parse_result(gen_parser *parser, gen_schema *out) {
  skip_blanks(parser);
  const char *start = parser->cursor;
  gen_argument type = {.name = ""};
  parse_type(parser, &type);
  if (!parser->failed && (type.kind > KIND_TENSOR_LIST || type.optional)) {
    parser->cursor = start;
    fail(parser, "a result of type Tensor");
  }
  skip_blanks(parser);
  const bool named = isalpha((unsigned char)*parser->cursor) || *parser->cursor == '_';
  out->result_names = memory_grow(out->result_names, out->result_count, sizeof(*out->result_names));
  out->result_names[out->result_count++] = named ? word(parser, "a result name") : NULL;
  if (type.alias != '\0' && !type.written && out->aliased < 0) out->aliased = find_alias(out, type.alias);
  if (type.kind == KIND_TENSOR_LIST) out->result_count = -1;
}

static void parse_results(gen_parser *parser, gen_schema *out) {
  if (!expect(parser, "->")) return;
  if (!accept(parser, "(")) {
    parse_result(parser, out);
    return;
  }
  if (accept(parser, ")")) return;
  do parse_result(parser, out);
  while (!parser->failed && out->result_count > 0 && accept(parser, ","));
  expect(parser, ")");
}

void schema_number(gen_schema *schema) {
  int operands = 0, attributes = 0;
  for (int i = 0; i < schema->count; i++)
    schema->arguments[i].position = kind_is_operand(schema->arguments[i].kind) ? operands++ : attributes++;
}

static const char *trimmed(const char *text) {
  while (isspace((unsigned char)*text)) text++;
  size_t size = strlen(text);
  while (size > 0 && isspace((unsigned char)text[size - 1])) size--;
  char *copy = memory_copy(text, size);
  for (char *c = copy; *c != '\0'; c++)
    if (*c == '\n') *c = ' ';
  return copy;
}

bool schema_parse(const char *text, gen_place at, bool is_rule, gen_report *report, gen_schema *out) {
  gen_parser parser = {.cursor = text, .at = at, .report = report};
  *out = (gen_schema){.text = trimmed(text), .aliased = -1};
  out->base = word(&parser, "an operator name");
  out->overload = "";
  if (*parser.cursor == '.') {
    parser.cursor++;
    out->overload = word(&parser, "an overload name after \".\"");
  }
  out->name = *out->overload == '\0' ? out->base : memory_format("%s.%s", out->base, out->overload);
  if (!parser.failed) parse_arguments(&parser, out);
  if (!parser.failed && !is_rule) parse_results(&parser, out);
  skip_blanks(&parser);
  if (*parser.cursor != '\0') fail(&parser, "the end of the schema");
  schema_number(out);
  return !parser.failed;
}

int schema_find(const gen_schema *schema, const char *name) {
  for (int i = 0; i < schema->count; i++)
    if (strcmp(schema->arguments[i].name, name) == 0) return i;
  return -1;
}

bool argument_may_be_absent(const gen_argument *argument) {
  return argument->optional || (argument->kind == KIND_SCALAR && argument->has_default);
}

const char *argument_type_text(const gen_argument *argument) {
  const char *name = argument->kind == KIND_LITERAL ? "Scalar" : kind_name(argument->kind);
  if (argument->list_size > 0) name = memory_format("%.*s[%d]", (int)strcspn(name, "["), name, argument->list_size);
  return argument->optional ? memory_format("%s?", name) : name;
}

gen_kind literal_kind(const gen_literal *value) {
  return value->form == LITERAL_REAL ? KIND_FLOAT : value->form == LITERAL_BOOL ? KIND_BOOL : KIND_INT;
}

bool literal_equal(const gen_literal *a, const gen_literal *b) {
  if (a->form != b->form || a->integer != b->integer || a->real != b->real || a->count != b->count) return false;
  if (a->form == LITERAL_STRING || a->form == LITERAL_DTYPE) return strcmp(a->text, b->text) == 0;
  for (int i = 0; i < a->count; i++)
    if (a->items[i] != b->items[i]) return false;
  return true;
}
