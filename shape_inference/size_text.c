/* The text form of size expressions:
 *
 *   sum    = product { ("+" | "-") product }
 *   product = unary { "*" unary }
 *   unary  = "-" unary | number | symbol | function "(" sum "," sum ")" | "(" sum ")"
 *
 * Printing needs no parentheses, for the canonical form has no sum inside a product.
 */
#include "shape_inference/size.h"

#include "base/checked.h"
#include "shape_inference/size_internal.h"

#include <string.h>

enum {
  DEEPEST = 200, /* operators and parentheses open at once */
  LONGEST_NAME = 255,
  LONGEST_SHOWN = 20, /* of an expression in a message, unless the graph's text says what it is */
  MOST_SHOWN = 3,
  LARGEST_PRINT = 1 << 20 /* pieces of one expression; shared parts could otherwise double at every level */
};

typedef enum {
  PIECE_TEXT,
  PIECE_SIZE,
  PIECE_MAGNITUDE, /* a term without its sign */
} piece_kind;

typedef struct {
  piece_kind kind;
  laze_size size;
  const char *text;
} piece;

typedef struct {
  laze_text *out;
  const laze_size_table *table;
  piece *items;
  int64_t count, capacity;
} printer;

static void push_piece(printer *print, piece_kind kind, laze_size size, const char *text) {
  if (print->out->failed) return;
  if (laze_grow(print->out->context, (void **)&print->items, &print->capacity, print->count + 1, sizeof(piece), NULL) !=
      LAZE_OK) {
    print->out->failed = true;
    return;
  }
  print->items[print->count++] = (piece){kind, size, text};
}

static bool is_negative(const laze_size_table *table, laze_size term) {
  if (laze_size_is_constant(term)) return term < 0;
  const laze_size_node *node = laze_size_get(table, term);
  return node->kind == LAZE_SIZE_MUL && laze_size_is_constant(node->right) && node->right < 0;
}

/* Pieces are pushed last first. */
static void print_node(printer *print, laze_size size, bool magnitude) {
  const laze_size_node *node = laze_size_get(print->table, size);
  if (node->kind == LAZE_SIZE_SYMBOL) {
    laze_text_append(print->out, node->name);
  } else if (node->kind == LAZE_SIZE_ADD) {
    push_piece(print, PIECE_MAGNITUDE, node->right, NULL);
    push_piece(print, PIECE_TEXT, 0, is_negative(print->table, node->right) ? "-" : "+");
    push_piece(print, PIECE_SIZE, node->left, NULL);
  } else if (node->kind == LAZE_SIZE_MUL) {
    bool negative = is_negative(print->table, size);
    if (negative && !magnitude) laze_text_append(print->out, "-");
    if (node->right != -1) {
      push_piece(print, negative ? PIECE_MAGNITUDE : PIECE_SIZE, node->right, NULL);
      push_piece(print, PIECE_TEXT, 0, "*");
    }
    push_piece(print, PIECE_SIZE, node->left, NULL);
  } else {
    laze_text_format(print->out, "%s(", laze_size_kind_name(node->kind));
    push_piece(print, PIECE_TEXT, 0, ")");
    push_piece(print, PIECE_SIZE, node->right, NULL);
    push_piece(print, PIECE_TEXT, 0, ", ");
    push_piece(print, PIECE_SIZE, node->left, NULL);
  }
}

void laze_size_print(laze_text *text, const laze_size_table *table, laze_size size) {
  printer print = {.out = text, .table = table};
  push_piece(&print, PIECE_SIZE, size, NULL);
  for (int64_t printed = 0; print.count > 0 && !text->failed; printed++) {
    piece item = print.items[--print.count];
    bool magnitude = item.kind == PIECE_MAGNITUDE;
    if (printed == LARGEST_PRINT)
      text->failed = true;
    else if (item.kind == PIECE_TEXT)
      laze_text_append(text, item.text);
    else if (laze_size_is_constant(item.size))
      laze_text_format(text, "%lld", (long long)(magnitude && item.size < 0 ? -item.size : item.size));
    else
      print_node(&print, item.size, magnitude);
  }
  laze_free(text->context, print.items);
}

/* The first few defined symbols of an expression. */
typedef struct {
  int64_t symbols[MOST_SHOWN];
  int count;
  bool more;
} defined_list;

static void add_defined(void *self, int64_t symbol) {
  defined_list *list = self;
  list->more = list->count == MOST_SHOWN;
  if (!list->more) list->symbols[list->count++] = symbol;
}

void laze_size_show(laze_text *text, const laze_size_table *table, laze_size size) {
  if (laze_size_is_constant(size) || !laze_size_is_defined(table, size)) {
    laze_size_print(text, table, size);
    return;
  }
  defined_list list = {.count = 0};
  laze_text whole;
  laze_text_init(&whole, text->context);
  laze_size_print(&whole, table, size);
  if (whole.size > LONGEST_SHOWN && laze_size_each_defined(table, size, add_defined, &list, NULL) == LAZE_OK) {
    for (int i = 0; i < list.count; i++)
      laze_text_format(text, "%s%s", i > 0 ? ", " : "?(", laze_size_symbol_name(table, list.symbols[i]));
    laze_text_append(text, list.more ? ", ...)" : ")");
  } else {
    laze_text_append(text, laze_text_get(&whole));
  }
  laze_text_deinit(&whole);
}

/* Operators waiting for their right operand, in parsing. */
typedef enum { OPEN_PAREN, OPEN_FUNCTION, OPEN_ADD, OPEN_SUB, OPEN_MUL, OPEN_NEGATE } open_kind;

typedef struct {
  laze_size_table *table;
  const char *start, *at;
  laze_error *error;
  struct {
    open_kind kind;
    laze_size_kind function;
    bool has_comma;
  } open[DEEPEST];
  int open_count;
  laze_size values[DEEPEST + 2]; /* one an operator, one more, and the -1 of a subtraction */
  int value_count;
} parser;

static laze_status fail_at(const parser *parse, const char *expected) {
  return laze_fail(parse->error, LAZE_INVALID_ARGUMENT, "size \"%s\": %s at \"%s\"",
                   laze_excerpt(parse->start, 60).text, expected, laze_excerpt(parse->at, 20).text);
}

static laze_status push_open(parser *parse, open_kind kind, laze_size_kind function) {
  if (parse->open_count == DEEPEST)
    return laze_fail(parse->error, LAZE_OUT_OF_RANGE,
                     "size \"%s\": nested too deeply; at most %d operators may be open at once",
                     laze_excerpt(parse->start, 60).text, DEEPEST);
  parse->open[parse->open_count].kind = kind;
  parse->open[parse->open_count].function = function;
  parse->open[parse->open_count++].has_comma = false;
  return LAZE_OK;
}

static laze_status binary(parser *parse, laze_size_kind kind) {
  laze_size *left = &parse->values[parse->value_count - 2], right = parse->values[parse->value_count - 1];
  parse->value_count--;
  if (laze_size_binary(parse->table, kind, *left, right, left, parse->error) == LAZE_OK) return LAZE_OK;
  return laze_error_prefix(parse->error, "size \"%s\"", laze_excerpt(parse->start, 60).text);
}

static laze_status negate(parser *parse) {
  parse->values[parse->value_count++] = -1;
  return binary(parse, LAZE_SIZE_MUL);
}

/* Applies the waiting operators that bind at least as strongly as `weakest`, down to the innermost parenthesis. */
static laze_status reduce(parser *parse, open_kind weakest) {
  while (parse->open_count > 0) {
    open_kind kind = parse->open[parse->open_count - 1].kind;
    open_kind strength = kind == OPEN_SUB ? OPEN_ADD : kind;
    if (strength < weakest || kind == OPEN_PAREN || kind == OPEN_FUNCTION) break;
    parse->open_count--;
    if (kind == OPEN_SUB || kind == OPEN_NEGATE) LAZE_TRY(negate(parse));
    if (kind != OPEN_NEGATE) LAZE_TRY(binary(parse, kind == OPEN_MUL ? LAZE_SIZE_MUL : LAZE_SIZE_ADD));
  }
  return LAZE_OK;
}

static laze_status parse_number(parser *parse, laze_size *out) {
  int64_t value = 0;
  for (; *parse->at >= '0' && *parse->at <= '9'; parse->at++) {
    bool overflow = laze_mul_overflows(value, 10, &value) || laze_add_overflows(value, *parse->at - '0', &value);
    if (overflow || value > LAZE_SIZE_CONSTANT_MAX)
      return laze_fail(parse->error, LAZE_OUT_OF_RANGE, "size \"%s\": the number exceeds 2^62; sizes end there",
                       laze_excerpt(parse->start, 60).text);
  }
  *out = value;
  return LAZE_OK;
}

static bool find_function(const char *name, laze_size_kind *out) {
  for (laze_size_kind kind = LAZE_SIZE_FLOOR_DIV; kind <= LAZE_SIZE_MAX; kind++)
    if (strcmp(name, laze_size_kind_name(kind)) == 0) {
      *out = kind;
      return true;
    }
  return false;
}

static bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A symbol or the start of a function; *is_value says which. */
static laze_status parse_name(parser *parse, bool *is_value) {
  char name[LONGEST_NAME + 1];
  size_t length = 0;
  while (length < LONGEST_NAME && is_name_character(parse->at[length])) length++;
  if (length == 0) return fail_at(parse, "a number, a name or \"(\" was expected");
  if (is_name_character(parse->at[length])) return fail_at(parse, "a name of at most 255 characters was expected");
  memcpy(name, parse->at, length);
  name[length] = 0;
  *is_value = parse->at[length] != '(';
  laze_size_kind function = LAZE_SIZE_SYMBOL;
  if (!*is_value) {
    if (!find_function(name, &function)) return fail_at(parse, "one of floordiv, ceildiv, mod, min, max was expected");
    parse->at += length + 1;
    return push_open(parse, OPEN_FUNCTION, function);
  }
  if (!parse->table) return fail_at(parse, "a number was expected, for only constant sizes are allowed here");
  parse->at += length;
  return laze_size_symbol(parse->table, name, &parse->values[parse->value_count++], parse->error);
}

static laze_status parse_operand(parser *parse, bool *is_value) {
  char c = *parse->at;
  *is_value = false;
  if (c == '-' || c == '(') {
    parse->at++;
    return push_open(parse, c == '-' ? OPEN_NEGATE : OPEN_PAREN, LAZE_SIZE_SYMBOL);
  }
  if (c < '0' || c > '9') return parse_name(parse, is_value);
  *is_value = true;
  return parse_number(parse, &parse->values[parse->value_count++]);
}

/* The index of the innermost open parenthesis or function, or -1. */
static int find_open(const parser *parse) {
  int at = parse->open_count - 1;
  while (at >= 0 && parse->open[at].kind != OPEN_PAREN && parse->open[at].kind != OPEN_FUNCTION) at--;
  return at;
}

static laze_status parse_close(parser *parse, int open) {
  LAZE_TRY(reduce(parse, OPEN_ADD));
  if (parse->open[open].kind == OPEN_FUNCTION && !parse->open[open].has_comma)
    return fail_at(parse, "\",\" and a second operand were expected");
  parse->at++;
  parse->open_count--;
  return parse->open[open].kind == OPEN_FUNCTION ? binary(parse, parse->open[open].function) : LAZE_OK;
}

/* What follows an operand. *needs_operand: an operator was read; *done: the expression ends here. */
static laze_status parse_operator(parser *parse, bool *needs_operand, bool *done) {
  char c = *parse->at;
  int open = find_open(parse);
  *needs_operand = c == '+' || c == '-' || c == '*';
  if (*needs_operand) {
    LAZE_TRY(reduce(parse, c == '*' ? OPEN_MUL : OPEN_ADD));
    parse->at++;
    return push_open(parse, c == '*' ? OPEN_MUL : c == '+' ? OPEN_ADD : OPEN_SUB, LAZE_SIZE_SYMBOL);
  }
  *done = open < 0;
  if (*done) return reduce(parse, OPEN_ADD);
  if (c == ')') return parse_close(parse, open);
  if (c != ',' || parse->open[open].kind != OPEN_FUNCTION || parse->open[open].has_comma)
    return fail_at(parse, "an operator or \")\" was expected");
  *needs_operand = true;
  LAZE_TRY(reduce(parse, OPEN_ADD));
  parse->open[open].has_comma = true;
  parse->at++;
  return LAZE_OK;
}

laze_status laze_size_parse(laze_size_table *table, const char **cursor, laze_size *out, laze_error *error) {
  parser parse;
  parse.table = table;
  parse.start = parse.at = *cursor;
  parse.error = error;
  parse.open_count = parse.value_count = 0;
  bool needs_operand = true, done = false;
  while (!done) {
    const char *end = parse.at;
    while (*parse.at == ' ' || *parse.at == '\t') parse.at++;
    if (needs_operand) {
      bool is_value;
      LAZE_TRY(parse_operand(&parse, &is_value));
      needs_operand = !is_value;
    } else {
      LAZE_TRY(parse_operator(&parse, &needs_operand, &done));
      if (done) parse.at = end; /* what follows belongs to the caller, with its spaces */
    }
  }
  *cursor = parse.at;
  *out = parse.values[0];
  return LAZE_OK;
}
