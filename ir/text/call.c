/* Reads one call: operands, attributes as text, and which operator they mean; then the attributes as its schema says.
 *
 *   sum %x, dim=[1], keepdim=true
 *       ^^ operands of the statement
 *           ^^^^^^^  ^^^^^^^^^^^^^ text until overloads are resolved (sum.dim_IntList), then a list and a bool
 */
#include "ir/text/parser.h"

#include "ir/attribute.h"
#include "ir/defined_size.h"
#include "ir/op.gen.h"

#include <stdlib.h>
#include <string.h>

/* The innermost frame in which a name is defined; *out is NULL where none is. */
static int find_name(const laze_parser *parser, const laze_token *token, const laze_name **out) {
  int frame = parser->depth;
  *out = NULL;
  while (!*out && frame-- > 0)
    *out = laze_name_find(&parser->names, parser->frames[frame].scope, token->start, token->length);
  return frame;
}

/* A value of the block of frame `from`, as one of the innermost block. */
static laze_status capture(laze_parser *parser, int from, laze_value *value, laze_error *error) {
  for (int i = from; i + 1 < parser->depth; i++) {
    laze_parser_frame *frame = &parser->frames[i];
    LAZE_TRY(laze_capture_value(parser->graph, &frame->captures, parser->frames[i + 1].block, frame->region_count - 1,
                                *value, value, error));
  }
  return LAZE_OK;
}

laze_status laze_parse_value(laze_parser *parser, laze_value *out, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  laze_token token = lexer->token;
  if (token.kind != LAZE_TOKEN_VALUE) return laze_lexer_expected(lexer, "a value", error);
  const laze_name *name;
  int frame = find_name(parser, &token, &name);
  if (!name)
    return laze_lexer_fail(lexer, token.start - 1, error, "there is no value %%%.*s before this line",
                           token.length > 64 ? 64 : token.length, token.start);
  laze_lexer_advance(lexer);
  long result = 0;
  if (laze_lexer_take(lexer, '#')) {
    if (lexer->token.kind != LAZE_TOKEN_NUMBER) return laze_lexer_expected(lexer, "the number of a result", error);
    result = strtol(lexer->token.start, NULL, 10);
    if (result < 0 || result >= name->count)
      return laze_lexer_fail(lexer, lexer->token.start, error, "%%%.*s has %d results, numbered from 0", token.length,
                             token.start, name->count);
    laze_lexer_advance(lexer);
  } else if (name->count != 1) {
    return laze_lexer_fail(lexer, token.start - 1, error, "%%%.*s has %d results; write %%%.*s#0", token.length,
                           token.start, name->count, token.length, token.start);
  }
  *out = parser->names.values[name->first + result];
  return capture(parser, frame, out, error);
}

laze_status laze_parse_type(laze_parser *parser, laze_type *out, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  const char *cursor = lexer->token.start;
  if (lexer->token.kind != LAZE_TOKEN_WORD) return laze_lexer_expected(lexer, "a type", error);
  if (laze_type_parse(parser->graph->sizes, &cursor, out, error) != LAZE_OK)
    return laze_lexer_locate(lexer, lexer->token.start, error);
  laze_lexer_resume(lexer, cursor);
  return LAZE_OK;
}

static laze_status push_value(laze_parser *parser, laze_value value, laze_error *error) {
  LAZE_TRY(laze_grow(parser->graph->context, (void **)&parser->values, &parser->value_capacity, parser->value_count + 1,
                     sizeof value, error));
  parser->values[parser->value_count++] = value;
  return LAZE_OK;
}

/* `[%x, %y]` or `[none, %y]`, the bracket not yet taken. */
static laze_status parse_value_list(laze_parser *parser, laze_passed *passed, laze_parsed_argument *argument,
                                    laze_error *error) {
  laze_lexer_advance(&parser->lexer);
  passed->kind = LAZE_PASSED_TENSOR_LIST;
  while (!laze_lexer_at(&parser->lexer, ']')) {
    laze_value value = LAZE_VALUE_NONE;
    if (argument->value_count > 0) LAZE_TRY(laze_lexer_expect(&parser->lexer, ',', error));
    if (laze_lexer_take_word(&parser->lexer, "none"))
      passed->kind = LAZE_PASSED_OPTIONAL_LIST;
    else
      LAZE_TRY(laze_parse_value(parser, &value, error));
    LAZE_TRY(push_value(parser, value, error));
    argument->value_count++;
  }
  laze_lexer_advance(&parser->lexer);
  return LAZE_OK;
}

/* The end of an attribute's text: before a comma, colon, brace, closing bracket or the end of the line that is inside
 * no bracket, or before a label or a region's parameters, which stand behind a space. */
static const char *attribute_end(const char *at) {
  int64_t depth = 0;
  for (const char *start = at; *at; at++) {
    if (depth == 0 && at > start && at[-1] == ' ' && (*at == '(' || laze_text_at_label(at))) break;
    if (*at == '(' || *at == '[') depth++;
    if ((*at == ')' || *at == ']') && depth-- == 0) break;
    if (depth == 0 && strchr(",:{}\n", *at)) break;
    if (*at == '"') at = laze_text_skip_string(at) - 1;
  }
  return at;
}

static bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_dtype(const laze_parsed_argument *argument) {
  char name[8];
  size_t length = 0;
  while (argument->start + length < argument->end && is_name_character(argument->start[length])) length++;
  if (length >= sizeof name || laze_text_skip_blanks(argument->start + length) < argument->end) return false;
  memcpy(name, argument->start, length);
  name[length] = 0;
  return laze_dtype_find(name) != LAZE_DTYPE_NONE;
}

/* Whether it is a list of plain numbers of which one is no integer at least. */
static bool is_real_list(const laze_parsed_argument *argument) {
  const char *at = argument->start;
  bool found = false;
  do {
    laze_scalar scalar;
    at = laze_text_skip_blanks(at + 1);
    if (!laze_text_read_scalar(&at, &scalar) || scalar.dtype == LAZE_BOOL) return false;
    found = found || laze_dtype_is_float(scalar.dtype);
    at = laze_text_skip_blanks(at);
  } while (*at == ',');
  return found && *at == ']';
}

/* A list of strings, of numbers, or one in which a size has a name, or is a value. */
static laze_passed_kind classify_list(const laze_parsed_argument *argument) {
  const char *at = laze_text_skip_blanks(argument->start + 1);
  if (*at == ']') return LAZE_PASSED_EMPTY_LIST;
  if (*at == '"') return LAZE_PASSED_STRING_LIST;
  if (memchr(at, '%', (size_t)(argument->end - at))) return LAZE_PASSED_MIXED_LIST;
  if (is_real_list(argument)) return LAZE_PASSED_FLOAT_LIST;
  for (; at < argument->end; at++)
    if (is_name_character(*at) && (*at < '0' || *at > '9')) return LAZE_PASSED_SIZE_LIST;
  return LAZE_PASSED_INT_LIST;
}

/* What an attribute's text is, before an operator says what it wants. */
static laze_passed_kind classify(const laze_parsed_argument *argument) {
  const char *cursor = argument->start;
  laze_scalar scalar;
  if (*argument->start == '"') return LAZE_PASSED_STRING;
  if (*argument->start == '[') return classify_list(argument);
  if (is_dtype(argument)) return LAZE_PASSED_DTYPE;
  if (!laze_text_read_scalar(&cursor, &scalar) || laze_text_skip_blanks(cursor) < argument->end)
    return LAZE_PASSED_SIZE;
  switch (laze_dtype_kind(scalar.dtype)) {
  case LAZE_KIND_NONE: break;
  case LAZE_KIND_BOOL: return LAZE_PASSED_BOOL;
  case LAZE_KIND_SIGNED:
  case LAZE_KIND_UNSIGNED: return LAZE_PASSED_INTEGER;
  case LAZE_KIND_FLOAT: return LAZE_PASSED_REAL;
  case LAZE_KIND_COMPLEX: return LAZE_PASSED_LITERAL;
  }
  return LAZE_PASSED_SIZE;
}

laze_status laze_parse_attribute_text(laze_parser *parser, laze_passed *passed, laze_parsed_argument *argument,
                                      laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  argument->start = lexer->token.start;
  argument->end = attribute_end(argument->start);
  if (argument->end == argument->start) return laze_lexer_expected(lexer, "a value", error);
  passed->kind = classify(argument);
  laze_lexer_resume(lexer, argument->end);
  return LAZE_OK;
}

static bool starts_value(const char *at) {
  return *at == '%' || (strncmp(at, "none", 4) == 0 && !is_name_character(at[4]));
}

/* Whether each item is a value, or the word none. */
static bool is_value_list(const char *bracket) {
  const char *at = laze_text_skip_blanks(bracket + 1);
  if (!starts_value(at)) return false;
  for (; *at && *at != ']'; at++)
    if (*at == ',' && !starts_value(laze_text_skip_blanks(at + 1))) return false;
  return true;
}

/* One argument without its name. */
static laze_status parse_argument_value(laze_parser *parser, laze_passed *passed, laze_parsed_argument *argument,
                                        laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  *argument = (laze_parsed_argument){.first_value = parser->value_count};
  if (lexer->token.kind == LAZE_TOKEN_VALUE) {
    laze_value value;
    LAZE_TRY(laze_parse_value(parser, &value, error));
    passed->kind = laze_graph_type(parser->graph, value)->rank == 0 ? LAZE_PASSED_SCALAR_TENSOR : LAZE_PASSED_TENSOR;
    argument->value_count = 1;
    return push_value(parser, value, error);
  }
  if (laze_lexer_at(lexer, '[') && is_value_list(lexer->token.start))
    return parse_value_list(parser, passed, argument, error);
  passed->kind = LAZE_PASSED_ABSENT;
  if (laze_lexer_take_word(lexer, "none")) return LAZE_OK;
  return laze_parse_attribute_text(parser, passed, argument, error);
}

static laze_status parse_argument(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  laze_token token = lexer->token;
  if (parser->argument_count == LAZE_PARSER_ARGUMENTS)
    return laze_lexer_fail(lexer, token.start, error, "more than %d arguments", LAZE_PARSER_ARGUMENTS);
  laze_passed *passed = &parser->passed[parser->argument_count];
  laze_parsed_argument *argument = &parser->arguments[parser->argument_count];
  *passed = (laze_passed){0};
  bool is_word = token.kind == LAZE_TOKEN_WORD || *token.start == 'n'; /* an argument may be called nan */
  bool named = is_word && *laze_text_skip_blanks(token.start + token.length) == '=';
  if (named) {
    passed->name = token.start;
    passed->name_length = token.length;
    laze_lexer_advance(lexer);
    laze_lexer_advance(lexer);
  }
  LAZE_TRY(parse_argument_value(parser, passed, argument, error));
  parser->argument_count++;
  return LAZE_OK;
}

static laze_status parse_arguments(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  parser->argument_count = 0;
  parser->value_count = 0;
  if (laze_lexer_at(lexer, ':') || laze_lexer_at(lexer, '(') || laze_lexer_at(lexer, '{') ||
      laze_lexer_at(lexer, '}') || lexer->token.kind == LAZE_TOKEN_END || lexer->token.first_on_line ||
      laze_lexer_at_label(lexer))
    return LAZE_OK;
  do LAZE_TRY(parse_argument(parser, error));
  while (laze_lexer_take(lexer, ','));
  return LAZE_OK;
}

/* Where a region follows, a list of operands at the end may be left out: what the regions capture joins it. */
static void add_left_out(laze_parser *parser, const char *name) {
  laze_op op = laze_op_find(name);
  const laze_op_info *info = op == LAZE_OP_NONE ? NULL : laze_op_get(op);
  int32_t operands = 0, last = -1;
  if (!info || info->region_count == 0 || parser->argument_count == LAZE_PARSER_ARGUMENTS) return;
  for (int32_t i = 0; i < info->argument_count; i++) {
    if (!laze_argument_is_operand(info->arguments[i].kind)) continue;
    operands++;
    last = i;
  }
  for (int32_t i = 0; i < parser->argument_count; i++) operands -= parser->passed[i].name == NULL;
  if (operands != 1 || info->arguments[last].kind != LAZE_ARGUMENT_TENSOR_LIST) return;
  for (int32_t i = 0; i < parser->argument_count; i++) {
    const laze_passed *passed = &parser->passed[i];
    if (passed->name && (size_t)passed->name_length == strlen(info->arguments[last].name) &&
        memcmp(passed->name, info->arguments[last].name, (size_t)passed->name_length) == 0)
      return;
  }
  parser->passed[parser->argument_count] = (laze_passed){.kind = LAZE_PASSED_EMPTY_LIST};
  parser->arguments[parser->argument_count++] = (laze_parsed_argument){.first_value = parser->value_count};
}

static laze_promotion promotion_of(const laze_parser *parser) {
  laze_promotion promotion = {0};
  for (int64_t i = 0; i < parser->value_count; i++)
    if (!laze_value_is_none(parser->values[i]))
      laze_promotion_add(&promotion, laze_graph_type(parser->graph, parser->values[i]), false);
  return promotion;
}

/* A number where a value is expected becomes a constant of no dimensions. One for a Scalar keeps its dtype, which
 * promotes as a plain number's. */
static laze_status record_literal(laze_parser *parser, const laze_argument_info *info,
                                  const laze_parsed_argument *argument, laze_value *out, laze_error *error) {
  const char *cursor = argument->start;
  laze_scalar scalar;
  if (!laze_text_read_scalar(&cursor, &scalar) || laze_text_skip_blanks(cursor) < argument->end)
    return laze_lexer_fail(
        &parser->lexer, argument->start, error, "'%.*s' is no number; a size becomes a value by size_tensor",
        argument->end - argument->start > 40 ? 40 : (int)(argument->end - argument->start), argument->start);
  laze_dtype dtype = scalar.dtype;
  laze_promotion beside = promotion_of(parser);
  if (info->kind == LAZE_ARGUMENT_TENSOR) dtype = laze_call_number_dtype(dtype, &beside);
  return laze_record_number(&parser->builder.recorder, dtype, scalar, out, error);
}

/* Lays the arguments out by the schema. */
static laze_status fill_operands(laze_parser *parser, const laze_op_info *info, const int8_t *given,
                                 laze_value *operands, int32_t *segments, laze_error *error) {
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (!laze_argument_is_operand(argument->kind)) continue;
    int32_t *segment = &segments[argument->position];
    *segment = -1;
    if (given[i] < 0 || parser->passed[given[i]].kind == LAZE_PASSED_ABSENT) continue;
    const laze_parsed_argument *parsed = &parser->arguments[given[i]];
    *segment = laze_argument_is_operands(argument->kind) ? parsed->value_count : 1;
    if (laze_passed_is_number(parser->passed[given[i]].kind))
      LAZE_TRY(record_literal(parser, argument, parsed, operands++, error));
    for (int32_t k = 0; k < parsed->value_count; k++) *operands++ = parser->values[parsed->first_value + k];
  }
  return LAZE_OK;
}

/* A size that a statement defines has a name of its own. */
static laze_status check_new_size(const laze_parser *parser, const char *start, size_t length, laze_error *error) {
  char name[LAZE_PARSER_NAME];
  if (length == 0 || length >= sizeof name) return LAZE_OK; /* no name: the rule says so */
  memcpy(name, start, length);
  name[length] = 0;
  laze_size symbol = laze_size_find_symbol(parser->graph->sizes, name);
  if (symbol == 0) return LAZE_OK;
  const laze_size_node *node = laze_size_get(parser->graph->sizes, symbol);
  if (!node->defined && node->symbol < parser->reserved_count && parser->reserved[node->symbol]) return LAZE_OK;
  return laze_lexer_fail(&parser->lexer, start, error,
                         "%s is a size of the graph already; what a value defines has a name of its own", name);
}

/* One name, or a list of them in brackets. */
static laze_status check_new_sizes(const laze_parser *parser, const laze_parsed_argument *argument, laze_error *error) {
  for (const char *at = argument->start; at && at < argument->end;) {
    size_t length = 0;
    while (at + length < argument->end && is_name_character(at[length])) length++;
    LAZE_TRY(check_new_size(parser, at, length, error));
    at += length > 0 ? length : 1;
  }
  return LAZE_OK;
}

static laze_status fill_attributes(laze_parser *parser, const laze_op_info *info, const int8_t *given,
                                   laze_attribute *attributes, laze_error *error) {
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (laze_argument_is_operand(argument->kind)) continue;
    laze_attribute *attribute = &attributes[argument->position];
    *attribute = argument->default_value;
    attribute->kind = (uint8_t)argument->kind;
    if (given[i] < 0) continue;
    const laze_parsed_argument *parsed = &parser->arguments[given[i]];
    if (info->defines == argument->position + 1) LAZE_TRY(check_new_sizes(parser, parsed, error));
    if (parsed->value_count > 0)
      LAZE_TRY(laze_parse_sizes_from_values(parser, argument, parsed, attribute, error));
    else
      LAZE_TRY(laze_parse_attribute(parser, argument, parsed, attribute, error));
  }
  return LAZE_OK;
}

static laze_status fill_call(laze_parser *parser, laze_statement *statement, laze_error *error) {
  const laze_op_info *info = laze_op_get(statement->call.op);
  int8_t given[LAZE_PARSER_ARGUMENTS];
  int64_t operand_count = parser->value_count;
  memset(given, -1, sizeof given);
  for (int32_t i = 0; i < parser->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[parser->passed[i].argument];
    given[parser->passed[i].argument] = (int8_t)i;
    bool operand = laze_argument_is_operand(argument->kind);
    operand_count += operand && laze_passed_is_number(parser->passed[i].kind);
    if (!operand) operand_count -= parser->arguments[i].value_count; /* they stand for sizes */
  }
  laze_value *operands = laze_arena_alloc_array(&parser->scratch, operand_count, sizeof *operands);
  int32_t *segments = laze_arena_alloc_array(&parser->scratch, info->segment_count, sizeof *segments);
  laze_attribute *attributes = laze_arena_alloc_array(&parser->scratch, info->attribute_count, sizeof *attributes);
  if (!operands || !segments || !attributes) return laze_fail_memory(error, "a statement", -1);
  if (operand_count > INT32_MAX) return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: too many operands", info->name);
  LAZE_TRY(fill_operands(parser, info, given, operands, segments, error));
  LAZE_TRY(fill_attributes(parser, info, given, attributes, error));
  statement->call.operands = operands;
  statement->call.operand_count = (int32_t)operand_count;
  statement->call.segments = segments;
  statement->call.attributes = attributes;
  return LAZE_OK;
}

/* The function of that name. One that is read later, or is being read, cannot be called: nothing can call itself. */
static laze_status find_function(laze_parser *parser, const laze_token *name, const laze_graph **out,
                                 laze_error *error) {
  const laze_module *module = parser->module;
  const laze_graph *found = laze_module_find(module, module->count, name->start, name->length);
  int32_t length = name->length > 64 ? 64 : name->length;
  *out = found;
  if (found == parser->graph)
    return laze_lexer_fail(&parser->lexer, name->start - 1, error, "@%.*s calls itself; recursion is not supported",
                           length, name->start);
  if (!found)
    return laze_lexer_fail(&parser->lexer, name->start - 1, error,
                           "there is no function @%.*s before this line; functions stand before their calls", length,
                           name->start);
  if (!found->is_function)
    return laze_lexer_fail(&parser->lexer, name->start - 1, error, "@%.*s is a graph; only functions are called",
                           length, name->start);
  return LAZE_OK;
}

laze_status laze_parse_function_call(laze_parser *parser, laze_statement *statement, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  const laze_token name = lexer->token;
  if (name.kind != LAZE_TOKEN_GRAPH_NAME || name.first_on_line)
    return laze_lexer_expected(lexer, "the name of a function, such as @block", error);
  LAZE_TRY(find_function(parser, &name, &statement->function, error));
  laze_lexer_advance(lexer);
  parser->value_count = 0;
  while (parser->value_count == 0 ? lexer->token.kind == LAZE_TOKEN_VALUE && !lexer->token.first_on_line
                                  : laze_lexer_take(lexer, ',')) {
    laze_value value;
    LAZE_TRY(laze_parse_value(parser, &value, error));
    LAZE_TRY(push_value(parser, value, error));
  }
  int32_t *segment = laze_arena_alloc(&parser->scratch, sizeof *segment);
  laze_attribute *function = laze_arena_alloc(&parser->scratch, sizeof *function);
  laze_value *operands =
      laze_arena_copy(&parser->scratch, parser->values, parser->value_count * (int64_t)sizeof *operands);
  if (!segment || !function || !operands) return laze_fail_memory(error, "a statement", -1);
  if (parser->value_count > INT32_MAX) return laze_fail(error, LAZE_OUT_OF_RANGE, "call: too many operands");
  *segment = (int32_t)parser->value_count;
  *function = laze_attribute_string(statement->function->name);
  statement->call.op = LAZE_OP_CALL;
  statement->call.operands = operands;
  statement->call.operand_count = (int32_t)parser->value_count;
  statement->call.segments = segment;
  statement->call.attributes = function;
  return LAZE_OK;
}

laze_status laze_parse_call(laze_parser *parser, laze_statement *statement, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  char name[LAZE_PARSER_NAME];
  if (lexer->token.kind != LAZE_TOKEN_WORD) return laze_lexer_expected(lexer, "an operator", error);
  if (lexer->token.length >= LAZE_PARSER_NAME) return laze_lexer_expected(lexer, "an operator's name", error);
  memcpy(name, lexer->token.start, (size_t)lexer->token.length);
  name[lexer->token.length] = 0;
  statement->at = lexer->token.start;
  statement->operator_length = lexer->token.length;
  statement->function = NULL;
  statement->call = (laze_call){.location = {.file = parser->file, .line = lexer->line}};
  parser->builder.recorder.location = statement->call.location;
  laze_lexer_advance(lexer);
  if (strcmp(name, laze_op_get(LAZE_OP_CONSTANT)->name) == 0) {
    statement->call.op = LAZE_OP_CONSTANT;
    return laze_parse_constant(parser, statement, error);
  }
  if (strcmp(name, laze_op_get(LAZE_OP_CALL)->name) == 0) return laze_parse_function_call(parser, statement, error);
  LAZE_TRY(parse_arguments(parser, error));
  add_left_out(parser, name);
  laze_overload_call call = {name, LAZE_POSITIONS_OPERANDS, parser->passed, parser->argument_count, true, false};
  if (laze_call_resolve(&call, &statement->call.op, error) != LAZE_OK)
    return laze_lexer_locate(lexer, statement->at, error);
  const laze_op_info *info = laze_op_get(statement->call.op);
  if (info->argument_count > LAZE_PARSER_ARGUMENTS || info->result_count > LAZE_PARSER_RESULTS ||
      info->region_count > LAZE_MAX_REGIONS)
    return laze_lexer_fail(lexer, statement->at, error, "%s: more arguments than the parser holds", name);
  return fill_call(parser, statement, error);
}
