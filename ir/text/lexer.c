/* Cuts the source into tokens, one at a time, and makes the messages that say what stood where:
 * "file:line:column: expected ':', found 'f32'". */
#include "ir/text/lexer.h"

#include <string.h>

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_word(char c) {
  return is_word_start(c) || is_digit(c) || c == '.';
}

static const char *skip_word(const char *at) {
  while (is_word(*at)) at++;
  return at;
}

/* Returns whether it met the end of a line. */
static bool skip_space(laze_lexer *lexer) {
  bool newline = false;
  for (;; lexer->cursor++) {
    const char *at = lexer->cursor;
    if (at[0] == '/' && at[1] == '/') {
      lexer->cursor += strcspn(at, "\n");
      at = lexer->cursor;
    }
    if (*at == '\n') {
      lexer->line++;
      lexer->line_start = at + 1;
      newline = true;
    } else if (*at != ' ' && *at != '\t' && *at != '\r') {
      return newline;
    }
  }
}

/* Digits, letters of exponents, points, and signs behind an exponent. */
static const char *skip_number(const char *at) {
  for (at++; is_word(*at) || ((*at == '-' || *at == '+') && (at[-1] == 'e' || at[-1] == 'E')); at++) continue;
  return at;
}

static bool is_named_number(const char *start, int64_t length) {
  return length == 3 && (memcmp(start, "inf", 3) == 0 || memcmp(start, "nan", 3) == 0);
}

/* Ends a word; "nan" takes its payload along. */
static const char *end_word(const char *start, laze_token_kind *kind) {
  const char *at = skip_word(start);
  *kind = is_named_number(start, at - start) ? LAZE_TOKEN_NUMBER : LAZE_TOKEN_WORD;
  if (*kind == LAZE_TOKEN_NUMBER && *start == 'n' && *at == '(') {
    const char *close = skip_word(at + 1);
    if (*close == ')') return close + 1;
  }
  return at;
}

static const char *end_string(const char *start, laze_token_kind *kind) {
  const char *at = start + 1;
  for (; *at && *at != '"' && *at != '\n'; at++)
    if (*at == '\\' && at[1] && at[1] != '\n') at++;
  *kind = *at == '"' ? LAZE_TOKEN_STRING : LAZE_TOKEN_INVALID;
  return *at == '"' ? at + 1 : at;
}

void laze_lexer_advance(laze_lexer *lexer) {
  bool first_on_line = skip_space(lexer);
  const char *start = lexer->cursor, *at = start + 1;
  laze_token_kind kind = LAZE_TOKEN_PUNCTUATION;
  if (start >= lexer->end) {
    kind = LAZE_TOKEN_END;
    at = start;
  } else if (*start == '%' || *start == '@') {
    kind = *start == '%' ? LAZE_TOKEN_VALUE : LAZE_TOKEN_GRAPH_NAME;
    start++;
    at = skip_word(start);
    if (at == start) kind = LAZE_TOKEN_INVALID;
  } else if (is_word_start(*start)) {
    at = end_word(start, &kind);
  } else if (is_digit(*start) || (*start == '-' && is_digit(start[1]))) {
    kind = LAZE_TOKEN_NUMBER;
    at = skip_number(start);
  } else if (strncmp(start, "-inf", 4) == 0 && !is_word(start[4])) {
    kind = LAZE_TOKEN_NUMBER;
    at = start + 4;
  } else if (*start == '"') {
    at = end_string(start, &kind);
  } else if (start[0] == '-' && start[1] == '>') {
    kind = LAZE_TOKEN_ARROW;
    at = start + 2;
  } else if (!strchr("()[]{},:=#*+-", *start) || !*start) {
    kind = LAZE_TOKEN_INVALID;
  }
  int64_t length = at - start;
  lexer->token = (laze_token){kind, first_on_line, start, length > INT32_MAX ? INT32_MAX : (int32_t)length};
  lexer->cursor = at;
}

void laze_lexer_init(laze_lexer *lexer, const char *file, const char *text, int64_t size) {
  *lexer = (laze_lexer){.file = file, .text = text, .cursor = text, .end = text + size, .line_start = text, .line = 1};
  laze_lexer_advance(lexer);
}

void laze_lexer_resume(laze_lexer *lexer, const char *cursor) {
  for (const char *at = lexer->token.start; at < cursor; at++)
    if (*at == '\n' && at >= lexer->line_start) {
      lexer->line++;
      lexer->line_start = at + 1;
    }
  lexer->cursor = cursor;
  laze_lexer_advance(lexer);
}

bool laze_lexer_at_word(const laze_lexer *lexer, const char *word) {
  size_t length = strlen(word);
  return lexer->token.kind == LAZE_TOKEN_WORD && (size_t)lexer->token.length == length &&
         memcmp(lexer->token.start, word, length) == 0;
}

bool laze_lexer_take(laze_lexer *lexer, char punctuation) {
  if (!laze_lexer_at(lexer, punctuation)) return false;
  laze_lexer_advance(lexer);
  return true;
}

bool laze_lexer_take_word(laze_lexer *lexer, const char *word) {
  if (!laze_lexer_at_word(lexer, word)) return false;
  laze_lexer_advance(lexer);
  return true;
}

laze_status laze_lexer_expected(const laze_lexer *lexer, const char *what, laze_error *error) {
  const laze_token *token = &lexer->token;
  bool sign = token->kind == LAZE_TOKEN_VALUE || token->kind == LAZE_TOKEN_GRAPH_NAME;
  const char *start = token->start - sign;
  int32_t length = token->length > 40 ? 40 : token->length + sign;
  if (token->kind == LAZE_TOKEN_END) return laze_lexer_fail(lexer, start, error, "expected %s, found the end", what);
  if (token->kind == LAZE_TOKEN_INVALID && token->length <= 1 && (unsigned char)*start - 0x20u >= 0x5fu)
    return laze_lexer_fail(lexer, start, error, "expected %s, found byte 0x%02x", what, (unsigned char)*start);
  return laze_lexer_fail(lexer, start, error, "expected %s, found '%.*s'", what, length, start);
}

laze_status laze_lexer_expect(laze_lexer *lexer, char punctuation, laze_error *error) {
  char what[] = {'\'', punctuation, '\'', 0};
  if (laze_lexer_take(lexer, punctuation)) return LAZE_OK;
  return laze_lexer_expected(lexer, what, error);
}

laze_status laze_lexer_locate(const laze_lexer *lexer, const char *at, laze_error *error) {
  int32_t line = 1;
  const char *line_start = lexer->text;
  if (!error) return LAZE_INVALID_ARGUMENT;
  for (const char *c = lexer->text; c < at; c++)
    if (*c == '\n') {
      line++;
      line_start = c + 1;
    }
  return laze_error_prefix(error, "%s:%d:%lld", lexer->file, line, (long long)(at - line_start) + 1);
}

laze_status laze_lexer_fail(const laze_lexer *lexer, const char *at, laze_error *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  laze_status status = laze_fail_v(error, LAZE_INVALID_ARGUMENT, format, arguments);
  va_end(arguments);
  return error ? laze_lexer_locate(lexer, at, error) : status;
}
