/* Reads the values of attributes, once the operator says what they are. */
#include "ir/text/parser.h"

#include "ir/defined_size.h"

#include <string.h>

const char *laze_text_skip_blanks(const char *at) {
  while (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n') at++;
  return at;
}

const char *laze_text_skip_string(const char *at) {
  for (at++; *at && *at != '"' && *at != '\n'; at++)
    if (*at == '\\' && at[1]) at++;
  return *at == '"' ? at + 1 : at;
}

/* A number of a list may be negative where it is known before the run: -1 often means "what is left". */
static laze_size_source list_source(laze_value value) {
  return (laze_size_source){.value = value, .low = 0, .high = LAZE_SIZE_CONSTANT_MAX};
}

/* `%n` in a list of sizes. */
static laze_status read_value_size(laze_parser *parser, const char **cursor, laze_size *out, laze_error *error) {
  laze_lexer behind = parser->lexer;
  laze_value value;
  parser->lexer.cursor = *cursor;
  laze_lexer_advance(&parser->lexer);
  laze_status status = laze_parse_value(parser, &value, error);
  const laze_token *token = &parser->lexer.token;
  *cursor = token->kind == LAZE_TOKEN_VALUE || token->kind == LAZE_TOKEN_GRAPH_NAME ? token->start - 1 : token->start;
  parser->lexer = behind;
  LAZE_TRY(status);
  laze_size_source source = list_source(value);
  return laze_record_size_from(&parser->builder.recorder, &source, out, error);
}

static laze_status list_from_values(laze_parser *parser, const laze_parsed_argument *argument, laze_attribute *out,
                                    laze_error *error) {
  laze_recorder *recorder = &parser->builder.recorder;
  int32_t count = argument->value_count > LAZE_MAX_RANK ? argument->value_count : LAZE_MAX_RANK;
  laze_size *items = laze_arena_alloc_array(&parser->scratch, count, sizeof *items);
  if (!items) return laze_fail_memory(error, "a list", -1);
  out->value.items = items;
  out->count = argument->value_count;
  laze_size_source first = list_source(parser->values[argument->first_value]);
  if (out->count == 1 && laze_recorder_type(recorder, first.value)->rank > 0)
    return laze_record_sizes_from(recorder, &first, items, count, &out->count, error);
  for (int32_t i = 0; i < argument->value_count; i++) {
    laze_size_source source = list_source(parser->values[argument->first_value + i]);
    LAZE_TRY(laze_record_size_from(recorder, &source, &items[i], error));
  }
  return LAZE_OK;
}

laze_status laze_parse_sizes_from_values(laze_parser *parser, const laze_argument_info *info,
                                         const laze_parsed_argument *argument, laze_attribute *out, laze_error *error) {
  laze_size_source source = {
      .value = parser->values[argument->first_value], .low = LAZE_SIZE_CONSTANT_MIN, .high = LAZE_SIZE_CONSTANT_MAX};
  *out = (laze_attribute){.kind = (uint8_t)info->kind, .present = true};
  laze_status status = info->kind == LAZE_ARGUMENT_SIZE
                           ? laze_record_size_from(&parser->builder.recorder, &source, &out->value.size, error)
                           : list_from_values(parser, argument, out, error);
  if (status == LAZE_OK) return LAZE_OK;
  (void)laze_error_prefix(error, "argument '%s'", info->name);
  return laze_lexer_locate(&parser->lexer, parser->lexer.token.start, error);
}

/* Reads a list attribute, or one number where the schema lets it stand for a list of a given size. */
static laze_status read_sizes(laze_parser *parser, const laze_argument_info *info, const char **cursor,
                              laze_attribute *out, laze_error *error) {
  laze_size_table *table = parser->graph->sizes;
  int64_t commas = 0;
  for (const char *c = *cursor; **cursor == '[' && *c && *c != ']'; c++) commas += *c == ',';
  int64_t capacity = commas + 1 > info->list_size ? commas + 1 : info->list_size;
  laze_size *items = laze_arena_alloc_array(&parser->scratch, capacity, sizeof *items);
  if (!items) return laze_fail_memory(error, "a list", capacity * 8);
  out->value.items = items;
  if (**cursor != '[') {
    LAZE_TRY(laze_size_parse(table, cursor, &items[0], error));
    for (out->count = 1; out->count < info->list_size; out->count++) items[out->count] = items[0];
    return LAZE_OK;
  }
  *cursor = laze_text_skip_blanks(*cursor + 1);
  while (**cursor != ']' && out->count < capacity) {
    laze_size *item = &items[out->count++];
    LAZE_TRY(**cursor == '%' ? read_value_size(parser, cursor, item, error)
                             : laze_size_parse(table, cursor, item, error));
    *cursor = laze_text_skip_blanks(*cursor);
    if (**cursor == ',')
      *cursor = laze_text_skip_blanks(*cursor + 1);
    else if (**cursor != ']')
      break;
  }
  if (**cursor != ']') return laze_fail(error, LAZE_INVALID_ARGUMENT, "expected ',' or ']' in the list");
  ++*cursor;
  return LAZE_OK;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Writes the string at the cursor to *end, and its 0, and moves both behind it. */
static laze_status unescape(const char **cursor, char **end, laze_error *error) {
  const char *at = *cursor + 1;
  while (*at != '"') {
    if (!*at || *at == '\n') return laze_fail(error, LAZE_INVALID_ARGUMENT, "the string does not end on its line");
    if (*at == '\\' && at[1] == 'x' && hex_digit(at[2]) >= 0 && hex_digit(at[3]) >= 0) {
      *(*end)++ = (char)(hex_digit(at[2]) * 16 + hex_digit(at[3]));
      at += 4;
    } else if (*at == '\\' && (at[1] == '"' || at[1] == '\\')) {
      *(*end)++ = at[1];
      at += 2;
    } else if (*at == '\\') {
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "unknown escape in a string; write \\\", \\\\ or \\x0a");
    } else {
      *(*end)++ = *at++;
    }
  }
  *(*end)++ = 0;
  *cursor = at + 1;
  return LAZE_OK;
}

laze_status laze_parse_string(laze_arena *arena, const char **cursor, const char **out, laze_error *error) {
  char *string = laze_arena_alloc(arena, laze_text_skip_string(*cursor) - *cursor), *end = string;
  if (!string) return laze_fail_memory(error, "a string", -1);
  *out = string;
  LAZE_TRY(unescape(cursor, &end, error));
  if (strlen(string) + 1 == (size_t)(end - string)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "a string holds no byte 0");
}

/* Moves behind the comma after an item, or behind the bracket that ends the list: *more says which. */
static laze_status next_item(const char **cursor, bool *more, laze_error *error) {
  *cursor = laze_text_skip_blanks(*cursor);
  *more = **cursor == ',';
  if (!*more && **cursor != ']') return laze_fail(error, LAZE_INVALID_ARGUMENT, "expected ',' or ']' in the list");
  *cursor = *more ? laze_text_skip_blanks(*cursor + 1) : *cursor + 1;
  return LAZE_OK;
}

static laze_status read_strings(laze_parser *parser, const laze_parsed_argument *argument, const char **cursor,
                                laze_attribute *out, laze_error *error) {
  char *strings = laze_arena_alloc(&parser->scratch, argument->end - *cursor), *end = strings;
  if (!strings) return laze_fail_memory(error, "a list of strings", -1);
  out->value.string = strings;
  *cursor = laze_text_skip_blanks(*cursor + 1);
  bool more = **cursor != ']';
  if (!more) ++*cursor;
  while (more) {
    char *first = end;
    if (**cursor != '"') return laze_fail(error, LAZE_INVALID_ARGUMENT, "expected a string in the list");
    LAZE_TRY(unescape(cursor, &end, error));
    if (strlen(first) + 1 != (size_t)(end - first))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "a string in a list holds no byte 0");
    out->count++;
    LAZE_TRY(next_item(cursor, &more, error));
  }
  return LAZE_OK;
}

/* Numbers, or one where the schema lets it stand for a list of a given size. */
static laze_status read_reals(laze_parser *parser, const laze_argument_info *info, const laze_parsed_argument *argument,
                              const char **cursor, laze_attribute *out, laze_error *error) {
  int64_t capacity = info->list_size > 1 ? info->list_size : 1;
  for (const char *c = *cursor; c < argument->end; c++) capacity += *c == ',';
  double *items = laze_arena_alloc_array(&parser->scratch, capacity, sizeof *items);
  if (!items) return laze_fail_memory(error, "a list", capacity * 8);
  out->value.reals = items;
  bool list = **cursor == '[', more = true;
  if (list) *cursor = laze_text_skip_blanks(*cursor + 1);
  if (list && **cursor == ']') more = false, ++*cursor;
  while (more && out->count < capacity) {
    if (!laze_text_read_element(cursor, LAZE_F64, &items[out->count++], 0))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "expected a number%s", list ? " in the list" : "");
    more = false;
    if (list) LAZE_TRY(next_item(cursor, &more, error));
  }
  for (; !list && out->count < info->list_size; out->count++) items[out->count] = items[0];
  return LAZE_OK;
}

static laze_status read_dtype(const char **cursor, int64_t *out, laze_error *error) {
  char name[16];
  size_t length = strspn(*cursor, "abcdefghijklmnopqrstuvwxyz0123456789");
  if (length >= sizeof name) length = sizeof name - 1;
  memcpy(name, *cursor, length);
  name[length] = 0;
  *out = laze_dtype_find(name);
  *cursor += length;
  if (*out != LAZE_DTYPE_NONE) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "'%s' is no dtype; expected %s", name,
                   laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_SHORT, " or ").text);
}

static laze_status expected(bool read, const char *what, laze_error *error) {
  return read ? LAZE_OK : laze_fail(error, LAZE_INVALID_ARGUMENT, "expected %s that fits", what);
}

static laze_status read_bool(const char **cursor, int64_t *out, laze_error *error) {
  uint8_t boolean = 0;
  bool read = laze_text_read_element(cursor, LAZE_BOOL, &boolean, 0);
  *out = boolean;
  return expected(read, "true or false", error);
}

/* A number alone may be any of 64 bits, as in C; in an expression it must be a size. */
static laze_status read_size(laze_parser *parser, const char **cursor, laze_size *out, laze_error *error) {
  const char *end = *cursor;
  int64_t number;
  bool alone = laze_text_read_element(&end, LAZE_I64, &number, 0) && !strchr("+-*", *laze_text_skip_blanks(end));
  if (!alone) return laze_size_parse(parser->graph->sizes, cursor, out, error);
  *cursor = end;
  *out = laze_size_from_number(number);
  return LAZE_OK;
}

static laze_status read_attribute(laze_parser *parser, const laze_argument_info *info,
                                  const laze_parsed_argument *argument, const char **cursor, laze_attribute *out,
                                  laze_error *error) {
  switch (info->kind) {
  case LAZE_ARGUMENT_TENSOR: /* operands are no attributes; elements stand behind `constant` */
  case LAZE_ARGUMENT_TENSOR_LIST:
  case LAZE_ARGUMENT_OPTIONAL_LIST:
  case LAZE_ARGUMENT_SCALAR:
  case LAZE_ARGUMENT_DATA: break;
  case LAZE_ARGUMENT_INT:
    return expected(laze_text_read_element(cursor, LAZE_I64, &out->value.integer, 0), "a 64-bit integer", error);
  case LAZE_ARGUMENT_SIZE: return read_size(parser, cursor, &out->value.size, error);
  case LAZE_ARGUMENT_FLOAT:
    return expected(laze_text_read_element(cursor, LAZE_F64, &out->value.real, 0), "a number", error);
  case LAZE_ARGUMENT_BOOL: return read_bool(cursor, &out->value.integer, error);
  case LAZE_ARGUMENT_DTYPE: return read_dtype(cursor, &out->value.integer, error);
  case LAZE_ARGUMENT_STRING: return laze_parse_string(&parser->scratch, cursor, &out->value.string, error);
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST: return read_sizes(parser, info, cursor, out, error);
  case LAZE_ARGUMENT_FLOAT_LIST: return read_reals(parser, info, argument, cursor, out, error);
  case LAZE_ARGUMENT_STRING_LIST: return read_strings(parser, argument, cursor, out, error);
  case LAZE_ARGUMENT_LITERAL: return expected(laze_text_read_scalar(cursor, &out->value.literal), "a number", error);
  }
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "has no form in text");
}

laze_status laze_parse_attribute(laze_parser *parser, const laze_argument_info *info,
                                 const laze_parsed_argument *argument, laze_attribute *out, laze_error *error) {
  const char *cursor = argument->start;
  *out = (laze_attribute){.kind = (uint8_t)info->kind};
  if (!argument->start) return LAZE_OK; /* none */
  out->present = true;
  laze_status status = read_attribute(parser, info, argument, &cursor, out, error);
  for (int32_t i = 0; status == LAZE_OK && info->kind == LAZE_ARGUMENT_INT_LIST && i < out->count; i++)
    if (!laze_size_is_constant(out->value.items[i]))
      status = laze_fail(error, LAZE_INVALID_ARGUMENT, "expected constants in the list");
  if (status == LAZE_OK && laze_text_skip_blanks(cursor) < argument->end)
    status = laze_fail(error, LAZE_INVALID_ARGUMENT, "unexpected '%.*s' behind the value",
                       argument->end - cursor > 40 ? 40 : (int)(argument->end - cursor), cursor);
  if (status == LAZE_OK) return LAZE_OK;
  (void)laze_error_prefix(error, "attribute '%s'", info->name);
  return laze_lexer_locate(&parser->lexer, argument->start, error);
}
