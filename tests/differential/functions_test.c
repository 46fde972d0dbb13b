/* Functions of floats, one at a time, against the C library in extended precision: the distance in units in the last
 * place must stay within the operator's bound, on both backends, for ordinary numbers and special ones. */
#include "ir/op.gen.h"
#include "tests/support/cases.h"
#include "tests/support/random_call.h"
#include "tests/support/references.h"
#include "tests/support/run.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 3001 };

static long double exact_value(const test_reference *function, const test_arrays *inputs, laze_dtype dtype, int64_t k) {
  double operands[2] = {0};
  for (int32_t i = 0; i < inputs->count; i++)
    operands[i] = test_element_as_double(dtype, (const char *)inputs->buffers[i]->data + k * laze_dtype_size(dtype));
  return test_reference_value(function, operands[0], operands[1]);
}

static laze_graph *call_of(laze_context *context, const test_reference *function, laze_dtype dtype) {
  laze_graph *graph;
  laze_error error;
  test_caller caller;
  laze_value operands[2], result;
  int32_t count = function->unary ? 1 : 2;
  ck_assert_int_eq(laze_graph_create(context, "function", &graph, &error), LAZE_OK);
  test_caller_init(&caller, graph, &(test_random){0});
  for (int32_t i = 0; i < count; i++) operands[i] = test_caller_parameter(&caller, dtype, 1, (int64_t[]){ELEMENTS}, 0);
  ck_assert_int_eq(laze_record_call(&caller.builder.recorder, function->op, operands, count, NULL, &result, &error),
                   LAZE_OK);
  ck_assert_int_eq(laze_block_set_results(graph, graph->body, &result, 1, &error), LAZE_OK);
  return graph;
}

/* A float of 16 bits is the f32, which is within the operator's bound, rounded once. */
static double bound_of(const test_reference *function, laze_dtype dtype) {
  double bound = test_reference_bound(function);
  if (!laze_dtype_is_half(dtype) || laze_op_get(function->op)->exact) return bound;
  int digits = laze_dtype_get(dtype)->digits, computed = laze_dtype_get(laze_dtype_computes(dtype))->digits;
  return 0.5 + ldexp(bound, digits - computed);
}

static void check_distance(const laze_differential_case *item, const test_reference *function, laze_dtype dtype,
                           const laze_backend *backend, laze_context *context, bool special) {
  test_random random = {.state = (uint64_t)test_setting("LAZE_TEST_SEED", 1) + item->op};
  test_range range = {.low = item->low, .high = item->high, .special = special};
  test_arrays inputs, outputs;
  laze_error error;
  laze_graph *graph = call_of(context, function, dtype);
  test_inputs(context, graph, &random, &range, &inputs);
  laze_status status = test_run(context, backend, graph, NULL, &inputs, &outputs, &error);
  ck_assert_msg(status == LAZE_OK, "%s: %s", laze_op_get(item->op)->name, error.message);
  double worst = 0;
  int64_t at = 0, width = laze_dtype_size(dtype);
  for (int64_t k = 0; k < ELEMENTS; k++) {
    double got = test_element_as_double(dtype, (const char *)outputs.buffers[0]->data + k * width);
    double distance = test_reference_distance(function, dtype, got, exact_value(function, &inputs, dtype, k));
    if (distance > worst) at = k;
    worst = fmax(worst, distance);
  }
  char x[64], y[64] = "", got[64];
  ck_assert_msg(worst <= bound_of(function, dtype),
                "%s of %s on %s%s: %.2f units in the last place, at most %g: f(%s %s) = %s, not %.20Lg",
                laze_op_get(item->op)->name, laze_dtype_name(dtype), backend->name, special ? ", special values" : "",
                worst, bound_of(function, dtype),
                test_element_text(dtype, (const char *)inputs.buffers[0]->data + at * width, x),
                inputs.count > 1 ? test_element_text(dtype, (const char *)inputs.buffers[1]->data + at * width, y) : "",
                test_element_text(dtype, (const char *)outputs.buffers[0]->data + at * width, got),
                exact_value(function, &inputs, dtype, at));
  test_arrays_release(&inputs);
  test_arrays_release(&outputs);
  laze_graph_destroy(graph);
}

START_TEST(functions_stay_within_their_bounds) {
  static const laze_dtype floats[] = {LAZE_F16, LAZE_BF16, LAZE_F32, LAZE_F64};
  laze_context *context = test_context(NULL);
  const laze_differential_case *item = &laze_differential_cases[_i];
  const test_reference *function = test_reference_find(item->op);
  const bool chosen = function && test_is_chosen(laze_op_get(item->op)->base);
  for (int b = 0; laze_backend_at(b) && chosen; b++)
    for (int special = 0; special < 2; special++)
      for (size_t d = 0; d < sizeof floats / sizeof *floats; d++)
        check_distance(item, function, floats[d], laze_backend_at(b), context, special);
  laze_context_release(context);
}
END_TEST

/* An inexact elementwise operator that the table of references lacks would go untested. */
START_TEST(every_intest_reference_is_listed) {
  for (int32_t i = 0; i < laze_differential_case_count; i++) {
    const laze_differential_case *item = &laze_differential_cases[i];
    bool inexact = !item->exact && laze_op_get(item->op)->op_class == LAZE_CLASS_ELEMENTWISE;
    ck_assert_msg(!inexact || test_reference_find(item->op), "%s is not in tests/support/references.c",
                  laze_op_get(item->op)->name);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("functions");
  TCase *tests = tcase_create("distance from exact values");
  tcase_set_timeout(tests, 0);
  tcase_add_loop_test(tests, functions_stay_within_their_bounds, 0, laze_differential_case_count);
  tcase_add_test(tests, every_intest_reference_is_listed);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
