/* Tokens of the text form (docs/ir.md). The source is NUL-terminated and outlives the lexer. */
#ifndef LAZE_IR_TEXT_LEXER_H
#define LAZE_IR_TEXT_LEXER_H

#include "base/context.h"

typedef enum {
  LAZE_TOKEN_END,
  LAZE_TOKEN_WORD,        /* graph, add.Tensor, true */
  LAZE_TOKEN_VALUE,       /* %x; `start` is behind the sign */
  LAZE_TOKEN_GRAPH_NAME,  /* @dense; `start` is behind the sign */
  LAZE_TOKEN_NUMBER,      /* 1, -2.5e3, inf, nan(0x7fc00001) */
  LAZE_TOKEN_STRING,      /* with its quotes */
  LAZE_TOKEN_ARROW,       /* -> */
  LAZE_TOKEN_PUNCTUATION, /* one character */
  LAZE_TOKEN_INVALID,
} laze_token_kind;

typedef struct laze_token {
  laze_token_kind kind;
  bool first_on_line;
  const char *start;
  int32_t length;
} laze_token;

typedef struct laze_lexer {
  const char *file, *text, *cursor, *end;
  const char *line_start;
  int32_t line;
  laze_token token; /* the next one, not yet taken */
} laze_lexer;

/* `text[size]` is 0. Reads the first token. */
void laze_lexer_init(laze_lexer *lexer, const char *file, const char *text, int64_t size);
void laze_lexer_advance(laze_lexer *lexer);
/* Goes on reading at `cursor`, which lies behind the start of the current token. */
void laze_lexer_resume(laze_lexer *lexer, const char *cursor);

static inline bool laze_lexer_at(const laze_lexer *lexer, char punctuation) {
  return lexer->token.kind == LAZE_TOKEN_PUNCTUATION && *lexer->token.start == punctuation;
}
bool laze_lexer_at_word(const laze_lexer *lexer, const char *word);
/* Takes the punctuation or word if it comes next. */
bool laze_lexer_take(laze_lexer *lexer, char punctuation);
bool laze_lexer_take_word(laze_lexer *lexer, const char *word);
/* Takes it or fails with what was expected and what stands there. */
LAZE_MUST_USE laze_status laze_lexer_expect(laze_lexer *lexer, char punctuation, laze_error *error);
LAZE_MUST_USE laze_status laze_lexer_expected(const laze_lexer *lexer, const char *what, laze_error *error);

/* Fails with "file:line:column: " of the position `at` before the message. */
LAZE_MUST_USE laze_status laze_lexer_fail(const laze_lexer *lexer, const char *at, laze_error *error,
                                          const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Puts the position before the message that `error` holds. */
LAZE_MUST_USE laze_status laze_lexer_locate(const laze_lexer *lexer, const char *at, laze_error *error);

#endif
