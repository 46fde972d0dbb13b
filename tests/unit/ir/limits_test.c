/* Every limit of graphs and types, from both sides: what is at it works, one more is refused with a message that names
 * it. */
#include "tests/unit/ir/ir_test.h"

#include <stdio.h>

/* The status and the message of reading a graph with these parameters and this one statement. */
static laze_status read_statement(const char *parameters, const char *statement) {
  char text[4096];
  laze_graph *graph = NULL;
  int length = snprintf(text, sizeof text, "laze 1\ngraph @g(%s) {\n  %%0 = %s\n  return\n}\n", parameters, statement);
  ck_assert_int_lt(length, (int)sizeof text);
  error.message[0] = 0;
  laze_status status = laze_graph_parse(context, text, length, "t.lz", &graph, &error);
  if (status == LAZE_OK) assert_ok(laze_graph_verify(graph, &error));
  laze_graph_destroy(graph);
  return status;
}

/* "prefix1,1,1suffix" with `count` ones. */
static const char *ones(const char *prefix, int count, const char *suffix) {
  static char texts[4][256];
  static int next;
  char *text = texts[next++ % 4];
  size_t at = (size_t)sprintf(text, "%s", prefix);
  for (int i = 0; i < count; i++) at += (size_t)sprintf(text + at, i ? ",1" : "1");
  sprintf(text + at, "%s", suffix);
  return text;
}

/* A type holds LAZE_MAX_RANK sizes in place: an operator that makes one more would write behind it. */
START_TEST(ranks_end_at_16) {
  const char *full = ones("%x: f32[", LAZE_MAX_RANK, "]"), *less = ones("%x: f32[", LAZE_MAX_RANK - 1, "]");
  ck_assert_int_eq(read_statement(full, "exp %x"), LAZE_OK);
  assert_error(read_statement(ones("%x: f32[", LAZE_MAX_RANK + 1, "]"), "exp %x"), "more than 16 dimensions");
  static const char *const adds_axis[] = {"unsqueeze %x, dim=-1", "unsqueeze %x, dim=0", "stack [%x, %x]",
                                          "stack [%x], dim=-1"};
  for (size_t i = 0; i < sizeof adds_axis / sizeof *adds_axis; i++) {
    ck_assert_msg(read_statement(less, adds_axis[i]) == LAZE_OK, "%s: %s", adds_axis[i], error.message);
    assert_error(read_statement(full, adds_axis[i]), "16");
  }
  static const char *const gives_list[] = {"reshape %x, shape=[", "expand %x, size=["};
  for (size_t i = 0; i < sizeof gives_list / sizeof *gives_list; i++) {
    ck_assert_msg(read_statement("%x: f32[1]", ones(gives_list[i], LAZE_MAX_RANK, "]")) == LAZE_OK, "%s",
                  error.message);
    assert_error(read_statement("%x: f32[1]", ones(gives_list[i], LAZE_MAX_RANK + 1, "]")), "16");
  }
  ck_assert_int_eq(read_statement("", ones("iota size=[", LAZE_MAX_RANK, "]")), LAZE_OK);
  assert_error(read_statement("", ones("iota size=[", LAZE_MAX_RANK + 1, "]")), "16");
}
END_TEST

/* 2^59 elements of 8 bytes are 2^62 bytes, which leaves room for sums of two. A zero anywhere makes any shape small. */
START_TEST(elements_end_at_2_to_the_59) {
  static const struct {
    const char *type;
    bool fits;
  } cases[] = {
      {"f64[576460752303423488]", true},     {"f64[576460752303423489]", false},
      {"f64[2,288230376151711744]", true},   {"f64[3,288230376151711744]", false},
      {"f64[4294967296,4294967296]", false}, {"bool[576460752303423489]", false},
      {"f64[4611686018427387904,0]", true},  {"f64[0,4611686018427387904,4611686018427387904]", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char parameter[128];
    snprintf(parameter, sizeof parameter, "%%x: %s", cases[i].type);
    ck_assert_msg((read_statement(parameter, "neg %x") == LAZE_OK) == cases[i].fits, "%s: %s", cases[i].type,
                  error.message);
  }
  /* Operators that make something larger than what they read. */
  ck_assert_int_eq(read_statement("%x: f32[1]", "expand %x, size=[576460752303423488]"), LAZE_OK);
  assert_error(read_statement("%x: f32[1]", "expand %x, size=[576460752303423489]"), "expand");
  ck_assert_int_eq(read_statement("%x: f32[288230376151711744]", "cat [%x, %x]"), LAZE_OK);
  assert_error(read_statement("%x: f32[288230376151711744], %y: f32[1]", "cat [%x, %y, %x]"), "cat");
  ck_assert_int_eq(read_statement("%x: f32[536870912,1], %y: f32[1,1073741824]", "mm %x, %y"), LAZE_OK);
  assert_error(read_statement("%x: f32[536870913,1], %y: f32[1,1073741824]", "mm %x, %y"), "mm");
}
END_TEST

/* Sizes are constants up to 2^62; what is above names an expression. */
START_TEST(sizes_end_at_2_to_the_62) {
  ck_assert_int_eq(read_statement("%x: f32[4611686018427387904,0]", "neg %x"), LAZE_OK);
  assert_error(read_statement("%x: f32[4611686018427387905,0]", "neg %x"), "2^62");
  assert_error(read_statement("%x: f32[9223372036854775808,0]", "neg %x"), "2^62");
  assert_error(read_statement("%x: f32[2305843009213693952*2+1,0]", "neg %x"), "");
}
END_TEST

/* Regions in text and in graphs nest 64 deep. */
START_TEST(regions_nest_64_deep) {
  char *text = calloc(1, 20000);
  for (int depth = LAZE_MAX_NESTING; depth <= LAZE_MAX_NESTING + 1; depth++) {
    laze_graph *graph = NULL;
    strcpy(text, "laze 1\ngraph @g(%c: bool[]) {\n");
    for (int i = 0; i < depth; i++) strcat(text, "%r = if %c, [%c] (%c: bool[]) {\n");
    for (int i = 0; i < depth; i++) strcat(text, "return %c\n} (%c: bool[]) {\nreturn %c\n}\n");
    strcat(text, "return\n}\n");
    laze_status status = laze_graph_parse(context, text, (int64_t)strlen(text), "t.lz", &graph, &error);
    ck_assert_msg((status == LAZE_OK) == (depth == LAZE_MAX_NESTING), "%d deep: %s", depth, error.message);
    if (status == LAZE_OK) {
      assert_ok(laze_graph_verify(graph, &error));
      laze_graph *copy;
      assert_ok(laze_graph_copy(graph, &copy, &error));
      ck_assert(laze_graph_equal(graph, copy, NULL));
      laze_graph_destroy(copy);
    }
    laze_graph_destroy(graph);
  }
  free(text);
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, ranks_end_at_16);
  tcase_add_test(tests, elements_end_at_2_to_the_59);
  tcase_add_test(tests, sizes_end_at_2_to_the_62);
  tcase_add_test(tests, regions_nest_64_deep);
}

int main(void) {
  return run_suite("limits", add_tests);
}
