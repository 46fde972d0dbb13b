#include "tests/unit/ir/ir_test.h"

#include <pthread.h>

static const laze_type matrix = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_F32, .rank = 2, .sizes = {2, 3}};

static laze_status append_add(laze_graph *graph, laze_block *block, laze_value a, laze_value b, laze_value *out) {
  laze_value operands[] = {a, b};
  int32_t segments[] = {1, 1, -1};
  laze_call call = {.op = LAZE_OP_ADD, .operands = operands, .operand_count = 2, .segments = segments};
  return laze_graph_append(graph, block, &call, out, &error);
}

static laze_graph *chain(int64_t length) {
  laze_graph *graph;
  laze_value x, value;
  assert_ok(laze_graph_create(context, "chain", &graph, &error));
  assert_ok(laze_graph_add_parameter(graph, graph->body, "x", &matrix, &x, &error));
  value = x;
  for (int64_t i = 0; i < length; i++)
    if (append_add(graph, graph->body, value, x, &value) != LAZE_OK) ck_abort_msg("%s", error.message);
  assert_ok(laze_block_set_results(graph, graph->body, &value, 1, &error));
  return graph;
}

/* Most nodes have their operand's type, which is then stored once. */
START_TEST(nodes_share_types) {
  laze_graph *graph = chain(3);
  ck_assert_int_eq(graph->node_count, 4);
  for (int i = 1; i < 4; i++) ck_assert_ptr_eq(graph->nodes[i].types[0], graph->nodes[0].types[0]);
  assert_ok(laze_graph_verify(graph, &error));
  laze_graph_destroy(graph);
}
END_TEST

/* The caller's arrays may change afterwards. */
START_TEST(append_copies_the_call) {
  laze_graph *graph = chain(0);
  laze_size dims[] = {1, 0};
  laze_value x = {0, 0}, out;
  laze_attribute attribute = laze_attribute_integers(dims, 2);
  laze_call call = {.op = LAZE_OP_PERMUTE, .operands = &x, .operand_count = 1, .attributes = &attribute};
  assert_ok(laze_graph_append(graph, graph->body, &call, &out, &error));
  dims[0] = 7;
  x.node = 99;
  const laze_node *node = laze_graph_node(graph, out);
  ck_assert_int_eq(node->attributes[0].value.items[0], 1);
  ck_assert_int_eq(node->operands[0].node, 0);
  ck_assert_int_eq(node->types[0]->sizes[0], 3);
  laze_graph_destroy(graph);
}
END_TEST

/* A refused call leaves the graph as it was. */
START_TEST(refuses_bad_calls) {
  laze_graph *graph = chain(1);
  laze_value out, missing = {17, 0}, second = {0, 1}, x = {0, 0};
  assert_error(append_add(graph, graph->body, x, missing, &out), "operand 1 is (17, 0), which is no value");
  assert_error(append_add(graph, graph->body, x, second, &out), "operand 1 is (0, 1)");
  laze_call parameter = {.op = LAZE_OP_PARAMETER};
  assert_error(laze_graph_append(graph, graph->body, &parameter, &out, &error), "parameter: cannot be a node");
  assert_error(laze_block_set_results(graph, graph->body, &missing, 1, &error), "no value of it");
  ck_assert_int_eq(graph->node_count, 2);
  assert_ok(laze_graph_verify(graph, &error));
  laze_graph_destroy(graph);
}
END_TEST

START_TEST(regions_nest_up_to_a_limit) {
  laze_graph *graph = chain(0);
  laze_block *block = graph->body;
  for (int i = 0; i < LAZE_MAX_NESTING; i++) assert_ok(laze_graph_add_region(graph, block, &block, &error));
  assert_error(laze_graph_add_region(graph, block, &block, &error), "nest more than 64 deep");
  laze_graph_destroy(graph);
}
END_TEST

static const char *with_regions = "laze 1\n"
                                  "graph @g(%x: f32[4], %c: bool[]) -> f32[4] {\n"
                                  "  %0 = if %c, [%x] (%1: f32[4]) {\n"
                                  "    %2 = exp %1 : f32[4]\n"
                                  "    return %2\n"
                                  "  } (%3: f32[4]) {\n"
                                  "    return %3\n"
                                  "  } : f32[4]\n"
                                  "  return %0\n"
                                  "}\n";

/* Each corruption breaks one rule of docs/ir.md. */
START_TEST(verifier_names_the_broken_rule) {
  laze_graph *graph = parse(with_regions);
  laze_block *body = graph->body, *region;
  assert_ok(laze_graph_verify(graph, &error));
  int32_t number = body->nodes[0];
  laze_node *node = &graph->nodes[number];
  region = node->regions[0];

  laze_value captured = {body->parameters[0], 0}, kept = region->results[0];
  region->results[0] = captured;
  assert_error(laze_graph_verify(graph, &error), "regions see only their parameters");
  region->results[0] = kept;

  laze_type wrong = *node->types[0];
  const laze_type *wrong_list[] = {&wrong};
  const laze_type *const *types = node->types;
  wrong.sizes[0] = 5;
  node->types = wrong_list;
  assert_error(laze_graph_verify(graph, &error), "has type f32[5], its rule says f32[4]");
  node->types = types;

  region->parent = NULL;
  assert_error(laze_graph_verify(graph, &error), "wrong parent");
  region->parent = body;

  body->nodes[0] = body->parameters[0];
  assert_error(laze_graph_verify(graph, &error), "listed twice");
  body->nodes[0] = number;

  laze_op op = node->op;
  node->op = LAZE_OP_NONE;
  assert_error(laze_graph_verify(graph, &error), "operator 0 does not exist");
  node->op = op;

  laze_value own = {number, 0}, *operands = (laze_value *)node->operands, first = operands[0];
  operands[0] = own;
  assert_error(laze_graph_verify(graph, &error), "comes later");
  operands[0] = first;
  assert_ok(laze_graph_verify(graph, &error));
  laze_graph_destroy(graph);
}
END_TEST

/* Region rules are checked when the node is made. */
START_TEST(control_checks_its_regions) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"laze 1\ngraph @g(%x: f32[4]) { %0 = if %x, [%x] (%a: f32[4]) { return %a } (%a: f32[4]) { return %a }\n return "
       "}",
       "if: operand 0 has type f32[4], expected bool[]"},
      {"laze 1\ngraph @g(%x: f32[4], %c: bool[]) { %0 = if %c, [%x] () { return } (%a: f32[4]) { return %a }\n return "
       "}",
       "if: parameters of a region: got 0, expected 1"},
      {"laze 1\ngraph @g(%x: f32[4], %c: bool[]) { %0 = if %c, [%x] (%a: f32[3]) { return %a } (%a: f32[4]) { return "
       "%a "
       "}\n return }",
       "the parameter of a region at 0 has type f32[3], expected f32[4]"},
      {"laze 1\ngraph @g(%x: f32[4], %c: bool[]) { %0 = if %c, [%x] (%a: f32[4]) { return %a } (%a: f32[4]) { return "
       "%a, "
       "%a }\n return }",
       "if: results of the second region: got 2, expected 1"},
      {"laze 1\ngraph @g(%x: f32[4]) { %0 = while [%x] (%a: f32[4]) { return %a } (%a: f32[4]) { return %a }\n return "
       "}",
       "while: the result of the condition at 0 has type f32[4], expected bool[]"},
      {"laze 1\ngraph @g(%x: f32[4]) { %0 = while [%x] (%a: f32[4]) { %1 = any %a\n return %1 } (%a: f32[4]) { %1 = "
       "sum "
       "%a\n return %1 }\n return }",
       "while: the result of the body at 0 has type f32[], expected f32[4]"},
      {"laze 1\ngraph @g(%x: f32[4]) { %0 = while [%x] (%a: f32[4]) { %1 = any %a\n return %1 } (%a: f32[4]) { return "
       "%a, %a }\n return }",
       "while: results of the body: got 2, expected 1"},
      {"laze 1\ngraph @g(%x: f32[4], %c: bool[]) { %0 = if %c, [%x] (%a: f32[4]) { return %a } (%a: f32[4]) { %1 = sum "
       "%a\n return %1 }\n return }",
       "if: the result of the second region at 0 has type f32[], expected f32[4]"},
      {"laze 1\ngraph @g(%x: f32[4], %i: f32[]) { %0 = reduce %x, [%i], dim=[0, 0] (%a: f32[], %b: f32[]) { return %a "
       "}\n return }",
       "axis 0 is named twice"},
      {"laze 1\ngraph @g(%x: f32[4], %i: f32[]) { %0 = reduce %x, [%i], dim=[0] (%a: f32[]) { return %a }\n return }",
       "got 1, expected 2"},
      {"laze 1\ngraph @g(%x: f32[4]) { %0 = scan [%x], [] (%a: f32[4]) { return %a }\n return }",
       "scan: got no inputs, expected one at least"},
      {"laze 1\ngraph @g(%x: f32[4], %y: f32[]) { %0 = scan [%x], [%y] (%a: f32[4], %b: f32[]) { return %a }\n "
       "return }",
       "scan: input 1 has no axis to go along"},
      {"laze 1\ngraph @g(%x: f32[4], %y: f32[3]) { %0 = scan [], [%x, %y] (%a: f32[], %b: f32[]) { return %a }\n "
       "return }",
       "scan: inputs f32[4] and f32[3] differ along axis 0"},
      {"laze 1\ngraph @g(%x: f32[4], %y: f32[4]) { %0 = scan [%x], [%y] (%a: f32[4], %b: f32[4]) { return %a }\n "
       "return }",
       "scan: the parameter of a region at 1 has type f32[4], expected f32[]"},
      {"laze 1\ngraph @g(%x: f32[4], %y: f32[4]) { %0 = scan [%x], [%y] (%a: f32[4], %b: f32[]) { return %b }\n "
       "return }",
       "scan: the result of the region at 0 has type f32[], expected f32[4]"},
      {"laze 1\ngraph @g(%x: f32[4], %y: f32[4]) { %0 = scan [%x, %x], [%y] (%a: f32[4], %c: f32[4], %b: f32[]) { "
       "return %a }\n return }",
       "scan: the region returns 1 values, expected the 2 states first"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_graph *graph;
    const char *text = cases[i].text;
    assert_error(laze_graph_parse(context, text, (int64_t)strlen(text), "t.lz", &graph, &error), cases[i].message);
  }
}
END_TEST

static laze_graph *long_graph;

static void *traverse(void *unused) {
  laze_graph *parsed;
  (void)unused;
  long_graph = chain(1000000);
  char *text = print(long_graph);
  assert_ok(laze_graph_parse(context, text, (int64_t)strlen(text), "t.lz", &parsed, &error));
  laze_free(context, text);
  ck_assert(laze_graph_equal(long_graph, parsed, NULL));
  ck_assert(laze_hash_equal(laze_graph_hash(long_graph, true), laze_graph_hash(parsed, true)));
  assert_ok(laze_graph_verify(parsed, &error));
  assert_ok(laze_passes_run(&parsed, NULL, &error));
  ck_assert_int_eq(parsed->node_count, 1000001);
  laze_graph_destroy(parsed);
  laze_graph *symbolic;
  const int64_t *bindings;
  assert_ok(laze_graph_symbolise(long_graph, &symbolic, &bindings, &error));
  laze_graph_destroy(symbolic);
  laze_graph_destroy(long_graph);
  return NULL;
}

/* No traversal recurses over the graph. */
START_TEST(a_million_nodes_on_a_small_stack) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 512 * 1024);
  ck_assert_int_eq(pthread_create(&thread, &attributes, traverse, NULL), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}
END_TEST

/* A copy outlives its source with all that messages say of nodes: names, and where calls stand, in regions too. */
START_TEST(copies_keep_names_and_places) {
  laze_graph *graph = parse("laze 1\ngraph @g(%x: f32[4], %c: bool[]) -> f32[4] {\n"
                            "  %0 = if %c, [%x] (%i: f32[4]) {\n"
                            "    %1 = exp %i name(\"inner\")\n    return %1\n"
                            "  } (%i: f32[4]) {\n    return %i\n  } name(\"choice\") loc(\"model.onnx:12\")\n"
                            "  return %0\n}\n");
  char *expected = print(graph);
  laze_graph *copy;
  assert_ok(laze_graph_copy(graph, &copy, &error));
  ck_assert_int_eq(copy->node_count, graph->node_count);
  for (int64_t i = 0; i < copy->node_count; i++) {
    const laze_location *place = &copy->nodes[i].location, *before = &graph->nodes[i].location;
    ck_assert_int_eq(place->line, before->line);
    ck_assert(!place->file == !before->file);
    if (place->file) ck_assert_ptr_ne(place->file, before->file);
    if (place->file) ck_assert_str_eq(place->file, before->file);
  }
  laze_graph_destroy(graph);
  assert_prints(copy, expected);
  laze_free(context, expected);
  laze_graph_destroy(copy);
}
END_TEST

/* Wherever memory runs out, the failure is reported and nothing leaks or is left half done. */
START_TEST(survives_running_out_of_memory) {
  for (int64_t allowed = 0;; allowed++) {
    test_failing_allocator memory;
    laze_context *starved = starve(&memory, allowed);
    laze_graph *graph = NULL, *symbolic = NULL;
    const int64_t *bindings;
    laze_status status = laze_graph_parse(starved, with_regions, (int64_t)strlen(with_regions), "t.lz", &graph, &error);
    if (status == LAZE_OK) status = laze_passes_run(&graph, NULL, &error);
    if (status == LAZE_OK) status = laze_graph_symbolise(graph, &symbolic, &bindings, &error);
    bool done = status == LAZE_OK;
    if (!done) ck_assert_int_eq(status, LAZE_OUT_OF_MEMORY);
    laze_graph_destroy(graph);
    laze_graph_destroy(symbolic);
    laze_context_release(starved);
    ck_assert_int_eq(memory.live, 0);
    if (done) break;
  }
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, nodes_share_types);
  tcase_add_test(tests, append_copies_the_call);
  tcase_add_test(tests, refuses_bad_calls);
  tcase_add_test(tests, regions_nest_up_to_a_limit);
  tcase_add_test(tests, verifier_names_the_broken_rule);
  tcase_add_test(tests, control_checks_its_regions);
  tcase_add_test(tests, a_million_nodes_on_a_small_stack);
  tcase_add_test(tests, copies_keep_names_and_places);
  tcase_add_test(tests, survives_running_out_of_memory);
}

int main(void) {
  return run_suite("graph", add_tests);
}
