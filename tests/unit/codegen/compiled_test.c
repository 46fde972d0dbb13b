/* laze/compile.h and laze/buffer.h: a graph compiled once runs for many sizes, on any backend, into memory of the
 * caller's or its own. */
#include "laze/compile.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/status.h"
#include "tests/support/suite.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static laze_context *context;
static laze_error error;

static void set_up(void) {
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .debug = "", .threads = 1};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
}

static void tear_down(void) {
  laze_context_release(context);
}

static laze_graph *parse(const char *text) {
  laze_graph *graph;
  assert_ok(laze_graph_parse(context, text, (int64_t)strlen(text), "test", &graph, &error));
  return graph;
}

static laze_compiled *compile(int backend, const char *text) {
  laze_graph *graph = parse(text);
  laze_compiled *compiled;
  const laze_compile_options options = {.struct_size = sizeof options, .backend = laze_backend_at(backend)};
  assert_ok(laze_compile_graph(graph, &options, &compiled, &error));
  laze_graph_release(graph);
  return compiled;
}

static laze_array *floats(laze_ints sizes, const float *data, size_t count) {
  laze_array *array;
  assert_ok(laze_array_from_data(context, LAZE_F32, sizes, data, count * sizeof *data, &array, &error));
  return array;
}

static int64_t metric(const char *name) {
  int64_t value;
  assert_ok(laze_metric_read(context, name, &value, &error));
  return value;
}

static const char dense[] = "laze 1\n"
                            "graph @dense(%x: f32[n,2], %w: f32[2,k]) -> f32[n,k] {\n"
                            "  %0 = mm %x, %w\n"
                            "  %1 = relu %0\n"
                            "  return %1\n"
                            "}\n";

/* The promise of the header: code once, a plan for each size. */
START_TEST(one_compilation_serves_three_sizes) {
  const float data[] = {1, 2, 3, 4, 5, 6}, weights[] = {1, -1, 1, 1};
  laze_compiled *compiled = compile(_i, dense);
  const int64_t kernels = metric("kernels_compiled");
  laze_array *w = floats(LAZE_SHAPE(2, 2), weights, 4);
  for (int n = 3; n >= 2; n--) { /* the size 1 may need code of its own */
    laze_array *y = NULL, *inputs[] = {floats(LAZE_SHAPE(n, 2), data, (size_t)n * 2), w};
    float got[6];
    assert_ok(laze_compiled_run(compiled, inputs, 2, &y, 1, &error));
    ck_assert_int_eq(laze_array_sizes(y).count, 2);
    ck_assert_int_eq(laze_array_sizes(y).items[0], n);
    assert_ok(laze_array_read(y, LAZE_F32, got, (size_t)n * 8, &error));
    ck_assert_float_eq(got[2], 7);
    ck_assert_float_eq(got[3], 1);
    laze_array_release(y);
    laze_array_release(inputs[0]);
  }
  ck_assert_int_eq(metric("kernels_compiled"), kernels);
  laze_array_release(w);
  laze_compiled_release(compiled);
}
END_TEST

/* What a run gives goes where the caller wants it, without a copy in between, also where it is an input or a constant
 * as it is. */
START_TEST(results_are_written_to_the_callers_memory) {
  laze_compiled *compiled = compile(_i, "laze 1\n"
                                        "graph @g(%x: f32[n]) -> f32[n], f32[n], f32[2], f32[n] {\n"
                                        "  %0 = exp %x\n"
                                        "  %1 = constant [7.0, 8.0] : f32[2]\n"
                                        "  return %0, %x, %1, %0\n"
                                        "}\n");
  float memory[4][2] = {{0}};
  const float zeros[2] = {0, 0};
  laze_array *x = floats(LAZE_SHAPE(2), zeros, 2), *places[4];
  for (int i = 0; i < 4; i++)
    assert_ok(laze_array_borrow(context, LAZE_F32, LAZE_SHAPE(2), memory[i], sizeof memory[i], NULL, NULL, &places[i],
                                &error));
  assert_ok(laze_compiled_run(compiled, &x, 1, places, 4, &error));
  ck_assert_float_eq(memory[0][1], 1);
  ck_assert_float_eq(memory[1][1], 0);
  ck_assert_float_eq(memory[2][1], 8);
  ck_assert_float_eq(memory[3][1], 1);
  laze_array *fresh[4] = {NULL};
  assert_ok(laze_compiled_run(compiled, &x, 1, fresh, 4, &error));
  ck_assert_ptr_eq(laze_array_data(fresh[1]), laze_array_data(x)); /* an input that is returned is no copy */
  ck_assert_ptr_null(laze_array_writable(fresh[1]));
  for (int i = 0; i < 4; i++) laze_array_release(places[i]), laze_array_release(fresh[i]);
  ck_assert_ptr_nonnull(laze_array_writable(x));
  laze_array_release(x);
  laze_compiled_release(compiled);
}
END_TEST

/* Nothing is kept of memory, of which several results may be one value, an input or a constant; and bools are not
 * looked at: a place holds anything before it is written. */
START_TEST(runs_on_memory) {
  laze_compiled *compiled = compile(_i, "laze 1\n"
                                        "graph @g(%x: bool[n]) -> bool[n], bool[n], bool[n], bool[2] {\n"
                                        "  %0 = logical_not %x\n"
                                        "  %1 = constant [true, false] : bool[2]\n"
                                        "  return %0, %x, %0, %1\n"
                                        "}\n");
  for (int64_t n = 0; n < 4; n++) {
    uint8_t bools[3] = {0, 1, 0}, memory[4][3] = {{7, 7, 7}, {7, 7, 7}, {7, 7, 7}, {7, 7, 7}};
    const int64_t two = 2;
    laze_memory places[4];
    for (int i = 0; i < 4; i++) {
      const int64_t *size = i == 3 ? &two : &n;
      places[i] = (laze_memory){LAZE_BOOL, {size, 1}, memory[i], (size_t)*size};
    }
    const laze_memory x = {LAZE_BOOL, LAZE_SHAPE(n), bools, (size_t)n};
    assert_ok(laze_compiled_run_on_memory(compiled, &x, 1, places, 4, &error));
    const uint8_t expected[2][3] = {{n > 0 ? 1 : 7, n > 1 ? 0 : 7, n > 2 ? 1 : 7},
                                    {n > 0 ? 0 : 7, n > 1 ? 1 : 7, n > 2 ? 0 : 7}};
    ck_assert_mem_eq(memory[0], expected[0], 3);
    ck_assert_mem_eq(memory[1], expected[1], 3);
    ck_assert_mem_eq(memory[2], expected[0], 3);
    ck_assert_mem_eq(memory[3], ((uint8_t[]){1, 0, 7}), 3);
  }
  laze_compiled_release(compiled);
}
END_TEST

/* What is wrong with memory is said before anything is written. */
START_TEST(wrong_memory_is_refused) {
  laze_compiled *compiled = compile(_i, "laze 1\n"
                                        "graph @g(%x: f32[n]) -> f32[n] {\n"
                                        "  %0 = neg %x\n"
                                        "  return %0\n"
                                        "}\n");
  float data[4] = {1, 2, 3, 4};
  const laze_memory x = {LAZE_F32, LAZE_SHAPE(2), data, 8}, y = {LAZE_F32, LAZE_SHAPE(2), data + 2, 8};
  const struct {
    laze_memory input, output;
    const char *expected;
  } wrong[] = {
      {{LAZE_F32, LAZE_SHAPE(2), data, 4}, y, "takes 8 bytes"},
      {{LAZE_F32, LAZE_SHAPE(2), NULL, 8}, y, "data is NULL"},
      {{LAZE_F32, LAZE_SHAPE(2), (char *)data + 1, 8}, y, "aligned"},
      {{LAZE_F64, LAZE_SHAPE(1), data, 8}, y, "f32[n] is declared"},
      {x, {LAZE_F32, LAZE_SHAPE(1), data + 2, 4}, "result 0 is f32[2], but the array for it is f32[1]"},
      {x, {LAZE_F32, LAZE_SHAPE(2), data + 1, 8}, "result 0 and input 0 share memory"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_fails(laze_compiled_run_on_memory(compiled, &wrong[i].input, 1, &wrong[i].output, 1, &error),
                 LAZE_INVALID_ARGUMENT, wrong[i].expected);
    ck_assert_mem_eq(data, ((float[]){1, 2, 3, 4}), sizeof data);
  }
  assert_fails(laze_compiled_run_on_memory(compiled, &x, 1, &y, 0, &error), LAZE_INVALID_ARGUMENT, "has 1 and 1");
  assert_fails(laze_compiled_run_on_memory(compiled, NULL, 1, &y, 1, &error), LAZE_INVALID_ARGUMENT, "NULL");
  assert_ok(laze_compiled_run_on_memory(compiled, &x, 1, &y, 1, &error));
  ck_assert_mem_eq(data, ((float[]){1, 2, -1, -2}), sizeof data);
  laze_compiled_release(compiled);
}
END_TEST

/* Each wrong array is refused before anything is written, and says what is declared. */
START_TEST(wrong_arrays_are_refused) {
  const float data[8] = {0};
  laze_compiled *compiled = compile(_i, dense);
  laze_array *x = floats(LAZE_SHAPE(2, 2), data, 4), *w = floats(LAZE_SHAPE(2, 4), data, 8);
  laze_array *three = floats(LAZE_SHAPE(2, 3), data, 6), *y = NULL;
  assert_fails(laze_compiled_run(compiled, (laze_array *[]){x}, 1, &y, 1, &error), LAZE_INVALID_ARGUMENT,
               "has 2 and 1");
  assert_fails(laze_compiled_run(compiled, (laze_array *[]){x, NULL}, 2, &y, 1, &error), LAZE_INVALID_ARGUMENT,
               "input 1 is NULL");
  assert_fails(laze_compiled_run(compiled, (laze_array *[]){three, w}, 2, &y, 1, &error), LAZE_INVALID_ARGUMENT,
               "f32[n,2] is declared");
  laze_array *place = three;
  assert_fails(laze_compiled_run(compiled, (laze_array *[]){x, w}, 2, &place, 1, &error), LAZE_INVALID_ARGUMENT,
               "result 0 is f32[2,4], but the array for it is f32[2,3]");
  place = w;
  assert_fails(laze_compiled_run(compiled, (laze_array *[]){x, w}, 2, &place, 1, &error), LAZE_INVALID_ARGUMENT,
               "share memory");
  ck_assert_ptr_null(y);
  laze_array_release(x), laze_array_release(w), laze_array_release(three);
  laze_compiled_release(compiled);
}
END_TEST

/* An index in the data is found by the run; the result stays absent, and the next run works. */
START_TEST(a_run_that_fails_leaves_nothing) {
  laze_compiled *compiled = compile(_i, "laze 1\n"
                                        "graph @g(%x: f32[n], %i: i64[k]) -> f32[k] {\n"
                                        "  %0 = index_select %x, %i, dim=0\n"
                                        "  return %0\n"
                                        "}\n");
  const float data[] = {1, 2};
  int64_t index = 5;
  laze_array *x = floats(LAZE_SHAPE(2), data, 2), *y = NULL, *i, *right;
  assert_ok(laze_array_from_data(context, LAZE_I64, LAZE_SHAPE(1), &index, sizeof index, &i, &error));
  assert_fails(laze_compiled_run(compiled, (laze_array *[]){x, i}, 2, &y, 1, &error), LAZE_OUT_OF_RANGE, "5");
  ck_assert_ptr_null(y);
  index = 1;
  assert_ok(laze_array_from_data(context, LAZE_I64, LAZE_SHAPE(1), &index, sizeof index, &right, &error));
  assert_ok(laze_compiled_run(compiled, (laze_array *[]){x, right}, 2, &y, 1, &error));
  ck_assert_float_eq(((const float *)laze_array_data(y))[0], 2);
  laze_array_release(x), laze_array_release(i), laze_array_release(right), laze_array_release(y);
  laze_compiled_release(compiled);
}
END_TEST

/* Sizes that data say: a result's own array has them, and a place must. */
START_TEST(sizes_that_values_give_are_found) {
  laze_compiled *compiled = compile(_i, "laze 1\n"
                                        "graph @g(%x: f32[n], %k: i64[]) -> f32[min(n,u0)] {\n"
                                        "  %0 = size_from %k, size=u0\n"
                                        "  %1 = slice %x, end=u0\n"
                                        "  return %1\n"
                                        "}\n");
  const float data[] = {1, 2, 3};
  const int64_t two = 2;
  laze_array *x = floats(LAZE_SHAPE(3), data, 3), *y = NULL, *k, *place;
  assert_ok(laze_array_from_data(context, LAZE_I64, LAZE_SHAPE_SCALAR, &two, sizeof two, &k, &error));
  assert_ok(laze_compiled_run(compiled, (laze_array *[]){x, k}, 2, &y, 1, &error));
  ck_assert_int_eq(laze_array_sizes(y).items[0], 2);
  assert_ok(laze_array_create(context, LAZE_F32, LAZE_SHAPE(3), &place, &error));
  assert_fails(laze_compiled_run(compiled, (laze_array *[]){x, k}, 2, &place, 1, &error), LAZE_INVALID_ARGUMENT,
               "8 bytes");
  laze_array_release(x), laze_array_release(y), laze_array_release(k), laze_array_release(place);
  laze_compiled_release(compiled);
}
END_TEST

/* A size that no input brings comes from the options. */
START_TEST(sizes_that_no_input_gives_are_given) {
  laze_graph *graph =
      parse("laze 1\ngraph @g(%x: f32[n]) -> f32[m,n] {\n  %0 = expand %x, size=[m,n]\n  return %0\n}\n");
  laze_compiled *compiled;
  const float data[] = {4, 5};
  laze_array *x = floats(LAZE_SHAPE(2), data, 2), *y = NULL;
  laze_compile_options options = {.struct_size = sizeof options};
  assert_ok(laze_compile_graph(graph, &options, &compiled, &error));
  assert_fails(laze_compiled_run(compiled, &x, 1, &y, 1, &error), LAZE_INVALID_ARGUMENT, "size m");
  laze_compiled_release(compiled);
  const int64_t sizes[] = {-1, 3}, many[] = {1, 2, 3};
  options.sizes = sizes;
  options.size_count = 2;
  ck_assert_str_eq(laze_graph_symbol(graph, 1), "m");
  assert_ok(laze_compile_graph(graph, &options, &compiled, &error));
  assert_ok(laze_compiled_run(compiled, &x, 1, &y, 1, &error));
  ck_assert_int_eq(laze_array_sizes(y).items[0], 3);
  ck_assert_float_eq(((const float *)laze_array_data(y))[5], 5);
  laze_compiled_release(compiled);
  options.sizes = many;
  options.size_count = 3;
  assert_fails(laze_compile_graph(graph, &options, &compiled, &error), LAZE_INVALID_ARGUMENT, "has 2");
  laze_array_release(x), laze_array_release(y);
  laze_graph_release(graph);
}
END_TEST

/* A plugin asks what a run takes before it decides. */
START_TEST(costs_follow_from_sizes) {
  laze_compiled *compiled = compile(_i, "laze 1\n"
                                        "graph @g(%x: f32[n,2]) -> f32[n] {\n"
                                        "  %0 = constant [1.0, 2.0] : f32[2]\n"
                                        "  %1 = mv %x, %0\n"
                                        "  return %1\n"
                                        "}\n");
  laze_cost small = {.struct_size = sizeof small}, large = {.struct_size = sizeof large};
  assert_ok(laze_compiled_cost(compiled, LAZE_SHAPE(10).items, 1, &small, &error));
  assert_ok(laze_compiled_cost(compiled, LAZE_SHAPE(1000).items, 1, &large, &error));
  ck_assert_int_eq(small.output_bytes, 40);
  ck_assert_int_eq(large.output_bytes, 4000);
  ck_assert_int_eq(small.constant_bytes, 8);
  ck_assert_int_ge(small.kernels, 1);
  ck_assert_int_ge(large.work, 10 * small.work); /* 0 where there is no estimate */
  ck_assert_int_eq(small.work, small.bytes + small.operations);
  ck_assert(large.work == 0 || (large.bytes >= 12000 && large.operations >= 2000)); /* two numbers in, one out */
  ck_assert_int_eq(large.input_bytes, 8000);
  ck_assert_int_eq(large.peak_bytes,
                   large.input_bytes + large.constant_bytes + large.temporary_bytes + large.output_bytes);
  assert_fails(laze_compiled_cost(compiled, NULL, 0, &small, &error), LAZE_INVALID_ARGUMENT, "size n");
  laze_compiled_release(compiled);
}
END_TEST

/* Whether an operator is lowered for some dtypes is asked of a graph of one call, before anything is compiled. */
START_TEST(what_is_lowered_is_asked_beforehand) {
  const laze_dtype dtypes[] = {LAZE_F32, LAZE_BF16, LAZE_I64, LAZE_BOOL};
  const laze_compile_options options = {.struct_size = sizeof options, .backend = laze_backend_at(_i)};
  for (int i = 0; i < 4; i++) {
    laze_graph *graph;
    laze_value x, y;
    int64_t n;
    assert_ok(laze_graph_create(context, "one", &graph, &error));
    assert_ok(laze_graph_size(graph, "n", &n, &error));
    assert_ok(laze_graph_add_input(graph, "x", dtypes[i], LAZE_SHAPE(n), &x, &error));
    if (dtypes[i] == LAZE_BOOL) { /* recording says which dtypes an operator takes */
      assert_fails(laze_graph_record(graph, "sub", LAZE_VALUES(x, x), &y, &error), LAZE_UNSUPPORTED,
                   "not defined for bool");
    } else {
      assert_ok(laze_graph_record(graph, "sub", LAZE_VALUES(x, x), &y, &error));
      assert_ok(laze_graph_set_results(graph, LAZE_VALUES(y), &error));
      assert_ok(laze_compile_check(graph, &options, &error));
      assert_ok(laze_force_fallback(context, "sub.Tensor", 1, &error));
      if (strcmp(laze_backend_name(laze_backend_at(_i)), "llvm") == 0)
        assert_fails(laze_compile_check(graph, &options, &error), LAZE_UNSUPPORTED, "sub.Tensor has no native code");
      else
        assert_ok(laze_compile_check(graph, &options, &error)); /* the others run it as they run all */
      assert_ok(laze_force_fallback(context, "sub.Tensor", 0, &error));
    }
    laze_graph_release(graph);
  }
  ck_assert_int_eq(metric("kernels_compiled"), 0);
  assert_fails(laze_compile_check(NULL, &options, &error), LAZE_INVALID_ARGUMENT, "NULL");
}
END_TEST

typedef struct {
  laze_compiled *compiled;
  int number;
  bool right;
} worker;

static void *run_many(void *object) {
  worker *self = object;
  float data[200];
  self->right = true;
  for (int round = 0; round < 100 && self->right; round++) {
    const int n = 1 + (round * 7 + self->number) % 50;
    laze_array *x = NULL, *y = NULL;
    laze_error failure;
    for (int i = 0; i < 4 * n; i++) data[i] = (float)(i + self->number);
    self->right =
        laze_array_from_data(context, LAZE_F32, LAZE_SHAPE(n, 4), data, (size_t)n * 16, &x, &failure) == LAZE_OK &&
        laze_compiled_run(self->compiled, &x, 1, &y, 1, &failure) == LAZE_OK &&
        ((const float *)laze_array_data(y))[4 * n - 1] == 2 * data[4 * n - 1];
    laze_array_release(x);
    laze_array_release(y);
  }
  return NULL;
}

/* More sizes than are kept, from several threads at once. */
START_TEST(threads_share_a_compiled_graph) {
  laze_compiled *compiled =
      compile(_i, "laze 1\ngraph @g(%x: f32[n,4]) -> f32[n,4] {\n  %0 = add %x, %x\n  return %0\n}\n");
  pthread_t threads[4];
  worker workers[4];
  for (int i = 0; i < 4; i++) {
    workers[i] = (worker){compiled, i, false};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_many, &workers[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    ck_assert(workers[i].right);
  }
  laze_compiled_release(compiled);
}
END_TEST

/* The interpreter of a context whose memory fails: an error, nothing lost, whichever allocation it is. */
START_TEST(memory_may_run_out_at_any_point) {
  for (int64_t at = 1;; at++) {
    test_failing_allocator state = {0};
    laze_context *own;
    laze_graph *graph;
    laze_compiled *compiled = NULL;
    laze_array *x = NULL, *y = NULL;
    laze_error failure;
    const float data[] = {1, 2};
    static const char text[] = "laze 1\ngraph @g(%x: f32[n]) -> f32[n] {\n  %0 = add %x, %x\n  return %0\n}\n";
    ck_assert_int_eq(test_failing_context(&state, "interp", "", "", &own), LAZE_OK);
    ck_assert_int_eq(laze_graph_parse(own, text, sizeof text - 1, NULL, &graph, NULL), LAZE_OK);
    state.refuse_at = state.calls + at;
    laze_status status = laze_compile_graph(graph, NULL, &compiled, &failure);
    if (status == LAZE_OK) status = laze_array_from_data(own, LAZE_F32, LAZE_SHAPE(2), data, sizeof data, &x, &failure);
    if (status == LAZE_OK) status = laze_compiled_run(compiled, &x, 1, &y, 1, &failure);
    const bool reached = state.calls >= state.refuse_at;
    laze_array_release(x), laze_array_release(y);
    laze_compiled_release(compiled);
    laze_graph_release(graph);
    laze_context_release(own);
    ck_assert_int_eq(state.live, 0);
    if (!reached) break;
    ck_assert(status == LAZE_OUT_OF_MEMORY || status == LAZE_OK); /* caches do without */
  }
}
END_TEST

/* --- Arrays --- */

static void count_release(void *self) {
  ++*(int *)self;
}

/* Lent memory comes back once, also where the call refuses it. */
START_TEST(lent_memory_comes_back) {
  float data[4] = {1, 2, 3, 4};
  int released = 0;
  laze_array *array;
  assert_ok(
      laze_array_borrow(context, LAZE_F32, LAZE_SHAPE(4), data, sizeof data, count_release, &released, &array, &error));
  ck_assert_ptr_eq(laze_array_data(array), data);
  ck_assert_ptr_null(laze_array_writable(array));
  laze_array_retain(array);
  laze_array_release(array);
  ck_assert_int_eq(released, 0);
  laze_array_release(array);
  ck_assert_int_eq(released, 1);
  assert_fails(
      laze_array_borrow(context, LAZE_F32, LAZE_SHAPE(3), data, sizeof data, count_release, &released, &array, &error),
      LAZE_INVALID_ARGUMENT, "takes 12 bytes");
  ck_assert_ptr_null(array);
  ck_assert_int_eq(released, 2);
}
END_TEST

/* Reading converts as a tensor's read does. */
START_TEST(arrays_are_read_in_any_dtype) {
  const float data[] = {1.5f, -2, 300};
  laze_array *array = floats(LAZE_SHAPE(3), data, 3);
  double wide[3];
  int32_t whole[3];
  assert_ok(laze_array_read(array, LAZE_F64, wide, sizeof wide, &error));
  ck_assert_double_eq(wide[0], 1.5);
  assert_ok(laze_array_read(array, LAZE_I32, whole, sizeof whole, &error));
  ck_assert_int_eq(whole[2], 300);
  assert_fails(laze_array_read(array, LAZE_F64, wide, 8, &error), LAZE_INVALID_ARGUMENT, "takes 24 bytes");
  assert_fails(laze_array_read(array, 0, wide, 8, &error), LAZE_INVALID_ARGUMENT, "no dtype");
  laze_array_release(array);
  assert_ok(laze_array_create(context, LAZE_F32, LAZE_SHAPE(0, 3), &array, &error));
  ck_assert_int_eq(laze_array_bytes(array), 0);
  ck_assert_ptr_nonnull(laze_array_data(array));
  laze_array_release(array);
  assert_fails(laze_array_create(context, LAZE_F32, LAZE_SHAPE(-1), &array, &error), LAZE_OUT_OF_RANGE, "-1");
}
END_TEST

/* Backends are found by name, and a wrong name lists them. */
START_TEST(backends_are_listed) {
  const laze_backend *backend;
  for (int32_t i = 0; (backend = laze_backend_at(i)) != NULL; i++) {
    const laze_backend *found;
    assert_ok(laze_backend_find(context, laze_backend_name(backend), &found, &error));
    ck_assert_ptr_eq(found, backend);
    ck_assert_str_ne(laze_backend_description(backend), "");
  }
  assert_fails(laze_backend_find(NULL, "quantum", &backend, &error), LAZE_NOT_FOUND, "interp");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("compiled");
  TCase *tests = tcase_create("all");
  int backends = 0;
  while (laze_backend_at(backends)) backends++;
  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_loop_test(tests, one_compilation_serves_three_sizes, 0, backends);
  tcase_add_loop_test(tests, results_are_written_to_the_callers_memory, 0, backends);
  tcase_add_loop_test(tests, runs_on_memory, 0, backends);
  tcase_add_loop_test(tests, wrong_memory_is_refused, 0, backends);
  tcase_add_loop_test(tests, wrong_arrays_are_refused, 0, backends);
  tcase_add_loop_test(tests, a_run_that_fails_leaves_nothing, 0, backends);
  tcase_add_loop_test(tests, sizes_that_values_give_are_found, 0, backends);
  tcase_add_test(tests, sizes_that_no_input_gives_are_given);
  tcase_add_loop_test(tests, costs_follow_from_sizes, 0, backends);
  tcase_add_loop_test(tests, what_is_lowered_is_asked_beforehand, 0, backends);
  tcase_add_loop_test(tests, threads_share_a_compiled_graph, 0, backends);
  tcase_add_test(tests, memory_may_run_out_at_any_point);
  tcase_add_test(tests, lent_memory_comes_back);
  tcase_add_test(tests, arrays_are_read_in_any_dtype);
  tcase_add_test(tests, backends_are_listed);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
