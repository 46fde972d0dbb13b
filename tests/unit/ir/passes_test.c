#include "tests/unit/ir/ir_test.h"

#include <stdio.h>

static const char *foldable = "laze 1\n"
                              "graph @g(%x: f32[2]) -> f32[2], f32[] {\n"
                              "  %0 = constant 2.0 : f32[]\n"
                              "  %1 = constant 3.0 : f32[]\n"
                              "  %2 = mul %0, %1\n"
                              "  %3 = add %x, %2\n"
                              "  return %3, %2\n"
                              "}\n";

static laze_status multiply(void *self, const laze_graph *graph, const laze_node *node, const void *const *operands,
                            void *const *results, laze_error *message) {
  (void)graph;
  ++*(int *)self;
  if (node->op != LAZE_OP_MUL) return laze_fail(message, LAZE_UNSUPPORTED, "only mul");
  *(float *)results[0] = *(const float *)operands[0] * *(const float *)operands[1];
  return LAZE_OK;
}

static laze_status break_down(void *self, const laze_graph *graph, const laze_node *node, const void *const *operands,
                              void *const *results, laze_error *message) {
  (void)self, (void)graph, (void)node, (void)operands, (void)results;
  return laze_fail(message, LAZE_OUT_OF_MEMORY, "the evaluator broke");
}

START_TEST(folds_with_the_given_evaluator) {
  int calls = 0;
  laze_pass_options options = {.fold = multiply, .fold_self = &calls};
  laze_graph *graph = parse(foldable);
  assert_ok(laze_passes_run(&graph, &options, &error));
  assert_ok(laze_graph_verify(graph, &error));
  ck_assert_int_eq(calls, 1);
  assert_prints(graph, "laze 1\n"
                       "graph @g(%x: f32[2]) -> f32[2], f32[] {\n"
                       "  %0 = constant 6.0 : f32[]\n"
                       "  %1 = add %x, %0 : f32[2]\n"
                       "  return %1, %0\n"
                       "}\n");
  laze_graph_destroy(graph);
}
END_TEST

/* A failing pass leaves the caller's graph as it was, although passes before it succeeded. */
START_TEST(failure_leaves_the_graph) {
  laze_pass_options options = {.fold = break_down};
  laze_graph *graph = parse("laze 1\n"
                            "graph @g() -> f32[] {\n"
                            "  %0 = constant 2.0 : f32[]\n"
                            "  %1 = to %0, dtype=f32\n"
                            "  %2 = mul %1, %1\n"
                            "  return %2\n"
                            "}\n"),
             *same = graph;
  laze_hash key = laze_graph_hash(graph, true);
  assert_error(laze_passes_run(&graph, &options, &error), "the evaluator broke");
  ck_assert_ptr_eq(graph, same);
  ck_assert(laze_hash_equal(laze_graph_hash(graph, true), key));
  assert_ok(laze_graph_verify(graph, &error));
  laze_graph_destroy(graph);
}
END_TEST

/* A graph in which nothing is to be done is not copied. */
START_TEST(unchanged_graphs_stay) {
  laze_graph *graph = parse("laze 1\ngraph @g(%x: f32[2]) -> f32[2] {\n  %0 = exp %x\n  return %0\n}\n"), *same = graph;
  assert_ok(laze_passes_run(&graph, NULL, &error));
  ck_assert_ptr_eq(graph, same);
  laze_graph_destroy(graph);
}
END_TEST

START_TEST(passes_are_chosen_by_name) {
  int calls = 0;
  laze_pass_options options = {.fold = multiply, .fold_self = &calls, .without = "fold"};
  laze_graph *graph = parse(foldable);
  assert_ok(laze_passes_run(&graph, &options, &error));
  ck_assert_int_eq(calls, 0);
  options = (laze_pass_options){.fold = multiply, .fold_self = &calls, .only = "fold"};
  assert_ok(laze_passes_run(&graph, &options, &error));
  ck_assert_int_eq(calls, 1);
  ck_assert_int_eq(graph->body->node_count, 4); /* the operands are dead, and stay */
  ck_assert_str_eq(laze_pass_name(0), "fold");
  int count = 0;
  while (laze_pass_name(count)) count++;
  ck_assert_int_ge(count, 5);
  ck_assert_ptr_null(laze_pass_name(count + 1));
  ck_assert_ptr_null(laze_pass_name(-1));
  laze_graph_destroy(graph);
}
END_TEST

static const char *region_text =
    "laze 1\n"
    "graph @g(%x: f32[4], %c: bool[]) -> f32[4] {\n"
    "  %0 = if %c, [%x] (%a: f32[4]) {\n"
    "    %1 = exp %a\n    %2 = exp %a\n    %3 = to %2, dtype=f32\n    %4 = add %1, %3\n    return %4\n"
    "  } (%a: f32[4]) {\n"
    "    %1 = exp %a\n    return %a\n"
    "  }\n"
    "  %5 = if %c, [%x] (%a: f32[4]) {\n    return %a\n  } (%a: f32[4]) {\n    return %a\n  }\n"
    "  return %0\n"
    "}\n";

/* Passes go into regions, and values of different regions are not merged. */
START_TEST(passes_work_in_regions) {
  laze_graph *graph = parse(region_text);
  assert_ok(laze_passes_run(&graph, NULL, &error));
  assert_ok(laze_graph_verify(graph, &error));
  assert_prints(graph, "laze 1\n"
                       "graph @g(%x: f32[4], %c: bool[]) -> f32[4] {\n"
                       "  %0 = if %c, [%x] (%1: f32[4]) {\n"
                       "    %2 = exp %1 : f32[4]\n    %3 = add %2, %2 : f32[4]\n    return %3\n"
                       "  } (%4: f32[4]) {\n    return %4\n  } : f32[4]\n"
                       "  return %0\n"
                       "}\n");
  laze_graph_destroy(graph);
}
END_TEST

/* The symbols, hints and facts of a graph survive its passes. */
START_TEST(symbolic_graphs_keep_their_table) {
  laze_graph *graph = parse("laze 1\n"
                            "graph @g(%x: f32[8,4], %y: f32[8,4]) -> f32[8,4] {\n"
                            "  %0 = add %x, %y\n  %1 = to %0, dtype=f32\n  %2 = _softmax %1, dim=1\n  return %2\n}\n"),
             *symbolic;
  const int64_t *bindings;
  int64_t before, after;
  assert_ok(laze_graph_symbolise(graph, &symbolic, &bindings, &error));
  laze_size_facts(symbolic->sizes, &before);
  assert_ok(laze_passes_run(&symbolic, NULL, &error));
  assert_ok(laze_graph_verify(symbolic, &error));
  laze_size_facts(symbolic->sizes, &after);
  ck_assert_int_gt(before, 0);
  ck_assert_int_ge(after, before);
  ck_assert(laze_size_has_hints(symbolic->sizes));
  ck_assert(laze_facts_hold(symbolic->sizes, bindings)); /* bindings live in an arena that moved along */
  for (int64_t i = 0; i < symbolic->node_count; i++)
    ck_assert(laze_op_get(symbolic->nodes[i].op)->op_class != LAZE_CLASS_COMPOSITE);
  laze_graph_destroy(graph);
  laze_graph_destroy(symbolic);
}
END_TEST

static char logged[65536];
static void keep_log(void *self, int32_t severity, const char *message) {
  (void)self, (void)severity;
  strncat(logged, message, sizeof logged - strlen(logged) - 1);
}

START_TEST(debug_switches_verify_and_dump) {
  laze_context *debugging;
  laze_context_options options = {.struct_size = sizeof options, .log = keep_log, .debug = "passes,verify,roundtrip"};
  laze_graph *graph;
  assert_ok(laze_context_create(&options, &debugging, &error));
  assert_ok(laze_graph_parse(debugging, region_text, (int64_t)strlen(region_text), "t.lz", &graph, &error));
  assert_ok(laze_passes_run(&graph, NULL, &error));
  ck_assert_ptr_nonnull(strstr(logged, "after simplify ("));
  ck_assert_ptr_nonnull(strstr(logged, "graph @g(%x: f32[4], %c: bool[])"));
  ck_assert_ptr_null(strstr(logged, "after expand ("));
  laze_graph_destroy(graph);
  laze_context_release(debugging);
}
END_TEST

/* x + 0.0 is not x where x is -0.0. */
START_TEST(signed_zeros_decide) {
  static const struct {
    const char *statement;
    bool kept;
  } cases[] = {
      {"add %x, %plus", true},       {"add %x, %minus", false}, {"add %minus, %x", false}, {"sub %x, %plus", false},
      {"sub %x, %minus", true},      {"mul %x, %one", false},   {"mul %x, %plus", true},   {"div %x, %one", false},
      {"add %i, %zero", false},      {"add %x, %zero", true},   {"sub %x, %zero", false},  {"mul %i, %one", true},
      {"where %yes, %x, %x", false}, {"mul %x, %ones", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024];
    bool integer = strstr(cases[i].statement, "%i") != NULL && !strstr(cases[i].statement, "%one");
    snprintf(text, sizeof text,
             "laze 1\ngraph @g(%%x: f32[2], %%i: i64[2]) {\n"
             "  %%plus = constant 0.0 : f32[]\n  %%minus = constant -0.0 : f32[]\n  %%one = constant 1.0 : f32[]\n"
             "  %%ones = constant [1.0, 1.0, 1.0, 1.0] : f32[2,2]\n"
             "  %%zero = constant 0 : i64[]\n  %%yes = constant true : bool[]\n  %%r = %s\n  return %%r\n}\n",
             cases[i].statement);
    char *brace = strstr(text, " {\n"), rest[1024];
    snprintf(rest, sizeof rest, "%s", brace);
    const char *type = strstr(cases[i].statement, "%ones") ? "f32[2,2]" : integer ? "i64[2]" : "f32[2]";
    snprintf(brace, sizeof text - (size_t)(brace - text), " -> %s%s", type, rest);
    laze_graph *graph = parse(text);
    assert_ok(laze_passes_run(&graph, NULL, &error));
    bool kept = laze_graph_node(graph, graph->body->results[0])->op != LAZE_OP_PARAMETER;
    ck_assert_msg(kept == cases[i].kept, "%s", cases[i].statement);
    laze_graph_destroy(graph);
  }
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, folds_with_the_given_evaluator);
  tcase_add_test(tests, failure_leaves_the_graph);
  tcase_add_test(tests, unchanged_graphs_stay);
  tcase_add_test(tests, passes_are_chosen_by_name);
  tcase_add_test(tests, passes_work_in_regions);
  tcase_add_test(tests, symbolic_graphs_keep_their_table);
  tcase_add_test(tests, debug_switches_verify_and_dump);
  tcase_add_test(tests, signed_zeros_decide);
}

int main(void) {
  return run_suite("passes", add_tests);
}
