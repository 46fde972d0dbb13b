/* Sizes that values define: what the table knows of them, where they may be used, and what passes keep. */
#include "tests/unit/ir/ir_test.h"

#include "ir/builder.h"
#include "ir/defined_size.h"
#include "ir/specialise.h"

#include <stdio.h>

static void assert_refused(const char *body, const char *part) {
  char text[1024];
  laze_graph *graph = NULL;
  snprintf(text, sizeof text, "laze 1\ngraph @g(%%x: f32[n], %%c: bool[], %%k: i64[2]) {\n%s}\n", body);
  assert_error(laze_graph_parse(context, text, (int64_t)strlen(text), "t.lz", &graph, &error), part);
}

/* A size that nothing has defined yet would be read before there is a number. */
START_TEST(uses_come_behind_the_definer) {
  assert_refused("  %0 = iota size=[u]\n  %1 = size_from %k, size=u\n  return\n", "is a size of the graph already");
  assert_refused("  %0 = size_from %k, size=n\n  return\n", "is a size of the graph already");
  assert_refused("  %0 = size_from %k, size=u\n  %1 = size_from %k, size=u\n  return\n",
                 "is a size of the graph already");
  assert_refused("  %0 = size_from %k, size=u+1\n  return\n", "one size with a name of its own");
  assert_refused("  %0 = size_from %k, size=4\n  return\n", "one size with a name of its own");
  assert_refused("  %0 = size_from %k, size=u, low=3, high=2\n  return\n", "the lower one first");
  assert_refused("  %0 = size_from %k, size=u, index=2\n  return\n", "has no element 2");
  assert_refused("  %0 = size_from %x, size=u\n  return\n", "a size comes from");
  assert_refused("  %0 = if %c, [%k] (%a: i64[2]) {\n    %1 = size_from %a, size=u\n    return %1\n"
                 "  } (%b: i64[2]) {\n    %2 = iota size=[u]\n    %3 = sum %2\n    return %3\n  }\n  return\n",
                 "is defined in a region");
}
END_TEST

#define BRANCHES "  %0 = if %c, [%x]"
#define REGIONS " (%a: f32[n]) {\n    return %a\n  } (%b: f32[n]) {\n    %1 = slice %b, start=1\n    return %1\n  }\n"

/* What an `if` defines stands where the branches differ, and is known behind it; a loop has no place for another size,
 * and a scan none to stack slices of several. */
START_TEST(branches_define_sizes_where_they_differ) {
  assert_refused(BRANCHES ", sizes=[n], axes=[0]" REGIONS "  return\n", "is a size of the graph already");
  assert_refused(BRANCHES ", sizes=[2], axes=[0]" REGIONS "  return\n", "one size with a name of its own");
  assert_refused(BRANCHES ", sizes=[u], axes=[0, 1]" REGIONS "  return\n", "items of axes (one for each of sizes)");
  assert_refused(BRANCHES ", sizes=[u], axes=[1]" REGIONS "  return\n", "axes names axis 1");
  assert_refused(BRANCHES ", sizes=[u, u], axes=[0, 0]" REGIONS "  return\n", "is defined twice");
  assert_refused("  %2 = iota size=[u]\n" BRANCHES ", sizes=[u], axes=[0]" REGIONS "  return\n",
                 "is a size of the graph already");
  assert_refused(BRANCHES " (%a: f32[n]) {\n    return %a\n  } (%b: f32[n]) {\n    %1 = to %b, dtype=i64\n"
                          "    return %1\n  }\n  return\n",
                 "the result of the second region at 0 has type i64[n], expected f32[n]");
  assert_refused(BRANCHES " (%a: f32[n]) {\n    return %a\n  } (%b: f32[n]) {\n    %1 = sum %b\n    return %1\n"
                          "  }\n  return\n",
                 "has type f32[], expected f32[n]");
  assert_refused("  %0 = while [%x] (%a: f32[n]) {\n    return %c\n  } (%b: f32[n]) {\n    %2 = gt %b, 0.0\n"
                 "    %1 = masked_select %b, %2\n    return %1\n  }\n  return\n",
                 "what goes around a loop keeps its size");
  assert_refused("  %0:2 = scan [%c], [%x] (%s: bool[], %a: f32[]) {\n    %2 = to %a, dtype=i64\n"
                 "    %3 = size_from %2, size=v\n    %4 = iota size=[v]\n    return %s, %4\n  }\n  return\n",
                 "scan uses the size v, which is defined in a region");
}
END_TEST

/* A graph whose branches may agree for some sizes is right for these as well. */
START_TEST(equal_branches_of_symbols_specialise) {
  laze_graph *specialised,
      *graph = parse("laze 1\ngraph @g(%x: f32[n], %y: f32[m], %c: bool[]) {\n  %0 = if %c {\n    return %x\n  } {\n"
                     "    return %y\n  }\n  %1 = neg %0\n  return %1\n}\n");
  int64_t bindings[] = {4, 4, -1};
  assert_ok(laze_graph_specialise(graph, bindings, &specialised, &error));
  assert_ok(laze_graph_verify(specialised, &error));
  laze_graph_destroy(specialised);
  laze_graph_destroy(graph);
}
END_TEST

START_TEST(listed_sizes_are_not_used_undefined) {
  const char *text = "laze 1\nsizes u=defined\ngraph @g() {\n  %0 = iota size=[u]\n  return\n}\n";
  laze_graph *graph = NULL;
  assert_error(laze_graph_parse(context, text, (int64_t)strlen(text), "t.lz", &graph, &error), "nothing before it");
}
END_TEST

/* A program for one graph serves another that differs in numbers alone; not one whose defined sizes stand elsewhere. */
START_TEST(keys_see_where_defined_sizes_stand) {
  const char *format = "laze 1\ngraph @g(%%x: f32[%d], %%k: i64[2]) {\n  %%0 = size_from %%k, size=a\n"
                       "  %%1 = size_from %%k, size=b\n  %%2 = slice %%x, start=%s, end=%s\n  return\n}\n";
  static const struct {
    int size;
    const char *start, *end;
    bool same;
  } others[] = {{9, "a", "b", true}, {8, "b", "a", false}, {8, "a", "b*2", false}, {8, "a", "5", false}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char first[400], other[400];
    snprintf(first, sizeof first, format, 8, "a", "b");
    snprintf(other, sizeof other, format, others[i].size, others[i].start, others[i].end);
    laze_graph *a = parse(first), *b = parse(other);
    laze_hash x = laze_graph_hash(a, false), y = laze_graph_hash(b, false);
    ck_assert_int_eq(laze_graph_equal_but_sizes(a, b, NULL), others[i].same);
    ck_assert_int_eq(x.low == y.low && x.high == y.high, others[i].same);
    laze_graph_destroy(a);
    laze_graph_destroy(b);
  }
}
END_TEST

/* Numbers for the other sizes leave defined ones as they are, in a table of their own; so do copies. */
START_TEST(defined_sizes_survive_specialising) {
  laze_graph *graph = parse("laze 1\ngraph @g(%x: f32[n,4], %k: i64[]) -> f32[min(u,n),4] {\n"
                            "  %0 = size_from %k, size=u\n  %1 = slice %x, end=u\n  return %1\n}\n");
  const char *expected = "laze 1\ngraph @g(%x: f32[6,4], %k: i64[]) -> f32[min(u, 6),4] {\n"
                         "  %0 = size_from %k, size=u : i64[]\n  %1 = slice %x, end=u : f32[min(u, 6),4]\n"
                         "  return %1\n}\n";
  const int64_t bindings[] = {6, -1}, *values;
  int64_t own[4];
  laze_graph *constant, *copy, *symbolic;
  assert_ok(laze_graph_specialise(graph, bindings, &constant, &error));
  assert_prints(constant, expected);
  assert_ok(laze_graph_copy(constant, &copy, &error));
  ck_assert(laze_graph_equal(constant, copy, NULL));
  assert_prints(copy, expected);
  assert_ok(laze_graph_symbolise(copy, &symbolic, &values, &error));
  assert_ok(laze_graph_verify(symbolic, &error));
  ck_assert_int_eq(laze_graph_bindings(copy, own, 4), 3);
  for (int i = 0; i < 3; i++) ck_assert_int_eq(own[i], values[i]);
  ck_assert_int_eq(values[2], -1);
  laze_graph_destroy(graph);
  laze_graph_destroy(constant);
  laze_graph_destroy(copy);
  laze_graph_destroy(symbolic);
}
END_TEST

/* A question that needs no more than a safe answer leaves no fact behind that a run could break. */
START_TEST(only_what_matters_is_recorded) {
  laze_graph *graph = parse("laze 1\ngraph @g(%k: i64[]) {\n  %0 = size_from %k, size=u\n  return\n}\n");
  laze_size u = laze_size_find_symbol(graph->sizes, "u");
  laze_fact question = {.kind = LAZE_FACT_EQUAL, .holds = true, .a = u, .b = 12};
  int64_t count;
  bool answer;
  assert_ok(laze_size_ask_equal(graph->sizes, u, 1, &answer, &error));
  ck_assert(!answer);
  (void)laze_size_facts(graph->sizes, &count);
  ck_assert_int_eq(count, 0);
  assert_ok(laze_size_ask(graph->sizes, question, &answer, &error));
  ck_assert(answer);
  (void)laze_size_facts(graph->sizes, &count);
  ck_assert_int_eq(count, 1);
  assert_ok(laze_size_ask_equal(graph->sizes, 12, u, &answer, &error));
  ck_assert(answer); /* from here on everybody goes by it */
  laze_graph_destroy(graph);
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, uses_come_behind_the_definer);
  tcase_add_test(tests, branches_define_sizes_where_they_differ);
  tcase_add_test(tests, equal_branches_of_symbols_specialise);
  tcase_add_test(tests, listed_sizes_are_not_used_undefined);
  tcase_add_test(tests, keys_see_where_defined_sizes_stand);
  tcase_add_test(tests, defined_sizes_survive_specialising);
  tcase_add_test(tests, only_what_matters_is_recorded);
}

int main(void) {
  return run_suite("defined sizes", add_tests);
}
