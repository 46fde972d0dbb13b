/* Values that fail when they run: such a value is an error, and so is what depends on it; everything else is computed,
 * by both backends alike. A training loop must go on when a metric that nobody reads has a bad index in it. */
#include "tests/support/backends.h"
#include "laze/laze.h"
#include "support.h"

#include <stdio.h>

static laze_context *context;

static void begin(int backend) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = laze_backend_at(backend)->name, .cache_directory = "", .threads = 1};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
}

static laze_tensor *indices(int64_t a, int64_t b) {
  int64_t data[] = {a, b};
  return laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(2), data, sizeof data);
}

static laze_tensor *pick(laze_tensor *from, int64_t a, int64_t b) {
  return laze_index_select(from, 0, indices(a, b));
}

static laze_tensor *parameter(float value) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *weight = laze_tensor_retain(filled(context, 2, value));
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  return weight;
}

static void check_error(laze_tensor *tensor, const char *part) {
  ck_assert_int_eq(laze_tensor_materialise(tensor), LAZE_OUT_OF_RANGE);
  ck_assert_msg(strstr(laze_tensor_error(tensor), part) != NULL, "'%s' does not say '%s'", laze_tensor_error(tensor),
                part);
}

/* One step that makes a value which fails, if `bad`, and updates the parameter. */
static laze_tensor *step(laze_tensor *weight, bool bad, laze_status *status, laze_error *error) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *metric_value = laze_tensor_retain(pick(weight, 0, bad ? 7 : 1));
  ck_assert_int_eq(laze_tensor_assign(weight, laze_add(weight, weight)), LAZE_OK);
  *status = laze_step_end(scope, error);
  return metric_value;
}

START_TEST(one_failed_value_is_reported_once_and_stops_nothing) {
  begin(_i);
  laze_error error;
  laze_status status;
  laze_tensor *weight = parameter(1), *kept[10];
  for (int i = 0; i < 10; i++) {
    kept[i] = step(weight, i == 0, &status, &error);
    ck_assert_int_eq(status, i == 0 ? LAZE_OUT_OF_RANGE : LAZE_OK);
    if (i == 0) ck_assert_msg(strstr(error.message, "index 7") != NULL, "%s", error.message);
  }
  ck_assert_int_eq(metric(context, "trace_cache_misses"), 1);
  ck_assert_int_eq(metric(context, "graphs_run"), 10);
  ck_assert_float_eq(first(weight, 2), 1024);
  check_error(kept[0], "index 7 at position 1");
  ck_assert_float_eq(first(kept[9], 2), 512);
  for (int i = 0; i < 10; i++) laze_tensor_release(kept[i]);
  laze_tensor_release(weight);
  laze_context_release(context);
}
END_TEST

/* Each step reports its own error, and takes the graph of the step before. */
START_TEST(a_loop_in_which_every_step_fails_is_steady) {
  begin(_i);
  laze_error error;
  laze_status status;
  laze_tensor *weight = parameter(1);
  for (int i = 0; i < 20; i++) {
    laze_tensor_release(step(weight, true, &status, &error));
    ck_assert_int_eq(status, LAZE_OUT_OF_RANGE);
    ck_assert_int_eq(metric(context, "trace_cache_misses"), 1);
    ck_assert_int_eq(metric(context, "graphs_run"), i + 1);
  }
  ck_assert_float_eq(first(weight, 2), 1 << 20);
  laze_tensor_release(weight);
  laze_context_release(context);
}
END_TEST

/* What depends on two failed values has the error of one; what depends on none is computed, whatever stands between. */
START_TEST(several_values_fail_each_with_its_own_error) {
  begin(_i);
  laze_scope *scope = laze_scope_begin(context), *inner = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 3);
  laze_tensor *a = laze_tensor_retain(pick(x, 5, 0)), *b = laze_tensor_retain(pick(x, 0, 6));
  laze_tensor *both = laze_tensor_retain(laze_add(laze_sum(a), laze_sum(b)));
  laze_tensor *good = laze_tensor_retain(laze_mul(x, pick(x, 1, 0)));
  laze_tensor *after = laze_exp(both);
  laze_error error;
  ck_assert_int_eq(laze_step_end(inner, &error), LAZE_OUT_OF_RANGE);
  int64_t runs = metric(context, "graphs_run");
  check_error(a, "index 5 at position 0");
  check_error(b, "index 6 at position 1");
  check_error(both, "index ");
  ck_assert_float_eq(first(good, 2), 9);
  ck_assert_int_eq(laze_tensor_rank(a), 1); /* its type is known all the same */
  laze_tensor *negated = laze_neg(a);       /* and so is that of what is recorded from it */
  ck_assert_int_eq(laze_tensor_dtype(negated), LAZE_F32);
  check_error(negated, "index 5 at position 0");
  ck_assert_float_eq(first(laze_zeros_like(a), 2), 0); /* which needs no more than its type */
  runs++;
  ck_assert_int_eq(metric(context, "graphs_run"), runs); /* nothing of this ran again */
  (void)after;
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK); /* reported by the step's end */
  laze_tensor *held[] = {a, b, both, good};
  for (int i = 0; i < 4; i++) laze_tensor_release(held[i]);
  laze_context_release(context);
}
END_TEST

START_TEST(pending_values_fail_with_what_they_depend_on) {
  begin(_i);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *bad = pick(filled(context, 2, 1), 2, 0);
  laze_tensor *chain = bad;
  for (int i = 0; i < 100; i++) chain = laze_neg(chain);
  check_error(bad, "index 2");
  int64_t runs = metric(context, "graphs_run");
  check_error(chain, "index 2");
  ck_assert_int_eq(metric(context, "graphs_run"), runs);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* What is called on a value that has failed fails when it is recorded, where the call is one node (neg, softmax) as
 * where it expands (relu, add with alpha, a composite of composites); a value that the same call records beside it, or
 * that another call makes, does not. */
START_TEST(calls_of_a_failed_value_fail_whatever_they_record) {
  begin(_i);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *good = filled(context, 2, 1), *bad = pick(good, 2, 0), *pending = laze_neg(good);
  check_error(bad, "index 2");
  int64_t runs = metric(context, "graphs_run");
  laze_tensor *failed[] = {laze_neg(bad), laze_softmax(bad, 0), laze_relu(bad), laze_add_with(good, bad, 2),
                           laze_var(bad, true)};
  for (size_t i = 0; i < sizeof failed / sizeof *failed; i++) check_error(failed[i], "index 2");
  ck_assert_int_eq(metric(context, "graphs_run"), runs);
  ck_assert_float_eq(first(laze_relu(pending), 2), 0);
  ck_assert_float_eq(first(pending, 2), -1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* One kernel computes both; the one that needs no index is right. */
START_TEST(values_of_one_kernel_fail_on_their_own) {
  begin(_i);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 3);
  laze_tensor *good = laze_tensor_retain(laze_exp(x));
  laze_tensor *bad = laze_tensor_retain(laze_add(good, pick(x, 0, 9)));
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(metric(context, "graphs_run"), 1);
  if (test_fuses(laze_backend_at(_i))) ck_assert_int_eq(metric(context, "kernels_run"), 1);
  ck_assert_float_eq_tol(first(good, 2), 20.0855, 1e-4);
  check_error(bad, "index 9 at position 1");
  ck_assert_int_eq(metric(context, "graphs_run"), 1);
  laze_tensor_release(good);
  laze_tensor_release(bad);
  laze_context_release(context);
}
END_TEST

/* A kernel with several checks notes a failure of each: nothing has to run again to know which value failed. */
START_TEST(values_of_one_kernel_with_several_checks_fail_on_their_own) {
  for (int bad = 0; bad < 4; bad++) {
    begin(_i);
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *x = filled(context, 2, 3);
    laze_tensor *first_value = laze_tensor_retain(laze_exp(pick(x, 0, bad & 1 ? 8 : 1)));
    laze_tensor *last = laze_tensor_retain(laze_add(first_value, pick(x, 0, bad & 2 ? 9 : 1)));
    laze_status status = laze_step_end(scope, NULL);
    ck_assert_int_eq(status, bad ? LAZE_OUT_OF_RANGE : LAZE_OK);
    ck_assert_int_eq(metric(context, "graphs_run"), 1);
    if (bad & 1)
      check_error(first_value, "index 8");
    else
      ck_assert_float_eq_tol(first(first_value, 2), 20.0855, 1e-4);
    if (bad)
      check_error(last, bad & 1 ? "index 8" : "index 9"); /* of two the first */
    else
      ck_assert_float_eq_tol(first(last, 2), 23.0855, 1e-4);
    laze_tensor_release(first_value);
    laze_tensor_release(last);
    laze_context_release(context);
  }
}
END_TEST

/* A parameter that failed is not lost: it can get another value. */
START_TEST(a_failed_destination_can_be_assigned) {
  begin(_i);
  laze_tensor *weight = parameter(1);
  laze_scope *scope = laze_scope_begin(context);
  ck_assert_int_eq(laze_tensor_assign(weight, pick(weight, 0, 4)), LAZE_OK);
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OUT_OF_RANGE);
  scope = laze_scope_begin(context);
  laze_tensor *fresh = filled(context, 2, 5);
  ck_assert_int_eq(laze_tensor_assign(fresh, weight), LAZE_OUT_OF_RANGE); /* the source's error; unchanged */
  ck_assert_float_eq(first(fresh, 2), 5);
  ck_assert_int_eq(laze_tensor_assign(weight, filled(context, 3, 5)), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_assign(weight, fresh), LAZE_OK);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_INVALID_ARGUMENT); /* of the shape */
  ck_assert_float_eq(first(weight, 2), 5);
  laze_tensor_release(weight);
  laze_context_release(context);
}
END_TEST

/* Memory may come back, so that such a value is tried again; it does not stand in the way of others. */
START_TEST(values_without_memory_stay_pending_and_stop_nothing) {
  begin(_i);
  laze_tensor *weight = parameter(1);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *huge = laze_tensor_retain(laze_expand(laze_neg(laze_sum(weight)), LAZE_SHAPE(INT64_C(1) << 44)));
  for (int i = 0; i < 5; i++) {
    laze_scope *inner = laze_scope_begin(context);
    ck_assert_int_eq(laze_tensor_assign(weight, laze_add(weight, weight)), LAZE_OK);
    ck_assert_int_eq(laze_step_end(inner, NULL), LAZE_OUT_OF_MEMORY);
    ck_assert_int_le(metric(context, "trace_cache_misses"), 2);
  }
  ck_assert_float_eq(first(weight, 2), 32);
  ck_assert_int_eq(laze_tensor_materialise(huge), LAZE_OUT_OF_MEMORY);
  ck_assert_int_eq(laze_tensor_size(huge, 0), INT64_C(1) << 44);
  laze_tensor_release(huge);
  (void)laze_scope_end(scope);
  laze_tensor_release(weight);
  laze_context_release(context);
}
END_TEST

/* A random graph of gathers, some of which fail: each held value is an error exactly where it depends on one. */
START_TEST(errors_follow_dependence_in_random_graphs) {
  enum { VALUES = 24 };
  for (unsigned seed = 1; seed <= 40; seed++) {
    begin(_i);
    unsigned state = seed * 2654435761u;
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *values[VALUES] = {filled(context, 2, 1), filled(context, 2, 2)};
    bool fails[VALUES] = {false};
    for (int i = 2; i < VALUES; i++) {
      state = state * 1664525u + 1013904223u;
      int a = (int)(state >> 8) % i, b = (int)(state >> 16) % i;
      bool bad = (state >> 4) % 8 == 0;
      switch ((state >> 28) % 4) {
      case 0: values[i] = pick(values[a], 1, bad ? 11 : 0), fails[i] = fails[a] || bad; break;
      case 1: values[i] = laze_neg(values[a]), fails[i] = fails[a]; break;
      case 2: values[i] = laze_expand(laze_sum(values[a]), LAZE_SHAPE(2)), fails[i] = fails[a]; break;
      default: values[i] = laze_maximum(values[a], values[b]), fails[i] = fails[a] || fails[b]; break;
      }
      if (i % 3 != 0) laze_tensor_retain(values[i]);
    }
    bool any = false;
    for (int i = 2; i < VALUES; i++) any = any || (i % 3 != 0 && fails[i]);
    laze_error error = {0};
    laze_status status = laze_step_end(scope, &error);
    ck_assert_msg(status == (any ? LAZE_OUT_OF_RANGE : LAZE_OK), "seed %u: %s", seed, error.message);
    int64_t runs = metric(context, "graphs_run");
    for (int i = 2; i < VALUES; i++) {
      if (i % 3 == 0) continue;
      ck_assert_msg((laze_tensor_materialise(values[i]) != LAZE_OK) == fails[i], "seed %u: value %d", seed, i);
      laze_tensor_release(values[i]);
    }
    ck_assert_int_eq(metric(context, "graphs_run"), runs);
    laze_context_release(context);
  }
}
END_TEST

int main(void) {
  const TTest *const on_each[] = {one_failed_value_is_reported_once_and_stops_nothing,
                                  a_loop_in_which_every_step_fails_is_steady,
                                  several_values_fail_each_with_its_own_error,
                                  pending_values_fail_with_what_they_depend_on,
                                  calls_of_a_failed_value_fail_whatever_they_record,
                                  values_of_one_kernel_fail_on_their_own,
                                  values_of_one_kernel_with_several_checks_fail_on_their_own,
                                  a_failed_destination_can_be_assigned,
                                  values_without_memory_stay_pending_and_stop_nothing,
                                  errors_follow_dependence_in_random_graphs};
  Suite *suite = suite_create("failure");
  TCase *tests = tcase_create("each backend");
  tcase_set_timeout(tests, 120);
  for (size_t i = 0; i < sizeof on_each / sizeof *on_each; i++)
    tcase_add_loop_test(tests, on_each[i], 0, test_backend_count());
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
