/* Work that is stopped: what was to be computed is pending, and computed by whoever asks next. */
#include "support.h"

#include <stdbool.h>

typedef struct {
  int calls, stop_at; /* from 1; 0: never */
} watcher;

static int32_t watch(void *self, const laze_activity *activity) {
  watcher *state = self;
  (void)activity;
  return ++state->calls == state->stop_at;
}

/* Wherever a read is stopped, the next one gives the value, of the graph that is compiled by then. */
START_TEST(a_stopped_read_leaves_everything_pending) {
  bool stopped = true;
  for (int stop_at = 1; stopped; stop_at++) {
    laze_context *context = new_context();
    laze_scope *scope = laze_scope_begin(context);
    watcher state = {.stop_at = stop_at};
    laze_tensor *x = filled(context, 4, 3), *held = laze_tensor_retain(add(x, x)), *y = neg(held);
    float values[4];
    laze_context_watch(context, watch, &state);
    laze_status status = laze_tensor_read(y, LAZE_F32, values, sizeof values);
    stopped = status != LAZE_OK;
    if (stopped) {
      ck_assert_int_eq(status, LAZE_CANCELLED);
      ck_assert_ptr_nonnull(strstr(laze_tensor_error(y), "stopped by the function that watches the context"));
      ck_assert_int_eq(laze_tensor_status(y), LAZE_CANCELLED);
      ck_assert_int_eq(laze_tensor_status(held), LAZE_OK);
      ck_assert_float_eq(first(y, 4), -6);
      ck_assert_int_eq(metric(context, "trace_cache_hits"), 1);
      ck_assert_int_eq(metric(context, "trace_cache_misses"), 1);
    }
    ck_assert_float_eq(first(held, 4), 6);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
    laze_tensor_release(held);
    laze_context_release(context);
  }
}
END_TEST

START_TEST(a_stopped_step_leaves_held_values_pending) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  watcher state = {.stop_at = 1};
  laze_tensor *weight = laze_tensor_retain(filled(context, 2, 1));
  ck_assert_int_eq(laze_tensor_assign(weight, scale(weight, 3)), LAZE_OK);
  laze_context_watch(context, watch, &state);
  laze_error error;
  ck_assert_int_eq(laze_step_end(scope, &error), LAZE_CANCELLED);
  ck_assert_ptr_nonnull(strstr(error.message, "stopped"));
  scope = laze_scope_begin(context);
  ck_assert_int_eq(laze_tensor_assign(weight, scale(weight, 2)), LAZE_OK);
  ck_assert_int_eq(laze_step_end(scope, &error), LAZE_OK);
  ck_assert_float_eq(first(weight, 2), 6);
  laze_tensor_release(weight);
  laze_context_release(context);
}
END_TEST

/* A call that uses the budget up runs a graph: its result is a value all the same. */
START_TEST(a_stopped_cut_is_the_scopes_error) {
  laze_context *context = new_context();
  laze_set_budget(context, 8, 0);
  laze_scope *scope = laze_scope_begin(context);
  watcher state = {.stop_at = 1};
  laze_context_watch(context, watch, &state);
  laze_tensor *x = filled(context, 2, 1);
  for (int i = 0; i < 20; i++) x = add(x, x);
  ck_assert_int_gt(state.calls, 1);
  ck_assert_float_eq(first(x, 2), 1 << 20);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_CANCELLED);
  laze_context_release(context);
}
END_TEST

/* Exports and printing compute as reads do. */
START_TEST(whatever_computes_can_be_stopped) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  watcher state = {.stop_at = 1};
  laze_tensor *y = neg(filled(context, 2, 1));
  laze_context_watch(context, watch, &state);
  laze_export out;
  ck_assert_int_eq(laze_tensor_export(y, &out, NULL), LAZE_CANCELLED);
  state.calls = 0;
  char text[32];
  ck_assert_int_eq(laze_tensor_format(y, text, sizeof text, NULL, NULL), LAZE_CANCELLED);
  ck_assert_str_eq(text, "");
  state.calls = 0;
  ck_assert_int_eq(laze_tensor_materialise(y), LAZE_CANCELLED);
  laze_context_watch(context, NULL, NULL);
  ck_assert_int_eq(laze_tensor_format(y, text, sizeof text, NULL, NULL), LAZE_OK);
  ck_assert_str_eq(text, "[-1.0 -1.0]");
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_stopped_read_leaves_everything_pending, a_stopped_step_leaves_held_values_pending,
                                a_stopped_cut_is_the_scopes_error, whatever_computes_can_be_stopped};
  return run_tests("watch", tests, sizeof tests / sizeof *tests);
}
