/* Constants that are given as bytes, in hexadecimal or in a file: what they say of themselves, and reading them. All of
 * it is checked against the type before memory is taken. */
#include "ir/text/parser.h"

#include "base/checked.h"

#include <string.h>

static laze_status take_number(laze_parser *parser, int64_t *out, laze_error *error) {
  const char *cursor = parser->lexer.token.start;
  if (*out >= 0)
    return laze_lexer_fail(&parser->lexer, cursor, error, "constant: offset or length stands here twice; give it once");
  if (parser->lexer.token.kind != LAZE_TOKEN_NUMBER || !laze_text_read_element(&cursor, LAZE_I64, out, 0) || *out < 0)
    return laze_lexer_expected(&parser->lexer, "a number of bytes", error);
  laze_lexer_advance(&parser->lexer);
  return LAZE_OK;
}

/* `"0000803f"`: the digits stay in the text. */
static laze_status take_hex(laze_parser *parser, laze_parsed_constant *out, laze_error *error) {
  if (parser->lexer.token.kind != LAZE_TOKEN_STRING) return laze_lexer_expected(&parser->lexer, "a string", error);
  out->start = parser->lexer.token.start + 1;
  out->end = laze_text_skip_string(parser->lexer.token.start) - 1;
  laze_lexer_resume(&parser->lexer, out->end + 1);
  return LAZE_OK;
}

static laze_status take_path(laze_parser *parser, laze_parsed_constant *out, laze_error *error) {
  const char *cursor = parser->lexer.token.start;
  if (parser->lexer.token.kind != LAZE_TOKEN_STRING) return laze_lexer_expected(&parser->lexer, "a string", error);
  out->start = cursor;
  if (laze_parse_string(&parser->scratch, &cursor, &out->path, error) != LAZE_OK)
    return laze_lexer_locate(&parser->lexer, out->start, error);
  laze_lexer_resume(&parser->lexer, cursor);
  return LAZE_OK;
}

/* One of `hex=`, `file=`, `offset=` and `length=`. */
static laze_status take_named(laze_parser *parser, laze_parsed_constant *out, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  const laze_token name = lexer->token;
  bool hex = laze_lexer_at_word(lexer, "hex"), file = laze_lexer_at_word(lexer, "file");
  bool offset = laze_lexer_at_word(lexer, "offset"), length = laze_lexer_at_word(lexer, "length");
  if (!hex && !file && !offset && !length)
    return laze_lexer_expected(lexer, "elements, or hex=, file=, offset= or length=", error);
  if ((hex || file) && out->form != LAZE_CONSTANT_NUMBERS)
    return laze_lexer_fail(lexer, name.start, error, "constant: has its elements already; give them once");
  if ((offset || length) && out->form != LAZE_CONSTANT_FILE)
    return laze_lexer_fail(lexer, name.start, error, "constant: '%.*s' stands behind file=", name.length, name.start);
  laze_lexer_advance(lexer);
  LAZE_TRY(laze_lexer_expect(lexer, '=', error));
  if (hex || file) out->form = hex ? LAZE_CONSTANT_HEX : LAZE_CONSTANT_FILE;
  if (hex) return take_hex(parser, out, error);
  return file ? take_path(parser, out, error) : take_number(parser, offset ? &out->offset : &out->length, error);
}

laze_status laze_parse_constant_form(laze_parser *parser, laze_parsed_constant *out, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  laze_passed passed = {0};
  laze_parsed_argument argument = {0};
  const laze_token token = lexer->token;
  *out = (laze_parsed_constant){.form = LAZE_CONSTANT_NUMBERS, .offset = -1, .length = -1};
  if (token.kind == LAZE_TOKEN_WORD && *laze_text_skip_blanks(token.start + token.length) == '=') {
    do LAZE_TRY(take_named(parser, out, error));
    while (laze_lexer_take(lexer, ','));
    return LAZE_OK;
  }
  LAZE_TRY(laze_parse_attribute_text(parser, &passed, &argument, error));
  out->start = argument.start;
  out->end = argument.end;
  return LAZE_OK;
}

static laze_status fail_size(laze_parser *parser, const laze_parsed_constant *constant, const laze_type *type,
                             const char *what, int64_t got, int64_t wanted, laze_error *error) {
  char text[256];
  return laze_lexer_fail(&parser->lexer, constant->start, error, "constant: %s %lld, but %s takes %lld bytes", what,
                         (long long)got, laze_type_format(parser->graph->sizes, type, text, sizeof text),
                         (long long)wanted);
}

laze_status laze_parse_hex_check(laze_parser *parser, const laze_parsed_constant *constant, const laze_type *type,
                                 int64_t size, laze_error *error) {
  int64_t digits = constant->end - constant->start;
  if (digits % 2 != 0)
    return laze_lexer_fail(&parser->lexer, constant->start, error,
                           "constant: %lld hexadecimal digits are no whole number of bytes; each has two",
                           (long long)digits);
  if (digits / 2 == size) return LAZE_OK;
  return fail_size(parser, constant, type, "hex has bytes:", digits / 2, size, error);
}

laze_status laze_parse_file_open(laze_parser *parser, const laze_parsed_constant *constant, const laze_type *type,
                                 int64_t size, laze_external *out, laze_error *error) {
  bool whole = constant->offset < 0 && constant->length < 0;
  int64_t offset = constant->offset < 0 ? 0 : constant->offset, end;
  if (!parser->directory && !parser->weights.bytes)
    return laze_lexer_fail(&parser->lexer, constant->start, error,
                           "constant: this text is read without a folder in which its files are; give the elements");
  if (constant->length >= 0 && constant->length != size)
    return fail_size(parser, constant, type, "length is", constant->length, size, error);
  if (parser->weights.bytes)
    *out = parser->weights;
  else if (laze_external_open(parser->directory, constant->path, out, error) != LAZE_OK)
    return laze_lexer_locate(&parser->lexer, constant->start, error);
  if (whole && out->size != size)
    return fail_size(parser, constant, type, "without offset and length all of the file is meant; its size is",
                     out->size, size, error);
  if (!laze_add_overflows(offset, size, &end) && end <= out->size) return LAZE_OK;
  return laze_lexer_fail(&parser->lexer, constant->start, error,
                         "constant: file \"%.200s\" has %lld bytes, but %lld at offset %lld are expected",
                         constant->path, (long long)out->size, (long long)size, (long long)offset);
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static laze_status read_hex(laze_parser *parser, const laze_parsed_constant *constant, unsigned char *out,
                            laze_error *error) {
  for (const char *at = constant->start; at < constant->end; at += 2) {
    int high = digit_of(at[0]), low = digit_of(at[1]);
    const char *wrong = high < 0 ? at : at + 1;
    if (high < 0 || low < 0)
      return laze_lexer_fail(&parser->lexer, wrong, error, "constant: expected a hexadecimal digit, found '%.*s'",
                             (unsigned char)*wrong - 0x20u < 0x5fu, wrong);
    *out++ = (unsigned char)(high * 16 + low);
  }
  return LAZE_OK;
}

laze_status laze_parse_bytes(laze_parser *parser, const laze_parsed_constant *constant, const laze_type *type,
                             const laze_external *external, const laze_data *out, laze_error *error) {
  unsigned char *bytes = (unsigned char *)(uintptr_t)out->bytes;
  if (constant->form == LAZE_CONSTANT_HEX) {
    LAZE_TRY(read_hex(parser, constant, bytes, error));
  } else if (laze_external_read(external, constant->path, constant->offset < 0 ? 0 : constant->offset, out->size, bytes,
                                error) != LAZE_OK) {
    return laze_lexer_locate(&parser->lexer, constant->start, error);
  }
  for (int64_t i = 0; type->dtype == LAZE_BOOL && i < out->size; i++)
    if (bytes[i] > 1)
      return laze_lexer_fail(&parser->lexer, constant->start, error,
                             "constant: element %lld is 0x%02x; the byte of a bool is 00 or 01", (long long)i,
                             bytes[i]);
  return LAZE_OK;
}
