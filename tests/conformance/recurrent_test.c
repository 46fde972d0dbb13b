/* A recurrent network, three times: recorded step by step through the C interface, as a graph file with `scan`, and as
 * one with `while`, which reads rows and writes them where its counter says. All give the same bits, and nothing of any
 * runs on the interpreter where the backend compiles. */
#include "tests/conformance/conformance.h"

#include <laze/laze.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 5, STATES = 19, MOST_STEPS = 40 };

typedef struct {
  float x[MOST_STEPS * INPUTS], h[STATES], w[STATES * INPUTS], u[STATES * STATES], b[STATES];
} weights;

typedef struct {
  float last[STATES], all[MOST_STEPS * STATES];
} result;

static void fill(float *out, int64_t count, test_random *random) {
  for (int64_t i = 0; i < count; i++) out[i] = (float)(2 * test_random_unit(random) - 1);
}

static void make_weights(weights *out) {
  test_random random = {.state = (uint64_t)test_setting("LAZE_TEST_SEED", 1)};
  fill(out->x, MOST_STEPS * INPUTS, &random);
  fill(out->h, STATES, &random);
  fill(out->w, STATES * INPUTS, &random);
  fill(out->u, STATES * STATES, &random);
  fill(out->b, STATES, &random);
}

static laze_context *make_context(const laze_backend *backend) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = backend->name, .cache_directory = "", .threads = 1};
  laze_context *context;
  laze_error error;
  ck_assert_msg(laze_context_create(&options, &context, &error) == LAZE_OK, "%s", error.message);
  return context;
}

static int64_t metric(laze_context *context, const char *name) {
  int64_t value = -1;
  ck_assert_int_eq(laze_metric_read(context, name, &value, NULL), LAZE_OK);
  return value;
}

/* What nearly every user writes. */
static void record(laze_context *context, const weights *given, int64_t steps, result *out) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *rows[MOST_STEPS];
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(steps, INPUTS), given->x,
                                         (size_t)(steps * INPUTS) * sizeof(float));
  laze_tensor *h = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(STATES), given->h, sizeof given->h);
  laze_tensor *w = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(STATES, INPUTS), given->w, sizeof given->w);
  laze_tensor *u = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(STATES, STATES), given->u, sizeof given->u);
  laze_tensor *b = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(STATES), given->b, sizeof given->b);
  for (int64_t t = 0; t < steps; t++)
    rows[t] = h = laze_tanh(laze_add(laze_add(laze_mv(w, laze_select(x, 0, t)), laze_mv(u, h)), b));
  laze_tensor *all = laze_tensor_retain(laze_stack(rows, (int32_t)steps, 0));
  ck_assert_msg(laze_tensor_read(all, LAZE_F32, out->all, (size_t)(steps * STATES) * sizeof(float)) == LAZE_OK, "%s",
                laze_tensor_error(all));
  ck_assert_int_eq(laze_tensor_read(h, LAZE_F32, out->last, sizeof out->last), LAZE_OK);
  laze_tensor_release(all);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
}

#define HEADER                                                                                                         \
  "graph @g(%%x: f32[%d,5], %%h: f32[19], %%w: f32[19,5], %%u: f32[19,19], %%b: f32[19]) -> f32[19], f32[%d,19] {\n"
#define STEP(row, state)                                                                                               \
  "    %%1 = mv %%w, " row "\n    %%2 = mv %%u, " state "\n    %%3 = add %%1, %%2\n    %%4 = add %%3, %%b\n"           \
  "    %%5 = tanh %%4\n"

static const char scanned[] = HEADER "  %%0:2 = scan [%%h], [%%x] (%%state: f32[19], %%row: f32[5]) {\n" STEP(
    "%%row", "%%state") "    return %%5, %%5\n  }\n  return %%0#0, %%0#1\n}\n";

static const char counted[] = HEADER
    "  %%zero = constant 0 : i64[]\n  %%empty = full size=[%d, 19], fill_value=0.0\n"
    "  %%0:3 = while [%%zero, %%h, %%empty] (%%i: i64[], %%state: f32[19], %%all: f32[%d,19]) {\n"
    "    %%c = lt %%i, %d\n    return %%c\n"
    "  } (%%i: i64[], %%state: f32[19], %%all: f32[%d,19]) {\n"
    "    %%slice = dynamic_slice %%x, %%i, dim=0, length=1\n    %%row = reshape %%slice, shape=[5]\n" STEP(
        "%%row", "%%state") "    %%6 = reshape %%5, shape=[1,19]\n    %%7 = dynamic_update %%all, %%6, %%i, dim=0\n"
                            "    %%8 = add %%i, 1\n    return %%8, %%5, %%7\n  }\n  return %%0#1, %%0#2\n}\n";

static void run(laze_context *context, const laze_backend *backend, const char *text, const weights *given,
                int64_t steps, result *out) {
  laze_executable *executable = conformance_compile(context, backend, text);
  laze_buffer *inputs[] = {
      conformance_buffer(context, backend, given->x, steps * INPUTS * (int64_t)sizeof(float)),
      conformance_buffer(context, backend, given->h, sizeof given->h),
      conformance_buffer(context, backend, given->w, sizeof given->w),
      conformance_buffer(context, backend, given->u, sizeof given->u),
      conformance_buffer(context, backend, given->b, sizeof given->b),
  };
  laze_buffer *outputs[2];
  conformance_execute(backend, executable, inputs, outputs);
  memcpy(out->last, outputs[0]->data, sizeof out->last);
  memcpy(out->all, outputs[1]->data, (size_t)outputs[1]->size);
  ck_assert_int_eq(outputs[1]->size, steps * STATES * (int64_t)sizeof(float));
  for (int i = 0; i < 5; i++) laze_buffer_release(inputs[i]);
  for (int i = 0; i < 2; i++) laze_buffer_release(outputs[i]);
  laze_executable_release(executable);
}

static void check(laze_context *context, const laze_backend *backend, const weights *given, int64_t steps) {
  static result recorded, by_scan, by_while;
  char text[2048];
  int n = (int)steps;
  record(context, given, steps, &recorded);
  snprintf(text, sizeof text, scanned, n, n);
  run(context, backend, text, given, steps, &by_scan);
  snprintf(text, sizeof text, counted, n, n, n, n, n, n);
  run(context, backend, text, given, steps, &by_while);
  const size_t size = (size_t)(steps * STATES) * sizeof(float);
  ck_assert_mem_eq(recorded.last, by_scan.last, sizeof recorded.last);
  ck_assert_mem_eq(recorded.all, by_scan.all, size);
  ck_assert_mem_eq(recorded.last, by_while.last, sizeof recorded.last);
  ck_assert_mem_eq(recorded.all, by_while.all, size);
}

START_TEST(a_recorded_loop_gives_the_bits_of_one_in_a_graph) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = make_context(backend);
  weights *given = malloc(sizeof *given);
  make_weights(given);
  static const int64_t steps[] = {1, 2, 7, MOST_STEPS};
  for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) check(context, backend, given, steps[k]);
  free(given);
  /* None of them was computed by the reference, which would make the comparison say nothing. */
  ck_assert_int_eq(metric(context, "fallbacks"), 0);
  if (test_fuses(backend)) ck_assert_int_gt(metric(context, "kernels_compiled"), 0);
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("recurrent");
  conformance_add(tests, a_recorded_loop_gives_the_bits_of_one_in_a_graph);
  return conformance_main(tests);
}
