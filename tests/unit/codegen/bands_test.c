/* Bands: products and what lies between them run a few rows at a time, and nothing shows it but the memory that is not
 * there: bits are those of the interpreter, which computes each value whole. */
#include "laze/compile.h"
#include "tests/support/backends.h"
#include "tests/support/compiled.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 4 };
/* Of what is handed on in each graph here: so much or more would be between inputs and outputs without bands. */
#define HANDED_BYTES (INT64_C(4) << 20)

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

typedef struct {
  const char *text; /* of f32 */
  int64_t sizes[MOST_INPUTS][3];
  int ranks[MOST_INPUTS];
  int input_count;
  bool in_bands;
} graph_case;

static laze_array *make_input(const int64_t *sizes, int rank, int seed) {
  int64_t count = 1;
  laze_array *array;
  for (int i = 0; i < rank; i++) count *= sizes[i];
  float *floats = malloc((size_t)count * sizeof *floats);
  ck_assert_ptr_nonnull(floats);
  for (int64_t i = 0; i < count; i++) floats[i] = (float)((i * 37 + seed * 11) % 201 - 100) / 100;
  assert_ok(laze_array_from_data(context, LAZE_F32, (laze_ints){sizes, rank}, floats, (size_t)count * sizeof *floats,
                                 &array, &error));
  free(floats);
  return array;
}

static laze_array *run(laze_compiled *compiled, const graph_case *graph) {
  laze_array *inputs[MOST_INPUTS], *output = NULL;
  for (int i = 0; i < graph->input_count; i++) inputs[i] = make_input(graph->sizes[i], graph->ranks[i], i);
  assert_ok(laze_compiled_run(compiled, inputs, graph->input_count, &output, 1, &error));
  for (int i = 0; i < graph->input_count; i++) laze_array_release(inputs[i]);
  return output;
}

/* On 1, 2 and 7 threads, of which some find no band to do. */
static void check_case(const graph_case *graph) {
  static const int threads[] = {1, 2, 7};
  const laze_backend *interpreter, *native = laze_backend_at(0);
  laze_cost cost = {.struct_size = sizeof cost};
  if (!test_fuses(native)) return; /* no native code */
  assert_ok(laze_backend_find(context, "interp", &interpreter, &error));
  laze_compiled *reference = test_compile(context, interpreter, graph->text),
                *compiled = test_compile(context, native, graph->text);
  laze_array *wanted = run(reference, graph);
  assert_ok(laze_compiled_cost(compiled, NULL, 0, &cost, &error));
  ck_assert_int_eq(cost.interpreted, 0);
  ck_assert_int_eq(cost.temporary_bytes < HANDED_BYTES, graph->in_bands);
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    assert_ok(laze_set_threads(context, threads[t], &error));
    laze_array *got = run(compiled, graph);
    ck_assert_int_eq(test_array_bytes(got), test_array_bytes(wanted));
    ck_assert_msg(memcmp(laze_array_data(got), laze_array_data(wanted), (size_t)test_array_bytes(got)) == 0,
                  "%d threads", threads[t]);
    laze_array_release(got);
  }
  laze_array_release(wanted);
  laze_compiled_release(reference);
  laze_compiled_release(compiled);
}

/* Rows of two batches, the last band of each shorter than the others. What softmax does, without its function, whose
 * bits are not the interpreter's. */
START_TEST(attention_keeps_no_scores) {
  check_case(&(graph_case){.text = "laze 1\n"
                                   "graph @g(%q: f32[2,800,9], %k: f32[2,9,800], %v: f32[2,800,5]) -> f32[2,800,5] {\n"
                                   "  %0 = bmm %q, %k\n"
                                   "  %1 = iota size=[800, 800], dtype=i64\n"
                                   "  %2 = iota size=[800, 800], dim=1, dtype=i64\n"
                                   "  %3 = le %2, %1\n"
                                   "  %4 = where %3, %0, -1.0\n"
                                   "  %5 = amax %4, dim=[-1], keepdim=true\n"
                                   "  %6 = sub %4, %5\n"
                                   "  %7 = sum %6, dim=[-1], keepdim=true\n"
                                   "  %8 = div %6, %7\n"
                                   "  %9 = bmm %8, %v\n"
                                   "  return %9\n"
                                   "}\n",
                           .sizes = {{2, 800, 9}, {2, 9, 800}, {2, 800, 5}},
                           .ranks = {3, 3, 3},
                           .input_count = 3,
                           .in_bands = true});
}
END_TEST

/* A bias belongs to columns, and what multiplies a row is read by rows, too. */
START_TEST(layers_hand_rows_on) {
  check_case(&(graph_case){.text = "laze 1\n"
                                   "graph @g(%x: f32[2900,7], %w: f32[7,401], %b: f32[401], %u: f32[401,3])\n"
                                   "    -> f32[2900,3] {\n"
                                   "  %0 = mm %x, %w\n"
                                   "  %1 = add %0, %b\n"
                                   "  %2 = maximum %1, 0.0\n"
                                   "  %3 = mm %2, %u\n"
                                   "  return %3\n"
                                   "}\n",
                           .sizes = {{2900, 7}, {7, 401}, {401}, {401, 3}},
                           .ranks = {2, 2, 1, 2},
                           .input_count = 4,
                           .in_bands = true});
}
END_TEST

/* A product of the product itself, and one whose rows are summed at the end. */
START_TEST(products_hand_rows_on) {
  check_case(&(graph_case){.text = "laze 1\n"
                                   "graph @g(%x: f32[2900,7], %w: f32[7,401], %u: f32[401,3]) -> f32[2900] {\n"
                                   "  %0 = mm %x, %w\n"
                                   "  %1 = mm %0, %u\n"
                                   "  %2 = sum %1, dim=[1]\n"
                                   "  return %2\n"
                                   "}\n",
                           .sizes = {{2900, 7}, {7, 401}, {401, 3}},
                           .ranks = {2, 2, 2},
                           .input_count = 3,
                           .in_bands = true});
}
END_TEST

/* Graphs in which a row needs others: of the transpose, of both factors, over rows, in another order. */
static const char *const whole[] = {
    "  %0 = mm %x, %w\n"
    "  %1 = permute %0, dims=[1, 0]\n"
    "  %2 = mm %1, %0\n"
    "  %3 = sum %2, dim=[1]\n",
    "  %0 = mm %x, %w\n"
    "  %1 = mm %0, %0\n"
    "  %3 = sum %1, dim=[1]\n",
    "  %0 = mm %x, %w\n"
    "  %4 = amax %0, dim=[0]\n"
    "  %1 = sub %0, %4\n"
    "  %2 = mm %1, %w2\n"
    "  %3 = sum %2, dim=[1]\n",
    "  %0 = mm %x, %w\n"
    "  %1 = flip %0, dims=[0]\n"
    "  %4 = maximum %1, %b\n"
    "  %2 = mm %4, %w2\n"
    "  %3 = sum %2, dim=[1]\n",
    "  %0 = mm %x, %w\n"
    "  %1 = maximum %0, %b\n"
    "  %2 = mm %1, %w2\n"
    "  %4 = sum %0\n" /* another user */
    "  %5 = sum %2, dim=[1]\n"
    "  %3 = add %5, %4\n",
};

START_TEST(other_rows_are_there) {
  char text[1000];
  snprintf(text, sizeof text,
           "laze 1\n"
           "graph @g(%%x: f32[1050,5], %%w: f32[5,1050], %%b: f32[1050], %%w2: f32[1050,2]) -> f32[1050] {\n"
           "%s  return %%3\n}\n",
           whole[_i]);
  check_case(&(graph_case){.text = text,
                           .sizes = {{1050, 5}, {5, 1050}, {1050}, {1050, 2}},
                           .ranks = {2, 2, 1, 2},
                           .input_count = 4,
                           .in_bands = false});
}
END_TEST

int main(void) {
  Suite *suite = suite_create("bands");
  TCase *tests = tcase_create("bands");
  tcase_set_timeout(tests, 0);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, attention_keeps_no_scores);
  tcase_add_test(tests, layers_hand_rows_on);
  tcase_add_test(tests, products_hand_rows_on);
  tcase_add_loop_test(tests, other_rows_are_there, 0, sizeof whole / sizeof *whole);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
