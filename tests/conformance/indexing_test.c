/* An index out of range is an error that names operator, index, position and size, and never a read outside; a bound
 * out of range is none. */
#include "tests/conformance/conformance.h"

#include "ir/specialise.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  laze_context *context;
  const laze_backend *backend;
  laze_executable *executable;
  int64_t count; /* of indices */
  float factor;  /* of each row that is taken */
} selection;

/* rows[index], one output element per index and column. */
static selection setup(int backend, const char *operator, int64_t size, int64_t count, const char *dtype) {
  selection state = {.context = test_context("verify"),
                     .backend = laze_backend_at(backend),
                     .count = count,
                     .factor = strcmp(operator, "gather") ? 2 : 1};
  char text[512];
  if (!strcmp(operator, "gather"))
    snprintf(text, sizeof text,
             "graph @g(%%x: f32[%lld], %%i: %s[%lld]) -> f32[%lld] {\n  %%0 = gather %%x, %%i, dim=0 : f32[%lld]\n"
             "  return %%0\n}\n",
             (long long)size, dtype, (long long)count, (long long)count, (long long)count);
  else
    snprintf(text, sizeof text,
             "graph @g(%%x: f32[%lld], %%i: %s[%lld]) -> f32[%lld] {\n"
             "  %%0 = index_select %%x, %%i, dim=0 : f32[%lld]\n  %%1 = add %%0, %%0 : f32[%lld]\n"
             "  return %%1\n}\n",
             (long long)size, dtype, (long long)count, (long long)count, (long long)count, (long long)count);
  state.executable = conformance_compile(state.context, state.backend, text);
  return state;
}

static void teardown(selection *state) {
  laze_executable_release(state->executable);
  laze_context_release(state->context);
}

/* Each index took its own row, which holds its number. */
static void check_rows(const selection *state, int64_t size, const void *indices, int64_t width, const float *rows) {
  for (int64_t i = 0; i < state->count; i++) {
    int64_t index = width == 4 ? ((const int32_t *)indices)[i] : ((const int64_t *)indices)[i];
    ck_assert_float_eq(rows[i], state->factor * (float)(index < 0 ? index + size : index));
  }
}

static laze_status run(const selection *state, int64_t size, const void *indices, int64_t width, laze_error *error) {
  laze_buffer *inputs[2], *output;
  float *rows = calloc((size_t)size + 1, sizeof *rows);
  for (int64_t i = 0; i < size; i++) rows[i] = (float)i;
  inputs[0] = test_guarded_buffer(state->context, size * (int64_t)sizeof *rows);
  memcpy(inputs[0]->data, rows, (size_t)size * sizeof *rows);
  inputs[1] = test_guarded_buffer(state->context, state->count * width);
  memcpy(inputs[1]->data, indices, (size_t)(state->count * width));
  laze_status status =
      state->backend->execute(state->executable, &(laze_run){.inputs = inputs, .outputs = &output}, error);
  ck_assert(status == LAZE_OK ? output != NULL : output == NULL);
  if (status == LAZE_OK) check_rows(state, size, indices, width, output->data);
  laze_buffer_release(output);
  for (int i = 0; i < 2; i++) laze_buffer_release(inputs[i]);
  free(rows);
  return status;
}

static void check_message(const laze_error *error, const char *operator, int64_t index, int64_t position,
                          int64_t size) {
  char text[128];
  ck_assert_msg(strstr(error->message, operator) != NULL, "%s", error->message);
  snprintf(text, sizeof text, "index %lld at position %lld", (long long)index, (long long)position);
  ck_assert_msg(strstr(error->message, text) != NULL, "expected '%s' in: %s", text, error->message);
  snprintf(text, sizeof text, "size %lld", (long long)size);
  ck_assert_msg(strstr(error->message, text) != NULL, "expected '%s' in: %s", text, error->message);
}

START_TEST(the_message_names_operator_index_position_and_size) {
  static const char *const operators[] = {"gather", "index_select"};
  for (int k = 0; k < 2; k++) {
    selection state = setup(_i, operators[k], 3, 5, "i64");
    laze_error error = {0};
    const int64_t good[] = {0, 2, -3, -1, 1}, too_large[] = {0, 2, -3, 7, 1}, too_small[] = {0, -4, 1, 7, 9};
    ck_assert_int_eq(run(&state, 3, good, 8, &error), LAZE_OK);
    ck_assert_int_eq(run(&state, 3, too_large, 8, &error), LAZE_OUT_OF_RANGE);
    check_message(&error, operators[k], 7, 3, 3);
    /* The lowest position is the one reported. */
    ck_assert_int_eq(run(&state, 3, too_small, 8, &error), LAZE_OUT_OF_RANGE);
    check_message(&error, operators[k], -4, 1, 3);
    /* The executable is as good as before. */
    ck_assert_int_eq(run(&state, 3, good, 8, &error), LAZE_OK);
    teardown(&state);
  }
}
END_TEST

/* Far outside, where nothing is mapped: a read would end the process. */
START_TEST(nothing_outside_is_read) {
  selection state = setup(_i, "index_select", 5, 1, "i64");
  const int64_t far[] = {INT64_MAX, INT64_MIN, INT64_C(1) << 40, -(INT64_C(1) << 40), 5, -6, 1 << 20, INT32_MIN};
  for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
    laze_error error = {0};
    ck_assert_int_eq(run(&state, 5, &far[k], 8, &error), LAZE_OUT_OF_RANGE);
    check_message(&error, "index_select", far[k], 0, 5);
  }
  teardown(&state);
}
END_TEST

START_TEST(narrow_indices_are_checked_too) {
  selection state = setup(_i, "gather", 4, 2, "i32");
  const int32_t bad[] = {3, INT32_MIN}, good[] = {3, -4};
  laze_error error = {0};
  ck_assert_int_eq(run(&state, 4, good, 4, &error), LAZE_OK);
  ck_assert_int_eq(run(&state, 4, bad, 4, &error), LAZE_OUT_OF_RANGE);
  check_message(&error, "gather", INT32_MIN, 1, 4);
  teardown(&state);
}
END_TEST

/* An axis without elements has no valid index. */
START_TEST(an_empty_axis_has_no_index) {
  selection state = setup(_i, "index_select", 0, 1, "i64");
  laze_error error = {0};
  ck_assert_int_eq(run(&state, 0, &(int64_t){0}, 8, &error), LAZE_OUT_OF_RANGE);
  check_message(&error, "index_select", 0, 0, 0);
  teardown(&state);
}
END_TEST

/* Bad indices in the middle of vectors and at the ends of many: the first one in row-major order is reported. */
START_TEST(the_first_of_many_is_reported) {
  enum { COUNT = 5000 };
  static int64_t indices[COUNT];
  selection state = setup(_i, "index_select", 9, COUNT, "i64");
  const int first[] = {0, 1, 15, 16, 17, 63, 64, 1000, COUNT - 1};
  for (size_t k = 0; k < sizeof first / sizeof *first; k++) {
    laze_error error = {0};
    for (int i = 0; i < COUNT; i++) indices[i] = i < first[k] ? i % 9 : 100 + i;
    ck_assert_int_eq(run(&state, 9, indices, 8, &error), LAZE_OUT_OF_RANGE);
    check_message(&error, "index_select", 100 + first[k], first[k], 9);
  }
  teardown(&state);
}
END_TEST

/* A result without elements has no position at which an index could be wrong: whatever the indices, the run succeeds.
 * That the sliced axis is empty shows only when sizes are bound. */
START_TEST(an_empty_result_has_no_position) {
  static const char *const texts[] = {
      "graph @g(%x: f32[3,5], %i: i64[2]) -> f32[2,0] {\n  %0 = slice %x, dim=1, start=5, end=9\n"
      "  %1 = index_select %0, %i, dim=0\n  return %1\n}\n",
      "graph @g(%x: f32[3,5], %i: i64[2]) -> f32[2] {\n  %0 = slice %x, dim=1, start=5, end=9\n"
      "  %1 = index_select %0, %i, dim=0\n  %2 = sum %1, dim=[1]\n  return %2\n}\n",
  };
  const laze_backend *backend = laze_backend_at(_i);
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    laze_context *context = test_context(NULL);
    laze_executable *executable = conformance_compile(context, backend, texts[k]);
    const float x[15] = {0};
    laze_buffer *inputs[] = {conformance_buffer(context, backend, x, sizeof x),
                             conformance_buffer(context, backend, (int64_t[]){7, -9}, 16)};
    laze_buffer *output;
    conformance_execute(backend, executable, inputs, &output);
    laze_buffer_release(output);
    for (int i = 0; i < 2; i++) laze_buffer_release(inputs[i]);
    laze_executable_release(executable);
    laze_context_release(context);
  }
}
END_TEST

/* Metrics count what was done: a run that fails in its only kernel is one kernel call and no graph that ran. */
START_TEST(a_failed_run_is_no_graph_that_ran) {
  selection state = setup(_i, "index_select", 3, 1, "i64");
  laze_error error;
  int64_t graphs, nodes;
  ck_assert_int_eq(run(&state, 3, &(int64_t){3}, 8, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_metric_read(state.context, "graphs_run", &graphs, NULL), LAZE_OK);
  ck_assert_int_eq(laze_metric_read(state.context, "nodes_executed", &nodes, NULL), LAZE_OK);
  ck_assert_int_eq(graphs + nodes, 0);
  ck_assert_int_eq(run(&state, 3, &(int64_t){2}, 8, &error), LAZE_OK);
  ck_assert_int_eq(laze_metric_read(state.context, "graphs_run", &graphs, NULL), LAZE_OK);
  ck_assert_int_eq(graphs, 1);
  teardown(&state);
}
END_TEST

/* Slices with bounds and steps of any size, as exported graphs write them ("to the end" is 9223372036854775807), by
 * text, with sizes that are numbers and sizes that are symbols: what comes out is what Python's range says. */

enum { LENGTH = 5, BOUNDS = 13, LONGEST = 1 << 14 };

static const int64_t bounds[BOUNDS] = {
    0, 1, 4, 5, 9, -1, -5, -9, INT64_MAX, INT64_MIN, (INT64_C(1) << 62) + 1, -(INT64_C(1) << 62) - 1, INT64_C(1) << 62};
static const int64_t steps[] = {1, 2, 7, INT64_MAX};
enum { STEPS = sizeof steps / sizeof *steps };

static int64_t clamped(int64_t bound) {
  if (bound < 0) bound = bound < -LENGTH ? 0 : bound + LENGTH;
  return bound > LENGTH ? LENGTH : bound;
}

/* A result for each end, from one start by one step: the sum, which says what was taken of 1, 2, 4, 8, 16. */
static void write_slices(char *text, const char *size, int64_t start, int64_t step) {
  char *end = text + sprintf(text, "graph @g(%%x: i64[%s]) -> i64[]", size);
  for (int i = 1; i < BOUNDS; i++) end += sprintf(end, ", i64[]");
  end += sprintf(end, " {\n");
  for (int i = 0; i < BOUNDS; i++)
    end +=
        sprintf(end, "  %%s%d = slice %%x, start=%" PRId64 ", end=%" PRId64 ", step=%" PRId64 "\n  %%%d = sum %%s%d\n",
                i, start, bounds[i], step, i, i);
  for (int i = 0; i < BOUNDS; i++) end += sprintf(end, "%s%%%d", i ? ", " : "  return ", i);
  sprintf(end, "\n}\n");
}

static laze_executable *compile_slices(laze_context *context, const laze_backend *backend, const char *text,
                                       bool symbolic) {
  laze_graph *graph = conformance_parse(context, text), *constant;
  laze_executable *executable;
  laze_error error;
  if (symbolic) {
    ck_assert_int_eq(laze_size_symbol_count(graph->sizes), 1);
    ck_assert_int_eq(laze_graph_specialise(graph, (int64_t[]){LENGTH}, &constant, &error), LAZE_OK);
    laze_graph_destroy(graph);
    graph = constant;
  }
  ck_assert_msg(laze_compile(context, backend, graph, &executable, &error) == LAZE_OK, "%s", error.message);
  laze_graph_destroy(graph);
  return executable;
}

static void check_slices(laze_context *context, const laze_backend *backend, int64_t start, int64_t step,
                         bool symbolic) {
  static char text[LONGEST];
  const int64_t x[LENGTH] = {1, 2, 4, 8, 16};
  write_slices(text, symbolic ? "n" : "5", start, step);
  laze_executable *executable = compile_slices(context, backend, text, symbolic);
  laze_buffer *input = conformance_buffer(context, backend, x, sizeof x), *outputs[BOUNDS];
  conformance_execute(backend, executable, &input, outputs);
  for (int i = 0; i < BOUNDS; i++) {
    int64_t last = clamped(bounds[i]), taken = 0;
    for (int64_t at = clamped(start); at < last; at = step < LENGTH ? at + step : last) taken |= x[at];
    ck_assert_msg(*(const int64_t *)outputs[i]->data == taken,
                  "x[%" PRId64 ":%" PRId64 ":%" PRId64 "] of %s: took %" PRId64 ", expected %" PRId64, start, bounds[i],
                  step, symbolic ? "n" : "5", *(const int64_t *)outputs[i]->data, taken);
    laze_buffer_release(outputs[i]);
  }
  laze_buffer_release(input);
  laze_executable_release(executable);
}

START_TEST(bounds_of_any_size_are_clamped) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context("verify");
  for (int k = 0; k < STEPS; k++)
    for (int i = 0; i < BOUNDS; i++) {
      check_slices(context, backend, bounds[i], steps[k], false);
      check_slices(context, backend, bounds[i], steps[k], true);
    }
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("indexing");
  conformance_add(tests, the_message_names_operator_index_position_and_size);
  conformance_add(tests, nothing_outside_is_read);
  conformance_add(tests, narrow_indices_are_checked_too);
  conformance_add(tests, an_empty_axis_has_no_index);
  conformance_add(tests, the_first_of_many_is_reported);
  conformance_add(tests, an_empty_result_has_no_position);
  conformance_add(tests, a_failed_run_is_no_graph_that_ran);
  conformance_add(tests, bounds_of_any_size_are_clamped);
  return conformance_main(tests);
}
