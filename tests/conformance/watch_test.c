/* What a context does is told to the function that watches it, which can stop it at each report. */
#include "tests/conformance/conformance.h"

#include <stdio.h>
#include <string.h>

enum { MAX_REPORTS = 64 };

typedef struct {
  laze_activity seen[MAX_REPORTS];
  int count, stop_at;        /* the report that stops, from 1; 0: none */
  int64_t stop_at_iteration; /* of a loop; 0: none */
} watcher;

static int32_t watch(void *self, const laze_activity *activity) {
  watcher *state = self;
  if (state->count < MAX_REPORTS) state->seen[state->count] = *activity;
  state->count++;
  bool is_iteration = strcmp(activity->what, "loop") == 0 && activity->done == state->stop_at_iteration;
  return state->count == state->stop_at || is_iteration;
}

static const char two_products[] = "graph @g(%x: f32[2,2]) -> f32[2,2] {\n"
                                   "  %0 = mm %x, %x\n"
                                   "  %1 = mm %0, %x\n"
                                   "  return %1\n}\n";

static const float elements[] = {1, 1, 0, 1};

/* Of each activity in turn: begins at 0, ends at the total, and never goes back. Returns how many there were. */
static int check_reports(const watcher *state, const char *first) {
  int activities = 0;
  for (int i = 0; i < state->count; i++) {
    const laze_activity *at = &state->seen[i], *before = i > 0 ? &state->seen[i - 1] : NULL;
    bool begins = !before || strcmp(before->what, at->what) != 0;
    if (begins) ck_assert_int_eq(at->done, 0);
    if (begins && before) ck_assert_int_eq(before->done, before->total);
    if (!begins) ck_assert_int_ge(at->done, before->done);
    activities += begins;
  }
  ck_assert_str_eq(state->seen[0].what, first);
  ck_assert_int_eq(state->seen[state->count - 1].done, state->seen[state->count - 1].total);
  return activities;
}

START_TEST(work_is_reported) {
  const laze_backend *backend = laze_backend_at(_i);
  bool compiles = test_fuses(backend);
  laze_context *context = test_context(NULL);
  watcher state = {0};
  laze_context_watch(context, watch, &state);
  laze_executable *executable = conformance_compile(context, backend, two_products);
  ck_assert_int_eq(state.count > 0, compiles); /* others have no kernels to compile */
  if (compiles) ck_assert_int_eq(check_reports(&state, "compile"), 1);
  laze_buffer *input = conformance_buffer(context, backend, elements, sizeof elements), *output;
  state.count = 0;
  conformance_execute(backend, executable, &input, &output);
  ck_assert_int_eq(check_reports(&state, "run"), 1);
  ck_assert_int_ge(state.count, 3); /* two products depend on each other: two steps */
  laze_buffer_release(output);
  state.count = 0;
  laze_context_watch(context, NULL, NULL);
  conformance_execute(backend, executable, &input, &output);
  ck_assert_int_eq(state.count, 0);
  laze_buffer_release(output);
  laze_buffer_release(input);
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

static laze_status compile(laze_context *context, const laze_backend *backend, laze_executable **out) {
  laze_error error;
  laze_graph *graph = conformance_parse(context, two_products);
  laze_status status = laze_compile(context, backend, graph, out, &error);
  if (status == LAZE_CANCELLED) ck_assert_ptr_nonnull(strstr(error.message, "compile: stopped by the function"));
  laze_graph_destroy(graph);
  return status;
}

/* Stopped anywhere, the same work succeeds the next time, and kernels that were compiled are not compiled again. */
START_TEST(each_report_can_stop) {
  const laze_backend *backend = laze_backend_at(_i);
  int compile_stops = 0, run_stops = 0;
  for (int stop_at = 1;; stop_at++) {
    laze_context *context = test_context(NULL);
    watcher state = {.stop_at = stop_at};
    laze_context_watch(context, watch, &state);
    laze_executable *executable;
    laze_error error;
    laze_status status = compile(context, backend, &executable);
    if (status != LAZE_OK) {
      ck_assert_int_eq(status, LAZE_CANCELLED);
      ck_assert_ptr_null(executable);
      ck_assert_int_eq(compile(context, backend, &executable), LAZE_OK);
      compile_stops++;
    }
    laze_buffer *input = conformance_buffer(context, backend, elements, sizeof elements), *output;
    laze_run run = {.inputs = &input, .outputs = &output};
    status = backend->execute(executable, &run, &error);
    if (status != LAZE_OK) {
      ck_assert_int_eq(status, LAZE_CANCELLED);
      ck_assert_ptr_null(output);
      conformance_execute(backend, executable, &input, &output);
      run_stops++;
    }
    ck_assert_float_eq(((const float *)output->data)[1], 3);
    int64_t compiled;
    ck_assert_int_eq(laze_metric_read(context, "kernels_compiled", &compiled, NULL), LAZE_OK);
    ck_assert_int_le(compiled, 2);
    bool done = state.count < stop_at;
    laze_buffer_release(output);
    laze_buffer_release(input);
    laze_executable_release(executable);
    laze_context_release(context);
    if (done) break;
  }
  ck_assert_int_ge(run_stops, 3);
  ck_assert_int_eq(compile_stops >= 2, test_fuses(backend));
}
END_TEST

/* Chains of elementwise operators in front of products: kernels of some tens of instructions each. */
static void write_long_graph(char *text, size_t size) {
  enum { CHAINS = 12, LENGTH = 24 };
  size_t at = (size_t)snprintf(text, size, "graph @g(%%x: f32[4,4]) -> f32[4,4] {\n");
  int value = 0, sum = -1;
  for (int chain = 0; chain < CHAINS; chain++) {
    for (int i = 0; i < LENGTH; i++, value++) {
      const char *op = chain >> i % 4 & 1 ? "cos" : "sin"; /* no two alike, from any place on */
      at += i == 0 ? (size_t)snprintf(text + at, size - at, "  %%%d = %s %%x\n", value, op)
                   : (size_t)snprintf(text + at, size - at, "  %%%d = %s %%%d\n", value, op, value - 1);
    }
    at += (size_t)snprintf(text + at, size - at, "  %%%d = mm %%%d, %%x\n", value, value - 1);
    if (sum >= 0) at += (size_t)snprintf(text + at, size - at, "  %%%d = add %%%d, %%%d\n", value + 1, value, sum);
    sum = value + (sum >= 0);
    value = sum + 1;
  }
  at += (size_t)snprintf(text + at, size - at, "  return %%%d\n}\n", sum);
  ck_assert_uint_lt(at, size);
}

/* Much code is generated in parts, so that Ctrl-C does not wait for all of it; what is there when it comes stays. */
START_TEST(long_compiles_are_reported_between) {
  static char text[8000];
  const laze_backend *backend = laze_backend_at(_i);
  if (!test_fuses(backend)) return;
  write_long_graph(text, sizeof text);
  int64_t compiled[2];
  for (int round = 0; round < 2; round++) {
    laze_context *context = test_context(NULL);
    watcher state = {.stop_at = round == 0 ? 0 : 2};
    laze_executable *executable = NULL;
    laze_error error;
    laze_context_watch(context, watch, &state);
    laze_graph *graph = conformance_parse(context, text);
    laze_status status = laze_compile(context, backend, graph, &executable, &error);
    ck_assert_int_eq(status, round == 0 ? LAZE_OK : LAZE_CANCELLED);
    if (round == 0) {
      ck_assert_int_eq(check_reports(&state, "compile"), 1);
      ck_assert_int_ge(state.count, 3);
    } else {
      int64_t part;
      ck_assert_int_eq(laze_metric_read(context, "kernels_compiled", &part, NULL), LAZE_OK);
      ck_assert(part > 0 && part < compiled[0]);
      ck_assert_int_eq(laze_compile(context, backend, graph, &executable, &error), LAZE_OK);
    }
    ck_assert_int_eq(laze_metric_read(context, "kernels_compiled", &compiled[round], NULL), LAZE_OK);
    laze_graph_destroy(graph);
    laze_executable_release(executable);
    laze_context_release(context);
  }
  ck_assert_int_eq(compiled[0], compiled[1]);
}
END_TEST

/* A loop that would never end is inside one step. */
START_TEST(a_loop_can_be_stopped) {
  static const char *const loops[] = {
      "graph @g(%x: i64[]) -> i64[] {\n"
      "  %0 = while [%x] (%a: i64[]) {\n    %1 = ge %a, 0\n    return %1\n  } (%b: i64[]) {\n    %2 = add %b, 1\n"
      "    return %2\n  } : i64[]\n"
      "  return %0\n}\n",
      "graph @g(%x: i64[]) -> i64[] {\n"
      "  %0 = iota size=[1000]\n"
      "  %1 = reduce %0, [%x], dim=[0] (%a: i64[], %b: i64[]) {\n    %2 = add %a, %b\n"
      "    %3 = while [%2] (%p: i64[]) {\n      %4 = lt %p, 0\n      return %4\n    } (%p: i64[]) {\n"
      "      %5 = add %p, 1\n      return %5\n    }\n    return %3\n  } : i64[]\n"
      "  return %1\n}\n",
  };
  const laze_backend *backend = laze_backend_at(_i);
  for (int i = 0; i < 2; i++) {
    laze_context *context = test_context(NULL);
    watcher state = {.stop_at_iteration = 5};
    laze_context_watch(context, watch, &state);
    laze_executable *executable = conformance_compile(context, backend, loops[i]);
    const int64_t number = 0;
    laze_buffer *input = conformance_buffer(context, backend, &number, sizeof number), *output;
    laze_run run = {.inputs = &input, .outputs = &output};
    laze_error error;
    ck_assert_int_eq(backend->execute(executable, &run, &error), LAZE_CANCELLED);
    ck_assert_ptr_null(output);
    ck_assert_str_eq(error.message,
                     "loop: stopped by the function that watches the context, at 5; a later read goes on");
    laze_buffer_release(input);
    laze_executable_release(executable);
    laze_context_release(context);
  }
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("watch");
  conformance_add(tests, work_is_reported);
  conformance_add(tests, each_report_can_stop);
  conformance_add(tests, long_compiles_are_reported_between);
  conformance_add(tests, a_loop_can_be_stopped);
  return conformance_main(tests);
}
