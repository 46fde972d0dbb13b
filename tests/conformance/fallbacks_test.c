/* What falls back, and nothing else. Each entry of the list is shown to fall back still, so that one for which native
 * code was written is taken off; that nothing else does is part of every run (tests/support/run.c). */
#include "tests/support/fallbacks.h"

#include "codegen/schedule/join.h"
#include "ir/op.gen.h"
#include "tests/conformance/conformance.h"
#include "tests/support/deep_fold.h"

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

int main(void) {
  TCase *tests = tcase_create("fallbacks");
  conformance_add(tests, each_listed_operator_falls_back);
  conformance_add(tests, a_fold_too_deep_for_a_scan_falls_back);
  tcase_add_test(tests, every_operator_of_an_interpreted_class_is_listed);
  return conformance_main(tests);
}
