/* What opgen makes of constructs that few of the library's operators use, or none: composites of features.yaml,
 * compiled with the graphs of ir/, are recorded here. Each choice is taken both ways. */
#include "ir/ir.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Parameters, a call, and the nodes it becomes. */
static const struct {
  const char *parameters, *call, *recorded;
} cases[] = {
    {"%x: f32[2]", "either %x", "  %0 = mul %x, %x : f32[2]\n"},
    {"%x: f32[4]", "either %x", "  %0 = neg %x : f32[4]\n"},
    {"%x: f32[2]", "relabelled %x, weights=[1, -2.5, inf], names=[\"a, b]\", \"\", \"\\\"\"]",
     "  %0 = labelled %x, weights=[1.0, -2.5, inf], names=[\"a, b]\", \"\", \"\\\"\"], bounds=[0.0, 1.0], tags=[] : "
     "f32[2]\n"
     "  %1 = labelled %0, weights=[], bounds=[2.0, 2.0] : f32[2]\n"},
    {"%x: f32[2]", "labelled %x, weights=[2], bounds=-0.5, scales=none, tags=[\"t\"]",
     "  %0 = labelled %x, weights=[2.0], bounds=[-0.5, -0.5], tags=[\"t\"] : f32[2]\n"},
    {"%x: f32[2], %y: f32[2]", "either %x, %y", "  %0 = neg %x : f32[2]\n"},
    {"%x: f32[2,4]", "either %x, axis=1", "  %0 = neg %x : f32[2,4]\n"},
    /* Two sides that need statements, beside each other and nested. */
    {"%x: f32[3]", "both_sides %x", "  %0 = neg %x : f32[3]\n"},
    {"%x: f32[2]", "both_sides %x", "  %0 = mul %x, %x : f32[2]\n"},
    {"%x: f32[7]", "both_sides %x", "  %0 = mul %x, %x : f32[7]\n"},
    {"%x: f32[7,1]", "both_sides %x", "  %0 = neg %x : f32[7,1]\n"},
    {"%x: f32[5,1]", "both_sides %x", "  %0 = mul %x, %x : f32[5,1]\n"},
    /* Each comparison adds a digit of its own. */
    {"%x: i64[]", "compared %x, n=2, k=2",
     "  %0 = constant -100011 : i64[]\n"
     "  %1 = add %x, %0 : i64[]\n"},
    {"%x: i64[]", "compared %x, n=3, k=4",
     "  %0 = constant -11010 : i64[]\n"
     "  %1 = add %x, %0 : i64[]\n"},
    {"%x: i64[]", "compared %x, n=4, k=9, mode=\"other\"",
     "  %0 = constant 202199 : i64[]\n"
     "  %1 = add %x, %0 : i64[]\n"},
    {"%x: i64[]", "compared %x, n=4, k=5",
     "  %0 = constant 0 : i64[]\n"
     "  %1 = add %x, %0 : i64[]\n"},
    {"%x: i64[]", "compared %x, n=4, k=1",
     "  %0 = constant 0 : i64[]\n"
     "  %1 = add %x, %0 : i64[]\n"},
    {"%x: bool[2,3]", "sizes_and_conditions %x, axis=1, mode=\"some\"",
     "  %0 = expand %x, size=[2, -1, 3] : bool[2,2,3]\n"
     "  %1 = to %0, dtype=i64 : i64[2,2,3]\n"
     "  %2 = sum %1, dim=[1] : i64[2,3]\n"},
    {"%x: bool[2,3]", "sizes_and_conditions %x, axis=1",
     "  %0 = expand %x, size=[2, 3] : bool[2,3]\n"
     "  %1 = sum %0, dim=[1], keepdim=true : i64[2,1]\n"},
    {"%x: bool[2,2]", "sizes_and_conditions %x, axis=0, mode=\"some\"",
     "  %0 = expand %x, size=[2, 2] : bool[2,2]\n"
     "  %1 = sum %0, dim=[0], keepdim=true : i64[1,2]\n"},
    {"%x: bool[3,1]", "sizes_and_conditions %x, axis=0",
     "  %0 = expand %x, size=[3, 1] : bool[3,1]\n"
     "  %1 = sum %0, dim=[0], keepdim=true : i64[1,1]\n"},
    {"%x: i32[1]", "sizes_and_conditions %x, axis=0, length=0",
     "  %0 = expand %x, size=[0] : i32[0]\n"
     "  %1 = cat [%x, %0] : i32[1]\n"
     "  %2 = expand %1, size=[1] : i32[1]\n"
     "  %3 = sum %2, dim=[0], keepdim=true : i64[1]\n"},
    {"%x: i32[3]", "sizes_and_conditions %x, axis=0, dtype=f64",
     "  %0 = expand %x, size=[3] : i32[3]\n"
     "  %1 = sum %0, dim=[0] : i64[]\n"},
    {"%x: f32[1,1]", "sizes_and_conditions %x, axis=0",
     "  %0 = expand %x, size=[1, -1, 2] : f32[1,1,2]\n"
     "  %1 = sum %0, dim=[0] : f32[1,2]\n"}, /* what has the dtype is not converted */
    {"%x: f32[2], %low: i64[], %c: bool[2]", "numbers %x, %low, %c, eps=2",
     "  %0 = constant 1.0 : f32[]\n"
     "  %1 = add %x, %0 : f32[2]\n"
     "  %2 = constant 0.5 : f32[]\n"
     "  %3 = mul %1, %2 : f32[2]\n"
     "  %4 = to %low, dtype=f32 : f32[]\n"
     "  %5 = mul %4, %x : f32[2]\n"
     "  %6 = add %3, %5 : f32[2]\n"
     "  %7 = constant 1.0 : f32[]\n"
     "  %8 = add %6, %7 : f32[2]\n"
     "  %9 = constant 2.0 : f32[]\n"
     "  %10 = add %8, %9 : f32[2]\n"
     "  %11 = size_tensor value=2, dtype=f32 : f32[]\n"
     "  %12 = add %10, %11 : f32[2]\n"
     "  %13 = constant 1.0 : f32[]\n"
     "  %14 = where %c, %13, %x : f32[2]\n"
     "  %15 = add %12, %14 : f32[2]\n"
     "  %16 = neg %x : f32[2]\n"
     "  %17 = add %15, %16 : f32[2]\n"},
    {"%x: f32[2]", "optional_things %x",
     "  %0:2 = halves %x : f32[2], f32[2]\n"
     "  %1 = sum %0#0 : f32[]\n"
     "  %2 = sum %0#1 : f32[]\n"
     "  %3 = add %1, %2 : f32[]\n"
     "  %4 = pair %x, none, [%0#0, %0#1] : f32[2]\n"
     "  %5 = add %3, %4 : f32[2]\n"
     "  %6 = size_tensor value=2, dtype=f32 : f32[]\n"
     "  %7 = mul %5, %6 : f32[2]\n"},
    {"%x: f32[2], %w: f32[2], %b: f32[], %a: i64[]", "optional_things %x, %w, %a, %b, dim=[0], dtype=f64",
     "  %0:2 = halves %x, %b : f32[2], f32[2]\n"
     "  %1 = mul %w, %b : f32[2]\n"
     "  %2 = sum %0#0, dim=[0], dtype=f64 : f64[]\n"
     "  %3 = sum %0#1, dim=[0] : f32[]\n"
     "  %4 = add %2, %3 : f64[]\n"
     "  %5 = pair %1, %w, [%0#0, %0#1] : f32[2]\n"
     "  %6 = to %a, dtype=f32 : f32[]\n"
     "  %7 = mul %5, %6 : f32[2]\n"
     "  %8 = add %4, %7 : f32[2]\n"
     "  %9 = size_tensor value=2, dtype=f32 : f32[]\n"
     "  %10 = mul %8, %9 : f32[2]\n"},
    {"%x: f32[2], %w: f32[2]", "optional_things %x, %w",
     "  %0:2 = halves %x : f32[2], f32[2]\n"
     "  %1 = sum %0#0 : f32[]\n"
     "  %2 = sum %0#1 : f32[]\n"
     "  %3 = add %1, %2 : f32[]\n"
     "  %4 = pair %x, %w, [%0#0, %0#1] : f32[2]\n"
     "  %5 = add %3, %4 : f32[2]\n"
     "  %6 = size_tensor value=2, dtype=f32 : f32[]\n"
     "  %7 = mul %5, %6 : f32[2]\n"},
    {"%x: f32[2], %b: f32[]", "optional_things %x, none, none, %b",
     "  %0:2 = halves %x, %b : f32[2], f32[2]\n"
     "  %1 = sum %0#0 : f32[]\n"
     "  %2 = sum %0#1 : f32[]\n"
     "  %3 = add %1, %2 : f32[]\n"
     "  %4 = pair %x, none, [%0#0, %0#1] : f32[2]\n"
     "  %5 = add %3, %4 : f32[2]\n"
     "  %6 = size_tensor value=2, dtype=f32 : f32[]\n"
     "  %7 = mul %5, %6 : f32[2]\n"},
    {"%x: f32[2,1], %y: f32[2,1]", "passes [%x, %y], dim=1",
     "  %0 = cat [%x, %y], dim=1 : f32[2,2]\n"
     "  %1 = cat [%x, %y] : f32[4,1]\n"},
    {"%x: f32[2]", "both %x", "  %0:2 = halves %x : f32[2], f32[2]\n"},
    {"%x: f32[2], %s: f32[]", "both %x, %s", "  %0:2 = halves %x, %s : f32[2], f32[2]\n"},
    {"%x: f32[2]", "pooled %x, low=3, k=2, n=5, eps=0.25",
     "  %0 = pool %x, kernel=[2, 2], stride=[2, 2], length=5, eps=0.25, low=3, ceil_mode=false : f32[2]\n"
     "  %1 = pool %0, eps=1.0, low=0.5 : f32[2]\n"},
    /* Attributes of every kind, strings among them, as they are read. */
    {"%x: f32[2]",
     "pool %x, kernel=3, stride=[2, 5], length=7, eps=0.5, mode=\"a\\\\\\\"\\x0a]\", low=-0.0, ceil_mode=false",
     "  %0 = pool %x, kernel=[3, 3], stride=[2, 5], length=7, eps=0.5, mode=\"a\\\\\\\"\\x0a]\", low=-0.0, "
     "ceil_mode=false : f32[2]\n"},
    {"%x: f32[2]", "pool %x, kernel=1, stride=[1, 1], eps=1e-05, mode=\"mean\", low=0, ceil_mode=true",
     "  %0 = pool %x : f32[2]\n"},
    {"%x: f32[2]", "pool %x, mode=\"\", low=0.0", "  %0 = pool %x, mode=\"\", low=0.0 : f32[2]\n"},
    {"%x: f32[2]", "literal_case %x, exponent=2", "  %0 = mul %x, %x : f32[2]\n"},
    {"%x: f32[2]", "literal_case %x, exponent=0.5", "  %0 = mul %x, %x : f32[2]\n"},
    {"%x: f32[2]", "literal_case %x, exponent=3",
     "  %0 = constant 3.0 : f32[]\n"
     "  %1 = add %x, %0 : f32[2]\n"},
    {"%x: f32[2]", "defaulted %x",
     "  %0 = constant 2 : i64[]\n"
     "  %1 = to %0, dtype=f32 : f32[]\n"
     "  %2 = mul %x, %1 : f32[2]\n"},
    {"%x: f32[2], %f: i64[]", "defaulted %x, %f",
     "  %0 = to %f, dtype=f32 : f32[]\n"
     "  %1 = mul %x, %0 : f32[2]\n"},
    {"%x: f32[2]", "limited %x, low=0, times=3",
     "  %0 = constant 0.0 : f32[]\n"
     "  %1 = mul %x, %0 : f32[2]\n"},
    {"%x: f32[2], %y: f32[2], %a: i64[]", "add %x, %y, %a",
     "  %0 = to %a, dtype=f32 : f32[]\n"
     "  %1 = mul %y, %0 : f32[2]\n"
     "  %2 = add %x, %1 : f32[2]\n"},
    {"%x: f32[2], %y: f32[2], %a: f32[]", "add %x, %y, %a",
     "  %0 = mul %y, %a : f32[2]\n"
     "  %1 = add %x, %0 : f32[2]\n"},
    {"%x: f32[2]", "padded %x, size=[7]", "  %0 = padded %x : f32[2]\n"},
    {"%x: f32[2]", "padded %x, pad=4, dims=[1], size=8", "  %0 = padded %x, pad=[4], dims=[1], size=[8] : f32[2]\n"},
    /* What rules are given. */
    {"%x: f32[2,3,4]", "ends %x", "  %0 = ends %x : f64[1,3,1]\n"},
    {"%x: i32[2,3]", "all_dims %x", "  %0 = all_dims %x : i64[]\n"},
    {"%x: i64[2]", "no_dims %x, keepdim=true", "  %0 = no_dims %x, keepdim=true : i64[1]\n"},
    {"%x: f32[2,7]", "every_other %x, begin=1", "  %0 = every_other %x, begin=1 : f32[2,3]\n"},
    {"%x: f32[2,7]", "every_other %x, begin=1, end=-2", "  %0 = every_other %x, begin=1, end=-2 : f32[2,2]\n"},
    {"%x: i32[3,4]", "pairs %x", "  %0 = pairs %x : f32[6,2]\n"},
    {"%x: i64[2,3], %m: f32[5], %y: f64[2,1]", "joined %x, %m, %y", "  %0 = joined %x, %m, %y : f64[2,4]\n"},
    {"%x: i64[2,3], %m: f32[5], %y: i32[2,1]", "joined %x, %m, %y", "  %0 = joined %x, %m, %y : f32[2,4]\n"},
};

static laze_graph *parse(laze_context *context, const char *source) {
  laze_graph *graph;
  laze_error error;
  laze_status status = laze_graph_parse(context, source, (int64_t)strlen(source), "test", &graph, &error);
  ck_assert_msg(status == LAZE_OK, "%s\n%s", error.message, source);
  ck_assert_msg(laze_graph_verify(graph, &error) == LAZE_OK, "%s\n%s", error.message, source);
  return graph;
}

/* Prints the graph, and reads what it printed: the same graph, with the same hash. */
static void print_and_read(const laze_graph *graph, laze_text *text) {
  laze_graph_print(text, graph, true);
  laze_graph *again = parse(graph->context, laze_text_get(text));
  ck_assert_msg(laze_graph_equal(graph, again, NULL), "%s", laze_text_get(text));
  ck_assert(laze_hash_equal(laze_graph_hash(graph, true), laze_graph_hash(again, true)));
  laze_graph_destroy(again);
}

START_TEST(constructs_record_what_they_say) {
  laze_context *context;
  laze_text text;
  char source[1024], expected[2048];
  bool two = strncmp(cases[_i].call, "both ", 5) == 0 || strncmp(cases[_i].call, "passes", 6) == 0;
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  snprintf(source, sizeof source, "laze 1\ngraph @g(%s) {\n  %%r%s = %s\n  return\n}\n", cases[_i].parameters,
           two ? ":2" : "", cases[_i].call);
  snprintf(expected, sizeof expected, "laze 1\ngraph @g(%s) {\n%s  return\n}\n", cases[_i].parameters,
           cases[_i].recorded);
  laze_graph *graph = parse(context, source);
  laze_text_init(&text, context);
  print_and_read(graph, &text);
  ck_assert_str_eq(laze_text_get(&text), expected);
  laze_text_deinit(&text);
  laze_graph_destroy(graph);
  laze_context_release(context);
}
END_TEST

/* What an entry requires of attributes is said with what they are. */
START_TEST(requirements_are_named) {
  static const struct {
    const char *call, *message;
  } wrong[] = {
      {"limited %x, low=-0.5", "limited: low is -0.5 and times is 1; expected low >= 0 && times < 4"},
      {"limited %x, low=2, times=4", "limited: low is 2 and times is 4; expected low >= 0 && times < 4"},
      {"limited %x, low=nan", "limited: low is nan and times is 1; expected low >= 0 && times < 4"},
      {"limited %s, low=1", "limited: expected rank(self) > 0"},
  };
  laze_context *context;
  laze_graph *graph;
  laze_error error;
  char source[200];
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
    int length = snprintf(source, sizeof source,
                          "laze 1\ngraph @g(%%x: f32[2], %%s: f32[]) {\n  %%0 = %s\n  return\n}\n", wrong[i].call);
    ck_assert_int_eq(laze_graph_parse(context, source, length, "test", &graph, &error), LAZE_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.message, wrong[i].message) != NULL, "%s", error.message);
  }
  laze_context_release(context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("features");
  TCase *tests = tcase_create("features");
  tcase_add_loop_test(tests, constructs_record_what_they_say, 0, (int)(sizeof cases / sizeof *cases));
  tcase_add_test(tests, requirements_are_named);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
