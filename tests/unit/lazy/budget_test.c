#include "support.h"

#include <pthread.h>

static int warnings;
static void count_warnings(void *self, int32_t severity, const char *message) {
  (void)self;
  if (severity == LAZE_LOG_WARNING && strstr(message, "budget")) warnings++;
}

static laze_context *new_counting_context(void) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = "interp", .cache_directory = "", .threads = 1, .log = count_warnings};
  laze_context *context = NULL;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  warnings = 0;
  return context;
}

/* A graph that only grows is cut, counted and warned about, and gives the same numbers. */
START_TEST(growing_graphs_are_cut) {
  laze_context *context = new_counting_context();
  laze_set_budget(context, 100, 0);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *one = filled(context, 2, 1), *x = one;
  for (int i = 0; i < 1000; i++) x = add(x, one);
  ck_assert_float_eq(first(x, 2), 1001);
  ck_assert_int_eq(metric(context, "budget_cuts"), 9);
  ck_assert_int_eq(warnings, 9);
  ck_assert_int_eq(metric(context, "trace_cache_misses"), 3); /* the first, the others, the rest */
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(bytes_are_cut_as_well) {
  laze_context *context = new_counting_context();
  laze_set_budget(context, 0, 4000);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *one = filled(context, 100, 1), *x = one;
  for (int i = 0; i < 25; i++) x = add(x, one);
  ck_assert_int_eq(metric(context, "budget_cuts"), 2);
  ck_assert_float_eq(first(x, 100), 26);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A cut that fails is the scope's error; recording goes on. */
START_TEST(failed_cuts_are_the_scopes_error) {
  laze_context *context = new_counting_context();
  laze_set_budget(context, 3, 0);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = out_of_range(context, filled(context, 2, 1));
  for (int i = 0; i < 10; i++) x = neg(x);
  ck_assert_int_eq(laze_tensor_rank(x), 1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OUT_OF_RANGE);
  laze_context_release(context);
}
END_TEST

enum { CHAIN = 1000000 };

static void *run_chain(void *self) {
  laze_context *context = self;
  laze_set_budget(context, 0, 0);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  for (int i = 0; i < CHAIN; i++) x = neg(x);
  float value = first(x, 2);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  return value == 1 ? self : NULL;
}

/* Recording, hashing, compiling, running and freeing are loops: a small stack is enough for any graph. */
START_TEST(a_million_nodes_on_a_small_stack) {
  laze_context *context = new_context();
  pthread_attr_t attributes;
  pthread_t thread;
  void *result = NULL;
  pthread_attr_init(&attributes);
  ck_assert_int_eq(pthread_attr_setstacksize(&attributes, 512 * 1024), 0);
  ck_assert_int_eq(pthread_create(&thread, &attributes, run_chain, context), 0);
  ck_assert_int_eq(pthread_join(thread, &result), 0);
  ck_assert_ptr_eq(result, context);
  ck_assert_int_eq(metric(context, "nodes_recorded"), CHAIN);
  ck_assert_int_eq(metric(context, "budget_cuts"), 0);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {growing_graphs_are_cut, bytes_are_cut_as_well, failed_cuts_are_the_scopes_error,
                                a_million_nodes_on_a_small_stack};
  return run_tests("budget", tests, sizeof tests / sizeof *tests);
}
