/* Size expressions: canonical form, text, evaluation, import, and the limits that input can reach. */
#include "shape_inference/size.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static laze_context *context;
static laze_size_table *table;
static laze_error error;

static void setup(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  ck_assert_int_eq(laze_size_table_create(context, &table, NULL), LAZE_OK);
}

static void teardown(void) {
  laze_size_table_destroy(table);
  laze_context_release(context);
}

static laze_size parse(const char *text) {
  const char *cursor = text;
  laze_size size = 0;
  ck_assert_msg(laze_size_parse(table, &cursor, &size, &error) == LAZE_OK, "%s: %s", text, error.message);
  ck_assert_msg(*cursor == 0, "%s: left over: %s", text, cursor);
  return size;
}

/* A finished program keeps what it needs; words are others then, and mean the same. */
START_TEST(compaction_keeps_what_is_needed) {
  laze_size kept = parse("(a+b)*a*4");
  char text[32];
  for (int i = 0; i < 100; i++) {
    snprintf(text, sizeof text, "floordiv(a+%d,7)*b", i + 1);
    (void)parse(text);
  }
  bool less;
  ck_assert_int_eq(laze_size_ask_less_equal(table, parse("a*a+3"), parse("b"), &less, &error), LAZE_OK);
  laze_size last = parse("a*b+min(a,b)");
  int64_t bytes = laze_size_table_bytes(table);
  laze_size_compaction compaction;
  ck_assert_int_eq(laze_size_compaction_begin(&compaction, table, &error), LAZE_OK);
  laze_size_compaction_need(&compaction, kept);
  laze_size_compaction_need(&compaction, last);
  laze_size_compaction_finish(&compaction);
  kept = laze_size_compaction_map(&compaction, kept);
  last = laze_size_compaction_map(&compaction, last);
  ck_assert_int_eq(laze_size_compaction_map(&compaction, 42), 42);
  laze_size_compaction_deinit(&compaction);
  ck_assert_int_lt(laze_size_table_bytes(table), bytes / 4);
  const int64_t small[] = {2, 9}, large[] = {3, 1};
  int64_t value;
  ck_assert_int_eq(laze_size_evaluate(table, kept, small, &value, &error), LAZE_OK);
  ck_assert_int_eq(value, (2 + 9) * 2 * 4);
  ck_assert_int_eq(laze_size_evaluate(table, last, small, &value, &error), LAZE_OK);
  ck_assert_int_eq(value, 20);
  ck_assert(laze_facts_hold(table, small) != laze_facts_hold(table, large));
  ck_assert(kept == parse("(a+b)*a*4")); /* expressions are found again, and new ones added */
  ck_assert(last == parse("a*b+min(a,b)"));
  ck_assert_int_eq(laze_size_evaluate(table, parse("floordiv(a+8,7)*b"), small, &value, &error), LAZE_OK);
  ck_assert_int_eq(value, 9);
}
END_TEST

static void check_print(const char *source, const char *expected) {
  laze_text text;
  laze_text_init(&text, context);
  laze_size_print(&text, table, parse(source));
  ck_assert_str_eq(laze_text_get(&text), expected);
  laze_text_deinit(&text);
}

static void check_same(const char *a, const char *b) {
  ck_assert_msg(parse(a) == parse(b), "%s and %s are different words", a, b);
}

static void check_fails(const char *source, laze_status status, const char *part) {
  const char *cursor = source;
  laze_size size;
  ck_assert_msg(laze_size_parse(table, &cursor, &size, &error) == status, "%s: %s", source, error.message);
  ck_assert_msg(strstr(error.message, part) != NULL, "%s: message is: %s", source, error.message);
  ck_assert_ptr_eq(cursor, source);
}

/* Equality of polynomials is equality of words: what shape rules rely on to compare without facts. */
START_TEST(equal_polynomials_are_one_word) {
  parse("n+m+k");
  check_same("n*2+n", "3*n");
  check_same("n+m", "m+n");
  check_same("(n+1)*(n-1)", "n*n-1");
  check_same("(n+m)*(n+m)", "n*n+2*n*m+m*m");
  check_same("k*m*n", "n*k*m");
  check_same("n-n", "0");
  check_same("(n+m)*k-n*k", "m*k");
  check_same("0*n", "0");
  check_same("-(n-m)", "m-n");
  ck_assert_int_ne(parse("n"), parse("m"));
  ck_assert_int_ne(parse("n*m"), parse("n*n"));
}
END_TEST

START_TEST(divisions_are_simplified) {
  check_same("floordiv(n*4, 4)", "n");
  check_same("floordiv(n*4+6, 4)", "n+1");
  check_same("floordiv(n*m, m)", "n");
  check_same("floordiv(n*m+m, m)", "n+1");
  check_same("floordiv(n*m+n, m+1)", "n");
  check_same("floordiv(n*2, 4)", "floordiv(n, 2)");
  check_same("floordiv(floordiv(n, 2), 3)", "floordiv(n, 6)");
  check_same("floordiv(2*floordiv(n, 3), 4)", "floordiv(n, 6)");
  check_same("ceildiv(ceildiv(n, 2), 3)", "ceildiv(n, 6)");
  check_same("ceildiv(n+7, 4)", "ceildiv(n+3, 4)+1");
  check_same("floordiv(n, 1)", "n");
  check_same("mod(n, 1)", "0");
  check_same("mod(n*6, 3)", "0");
  check_same("mod(n*2, 4)", "2*mod(n, 2)");
  check_same("mod(mod(n, 6), 3)", "mod(n, 3)");
  check_same("mod(n, n)", "0");
  check_same("floordiv(mod(n, 4), 4)", "0");
  check_same("mod(mod(n, 4), 9)", "mod(n, 4)");
  check_same("floordiv(-7, 2)", "-4");
  check_same("ceildiv(-7, 2)", "-3");
  check_same("mod(-7, 2)", "1");
}
END_TEST

START_TEST(extremes_are_decided_by_ranges) {
  check_same("min(n, n+1)", "n");
  check_same("max(n, n+1)", "n+1");
  check_same("max(n, 0)", "n");
  check_same("min(mod(n, 4), 3)", "mod(n, 4)");
  check_same("min(n, m)", "min(m, n)");
  check_same("min(min(n, m), m)", "min(n, m)");
  ck_assert_int_ne(parse("min(n, 4)"), parse("n"));
}
END_TEST

/* The text form is public; these are the forms that golden files contain. */
START_TEST(text_form) {
  check_print("784", "784");
  check_print("-3", "-3");
  check_print("n", "n");
  check_print("n*2+1", "n*2+1");
  check_print("1+n*2", "n*2+1");
  check_print("n-1", "n-1");
  check_print("n-m", "n-m");
  check_print("n-m*2", "n-m*2");
  check_print("-n", "-n");
  check_print("-2*n+m", "-n*2+m");
  check_print("floordiv( n , 2 )", "floordiv(n, 2)");
  check_print("min(n, 4)*max(m, 2)", "min(n, 4)*max(m, 2)");
  check_print("2-3*4", "-10");
  check_print("-2*-3", "6");
  check_print("2*(3+4)-(1-2)", "15");
  check_print("4611686018427387904", "4611686018427387904");
  check_print("-4611686018427387904", "-4611686018427387904");
  check_print("n-4611686018427387904", "n-4611686018427387904");
}
END_TEST

/* A size ends where the type's list goes on; spaces after it are the caller's. */
START_TEST(parsing_stops_after_the_expression) {
  const char *cursor = "n + 1 , m]";
  laze_size size;
  ck_assert_int_eq(laze_size_parse(table, &cursor, &size, &error), LAZE_OK);
  ck_assert_str_eq(cursor, " , m]");
  ck_assert_int_eq(size, parse("n+1"));
  cursor = "3)";
  ck_assert_int_eq(laze_size_parse(NULL, &cursor, &size, &error), LAZE_OK);
  ck_assert_str_eq(cursor, ")");
  ck_assert_int_eq(size, 3);
  cursor = "n";
  ck_assert_int_eq(laze_size_parse(NULL, &cursor, &size, &error), LAZE_INVALID_ARGUMENT);
}
END_TEST

START_TEST(bad_text_is_refused) {
  check_fails("", LAZE_INVALID_ARGUMENT, "expected");
  check_fails("+", LAZE_INVALID_ARGUMENT, "expected");
  check_fails("n+", LAZE_INVALID_ARGUMENT, "expected");
  check_fails("n**2", LAZE_INVALID_ARGUMENT, "expected");
  check_fails("(n", LAZE_INVALID_ARGUMENT, "expected");
  check_fails("min(n)", LAZE_INVALID_ARGUMENT, "second operand");
  check_fails("min(n,", LAZE_INVALID_ARGUMENT, "expected");
  check_fails("min(n, 1, 2)", LAZE_INVALID_ARGUMENT, "expected");
  check_fails("sqrt(n)", LAZE_INVALID_ARGUMENT, "floordiv");
  check_fails("(n, m)", LAZE_INVALID_ARGUMENT, "expected");
  check_fails("()", LAZE_INVALID_ARGUMENT, "expected");
  check_fails("floordiv(n, 0)", LAZE_OUT_OF_RANGE, "divisor");
  check_fails("mod(3, 0)", LAZE_OUT_OF_RANGE, "divided by zero");
  check_fails("4611686018427387905", LAZE_OUT_OF_RANGE, "2^62");
  check_fails("99999999999999999999999", LAZE_OUT_OF_RANGE, "2^62");
  check_fails("4611686018427387904*2", LAZE_OUT_OF_RANGE, "overflows");
  check_fails("4611686018427387904+1", LAZE_OUT_OF_RANGE, "2^62");
  check_fails("n*4611686018427387904*2", LAZE_OUT_OF_RANGE, "2^62");
}
END_TEST

static void check_nested(const char *part, int times, const char *middle, laze_status status) {
  laze_text text;
  laze_text_init(&text, context);
  for (int i = 0; i < times; i++) laze_text_append(&text, part);
  laze_text_append(&text, middle);
  const char *cursor = laze_text_get(&text);
  laze_size size;
  ck_assert_int_eq(laze_size_parse(table, &cursor, &size, &error), status);
  laze_text_deinit(&text);
}

/* Nesting is bounded so that a hostile file cannot exhaust the parser's fixed stack. */
START_TEST(nesting_is_bounded) {
  check_nested("(", 100000, "n", LAZE_OUT_OF_RANGE);
  check_nested("-", 100000, "n", LAZE_OUT_OF_RANGE);
  check_nested("min(n, ", 100000, "n", LAZE_OUT_OF_RANGE);
  check_nested("min(n, m-", 100, "1", LAZE_INVALID_ARGUMENT);
  check_nested("min(n, ", 199, "m-k", LAZE_INVALID_ARGUMENT); /* every slot of both stacks in use */
  check_nested("-", 200, "n", LAZE_OK);
}
END_TEST

START_TEST(names_are_checked) {
  laze_size size;
  char longest[300];
  memset(longest, 'x', sizeof longest);
  longest[255] = 0;
  ck_assert_int_eq(laze_size_symbol(table, longest, &size, &error), LAZE_OK);
  longest[255] = 'x';
  longest[256] = 0;
  ck_assert_int_eq(laze_size_symbol(table, longest, &size, &error), LAZE_INVALID_ARGUMENT);
  const char *bad[] = {"", "2d", "a b", "n-1", "n,m"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    ck_assert_int_eq(laze_size_symbol(table, bad[i], &size, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_size_symbol(table, NULL, &size, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_size_symbol_count(table), 1);
}
END_TEST

static bool is_letter(int c) {
  return strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", c) != NULL;
}

/* Of all bytes exactly letters, digits and "_" make a name, alike in calls and in text, and no digit begins one. */
START_TEST(every_byte_is_in_names_or_not) {
  for (int c = 1; c < 256; c++) {
    const char inside[] = {'a', (char)c, 'b', 0}, first[] = {(char)c, 'b', 0};
    const bool letter = is_letter(c), digit = strchr("0123456789", c) != NULL;
    laze_size size;
    ck_assert_msg((laze_size_symbol(table, inside, &size, &error) == LAZE_OK) == (letter || digit), "byte %d", c);
    ck_assert_msg((laze_size_symbol(table, first, &size, &error) == LAZE_OK) == letter, "byte %d", c);
    const char *cursor = first;
    laze_size_table *own;
    ck_assert_int_eq(laze_size_table_create(context, &own, NULL), LAZE_OK);
    if (laze_size_parse(own, &cursor, &size, &error) == LAZE_OK && laze_size_symbol_count(own) > 0)
      ck_assert_str_eq(laze_size_symbol_name(own, 0), letter ? first : "b");
    else
      ck_assert_msg(!letter, "byte %d", c);
    laze_size_table_destroy(own);
    ck_assert_int_eq(laze_size_table_create(context, &own, NULL), LAZE_OK);
    cursor = inside;
    laze_status status = laze_size_parse(own, &cursor, &size, &error);
    ck_assert_msg((status == LAZE_OK) == (c != '('), "byte %d: %s", c, error.message); /* which calls a function */
    if (status == LAZE_OK) ck_assert_str_eq(laze_size_symbol_name(own, 0), letter || digit ? inside : "a");
    laze_size_table_destroy(own);
  }
}
END_TEST

/* "u" and a number is a dtype here and there; a graph with that many sizes that values define would not be recorded. */
START_TEST(made_names_can_be_read_back) {
  for (int i = 0; i < 70; i++) {
    laze_size size;
    ck_assert_msg(laze_size_fresh_symbol(table, "u", &size, &error) == LAZE_OK, "%s", error.message);
    ck_assert_int_eq(parse(laze_size_symbol_name(table, i)), size);
  }
}
END_TEST

START_TEST(symbols_are_numbered_in_order) {
  laze_size n, m, again;
  ck_assert_int_eq(laze_size_symbol(table, "n", &n, &error), LAZE_OK);
  ck_assert_int_eq(laze_size_symbol(table, "m", &m, &error), LAZE_OK);
  ck_assert_int_eq(laze_size_symbol(table, "n", &again, &error), LAZE_OK);
  ck_assert_int_eq(n, again);
  ck_assert_int_eq(laze_size_symbol_at(table, 1), m);
  ck_assert_str_eq(laze_size_symbol_name(table, 0), "n");
  ck_assert_int_eq(laze_size_get(table, m)->symbol, 1);
  ck_assert(laze_size_get(table, m)->low == 0 && laze_size_get(table, m)->high == LAZE_SIZE_CONSTANT_MAX);
}
END_TEST

START_TEST(evaluation) {
  int64_t value, bindings[] = {7, 3};
  laze_size size = parse("floordiv(n*m+2, 4)*min(n, m)-mod(n, m)");
  ck_assert_int_eq(laze_size_evaluate(table, size, bindings, &value, &error), LAZE_OK);
  ck_assert_int_eq(value, 5 * 3 - 1);
  ck_assert_int_eq(laze_size_evaluate(NULL, 12, NULL, &value, &error), LAZE_OK);
  ck_assert_int_eq(value, 12);
}
END_TEST

/* Bindings come from callers' tensors: what does not fit is an error and never wraps. */
START_TEST(evaluation_refuses_what_does_not_fit) {
  int64_t value, large[] = {(int64_t)1 << 40, (int64_t)1 << 40}, zero[] = {5, 0}, negative[] = {-1, 2};
  laze_size product = parse("n*m"), quotient = parse("floordiv(n, m)");
  ck_assert_int_eq(laze_size_evaluate(table, product, large, &value, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_size_evaluate(table, quotient, zero, &value, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_size_evaluate(table, product, negative, &value, &error), LAZE_OUT_OF_RANGE);
  ck_assert(strstr(error.message, "n is bound to -1") != NULL);
  int64_t limit[] = {LAZE_SIZE_CONSTANT_MAX, 0};
  ck_assert_int_eq(laze_size_evaluate(table, parse("n+m"), limit, &value, &error), LAZE_OK);
  limit[1] = 1;
  ck_assert_int_eq(laze_size_evaluate(table, parse("n+m"), limit, &value, &error), LAZE_OUT_OF_RANGE);
}
END_TEST

START_TEST(products) {
  laze_size out, sizes[] = {(int64_t)1 << 40, (int64_t)1 << 40, 0};
  ck_assert_int_eq(laze_size_product(NULL, sizes, 2, &out, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_size_product(NULL, sizes, 3, &out, &error), LAZE_OK);
  ck_assert_int_eq(out, 0); /* nothing overflows in an empty tensor */
  ck_assert_int_eq(laze_size_product(NULL, sizes, 0, &out, &error), LAZE_OK);
  ck_assert_int_eq(out, 1);
  laze_size mixed[] = {parse("n"), 4, parse("m")};
  ck_assert_int_eq(laze_size_product(table, mixed, 3, &out, &error), LAZE_OK);
  ck_assert_int_eq(out, parse("4*n*m"));
}
END_TEST

/* Without a bound, (a+b)*(c+d)*... from a file doubles at each factor. */
START_TEST(expansion_is_bounded) {
  laze_size product = 1, sum, a, b;
  laze_status status = LAZE_OK;
  for (int i = 0; i < 40 && status == LAZE_OK; i++) {
    char name[16];
    snprintf(name, sizeof name, "a%d", i);
    ck_assert_int_eq(laze_size_symbol(table, name, &a, &error), LAZE_OK);
    snprintf(name, sizeof name, "b%d", i);
    ck_assert_int_eq(laze_size_symbol(table, name, &b, &error), LAZE_OK);
    ck_assert_int_eq(laze_size_binary(table, LAZE_SIZE_ADD, a, b, &sum, &error), LAZE_OK);
    status = laze_size_binary(table, LAZE_SIZE_MUL, product, sum, &product, &error);
  }
  ck_assert_int_eq(status, LAZE_OUT_OF_RANGE);
  ck_assert(strstr(error.message, "terms") != NULL);
}
END_TEST

enum { DEEP = 50000 };

/* A chain as deep as a long graph makes it: building, evaluating, printing, parsing and importing must not recurse. */
START_TEST(deep_sums_work) {
  laze_size sum = 1, symbol, copy;
  int64_t *bindings = calloc(DEEP, sizeof *bindings), value;
  for (int i = 0; i < DEEP; i++) {
    char name[16];
    snprintf(name, sizeof name, "s%d", i);
    ck_assert_int_eq(laze_size_symbol(table, name, &symbol, &error), LAZE_OK);
    ck_assert_int_eq(laze_size_binary(table, LAZE_SIZE_ADD, sum, symbol, &sum, &error), LAZE_OK);
    bindings[i] = i;
  }
  ck_assert_int_eq(laze_size_evaluate(table, sum, bindings, &value, &error), LAZE_OK);
  ck_assert_int_eq(value, (int64_t)DEEP * (DEEP - 1) / 2 + 1);
  laze_text text;
  laze_text_init(&text, context);
  laze_size_print(&text, table, sum);
  ck_assert_int_eq(laze_text_check(&text, &error), LAZE_OK);
  ck_assert_int_eq(parse(laze_text_get(&text)), sum);
  laze_text_deinit(&text);
  laze_size_table *other;
  ck_assert_int_eq(laze_size_table_create(context, &other, &error), LAZE_OK);
  ck_assert_int_eq(laze_size_import(other, table, sum, NULL, &copy, &error), LAZE_OK);
  ck_assert_int_eq(laze_size_evaluate(other, copy, bindings, &value, &error), LAZE_OK);
  ck_assert_int_eq(value, (int64_t)DEEP * (DEEP - 1) / 2 + 1);
  laze_size_table_destroy(other);
  free(bindings);
}
END_TEST

/* Each level uses the one below twice: walks must visit shared parts once, or this takes 2^60 steps. */
START_TEST(shared_parts_are_visited_once) {
  laze_size x = parse("n"), m = parse("m"), product, sum, copy;
  for (int i = 0; i < 60; i++) {
    ck_assert_int_eq(laze_size_binary(table, LAZE_SIZE_MOD, x, m, &product, &error), LAZE_OK);
    ck_assert_int_eq(laze_size_binary(table, LAZE_SIZE_FLOOR_DIV, x, m, &sum, &error), LAZE_OK);
    ck_assert_int_eq(laze_size_binary(table, LAZE_SIZE_MAX, product, sum, &x, &error), LAZE_OK);
  }
  int64_t bindings[] = {1000, 3}, value;
  ck_assert_int_eq(laze_size_evaluate(table, x, bindings, &value, &error), LAZE_OK);
  ck_assert(value >= 0 && value < 3);
  ck_assert_int_eq(laze_size_import(table, table, x, NULL, &copy, &error), LAZE_OK);
  ck_assert_int_eq(copy, x);
  laze_text text;
  laze_text_init(&text, context);
  laze_size_print(&text, table, x); /* too long to write out: said, not attempted */
  ck_assert_int_eq(laze_text_check(&text, &error), LAZE_OUT_OF_MEMORY);
  laze_text_deinit(&text);
}
END_TEST

START_TEST(import_maps_symbols) {
  laze_size out, map[2], size = parse("n*2+m");
  laze_size_table *other;
  ck_assert_int_eq(laze_size_table_create(context, &other, &error), LAZE_OK);
  ck_assert_int_eq(laze_size_symbol(other, "batch", &map[0], &error), LAZE_OK);
  map[1] = 5;
  ck_assert_int_eq(laze_size_import(other, table, size, map, &out, &error), LAZE_OK);
  laze_text text;
  laze_text_init(&text, context);
  laze_size_print(&text, other, out);
  ck_assert_str_eq(laze_text_get(&text), "batch*2+5");
  laze_text_deinit(&text);
  laze_size_table_destroy(other);
}
END_TEST

/* Random expressions: a tree evaluated as plain numbers beside what the table built from it. */
typedef struct {
  laze_size size;
  int64_t value;
  bool valid; /* no division by zero on the way */
} sample;

static const char *const symbol_names[] = {"n", "m", "k"};
static int64_t hints[3];

static sample random_leaf(void) {
  int which = rand() % 5;
  if (which < 3) {
    sample leaf = {0, hints[which], true};
    ck_assert_int_eq(laze_size_symbol(table, symbol_names[which], &leaf.size, &error), LAZE_OK);
    return leaf;
  }
  int64_t constant = rand() % 13 - 4;
  return (sample){constant, constant, true};
}

static int64_t floor_of(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t reference(laze_size_kind kind, int64_t a, int64_t b) {
  switch (kind) {
  case LAZE_SIZE_ADD: return a + b;
  case LAZE_SIZE_MUL: return a * b;
  case LAZE_SIZE_FLOOR_DIV: return floor_of(a, b);
  case LAZE_SIZE_CEIL_DIV: return -floor_of(-a, b);
  case LAZE_SIZE_MOD: return a - b * floor_of(a, b);
  case LAZE_SIZE_MIN: return a < b ? a : b;
  default: return a > b ? a : b;
  }
}

static sample random_sample(void) {
  sample stack[8];
  int count = 0;
  for (int i = 0; i < 8; i++) stack[count++] = random_leaf();
  while (count > 1) {
    int at = rand() % (count - 1);
    sample a = stack[at], b = stack[at + 1], out = {0};
    laze_size_kind kind = (laze_size_kind)(LAZE_SIZE_ADD + rand() % 7);
    bool divides = kind == LAZE_SIZE_FLOOR_DIV || kind == LAZE_SIZE_CEIL_DIV || kind == LAZE_SIZE_MOD;
    laze_status status = laze_size_binary(table, kind, a.size, b.size, &out.size, &error);
    if (divides && b.size == 0) {
      ck_assert_int_eq(status, LAZE_OUT_OF_RANGE);
      out.size = 0;
    } else {
      ck_assert_msg(status == LAZE_OK, "%s", error.message);
      out.valid = a.valid && b.valid && !(divides && b.value == 0);
      if (out.valid) out.value = reference(kind, a.value, b.value);
    }
    stack[at] = out;
    for (int i = at + 1; i + 1 < count; i++) stack[i] = stack[i + 1];
    count--;
  }
  return stack[0];
}

static void check_sample(const sample *one, unsigned seed) {
  int64_t value;
  laze_text text;
  laze_text_init(&text, context);
  laze_size_print(&text, table, one->size);
  ck_assert_msg(parse(laze_text_get(&text)) == one->size, "seed %u: %s does not parse back", seed,
                laze_text_get(&text));
  if (one->valid) {
    laze_status status = laze_size_evaluate(table, one->size, hints, &value, &error);
    ck_assert_msg(status == LAZE_OK && value == one->value, "seed %u: %s with n=%lld m=%lld k=%lld: %lld, not %lld",
                  seed, laze_text_get(&text), (long long)hints[0], (long long)hints[1], (long long)hints[2],
                  (long long)value, (long long)one->value);
    if (!laze_size_is_constant(one->size)) {
      const laze_size_node *node = laze_size_get(table, one->size);
      ck_assert_msg(node->low <= value && value <= node->high, "seed %u: %s is outside its range", seed,
                    laze_text_get(&text));
    }
  }
  laze_text_deinit(&text);
}

/* Answers are those of the hints, however they were decided, and the hints satisfy what was recorded. */
static void check_facts(const sample *a, const sample *b, unsigned seed) {
  bool equal, less;
  if (!a->valid || !b->valid) return;
  ck_assert_msg(laze_size_ask_equal(table, a->size, b->size, &equal, &error) == LAZE_OK, "%s", error.message);
  ck_assert_msg(laze_size_ask_less_equal(table, a->size, b->size, &less, &error) == LAZE_OK, "%s", error.message);
  ck_assert_msg(equal == (a->value == b->value), "seed %u: %lld = %lld answered %d", seed, (long long)a->value,
                (long long)b->value, equal);
  ck_assert_msg(less == (a->value <= b->value), "seed %u: %lld <= %lld answered %d", seed, (long long)a->value,
                (long long)b->value, less);
  ck_assert_msg(laze_facts_hold(table, hints), "seed %u: recorded facts do not hold for their hints", seed);
}

START_TEST(random_expressions) {
  unsigned seed = (unsigned)time(NULL);
  const char *given = getenv("LAZE_TEST_SEED");
  if (given) seed = (unsigned)strtoul(given, NULL, 10);
  printf("random_expressions: LAZE_TEST_SEED=%u\n", seed);
  srand(seed);
  for (int round = 0; round < 60; round++) {
    for (int i = 0; i < 3; i++) {
      laze_size symbol;
      hints[i] = rand() % 40;
      ck_assert_int_eq(laze_size_symbol(table, symbol_names[i], &symbol, &error), LAZE_OK);
      ck_assert_int_eq(laze_size_set_hint(table, i, hints[i], &error), LAZE_OK);
    }
    sample previous = random_leaf();
    for (int i = 0; i < 60; i++) {
      sample one = random_sample();
      check_sample(&one, seed);
      check_facts(&previous, &one, seed);
      previous = one;
    }
    laze_size_table_destroy(table);
    ck_assert_int_eq(laze_size_table_create(context, &table, &error), LAZE_OK);
  }
}
END_TEST

/* The parser sees files: any text is read or refused, never more. */
START_TEST(random_text) {
  static const char *const pieces[] = {"n", "12",   "+",         "-",    "*", "(", ")",
                                       ",", "min(", "floordiv(", "mod(", " ", "0", "]"};
  unsigned seed = (unsigned)time(NULL);
  printf("random_text: seed %u\n", seed);
  srand(seed);
  int accepted = 0;
  for (int i = 0; i < 20000; i++) {
    char source[256] = "";
    for (int j = rand() % 12; j >= 0; j--) strcat(source, pieces[(size_t)rand() % (sizeof pieces / sizeof *pieces)]);
    const char *cursor = source;
    laze_size size;
    laze_status status = laze_size_parse(table, &cursor, &size, &error);
    ck_assert(status == LAZE_OK ? cursor > source : cursor == source);
    accepted += status == LAZE_OK;
  }
  ck_assert_int_gt(accepted, 0);
}
END_TEST

/* An allocator that refuses after `left` allocations. */
static int left;

static void *allocate(void *self, size_t size) {
  (void)self;
  return left-- > 0 ? malloc(size) : NULL;
}

static void release(void *self, void *memory) {
  (void)self;
  free(memory);
}

static laze_status use_table(laze_size_table *small) {
  const char *cursor = "min(n*m+k, 4)*(a+b)+floordiv(n, 3)+s+t+u+v+w+x+y+z";
  laze_size size;
  int64_t value;
  bool answer;
  laze_status status = laze_size_parse(small, &cursor, &size, &error);
  for (int64_t i = 0; status == LAZE_OK && i < laze_size_symbol_count(small); i++)
    status = laze_size_set_hint(small, i, i + 2, &error);
  int64_t bindings[16] = {0};
  if (status == LAZE_OK) status = laze_size_evaluate(small, size, bindings, &value, &error);
  if (status == LAZE_OK) status = laze_size_ask_equal(small, size, 40, &answer, &error);
  if (status == LAZE_OK) status = laze_size_ask_less_equal(small, size, 40, &answer, &error);
  if (status == LAZE_OK) status = laze_size_import(small, small, size, NULL, &size, &error);
  return status;
}

/* Memory may run out at every single allocation: an error each time, and the table can still be destroyed. */
START_TEST(memory_running_out_is_an_error) {
  laze_allocator allocator = {allocate, release, NULL};
  laze_context_options options = {.struct_size = sizeof options, .allocator = &allocator};
  int failures = 0;
  for (int limit = 0;; limit++) {
    laze_context *tight;
    laze_size_table *small;
    left = 1 << 20;
    ck_assert_int_eq(laze_context_create(&options, &tight, &error), LAZE_OK);
    left = limit;
    laze_status status = laze_size_table_create(tight, &small, &error);
    if (status == LAZE_OK) {
      status = use_table(small);
      laze_size_table_destroy(small);
    }
    laze_context_release(tight);
    if (status == LAZE_OK) break;
    ck_assert_msg(status == LAZE_OUT_OF_MEMORY, "after %d allocations: %s", limit, error.message);
    failures++;
  }
  ck_assert_int_gt(failures, 8);
}
END_TEST

/* Expressions and what they are simplified to: each takes memory on the way to an answer that may be "no". */
static const char *const simplified[][2] = {
    {"floordiv(n*m+n, m+1)", "n"},
    {"floordiv(n*m*k+n*k*3, k*n)", "m+3"},
    {"mod(n*m+n, m+1)", "0"},
    {"ceildiv(a*n+b*n, a+b)", "n"},
    {"max(n+1, n)", "n+1"},
    {"min(n*m, n*m+4)", "n*m"},
    {"floordiv(n*6+m*4, 2)", "n*3+m*2"},
    {"floordiv(n*m+n+1, m+1)", "floordiv(n*m+n+1, m+1)"},
};

/* One allocation that fails must not turn into an answer: an expression that stays long where it should be short makes
 * equal sizes unequal, without an error. */
START_TEST(no_memory_is_no_answer) {
  for (size_t i = 0; i < sizeof simplified / sizeof *simplified; i++) {
    int64_t at = 1, failures = 0;
    for (test_failing_allocator state = {.refuse_at = at};; state = (test_failing_allocator){.refuse_at = ++at}) {
      laze_context *tight;
      laze_size_table *small;
      error.message[0] = 0;
      if (test_failing_context(&state, "", "noarenas", "", &tight) != LAZE_OK) continue;
      laze_status status = laze_size_table_create(tight, &small, &error);
      if (status == LAZE_OK) {
        const char *cursor = simplified[i][0];
        laze_size size;
        status = laze_size_parse(small, &cursor, &size, &error);
        if (status == LAZE_OK) {
          int64_t calls = state.calls;
          state.refuse_at = 0;
          laze_text text;
          laze_text_init(&text, tight);
          laze_size_print(&text, small, size);
          ck_assert_str_eq(laze_text_get(&text), simplified[i][1]);
          laze_text_deinit(&text);
          state.calls = calls;
        }
        laze_size_table_destroy(small);
      }
      laze_context_release(tight);
      ck_assert_int_eq(state.live, 0);
      if (state.calls < at) break;
      failures++;
      ck_assert_msg(status == LAZE_OK || (status == LAZE_OUT_OF_MEMORY && strstr(error.message, "memory")),
                    "allocation %lld: %s", (long long)at, error.message);
    }
    ck_assert_int_gt(failures, 4);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("size");
  TCase *cases = tcase_create("size");
  tcase_add_checked_fixture(cases, setup, teardown);
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, equal_polynomials_are_one_word);
  tcase_add_test(cases, divisions_are_simplified);
  tcase_add_test(cases, extremes_are_decided_by_ranges);
  tcase_add_test(cases, text_form);
  tcase_add_test(cases, parsing_stops_after_the_expression);
  tcase_add_test(cases, bad_text_is_refused);
  tcase_add_test(cases, nesting_is_bounded);
  tcase_add_test(cases, names_are_checked);
  tcase_add_test(cases, every_byte_is_in_names_or_not);
  tcase_add_test(cases, symbols_are_numbered_in_order);
  tcase_add_test(cases, evaluation);
  tcase_add_test(cases, evaluation_refuses_what_does_not_fit);
  tcase_add_test(cases, products);
  tcase_add_test(cases, made_names_can_be_read_back);
  tcase_add_test(cases, expansion_is_bounded);
  tcase_add_test(cases, deep_sums_work);
  tcase_add_test(cases, shared_parts_are_visited_once);
  tcase_add_test(cases, import_maps_symbols);
  tcase_add_test(cases, compaction_keeps_what_is_needed);
  tcase_add_test(cases, random_expressions);
  tcase_add_test(cases, random_text);
  tcase_add_test(cases, memory_running_out_is_an_error);
  tcase_add_test(cases, no_memory_is_no_answer);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
