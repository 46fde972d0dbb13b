/* `constant` writes its elements; dtype and sizes stand in its type. */
#include "ir/text/parser.h"

static int64_t count_elements(const char *at, const char *end) {
  int64_t count = 0;
  if (*at != '[') return 1;
  if (*laze_text_skip_blanks(at + 1) == ']') return 0;
  for (; at < end; at++) count += *at == ',';
  return count + 1;
}

static laze_status read_elements(laze_parser *parser, const laze_parsed_argument *argument, const laze_type *type,
                                 int64_t count, void *elements, laze_error *error) {
  const char *cursor = argument->start;
  bool list = *cursor == '[';
  if (list) cursor = laze_text_skip_blanks(cursor + 1);
  for (int64_t i = 0; i < count; i++) {
    const char *at = cursor;
    if (!laze_text_read_element(&cursor, type->dtype, elements, i))
      return laze_lexer_fail(&parser->lexer, at, error, "constant: element %lld is no %s that fits", (long long)i,
                             laze_dtype_name(type->dtype));
    cursor = laze_text_skip_blanks(cursor);
    if (list && i + 1 < count && *cursor != ',')
      return laze_lexer_fail(&parser->lexer, cursor, error, "constant: expected ',' between elements");
    if (list && i + 1 < count) cursor = laze_text_skip_blanks(cursor + 1);
  }
  if (list && *cursor++ != ']') return laze_lexer_fail(&parser->lexer, cursor - 1, error, "constant: expected ']'");
  if (laze_text_skip_blanks(cursor) < argument->end)
    return laze_lexer_fail(&parser->lexer, cursor, error, "constant: unexpected text behind the elements");
  return LAZE_OK;
}

static laze_status check_element_count(laze_parser *parser, const laze_parsed_argument *argument, const laze_type *type,
                                       int64_t count, laze_error *error) {
  laze_size wanted;
  char text[256];
  bool scalar = *argument->start != '[';
  if (type->kind != LAZE_TYPE_TENSOR || scalar != (type->rank == 0))
    return laze_lexer_fail(&parser->lexer, argument->start, error,
                           "constant: write one number for a type without dimensions and [...] for others");
  LAZE_TRY(laze_type_elements(parser->graph->sizes, type, &wanted, error));
  if (wanted == count) return LAZE_OK;
  return laze_lexer_fail(&parser->lexer, argument->start, error, "constant: %lld elements do not make %s",
                         (long long)count, laze_type_format(parser->graph->sizes, type, text, sizeof text));
}

laze_status laze_parse_constant(laze_parser *parser, laze_statement *statement, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  laze_passed passed = {0};
  laze_parsed_argument argument = {0};
  laze_type type;
  LAZE_TRY(laze_parse_attribute_text(parser, &passed, &argument, error));
  if (!laze_lexer_at(lexer, ':')) return laze_lexer_expected(lexer, "':' and the constant's type", error);
  laze_lexer before_type = *lexer;
  laze_lexer_advance(lexer);
  LAZE_TRY(laze_parse_type(parser, &type, error));
  *lexer = before_type;
  int64_t count = count_elements(argument.start, argument.end);
  LAZE_TRY(check_element_count(parser, &argument, &type, count, error));
  int64_t size = count * laze_dtype_size(type.dtype);
  void *elements = laze_arena_alloc(&parser->scratch, size);
  laze_attribute *attributes = laze_arena_alloc_array(&parser->scratch, 3, sizeof *attributes);
  laze_size *sizes = laze_arena_copy(&parser->scratch, type.sizes, type.rank * (int64_t)sizeof *sizes);
  if (!elements || !attributes || !sizes) return laze_fail_memory(error, "a constant", size);
  LAZE_TRY(read_elements(parser, &argument, &type, count, elements, error));
  attributes[0] = laze_attribute_dtype(type.dtype);
  attributes[1] = laze_attribute_sizes(sizes, type.rank);
  attributes[2] = (laze_attribute){.kind = LAZE_ARGUMENT_DATA, .present = true, .value.data = {elements, size}};
  statement->call.attributes = attributes;
  return LAZE_OK;
}
