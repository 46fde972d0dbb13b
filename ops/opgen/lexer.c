#include "ops/opgen/lexer.h"

#include "ops/opgen/memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct gen_lexer {
  const char *cursor;
  gen_place at;
  gen_report *report;
  int depth; /* of brackets */
  gen_token *tokens;
  int count;
} gen_lexer;

static gen_token *add(gen_lexer *lexer, gen_token_form form, const char *start) {
  lexer->tokens = memory_grow(lexer->tokens, lexer->count, sizeof(*lexer->tokens));
  gen_token *token = &lexer->tokens[lexer->count++];
  *token = (gen_token){.form = form, .line = lexer->at.line};
  token->text = memory_copy(start, (size_t)(lexer->cursor - start));
  return token;
}

/* A name may have an overload: "add.Tensor". */
static void read_name(gen_lexer *lexer) {
  const char *start = lexer->cursor;
  while (isalnum((unsigned char)*lexer->cursor) || *lexer->cursor == '_' ||
         (*lexer->cursor == '.' && isalpha((unsigned char)lexer->cursor[1])))
    lexer->cursor++;
  add(lexer, TOKEN_NAME, start);
}

static bool read_number(gen_lexer *lexer) {
  const char *start = lexer->cursor;
  char *end;
  errno = 0;
  const double real = strtod(start, &end);
  const bool is_integer = strcspn(start, ".eExX") >= (size_t)(end - start);
  const int64_t integer = is_integer ? strtoll(start, &end, 10) : 0;
  lexer->cursor = end;
  if (errno != 0 || isalnum((unsigned char)*end) || *end == '_') {
    report_error(lexer->report, lexer->at, "expression: \"%.20s\" is no number; write it in decimal, at most 64 bits",
                 start);
    return false;
  }
  gen_token *token = add(lexer, is_integer ? TOKEN_INTEGER : TOKEN_REAL, start);
  token->integer = integer;
  token->real = real;
  return true;
}

static bool read_string(gen_lexer *lexer) {
  const char *start = lexer->cursor + 1;
  const char *end = strchr(start, *lexer->cursor);
  if (end == NULL || memchr(start, '\n', (size_t)(end - start)) != NULL) {
    report_error(lexer->report, lexer->at, "expression: a string has no closing quote; write it on one line");
    return false;
  }
  lexer->cursor = end;
  add(lexer, TOKEN_STRING, start);
  lexer->cursor++;
  return true;
}

static bool read_mark(gen_lexer *lexer) {
  static const char *const marks[] = {"==", "!=", "<=", ">=", "&&", "||", "(", ")", "[", "]", ",",
                                      "=",  "<",  ">",  "?",  ":",  "+",  "-", "*", "/", "!"};
  for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
    const size_t size = strlen(marks[i]);
    if (strncmp(lexer->cursor, marks[i], size) != 0) continue;
    const char *start = lexer->cursor;
    lexer->cursor += size;
    add(lexer, TOKEN_MARK, start);
    if (strchr("([", *start) != NULL) lexer->depth++;
    if (strchr(")]", *start) != NULL) lexer->depth--;
    return true;
  }
  report_error(lexer->report, lexer->at, "expression: \"%c\" means nothing here; see ops/README.md, \"Expressions\"",
               *lexer->cursor);
  return false;
}

static void read_newline(gen_lexer *lexer) {
  const bool ends = lexer->depth <= 0 && lexer->count > 0 && lexer->tokens[lexer->count - 1].form != TOKEN_NEWLINE;
  lexer->cursor++;
  if (ends) add(lexer, TOKEN_NEWLINE, lexer->cursor);
  lexer->at.line++;
}

gen_token *lexer_read(const char *text, gen_place at, gen_report *report) {
  gen_lexer lexer = {.cursor = text, .at = at, .report = report};
  while (*lexer.cursor != '\0') {
    const unsigned char c = (unsigned char)*lexer.cursor;
    bool good = true;
    if (c == '\n')
      read_newline(&lexer);
    else if (isspace(c))
      lexer.cursor++;
    else if (isalpha(c) || c == '_')
      read_name(&lexer);
    else if (isdigit(c))
      good = read_number(&lexer);
    else if (c == '"' || c == '\'')
      good = read_string(&lexer);
    else
      good = read_mark(&lexer);
    if (!good) return NULL;
  }
  add(&lexer, TOKEN_END, lexer.cursor);
  return lexer.tokens;
}
