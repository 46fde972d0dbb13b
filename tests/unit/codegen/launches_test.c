/* Launches of graphs: kernels that are alike run at once where they need nothing of each other, and nothing else shows
 * it: values, errors and what is interrupted are those of the interpreter, which runs one operator after the other. */
#include "laze/compile.h"
#include "tests/support/backends.h"
#include "tests/support/compiled.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MOST_INPUTS = 8, MOST_OUTPUTS = 8, MOST_ELEMENTS = 1 << 16 };

static laze_context *context;
static laze_error error;

static void set_up(void) {
  laze_context_options options = {
      .struct_size = sizeof options, .cache_directory = "", .debug = "verify", .threads = 1};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
}

static void tear_down(void) {
  laze_context_release(context);
}

static int64_t metric(const char *name) {
  int64_t value;
  assert_ok(laze_metric_read(context, name, &value, &error));
  return value;
}

/* An input: numbers from -1 to 1, or those given. */
typedef struct {
  laze_dtype dtype;
  int64_t sizes[2];
  int rank;
  const int64_t *numbers; /* of LAZE_I64 */
} graph_input;

typedef struct {
  const char *text;
  graph_input inputs[MOST_INPUTS];
  int input_count, output_count;
  int64_t kernels, instances; /* of a native run */
} graph_case;

static laze_array *make_input(const graph_input *input, int seed) {
  static float floats[MOST_ELEMENTS];
  int64_t count = 1;
  laze_array *array;
  for (int i = 0; i < input->rank; i++) count *= input->sizes[i];
  for (int64_t i = 0; i < count; i++) floats[i] = (float)((i * 37 + seed * 11) % 201 - 100) / 100;
  const bool is_float = input->dtype == LAZE_F32;
  assert_ok(laze_array_from_data(context, input->dtype, (laze_ints){input->sizes, input->rank},
                                 is_float ? (const void *)floats : input->numbers, (size_t)count * (is_float ? 4 : 8),
                                 &array, &error));
  return array;
}

static laze_status run(const graph_case *graph, const laze_backend *backend, laze_array **outputs) {
  laze_compiled *compiled = test_compile(context, backend, graph->text);
  laze_array *inputs[MOST_INPUTS];
  for (int i = 0; i < graph->input_count; i++) inputs[i] = make_input(&graph->inputs[i], i);
  for (int i = 0; i < graph->output_count; i++) outputs[i] = NULL;
  const laze_status status =
      laze_compiled_run(compiled, inputs, graph->input_count, outputs, graph->output_count, &error);
  for (int i = 0; i < graph->input_count; i++) laze_array_release(inputs[i]);
  laze_compiled_release(compiled);
  return status;
}

/* Runs it on 1, 2 and 7 threads and compares with the interpreter, to the bit. */
static void check_case(const graph_case *graph) {
  static const int threads[] = {1, 2, 7};
  laze_array *wanted[MOST_OUTPUTS], *got[MOST_OUTPUTS];
  const laze_backend *interpreter;
  assert_ok(laze_backend_find(context, "interp", &interpreter, &error));
  if (!test_fuses(laze_backend_at(0))) return; /* no native code */
  assert_ok(run(graph, interpreter, wanted));
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    assert_ok(laze_set_threads(context, threads[t], &error));
    const int64_t kernels = metric("kernels_run"), instances = metric("kernel_instances");
    assert_ok(run(graph, laze_backend_at(0), got));
    ck_assert_int_eq(metric("kernels_run") - kernels, graph->kernels);
    ck_assert_int_eq(metric("kernel_instances") - instances, graph->instances);
    for (int i = 0; i < graph->output_count; i++) {
      ck_assert_int_eq(test_array_bytes(got[i]), test_array_bytes(wanted[i]));
      ck_assert_msg(memcmp(laze_array_data(got[i]), laze_array_data(wanted[i]), (size_t)test_array_bytes(got[i])) == 0,
                    "output %d on %d threads", i, threads[t]);
      laze_array_release(got[i]);
    }
  }
  for (int i = 0; i < graph->output_count; i++) laze_array_release(wanted[i]);
}

/* What becomes a launch moves to the first of its code, but not past what it needs: the last product waits for a sum.
 */
START_TEST(alike_kernels_are_one_launch) {
  check_case(&(graph_case){
      .text = "laze 1\n"
              "graph @g(%a: f32[300,200], %b: f32[70], %c: f32[9]) -> f32[300,200], f32[], f32[70], f32[9] {\n"
              "  %0 = neg %a\n"
              "  %1 = sum %b\n"
              "  %2 = neg %b\n"
              "  %3 = mul %c, %1\n"
              "  %4:2 = sort %3\n"
              "  %5 = neg %4#0\n"
              "  return %0, %1, %2, %5\n"
              "}\n",
      .inputs = {{LAZE_F32, {300, 200}, 2, NULL}, {LAZE_F32, {70}, 1, NULL}, {LAZE_F32, {9}, 1, NULL}},
      .input_count = 3,
      .output_count = 4,
      .kernels = 5,
      .instances = 6});
}
END_TEST

/* In a loop the states of a round are one launch, and nothing of a round stands beside the next one's or beside what
 * follows the loop. */
START_TEST(a_round_of_a_loop_is_a_launch) {
  check_case(&(graph_case){
      .text = "laze 1\n"
              "graph @g(%n: i64[], %a: f32[300,200], %b: f32[70]) -> f32[300,200], f32[70] {\n"
              "  %0:3 = while [%n, %a, %b] (%i: i64[], %x: f32[300,200], %y: f32[70]) {\n"
              "    %1 = lt %i, 5\n"
              "    return %1\n"
              "  } (%j: i64[], %p: f32[300,200], %q: f32[70]) {\n"
              "    %2 = mul %p, 0.5\n"
              "    %3 = mul %q, 0.5\n"
              "    %4 = add %j, 1\n"
              "    return %4, %2, %3\n"
              "  }\n"
              "  %5 = mul %0#1, 0.5\n"
              "  %6 = mul %0#2, 0.5\n"
              "  return %5, %6\n"
              "}\n",
      .inputs = {{LAZE_I64, {0}, 0, (const int64_t[]){2}}, {LAZE_F32, {300, 200}, 2, NULL}, {LAZE_F32, {70}, 1, NULL}},
      .input_count = 3,
      .output_count = 2,
      .kernels = 4 + 3 * 2 + 1, /* conditions; rounds; behind the loop */
      .instances = 4 + 3 * 3 + 2});
}
END_TEST

/* What has a size that the run finds runs alone, in its turn; the rest is one launch on either side of it. */
START_TEST(sizes_of_a_run_stand_alone) {
  check_case(&(graph_case){.text = "laze 1\n"
                                   "graph @g(%k: i64[], %a: f32[300,200], %b: f32[70], %c: f32[5]) -> f32[300,200], "
                                   "f32[70], f32[u0], f32[u0], f32[5] {\n"
                                   "  %0 = neg %a\n"
                                   "  %1 = neg %b\n"
                                   "  %2 = size_from %k, size=u0, high=70\n"
                                   "  %3 = iota size=[u0], dtype=f32\n"
                                   "  %4 = mul %3, 0.5\n"
                                   "  %5 = sub %4, 3.0\n"
                                   "  %6 = neg %c\n"
                                   "  return %0, %1, %3, %5, %6\n"
                                   "}\n",
                           .inputs = {{LAZE_I64, {0}, 0, (const int64_t[]){33}},
                                      {LAZE_F32, {300, 200}, 2, NULL},
                                      {LAZE_F32, {70}, 1, NULL},
                                      {LAZE_F32, {5}, 1, NULL}},
                           .input_count = 4,
                           .output_count = 5,
                           .kernels = 4,
                           .instances = 5});
}
END_TEST

/* A write to a part of a value comes after what reads the value as it was. */
START_TEST(an_update_stands_behind_readers) {
  check_case(&(graph_case){
      .text = "laze 1\n"
              "graph @g(%i: i64[], %a: f32[300,200], %r: f32[1,200]) -> f32[300,200], f32[300,200], f32[1,200] {\n"
              "  %0 = mul %a, 0.25\n"
              "  %1 = neg %0\n"
              "  %2 = dynamic_update %0, %r, %i, dim=0\n"
              "  %3 = neg %2\n"
              "  %4 = neg %r\n"
              "  return %1, %3, %4\n"
              "}\n",
      .inputs = {{LAZE_I64, {0}, 0, (const int64_t[]){7}},
                 {LAZE_F32, {300, 200}, 2, NULL},
                 {LAZE_F32, {1, 200}, 2, NULL}},
      .input_count = 3,
      .output_count = 3,
      .kernels = 4,
      .instances = 5});
}
END_TEST

/* Of indices out of range in kernels that run at once, the error is the interpreter's: the first call's in the graph,
 * with its place. */
START_TEST(an_index_is_named_by_its_own_call) {
  static const int64_t good[] = {0, 1, 2, 1}, bad[] = {0, 1, 9, -8};
  static const int threads[] = {1, 2, 7};
  const laze_backend *interpreter;
  assert_ok(laze_backend_find(context, "interp", &interpreter, &error));
  for (int wrong = 1; wrong < 8; wrong++) {
    graph_case graph = {
        .text = "laze 1\n"
                "graph @g(%a: f32[3,9000], %i: i64[4], %b: f32[3,8000], %j: i64[4], %c: f32[3,7], %k: i64[4])\n"
                "    -> f32[4,9000], f32[4,8000], f32[4,7] {\n"
                "  %0 = index_select %a, %i, dim=0\n"
                "  %1 = index_select %b, %j, dim=0\n"
                "  %2 = index_select %c, %k, dim=0\n"
                "  return %0, %1, %2\n"
                "}\n",
        .inputs = {{LAZE_F32, {3, 9000}, 2, NULL},
                   {LAZE_I64, {4}, 1, wrong & 1 ? bad : good},
                   {LAZE_F32, {3, 8000}, 2, NULL},
                   {LAZE_I64, {4}, 1, wrong & 2 ? bad : good},
                   {LAZE_F32, {3, 7}, 2, NULL},
                   {LAZE_I64, {4}, 1, wrong & 4 ? bad : good}},
        .input_count = 6,
        .output_count = 3};
    laze_array *outputs[MOST_OUTPUTS];
    char message[sizeof error.message], place[16];
    snprintf(place, sizeof place, "test:%d: ", wrong & 1 ? 4 : wrong & 2 ? 5 : 6);
    ck_assert_int_eq(run(&graph, interpreter, outputs), LAZE_OUT_OF_RANGE);
    memcpy(message, error.message, sizeof message);
    ck_assert_msg(strstr(message, place) && strstr(message, "index 9 at position 2 "), "%s", message);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
      assert_ok(laze_set_threads(context, threads[t], &error));
      const int64_t kernels = metric("kernels_run");
      ck_assert_int_eq(run(&graph, laze_backend_at(0), outputs), LAZE_OUT_OF_RANGE);
      ck_assert_str_eq(error.message, message);
      if (test_fuses(laze_backend_at(0))) ck_assert_int_eq(metric("kernels_run") - kernels, 1);
      for (int i = 0; i < 3; i++) ck_assert_ptr_null(outputs[i]);
    }
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("launches");
  TCase *tests = tcase_create("launches");
  tcase_set_timeout(tests, 0);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, alike_kernels_are_one_launch);
  tcase_add_test(tests, a_round_of_a_loop_is_a_launch);
  tcase_add_test(tests, sizes_of_a_run_stand_alone);
  tcase_add_test(tests, an_update_stands_behind_readers);
  tcase_add_test(tests, an_index_is_named_by_its_own_call);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
