#include "tests/unit/ir/ir_test.h"

#include <stdio.h>
#include <time.h>

/* Prints, parses what it printed, and expects the same text and an equal graph. */
static void assert_round_trip(const char *text) {
  laze_graph *graph = parse(text);
  assert_ok(laze_graph_verify(graph, &error));
  char *printed = print(graph);
  ck_assert_str_eq(printed, text);
  laze_graph *again = parse(printed);
  assert_equal_graphs(graph, again);
  laze_free(context, printed);
  laze_graph_destroy(graph);
  laze_graph_destroy(again);
}

START_TEST(prints_the_example) {
  assert_round_trip("laze 1\n"
                    "graph @dense(%x: f32[n,784], %w: f32[784,10], %b: f32[10]) -> f32[n,10] {\n"
                    "  %0 = mm %x, %w : f32[n,10]\n"
                    "  %1 = add %0, %b : f32[n,10]\n"
                    "  return %1\n"
                    "}\n");
}
END_TEST

/* Attributes in schema order without defaults, lists of values, absent operands, several results, no results. */
START_TEST(prints_arguments) {
  assert_round_trip("laze 1\n"
                    "graph @g(%x: f32[2,3], %y: f32[2,3]) -> f32[2,1], f32[4,3], f32[1,3] {\n"
                    "  %0 = sum %x, dim=[1], keepdim=true : f32[2,1]\n"
                    "  %1 = cat [%x, %y] : f32[4,3]\n"
                    "  %2 = slice %x, end=1 : f32[1,3]\n"
                    "  return %0, %1, %2\n"
                    "}\n");
  assert_round_trip("laze 1\ngraph @nothing() {\n  return\n}\n");
}
END_TEST

/* Every bit of a constant survives: payloads, signs and the quiet bit of NaNs, -0, subnormals, extremes. */
START_TEST(constants_are_bit_exact) {
  assert_round_trip(
      "laze 1\n"
      "graph @g() -> f32[8], f64[5], i64[2], i32[2], bool[2], f32[], f32[0], f32[1,2] {\n"
      "  %0 = constant [nan, nan(0x7fc00001), nan(0xffc00000), nan(0x7f800001), -0.0, inf, -inf, 1e-45] : f32[8]\n"
      "  %1 = constant [nan, nan(0x7ff8000000000001), nan(0x7ff0000000000001), 5e-324, 0.1] : f64[5]\n"
      "  %2 = constant [-9223372036854775808, 9223372036854775807] : i64[2]\n"
      "  %3 = constant [-2147483648, 7] : i32[2]\n"
      "  %4 = constant [true, false] : bool[2]\n"
      "  %5 = constant 3.4028235e+38 : f32[]\n"
      "  %6 = constant [] : f32[0]\n"
      "  %7 = constant [1.0, 2.0] : f32[1,2]\n"
      "  return %0, %1, %2, %3, %4, %5, %6, %7\n"
      "}\n");
}
END_TEST

START_TEST(random_bits_are_kept) {
  unsigned seed = (unsigned)time(NULL);
  printf("random_bits_are_kept: seed %u\n", seed);
  srand(seed);
  for (int round = 0; round < 50; round++) {
    uint32_t bits[16];
    for (int i = 0; i < 16; i++) bits[i] = (uint32_t)rand() << 16 ^ (uint32_t)rand();
    laze_size sizes[] = {16};
    laze_attribute attributes[] = {
        laze_attribute_dtype(LAZE_F32),
        laze_attribute_sizes(sizes, 1),
        {.kind = LAZE_ARGUMENT_DATA, .present = true, .value.data = laze_data_of(bits, sizeof bits)},
    };
    laze_call call = {.op = LAZE_OP_CONSTANT, .attributes = attributes};
    laze_graph *graph;
    laze_value value;
    assert_ok(laze_graph_create(context, "bits", &graph, &error));
    assert_ok(laze_graph_append(graph, graph->body, &call, &value, &error));
    assert_ok(laze_block_set_results(graph, graph->body, &value, 1, &error));
    char *text = print(graph);
    laze_graph *again = parse(text);
    ck_assert_mem_eq(again->nodes[0].attributes[2].value.data.bytes, bits, sizeof bits);
    laze_free(context, text);
    laze_graph_destroy(graph);
    laze_graph_destroy(again);
  }
}
END_TEST

START_TEST(regions_round_trip) {
  assert_round_trip("laze 1\n"
                    "graph @g(%x: f32[4], %c: bool[], %i: i64[]) -> f32[4], i64[], f32[] {\n"
                    "  %0:2 = while [%x, %i] (%1: f32[4], %2: i64[]) {\n"
                    "    %3 = constant 10 : i64[]\n"
                    "    %4 = lt %2, %3 : bool[]\n"
                    "    return %4\n"
                    "  } (%5: f32[4], %6: i64[]) {\n"
                    "    %7 = lt %6, %6 : bool[]\n"
                    "    %8 = if %7, [%5] (%9: f32[4]) {\n"
                    "      %10 = exp %9 : f32[4]\n"
                    "      return %10\n"
                    "    } (%11: f32[4]) {\n"
                    "      return %11\n"
                    "    } : f32[4]\n"
                    "    return %8, %6\n"
                    "  } : f32[4], i64[]\n"
                    "  %12 = constant 0.0 : f32[]\n"
                    "  %13 = reduce %x, [%12], dim=[0] (%14: f32[], %15: f32[]) {\n"
                    "    %16 = add %14, %15 : f32[]\n"
                    "    return %16\n"
                    "  } : f32[]\n"
                    "  return %0#0, %0#1, %13\n"
                    "}\n");
}
END_TEST

/* Captured values are listed in the order of their first use, once each however often and in which region they are
 * used; there are enough of them that a search through the list for every use would show. */
START_TEST(captures_are_listed_once) {
  enum { VALUES = 20000, ROOM = 4 << 20 };
  char *text = calloc(1, ROOM), *at = text;
  at += sprintf(at, "laze 1\ngraph @g(%%x: f32[4], %%c: bool[]) -> f32[4] {\n");
  for (int i = 0; i < VALUES; i++) at += sprintf(at, "  %%v%d = neg %%x\n", i);
  at += sprintf(at, "  %%r = if %%c {\n");
  for (int i = VALUES; i-- > 0;) at += sprintf(at, "    %%a%d = add %%v%d, %%v%d\n", i, i, VALUES - 1 - (i & 1));
  at += sprintf(at, "    return %%a0\n  } {\n");
  for (int i = 0; i < VALUES; i++) at += sprintf(at, "    %%b%d = neg %%v%d\n", i, i);
  at += sprintf(at, "    return %%x\n  }\n  return %%r\n}\n");
  ck_assert_int_lt(at - text, ROOM);
  laze_graph *graph = parse(text);
  assert_ok(laze_graph_verify(graph, &error));
  const laze_node *node = &graph->nodes[graph->body->results[0].node];
  ck_assert_int_eq(node->operand_count, 1 + VALUES + 1); /* the condition, the values, x */
  for (int i = 0; i < VALUES; i++) {
    const laze_node *captured = &graph->nodes[node->operands[1 + i].node];
    ck_assert_int_eq(captured->op, LAZE_OP_NEG);
    if (i > 2) ck_assert_int_lt(node->operands[1 + i].node, node->operands[i].node);
  }
  ck_assert_int_eq(node->operands[1 + VALUES].node, graph->body->parameters[0]);
  laze_graph_destroy(graph);
  free(text);
}
END_TEST

START_TEST(nesting_is_bounded) {
  char *text = calloc(1, 100000);
  strcat(text, "laze 1\ngraph @g(%x: f32[4], %c: bool[]) {\n");
  for (int i = 0; i < 65; i++) strcat(text, "%r = if %c, [%c] (%c: bool[]) {\n");
  laze_graph *graph;
  assert_error(laze_graph_parse(context, text, (int64_t)strlen(text), "deep.lz", &graph, &error),
               "deep.lz:67:6: graph g: regions nest more than 64 deep");
  free(text);
}
END_TEST

/* What a person may write, beside what is printed: literals, missing types and overloads, comments, own names. */
START_TEST(accepts_short_forms) {
  laze_graph *graph = parse("laze 1  // the version\n"
                            "graph @g(%x: f64[3], %i: i64[2]) -> f64[3], i64[2] {\n"
                            "  // a comment\n"
                            "  %half = mul %x, 0.1\n"
                            "  %more = mul.Tensor %i, 3 : i64[2]\n"
                            "  return %half, %more\n"
                            "}\n");
  const laze_node *mul = laze_graph_node(graph, graph->body->results[0]);
  ck_assert_int_eq(mul->op, LAZE_OP_MUL);
  ck_assert_str_eq(mul->location.file, "t.lz");
  ck_assert_int_eq(mul->location.line, 4);
  assert_ok(laze_graph_verify(graph, &error));
  laze_graph_destroy(graph);
}
END_TEST

/* Names are outside of equality; what the text form cannot say is replaced. */
START_TEST(odd_names_print) {
  laze_graph *graph;
  laze_value value;
  laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_F32};
  assert_ok(laze_graph_create(context, "my graph", &graph, &error));
  assert_ok(laze_graph_add_parameter(graph, graph->body, "x", &type, &value, &error));
  assert_ok(laze_graph_add_parameter(graph, graph->body, "x", &type, &value, &error));
  assert_ok(laze_graph_add_parameter(graph, graph->body, "0 a", &type, &value, &error));
  assert_ok(laze_graph_add_parameter(graph, graph->body, NULL, &type, &value, &error));
  assert_ok(laze_block_set_results(graph, graph->body, &value, 1, &error));
  assert_prints(graph, "laze 1\n"
                       "graph @my_graph(%x: f32[], %x.1: f32[], %_0_a: f32[], %arg3: f32[]) -> f32[] {\n"
                       "  return %arg3\n"
                       "}\n");
  laze_graph_destroy(graph);
}
END_TEST

/* Of all bytes exactly letters, digits, "_" and "." are part of a name; a graph whose names hold others is printed with
 * names that can be read. */
START_TEST(every_byte_is_in_names_or_not) {
  for (int c = 1; c < 256; c++) {
    char text[128], name[] = {'a', (char)c, 'b', 0}, first[] = {(char)c, 'b', 0};
    bool expected = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.", c) != NULL;
    laze_graph *graph = NULL;
    snprintf(text, sizeof text, "laze 1\ngraph @g(%%%s: f32[]) -> f32[] {\n  return %%%s\n}\n", name, name);
    laze_status status = laze_graph_parse(context, text, (int64_t)strlen(text), "t.lz", &graph, &error);
    ck_assert_msg((status == LAZE_OK) == expected, "byte %d: %s", c, status ? error.message : "accepted");
    if (graph) ck_assert_str_eq(graph->nodes[graph->body->parameters[0]].name, name);
    laze_graph_destroy(graph);
    const laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_F32};
    laze_value value;
    assert_ok(laze_graph_create(context, name, &graph, &error));
    assert_ok(laze_graph_add_parameter(graph, graph->body, name, &type, &value, &error));
    assert_ok(laze_graph_add_parameter(graph, graph->body, first, &type, &value, &error));
    assert_ok(laze_block_set_results(graph, graph->body, &value, 1, &error));
    char *printed = print(graph);
    ck_assert_msg((strstr(printed, name) != NULL) == expected, "byte %d: %s", c, printed);
    laze_graph_destroy(parse(printed));
    laze_free(context, printed);
    laze_graph_destroy(graph);
  }
}
END_TEST

/* Without the `sizes` line, reading would number the symbols differently and forget what they stand for. */
START_TEST(hints_and_order_of_symbols_survive) {
  assert_round_trip("laze 1\nsizes n=0\ngraph @g(%x: f32[n]) -> f32[n] {\n  return %x\n}\n");
  const char *text = "laze 1\n"
                     "sizes n=32, m=32\n"
                     "graph @g(%x: f32[m,n], %y: f32[n,m]) -> f32[m,n] {\n"
                     "  %0 = add %x, %y : f32[m,n]\n"
                     "  return %0\n"
                     "}\n";
  assert_round_trip(text);
  laze_graph *graph = parse(text);
  int64_t facts;
  ck_assert_ptr_nonnull(laze_size_facts(graph->sizes, &facts));
  ck_assert_int_eq(facts, 1);
  ck_assert_str_eq(laze_size_symbol_name(graph->sizes, 0), "n");
  laze_graph_destroy(graph);
}
END_TEST

/* The only operators with strings are composites that parsing expands, so the node is put together by hand. A string
 * may hold anything but NUL; what would end it, or a line, is escaped. */
START_TEST(strings_are_escaped_where_they_must_be) {
  laze_graph *graph = parse("laze 1\n"
                            "graph @g(%x: f32[2], %y: f32[2]) -> f32[2] {\n"
                            "  %0 = floor_divide %x, %y\n"
                            "  return %0\n"
                            "}\n");
  laze_attribute mode = {
      .kind = LAZE_ARGUMENT_STRING, .present = true, .value.string = "\"a\\b\x01\x1f \x7f\xc3\xa9\n, x=[1]"};
  laze_node *node = &graph->nodes[graph->body->nodes[0]];
  node->op = laze_op_find("div.Tensor_mode");
  node->attributes = &mode;
  ck_assert_int_eq(laze_op_get(node->op)->attribute_count, 1);
  assert_prints(graph, "laze 1\n"
                       "graph @g(%x: f32[2], %y: f32[2]) -> f32[2] {\n"
                       "  %0 = div %x, %y, rounding_mode=\"\\\"a\\\\b\\x01\\x1f \\x7f\xc3\xa9\\x0a, x=[1]\" : f32[2]\n"
                       "  return %0\n"
                       "}\n");
  laze_graph_destroy(graph);
}
END_TEST

START_TEST(strings_are_read) {
  static const struct {
    const char *text, *op;
  } cases[] = {{"\"floor\"", "floor_divide"},
               {"\"\\x66lo\\x6fr\" : f32[2]", "floor_divide"},
               {"\"tr\\x75nc\"", "trunc_divide"},
               {"none", "div.Tensor"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "laze 1\ngraph @g(%%x: f32[2], %%y: f32[2]) -> f32[2] {\n  %%0 = div %%x, %%y, rounding_mode=%s\n  return "
             "%%0\n}\n",
             cases[i].text);
    laze_graph *graph = parse(text);
    ck_assert_str_eq(laze_op_get(laze_graph_node(graph, graph->body->results[0])->op)->name, cases[i].op);
    laze_graph_destroy(graph);
  }
}
END_TEST

/* Every byte but NUL can be written as two hexadecimal digits; what is none is no escape. */
START_TEST(every_byte_has_an_escape) {
  char text[256], expected[64];
  for (int high = 1; high < 256; high++)
    for (int low = '/'; low <= 'g'; low++) {
      static const char digits[] = "0123456789abcdef";
      const char *first = high < 128 ? strchr(digits, high) : NULL, *second = strchr(digits, low);
      if (high == '"' || high == '\n' || low == '\\') continue; /* they end the string, or begin another escape */
      snprintf(text, sizeof text,
               "laze 1\ngraph @g(%%x: f32[]) {\n  %%0 = div %%x, %%x, rounding_mode=\"\\x%c%c\"\n  return\n}\n", high,
               low);
      int byte = first && second ? (int)(16 * (first - digits) + (second - digits)) : -1;
      snprintf(expected, sizeof expected, byte < 0 ? "unknown escape" : "rounding_mode is '%c'", byte);
      laze_graph *graph = NULL;
      ck_assert_int_ne(laze_graph_parse(context, text, (int64_t)strlen(text), "t.lz", &graph, &error), LAZE_OK);
      ck_assert_msg(strstr(error.message, expected) || byte == 0, "\\x%c%c: %s", high, low, error.message);
    }
}
END_TEST

#define DIVIDED(mode) "laze 1\ngraph @g(%x: f32[2]) {\n  %0 = div %x, %x, rounding_mode=" mode "\n  return\n}\n"

static const struct {
  const char *text, *message;
} malformed[] = {
    {DIVIDED("\"up, [\\\"\\\\\\x0a:\""),
     "e.lz:3:8: div: rounding_mode is 'up, [\"\\\n:', expected 'floor', 'trunc' or none"},
    {DIVIDED("\"\""), "e.lz:3:8: div: rounding_mode is '', expected"},
    {DIVIDED("\"fl\\oor\""),
     "e.lz:3:34: attribute 'rounding_mode': unknown escape in a string; write \\\", \\\\ or \\x0a"},
    {DIVIDED("\"floo\\x7\""), "e.lz:3:34: attribute 'rounding_mode': unknown escape"},
    {DIVIDED("\"floo\\x7G\""), "e.lz:3:34: attribute 'rounding_mode': unknown escape"},
    {DIVIDED("\"floo\\x7`\""), "e.lz:3:34: attribute 'rounding_mode': unknown escape"},
    {DIVIDED("\"floo\\x:2\""), "e.lz:3:34: attribute 'rounding_mode': unknown escape"},
    {DIVIDED("\"floo\\x/2\""), "e.lz:3:34: attribute 'rounding_mode': unknown escape"},
    /* A string that does not end took the rest of the text into the place of its line. */
    {DIVIDED("\"floor"), "e.lz:3:34: attribute 'rounding_mode': the string does not end on its line"},
    {DIVIDED("\"floor\\\""), "e.lz:3:34: attribute 'rounding_mode': the string does not end on its line"},
    {DIVIDED("\"floor\\"), "e.lz:3:34: attribute 'rounding_mode': unknown escape"},
    {DIVIDED("\"floor\" 1"), "e.lz:3:"},
    {DIVIDED("1"), "e.lz:3:8: div"},
    {"", "e.lz:1:1: expected 'laze 1' at the start, found the end"},
    {"graph @g() { return }", "e.lz:1:1: expected 'laze 1' at the start, found 'graph'"},
    {"laze 2\ngraph @g() { return }", "e.lz:1:6: expected version 1, which is what this build reads, found '2'"},
    {"laze 1\nmodule @g() { return }", "e.lz:2:1: expected 'graph' or 'function', found 'module'"},
    {"laze 1\ngraph g() { return }", "e.lz:2:7: expected the graph's name, found 'g'"},
    {"laze 1\ngraph @g(x: f32[]) { return }", "e.lz:2:10: expected a parameter, found 'x'"},
    {"laze 1\ngraph @g(%x f32[]) { return }", "e.lz:2:13: expected ':', found 'f32'"},
    {"laze 1\ngraph @g(%x: f33[]) { return }", "e.lz:2:14: "},
    {"laze 1\ngraph @g(%x: f32[-3]) { return }", "e.lz:2:14: "},
    {"laze 1\ngraph @g(%x: f32[], %x: f32[]) { return }", "e.lz:2:21: %x is defined twice"},
    {"laze 1\ngraph @g(%x: f32[] { return }", "e.lz:2:20: expected ',', found '{'"},
    {"laze 1\ngraph @g(%x: f32[]) -> { return }", "e.lz:2:24: expected a type, found '{'"},
    {"laze 1\ngraph @g(%x: f32[])", "e.lz:2:20: expected '{', found the end"},
    {"laze 1\ngraph @g(%x: f32[]) {\n", "e.lz:3:1: expected a statement or 'return', found the end"},
    {"laze 1\ngraph @g(%x: f32[]) {\n  exp %x\n", "e.lz:3:3: expected a statement or 'return', found 'exp'"},
    {"laze 1\ngraph @g(%x: f32[]) {\n  %0 exp %x\n", "e.lz:3:6: expected '=', found 'exp'"},
    {"laze 1\ngraph @g(%x: f32[]) {\n  %0 = 3\n", "e.lz:3:8: expected an operator, found '3'"},
    {"laze 1\ngraph @g(%x: f32[]) {\n  %0 = frobnicate %x\n", "e.lz:3:8: there is no operator 'frobnicate'"},
    {"laze 1\ngraph @g(%x: f32[]) {\n  %0 = exp %y\n", "e.lz:3:12: there is no value %y before this line"},
    {"laze 1\ngraph @g(%x: f32[]) {\n  %0 = exp %x, %x\n", "e.lz:3:8: exp: more operands than it takes (1)"},
    {"laze 1\ngraph @g(%x: f32[]) {\n  %0 = exp\n", "e.lz:3:8: exp: argument 'self' is missing"},
    {"laze 1\ngraph @g(%x: f32[]) {\n  %0 = exp %x, dim=1\n", "e.lz:3:8: exp: it has no argument 'dim'"},
    {"laze 1\ngraph @g(%x: f32[]) {\n  %0 = exp [%x]\n",
     "e.lz:3:8: exp: argument 'self' is Tensor, given a list of tensors"},
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0 = permute %x, dims=[0\n",
     "e.lz:3:25: attribute 'dims': expected ',' or ']'"},
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0 = permute %x, dims=[n]\n",
     "e.lz:3:8: permute: argument 'dims' is int[], given a list of sizes"},
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0 = permute %x, dims=[1]\n", "e.lz:3:8: permute"},
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0 = to %x, dtype=f128\n",
     "e.lz:3:8: to: no overload takes these arguments:\n"
     "  to.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a): argument 'dtype' is ScalarType (such as f32), "
     "given a size"},
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0 = exp %x : f64[2]\n", "e.lz:3:17: result 0 has type f32[2], not f64[2]"},
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0:2 = exp %x\n", "e.lz:3:10: exp gives 1 results; write %0:1"},
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0:2147483648 = exp %x\n", "e.lz:3:6: expected the number of results"},
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0 = exp %x#1\n", "e.lz:3:15: %x has 1 results, numbered from 0"},
    {"laze 1\ngraph @g() {\n  %0 = constant 1.5\n", "e.lz:4:1: expected ':' and the constant's type"},
    {"laze 1\ngraph @g() {\n  %0 = constant [1.0, 2.0] : f32[3]\n",
     "e.lz:3:17: constant: 2 elements do not make f32[3]"},
    {"laze 1\ngraph @g() {\n  %0 = constant [1.0] : f32[4611686018427387904]\n", "e.lz:3:"},
    {"laze 1\ngraph @g() {\n  %0 = constant 3000000000 : i32[]\n",
     "e.lz:3:17: constant: element 0 is no i32 that fits"},
    {"laze 1\ngraph @g() {\n  %0 = constant 1e99 : f32[]\n", "e.lz:3:17: constant: element 0 is no f32 that fits"},
    {"laze 1\ngraph @g() {\n  %0 = constant nan(0x3f800000) : f32[]\n", "e.lz:3:17: constant: element 0 is no f32"},
    {"laze 1\ngraph @g() {\n  %0 = constant [1.0 2.0] : f32[2]\n",
     "e.lz:3:17: constant: 1 elements do not make f32[2]"},
    {"laze 1\ngraph @g(%x: f32[2]) -> f32[2] {\n  return\n}", "e.lz:3:3: returns 0 values, but the header declares 1"},
    {"laze 1\ngraph @g(%x: f32[2]) -> f32[3] {\n  return %x\n}",
     "e.lz:3:3: returns f32[2] as result 0, but the header declares f32[3]"},
    {"laze 1\ngraph @g() {\n  return\n}\n}", "e.lz:5:1: expected 'graph' or 'function', found '}'"},
    {"laze 1\ngraph @g() {\n  \x01", "e.lz:3:3: expected a statement or 'return', found byte 0x01"},
    {"laze 1\ngraph @g(%x: f32[2], %c: bool[]) {\n  %0 = if %c {\n    %1 = neg %x\n    return %1\n  } {\n    return "
     "%1\n",
     "e.lz:7:12: there is no value %1 before this line"},
    {"laze 1\ngraph @g(%x: f32[2], %c: bool[]) {\n  %0 = if %c {\n    return %x\n  } {\n    return %0\n",
     "e.lz:6:12: there is no value %0 before this line"},
    {"laze 1\ngraph @g(%x: f32[2], %i: f32[]) {\n  %0 = reduce %x, [%i], dim=[0] (%a: f32[], %b: f32[]) {\n"
     "    %1 = mul %a, %x\n    return %b\n  }\n",
     "e.lz:3:8: reduce: operand 2 has type f32[2], expected f32[]"},
    {"laze 1\ngraph @g(%x: f32[2], %c: bool[]) {\n  %0 = if %c, [%x]\n  return\n}",
     "e.lz:4:3: expected '(', found 'return'"},
    {"laze 1\ngraph @g() {\n  %0 = constant -infx : f32[]\n", "e.lz:3:17: constant: element 0 is no f32 that fits"},
    {"laze 1\ngraph @g() {\n  %0 = constant -inf_ : f32[]\n", "e.lz:3:17: constant: element 0 is no f32 that fits"},
    {"laze 1\nsizes n=-infx\ngraph @g() {\n  return\n}", "e.lz:2:9: expected the value of a size, found '-'"},
    {"laze 1\nsizes n=-inf\ngraph @g() {\n  return\n}", "e.lz:2:9: expected the value of a size, found '-inf'"},
    {"laze 1\nsizes n=-1\ngraph @g() {\n  return\n}", "e.lz:2:9: expected the value of a size"},
    {"laze 1\nsizes n=-2\ngraph @g() {\n  return\n}", "e.lz:2:9: expected the value of a size"},
    {"laze 1\nsizes n, n\ngraph @g() {\n  return\n}", "e.lz:2:10: expected the name of a size that is not listed yet"},
    {"laze 1\ngraph @g(%x: f32[2]) {\n  %0 = parameter\n", "e.lz:3:8: parameters stand in the header of a block"},
};

START_TEST(malformed_input_is_located) {
  const char *text = malformed[_i].text;
  laze_graph *graph = NULL;
  error.message[0] = 0;
  ck_assert_int_ne(laze_graph_parse(context, text, (int64_t)strlen(text), "e.lz", &graph, &error), LAZE_OK);
  ck_assert_ptr_null(graph);
  ck_assert_msg(strncmp(error.message, malformed[_i].message, strlen(malformed[_i].message)) == 0,
                "case %d: got      '%s'\nexpected '%s'", _i, error.message, malformed[_i].message);
}
END_TEST

static const char *valid =
    "laze 1\nsizes n=3\n"
    "graph @g(%x: f32[n,4], %w: f32[4,2], %c: bool[]) -> f32[n,2], f32[n], f32[n,4] {\n"
    "  %0 = mm %x, %w : f32[n,2]\n"
    "  %1 = sum %x, dim=[1], keepdim=false : f32[n]\n"
    "  %2 = constant [1.0, nan(0x7fc00001), -inf, 1e-3] : f32[4]\n"
    "  %3 = mul %x, 2.5 name(\"scale\") loc(\"m.onnx:1\")\n"
    "  %h = constant hex=\"0000803f0100c07f\" : f32[2]\n"
    "  %o = constant hex=\"0100\" : bool[2]\n"
    "  %4 = cat [%3, %x], dim=1 : f32[n,8]\n"
    "  %5 = reshape %4, shape=[n*2, 4] : f32[n*2,4]\n"
    "  %6:1 = if %c, [%3] (%a: f32[n,4]) {\n    %b = exp %a\n    return %b\n  } (%a: f32[n,4]) "
    "{\n    return %a\n  } : f32[n,4]\n"
    "  %7:2 = scan [%w], [%x] (%s: f32[4,2], %r: f32[4]) {\n    %9 = add %s, %w\n"
    "    return %9, %r\n  } : f32[4,2], f32[n,4]\n"
    "  %8 = while [%1] (%a: f32[n]) {\n    return %c\n  } (%b: f32[n]) {\n    %d = if %c {\n"
    "      %e = add %b, %1\n      return %e\n    } {\n      return %b\n    }\n    return %d\n  }\n"
    "  %k = size_tensor value=n\n  %u = dynamic_slice %x, %k, dim=1, length=2\n"
    "  %v = dynamic_update %x, %u, %k, dim=1\n"
    "  return %0, %1, %6\n}\n";

/* Damaged text is refused or read as some valid graph; it never crashes (run under the sanitisers). */
START_TEST(damaged_text_never_crashes) {
  unsigned seed = (unsigned)time(NULL);
  int parsed = 0;
  printf("damaged_text_never_crashes: seed %u\n", seed);
  srand(seed);
  laze_graph_destroy(parse(valid));
  size_t length = strlen(valid);
  for (int round = 0; round < 20000; round++) {
    char *text = malloc(length);
    memcpy(text, valid, length);
    size_t size = rand() % 8 == 0 ? (size_t)rand() % length : length;
    for (int flips = 1 + rand() % 4; flips > 0 && size > 0; flips--) {
      static const char likely[] = "%@()[]{}:,=#-\"0n\n \\.";
      char fresh = rand() % 2 ? likely[(size_t)rand() % (sizeof likely - 1)] : (char)(rand() % 256);
      text[(size_t)rand() % size] = fresh;
    }
    laze_graph *graph = NULL;
    if (laze_graph_parse(context, text, (int64_t)size, "t.lz", &graph, &error) == LAZE_OK) {
      parsed++;
      ck_assert_msg(laze_graph_verify(graph, &error) == LAZE_OK, "%s: %.*s", error.message, (int)size, text);
    }
    laze_graph_destroy(graph);
    free(text);
  }
  ck_assert_int_gt(parsed, 0);
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, prints_the_example);
  tcase_add_test(tests, prints_arguments);
  tcase_add_test(tests, constants_are_bit_exact);
  tcase_add_test(tests, random_bits_are_kept);
  tcase_add_test(tests, regions_round_trip);
  tcase_add_test(tests, captures_are_listed_once);
  tcase_add_test(tests, nesting_is_bounded);
  tcase_add_test(tests, accepts_short_forms);
  tcase_add_test(tests, odd_names_print);
  tcase_add_test(tests, every_byte_is_in_names_or_not);
  tcase_add_test(tests, hints_and_order_of_symbols_survive);
  tcase_add_test(tests, strings_are_escaped_where_they_must_be);
  tcase_add_test(tests, strings_are_read);
  tcase_add_test(tests, every_byte_has_an_escape);
  tcase_add_loop_test(tests, malformed_input_is_located, 0, (int)(sizeof malformed / sizeof *malformed));
  tcase_add_test(tests, damaged_text_never_crashes);
}

int main(void) {
  return run_suite("text", add_tests);
}
