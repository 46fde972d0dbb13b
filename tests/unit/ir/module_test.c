/* Modules: functions are called, printed and read again, and what inlining makes of them is what the same nodes would
 * be without functions. */
#include "tests/unit/ir/module_test.h"

#include <stdio.h>

START_TEST(modules_print_as_they_are) {
  laze_module *module = parse_module(layers);
  char *printed = print_module(module);
  ck_assert_str_eq(printed, layers);
  laze_module *again = parse_module(printed);
  laze_text difference;
  laze_text_init(&difference, context);
  ck_assert_msg(laze_module_equal(module, again, &difference), "%s", laze_text_get(&difference));
  laze_text_deinit(&difference);
  laze_free(context, printed);
  laze_module_destroy(module);
  laze_module_destroy(again);
}
END_TEST

/* Sizes of a function are those of each call, and a call's name comes before those of its nodes. */
START_TEST(calls_are_inlined) {
  laze_module *module = parse_module(layers);
  laze_graph *graph = inlined(module, NULL);
  laze_module_destroy(module); /* nothing of it is needed any more */
  assert_prints(graph, "laze 1\n"
                       "graph @main(%x: f32[b,784], %w: f32[784,10], %u: f32[10,10], %c: f32[10]) -> f32[b,10], "
                       "f32[20,2], f32[1,10] {\n"
                       "  %0 = mm %x, %w : f32[b,10] name(\"layer1/MatMul\")\n"
                       "  %1 = add %0, %c : f32[b,10] name(\"layer1\")\n"
                       "  %2 = mm %1, %u : f32[b,10] name(\"MatMul\")\n"
                       "  %3 = add %2, %c : f32[b,10]\n"
                       "  %4 = expand %c, size=[2, 10] : f32[2,10] name(\"split\") loc(\"model.onnx:5\")\n"
                       "  %5 = reshape %c, shape=[1, 10] : f32[1,10] name(\"split\")\n"
                       "  %6 = cat [%4, %4] : f32[4,10] name(\"split\")\n"
                       "  %7 = reshape %6, shape=[20, 2] : f32[20,2] name(\"split\")\n"
                       "  return %3, %7, %5\n"
                       "}\n");
  for (int64_t i = 0; i < graph->node_count; i++)
    if (graph->nodes[i].op == LAZE_OP_MM) ck_assert_int_eq(graph->nodes[i].location.line, 3);
  laze_graph_destroy(graph);
}
END_TEST

/* Functions in regions, with regions, of functions, returning parameters, and with constants. */
START_TEST(functions_nest) {
  laze_module *module = parse_module("laze 1\n"
                                     "function @first(%a: f32[n], %b: f32[n]) {\n"
                                     "  return %a, %a\n"
                                     "}\n"
                                     "function @grow(%x: f32[n], %c: bool[]) {\n"
                                     "  %0:2 = call @first %x, %x\n"
                                     "  %1 = if %c, [%0#1] (%i: f32[n]) {\n"
                                     "    %0 = constant hex=\"00000040\" : f32[]\n"
                                     "    %1 = mul %i, %0\n"
                                     "    %2:2 = call @first %1, %i\n"
                                     "    return %2#0\n"
                                     "  } (%i: f32[n]) {\n"
                                     "    return %i\n"
                                     "  }\n"
                                     "  return %1\n"
                                     "}\n"
                                     "graph @g(%x: f32[3], %c: bool[]) {\n"
                                     "  %0 = call @grow %x, %c\n"
                                     "  %1 = if %c, [%0, %c] (%i: f32[3], %d: bool[]) {\n"
                                     "    %2 = call @grow %i, %d\n"
                                     "    return %2\n"
                                     "  } (%i: f32[3], %d: bool[]) {\n"
                                     "    return %i\n"
                                     "  }\n"
                                     "  return %1\n"
                                     "}\n");
  laze_graph *graph = inlined(module, "g");
  laze_graph *expected = parse("laze 1\n"
                               "graph @g(%x: f32[3], %c: bool[]) -> f32[3] {\n"
                               "  %0 = if %c, [%x] (%1: f32[3]) {\n"
                               "    %2 = constant 2.0 : f32[]\n"
                               "    %3 = mul %1, %2 : f32[3]\n"
                               "    return %3\n"
                               "  } (%4: f32[3]) {\n"
                               "    return %4\n"
                               "  } : f32[3]\n"
                               "  %5 = if %c, [%0, %c] (%6: f32[3], %7: bool[]) {\n"
                               "    %8 = if %7, [%6] (%9: f32[3]) {\n"
                               "      %10 = constant 2.0 : f32[]\n"
                               "      %11 = mul %9, %10 : f32[3]\n"
                               "      return %11\n"
                               "    } (%12: f32[3]) {\n"
                               "      return %12\n"
                               "    } : f32[3]\n"
                               "    return %8\n"
                               "  } (%13: f32[3], %14: bool[]) {\n"
                               "    return %13\n"
                               "  } : f32[3]\n"
                               "  return %5\n"
                               "}\n");
  assert_equal_graphs(graph, expected);
  laze_graph_destroy(expected);
  laze_graph_destroy(graph);
  laze_module_destroy(module);
}
END_TEST

/* What was decided when a function was made must hold of the sizes of a call, known or not. */
START_TEST(facts_of_functions_are_asked_of_calls) {
  static const char function[] = "laze 1\n"
                                 "function @f(%x: f32[n,3]) {\n"
                                 "  %0 = squeeze %x, dim=0\n" /* n is not 1: nothing to do */
                                 "  %1 = neg %0\n"
                                 "  return %1\n"
                                 "}\n";
  char text[512];
  laze_module *module;
  snprintf(text, sizeof text, "%sgraph @g(%%x: f32[2,3]) {\n  %%0 = call @f %%x\n  return %%0\n}\n", function);
  laze_module_destroy(parse_module(text));
  snprintf(text, sizeof text, "%sgraph @g(%%x: f32[1,3]) {\n  %%0 = call @f %%x\n  return %%0\n}\n", function);
  assert_error(read_module(text, &module), "m.lz:8:8: call: the types of @f hold where n != 1, which this call with "
                                           "n=1 contradicts; write a function for these sizes");
  /* An unknown size of the caller gets the fact, and it is still there when the call is inlined. */
  snprintf(text, sizeof text, "%sgraph @g(%%x: f32[k,3]) {\n  %%0 = call @f %%x\n  return %%0\n}\n", function);
  module = parse_module(text);
  laze_graph *graph = inlined(module, NULL);
  const int64_t one = 1, two = 2;
  ck_assert(!laze_facts_hold(graph->sizes, &one));
  ck_assert(laze_facts_hold(graph->sizes, &two));
  laze_graph_destroy(graph);
  laze_module_destroy(module);
}
END_TEST

#define F                                                                                                              \
  "laze 1\nfunction @f(%x: f32[n,m], %y: f32[m*2], %z: f32[3]) -> f32[n] {\n  %0 = sum %x, dim=[1]\n  return %0\n}\n"
#define CALL(parameters, call) F "graph @g(" parameters ") {\n  %0 = " call "\n  return %0\n}\n"
#define RIGHT "%a: f32[2,4], %b: f32[8], %c: f32[3]"

static const struct {
  const char *text, *message;
} malformed[] = {
    {CALL(RIGHT, "call @f %a, %b, %c"), NULL},
    {CALL(RIGHT, "call @f %a, %b, %c : f32[2] name(\"x\")"), NULL},
    {CALL("%a: f32[k,j], %b: f32[j*2], %c: f32[3]", "call @f %a, %b, %c : f32[k]"), NULL},
    {CALL(RIGHT, "call @f %a, %b"), "m.lz:7:8: call: @f takes 3 values, given 2"},
    {CALL(RIGHT, "call @f"), "m.lz:7:8: call: @f takes 3 values, given 0"},
    {CALL(RIGHT, "call @f %a, %b, %c, %c"), "m.lz:7:8: call: @f takes 3 values, given 4"},
    {CALL(RIGHT, "call @f %b, %b, %c"), "m.lz:7:8: call: operand 0 is f32[8], but parameter %x of @f is f32[n,m]"},
    {CALL(RIGHT, "call @f %a, %b, %b"), "m.lz:7:8: call: operand 2 is f32[8], but parameter %z of @f is f32[3]"},
    {CALL(RIGHT, "call @f %a, %c, %c name(\"l\")"),
     "m.lz:7:8: \"l\": call: operand 1 is f32[3], but parameter %y of @f is f32[m*2]"},
    {CALL("%a: f64[2,4], %b: f32[8], %c: f32[3]", "call @f %a, %b, %c"), "m.lz:7:8: call: operand 0 is f64[2,4]"},
    {CALL("%a: f32[2,4], %b: f32[k], %c: f32[3]", "call @f %a, %b, %c"), "m.lz:7:8: call: operand 1 is f32[k]"},
    {CALL(RIGHT, "call @f %a, %b, %c : f32[3]"), "m.lz:7:29: result 0 has type f32[2], not f32[3]"},
    {CALL(RIGHT, "call @f %a, %b, 2.0"), "m.lz:7:24: expected a value, found '2.0'"},
    {CALL(RIGHT, "call f %a, %b, %c"), "m.lz:7:13: expected the name of a function, such as @block, found 'f'"},
    {CALL(RIGHT, "call\n@f %a, %b, %c"), "m.lz:8:1: expected the name of a function"},
    {CALL(RIGHT, "call @h %a, %b, %c"),
     "m.lz:7:13: there is no function @h before this line; functions stand before their calls"},
    {CALL(RIGHT, "call @g %a, %b, %c"), "m.lz:7:13: @g calls itself; recursion is not supported"},
    {CALL(RIGHT, "call @f %a, %z, %c"), "m.lz:7:20: there is no value %z before this line"},
    {"laze 1\ngraph @f(%x: f32[2]) {\n  return %x\n}\ngraph @g(%x: f32[2]) {\n  %0 = call @f %x\n",
     "m.lz:6:13: @f is a graph; only functions are called"},
    {"laze 1\nfunction @f(%x: f32[2]) {\n  %0 = call @f %x\n", "m.lz:3:13: @f calls itself"},
    {"laze 1\nfunction @f(%x: f32[2]) {\n  %0 = call @h %x\n  return %0\n}\nfunction @h(%x: f32[2]) {\n  %0 = call @f "
     "%x\n",
     "m.lz:3:13: there is no function @h before this line"},
    {"laze 1\nfunction @f(%x: f32[2]) {\n  return\n}\ngraph @g(%x: f32[2]) {\n  %0 = call @f %x\n",
     "m.lz:6:8: call: @f returns nothing, so that calling it does nothing"},
    {"laze 1\nfunction @f() {\n  %0 = iota size=[n], dim=0, dtype=i64\n  return %0\n}\ngraph @g() {\n  %0 = call @f\n",
     "m.lz:7:8: call: no parameter of @f says what its size n is; one needs it as an axis"},
    {"laze 1\nfunction @f(%x: f32[2]) {\n  return %x, %x\n}\ngraph @g(%x: f32[2]) {\n  %0 = call @f %x\n",
     "m.lz:6:8: call gives 2 results; write %0:2"},
    {"laze 1\ngraph @g() {\n  return\n}\nfunction @g() {\n  return\n}\n",
     "m.lz:5:10: @g is defined twice; choose another name"},
    {"laze 1\nfunction f() {\n  return\n}\n", "m.lz:2:10: expected the function's name, found 'f'"},
    {"laze 1\ngraph @g() {\n  return\n}\nlaze 1\n", "m.lz:5:1: expected 'graph' or 'function', found 'laze'"},
    {"laze 1\n", "m.lz:2:1: expected 'graph' or 'function', found the end"},
};

START_TEST(malformed_calls_are_located) {
  laze_module *module;
  laze_status status = read_module(malformed[_i].text, &module);
  const char *expected = malformed[_i].message ? malformed[_i].message : "";
  ck_assert_msg((status == LAZE_OK) == !malformed[_i].message, "case %d: %s", _i, error.message);
  ck_assert_msg(strncmp(error.message, expected, strlen(expected)) == 0, "case %d: got      '%s'\nexpected '%s'", _i,
                error.message, expected);
  laze_module_destroy(module);
}
END_TEST

START_TEST(one_graph_is_chosen) {
  static const struct {
    const char *text, *name, *chosen, *message;
  } cases[] = {
      {"graph @a() {\n return\n}", NULL, "a", NULL},
      {"function @f() {\n return\n}\ngraph @a() {\n return\n}", NULL, "a", NULL},
      {"graph @a() {\n return\n}\ngraph @main() {\n return\n}", NULL, "main", NULL},
      {"graph @a() {\n return\n}\ngraph @main() {\n return\n}", "a", "a", NULL},
      {"function @main() {\n return\n}\ngraph @a() {\n return\n}", NULL, "a", NULL},
      {"graph @a() {\n return\n}\ngraph @b() {\n return\n}", NULL, NULL,
       "a graph must be named, for none is @main; the graphs are @a, @b"},
      {"graph @a() {\n return\n}", "b", NULL, "there is no graph @b; the graphs are @a"},
      {"function @f() {\n return\n}\ngraph @a() {\n return\n}", "f", NULL,
       "@f is a function, which takes any sizes; a graph is expected; the graphs are @a"},
      {"function @f() {\n return\n}", NULL, NULL, "there is no graph to run; the graphs are none"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    laze_graph *chosen;
    snprintf(text, sizeof text, "laze 1\n%s\n", cases[i].text);
    laze_module *module = parse_module(text);
    laze_status status = laze_module_choose(module, cases[i].name, &chosen, &error);
    if (cases[i].chosen) {
      ck_assert_msg(status == LAZE_OK, "%s", error.message);
      ck_assert_str_eq(chosen->name, cases[i].chosen);
    } else {
      ck_assert_int_eq(status, LAZE_NOT_FOUND);
      ck_assert_str_eq(error.message, cases[i].message);
    }
    laze_module_destroy(module);
  }
}
END_TEST

/* A module that a front end builds, and what it may not do. */
START_TEST(modules_are_built) {
  laze_module *module;
  laze_graph *function, *graph, *odd;
  laze_value value, result;
  laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_F32, .rank = 1, .sizes = {3}};
  assert_ok(laze_module_create(context, &module, &error));
  assert_ok(laze_graph_create(context, "f", &function, &error));
  assert_ok(laze_graph_create(context, "g", &graph, &error));
  assert_ok(laze_graph_create(context, "a graph", &odd, &error));
  assert_error(laze_module_add(module, odd, false, &error),
               "graph \"a graph\": expected a name of letters, digits, '_' and '.' in a module");
  laze_graph_destroy(odd);
  assert_ok(laze_module_add(module, function, true, &error));
  assert_ok(laze_module_add(module, graph, false, &error));
  for (int i = 0; i < 2; i++) {
    assert_ok(laze_graph_add_parameter(module->graphs[i], module->graphs[i]->body, "x", &type, &value, &error));
    assert_ok(laze_block_set_results(module->graphs[i], module->graphs[i]->body, &value, 1, &error));
  }
  laze_attribute name = {.kind = LAZE_ARGUMENT_STRING, .present = true, .value.string = "f"};
  laze_call call = {.op = LAZE_OP_CALL, .operands = &value, .operand_count = 1, .attributes = &name};
  assert_error(laze_module_append_call(function, function->body, function, &call, &result, &error),
               "call: @f does not come before @f in one module");
  assert_error(laze_module_append_call(function, function->body, graph, &call, &result, &error),
               "call: @g is a graph; only functions are called");
  assert_ok(laze_module_append_call(graph, graph->body, function, &call, &result, &error));
  assert_ok(laze_block_set_results(graph, graph->body, &result, 1, &error));
  assert_ok(laze_module_verify(module, &error));
  /* What a graph needs before it is compiled refuses calls by their name. */
  laze_graph *copy;
  assert_error(laze_graph_copy(graph, &copy, &error), "call: @f is called, and calls are inlined before anything else");
  function->is_function = false;
  assert_error(laze_module_verify(module, &error), "node 1 (call): @f is no function before it in its module");
  function->is_function = true;
  graph->module = NULL;
  assert_error(laze_graph_verify(graph, &error), "node 1 (call): @f is no function before it in its module");
  graph->module = module;
  laze_module_destroy(module);
}
END_TEST

START_TEST(other_modules_differ) {
  static const char *const others[] = {
      "laze 1\ngraph @a(%x: f32[2]) {\n  return %x\n}\n",
      "laze 1\ngraph @b(%x: f32[2]) {\n  return %x\n}\n",
      "laze 1\nfunction @a(%x: f32[2]) {\n  return %x\n}\n",
      "laze 1\ngraph @a(%x: f32[2]) {\n  return %x, %x\n}\n",
      "laze 1\ngraph @a(%x: f32[2]) {\n  return %x\n}\ngraph @b(%x: f32[2]) {\n  return %x\n}\n",
      "laze 1\nfunction @f(%x: f32[2]) {\n  return %x\n}\nfunction @h(%x: f32[2]) {\n  return %x\n}\n"
      "graph @a(%x: f32[2]) {\n  %0 = call @f %x\n  return %0\n}\n",
      "laze 1\nfunction @f(%x: f32[2]) {\n  return %x\n}\nfunction @h(%x: f32[2]) {\n  return %x\n}\n"
      "graph @a(%x: f32[2]) {\n  %0 = call @h %x\n  return %0\n}\n",
  };
  enum { COUNT = sizeof others / sizeof *others };
  laze_module *modules[COUNT];
  for (int i = 0; i < COUNT; i++) modules[i] = parse_module(others[i]);
  for (int i = 0; i < COUNT; i++)
    for (int k = 0; k < COUNT; k++) {
      laze_text difference;
      laze_text_init(&difference, context);
      ck_assert_msg(laze_module_equal(modules[i], modules[k], &difference) == (i == k), "%d and %d", i, k);
      ck_assert_msg((difference.size == 0) == (i == k), "%d and %d: %s", i, k, laze_text_get(&difference));
      laze_text_deinit(&difference);
    }
  for (int i = 0; i < COUNT; i++) laze_module_destroy(modules[i]);
}
END_TEST

/* A node's place is its own, or that of the innermost call that has one; in text alone it is the line. */
START_TEST(places_of_calls_are_those_of_their_nodes) {
  laze_module *module = parse_module("laze 1\n"
                                     "function @f(%x: f32[n]) {\n"
                                     "  %0 = exp %x\n"
                                     "  %1 = neg %0 loc(\"own\")\n"
                                     "  return %1\n"
                                     "}\n"
                                     "function @h(%x: f32[n]) {\n"
                                     "  %0 = call @f %x\n"
                                     "  %1 = call @f %0 loc(\"inner\")\n"
                                     "  return %1\n"
                                     "}\n"
                                     "graph @g(%x: f32[3]) {\n"
                                     "  %0 = call @h %x loc(\"outer\")\n"
                                     "  %1 = call @f %0\n"
                                     "  return %1\n"
                                     "}\n");
  laze_graph *graph = inlined(module, NULL);
  laze_module_destroy(module);
  static const struct {
    const char *file;
    int32_t line;
  } expected[] = {{"outer", 0}, {"own", 0}, {"inner", 0}, {"own", 0}, {"m.lz", 3}, {"own", 0}};
  ck_assert_int_eq(graph->node_count, 7);
  for (int i = 0; i < 6; i++) {
    ck_assert_str_eq(graph->nodes[i + 1].location.file, expected[i].file);
    ck_assert_int_eq(graph->nodes[i + 1].location.line, expected[i].line);
  }
  laze_graph_destroy(graph);
}
END_TEST

/* A size that a value in a function gives is a new one in each call, and does not leave it. */
START_TEST(sizes_defined_in_functions_are_of_each_call) {
  static const char function[] = "laze 1\n"
                                 "function @head(%x: f32[n], %k: i64[]) {\n"
                                 "  %0 = size_from %k, size=u0\n"
                                 "  %1 = slice %x, end=u0\n"
                                 "  %2 = sum %1\n"
                                 "  return %2";
  char text[1024];
  laze_module *module;
  snprintf(text, sizeof text,
           "%s\n}\ngraph @g(%%x: f32[8], %%k: i64[]) {\n  %%0 = call @head %%x, %%k\n  %%1 = call @head %%x, %%k\n"
           "  return %%0, %%1\n}\n",
           function);
  module = parse_module(text);
  laze_graph *graph = inlined(module, NULL);
  laze_module_destroy(module);
  ck_assert_int_eq(laze_size_defined_count(graph->sizes), 2);
  char *printed = print(graph);
  ck_assert_msg(strstr(printed, "size=u0") && strstr(printed, "size=u1"), "%s", printed);
  laze_graph *again = parse(printed);
  assert_equal_graphs(graph, again);
  laze_free(context, printed);
  laze_graph_destroy(again);
  laze_graph_destroy(graph);
  snprintf(text, sizeof text, "%s, %%1\n}\ngraph @g(%%x: f32[8], %%k: i64[]) {\n  %%0:2 = call @head %%x, %%k\n",
           function);
  assert_error(read_module(text, &module), "m.lz:9:10: call: result 1 of @head is f32[min(n, u0)], whose axis 0 has a "
                                           "size that a value in it gives; return that value");
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, modules_print_as_they_are);
  tcase_add_test(tests, calls_are_inlined);
  tcase_add_test(tests, functions_nest);
  tcase_add_test(tests, facts_of_functions_are_asked_of_calls);
  tcase_add_loop_test(tests, malformed_calls_are_located, 0, (int)(sizeof malformed / sizeof *malformed));
  tcase_add_test(tests, one_graph_is_chosen);
  tcase_add_test(tests, modules_are_built);
  tcase_add_test(tests, other_modules_differ);
  tcase_add_test(tests, places_of_calls_are_those_of_their_nodes);
  tcase_add_test(tests, sizes_defined_in_functions_are_of_each_call);
}

int main(void) {
  return run_suite("module", add_tests);
}
