/* Labels: what a front end calls a node and where it has it from; and types that a text need not write. */
#include "tests/unit/ir/ir_test.h"

#include "ir/specialise.h"

#include <stdio.h>

static const char labelled[] = "laze 1\n"
                               "graph @g(%x: f32[2,3], %w: f32[3,2], %c: bool[]) -> f32[2,2] {\n"
                               "  %0 = mm %x, %w : f32[2,2] name(\"dense/MatMul\") loc(\"model.onnx:12\")\n"
                               "  %1 = sum %0, dim=[1], keepdim=true : f32[2,1] loc(\"anywhere at all\")\n"
                               "  %2 = constant 2.0 : f32[] name(\"two \\\"\\\\\\x0a\")\n"
                               "  %3 = if %c, [%0] (%4: f32[2,2]) {\n"
                               "    %5 = exp %4 : f32[2,2] name(\"inner\")\n"
                               "    return %5\n"
                               "  } (%6: f32[2,2]) {\n"
                               "    return %6\n"
                               "  } : f32[2,2] name(\"outer\") loc(\"model.onnx\")\n"
                               "  return %3\n"
                               "}\n";

/* The node that the graph calls so. */
static const laze_node *named(const laze_graph *graph, const char *name) {
  for (int64_t i = 0; i < graph->node_count; i++)
    if (graph->nodes[i].name && graph->nodes[i].op != LAZE_OP_PARAMETER && strcmp(graph->nodes[i].name, name) == 0)
      return &graph->nodes[i];
  return NULL;
}

START_TEST(labels_are_kept) {
  laze_graph *graph = parse(labelled);
  assert_ok(laze_graph_verify(graph, &error));
  assert_prints(graph, labelled);
  ck_assert_str_eq(named(graph, "dense/MatMul")->location.file, "model.onnx:12");
  ck_assert_ptr_nonnull(named(graph, "two \"\\\n"));
  ck_assert_int_eq(named(graph, "inner")->op, LAZE_OP_EXP);
  ck_assert_int_eq(named(graph, "inner")->location.line, 7); /* of the text, which is not printed */
  laze_graph_destroy(graph);
}
END_TEST

/* They are outside of equality and key: other names need no other program. */
START_TEST(labels_are_no_part_of_the_graph) {
  char plain[sizeof labelled], *out = plain;
  for (const char *at = labelled; *at;) {
    const char *label = strncmp(at, " name(", 6) == 0 || strncmp(at, " loc(", 5) == 0 ? strchr(at, ')') : NULL;
    if (label)
      at = label + 1;
    else
      *out++ = *at++;
  }
  *out = 0;
  laze_graph *with = parse(labelled), *without = parse(plain);
  assert_prints(without, plain);
  ck_assert(laze_graph_equal(with, without, NULL));
  ck_assert(laze_hash_equal(laze_graph_hash(with, true), laze_graph_hash(without, true)));
  ck_assert(laze_hash_equal(laze_graph_hash(with, false), laze_graph_hash(without, false)));
  laze_graph_destroy(with);
  laze_graph_destroy(without);
}
END_TEST

/* All that a statement records carries its label: numbers among the operands, and what a composite consists of. */
START_TEST(expansions_carry_the_label) {
  laze_graph *graph = parse("laze 1\n"
                            "graph @g(%x: f32[4]) -> f32[4] {\n"
                            "  %0 = relu %x name(\"activation\") loc(\"here\")\n"
                            "  %1 = mul %0, 2.0 name(\"double\")\n"
                            "  %2 = neg %1\n"
                            "  return %2\n"
                            "}\n");
  int activation = 0, twice = 0;
  for (int64_t i = 1; i < graph->node_count; i++) {
    const char *name = graph->nodes[i].name;
    activation += name && strcmp(name, "activation") == 0 && strcmp(graph->nodes[i].location.file, "here") == 0;
    twice += name && strcmp(name, "double") == 0 && graph->nodes[i].location.line == 4;
  }
  ck_assert_int_eq(activation, 2);
  ck_assert_int_gt(twice, 1);
  ck_assert_ptr_null(graph->nodes[graph->node_count - 1].name);
  laze_graph_destroy(graph);
}
END_TEST

/* Names outlive the graph that a rewritten one was made from, and its passes. */
START_TEST(rewrites_keep_labels) {
  laze_graph *graph = parse("laze 1\n"
                            "graph @g(%x: f32[n,4]) -> f32[n,4] {\n"
                            "  %0 = _softmax %x, dim=-1 : f32[n,4] name(\"attention\") loc(\"model.onnx\")\n"
                            "  return %0\n"
                            "}\n");
  const int64_t bindings[] = {3}, *values;
  laze_graph *constant, *symbolic;
  laze_pass_options options = {0};
  assert_ok(laze_graph_specialise(graph, bindings, &constant, &error));
  laze_graph_destroy(graph);
  assert_ok(laze_graph_symbolise(constant, &symbolic, &values, &error));
  laze_graph_destroy(constant);
  assert_ok(laze_passes_run(&symbolic, &options, &error));
  int count = 0;
  for (int64_t i = 0; i < symbolic->node_count; i++) {
    const laze_node *node = &symbolic->nodes[i];
    if (node->op == LAZE_OP_PARAMETER) continue;
    ck_assert_str_eq(node->name, "attention");
    ck_assert_str_eq(node->location.file, "model.onnx");
    count++;
  }
  ck_assert_int_gt(count, 3); /* the pass expanded it */
  laze_graph_destroy(symbolic);
}
END_TEST

#define EXP(label) "laze 1\ngraph @g(%x: f32[2], %i: i64[2]) {\n  %0 = exp %x " label "\n  return\n}\n"

static const struct {
  const char *text, *message;
} malformed[] = {
    {EXP("name(dense)"), "e.lz:3:20: expected a string, such as \"dense\", found 'dense'"},
    {EXP("name(\"dense\""), "e.lz:4:3: expected ')', found 'return'"},
    {EXP("name(\"dense)"), "e.lz:3:20: expected a string, such as \"dense\", found '\"dense)'"},
    {EXP("loc(\"a\\b\")"), "e.lz:3:19: unknown escape in a string"},
    {EXP("name(\"a\") name(\"b\")"), "e.lz:3:25: name stands here twice"},
    {EXP("loc(\"a\") name(\"b\") loc(\"c\")"), "e.lz:3:34: loc stands here twice"},
    {EXP("name=\"dense\""), "e.lz:3:15: expected a statement or 'return', found 'name'"},
    {EXP("name (\"dense\")"), "e.lz:3:15: expected a statement or 'return', found 'name'"},
    {EXP(": f32[2] place(\"a\")"), "e.lz:3:24: expected a statement or 'return', found 'place'"},
    /* Errors of a statement say its label, which may stand behind its types. */
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0 = mm %x, %x : f32[2] name(\"d/MatMul\") loc(\"model.onnx:9\")\n",
     "e.lz:3:8: model.onnx:9: \"d/MatMul\": mm: "},
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0 = mm %x, %x\n  %1 = exp %x name(\"b\")\n", "e.lz:3:8: mm: "},
};

START_TEST(malformed_labels_are_located) {
  laze_graph *graph = NULL;
  const char *text = malformed[_i].text;
  ck_assert_int_ne(laze_graph_parse(context, text, (int64_t)strlen(text), "e.lz", &graph, &error), LAZE_OK);
  ck_assert_msg(strncmp(error.message, malformed[_i].message, strlen(malformed[_i].message)) == 0,
                "case %d: got      '%s'\nexpected '%s'", _i, error.message, malformed[_i].message);
}
END_TEST

/* A size with a value is equal to that number, and to another size of that value. What was found is a fact. */
START_TEST(written_types_are_compared_as_facts) {
  laze_graph *graph = parse("laze 1\n"
                            "sizes n=3, m=6\n"
                            "graph @g(%x: f32[n], %y: f32[m]) -> f32[3], f32[n*2], f32[3] {\n"
                            "  %0 = exp %x : f32[3]\n"
                            "  %1 = exp %y : f32[n+n]\n"
                            "  return %0, %1, %x\n"
                            "}\n");
  int64_t facts;
  const laze_fact *fact = laze_size_facts(graph->sizes, &facts);
  ck_assert_int_eq(facts, 2);
  ck_assert(fact[0].holds && fact[1].holds);
  assert_ok(laze_graph_verify(graph, &error));
  laze_graph_destroy(graph);
  const char *text = "laze 1\nsizes n=3\ngraph @g(%x: f32[n]) -> f32[4] {\n  return %x\n}\n";
  assert_error(laze_graph_parse(context, text, (int64_t)strlen(text), "e.lz", &graph, &error),
               "e.lz:4:3: returns f32[n] as result 0, but the header declares f32[4]");
}
END_TEST

/* No type is needed but those of inputs and constants. */
START_TEST(types_may_be_left_out) {
  laze_graph *graph = parse("laze 1\n"
                            "graph @g(%x: f32[n,4], %c: bool[]) {\n"
                            "  %0 = exp %x\n"
                            "  %1 = if %c, [%0] (%a: f32[n,4]) {\n    return %a\n  } (%b: f32[n,4]) {\n"
                            "    return %b\n  }\n"
                            "  return %1, %x\n"
                            "}\n");
  assert_prints(graph, "laze 1\n"
                       "graph @g(%x: f32[n,4], %c: bool[]) -> f32[n,4], f32[n,4] {\n"
                       "  %0 = exp %x : f32[n,4]\n"
                       "  %1 = if %c, [%0] (%2: f32[n,4]) {\n    return %2\n  } (%3: f32[n,4]) {\n"
                       "    return %3\n  } : f32[n,4]\n"
                       "  return %1, %x\n"
                       "}\n");
  laze_graph_destroy(graph);
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, labels_are_kept);
  tcase_add_test(tests, labels_are_no_part_of_the_graph);
  tcase_add_test(tests, expansions_carry_the_label);
  tcase_add_test(tests, rewrites_keep_labels);
  tcase_add_loop_test(tests, malformed_labels_are_located, 0, (int)(sizeof malformed / sizeof *malformed));
  tcase_add_test(tests, written_types_are_compared_as_facts);
  tcase_add_test(tests, types_may_be_left_out);
}

int main(void) {
  return run_suite("label_text", add_tests);
}
