/* What falls back, and nothing else. Each entry of the list is shown to fall back still, so that one for which native
 * code was written is taken off; that nothing else does is part of every run (tests/support/run.c). */
#include "tests/support/fallbacks.h"

#include "codegen/schedule/join.h"
#include "ir/op.gen.h"
#define LAZE_NO_MACROS
#include "laze/tensor.h"
#include "tests/conformance/conformance.h"
#include "tests/support/deep_fold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t fallbacks(laze_context *context) {
  int64_t value;
  ck_assert_int_eq(laze_metric_read(context, "fallbacks", &value, NULL), LAZE_OK);
  return value;
}

/* On a backend that fuses the entry's operator is interpreted, and counted once a run; others fall back from nothing.
 */
START_TEST(each_listed_operator_falls_back) {
  const laze_backend *backend = laze_backend_at(_i);
  bool fuses = test_fuses(backend);
  for (const test_fallback *entry = test_fallbacks; entry->op; entry++) {
    laze_context *context = test_context(NULL);
    laze_graph *graph = conformance_parse(context, entry->graph);
    test_arrays inputs, outputs;
    laze_error error;
    test_random random = {.state = 1};
    test_inputs(context, graph, &random, &(test_range){0}, &inputs);
    for (int run = 1; run <= 2; run++) {
      laze_status status = test_run(context, backend, graph, NULL, &inputs, &outputs, &error);
      ck_assert_msg(status == LAZE_OK, "%s: %s", entry->op, error.message);
      ck_assert_msg(fallbacks(context) == (fuses ? run : 0),
                    "%s (%s) falls back %d times: take it off the list if it has native code", entry->op, entry->reason,
                    (int)fallbacks(context));
      test_arrays_release(&outputs);
    }
    test_arrays_release(&inputs);
    laze_graph_destroy(graph);
    laze_context_release(context);
  }
}
END_TEST

/* A fold by a region that no loop can do is a scan, where there is room for that below so many branches, and else the
 * interpreter's. Either way it gives what it should, and says how it ran. */
START_TEST(a_fold_too_deep_for_a_scan_falls_back) {
  const laze_backend *backend = laze_backend_at(_i);
  const float elements[] = {1, 2, 4}, initial = 0.5f;
  const char yes = 1;
  for (int room = 0; room < 2; room++) {
    laze_context *context = test_context("verify");
    char *text = test_deep_fold(LAZE_MAX_NESTING - 1 - room);
    laze_graph *graph = conformance_parse(context, text);
    laze_executable *executable;
    laze_error error;
    ck_assert_msg(laze_compile(context, backend, graph, &executable, &error) == LAZE_OK, "%s", error.message);
    laze_buffer *inputs[] = {conformance_buffer(context, backend, &yes, sizeof yes),
                             conformance_buffer(context, backend, elements, sizeof elements),
                             conformance_buffer(context, backend, &initial, sizeof initial)};
    laze_buffer *output;
    conformance_execute(backend, executable, inputs, &output);
    ck_assert_float_eq(*(const float *)output->data, 7.5f);
    ck_assert_int_eq(fallbacks(context), room == 0 && test_fuses(backend));
    laze_buffer_release(output);
    for (int i = 0; i < 3; i++) laze_buffer_release(inputs[i]);
    laze_executable_release(executable);
    laze_graph_destroy(graph);
    free(text);
    laze_context_release(context);
  }
}
END_TEST

/* Of these classes no operator has native code, and of others one whose entry names neither how the runtime goes
 * through its regions, or that loops fold by them, nor a kernel of the runtime. */
static bool is_interpreted(laze_op op) {
  laze_op_class op_class = laze_op_get(op)->op_class;
  if (op_class == LAZE_CLASS_CONTROL) return !laze_schedule_join_of(op)->control && !laze_schedule_join_of(op)->folds;
  if (op_class == LAZE_CLASS_LIBRARY) return !laze_schedule_join_of(op)->routine;
  return op_class == LAZE_CLASS_RANDOM;
}

/* Otherwise a new operator of such a class would be an entry that nobody made, and nobody tests. */
START_TEST(every_operator_of_an_interpreted_class_is_listed) {
  for (laze_op op = 1; op < laze_op_count; op++) {
    bool listed = false;
    for (const test_fallback *entry = test_fallbacks; entry->op; entry++)
      listed = listed || !strcmp(entry->op, laze_op_get(op)->base);
    ck_assert_msg(listed == is_interpreted(op), "%s", laze_op_get(op)->name);
  }
}
END_TEST

/* --- settings --- */

static const char chain[] = "graph @g(%x: f32[3]) -> f32[3] {\n"
                            "  %0 = mul %x, %x\n"
                            "  %1 = exp %0\n"
                            "  %2 = exp %1\n"
                            "  %3 = add %2, %x\n"
                            "  return %3\n"
                            "}\n";

static int64_t metric(laze_context *context, const char *name) {
  int64_t value = -1;
  ck_assert_int_eq(laze_metric_read(context, name, &value, NULL), LAZE_OK);
  return value;
}

static laze_status run_text(laze_context *context, const laze_backend *backend, const char *text, test_arrays *outputs,
                            laze_error *error) {
  laze_graph *graph = conformance_parse(context, text);
  test_arrays inputs;
  test_random random = {.state = 1};
  test_inputs(context, graph, &random, &(test_range){.low = 0.5, .high = 1}, &inputs);
  const laze_status status = test_run(context, backend, graph, NULL, &inputs, outputs, error);
  test_arrays_release(&inputs);
  laze_graph_destroy(graph);
  return status;
}

static void visit_counter(void *self, const char *name, int64_t value) {
  if (strcmp(name, "fallback::exp") == 0) *(int64_t *)self = value;
}

/* It runs on the interpreter, alone and with the same result but for rounding, and natively again once it need not. */
START_TEST(row_5_4_one_operator_is_forced) {
  const laze_backend *backend = laze_backend_at(_i);
  const int64_t each = test_fuses(backend) ? 2 : 0; /* exps */
  laze_context *context = test_context("verify");
  laze_error error;
  test_arrays native, forced, again;
  ck_assert_msg(run_text(context, backend, chain, &native, &error) == LAZE_OK, "%s", error.message);
  ck_assert_int_eq(metric(context, "fallbacks"), 0);
  ck_assert_int_eq(laze_force_fallback(context, "exp", 1, &error), LAZE_OK);
  ck_assert_int_eq(laze_force_fallback(context, "exp", 1, &error), LAZE_OK);
  ck_assert_msg(run_text(context, backend, chain, &forced, &error) == LAZE_OK, "%s", error.message);
  ck_assert_int_eq(metric(context, "fallback::exp"), each);
  ck_assert_int_eq(metric(context, "fallbacks"), each);
  ck_assert_int_eq(laze_force_fallback(context, "exp", 0, &error), LAZE_OK);
  ck_assert_msg(run_text(context, backend, chain, &again, &error) == LAZE_OK, "%s", error.message);
  ck_assert_int_eq(metric(context, "fallback::exp"), each);
  for (int i = 0; i < 3; i++) {
    const float *a = native.buffers[0]->data, *b = forced.buffers[0]->data, *c = again.buffers[0]->data;
    ck_assert_float_le(fabsf(a[i] - b[i]), 1e-5f * fabsf(a[i]));
    ck_assert_float_eq(a[i], c[i]);
  }
  test_arrays_release(&native), test_arrays_release(&forced), test_arrays_release(&again);
  laze_context_release(context);
}
END_TEST

START_TEST(row_5_4_unknown_operators_are_refused) {
  static const struct {
    const char *name;
    laze_status status;
  } wrong[] = {{"no_such", LAZE_NOT_FOUND},       {"add", LAZE_NOT_FOUND},        {NULL, LAZE_NOT_FOUND},
               {"softmax.int", LAZE_UNSUPPORTED}, {"constant", LAZE_UNSUPPORTED}, {"opaque", LAZE_UNSUPPORTED}};
  laze_context *context = test_context(NULL);
  laze_error error;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_msg(laze_force_fallback(context, wrong[i].name, 1, &error) == wrong[i].status, "%s: %s", wrong[i].name,
                  error.message);
    ck_assert_ptr_nonnull(strstr(error.message, "laze_force_fallback: "));
  }
  laze_context_release(context);
}
END_TEST

/* Every operator that can be forced is right then: of the chain and of a product with what is fused to it. */
START_TEST(row_5_4_every_operator_of_a_graph_can_be_forced) {
  static const char text[] = "graph @g(%x: f32[4,4], %y: f32[4]) -> f32[4], f32[8] {\n"
                             "  %0 = permute %x, dims=[1, 0]\n"
                             "  %1 = mm %x, %0\n"
                             "  %2 = add %1, %y\n"
                             "  %3 = sum.dim_IntList %2, dim=[1]\n"
                             "  %4 = cat [%3, %y], dim=0\n"
                             "  %5 = sub %3, %y\n"
                             "  return %5, %4\n"
                             "}\n";
  static const char *const names[] = {"permute", "mm", "add.Tensor", "sum.dim_IntList", "cat", "sub.Tensor"};
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context("verify");
  laze_error error;
  test_arrays native, forced;
  ck_assert_msg(run_text(context, backend, text, &native, &error) == LAZE_OK, "%s", error.message);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char counter[64];
    snprintf(counter, sizeof counter, "fallback::%s", names[i]);
    ck_assert_msg(laze_force_fallback(context, names[i], 1, &error) == LAZE_OK, "%s", error.message);
    ck_assert_msg(run_text(context, backend, text, &forced, &error) == LAZE_OK, "%s", error.message);
    ck_assert_msg(metric(context, counter) == (test_fuses(backend) ? 1 : 0), "%s", names[i]);
    for (int k = 0; k < 4; k++)
      ck_assert_float_le(fabsf(((float *)native.buffers[0]->data)[k] - ((float *)forced.buffers[0]->data)[k]), 1e-5f);
    test_arrays_release(&forced);
    ck_assert_int_eq(laze_force_fallback(context, names[i], 0, &error), LAZE_OK);
  }
  test_arrays_release(&native);
  laze_context_release(context);
}
END_TEST

START_TEST(row_5_16_fallbacks_are_counted_by_name) {
  const laze_backend *backend = laze_backend_at(_i);
  const int64_t each = test_fuses(backend) ? 2 : 0;
  laze_context *context = test_context(NULL);
  laze_error error;
  test_arrays outputs;
  int64_t seen = 0;
  ck_assert_int_eq(metric(context, "fallback::exp"), 0); /* before it has counted */
  ck_assert_int_eq(laze_metric_read(context, "fall::exp", &seen, NULL), LAZE_NOT_FOUND);
  ck_assert_int_eq(laze_force_fallback(context, "exp", 1, &error), LAZE_OK);
  ck_assert_int_eq(laze_force_fallback(context, "mul.Tensor", 1, &error), LAZE_OK);
  for (int run = 1; run <= 3; run++) {
    ck_assert_msg(run_text(context, backend, chain, &outputs, &error) == LAZE_OK, "%s", error.message);
    test_arrays_release(&outputs);
    ck_assert_int_eq(metric(context, "fallback::exp"), run * each);
    ck_assert_int_eq(metric(context, "fallback::mul.Tensor"), run * each / 2);
    ck_assert_int_eq(metric(context, "fallbacks"), run * each * 3 / 2);
  }
  laze_metric_each(context, visit_counter, &seen);
  ck_assert_int_eq(seen, 3 * each);
  laze_metric_reset(context);
  ck_assert_int_eq(metric(context, "fallback::exp"), 0);
  laze_context_release(context);
}
END_TEST

START_TEST(row_5_16_strict_mode_refuses) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  laze_error error;
  test_arrays outputs;
  ck_assert_int_eq(laze_force_fallback(context, "exp", 1, &error), LAZE_OK);
  ck_assert_msg(run_text(context, backend, chain, &outputs, &error) == LAZE_OK, "%s", error.message);
  test_arrays_release(&outputs);
  ck_assert_int_eq(laze_set_strict(context, 1), 0);
  const laze_status status = run_text(context, backend, chain, &outputs, &error);
  ck_assert_int_eq(status, test_fuses(backend) ? LAZE_UNSUPPORTED : LAZE_OK);
  if (status == LAZE_OK)
    test_arrays_release(&outputs);
  else
    ck_assert_ptr_nonnull(strstr(error.message, "exp has no native code here (it is told to"));
  ck_assert_int_eq(laze_set_strict(context, 0), 1);
  ck_assert_msg(run_text(context, backend, chain, &outputs, &error) == LAZE_OK, "%s", error.message);
  test_arrays_release(&outputs);
  ck_assert_int_eq(laze_force_fallback(context, "exp", 0, &error), LAZE_OK);
  ck_assert_int_eq(laze_set_strict(context, 1), 0);
  ck_assert_msg(run_text(context, backend, chain, &outputs, &error) == LAZE_OK, "%s", error.message);
  test_arrays_release(&outputs);
  laze_context_release(context);
}
END_TEST

/* Of tensors: the read says so, the value stays pending, and others are computed. */
START_TEST(row_5_16_a_refused_read_loses_nothing) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = laze_backend_at(_i)->name, .cache_directory = "", .threads = 1};
  laze_context *context;
  laze_error error;
  float value;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_scalar(context, LAZE_F32, laze_scalar_real(0)), *y, *z;
  const laze_argument argument = {.kind = LAZE_PASS_TENSOR, .value.tensor = x};
  laze_call_by_name_at(context, "exp", &argument, 1, &y, 1, __FILE__, __LINE__);
  laze_call_by_name_at(context, "cos", &argument, 1, &z, 1, __FILE__, __LINE__);
  ck_assert_int_eq(laze_force_fallback(context, "exp", 1, &error), LAZE_OK);
  laze_set_strict(context, 1);
  const laze_status refused = laze_tensor_read(y, LAZE_F32, &value, sizeof value);
  ck_assert_int_eq(refused, test_fuses(laze_backend_at(_i)) ? LAZE_UNSUPPORTED : LAZE_OK);
  if (refused != LAZE_OK) {
    ck_assert_ptr_nonnull(strstr(laze_tensor_error(y), "fallbacks_test.c:"));
    ck_assert_ptr_nonnull(strstr(laze_tensor_error(y), "exp has no native code"));
  }
  ck_assert_int_eq(laze_tensor_read(z, LAZE_F32, &value, sizeof value), LAZE_OK);
  ck_assert_float_eq(value, 1);
  laze_set_strict(context, 0);
  ck_assert_int_eq(laze_tensor_read(y, LAZE_F32, &value, sizeof value), LAZE_OK);
  ck_assert_float_eq(value, 1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("fallbacks");
  conformance_add(tests, each_listed_operator_falls_back);
  conformance_add(tests, a_fold_too_deep_for_a_scan_falls_back);
  tcase_add_test(tests, every_operator_of_an_interpreted_class_is_listed);
  conformance_add(tests, row_5_4_one_operator_is_forced);
  tcase_add_test(tests, row_5_4_unknown_operators_are_refused);
  conformance_add(tests, row_5_4_every_operator_of_a_graph_can_be_forced);
  conformance_add(tests, row_5_16_fallbacks_are_counted_by_name);
  conformance_add(tests, row_5_16_strict_mode_refuses);
  conformance_add(tests, row_5_16_a_refused_read_loses_nothing);
  return conformance_main(tests);
}
