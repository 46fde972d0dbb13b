/* Sizes in the text form, by random expressions: what is printed prints the same again, and equal graphs have equal
 * keys, whatever the symbols are called and in which order the table met them. A text that alternates between two forms
 * makes golden files flicker; an equal graph with another key is compiled again. */
#include "tests/unit/ir/ir_test.h"

#include "tests/support/random.h"

#include <stdio.h>
#include <string.h>

enum { SYMBOLS = 4, INPUTS = 3, ROUNDS = 3000, EXPRESSION = 400, TEXT = 4096 };

typedef const char *name_list[SYMBOLS];

static const name_list plain = {"a", "b", "c", "d"}, renamed = {"d", "q_1", "a", "min"};

/* Expressions are made with the symbols' numbers behind "$", for which names are put in. */
static void append(char *text, const char *piece) {
  strncat(text, piece, EXPRESSION - strlen(text) - 1);
}

static void random_expression(test_random *random, int depth, char *text) {
  static const char *const functions[] = {"floordiv(", "ceildiv(", "mod(", "min(", "max("};
  static const char *const operators[] = {"+", "-", "*"};
  char leaf[16];
  int64_t kind = depth == 0 ? test_random_below(random, 3) : test_random_below(random, 9);
  if (kind == 0) {
    snprintf(leaf, sizeof leaf, "%d", (int)test_random_below(random, 7) + 1);
    append(text, leaf);
  } else if (kind < 3) {
    snprintf(leaf, sizeof leaf, "$%d", (int)test_random_below(random, SYMBOLS));
    append(text, leaf);
  } else {
    bool is_function = kind > 6;
    append(text, is_function ? functions[test_random_below(random, 5)] : "(");
    random_expression(random, depth - 1, text);
    append(text, is_function ? ", " : operators[test_random_below(random, 3)]);
    random_expression(random, depth - 1, text);
    append(text, ")");
  }
}

static void shuffle(test_random *random, int *order) {
  for (int i = 0; i < SYMBOLS; i++) order[i] = i;
  for (int i = SYMBOLS - 1; i > 0; i--) {
    int other = (int)test_random_below(random, i + 1), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

typedef struct {
  char expressions[INPUTS][EXPRESSION];
  bool alone; /* each symbol is also an axis of its own, before the expressions */
} sizes_case;

static void make_case(test_random *random, sizes_case *out) {
  out->alone = test_random_one_in(random, 2);
  for (int i = 0; i < INPUTS; i++) {
    out->expressions[i][0] = 0;
    random_expression(random, 3, out->expressions[i]);
  }
}

/* A graph with those sizes. `order`: the symbols as the first line names them; NULL: without that line. */
static void write_graph(const sizes_case *from, const char *const *names, const int *order, char *text) {
  char *end = text + sprintf(text, "laze 1\n");
  for (int i = 0; order && i < SYMBOLS; i++) end += sprintf(end, "%s%s", i ? ", " : "sizes ", names[order[i]]);
  end += sprintf(end, "\ngraph @g(");
  if (from->alone) end += sprintf(end, "%%x: f32[%s,%s,%s,%s], ", names[2], names[0], names[3], names[1]);
  for (int i = 0; i < INPUTS; i++) {
    end += sprintf(end, "%s%%x%d: f32[", i ? ", " : "", i);
    for (const char *c = from->expressions[i]; *c; c++) {
      if (*c == '$')
        end += sprintf(end, "%s", names[*++c - '0']);
      else
        *end++ = *c;
    }
    end += sprintf(end, "]");
  }
  sprintf(end, ") {\n  return\n}\n");
}

/* NULL where the expressions are refused (a divisor of 0, a negative size). */
static laze_graph *parse_if_right(const char *text) {
  laze_graph *graph = NULL;
  if (laze_graph_parse(context, text, (int64_t)strlen(text), "t.lz", &graph, &error) != LAZE_OK) return NULL;
  return graph;
}

static void assert_same_key(const laze_graph *a, const laze_graph *b, uint64_t seed) {
  ck_assert_msg(laze_hash_equal(laze_graph_hash(a, true), laze_graph_hash(b, true)),
                "seed %llu: equal graphs have two keys", (unsigned long long)seed);
  ck_assert_msg(laze_hash_equal(laze_graph_hash(a, false), laze_graph_hash(b, false)),
                "seed %llu: equal graphs have two keys without sizes", (unsigned long long)seed);
}

static void assert_equal(const laze_graph *a, const laze_graph *b, uint64_t seed) {
  laze_text difference;
  laze_text_init(&difference, context);
  if (!laze_graph_equal(a, b, &difference)) {
    char *left = print(a), *right = print(b);
    ck_abort_msg("seed %llu: %s\n%s%s", (unsigned long long)seed, laze_text_get(&difference), left, right);
  }
  laze_text_deinit(&difference);
  assert_same_key(a, b, seed);
}

static void assert_fixed_point(const laze_graph *graph, uint64_t seed) {
  char *first = print(graph);
  laze_graph *again = parse(first);
  char *second = print(again);
  ck_assert_msg(strcmp(first, second) == 0, "seed %llu: prints\n%sand then\n%s", (unsigned long long)seed, first,
                second);
  assert_equal(graph, again, seed);
  laze_free(context, first);
  laze_free(context, second);
  laze_graph_destroy(again);
}

START_TEST(printed_sizes_print_the_same_again) {
  char text[TEXT];
  int64_t seed = test_setting("LAZE_TEST_SEED", 1), right = 0;
  for (int i = 0; i < ROUNDS; i++, seed++) {
    test_random random = {.state = (uint64_t)seed};
    sizes_case sizes;
    int order[SYMBOLS];
    make_case(&random, &sizes);
    shuffle(&random, order);
    write_graph(&sizes, plain, test_random_one_in(&random, 3) ? NULL : order, text);
    laze_graph *graph = parse_if_right(text);
    if (!graph) continue;
    right++;
    assert_fixed_point(graph, (uint64_t)seed);
    laze_graph_destroy(graph);
  }
  ck_assert_int_gt(right, ROUNDS / 2);
}
END_TEST

START_TEST(equal_sizes_have_equal_keys) {
  char text[TEXT], other_text[TEXT];
  int64_t seed = test_setting("LAZE_TEST_SEED", 1), right = 0, equal = 0;
  for (int i = 0; i < ROUNDS; i++, seed++) {
    test_random random = {.state = (uint64_t)seed};
    sizes_case sizes;
    int order[SYMBOLS], other_order[SYMBOLS];
    make_case(&random, &sizes);
    shuffle(&random, order);
    shuffle(&random, other_order);
    bool same_order = test_random_one_in(&random, 2);
    write_graph(&sizes, plain, order, text);
    write_graph(&sizes, renamed, same_order ? order : other_order, other_text);
    laze_graph *graph = parse_if_right(text), *other = parse_if_right(other_text);
    ck_assert_msg(!graph == !other, "seed %lld: only one order of symbols is refused: %s", (long long)seed,
                  error.message);
    if (!graph) continue;
    right++;
    /* Symbols correspond by number until one stands alone: then by where. */
    if (same_order || sizes.alone) assert_equal(graph, other, (uint64_t)seed);
    if (laze_graph_equal(graph, other, NULL)) {
      equal++;
      assert_same_key(graph, other, (uint64_t)seed);
    }
    laze_graph_destroy(graph);
    laze_graph_destroy(other);
  }
  ck_assert_int_gt(right, ROUNDS / 2);
  ck_assert_int_lt(equal, right); /* some differ, or nothing was compared */
}
END_TEST

/* What alternated: the symbols' order was that in which one print had named them, the product's place another. */
START_TEST(sums_do_not_alternate) {
  laze_graph *graph = parse("laze 1\ngraph @g(%x: f32[b*a-c]) {\n  return\n}\n");
  assert_prints(graph, "laze 1\nsizes b, a, c\ngraph @g(%x: f32[b*a-c]) {\n  return\n}\n");
  assert_fixed_point(graph, 0);
  laze_graph_destroy(graph);
}
END_TEST

/* An expression that names a later symbol first must not be read as if it introduced it. */
START_TEST(order_of_symbols_is_kept) {
  laze_graph *graph = parse("laze 1\nsizes a, b\ngraph @g(%x: f32[b+1,a,b]) {\n  return\n}\n");
  assert_prints(graph, "laze 1\nsizes a, b\ngraph @g(%x: f32[b+1,a,b]) {\n  return\n}\n");
  laze_graph_destroy(graph);
  graph = parse("laze 1\nsizes a, b\ngraph @g(%x: f32[a+1,a*b]) {\n  return\n}\n");
  assert_prints(graph, "laze 1\ngraph @g(%x: f32[a+1,a*b]) {\n  return\n}\n");
  laze_graph_destroy(graph);
}
END_TEST

/* Words of the text form: as a size, "start=none" would read as no start, and "value=inf" as a number. */
START_TEST(keywords_name_no_size) {
  static const char *const words[] = {"inf", "nan", "true", "false", "none", "token", "f32", "bool", "i64"};
  char text[256];
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    laze_graph *graph;
    snprintf(text, sizeof text, "laze 1\ngraph @g(%%x: f32[%s]) {\n  return\n}\n", words[i]);
    ck_assert_int_eq(laze_graph_parse(context, text, (int64_t)strlen(text), "t.lz", &graph, &error),
                     LAZE_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.message, words[i]));
    ck_assert_ptr_nonnull(strstr(error.message, "cannot name a size"));
  }
}
END_TEST

/* Other words of the language do, alone and in every place where a size can stand. */
START_TEST(other_words_name_sizes) {
  static const char *const words[] = {"info",  "nano", "truth", "falsely", "nonesuch", "min",     "mod", "sizes",
                                      "graph", "laze", "f33",   "return",  "infinity", "ceildiv", "dim", "none_"};
  char text[512];
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const char *w = words[i];
    snprintf(
        text, sizeof text,
        "laze 1\ngraph @g(%%x: f32[%s]) -> i64[], f32[%s,%s*2] {\n  %%0 = size_tensor value=%s, dtype=i64 : i64[]\n"
        "  %%1 = reshape %%x, shape=[%s, 1] : f32[%s,1]\n  %%2 = expand %%1, size=[%s, %s*2] : f32[%s,%s*2]\n"
        "  return %%0, %%2\n}\n",
        w, w, w, w, w, w, w, w, w, w);
    laze_graph *graph = parse(text);
    assert_fixed_point(graph, i);
    laze_graph_destroy(graph);
  }
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, printed_sizes_print_the_same_again);
  tcase_add_test(tests, equal_sizes_have_equal_keys);
  tcase_add_test(tests, sums_do_not_alternate);
  tcase_add_test(tests, order_of_symbols_is_kept);
  tcase_add_test(tests, keywords_name_no_size);
  tcase_add_test(tests, other_words_name_sizes);
}

int main(void) {
  return run_suite("size text", add_tests);
}
