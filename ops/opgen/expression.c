/* Expressions as text, as tokens, as a syntax tree:
 *
 *   "a + f(b)"  ->  a  +  f ( b )  ->  BINARY +
 *                                       NAME a
 *                                       CALL f: NAME b
 *
 * A recursive-descent parser. From loose to tight: ? :  ||  &&  comparison  + -  * /  unary - !  call, list, word. */
#include "ops/opgen/expression.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
  TOKEN_END,
  TOKEN_NAME,
  TOKEN_INTEGER,
  TOKEN_REAL,
  TOKEN_STRING,
  TOKEN_MARK,
  TOKEN_NEWLINE
} gen_token_form;

typedef struct gen_token {
  gen_token_form form;
  int line;
  const char *text; /* as written; a string without its quotes */
  int64_t integer;
  double real;
} gen_token;

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

/* All tokens of a text, TOKEN_END last. Newlines inside brackets, and those before anything was written, are left out.
 * NULL when a fault was reported. */
static gen_token *read_tokens(const char *text, gen_place at, gen_report *report) {
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

#define MAX_DEPTH 64

typedef struct gen_parser {
  const gen_token *token; /* the next */
  gen_place at;
  gen_report *report;
  int depth;
  bool failed;
} gen_parser;

static gen_expression *parse_expression(gen_parser *parser);

static void fail(gen_parser *parser, const char *expected) {
  if (parser->failed) return;
  parser->failed = true;
  parser->at.line = parser->token->line;
  const char *found = parser->token->form == TOKEN_END       ? "the end"
                      : parser->token->form == TOKEN_NEWLINE ? "the end of the line"
                                                             : memory_format("\"%s\"", parser->token->text);
  report_error(parser->report, parser->at, "expression: expected %s, found %s", expected, found);
}

static bool at_mark(const gen_parser *parser, const char *mark) {
  return parser->token->form == TOKEN_MARK && strcmp(parser->token->text, mark) == 0;
}

static bool accept(gen_parser *parser, const char *mark) {
  if (!at_mark(parser, mark)) return false;
  parser->token++;
  return true;
}

static void expect(gen_parser *parser, const char *mark) {
  if (!accept(parser, mark)) fail(parser, memory_format("\"%s\"", mark));
}

static gen_expression *make(const gen_parser *parser, gen_form form, const char *text) {
  gen_expression *out = memory_take(sizeof(*out));
  out->form = form;
  out->line = parser->token->line;
  out->text = text;
  out->argument = -1;
  return out;
}

static void add_item(gen_expression *out, gen_expression *item, const char *keyword) {
  out->items = memory_grow(out->items, out->count, sizeof(*out->items));
  out->keywords = memory_grow(out->keywords, out->count, sizeof(*out->keywords));
  out->items[out->count] = item;
  out->keywords[out->count++] = keyword;
}

static void parse_call_arguments(gen_parser *parser, gen_expression *call) {
  if (accept(parser, ")")) return;
  bool named = false;
  do {
    const char *keyword = NULL;
    if (parser->token->form == TOKEN_NAME && parser->token[1].form == TOKEN_MARK &&
        strcmp(parser->token[1].text, "=") == 0) {
      keyword = parser->token->text;
      parser->token += 2;
      named = true;
    } else if (named) {
      fail(parser, "\"name=\" (positional arguments come before named ones)");
    }
    add_item(call, parse_expression(parser), keyword);
  } while (!parser->failed && accept(parser, ","));
  expect(parser, ")");
}

static gen_expression *parse_word(gen_parser *parser) {
  const char *text = parser->token->text;
  gen_expression *out = make(parser, FORM_NAME, text);
  parser->token++;
  if (accept(parser, "(")) {
    out->form = FORM_CALL;
    parse_call_arguments(parser, out);
  } else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
    out->form = FORM_BOOL;
    out->integer = strcmp(text, "true") == 0;
  } else if (strcmp(text, "none") == 0) {
    out->form = FORM_NONE;
  } else if (dtype_find(text) >= 0) {
    out->form = FORM_DTYPE;
  }
  return out;
}

static gen_expression *parse_primary(gen_parser *parser) {
  const gen_token *token = parser->token;
  gen_expression *out = make(parser, FORM_INTEGER, token->text);
  if (token->form == TOKEN_NAME) return parse_word(parser);
  if (token->form == TOKEN_INTEGER || token->form == TOKEN_REAL) {
    out->form = token->form == TOKEN_REAL ? FORM_REAL : FORM_INTEGER;
    out->integer = token->integer;
    out->real = token->real;
    parser->token++;
  } else if (token->form == TOKEN_STRING) {
    out->form = FORM_STRING;
    parser->token++;
  } else if (accept(parser, "(")) {
    out = parse_expression(parser);
    expect(parser, ")");
  } else if (accept(parser, "[")) {
    out->form = FORM_LIST;
    if (!accept(parser, "]")) {
      do add_item(out, parse_expression(parser), NULL);
      while (!parser->failed && accept(parser, ","));
      expect(parser, "]");
    }
  } else {
    fail(parser, "a value");
  }
  return out;
}

static gen_expression *parse_unary(gen_parser *parser) {
  if (!at_mark(parser, "-") && !at_mark(parser, "!")) return parse_primary(parser);
  if (++parser->depth > MAX_DEPTH) fail(parser, "fewer signs in a row");
  gen_expression *out = make(parser, FORM_UNARY, parser->token->text);
  parser->token++;
  gen_expression *operand = parser->failed ? out : parse_unary(parser);
  parser->depth--;
  /* A negative number is one literal, so that it may stand where a literal must. */
  const bool negates_number = *out->text == '-' && (operand->form == FORM_INTEGER || operand->form == FORM_REAL);
  if (!negates_number) {
    add_item(out, operand, NULL);
    return out;
  }
  operand->integer = -operand->integer;
  operand->real = -operand->real;
  operand->text = memory_format("-%s", operand->text);
  return operand;
}

static const char *const levels[][7] = {
    {"||"}, {"&&"}, {"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/"},
};
#define LEVEL_COUNT 5

static const char *accept_level(gen_parser *parser, int level) {
  for (int i = 0; levels[level][i] != NULL; i++)
    if (accept(parser, levels[level][i])) return levels[level][i];
  return NULL;
}

static gen_expression *parse_binary(gen_parser *parser, int level) {
  if (level == LEVEL_COUNT) return parse_unary(parser);
  gen_expression *left = parse_binary(parser, level + 1);
  const char *mark;
  while (!parser->failed && (mark = accept_level(parser, level)) != NULL) {
    gen_expression *out = make(parser, FORM_BINARY, mark);
    out->line = left->line;
    add_item(out, left, NULL);
    add_item(out, parse_binary(parser, level + 1), NULL);
    left = out;
  }
  return left;
}

static gen_expression *parse_expression(gen_parser *parser) {
  if (++parser->depth > MAX_DEPTH) fail(parser, "an expression nested less deeply (name its parts)");
  gen_expression *condition = parser->failed ? make(parser, FORM_NONE, "") : parse_binary(parser, 0);
  if (!parser->failed && accept(parser, "?")) {
    gen_expression *out = make(parser, FORM_CONDITIONAL, "?");
    out->line = condition->line;
    add_item(out, condition, NULL);
    add_item(out, parse_expression(parser), NULL);
    expect(parser, ":");
    add_item(out, parser->failed ? condition : parse_expression(parser), NULL);
    condition = out;
  }
  parser->depth--;
  return condition;
}

static gen_variable *make_variable(const gen_parser *parser) {
  gen_variable *variable = memory_take(sizeof(*variable));
  variable->name = parser->token->text;
  variable->line = parser->token->line;
  return variable;
}

/* name = expression, or: name, name = call */
static void parse_statement(gen_parser *parser, gen_program *out) {
  gen_statement statement = {0};
  do {
    if (parser->token->form != TOKEN_NAME) {
      fail(parser, "\"name = expression\" or \"return expression\"");
      return;
    }
    statement.variables = memory_grow(statement.variables, statement.count, sizeof(*statement.variables));
    statement.variables[statement.count++] = make_variable(parser);
    parser->token++;
  } while (accept(parser, ","));
  expect(parser, "=");
  if (!parser->failed) statement.value = parse_expression(parser);
  out->statements = memory_grow(out->statements, out->count, sizeof(statement));
  out->statements[out->count++] = statement;
}

static bool is_word(const gen_token *token, const char *word) {
  return token->form == TOKEN_NAME && strcmp(token->text, word) == 0;
}

/* As it is written, with one way to space it. */
static const char *token_text(const gen_token *first, const gen_token *end) {
  const char *text = "";
  for (const gen_token *token = first; token < end; token++) {
    const bool joins = token == first || strchr("(),", *token->text) != NULL || strcmp(token[-1].text, "(") == 0;
    text = memory_format("%s%s%s", text, joins ? "" : " ", token->text);
  }
  return text;
}

/* require condition */
static void parse_requirement(gen_parser *parser, gen_program *out) {
  const gen_token *first = ++parser->token;
  gen_statement statement = {.value = parse_expression(parser)};
  statement.text = token_text(first, parser->token);
  out->statements = memory_grow(out->statements, out->count, sizeof(statement));
  out->statements[out->count++] = statement;
}

static bool is_assignment(const gen_token *token) {
  while (token->form == TOKEN_NAME && token[1].form == TOKEN_MARK && strcmp(token[1].text, ",") == 0) token += 2;
  return token->form == TOKEN_NAME && token[1].form == TOKEN_MARK && strcmp(token[1].text, "=") == 0;
}

static void skip_newlines(gen_parser *parser) {
  while (parser->token->form == TOKEN_NEWLINE) parser->token++;
}

gen_program *program_parse(const char *text, gen_place at, gen_report *report) {
  gen_parser parser = {.token = read_tokens(text, at, report), .at = at, .report = report};
  if (parser.token == NULL) return NULL;
  gen_program *out = memory_take(sizeof(*out));
  skip_newlines(&parser);
  for (bool assigns; !parser.failed; skip_newlines(&parser)) {
    assigns = is_assignment(parser.token);
    if (!assigns && !is_word(parser.token, "require")) break;
    if (assigns)
      parse_statement(&parser, out);
    else
      parse_requirement(&parser, out);
    if (!parser.failed && parser.token->form != TOKEN_NEWLINE) fail(&parser, "a new line");
  }
  if (!parser.failed && is_word(parser.token, "return"))
    parser.token++;
  else if (out->count > 0)
    fail(&parser, "\"return expression\" as the last line");
  if (parser.failed) return NULL;
  do {
    out->results = memory_grow(out->results, out->result_count, sizeof(*out->results));
    out->results[out->result_count++] = parse_expression(&parser);
  } while (!parser.failed && accept(&parser, ","));
  skip_newlines(&parser);
  if (parser.token->form != TOKEN_END) fail(&parser, "nothing after what is returned");
  return parser.failed ? NULL : out;
}

gen_expression *expression_parse(const char *text, gen_place at, gen_report *report) {
  gen_parser parser = {.token = read_tokens(text, at, report), .at = at, .report = report};
  if (parser.token == NULL) return NULL;
  skip_newlines(&parser);
  gen_expression *out = parse_expression(&parser);
  skip_newlines(&parser);
  if (parser.token->form != TOKEN_END) fail(&parser, "the end of the expression");
  return parser.failed ? NULL : out;
}
