/* Labels: what a front end calls a node, and where it has it from, behind a statement.
 *
 *   %0 = mm %x, %w : f32[n,10] name("dense/MatMul") loc("model.onnx:12")
 *                              ^^^^^^^^^^^^^^^^^^^^ ^^^^^^^^^^^^^^^^^^^^^
 *
 * Neither means anything to the graph. Messages and profiles say both. */
#include "ir/text/parser.h"

#include <string.h>

bool laze_text_at_label(const char *at) {
  return strncmp(at, "name(", 5) == 0 || strncmp(at, "loc(", 4) == 0;
}

bool laze_lexer_at_label(const laze_lexer *lexer) {
  return lexer->token.kind == LAZE_TOKEN_WORD && laze_text_at_label(lexer->token.start);
}

/* `("text")` */
static laze_status parse_text(laze_lexer *lexer, laze_arena *arena, const char **out, laze_error *error) {
  laze_lexer_advance(lexer);
  LAZE_TRY(laze_lexer_expect(lexer, '(', error));
  const char *cursor = lexer->token.start;
  if (lexer->token.kind != LAZE_TOKEN_STRING) return laze_lexer_expected(lexer, "a string, such as \"dense\"", error);
  if (laze_parse_string(arena, &cursor, out, error) != LAZE_OK)
    return laze_lexer_locate(lexer, lexer->token.start, error);
  laze_lexer_resume(lexer, cursor);
  return laze_lexer_expect(lexer, ')', error);
}

laze_status laze_parse_label(laze_lexer *lexer, laze_arena *arena, laze_parsed_label *out, laze_error *error) {
  *out = (laze_parsed_label){0};
  while (laze_lexer_at_label(lexer)) {
    const char *at = lexer->token.start;
    const char **text = *at == 'n' ? &out->name : &out->place;
    if (*text) return laze_lexer_fail(lexer, at, error, "%.*s stands here twice", lexer->token.length, at);
    LAZE_TRY(parse_text(lexer, arena, text, error));
  }
  return LAZE_OK;
}

void laze_parse_label_error(laze_parser *parser, laze_error *error) {
  laze_lexer lexer = parser->lexer;
  laze_parsed_label label = {0};
  while (lexer.token.kind != LAZE_TOKEN_END && !lexer.token.first_on_line && !laze_lexer_at_label(&lexer))
    laze_lexer_advance(&lexer);
  if (lexer.token.first_on_line || laze_parse_label(&lexer, &parser->scratch, &label, NULL) != LAZE_OK) return;
  if (label.name) (void)laze_error_prefix(error, "\"%s\"", label.name);
  if (label.place) (void)laze_error_prefix(error, "%s", label.place);
}
