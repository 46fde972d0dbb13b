/* Kernels that a program registers: they run inside of graphs, on every backend alike, and what is wrong with them is
 * an error of the value and of nothing else. */
#include "ir/text/text.h"
#include "laze/laze.h"
#include "tests/conformance/conformance.h"
#include "tests/support/backends.h"
#include "tests/support/run.h"
#include "tests/unit/lazy/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static laze_context *context;
static laze_scope *scope;
static laze_error error;
static _Atomic int calls, releases;

static void begin(int backend) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = laze_backend_at(backend)->name, .cache_directory = "", .threads = 2};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  scope = laze_scope_begin(context);
  calls = releases = 0;
}

static void end(laze_status expected) {
  ck_assert_int_eq(laze_scope_end(scope), expected);
  laze_context_release(context);
}

static int64_t count_elements(const laze_opaque_tensor *tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; i++) count *= tensor->sizes[i];
  return count;
}

/* The operand times the product of `reals`. */
static laze_status scale_run(void *self, const laze_opaque_call *call, laze_error *failure) {
  const float *from = call->operands[0].data;
  float *to = call->results[0].data, factor = self ? *(float *)self : 1;
  (void)failure;
  calls++;
  for (int32_t i = 0; i < call->reals.count; i++) factor *= (float)call->reals.items[i];
  for (int64_t i = 0; i < count_elements(&call->operands[0]); i++) to[i] = from[i] * factor;
  return LAZE_OK;
}

static void note_release(void *self) {
  (void)self;
  releases++;
}

static laze_status add_kernel(const char *name, laze_opaque_run run, laze_opaque_infer infer, int32_t results,
                              void *self) {
  laze_opaque_options options = {.struct_size = sizeof options,
                                 .name = name,
                                 .result_count = results,
                                 .run = run,
                                 .infer = infer,
                                 .self = self,
                                 .release = note_release};
  return laze_opaque_register(context, &options, &error);
}

static laze_tensor *one(const char *name, laze_tensor *x, laze_reals reals) {
  laze_tensor *result = NULL;
  ck_assert_int_eq(
      laze_opaque_record(context, name, LAZE_TENSORS(x), LAZE_SHAPE_SCALAR, reals, LAZE_NO_STRINGS, &result, 1), 1);
  return result;
}

/* What stands before and behind the call is one graph with it, for whatever size, and nothing falls back. */
START_TEST(a_kernel_does_not_cut_the_graph) {
  begin(_i);
  ck_assert_int_eq(add_kernel("scale", scale_run, NULL, 1, NULL), LAZE_OK);
  for (int64_t count = 3; count < 7; count++) {
    laze_tensor *x = filled(context, count, 2), *y = laze_add(one("scale", laze_mul(x, 3), LAZE_REALS(0.5, 4)), x);
    ck_assert_int_eq(laze_tensor_size(y, 0), count);
    ck_assert_float_eq(first(laze_neg(y), count), -14);
  }
  ck_assert_int_eq(calls, 4);
  ck_assert_int_eq(metric(context, "graphs_run"), 4);
  ck_assert_int_eq(metric(context, "fallbacks"), 0);
  ck_assert_int_eq(metric(context, "program_cache_hits"), 3);
  end(LAZE_OK);
  ck_assert_int_eq(releases, 1);
}
END_TEST

/* Rows are counted by `integers`; the second result is absent where no string asks for it. */
static laze_status rows_infer(void *self, const laze_opaque_call *call, laze_opaque_type *results,
                              laze_error *failure) {
  (void)self;
  ck_assert_ptr_null(call->results);
  if (call->integers.count != 1) {
    snprintf(failure->message, sizeof failure->message, "integers has %d items, expected 1", (int)call->integers.count);
    return LAZE_OUT_OF_RANGE;
  }
  results[0] = (laze_opaque_type){LAZE_F64, 2, {call->integers.items[0], call->operands[0].sizes[0]}};
  if (call->strings.count > 1 && strcmp(call->strings.items[1], "total") == 0)
    results[1] = (laze_opaque_type){LAZE_I32, 0, {0}};
  return LAZE_OK;
}

static laze_status rows_run(void *self, const laze_opaque_call *call, laze_error *failure) {
  const float *from = call->operands[0].data;
  double *to = call->results[0].data;
  int64_t columns = call->operands[0].sizes[0];
  (void)self, (void)failure;
  for (int64_t i = 0; i < call->results[0].sizes[0] * columns; i++) to[i] = from[i % columns] + (double)i;
  if (call->results[1].dtype == LAZE_DTYPE_NONE)
    ck_assert_ptr_null(call->results[1].data);
  else
    *(int32_t *)call->results[1].data = (int32_t)count_elements(&call->results[0]);
  return LAZE_OK;
}

START_TEST(results_have_types_of_their_own_and_may_be_absent) {
  double data[6];
  int32_t total;
  begin(_i);
  ck_assert_int_eq(add_kernel("rows", rows_run, rows_infer, 2, NULL), LAZE_OK);
  laze_tensor *x = filled(context, 3, 1), *results[3];
  ck_assert_int_eq(laze_opaque_record(context, "rows", LAZE_TENSORS(x), LAZE_INTS(2), LAZE_NO_REALS,
                                      LAZE_STRINGS("", "total"), results, 3),
                   2);
  ck_assert_int_eq(laze_tensor_read(laze_tensor_retain(results[0]), LAZE_F64, data, sizeof data), LAZE_OK);
  ck_assert(data[0] == 1 && data[5] == 6);
  ck_assert_int_eq(laze_tensor_read(results[1], LAZE_I32, &total, sizeof total), LAZE_OK);
  ck_assert_int_eq(total, 6);
  laze_tensor_release(results[0]);
  ck_assert_int_eq(
      laze_opaque_record(context, "rows", LAZE_TENSORS(x), LAZE_INTS(2), LAZE_NO_REALS, LAZE_NO_STRINGS, results, 2),
      2);
  ck_assert_ptr_null(results[1]);
  ck_assert_int_eq(laze_tensor_read(results[0], LAZE_F64, data, sizeof data), LAZE_OK);
  ck_assert_int_eq(
      laze_opaque_record(context, "rows", LAZE_TENSORS(x), LAZE_INTS(2), LAZE_NO_REALS, LAZE_NO_STRINGS, results, 1),
      1);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(results[0]), "gives 2 results, but there is room for 1"));
  ck_assert_int_eq(
      laze_opaque_record(context, "rows", LAZE_TENSORS(x), LAZE_INTS(1, 2), LAZE_NO_REALS, LAZE_NO_STRINGS, results, 3),
      1);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(results[0]), "kernel 'rows': integers has 2 items, expected 1"));
  end(LAZE_INVALID_ARGUMENT);
}
END_TEST

static laze_status refusing_run(void *self, const laze_opaque_call *call, laze_error *failure) {
  (void)self;
  if (call->reals.count > 0) snprintf(failure->message, sizeof failure->message, "the pump is off");
  return LAZE_IO_ERROR;
}

/* The value and what depends on it have the kernel's error; others of the same run are computed. */
START_TEST(a_failing_kernel_is_an_error_of_its_value) {
  begin(_i);
  ck_assert_int_eq(add_kernel("pump", refusing_run, NULL, 1, NULL), LAZE_OK);
  laze_tensor *x = filled(context, 2, 1), *failed = laze_tensor_retain(laze_add(one("pump", x, LAZE_REALS(1)), 1)),
              *fine = laze_tensor_retain(laze_add(x, 2)), *silent = laze_tensor_retain(one("pump", x, LAZE_NO_REALS));
  ck_assert_int_eq(laze_step_end(scope, &error), LAZE_IO_ERROR);
  scope = laze_scope_begin(context);
  ck_assert_float_eq(first(fine, 2), 3);
  ck_assert_int_eq(metric(context, "graphs_run"), 1);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(failed), "opaque: kernel 'pump': the pump is off"));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(silent), "kernel 'pump' failed: IO_ERROR"));
  laze_tensor_release(failed), laze_tensor_release(fine), laze_tensor_release(silent);
  end(LAZE_OK);
}
END_TEST

/* A rule that says one thing when the call is recorded and another when it runs would have the kernel write outside of
 * its results. */
static laze_status changing_infer(void *self, const laze_opaque_call *call, laze_opaque_type *results,
                                  laze_error *failure) {
  (void)call, (void)failure;
  results[0] = (laze_opaque_type){LAZE_F32, 1, {++*(int64_t *)self}};
  return LAZE_OK;
}

START_TEST(types_are_checked_before_the_kernel_writes) {
  int64_t size = 1;
  begin(_i);
  ck_assert_int_eq(add_kernel("changing", scale_run, changing_infer, 1, &size), LAZE_OK);
  laze_tensor *y = one("changing", filled(context, 3, 1), LAZE_NO_REALS);
  ck_assert_int_eq(laze_tensor_materialise(y), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(y), "another dtype or shape"));
  ck_assert_int_eq(calls, 0);
  end(LAZE_OK);
}
END_TEST

/* What was compiled keeps its kernel; a name that is taken back and given again means the new one. */
START_TEST(names_are_taken_back_and_given_again) {
  static float three = 3;
  begin(_i);
  laze_tensor *x = filled(context, 2, 1);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(one("scale", x, LAZE_NO_REALS)), "there is no kernel 'scale'"));
  ck_assert_int_eq(laze_opaque_unregister(context, "scale", &error), LAZE_NOT_FOUND);
  ck_assert_int_eq(add_kernel("scale", scale_run, NULL, 1, NULL), LAZE_OK);
  ck_assert_float_eq(first(one("scale", x, LAZE_REALS(2)), 2), 2);
  laze_tensor *pending = one("scale", x, LAZE_REALS(2)), *later = laze_neg(one("scale", x, LAZE_REALS(2)));
  ck_assert_int_eq(add_kernel("scale", scale_run, NULL, 1, NULL), LAZE_FAILED_PRECONDITION);
  ck_assert_int_eq(releases, 1); /* of the one that was refused */
  ck_assert_int_eq(laze_opaque_unregister(context, "scale", &error), LAZE_OK);
  ck_assert_float_eq(first(pending, 2), 2); /* compiled before */
  ck_assert_int_eq(laze_tensor_materialise(later), LAZE_NOT_FOUND);
  ck_assert_int_eq(releases, 1);
  ck_assert_int_eq(add_kernel("scale", scale_run, NULL, 1, &three), LAZE_OK);
  ck_assert_float_eq(first(one("scale", x, LAZE_REALS(2)), 2), 6);
  ck_assert_float_eq(first(pending, 2), 2);
  (void)laze_scope_end(scope);
  laze_context_release(context);
  ck_assert_int_eq(releases, 3);
}
END_TEST

START_TEST(wrong_options_are_errors) {
  begin(_i);
  laze_opaque_options options = {.struct_size = 8, .name = "k", .run = scale_run};
  ck_assert_int_eq(laze_opaque_register(context, &options, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_opaque_register(context, NULL, &error), LAZE_INVALID_ARGUMENT);
  options = (laze_opaque_options){.struct_size = sizeof options, .name = "", .run = scale_run};
  ck_assert_int_eq(laze_opaque_register(context, &options, &error), LAZE_INVALID_ARGUMENT);
  options.name = "k";
  options.run = NULL;
  ck_assert_int_eq(laze_opaque_register(context, &options, &error), LAZE_INVALID_ARGUMENT);
  options.run = scale_run;
  options.result_count = 9;
  ck_assert_int_eq(laze_opaque_register(context, &options, &error), LAZE_INVALID_ARGUMENT);
  options.result_count = 0;
  options.version = 7;
  ck_assert_int_eq(laze_opaque_register(context, &options, &error), LAZE_OK);
  ck_assert_int_eq(laze_opaque_unregister(context, "k", &error), LAZE_OK);
  ck_assert_int_eq(laze_opaque_register(context, &options, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "give another version"));
  options.version = 0;
  ck_assert_int_eq(laze_opaque_register(context, &options, &error), LAZE_OK);
  ck_assert_int_eq(laze_opaque_unregister(context, NULL, &error), LAZE_INVALID_ARGUMENT);
  end(LAZE_OK);
}
END_TEST

/* --- Graph text --- */

static laze_status parse(const char *text, laze_graph **out) {
  return laze_graph_parse(context, text, (int64_t)strlen(text), "test.lz", out, &error);
}

/* A call takes version and types from the registry, and prints so that it reads back. */
static const char in_text[] = "laze 1\n"
                              "graph @g(%x: f32[3]) -> f32[3], f64[2,3] {\n"
                              "  %0 = opaque [%x], name=\"scale\", reals=[0.5] : f32[3]\n"
                              "  %1:2 = opaque [%0], name=\"rows\", integers=[2] : f64[2,3], none\n"
                              "  return %0, %1#0\n"
                              "}\n",
                  printed[] =
                      "laze 1\n"
                      "graph @g(%x: f32[3]) -> f32[3], f64[2,3] {\n"
                      "  %0 = opaque [%x], name=\"scale\", reals=[0.5], version=1, dtypes=[\"f32\"], ranks=[1], "
                      "sizes=[3] : f32[3]\n"
                      "  %1:2 = opaque [%0], name=\"rows\", integers=[2], version=1, dtypes=[\"f64\", \"none\"], "
                      "ranks=[2, 0], sizes=[2, 3] : f64[2,3], none\n"
                      "  return %0, %1#0\n"
                      "}\n";

START_TEST(calls_are_read_and_printed) {
  laze_graph *graph, *again;
  laze_text text;
  begin(_i);
  ck_assert_int_eq(parse(in_text, &graph), LAZE_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(error.message, "test.lz:3:"));
  ck_assert_ptr_nonnull(strstr(error.message, "there is no kernel 'scale'"));
  ck_assert_int_eq(add_kernel("scale", scale_run, NULL, 1, NULL), LAZE_OK);
  ck_assert_int_eq(add_kernel("rows", rows_run, rows_infer, 2, NULL), LAZE_OK);
  ck_assert_msg(parse(in_text, &graph) == LAZE_OK, "%s", error.message);
  laze_text_init(&text, context);
  laze_graph_print(&text, graph, true);
  ck_assert_str_eq(laze_text_get(&text), printed);
  ck_assert_int_eq(parse(printed, &again), LAZE_OK);
  ck_assert(laze_graph_equal(graph, again, NULL));
  ck_assert_int_eq(laze_graph_verify(again, &error), LAZE_OK);
  laze_text_deinit(&text);
  laze_graph_destroy(graph);
  laze_graph_destroy(again);
  end(LAZE_OK);
}
END_TEST

/* In a loop, of sizes that are expressions, and as the call says: the same on every backend. */
START_TEST(calls_stand_anywhere) {
  static const char text[] =
      "laze 1\n"
      "graph @g(%i: i64[], %x: f32[n], %y: f32[2]) -> i64[], f32[n], f32[2] {\n"
      "  %0 = opaque [%x], name=\"scale\", reals=[4]\n"
      "  %1:2 = while [%i, %0] (%2: i64[], %3: f32[n]) {\n"
      "    %4 = lt %2, 3\n"
      "    return %4\n"
      "  } (%5: i64[], %6: f32[n]) {\n"
      "    %7 = add %5, 1\n"
      "    %8 = opaque [%6], name=\"scale\", reals=[0.5]\n"
      "    return %7, %8\n"
      "  }\n"
      "  %9 = opaque [%y], name=\"scale\", reals=[2], version=1, dtypes=[\"f32\"], ranks=[1], sizes=[2]\n"
      "  return %1#0, %1#1, %9\n"
      "}\n";
  static const char *const wrong[] = {
      "opaque [%x], name=\"scale\", version=2, ranks=[1], dtypes=[\"f32\"]",
      "opaque [%x], name=\"scale\", version=2, ranks=[1], dtypes=[\"f31\"], sizes=[2]",
      "opaque [%x], name=\"scale\", version=2, ranks=[99], dtypes=[\"f32\"], sizes=[2]",
      "opaque [%x], name=\"scale\", version=2, ranks=[1], dtypes=[\"f32\"], sizes=[2, 3]",
      "opaque [%x], name=\"scale\", version=2, ranks=[1], dtypes=[\"none\"], sizes=[2]",
      "opaque [%x], name=\"scale\", version=2, ranks=[1, 0], dtypes=[\"f32\"], sizes=[2]",
      "opaque [], name=\"scale\"",
      "opaque [%x], name=\"rows\", integers=[2]",
      "opaque [%x], reals=[2]",
      "opaque [%x], name=\"scale\", version=2, ranks=[0], dtypes=[\"none\"]\n  %1 = neg %0",
  };
  laze_graph *graph;
  begin(_i);
  ck_assert_int_eq(add_kernel("scale", scale_run, NULL, 1, NULL), LAZE_OK);
  ck_assert_int_eq(add_kernel("rows", rows_run, rows_infer, 2, NULL), LAZE_OK);
  ck_assert_msg(parse(text, &graph) == LAZE_OK, "%s", error.message);
  ck_assert_int_eq(laze_graph_verify(graph, &error), LAZE_OK);
  laze_graph_destroy(graph);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char source[400];
    snprintf(source, sizeof source, "laze 1\ngraph @g(%%x: f32[n]) {\n  %%0 = %s\n  return\n}\n", wrong[i]);
    ck_assert_msg(parse(source, &graph) != LAZE_OK, "%s", wrong[i]);
    ck_assert_msg(strstr(error.message, i + 1 < sizeof wrong / sizeof *wrong ? "test.lz:3:" : "test.lz:4:") != NULL,
                  "%s", error.message);
  }
  end(LAZE_OK);
}
END_TEST

START_TEST(loops_call_kernels) {
  static const char text[] = "laze 1\n"
                             "graph @g(%x: f32[4]) -> f32[4] {\n"
                             "  %i = constant 0 : i64[]\n"
                             "  %0:2 = while [%i, %x] (%1: i64[], %2: f32[4]) {\n"
                             "    %3 = lt %1, 3\n"
                             "    return %3\n"
                             "  } (%4: i64[], %5: f32[4]) {\n"
                             "    %6 = add %4, 1\n"
                             "    %7 = opaque [%5], name=\"scale\", reals=[0.5]\n"
                             "    return %6, %7\n"
                             "  }\n"
                             "  %8 = opaque [%0#1], name=\"pump\"\n"
                             "  %9 = neg %0#1\n"
                             "  return %9\n"
                             "}\n";
  laze_graph *graph;
  test_arrays inputs, outputs;
  test_random random = {.state = 1};
  const test_range range = {.low = 0, .high = 0};
  begin(_i);
  ck_assert_int_eq(add_kernel("scale", scale_run, NULL, 1, NULL), LAZE_OK);
  ck_assert_int_eq(add_kernel("pump", refusing_run, NULL, 1, NULL), LAZE_OK);
  ck_assert_msg(parse(text, &graph) == LAZE_OK, "%s", error.message);
  test_inputs(context, graph, &random, &range, &inputs);
  ck_assert_msg(test_run(context, laze_backend_at(_i), graph, NULL, &inputs, &outputs, &error) == LAZE_OK, "%s",
                error.message);
  ck_assert_int_eq(calls, 3); /* and nobody reads what the other would give */
  test_arrays_release(&inputs);
  test_arrays_release(&outputs);
  laze_graph_destroy(graph);
  end(LAZE_OK);
}
END_TEST

/* --- Threads --- */

static void *run_often(void *unused) {
  for (int i = 0; i < 40; i++) {
    laze_scope *own = laze_scope_begin(context);
    laze_tensor *x = filled(context, 5, 2), *y = NULL;
    ck_assert_int_eq(laze_opaque_record(context, "scale", LAZE_TENSORS(x), LAZE_SHAPE_SCALAR, LAZE_REALS(1.5),
                                        LAZE_STRINGS("passed", "on"), &y, 1),
                     1);
    ck_assert_float_eq(first(laze_add(y, x), 5), 5);
    ck_assert_int_eq(laze_scope_end(own), LAZE_OK);
  }
  return unused;
}

START_TEST(threads_share_kernels) {
  pthread_t threads[4];
  laze_error own;
  begin(_i);
  ck_assert_int_eq(add_kernel("scale", scale_run, NULL, 1, NULL), LAZE_OK);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, run_often, NULL), 0);
  for (int i = 0; i < 100; i++) {
    laze_opaque_options options = {.struct_size = sizeof options, .name = "other", .run = scale_run};
    ck_assert_int_eq(laze_opaque_register(context, &options, &own), LAZE_OK);
    ck_assert_int_eq(laze_opaque_unregister(context, "other", &own), LAZE_OK);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  ck_assert_int_eq(calls, 160);
  end(LAZE_OK);
}
END_TEST

int main(void) {
  const TTest *const all[] = {a_kernel_does_not_cut_the_graph,
                              results_have_types_of_their_own_and_may_be_absent,
                              a_failing_kernel_is_an_error_of_its_value,
                              types_are_checked_before_the_kernel_writes,
                              names_are_taken_back_and_given_again,
                              wrong_options_are_errors,
                              calls_are_read_and_printed,
                              calls_stand_anywhere,
                              loops_call_kernels,
                              threads_share_kernels};
  TCase *tests = tcase_create("opaque");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) conformance_add(tests, all[i]);
  return conformance_main(tests);
}
