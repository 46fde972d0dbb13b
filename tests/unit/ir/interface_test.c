/* laze/graph.h: graphs that programs build, read and look at. What is wrong is said, and nothing else changes. */
#include "laze/graph.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/status.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static laze_context *context;
static laze_graph *graph;
static laze_error error;

static void set_up(void) {
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .debug = ""};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  ck_assert_int_eq(laze_graph_create(context, "g", &graph, &error), LAZE_OK);
}

static void tear_down(void) {
  laze_graph_release(graph);
  laze_context_release(context);
}

static laze_value input(const char *name, laze_dtype dtype, laze_ints sizes) {
  laze_value value;
  assert_ok(laze_graph_add_input(graph, name, dtype, sizes, &value, &error));
  return value;
}

static int64_t size_of(const char *expression) {
  int64_t size;
  assert_ok(laze_graph_size(graph, expression, &size, &error));
  return size;
}

static laze_argument value_argument(laze_value value) {
  return (laze_argument){.kind = LAZE_PASS_VALUE, .value.value = value};
}

static laze_status record(const char *name, const laze_argument *arguments, int32_t count, laze_value *out) {
  const laze_graph_call call = {
      .struct_size = sizeof call, .name = name, .arguments = arguments, .argument_count = count};
  return laze_graph_record_call(graph, &call, out, 4, NULL, &error);
}

static void assert_text(const char *expected) {
  char text[4096];
  assert_ok(laze_graph_format(graph, text, sizeof text, NULL, &error));
  ck_assert_str_eq(text, expected);
}

/* Numbers become constants, sizes are expressions, defaults are filled in, and an overload follows from what is passed:
 * a plugin that maps calls one to one gets the graph that the text form means. */
START_TEST(calls_are_recorded_as_the_text_form_reads_them) {
  const laze_value x = input("x", LAZE_F32, LAZE_SHAPE(size_of("n"), 4));
  laze_value y, z, w;
  const laze_argument add[] = {value_argument(x), {.kind = LAZE_PASS_REAL, .value.real = 2}};
  assert_ok(record("add", add, 2, &y));
  const int64_t sizes[] = {size_of("4*n")};
  const laze_argument reshape[] = {value_argument(y),
                                   {.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = sizes}};
  assert_ok(record("reshape", reshape, 2, &z));
  const laze_argument sum[] = {value_argument(x),
                               {.name = "keepdim", .kind = LAZE_PASS_BOOL, .value.integer = 1},
                               {.name = "dim", .kind = LAZE_PASS_INTEGER, .value.integer = 1}};
  assert_ok(record("sum", sum, 3, &w));
  assert_ok(laze_graph_set_results(graph, LAZE_VALUES(z, w), &error));
  assert_text("laze 1\n"
              "graph @g(%x: f32[n,4]) -> f32[n*4], f32[n,1] {\n"
              "  %0 = constant 2.0 : f64[]\n"
              "  %1 = to %0, dtype=f32 : f32[]\n"
              "  %2 = add %x, %1 : f32[n,4]\n"
              "  %3 = reshape %2, shape=[n*4] : f32[n*4]\n"
              "  %4 = sum %x, dim=[1], keepdim=true : f32[n,1]\n"
              "  return %3, %4\n"
              "}\n");
  assert_ok(laze_graph_verify(graph, &error));
}
END_TEST

/* Text is the interface between programs: what is written is read as an equal graph. */
/* A front end that knows a shape says so: without, "n" of cut rows and what it knows them to be are two sizes, and a
 * program for both would be refused when it runs. */
START_TEST(a_size_with_a_number_answers_questions) {
  assert_ok(laze_graph_hint_size(graph, "n", 6, &error));
  const laze_value x = input("x", LAZE_F32, LAZE_SHAPE(size_of("n"), 4));
  const laze_value y = input("y", LAZE_F32, LAZE_SHAPE(size_of("max(1, n)"), 4));
  laze_value sum;
  const laze_argument add[] = {value_argument(x), value_argument(y)};
  assert_ok(record("add.Tensor", add, 2, &sum));
  assert_ok(laze_graph_set_results(graph, LAZE_VALUES(sum), &error));
  assert_text("laze 1\nsizes n=6\n"
              "graph @g(%x: f32[n,4], %y: f32[max(n, 1),4]) -> f32[n,4] {\n"
              "  %0 = add %x, %y : f32[n,4]\n"
              "  return %0\n}\n");
  assert_fails(laze_graph_hint_size(graph, "n", -1, &error), LAZE_INVALID_ARGUMENT, "the number is negative");
  assert_fails(laze_graph_hint_size(graph, "2*k", 4, &error), LAZE_INVALID_ARGUMENT, "cannot name a size");
  assert_fails(laze_graph_hint_size(graph, "7", 4, &error), LAZE_INVALID_ARGUMENT, "cannot name a size");
  assert_fails(laze_graph_hint_size(NULL, "n", 4, &error), LAZE_INVALID_ARGUMENT, "no graph");
  assert_fails(laze_graph_hint_size(graph, NULL, 4, &error), LAZE_INVALID_ARGUMENT, "no name");
}
END_TEST

START_TEST(text_goes_both_ways) {
  char text[1024];
  size_t needed;
  laze_graph *again;
  laze_value y;
  const laze_value x = input(NULL, LAZE_I32, LAZE_SHAPE(3));
  assert_ok(laze_graph_record(graph, "mul", LAZE_VALUES(x, x), &y, &error));
  assert_ok(laze_graph_set_results(graph, LAZE_VALUES(y, x), &error));
  assert_ok(laze_graph_format(graph, NULL, 0, &needed, &error));
  assert_ok(laze_graph_format(graph, text, sizeof text, NULL, &error));
  ck_assert_uint_eq(strlen(text), needed);
  assert_ok(laze_graph_parse(context, text, (int64_t)needed, "memory", &again, &error));
  assert_ok(laze_graph_compare(graph, again, &error));
  laze_graph_release(again);
  ck_assert_int_eq(laze_graph_format(graph, text, 9, &needed, &error), LAZE_OK);
  ck_assert_str_eq(text, "laze 1\ng");
  assert_fails(laze_graph_parse(context, "laze 1\ngraph", 12, "memory", &again, &error), LAZE_INVALID_ARGUMENT,
               "memory:2:");
}
END_TEST

/* Graphs that differ say where: a front end's test reads the sentence. */
START_TEST(comparing_names_the_difference) {
  static const char one[] = "laze 1\ngraph @a(%x: f32[n]) -> f32[n] {\n  %0 = exp %x\n  return %0\n}\n";
  static const char two[] = "laze 1\ngraph @a(%x: f32[n]) -> f32[n] {\n  %0 = log %x\n  return %0\n}\n";
  laze_graph *a, *b;
  assert_ok(laze_graph_parse(context, one, sizeof one - 1, NULL, &a, &error));
  assert_ok(laze_graph_parse(context, two, sizeof two - 1, NULL, &b, &error));
  assert_fails(laze_graph_compare(a, b, &error), LAZE_FAILED_PRECONDITION, "exp");
  laze_graph_release(a);
  laze_graph_release(b);
}
END_TEST

/* Everything that a node was recorded with can be asked for, and recorded again: so plugins translate graphs. */
START_TEST(nodes_show_what_they_were_recorded_with) {
  static const char source[] = "laze 1\n"
                               "graph @a(%x: f32[n,6], %y: f32[n,2]) -> f32[n,4], f32[n,1], i64[n,1] {\n"
                               "  %0 = cat [%x, %y], dim=1\n"
                               "  %1 = slice %0, dim=1, end=4\n"
                               "  %2:2 = max.dim %1, dim=1, keepdim=true\n"
                               "  %3 = clamp %1, none, 3.0\n"
                               "  return %3, %2#0, %2#1\n"
                               "}\n";
  laze_graph *from;
  laze_value map[64], results[8];
  assert_ok(laze_graph_parse(context, source, sizeof source - 1, NULL, &from, &error));
  for (int32_t i = 0; i < laze_graph_symbol_count(from); i++) (void)size_of(laze_graph_symbol(from, i));
  for (int32_t i = 0; i < laze_graph_input_count(from); i++) {
    laze_value_type type;
    laze_node_info info = {.struct_size = sizeof info};
    int64_t sizes[16];
    const laze_value value = laze_graph_input(from, i);
    assert_ok(laze_graph_get_type(from, value, &type, &error));
    assert_ok(laze_graph_get_node(from, value.node, &info, &error));
    ck_assert_ptr_null(info.operator_name);
    for (int32_t axis = 0; axis < type.rank; axis++) {
      char text[64];
      assert_ok(laze_graph_format_size(from, type.sizes[axis], text, sizeof text, NULL, &error));
      sizes[axis] = size_of(text);
    }
    map[value.node] = input(info.name, type.dtype, (laze_ints){sizes, type.rank});
  }
  for (int32_t i = 0; i < laze_graph_node_count(from); i++) {
    const int32_t node = laze_graph_node_at(from, i);
    laze_node_info info = {.struct_size = sizeof info};
    laze_argument arguments[16];
    laze_value lists[16];
    assert_ok(laze_graph_get_node(from, node, &info, &error));
    int64_t bytes;
    const void *data = laze_graph_constant(from, (laze_value){node, 0}, &bytes);
    laze_value_type type;
    assert_ok(laze_graph_get_type(from, (laze_value){node, 0}, &type, &error));
    if (data) {
      assert_ok(laze_graph_add_constant(graph, type.dtype, (laze_ints){type.sizes, type.rank}, data, (size_t)bytes,
                                        &map[node], &error));
      continue;
    }
    for (int32_t k = 0; k < info.argument_count; k++) {
      assert_ok(laze_graph_get_argument(from, node, k, &arguments[k], &error));
      if (arguments[k].kind == LAZE_PASS_VALUE) arguments[k].value.value.node = map[arguments[k].value.value.node].node;
      for (int32_t v = 0; arguments[k].kind == LAZE_PASS_VALUES && v < arguments[k].count; v++)
        lists[v] = (laze_value){map[arguments[k].value.values[v].node].node, arguments[k].value.values[v].result};
      if (arguments[k].kind == LAZE_PASS_VALUES) arguments[k].value.values = lists;
    }
    assert_ok(record(info.operator_name, arguments, info.argument_count, &map[node]));
  }
  for (int32_t i = 0; i < laze_graph_result_count(from); i++) {
    const laze_value value = laze_graph_result(from, i);
    results[i] = (laze_value){map[value.node].node, value.result};
  }
  assert_ok(laze_graph_set_results(graph, (laze_values){results, laze_graph_result_count(from)}, &error));
  assert_ok(laze_graph_compare(from, graph, &error));
  laze_graph_release(from);
}
END_TEST

static void count_release(void *self) {
  ++*(int *)self;
}

/* Weights of a model are in memory once: the graph refers to them, and to a copy of it they are the same bytes. */
START_TEST(constants_are_borrowed_until_the_last_graph_goes) {
  static const float weights[100] = {1, 2, 3};
  int released = 0;
  laze_value w;
  int64_t bytes;
  assert_ok(laze_graph_borrow_constant(graph, LAZE_F32, LAZE_SHAPE(10, 10), weights, sizeof weights, count_release,
                                       &released, &w, &error));
  ck_assert_ptr_eq(laze_graph_constant(graph, w, &bytes), weights);
  ck_assert_int_eq(bytes, sizeof weights);
  laze_graph_retain(graph);
  laze_graph_release(graph);
  ck_assert_int_eq(released, 0);
  laze_graph_release(graph);
  graph = NULL;
  ck_assert_int_eq(released, 1);
}
END_TEST

/* Each way in which lent memory can be refused gives it back, or its lender waits for ever. */
START_TEST(refused_constants_are_given_back) {
  static const char odd[64];
  static const uint8_t bools[2] = {0, 2};
  int released = 0;
  laze_value w;
  assert_fails(laze_graph_borrow_constant(graph, LAZE_F32, LAZE_SHAPE(4), odd, 8, count_release, &released, &w, &error),
               LAZE_INVALID_ARGUMENT, "takes 16 bytes");
  assert_fails(
      laze_graph_borrow_constant(graph, LAZE_F32, LAZE_SHAPE(2), odd + 1, 8, count_release, &released, &w, &error),
      LAZE_INVALID_ARGUMENT, "aligned");
  assert_fails(
      laze_graph_borrow_constant(graph, LAZE_BOOL, LAZE_SHAPE(2), bools, 2, count_release, &released, &w, &error),
      LAZE_INVALID_ARGUMENT, "a bool is 0 or 1");
  assert_fails(laze_graph_borrow_constant(graph, LAZE_F32, LAZE_SHAPE(size_of("n")), odd, 8, count_release, &released,
                                          &w, &error),
               LAZE_OUT_OF_RANGE, "axis 0");
  ck_assert_int_eq(released, 4);
}
END_TEST

/* A saved graph and its weights are two files, which a third program reads; nothing but these is left behind. */
START_TEST(files_go_both_ways) {
  char directory[] = "/tmp/laze-interface-XXXXXX", path[64], beside[80];
  float data[40];
  laze_graph *again;
  laze_value w, y;
  ck_assert_ptr_nonnull(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/g.lz", directory);
  snprintf(beside, sizeof beside, "%s.weights", path);
  for (int i = 0; i < 40; i++) data[i] = (float)i / 3;
  const laze_value x = input("x", LAZE_F32, LAZE_SHAPE(size_of("n"), 40));
  assert_ok(laze_graph_add_constant(graph, LAZE_F32, LAZE_SHAPE(40), data, sizeof data, &w, &error));
  assert_ok(laze_graph_record(graph, "mul", LAZE_VALUES(x, w), &y, &error));
  assert_ok(laze_graph_set_results(graph, LAZE_VALUES(y), &error));
  assert_ok(laze_graph_save(graph, path, &error));
  ck_assert_int_eq(access(beside, R_OK), 0);
  assert_ok(laze_graph_load(context, path, NULL, &again, &error));
  assert_ok(laze_graph_compare(graph, again, &error));
  laze_graph_release(again);
  assert_fails(laze_graph_load(context, path, "other", &again, &error), LAZE_NOT_FOUND, "g.lz");
  ck_assert_int_eq(unlink(beside), 0);
  assert_fails(laze_graph_load(context, path, NULL, &again, &error), LAZE_NOT_FOUND, "g.lz.weights");
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(rmdir(directory), 0);
  assert_fails(laze_graph_save(graph, path, &error), LAZE_IO_ERROR, directory);
}
END_TEST

/* Whatever a caller gets wrong is said, with what was expected, and the graph goes on. */
START_TEST(what_is_wrong_is_said) {
  laze_value y, results[2];
  int32_t count;
  int64_t size;
  const laze_value x = input("x", LAZE_F32, LAZE_SHAPE(2, 3));
  assert_fails(laze_graph_size(graph, "n+", &size, &error), LAZE_INVALID_ARGUMENT, "laze_graph_size");
  assert_fails(laze_graph_size(graph, "n m", &size, &error), LAZE_INVALID_ARGUMENT, "expected to end");
  ck_assert_int_eq(laze_graph_symbol_count(graph), 0); /* a name that is left would be asked for at each run */
  assert_fails(laze_graph_add_input(graph, "y", 99, LAZE_SHAPE(2), &y, &error), LAZE_INVALID_ARGUMENT, "99");
  assert_fails(laze_graph_add_input(graph, "y", LAZE_F32, LAZE_SHAPE(-2), &y, &error), LAZE_OUT_OF_RANGE, "-2");
  assert_fails(laze_graph_add_input(graph, "y", LAZE_F32, LAZE_SHAPE(INT64_MIN), &y, &error), LAZE_INVALID_ARGUMENT,
               "no size of graph g");
  assert_fails(laze_graph_record(graph, "frobnicate", LAZE_VALUES(x), &y, &error), LAZE_NOT_FOUND, "frobnicate");
  assert_fails(laze_graph_record(NULL, "mm", LAZE_VALUES(x, x), &y, &error), LAZE_INVALID_ARGUMENT,
               "laze_graph_record: ");
  assert_fails(laze_graph_record(graph, "mm", LAZE_VALUES(x, x), &y, &error), LAZE_INVALID_ARGUMENT, "mm");
  assert_fails(laze_graph_record(graph, "exp", LAZE_VALUES(x, x), &y, &error), LAZE_INVALID_ARGUMENT, "schema");
  assert_fails(laze_graph_record(graph, "exp", LAZE_VALUES(((laze_value){17, 0})), &y, &error), LAZE_INVALID_ARGUMENT,
               "no value of graph g");
  assert_fails(laze_graph_record(graph, "constant", LAZE_VALUES(x), &y, &error), LAZE_INVALID_ARGUMENT, "constant");
  assert_fails(laze_graph_record(graph, "while", LAZE_VALUES(x), &y, &error), LAZE_INVALID_ARGUMENT, "while");
  const laze_argument list[] = {{.kind = LAZE_PASS_VALUES, .count = 1, .value.values = &x}};
  assert_fails(record("while", list, 1, &y), LAZE_UNSUPPORTED, "laze_graph_parse");
  const laze_argument tensor[] = {{.kind = LAZE_PASS_TENSOR}};
  assert_fails(record("exp", tensor, 1, &y), LAZE_INVALID_ARGUMENT, "exp");
  const int64_t bad[] = {INT64_MIN + 5};
  const laze_argument reshape[] = {value_argument(x), {.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = bad}};
  assert_fails(record("reshape", reshape, 2, &y), LAZE_INVALID_ARGUMENT, "size of this graph");
  const laze_argument max[] = {value_argument(x), {.kind = LAZE_PASS_INTEGER, .value.integer = 1}};
  const laze_graph_call two = {
      .struct_size = sizeof two, .name = "max", .arguments = max, .argument_count = 2, .file = "model.py", .line = 7};
  assert_fails(laze_graph_record_call(graph, &two, results, 1, &count, &error), LAZE_INVALID_ARGUMENT, "model.py:7");
  assert_ok(laze_graph_record_call(graph, &two, results, 2, &count, &error));
  ck_assert_int_eq(count, 2);
  laze_graph_call old = two;
  old.struct_size = 8;
  assert_fails(laze_graph_record_call(graph, &old, results, 2, &count, &error), LAZE_INVALID_ARGUMENT, "struct_size");
  assert_fails(laze_graph_set_results(graph, LAZE_VALUES(LAZE_VALUE_NONE), &error), LAZE_INVALID_ARGUMENT, "result 0");
  assert_ok(laze_graph_set_results(graph, LAZE_VALUES(results[0], results[1]), &error));
  assert_ok(laze_graph_verify(graph, &error));
}
END_TEST

/* An operator that is given is recorded as by its name, and its name is not looked at. */
START_TEST(operators_stand_for_names) {
  laze_value x, by_name, given;
  assert_ok(laze_graph_add_input(graph, "x", LAZE_F32, LAZE_SHAPE(3), &x, &error));
  const laze_argument arguments[] = {{.kind = LAZE_PASS_VALUE, .value.value = x},
                                     {.kind = LAZE_PASS_SCALAR, .value.scalar = laze_scalar_integer(2)}};
  laze_graph_call call = {
      .struct_size = sizeof call, .name = "mul.Tensor", .arguments = arguments, .argument_count = 2};
  assert_ok(laze_graph_record_call(graph, &call, &by_name, 1, NULL, &error));
  call.name = NULL;
  call.op = laze_operator_find("mul.Tensor");
  assert_ok(laze_graph_record_call(graph, &call, &given, 1, NULL, &error));
  laze_node_info first = {.struct_size = sizeof first}, second = first;
  assert_ok(laze_graph_get_node(graph, by_name.node, &first, &error));
  assert_ok(laze_graph_get_node(graph, given.node, &second, &error));
  ck_assert_str_eq(first.operator_name, second.operator_name);
  ck_assert_int_eq(second.operand_count, 2);
  call.op = laze_operator_find("relu"); /* takes one tensor */
  assert_fails(laze_graph_record_call(graph, &call, &given, 1, NULL, &error), LAZE_INVALID_ARGUMENT, "relu");
  call.op = NULL;
  assert_fails(laze_graph_record_call(graph, &call, &given, 1, NULL, &error), LAZE_INVALID_ARGUMENT, "NULL");
}
END_TEST

/* Indices that are none are answered as such: who walks a graph needs no bounds of its own. */
START_TEST(there_is_nothing_outside) {
  laze_node_info info = {.struct_size = sizeof info};
  laze_value_type type;
  laze_argument argument;
  ck_assert_int_eq(laze_graph_input(graph, 0).node, -1);
  ck_assert_int_eq(laze_graph_result(graph, -1).node, -1);
  ck_assert_int_eq(laze_graph_node_at(graph, 0), -1);
  ck_assert_int_eq(laze_graph_operand(graph, 3, 0).node, -1);
  ck_assert_ptr_null(laze_graph_symbol(graph, 0));
  ck_assert_ptr_null(laze_graph_constant(graph, LAZE_VALUE_NONE, NULL));
  assert_fails(laze_graph_get_node(graph, 0, &info, &error), LAZE_OUT_OF_RANGE, "node 0");
  assert_fails(laze_graph_get_type(graph, LAZE_VALUE_NONE, &type, &error), LAZE_OUT_OF_RANGE, "node -1");
  const laze_value x = input("x", LAZE_F32, LAZE_SHAPE_SCALAR);
  assert_fails(laze_graph_get_type(graph, (laze_value){x.node, 1}, &type, &error), LAZE_OUT_OF_RANGE, "1 results");
  assert_fails(laze_graph_get_argument(graph, x.node, 0, &argument, &error), LAZE_OUT_OF_RANGE, "arguments");
}
END_TEST

/* A NULL is refused, or has nothing in it: a binding whose object was released gets an error to show, and no crash. */
START_TEST(no_graph_is_refused_or_empty) {
  laze_node_info info = {.struct_size = sizeof info};
  laze_value_type type;
  laze_argument argument;
  char text[8];
  assert_fails(laze_graph_create(context, "g", NULL, &error), LAZE_INVALID_ARGUMENT, "out must not be NULL");
  assert_fails(laze_graph_verify(NULL, &error), LAZE_INVALID_ARGUMENT, "NULL");
  assert_fails(laze_graph_get_node(NULL, 0, &info, &error), LAZE_INVALID_ARGUMENT, "NULL");
  assert_fails(laze_graph_get_argument(NULL, 0, 0, &argument, &error), LAZE_INVALID_ARGUMENT, "NULL");
  assert_fails(laze_graph_get_type(NULL, (laze_value){0, 0}, &type, &error), LAZE_INVALID_ARGUMENT, "NULL");
  assert_fails(laze_graph_format_size(NULL, 1, text, sizeof text, NULL, &error), LAZE_INVALID_ARGUMENT, "NULL");
  ck_assert_ptr_null(laze_graph_name(NULL));
  ck_assert_int_eq(laze_graph_input_count(NULL), 0);
  ck_assert_int_eq(laze_graph_result_count(NULL), 0);
  ck_assert_int_eq(laze_graph_node_count(NULL), 0);
  ck_assert_int_eq(laze_graph_symbol_count(NULL), 0);
  ck_assert_int_eq(laze_graph_input(NULL, 0).node, -1);
  ck_assert_int_eq(laze_graph_result(NULL, 0).node, -1);
  ck_assert_int_eq(laze_graph_operand(NULL, 0, 0).node, -1);
  ck_assert_int_eq(laze_graph_node_at(NULL, 0), -1);
  ck_assert_ptr_null(laze_graph_symbol(NULL, 0));
  ck_assert_ptr_null(laze_graph_constant(NULL, (laze_value){0, 0}, NULL));
  ck_assert_int_eq(laze_graph_input_role(NULL, 0).kind, LAZE_SIGNATURE_INPUT);
  ck_assert_int_eq(laze_graph_result_role(NULL, 0).kind, LAZE_SIGNATURE_OUTPUT);
}
END_TEST

static laze_status build_all(laze_context *from, laze_error *failure) {
  static const float data[100] = {0};
  laze_graph *built = NULL;
  laze_value x, w, y;
  int64_t n;
  char text[2048];
  laze_status status = laze_graph_create(from, "g", &built, failure);
  if (status == LAZE_OK) status = laze_graph_size(built, "n", &n, failure);
  if (status == LAZE_OK) status = laze_graph_add_input(built, "x", LAZE_F32, LAZE_SHAPE(n, 10), &x, failure);
  if (status == LAZE_OK)
    status = laze_graph_add_constant(built, LAZE_F32, LAZE_SHAPE(10, 10), data, sizeof data, &w, failure);
  if (status == LAZE_OK) status = laze_graph_record(built, "matmul", LAZE_VALUES(x, w), &y, failure);
  if (status == LAZE_OK) status = laze_graph_record(built, "gelu", LAZE_VALUES(y), &y, failure);
  if (status == LAZE_OK) status = laze_graph_set_results(built, LAZE_VALUES(y), failure);
  if (status == LAZE_OK) status = laze_graph_format(built, text, sizeof text, NULL, failure);
  laze_graph_release(built);
  return status;
}

/* Memory may be out at any call: an error, and nothing lost. */
START_TEST(memory_may_run_out_at_any_point) {
  for (int64_t at = 1;; at++) {
    test_failing_allocator state = {0};
    laze_context *own;
    laze_error failure;
    ck_assert_int_eq(test_failing_context(&state, NULL, "", "", &own), LAZE_OK);
    state.refuse_at = state.calls + at;
    const laze_status status = build_all(own, &failure);
    const bool reached = state.calls >= state.refuse_at;
    laze_context_release(own);
    ck_assert_int_eq(state.live, 0);
    if (!reached) break;
    ck_assert_msg(status == LAZE_OUT_OF_MEMORY, "allocation %lld: %s", (long long)at,
                  status == LAZE_OK ? "it went on" : failure.message);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("interface");
  TCase *tests = tcase_create("all");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, calls_are_recorded_as_the_text_form_reads_them);
  tcase_add_test(tests, a_size_with_a_number_answers_questions);
  tcase_add_test(tests, text_goes_both_ways);
  tcase_add_test(tests, comparing_names_the_difference);
  tcase_add_test(tests, nodes_show_what_they_were_recorded_with);
  tcase_add_test(tests, constants_are_borrowed_until_the_last_graph_goes);
  tcase_add_test(tests, refused_constants_are_given_back);
  tcase_add_test(tests, files_go_both_ways);
  tcase_add_test(tests, what_is_wrong_is_said);
  tcase_add_test(tests, operators_stand_for_names);
  tcase_add_test(tests, there_is_nothing_outside);
  tcase_add_test(tests, no_graph_is_refused_or_empty);
  tcase_add_test(tests, memory_may_run_out_at_any_point);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
