#include "support.h"

#include <math.h>

/* The rule that makes a training step run forward once: a read stores every held value that is computed on the way,
 * and no temporary. */
START_TEST(reads_store_held_values_on_the_way) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  laze_tensor *kept = laze_tensor_retain(neg(x));
  laze_tensor *temporary = add(kept, x);
  laze_tensor *loss = mul(temporary, temporary);
  ck_assert_float_eq(first(loss, 2), 0);
  ck_assert_int_eq(metric(context, "nodes_executed"), 3);
  ck_assert_float_eq(first(kept, 2), -1); /* stored by the first read */
  ck_assert_int_eq(metric(context, "nodes_executed"), 3);
  ck_assert_int_eq(metric(context, "graphs_run"), 1);
  ck_assert_float_eq(first(temporary, 2), 0); /* computed again, from the stored one */
  ck_assert_int_eq(metric(context, "nodes_executed"), 4);
  ck_assert_float_eq(first(loss, 2), 0); /* a value that was read stays */
  ck_assert_int_eq(metric(context, "graphs_run"), 2);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_tensor_release(kept);
  laze_context_release(context);
}
END_TEST

/* A value that was retained, used and released is a temporary again: storing it would cost memory that nobody asked
 * for. One release of two is not enough. */
START_TEST(released_values_are_not_stored) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  laze_tensor *once = laze_tensor_retain(neg(x)), *twice = laze_tensor_retain(laze_tensor_retain(add(once, x)));
  laze_tensor *last = mul(once, twice);
  laze_tensor_release(once);
  laze_tensor_release(twice);
  ck_assert_float_eq(first(last, 2), 0);
  ck_assert_int_eq(metric(context, "nodes_executed"), 3);
  ck_assert_float_eq(first(twice, 2), 0);
  ck_assert_int_eq(metric(context, "nodes_executed"), 3); /* stored */
  ck_assert_float_eq(first(once, 2), -1);
  ck_assert_int_eq(metric(context, "nodes_executed"), 4); /* not stored */
  laze_tensor_release(twice);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* What several values share is computed once, also where it is a temporary; what they do not need is left, and what is
 * held on the way is stored. */
START_TEST(several_tensors_are_one_graph) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  laze_tensor *shared = neg(x), *kept = laze_tensor_retain(add(shared, x)), *other = mul(x, x);
  laze_tensor *wanted[] = {mul(kept, kept), add(shared, shared), x};
  ck_assert_int_eq(laze_tensors_materialise(wanted, 3, NULL), LAZE_OK);
  ck_assert_int_eq(metric(context, "graphs_run"), 1);
  ck_assert_int_eq(metric(context, "nodes_executed"), 4);
  ck_assert_float_eq(first(wanted[0], 2), 0);
  ck_assert_float_eq(first(wanted[1], 2), -2);
  ck_assert_float_eq(first(kept, 2), 0);
  ck_assert_int_eq(metric(context, "nodes_executed"), 4); /* all three were stored */
  ck_assert_float_eq(first(other, 2), 1);
  ck_assert_int_eq(metric(context, "nodes_executed"), 5);
  ck_assert_int_eq(laze_tensors_materialise(wanted, 3, NULL), LAZE_OK); /* nothing is left to do */
  ck_assert_int_eq(laze_tensors_materialise(NULL, 0, NULL), LAZE_OK);
  ck_assert_int_eq(metric(context, "graphs_run"), 2);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_tensor_release(kept);
  laze_context_release(context);
}
END_TEST

/* One that fails keeps no other from being computed, and its error is told once; what is no tensor is named. */
START_TEST(several_tensors_of_which_some_fail) {
  laze_context *context = new_context(), *another = new_context();
  laze_scope *scope = laze_scope_begin(context), *apart = laze_scope_begin(another);
  laze_error error;
  laze_tensor *x = filled(context, 2, 1), *fine = neg(x), *bad = out_of_range(context, x);
  laze_tensor *list[] = {bad, fine, NULL};
  ck_assert_int_eq(laze_tensors_materialise(list, 2, &error), LAZE_OUT_OF_RANGE);
  ck_assert_msg(strstr(error.message, "index 9") != NULL, "%s", error.message);
  int64_t run = metric(context, "graphs_run");
  ck_assert_float_eq(first(fine, 2), -1);
  ck_assert_int_eq(metric(context, "graphs_run"), run);
  ck_assert_int_eq(laze_tensors_materialise(list, 3, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "tensor 2 is NULL") != NULL, "%s", error.message);
  list[2] = filled(another, 2, 1);
  ck_assert_int_eq(laze_tensors_materialise(list, 3, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "another context") != NULL, "%s", error.message);
  ck_assert_int_eq(laze_tensors_materialise(list, -1, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_scope_end(apart), LAZE_OK);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK); /* the error counts as read */
  laze_context_release(another);
  laze_context_release(context);
}
END_TEST

/* A read leaves what it does not need. */
START_TEST(reads_run_only_what_they_need) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  laze_tensor *other = laze_tensor_retain(mul(x, neg(x)));
  ck_assert_float_eq(first(neg(neg(neg(x))), 2), -1);
  ck_assert_int_le(metric(context, "nodes_executed"), 3);
  int64_t before = metric(context, "graphs_run");
  ck_assert_float_eq(first(other, 2), -1);
  ck_assert_int_eq(metric(context, "graphs_run"), before + 1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_tensor_release(other);
  laze_context_release(context);
}
END_TEST

START_TEST(values_of_outer_scopes_are_held) {
  laze_context *context = new_context();
  laze_scope *outer = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 2);
  laze_tensor *outside = mul(x, x);
  laze_scope *inner = laze_scope_begin(context);
  laze_tensor *inside = add(outside, x);
  ck_assert_float_eq(first(neg(inside), 2), -6);
  ck_assert_int_eq(metric(context, "nodes_executed"), 3);
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  ck_assert_float_eq(first(outside, 2), 4);
  ck_assert_int_eq(metric(context, "nodes_executed"), 3);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(step_end_runs_all_held_values_in_one_graph) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 2);
  laze_tensor *a = laze_tensor_retain(mul(x, x)), *b = laze_tensor_retain(neg(a));
  add(a, b); /* a temporary that nobody reads is not computed */
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
  ck_assert_int_eq(metric(context, "graphs_run"), 1);
  ck_assert_int_eq(metric(context, "nodes_executed"), 2);
  ck_assert_float_eq(first(a, 2), 4);
  ck_assert_float_eq(first(b, 2), -4);
  ck_assert_int_eq(metric(context, "graphs_run"), 1);
  laze_tensor_release(a);
  laze_tensor_release(b);
  laze_context_release(context);
}
END_TEST

START_TEST(step_end_without_held_values_runs_nothing) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  neg(filled(context, 2, 2));
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
  ck_assert_int_eq(metric(context, "graphs_run"), 0);
  laze_context_release(context);
}
END_TEST

/* A training loop: the parameter gets its next value at each step, and the graph is compiled once. */
START_TEST(assigned_parameters_are_updated_each_step) {
  laze_context *context = new_context();
  laze_scope *setup = laze_scope_begin(context);
  laze_tensor *weight = laze_tensor_retain(filled(context, 2, 1));
  ck_assert_int_eq(laze_scope_end(setup), LAZE_OK);
  for (int step = 0; step < 5; step++) {
    laze_scope *scope = laze_scope_begin(context);
    ck_assert_int_eq(laze_tensor_assign(weight, add(weight, weight)), LAZE_OK);
    laze_error error;
    ck_assert_msg(laze_step_end(scope, &error) == LAZE_OK, "%s", error.message);
  }
  ck_assert_float_eq(first(weight, 2), 32);
  ck_assert_int_eq(metric(context, "trace_cache_misses"), 1);
  ck_assert_int_eq(metric(context, "trace_cache_hits"), 4);
  ck_assert_int_eq(metric(context, "nodes_executed"), 5);
  laze_tensor_release(weight);
  laze_context_release(context);
}
END_TEST

/* What was recorded from the old value keeps it: an assignment changes the storage, never a cell. */
START_TEST(assignment_does_not_change_earlier_uses) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *weight = laze_tensor_retain(filled(context, 2, 3));
  laze_tensor *before = neg(weight);
  ck_assert_int_eq(laze_tensor_assign(weight, filled(context, 2, 10)), LAZE_OK);
  ck_assert_float_eq(first(before, 2), -3);
  ck_assert_float_eq(first(neg(weight), 2), -10);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_tensor_release(weight);
  laze_context_release(context);
}
END_TEST

START_TEST(failed_assignments_change_nothing) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *weight = laze_tensor_retain(filled(context, 2, 3));
  int32_t integers[2] = {1, 2};
  ck_assert_int_eq(laze_tensor_assign(weight, filled(context, 3, 1)), LAZE_INVALID_ARGUMENT);
  ck_assert(strstr(laze_scope_error(scope), "f32[3]"));
  ck_assert_int_eq(
      laze_tensor_assign(weight, laze_tensor_from_data(context, LAZE_I32, LAZE_SHAPE(2), integers, sizeof integers)),
      LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_assign(weight, add(weight, NULL)), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_assign(weight, NULL), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_assign(NULL, weight), LAZE_INVALID_ARGUMENT);
  ck_assert_float_eq(first(weight, 2), 3);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_INVALID_ARGUMENT);
  laze_tensor_release(weight);
  laze_context_release(context);
}
END_TEST

/* A failed run is reported by the read that wanted it, and everything else stays usable. */
START_TEST(failed_runs_leave_the_rest_usable) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  laze_tensor *good = laze_tensor_retain(neg(x));
  laze_tensor *bad = out_of_range(context, good);
  float data[1];
  for (int i = 0; i < 2; i++) { /* again, from the cache */
    ck_assert_int_eq(laze_tensor_read(bad, LAZE_F32, data, sizeof data), LAZE_OUT_OF_RANGE);
    ck_assert_msg(strstr(laze_tensor_error(bad), "index_select"), "%s", laze_tensor_error(bad));
    ck_assert_ptr_nonnull(strstr(laze_tensor_error(bad), "9"));
  }
  ck_assert_float_eq(first(good, 2), -1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_tensor_release(good);
  laze_context_release(context);
}
END_TEST

START_TEST(a_failed_step_returns_the_error) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *bad = laze_tensor_retain(out_of_range(context, filled(context, 2, 1)));
  laze_error error;
  ck_assert_int_eq(laze_step_end(scope, &error), LAZE_OUT_OF_RANGE);
  ck_assert(strstr(error.message, "9"));
  laze_tensor_release(bad);
  laze_context_release(context);
}
END_TEST

/* f32[rows,columns] of ones, twice as large in the column. */
static laze_tensor *matrix(laze_context *context, int64_t rows, int64_t columns) {
  const float value = columns == 1 ? 2 : 1, data[] = {value, value};
  return laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(rows, columns), data, sizeof data);
}

/* Another weight runs the same code, and the run decides that 0 ignores what is NaN. */
START_TEST(weights_are_inputs_of_the_run) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  const struct {
    float self;
    double beta, alpha;
    float expected;
  } calls[] = {{NAN, 0, 1, 2}, {3, 1, 1, 5}, {3, 2.5, 3, 13.5f}, {INFINITY, 0, 0, 0}, {4, 0.5, 1, 4}};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    laze_argument arguments[] = {pass(filled(context, 2, calls[i].self)), pass(matrix(context, 2, 1)),
                                 pass(matrix(context, 1, 2)), pass_real(calls[i].beta), pass_real(calls[i].alpha)};
    ck_assert_float_eq(first(call("addmm", arguments, 5), 4), calls[i].expected);
    ck_assert_int_eq(metric(context, "trace_cache_misses"), 1);
  }
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(a_composite_expands_when_recorded) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 5);
  laze_argument arguments[] = {pass(x), pass(x), pass_real(2)};
  ck_assert_float_eq(first(call("add.Tensor", arguments, 3), 2), 15); /* x + 2 x */
  ck_assert_int_gt(metric(context, "nodes_recorded"), 1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

enum { UNPREDICTED_DEPTH = 8 }; /* in scopes so deep, nodes go back to the pool at once */

/* What a callback does during a run, and what the run logged. */
typedef struct {
  laze_tensor *wanted, *other; /* NULL: nothing to do any more */
  char log[4096];
} meanwhile;

static laze_tensor *with_alpha(const char *name, laze_tensor *self) {
  laze_argument arguments[] = {pass(self), pass(self), pass_real(2)};
  return call(name, arguments, 3);
}

/* At the first step: computes what the run computes, so that its nodes go, and records others in their place. */
static void compute_meanwhile(void *self, int32_t severity, const char *message) {
  meanwhile *state = self;
  (void)severity;
  if (!strstr(message, "run:")) return;
  strncat(state->log, message, sizeof state->log - strlen(state->log) - 2);
  strcat(state->log, "\n");
  laze_tensor *wanted = state->wanted;
  if (!wanted) return;
  state->wanted = NULL;
  first(wanted, 2);
  *state->log = 0; /* that of the run in between */
  for (int i = 0; i < 4; i++) with_alpha("sub.Tensor", state->other);
}

/* A message of a run is for the calls of that run, also where others have taken their nodes' place. */
START_TEST(a_run_names_its_calls_whatever_is_computed_meanwhile) {
  static meanwhile state;
  const laze_context_options options = {.struct_size = sizeof options,
                                        .backend = "interp",
                                        .cache_directory = "",
                                        .threads = 1,
                                        .debug = "run",
                                        .log = compute_meanwhile,
                                        .log_self = &state};
  laze_context *context = NULL;
  laze_scope *scopes[UNPREDICTED_DEPTH];
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  for (int i = 0; i < UNPREDICTED_DEPTH; i++) scopes[i] = laze_scope_begin(context);
  state.other = filled(context, 2, 1);
  state.wanted = with_alpha("add.Tensor", neg(filled(context, 2, 1)));
  ck_assert_float_eq(first(state.wanted, 2), -3);
  ck_assert_msg(strstr(state.log, "from add"), "%s", state.log);
  ck_assert_msg(!strstr(state.log, "from sub"), "%s", state.log);
  for (int i = UNPREDICTED_DEPTH; i-- > 0;) ck_assert_int_eq(laze_scope_end(scopes[i]), LAZE_OK);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      reads_store_held_values_on_the_way,
      released_values_are_not_stored,
      several_tensors_are_one_graph,
      several_tensors_of_which_some_fail,
      reads_run_only_what_they_need,
      values_of_outer_scopes_are_held,
      step_end_runs_all_held_values_in_one_graph,
      step_end_without_held_values_runs_nothing,
      assigned_parameters_are_updated_each_step,
      assignment_does_not_change_earlier_uses,
      failed_assignments_change_nothing,
      failed_runs_leave_the_rest_usable,
      a_failed_step_returns_the_error,
      a_composite_expands_when_recorded,
      weights_are_inputs_of_the_run,
      a_run_names_its_calls_whatever_is_computed_meanwhile,
  };
  return run_tests("materialise", tests, sizeof tests / sizeof *tests);
}
