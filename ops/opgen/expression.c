/* A recursive-descent parser. From loose to tight: ? :  ||  &&  comparison  + -  * /  unary - !  call, list, word. */
#include "ops/opgen/expression.h"

#include "ops/opgen/lexer.h"
#include "ops/opgen/memory.h"

#include <string.h>

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

static bool is_assignment(const gen_token *token) {
  while (token->form == TOKEN_NAME && token[1].form == TOKEN_MARK && strcmp(token[1].text, ",") == 0) token += 2;
  return token->form == TOKEN_NAME && token[1].form == TOKEN_MARK && strcmp(token[1].text, "=") == 0;
}

static void skip_newlines(gen_parser *parser) {
  while (parser->token->form == TOKEN_NEWLINE) parser->token++;
}

gen_program *program_parse(const char *text, gen_place at, gen_report *report) {
  gen_parser parser = {.token = lexer_read(text, at, report), .at = at, .report = report};
  if (parser.token == NULL) return NULL;
  gen_program *out = memory_take(sizeof(*out));
  skip_newlines(&parser);
  while (!parser.failed && is_assignment(parser.token)) {
    parse_statement(&parser, out);
    if (parser.token->form != TOKEN_NEWLINE) fail(&parser, "a new line");
    skip_newlines(&parser);
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
  gen_parser parser = {.token = lexer_read(text, at, report), .at = at, .report = report};
  if (parser.token == NULL) return NULL;
  skip_newlines(&parser);
  gen_expression *out = parse_expression(&parser);
  skip_newlines(&parser);
  if (parser.token->form != TOKEN_END) fail(&parser, "the end of the expression");
  return parser.failed ? NULL : out;
}
