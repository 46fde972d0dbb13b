/* `constant` says its elements in one of three ways; dtype and sizes stand in its type.
 *
 *   %0 = constant [1.0, 2.0] : f32[2]                                   numbers
 *   %1 = constant hex="0000803f00000040" : f32[2]                       bytes, each element's lowest one first
 *   %2 = constant file="weights.bin", offset=64, length=8 : f32[2]      the same bytes in a file beside the text
 */
#include "ir/text/parser.h"

#include "base/blob.h"
#include "base/checked.h"

#include <string.h>

/* From here on graphs that are made from one another share the bytes. */
enum { SHARED_FROM = 256 };

static int64_t count_elements(const char *at, const char *end) {
  int64_t count = 0;
  if (*at != '[') return 1;
  if (*laze_text_skip_blanks(at + 1) == ']') return 0;
  for (; at < end; at++) count += *at == ',';
  return count + 1;
}

static laze_status read_numbers(laze_parser *parser, const laze_parsed_constant *constant, const laze_type *type,
                                void *elements, laze_error *error) {
  const char *cursor = constant->start;
  bool list = *cursor == '[';
  if (list) cursor = laze_text_skip_blanks(cursor + 1);
  for (int64_t i = 0; i < constant->count; i++) {
    const char *at = cursor;
    if (!laze_text_read_element(&cursor, type->dtype, elements, i))
      return laze_lexer_fail(&parser->lexer, at, error, "constant: element %lld is no %s that fits", (long long)i,
                             laze_dtype_name(type->dtype));
    cursor = laze_text_skip_blanks(cursor);
    if (list && i + 1 < constant->count && *cursor != ',')
      return laze_lexer_fail(&parser->lexer, cursor, error, "constant: expected ',' between elements");
    if (list && i + 1 < constant->count) cursor = laze_text_skip_blanks(cursor + 1);
  }
  if (list && *cursor++ != ']') return laze_lexer_fail(&parser->lexer, cursor - 1, error, "constant: expected ']'");
  if (laze_text_skip_blanks(cursor) < constant->end)
    return laze_lexer_fail(&parser->lexer, cursor, error, "constant: unexpected text behind the elements");
  return LAZE_OK;
}

/* Numbers must be as many as the type has elements; what is given in bytes is compared with their number later. */
static laze_status check_count(laze_parser *parser, const laze_parsed_constant *constant, const laze_type *type,
                               laze_size *count, laze_error *error) {
  char text[256];
  bool numbers = constant->form == LAZE_CONSTANT_NUMBERS, scalar = numbers && *constant->start != '[';
  if (type->kind != LAZE_TYPE_TENSOR || (numbers && scalar != (type->rank == 0)))
    return laze_lexer_fail(&parser->lexer, constant->start, error,
                           "constant: write one number for a type without dimensions and [...] for others");
  LAZE_TRY(laze_type_elements(parser->graph->sizes, type, count, error));
  if (!laze_size_is_constant(*count) && !numbers)
    return laze_lexer_fail(&parser->lexer, constant->start, error,
                           "constant: %s has no number of elements; give its sizes as numbers",
                           laze_type_format(parser->graph->sizes, type, text, sizeof text));
  if (!numbers || *count == constant->count) return LAZE_OK;
  return laze_lexer_fail(&parser->lexer, constant->start, error, "constant: %lld elements do not make %s",
                         (long long)constant->count, laze_type_format(parser->graph->sizes, type, text, sizeof text));
}

/* Memory for the elements: in the scratch arena, or shared and held by the graph. */
static laze_status allocate(laze_parser *parser, int64_t size, laze_data *out, laze_error *error) {
  laze_blob *blob = size >= SHARED_FROM ? laze_blob_create(parser->graph->context, size) : NULL;
  const void *bytes = blob                  ? laze_blob_bytes(blob)
                      : size >= SHARED_FROM ? NULL
                                            : laze_arena_alloc(&parser->scratch, size);
  *out = (laze_data){bytes, size, blob};
  if (!bytes) return laze_fail_memory(error, "a constant", size);
  if (!blob) return LAZE_OK;
  laze_status status = laze_graph_hold(parser->graph, blob, size, error);
  laze_blob_release(blob);
  return status;
}

/* The elements as the type wants them. */
static laze_status read_elements(laze_parser *parser, const laze_parsed_constant *constant, const laze_type *type,
                                 laze_data *out, laze_error *error) {
  laze_size count;
  LAZE_TRY(check_count(parser, constant, type, &count, error));
  int64_t size = count * laze_dtype_size(type->dtype); /* types have at most 2^59 elements */
  laze_external external = {.file = -1};
  if (constant->form == LAZE_CONSTANT_HEX) LAZE_TRY(laze_parse_hex_check(parser, constant, type, size, error));
  if (constant->form == LAZE_CONSTANT_FILE)
    LAZE_TRY(laze_parse_file_open(parser, constant, type, size, &external, error));
  laze_status status = allocate(parser, size, out, error);
  void *bytes = (void *)(uintptr_t)out->bytes;
  if (status == LAZE_OK && constant->form == LAZE_CONSTANT_NUMBERS)
    status = read_numbers(parser, constant, type, bytes, error);
  else if (status == LAZE_OK)
    status = laze_parse_bytes(parser, constant, type, &external, out, error);
  laze_external_close(&external);
  return status;
}

laze_status laze_parse_constant(laze_parser *parser, laze_statement *statement, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  laze_parsed_constant constant;
  laze_type type;
  laze_data data;
  LAZE_TRY(laze_parse_constant_form(parser, &constant, error));
  if (constant.form == LAZE_CONSTANT_NUMBERS) constant.count = count_elements(constant.start, constant.end);
  if (!laze_lexer_at(lexer, ':')) return laze_lexer_expected(lexer, "':' and the constant's type", error);
  laze_lexer before_type = *lexer;
  laze_lexer_advance(lexer);
  LAZE_TRY(laze_parse_type(parser, &type, error));
  *lexer = before_type;
  LAZE_TRY(read_elements(parser, &constant, &type, &data, error));
  laze_attribute *attributes = laze_arena_alloc_array(&parser->scratch, 3, sizeof *attributes);
  laze_size *sizes = laze_arena_copy(&parser->scratch, type.sizes, type.rank * (int64_t)sizeof *sizes);
  if (!attributes || !sizes) return laze_fail_memory(error, "a constant", -1);
  attributes[0] = laze_attribute_dtype(type.dtype);
  attributes[1] = laze_attribute_sizes(sizes, type.rank);
  attributes[2] = (laze_attribute){.kind = LAZE_ARGUMENT_DATA, .present = true, .value.data = data};
  statement->call.attributes = attributes;
  return LAZE_OK;
}
