/* What a run says when it fails: which operator was called and where, the same on every backend, on any number of
 * threads, and whatever the operator was fused with. A message that named a kernel's operators, or a position in a
 * kernel's loops, would send its reader to the wrong line. */
#include "tests/conformance/conformance.h"

#include <stdio.h>
#include <string.h>

/* A graph with parameters %x: f32[4,3] and %i: i64[2,3], the indices, and the error of running it. */
typedef struct {
  const char *results; /* their types */
  const char *body;    /* from line 3 of the text on */
  int64_t indices[6];
  const char *expected; /* NULL: success */
} failing_graph;

#define OF_4 "is out of range for an axis of size 4; expected -4 to 3"
#define OF_3 "is out of range for an axis of size 3; expected -3 to 2"

static const failing_graph graphs[] = {
    {"f32[2,3]", "  %0 = gather %x, %i, dim=0\n  return %0", {0, 1, 2, -4, 3, 0}, NULL},
    /* The lowest position of those that are wrong, row-major in the indices. */
    {"f32[2,3]",
     "  %0 = gather %x, %i, dim=0\n  return %0",
     {0, 1, 2, 3, 9, -7},
     "test:3: gather: index 9 at position 4 " OF_4},
    {"f32[2,3]",
     "  %0 = gather %x, %i, dim=1\n  return %0",
     {0, 1, 3, 3, 3, 3},
     "test:3: gather: index 3 at position 2 " OF_3},
    {"f32[6,3]",
     "  %0 = reshape %i, shape=[6]\n  %1 = index_select %x, %0, dim=0\n  return %1",
     {0, 1, 2, -5, 0, 0},
     "test:4: index_select: index -5 at position 3 " OF_4},
    /* Rows stand side by side in the result; the position is still that of the index. */
    {"f32[4,6]",
     "  %0 = reshape %i, shape=[6]\n  %1 = index_select %x, %0, dim=1\n  return %1",
     {0, 1, 2, 0, 5, 0},
     "test:4: index_select: index 5 at position 4 " OF_3},
    {"f32[2,3,3]",
     "  %0 = embedding %x, %i\n  return %0",
     {0, 1, 2, 3, 4, 5},
     "test:3: embedding: index 4 at position 4 " OF_4},
    /* Fused with what comes before and after. */
    {"f32[3,3,2]",
     "  %0 = exp %x\n  %1 = embedding %0, %i\n  %2 = permute %1, dims=[2, 1, 0]\n  %3 = neg %2\n  return %3",
     {0, 1, 2, 3, 0, 8},
     "test:4: embedding: index 8 at position 5 " OF_4},
    {"f32[2,3,3]",
     "  %0 = embedding %x, %i\n  %1 = softmax %0, dim=-1\n  return %1",
     {0, 7, 2, 3, 0, 8},
     "test:3: embedding: index 7 at position 1 " OF_4},
    {"f32[3]",
     "  %0 = gather %x, %i, dim=0\n  %1 = sum %0, dim=[0]\n  return %1",
     {0, 1, 2, 3, 9, 9},
     "test:3: gather: index 9 at position 4 " OF_4},
    {"f32[2]",
     "  %0 = gather %x, %i, dim=0\n  %1 = sum %0, dim=[1]\n  return %1",
     {0, 1, 2, 3, 9, 9},
     "test:3: gather: index 9 at position 4 " OF_4},
    {"f32[]",
     "  %0 = gather %x, %i, dim=0\n  %1 = sum %0\n  return %1",
     {0, 1, 2, 3, 9, 9},
     "test:3: gather: index 9 at position 4 " OF_4},
    {"f32[3]",
     "  %0 = embedding %x, %i\n  %1 = mean %0, dim=[0, 2]\n  return %1",
     {0, 1, 9, 3, 9, 9},
     "test:3: embedding: index 9 at position 2 " OF_4},
    /* The result is used in another order than that of the indices: the position stays. */
    {"f32[3,2]",
     "  %0 = gather %x, %i, dim=0\n  %1 = permute %0, dims=[1, 0]\n  %2 = exp %1\n  return %2",
     {0, 1, 9, 9, 0, 0},
     "test:3: gather: index 9 at position 2 " OF_4},
    {"f32[6]",
     "  %0 = gather %x, %i, dim=0\n  %1 = permute %0, dims=[1, 0]\n  %2 = reshape %1, shape=[6]\n  %3 = exp %2\n"
     "  return %3",
     {0, 1, 9, 9, 0, 0},
     "test:3: gather: index 9 at position 2 " OF_4},
    /* Views of indices: the operator got the view. */
    {"f32[3,2,3]",
     "  %0 = permute %i, dims=[1, 0]\n  %1 = embedding %x, %0\n  return %1",
     {0, 1, 9, 8, 0, 0},
     "test:4: embedding: index 8 at position 1 " OF_4},
    {"f32[2,2,3]",
     "  %0 = slice %i, dim=1, start=1, end=3\n  %1 = embedding %x, %0\n  return %1",
     {99, 1, 2, 3, 9, 0},
     "test:4: embedding: index 9 at position 2 " OF_4},
    {"f32[4,3]",
     "  %0 = slice %i, dim=0, start=0, end=2, step=2\n  %1 = expand %0, size=[4, 3]\n  %2 = gather %x, %1, dim=0\n"
     "  return %2",
     {0, 1, 9, 9, 9, 9},
     "test:5: gather: index 9 at position 2 " OF_4},
    {"f32[3,2]",
     "  %0 = slice %i, dim=1, start=0, end=1\n  %1 = expand %0, size=[2, 3]\n  %2 = gather %x, %1, dim=0\n"
     "  %3 = permute %2, dims=[1, 0]\n  return %3",
     {0, 9, 9, -9, 9, 9},
     "test:5: gather: index -9 at position 3 " OF_4},
    {"f32[2,3,3]",
     "  %0 = add %i, %i\n  %1 = embedding %x, %0\n  %2 = neg %1\n  return %2",
     {0, 1, 1, 0, 2, 0},
     "test:4: embedding: index 4 at position 4 " OF_4},
    /* What nobody needs of a result that is used is checked all the same. */
    {"f32[1,3,3]",
     "  %0 = embedding %x, %i\n  %1 = slice %0, dim=0, start=1, end=2\n  %2 = exp %1\n  return %2",
     {0, 9, 0, 0, 0, 0},
     "test:3: embedding: index 9 at position 1 " OF_4},
    {"f32[]",
     "  %0 = gather %x, %i, dim=0\n  %1 = slice %0, dim=1, start=0, end=3, step=2\n  %2 = sum %1\n  return %2",
     {0, 9, 0, 0, 0, 0},
     "test:3: gather: index 9 at position 1 " OF_4},
    {"f32[2,3,0]",
     "  %0 = embedding %x, %i\n  %1 = slice %0, dim=2, start=0, end=0\n  return %1",
     {0, 9, 0, 0, 0, 0},
     "test:3: embedding: index 9 at position 1 " OF_4},
    {"f32[2,3,1]",
     "  %0 = embedding %x, %i\n  %1 = slice %0, dim=2, start=1, end=2\n  %2 = exp %1\n  return %2",
     {0, 0, 0, 0, 0, 4},
     "test:3: embedding: index 4 at position 5 " OF_4},
    /* Pieces of a concatenation, and indices that an index chose. */
    {"f32[4,3,3]",
     "  %0 = embedding %x, %i\n  %1 = cat [%0, %0], dim=0\n  %2 = exp %1\n  return %2",
     {0, 0, 0, 0, 0, 4},
     "test:3: embedding: index 4 at position 5 " OF_4},
    {"f32[2,3,3]",
     "  %0 = gather %i, %i, dim=1\n  %1 = embedding %x, %0\n  return %1",
     {0, 1, 2, 0, 1, 5},
     "test:3: gather: index 5 at position 5 " OF_3},
    {"f32[2,3,3]",
     "  %0 = gather %i, %i, dim=1\n  %1 = embedding %x, %0\n  return %1",
     {2, 1, 0, 0, 1, -4},
     "test:3: gather: index -4 at position 5 " OF_3},
    /* Of several nodes, the first in the graph, wherever it is computed. */
    {"f32[2,3]",
     "  %0 = gather %x, %i, dim=0\n  %1 = gather %x, %i, dim=1\n  %2 = add %1, %0\n  return %2",
     {0, 3, 0, 9, 0, 0},
     "test:3: gather: index 9 at position 3 " OF_4},
    {"f32[], f32[2,3]",
     "  %0 = gather %x, %i, dim=1\n  %1 = embedding %x, %i\n  %2 = sum %1\n  %3 = add %2, %0\n  return %2, %3",
     {0, 0, 0, 9, 0, 0},
     "test:3: gather: index 9 at position 3 " OF_3},
    {"f32[2,3], f32[2,3,3]",
     "  %0 = embedding %x, %i\n  %1 = gather %x, %i, dim=1\n  %2 = exp %1\n  %3 = exp %0\n  return %2, %3",
     {0, 0, 0, 0, 0, 9},
     "test:3: embedding: index 9 at position 5 " OF_4},
    /* Equal calls are one node, the first. */
    {"f32[2,3,3]",
     "  %0 = embedding %x, %i\n  %1 = embedding %x, %i\n  %2 = add %1, %0\n  return %2",
     {0, 0, 0, 0, 0, 9},
     "test:3: embedding: index 9 at position 5 " OF_4},
    /* In a region. */
    {"f32[2,3]",
     "  %0 = constant true : bool[]\n  %1 = if %0, [%x, %i] (%a: f32[4,3], %b: i64[2,3]) {\n"
     "    %2 = gather %a, %b, dim=0\n    return %2\n  } (%a: f32[4,3], %b: i64[2,3]) {\n"
     "    %3 = gather %a, %b, dim=1\n    return %3\n  }\n  return %1",
     {0, 0, 0, 0, 0, 9},
     "test:5: gather: index 9 at position 5 " OF_4},
};

static laze_context *context_of_threads(int threads) {
  laze_context_options options = {
      .struct_size = sizeof options, .cache_directory = "", .debug = "verify", .threads = threads};
  laze_context *context;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  return context;
}

static laze_graph *parse(laze_context *context, const failing_graph *item) {
  char text[2048];
  snprintf(text, sizeof text, "graph @g(%%x: f32[4,3], %%i: i64[2,3]) -> %s {\n%s\n}\n", item->results, item->body);
  return conformance_parse(context, text);
}

static void check(laze_context *context, const laze_backend *backend, const failing_graph *item) {
  test_arrays inputs = {.count = 2}, outputs;
  laze_error error = {0};
  float x[12];
  for (int k = 0; k < 12; k++) x[k] = (float)k;
  laze_graph *graph = parse(context, item);
  inputs.buffers[0] = conformance_buffer(context, backend, x, sizeof x);
  inputs.buffers[1] = conformance_buffer(context, backend, item->indices, sizeof item->indices);
  laze_status status = test_run(context, backend, graph, NULL, &inputs, &outputs, &error);
  ck_assert_msg(status == (item->expected ? LAZE_OUT_OF_RANGE : LAZE_OK), "%s: %s\n%s", backend->name,
                status == LAZE_OK ? "succeeds" : error.message, item->body);
  if (item->expected)
    ck_assert_msg(!strcmp(error.message, item->expected), "%s: %s\nexpected %s\n%s", backend->name, error.message,
                  item->expected, item->body);
  test_arrays_release(&outputs);
  test_arrays_release(&inputs);
  laze_graph_destroy(graph);
}

START_TEST(an_index_error_names_call_line_and_position) {
  static const int threads[] = {1, 4};
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    laze_context *context = context_of_threads(threads[t]);
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++) check(context, laze_backend_at(_i), &graphs[k]);
    laze_context_release(context);
  }
}
END_TEST

/* Work for several threads, each of which finds failures of its own: the lowest position of all wins, every time. */
START_TEST(threads_report_the_lowest_position) {
  enum { COUNT = 1 << 19, FIRST = 300001 };
  static int64_t indices[COUNT];
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = context_of_threads(4);
  laze_graph *graph = conformance_parse(context, "graph @g(%x: f32[4], %i: i64[524288]) -> f32[524288] {\n"
                                                 "  %0 = gather %x, %i, dim=0\n  %1 = exp %0\n  return %1\n}\n");
  for (int64_t i = 0; i < COUNT; i++) indices[i] = i < FIRST ? i % 4 : i;
  test_arrays inputs = {.count = 2}, outputs;
  inputs.buffers[0] = conformance_buffer(context, backend, (float[]){0, 1, 2, 3}, 16);
  inputs.buffers[1] = conformance_buffer(context, backend, indices, sizeof indices);
  for (int round = 0; round < 5; round++) {
    laze_error error = {0};
    ck_assert_int_eq(test_run(context, backend, graph, NULL, &inputs, &outputs, &error), LAZE_OUT_OF_RANGE);
    ck_assert_str_eq(error.message, "test:3: gather: index 300001 at position 300001 " OF_4);
  }
  test_arrays_release(&inputs);
  laze_graph_destroy(graph);
  laze_context_release(context);
}
END_TEST

/* One program serves graphs that differ in lines, and in the composite that was called: each message is its own. */
START_TEST(a_shared_program_names_the_call_of_each_graph) {
  static const char *const texts[] = {
      "graph @g(%x: f32[4,3], %i: i64[2]) -> f32[2,3] {\n  %0 = embedding %x, %i\n  return %0\n}\n",
      "graph @g(%x: f32[4,3], %i: i64[2]) -> f32[2,3] {\n\n\n  %0 = embedding %x, %i\n  return %0\n}\n",
      "graph @g(%x: f32[9,3], %i: i64[5]) -> f32[5,3] {\n  // longer\n  %0 = embedding %x, %i\n  return %0\n}\n",
  };
  static const char *const expected[] = {"test:3: embedding: index 9 at position 1 " OF_4,
                                         "test:5: embedding: index 9 at position 1 " OF_4,
                                         "test:4: embedding: index 9 at position 1 is out of range for an axis of "
                                         "size 9; expected -9 to 8"};
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  int64_t indices[5] = {0, 9, 9, 9, 9}, reused;
  float x[27] = {0};
  for (int k = 0; k < 3; k++) {
    laze_error error = {0};
    test_arrays inputs = {.count = 2}, outputs;
    laze_graph *graph = conformance_parse(context, texts[k]);
    inputs.buffers[0] = conformance_buffer(context, backend, x, k < 2 ? 48 : 108);
    inputs.buffers[1] = conformance_buffer(context, backend, indices, k < 2 ? 16 : 40);
    ck_assert_int_eq(test_run(context, backend, graph, NULL, &inputs, &outputs, &error), LAZE_OUT_OF_RANGE);
    ck_assert_str_eq(error.message, expected[k]);
    test_arrays_release(&inputs);
    laze_graph_destroy(graph);
  }
  ck_assert_int_eq(laze_metric_read(context, "program_cache_hits", &reused, NULL), LAZE_OK);
  ck_assert_int_eq(reused, 2); /* otherwise nothing was shared */
  laze_context_release(context);
}
END_TEST

/* A caller that asks for it gets what does not depend on a failed check, and the error of the rest. */
START_TEST(what_does_not_depend_on_a_failure_is_computed) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  laze_executable *executable = conformance_compile(context, backend,
                                                    "graph @g(%x: f32[3], %i: i64[2], %j: i64[2]) -> f32[3], f32[2], "
                                                    "f32[2], f32[2], f32[] {\n"
                                                    "  %0 = gather %x, %i, dim=0\n  %1 = gather %x, %j, dim=0\n"
                                                    "  %2 = add %x, %x\n  %3 = neg %0\n  %4 = mul %3, %1\n"
                                                    "  %5 = sum %1\n  return %2, %3, %4, %1, %5\n}\n");
  static const int64_t indices[][2] = {{0, 2}, {0, 3}};
  static const bool there[][5] = {
      {1, 1, 1, 1, 1}, {1, 0, 0, 1, 1}, {1, 1, 0, 0, 0}, {1, 0, 0, 0, 0}}; /* by which of i and j are wrong */
  for (int wrong = 0; wrong < 4; wrong++) {
    laze_buffer *inputs[] = {conformance_buffer(context, backend, (float[]){1, 2, 4}, 12),
                             conformance_buffer(context, backend, indices[wrong & 1], 16),
                             conformance_buffer(context, backend, indices[wrong >> 1], 16)};
    laze_buffer *outputs[5];
    laze_run_report report = {0};
    laze_run run = {.inputs = inputs, .outputs = outputs, .report = &report};
    ck_assert_int_eq(backend->execute(executable, &run, NULL), LAZE_OK);
    ck_assert_int_eq(report.error_count, (wrong & 1) + (wrong >> 1));
    for (int64_t k = 0; k < report.error_count; k++)
      ck_assert_str_eq(report.errors[k].message, "gather: index 3 at position 1 " OF_3);
    ck_assert((report.causes == NULL) == (wrong == 0));
    for (int k = 0; k < 5 && wrong; k++) ck_assert(there[wrong][k] == (report.causes[k] == LAZE_CAUSE_NONE));
    if (wrong == 3) ck_assert(report.causes[1] == 0 && report.causes[2] == 0 && report.causes[3] == 1);
    for (int k = 0; k < 5; k++) ck_assert_msg(there[wrong][k] == (outputs[k] != NULL), "%d: output %d", wrong, k);
    ck_assert_mem_eq(outputs[0]->data, ((float[]){2, 4, 8}), 12);
    if (outputs[1]) ck_assert_mem_eq(outputs[1]->data, ((float[]){-1, -4}), 8);
    if (outputs[4]) ck_assert_float_eq(*(float *)outputs[4]->data, 5);
    for (int k = 0; k < 5; k++) laze_buffer_release(outputs[k]);
    for (int k = 0; k < 3; k++) laze_buffer_release(inputs[k]);
    laze_run_report_deinit(&report);
  }
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

/* Where a result, a temporary or scratch does not fit memory the message names who asked for it, with its type. */
START_TEST(no_memory_names_call_line_and_type) {
  static const struct {
    const char *text, *expected, *stored; /* where nothing is fused */
  } items[] = {
      {"graph @g(%x: f32[1,1]) -> f32[3000000,3000000] {\n  %0 = expand %x, size=[3000000, 3000000]\n"
       "  %1 = mm %0, %0\n  return %1\n}\n",
       "test:4: mm: its value f32[3000000,3000000]: no memory for a tensor buffer of 36000000000000 bytes",
       "test:3: expand: its value f32[3000000,3000000]: no memory for a tensor buffer of 36000000000000 bytes"},
      {"graph @g(%x: f32[1,1]) -> f32[] {\n  %0 = expand %x, size=[3000000, 3000000]\n  %1 = mm %0, %0\n"
       "  %2 = sum %1\n  return %2\n}\n",
       "test:4: mm: its value f32[3000000,3000000]: no memory for a tensor buffer of",
       "test:3: expand: its value f32[3000000,3000000]: no memory for a tensor buffer of"},
      {"graph @g(%x: f32[1,3]) -> f32[1099511627776,1024,3] {\n  %0 = iota size=[1099511627776, 1024], dim=0, "
       "dtype=i64\n  %1 = embedding %x, %0\n  return %1\n}\n",
       "test:4: embedding: its value f32[", "test:4: embedding: its value f32["},
      {"graph @g(%x: f64[1]) -> f64[536870912,1073741824] {\n  %0 = expand %x, size=[536870912, 1073741824]\n"
       "  %1 = exp %0\n  return %1\n}\n",
       "test:4: exp: its value f64[536870912,1073741824]: no memory",
       "test:3: expand: its value f64[536870912,1073741824]: no memory"},
      {"graph @g(%c: bool[], %x: f32[1,1]) -> f32[] {\n  %0 = if %c, [%x] (%a: f32[1,1]) {\n"
       "    %1 = expand %a, size=[3000000, 3000000]\n    %2 = mm %1, %1\n    %3 = sum %2\n    return %3\n"
       "  } (%a: f32[1,1]) {\n    %4 = sum %a\n    return %4\n  }\n  return %0\n}\n",
       "test:5: mm: its value f32[3000000,3000000]: no memory", "test:3: if: "},
  };
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  for (size_t k = 0; k < sizeof items / sizeof *items; k++) {
    laze_error error = {0};
    test_arrays inputs, outputs;
    test_random random = {.state = 1};
    laze_graph *graph = conformance_parse(context, items[k].text);
    test_inputs(context, graph, &random, &(test_range){.low = 1, .high = 1}, &inputs);
    laze_status status = test_run(context, backend, graph, NULL, &inputs, &outputs, &error);
    ck_assert_msg(status == LAZE_OUT_OF_MEMORY, "%s: %s", error.message, items[k].text);
    const char *expected = test_fuses(backend) ? items[k].expected : items[k].stored;
    ck_assert_msg(!strncmp(error.message, expected, strlen(expected)), "%s\nexpected %s", error.message, expected);
    test_arrays_release(&inputs);
    laze_graph_destroy(graph);
  }
  laze_context_release(context);
}
END_TEST

/* An estimate of work decides on threads; that one does not fit 64 bits is no reason not to compile, bind and show. */
START_TEST(estimates_do_not_fail_a_compile) {
  static const char *const texts[] = {
      "graph @g(%x: f32[3000000,3000000], %y: f32[3000000,3000000]) -> f32[3000000,3000000] {\n"
      "  %0 = mm %x, %y\n  return %0\n}\n",
      "graph @g(%x: f32[1048576,1048576,1024], %y: f32[1048576,1024,4096]) -> f32[1048576,1048576,4096] {\n"
      "  %0 = bmm %x, %y\n  return %0\n}\n",
      "graph @g(%x: f32[536870912,536870912]) -> f32[536870912] {\n"
      "  %0 = mul %x, %x\n  %1 = exp %0\n  %2 = sum %1, dim=[1]\n  return %2\n}\n",
  };
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context("verify");
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    laze_error error;
    laze_text text;
    laze_executable_release(conformance_compile(context, backend, texts[k]));
    laze_graph *graph = conformance_parse(context, texts[k]);
    laze_text_init(&text, context);
    laze_status status = laze_compile_emit(context, backend, graph, LAZE_EMIT_SCHEDULE, &text, &error);
    ck_assert_msg(status == LAZE_OK || status == LAZE_UNSUPPORTED, "%s", error.message);
    laze_text_deinit(&text);
    laze_graph_destroy(graph);
  }
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("failures");
  conformance_add(tests, an_index_error_names_call_line_and_position);
  conformance_add(tests, threads_report_the_lowest_position);
  conformance_add(tests, a_shared_program_names_the_call_of_each_graph);
  conformance_add(tests, what_does_not_depend_on_a_failure_is_computed);
  conformance_add(tests, no_memory_names_call_line_and_type);
  conformance_add(tests, estimates_do_not_fail_a_compile);
  return conformance_main(tests);
}
