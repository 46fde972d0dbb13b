#include "tests/support/failing_allocator.h"
#include "tests/unit/ir/ir_test.h"

#include <stdio.h>

static const char *base = "laze 1\n"
                          "graph @g(%x: f32[4,6], %y: f32[4,6], %c: bool[], %u: i32[4]) -> f32[4], f32[4,6] {\n"
                          "  %0 = add %x, %y\n"
                          "  %1 = sum %0, dim=[1]\n"
                          "  %2 = constant [1.0, -0.0] : f32[2]\n"
                          "  %3 = slice %x, start=1, end=3\n"
                          "  %4 = if %c, [%0] (%a: f32[4,6]) {\n"
                          "    %5 = exp %a\n"
                          "    return %5\n"
                          "  } (%a: f32[4,6]) {\n"
                          "    return %a\n"
                          "  }\n"
                          "  return %1, %4\n"
                          "}\n";

/* Replacements in `base`, each of which makes another graph. */
static const struct {
  const char *from, *to, *difference;
} mutations[] = {
    {"add %x, %y", "sub %x, %y", "node 0: operator add.Tensor against sub.Tensor"},
    {"add %x, %y", "add %y, %x", "node 0 (add.Tensor): operand 0 is another value"},
    {"add %x, %y", "add %x, %x", "node 0 (add.Tensor): operand 1 is another value"},
    {"sum %0", "sum %x", "node 1 (sum.dim_IntList): operand 0 is another value"},
    {"dim=[1]\n", "dim=[-1]\n", "attribute 'dim' differs"},
    {"[1.0, -0.0]", "[1.0, 0.0]", "node 2 (constant): attribute 'data' differs"},
    {"[1.0, -0.0] : f32[2]", "[1.0, -0.0] : f32[1,2]", "attribute 'size' differs"},
    {"[1.0, -0.0] : f32[2]", "[1.0, -0.0] : f64[2]", "attribute 'dtype' differs"},
    {"start=1, end=3", "start=0, end=3", "node 3 (slice.Tensor): attribute 'start' differs"},
    {"start=1, end=3", "start=1, end=2", "attribute 'end' differs"},
    {"start=1, end=3", "start=1", "attribute 'end' differs"},
    {"%5 = exp %a", "%5 = neg %a", "node 5: operator exp against neg"},
    {"return %5", "return %a", "result 0 is another value"},
    {"return %1, %4", "return %1, %0", "result 1 is another value"},
    {"%y: f32[4,6]", "%y: f32[1,6]", "parameter 1: type f32[4,6] against f32[1,6]"},
    {"%u: i32[4]", "%u: i64[4]", "parameter 3: type i32[4] against i64[4]"},
    {"%u: i32[4]", "%u: i32[4,1]", "parameter 3: type i32[4] against i32[4,1]"},
    {"%u: i32[4]", "%u: i32[4], %v: i32[4]", "4 parameters against 5"},
};

static laze_graph *mutate(const char *from, const char *to) {
  char text[1024];
  const char *at = strstr(base, from);
  ck_assert_ptr_nonnull(at);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from));
  return parse(text);
}

/* Whatever generated code depends on is in the key, and the difference is said in words. */
START_TEST(each_mutation_changes_the_key) {
  laze_graph *graph = parse(base), *changed = mutate(mutations[_i].from, mutations[_i].to);
  laze_text difference;
  laze_text_init(&difference, context);
  ck_assert(!laze_hash_equal(laze_graph_hash(graph, true), laze_graph_hash(changed, true)));
  ck_assert(!laze_graph_equal(graph, changed, &difference));
  ck_assert_msg(strstr(laze_text_get(&difference), mutations[_i].difference) != NULL, "'%s' lacks '%s'",
                laze_text_get(&difference), mutations[_i].difference);
  laze_text_deinit(&difference);
  laze_graph_destroy(graph);
  laze_graph_destroy(changed);
}
END_TEST

static void assert_same(const char *a_text, const char *b_text) {
  laze_graph *a = parse(a_text), *b = parse(b_text);
  laze_text difference;
  laze_text_init(&difference, context);
  ck_assert_msg(laze_graph_equal(a, b, &difference), "%s", laze_text_get(&difference));
  ck_assert(laze_hash_equal(laze_graph_hash(a, true), laze_graph_hash(b, true)));
  ck_assert(laze_hash_equal(laze_graph_hash(a, false), laze_graph_hash(b, false)));
  laze_text_deinit(&difference);
  laze_graph_destroy(a);
  laze_graph_destroy(b);
}

/* Names of graphs, inputs and sizes, locations, and the numbering of nodes are outside of the key. */
START_TEST(names_do_not_count) {
  assert_same("laze 1\ngraph @g(%x: f32[n,m], %y: f32[m,n]) -> f32[n,n] {\n  %0 = mm %x, %y\n  return %0\n}\n",
              "laze 1\n\n\ngraph @h(%a: f32[p,q], %b: f32[q,p]) -> f32[p,p] {\n  %z = mm %a, %b\n  return %z\n}\n");
}
END_TEST

/* Two symbols are not one, even where each alone corresponds. */
START_TEST(symbols_correspond_one_to_one) {
  laze_graph *a = parse("laze 1\ngraph @g(%x: f32[n,m]) {\n  return\n}\n");
  laze_graph *b = parse("laze 1\ngraph @g(%x: f32[n,n]) {\n  return\n}\n");
  laze_graph *c = parse("laze 1\ngraph @g(%x: f32[n,7]) {\n  return\n}\n");
  ck_assert(!laze_graph_equal(a, b, NULL));
  ck_assert(!laze_graph_equal(b, a, NULL));
  ck_assert(!laze_graph_equal(a, c, NULL));
  ck_assert(!laze_hash_equal(laze_graph_hash(a, true), laze_graph_hash(b, true)));
  ck_assert(!laze_hash_equal(laze_graph_hash(a, true), laze_graph_hash(c, true)));
  laze_graph_destroy(a);
  laze_graph_destroy(b);
  laze_graph_destroy(c);
}
END_TEST

static const char *sized = "laze 1\n"
                           "graph @g(%%x: f32[%d,8]) {\n"
                           "  %%0 = slice %%x, start=%d, end=%d\n"
                           "  %%1 = constant [1.0, 2.0] : f32[2]\n"
                           "  return\n"
                           "}\n";

static laze_graph *with_sizes(int rows, int start, int end) {
  char text[512];
  snprintf(text, sizeof text, sized, rows, start, end);
  return parse(text);
}

/* Graphs share the key without sizes exactly when symbolising makes the same graph of them: 0 stays a number, and so
 * does a 1 in a list. */
START_TEST(key_without_sizes) {
  laze_graph *a = with_sizes(32, 2, 9), *b = with_sizes(17, 3, 16), *one = with_sizes(1, 1, 9);
  laze_graph *zero = with_sizes(32, 0, 9);
  laze_graph *column = parse("laze 1\ngraph @g(%x: f32[6]) {\n  %0 = reshape %x, shape=[6, 1]\n  return\n}\n");
  laze_graph *matrix = parse("laze 1\ngraph @g(%x: f32[6]) {\n  %0 = reshape %x, shape=[3, 2]\n  return\n}\n");
  ck_assert(laze_hash_equal(laze_graph_hash(a, false), laze_graph_hash(b, false)));
  ck_assert(!laze_hash_equal(laze_graph_hash(a, true), laze_graph_hash(b, true)));
  ck_assert(laze_graph_equal_but_sizes(a, b, NULL));
  ck_assert(!laze_graph_equal(a, b, NULL));
  ck_assert(laze_hash_equal(laze_graph_hash(a, false), laze_graph_hash(one, false)));
  ck_assert(laze_graph_equal_but_sizes(a, one, NULL));
  ck_assert(!laze_hash_equal(laze_graph_hash(a, false), laze_graph_hash(zero, false)));
  ck_assert(!laze_graph_equal_but_sizes(a, zero, NULL));
  ck_assert(!laze_hash_equal(laze_graph_hash(column, false), laze_graph_hash(matrix, false)));
  ck_assert(!laze_graph_equal_but_sizes(column, matrix, NULL));
  laze_graph_destroy(a);
  laze_graph_destroy(b);
  laze_graph_destroy(one);
  laze_graph_destroy(zero);
  laze_graph_destroy(column);
  laze_graph_destroy(matrix);
}
END_TEST

/* Without memory a key is zero or right, and graphs are equal only if they are: a wrong key would find another graph's
 * kernels. Each allocation fails once, in graphs whose sizes are expressions. */
START_TEST(no_memory_makes_no_wrong_key) {
  static const char expressions[] =
      "laze 1\n"
      "graph @g(%x: f32[n*m+n,4], %y: f32[floordiv(m, 2)+min(n, m),n]) -> f32[n*m+n,4] {\n"
      "  %0 = exp %x\n  %1 = neg %y\n  return %0\n}\n";
  test_failing_allocator state = {0};
  laze_context *tight;
  laze_graph *a, *b;
  assert_ok(test_failing_context(&state, "", "noarenas", "", &tight));
  assert_ok(laze_graph_parse(tight, expressions, sizeof expressions - 1, "a", &a, &error));
  assert_ok(laze_graph_parse(tight, expressions, sizeof expressions - 1, "b", &b, &error));
  const laze_hash right = laze_graph_hash(a, true), none = {0, 0};
  ck_assert(laze_graph_equal(a, b, NULL));
  int64_t live = state.live, failures = 0, before;
  for (int64_t at = 1;; at++) {
    before = state.calls;
    state.refuse_at = before + at;
    laze_hash hash = laze_graph_hash(a, true);
    bool refused = state.calls >= state.refuse_at;
    ck_assert(laze_hash_equal(hash, right) || (refused && laze_hash_equal(hash, none)));
    failures += laze_hash_equal(hash, none);
    before = state.calls;
    state.refuse_at = before + at;
    laze_text difference;
    laze_text_init(&difference, context);
    bool equal = laze_graph_equal(a, b, &difference);
    refused = refused || state.calls >= state.refuse_at;
    ck_assert_msg(equal || (refused && difference.size == 0), "%s", laze_text_get(&difference));
    laze_text_deinit(&difference);
    state.refuse_at = 0;
    ck_assert_int_eq(state.live, live);
    if (!refused) break;
  }
  ck_assert_int_gt(failures, 2);
  laze_graph_destroy(a);
  laze_graph_destroy(b);
  laze_context_release(tight);
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_loop_test(tests, each_mutation_changes_the_key, 0, (int)(sizeof mutations / sizeof *mutations));
  tcase_add_test(tests, names_do_not_count);
  tcase_add_test(tests, symbols_correspond_one_to_one);
  tcase_add_test(tests, key_without_sizes);
  tcase_add_test(tests, no_memory_makes_no_wrong_key);
}

int main(void) {
  return run_suite("key", add_tests);
}
