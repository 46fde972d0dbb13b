#include "tests/unit/ir/ir_test.h"

static const char *dense = "laze 1\n"
                           "graph @dense(%x: f32[32,784], %w: f32[784,10], %b: f32[10]) -> f32[32,10], f32[32] {\n"
                           "  %0 = mm %x, %w\n"
                           "  %1 = add %0, %b\n"
                           "  %2 = slice %1, dim=1, start=2, end=4611686018427387904\n"
                           "  %3 = sum %2, dim=[1]\n"
                           "  %4 = constant [1.0, 2.0] : f32[2]\n"
                           "  return %1, %3\n"
                           "}\n";

/* Symbols come in the order of the inputs, then of the attributes; data and "to the end" stay as they are. */
START_TEST(makes_symbols_of_sizes) {
  laze_graph *graph = parse(dense), *symbolic;
  const int64_t *bindings;
  static const int64_t expected[] = {32, 784, 784, 10, 10, 2};
  int64_t own[8];
  assert_ok(laze_graph_symbolise(graph, &symbolic, &bindings, &error));
  ck_assert_int_eq(laze_size_symbol_count(symbolic->sizes), 6);
  ck_assert_int_eq(laze_graph_bindings(graph, own, 8), 6);
  for (int i = 0; i < 6; i++) {
    ck_assert_int_eq(bindings[i], expected[i]);
    ck_assert_int_eq(own[i], expected[i]);
    ck_assert_int_eq(laze_size_hint(symbolic->sizes, i), expected[i]);
  }
  assert_ok(laze_graph_verify(symbolic, &error));
  ck_assert(laze_facts_hold(symbolic->sizes, bindings));
  laze_graph_destroy(graph);
  laze_graph_destroy(symbolic);
}
END_TEST

/* What was compiled for one batch size serves another, and is refused where inference would have gone another way. */
START_TEST(facts_tell_which_sizes_fit) {
  laze_graph *graph = parse(dense), *symbolic;
  const int64_t *bindings;
  assert_ok(laze_graph_symbolise(graph, &symbolic, &bindings, &error));
  int64_t other_batch[] = {7, 784, 784, 10, 10, 2}, broken[] = {7, 784, 783, 10, 10, 2},
          short_row[] = {7, 784, 784, 1, 10, 2};
  ck_assert(laze_facts_hold(symbolic->sizes, other_batch));
  ck_assert(!laze_facts_hold(symbolic->sizes, broken));
  ck_assert(!laze_facts_hold(symbolic->sizes, short_row));
  laze_graph_destroy(graph);
  laze_graph_destroy(symbolic);
}
END_TEST

START_TEST(bindings_count_beyond_the_capacity) {
  laze_graph *graph = parse(dense);
  int64_t two[2];
  ck_assert_int_eq(laze_graph_bindings(graph, two, 2), 6);
  ck_assert_int_eq(two[1], 784);
  ck_assert_int_eq(laze_graph_bindings(graph, NULL, 0), 6);
  laze_graph_destroy(graph);
}
END_TEST

/* Inputs of regions take the symbols of the operands they stand for. */
START_TEST(regions_follow_their_operands) {
  laze_graph *graph = parse("laze 1\n"
                            "graph @g(%c: bool[], %x: f32[8]) -> f32[8] {\n"
                            "  %0 = if %c, [%x] (%a: f32[8]) {\n    %1 = exp %a\n    return %1\n"
                            "  } (%a: f32[8]) {\n    return %a\n  }\n"
                            "  return %0\n"
                            "}\n");
  laze_graph *symbolic;
  const int64_t *bindings;
  assert_ok(laze_graph_symbolise(graph, &symbolic, &bindings, &error));
  assert_prints(symbolic, "laze 1\n"
                          "sizes s0=8\n"
                          "graph @g(%c: bool[], %x: f32[s0]) -> f32[s0] {\n"
                          "  %0 = if %c, [%x] (%1: f32[s0]) {\n    %2 = exp %1 : f32[s0]\n    return %2\n"
                          "  } (%3: f32[s0]) {\n    return %3\n  } : f32[s0]\n"
                          "  return %0\n"
                          "}\n");
  laze_graph_destroy(graph);
  laze_graph_destroy(symbolic);
}
END_TEST

/* The copy outlives the graph it was made from, with all it says about where nodes came from. */
START_TEST(copy_stands_alone) {
  laze_graph *graph = parse(dense), *symbolic;
  const int64_t *bindings;
  assert_ok(laze_graph_symbolise(graph, &symbolic, &bindings, &error));
  laze_graph_destroy(graph);
  const laze_node *mm = &symbolic->nodes[symbolic->body->nodes[0]];
  ck_assert_str_eq(mm->location.file, "t.lz");
  ck_assert_int_eq(mm->location.line, 3);
  ck_assert_str_eq(symbolic->nodes[symbolic->body->parameters[1]].name, "w");
  laze_graph_destroy(symbolic);
}
END_TEST

START_TEST(refuses_symbolic_graphs) {
  laze_graph *graph = parse("laze 1\ngraph @g(%x: f32[n]) {\n  return\n}\n"), *symbolic;
  const int64_t *bindings;
  assert_error(laze_graph_symbolise(graph, &symbolic, &bindings, &error), "graph g: has symbolic sizes already");
  laze_graph_destroy(graph);
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, makes_symbols_of_sizes);
  tcase_add_test(tests, facts_tell_which_sizes_fit);
  tcase_add_test(tests, bindings_count_beyond_the_capacity);
  tcase_add_test(tests, regions_follow_their_operands);
  tcase_add_test(tests, copy_stands_alone);
  tcase_add_test(tests, refuses_symbolic_graphs);
}

int main(void) {
  return run_suite("symbolise", add_tests);
}
