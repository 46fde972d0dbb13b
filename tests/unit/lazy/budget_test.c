#include "codegen/codegen.h"
#include "laze/laze.h"
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

/* What a loop adds up keeps every batch alive until it is run: a budget of bytes does that in time. */
START_TEST(bytes_are_cut_as_well) {
  laze_context *context = new_counting_context();
  laze_set_budget(context, 0, 4000);
  laze_scope *outer = laze_scope_begin(context);
  laze_tensor *total = laze_tensor_retain(filled(context, 1, 0));
  for (int i = 0; i < 100; i++) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *batch = filled(context, 100, 1);
    ck_assert_int_eq(laze_tensor_assign(total, add(total, unary("sum", mul(batch, batch)))), LAZE_OK);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
    ck_assert_int_lt(metric(context, "current_bytes"), 8000);
  }
  ck_assert_int_eq(metric(context, "budget_cuts"), 10); /* 408 bytes each time: after ten times and another */
  ck_assert_int_eq(warnings, 10);
  ck_assert_float_eq(first(total, 1), 10000);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_tensor_release(total);
  laze_context_release(context);
}
END_TEST

/* What a history keeps counts as pending while it is, and is stored by a cut as what handles keep: so a history over
 * many batches keeps its narrow values, and not the batches. */
START_TEST(what_gradients_keep_is_cut_as_well) {
  enum { BATCHES = 100 };
  laze_context *context = new_counting_context();
  laze_error error;
  laze_set_budget(context, 0, 4000);
  laze_scope *outer = laze_scope_begin(context);
  laze_tensor *total = laze_tensor_retain(filled(context, 1, 0)), *weight = filled(context, 1, 1);
  ck_assert_int_eq(laze_tensor_require_grad(weight, 1, &error), LAZE_OK);
  for (int i = 0; i < BATCHES; i++) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *batch = filled(context, 100, 1), *narrow = unary("sum", mul(batch, batch));
    ck_assert_int_eq(laze_tensor_assign(total, add(total, mul(weight, narrow))), LAZE_OK);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
    ck_assert_int_lt(metric(context, "current_bytes"), 8000 + i * 8);
  }
  ck_assert_int_ge(metric(context, "autograd_saved_bytes"), BATCHES * 4);
  ck_assert_int_ge(metric(context, "budget_cuts"), 10);
  ck_assert_int_eq(laze_backward(laze_reshape(total, LAZE_SHAPE_SCALAR), &error), LAZE_OK);
  ck_assert_float_eq(first(laze_tensor_grad(weight), 1), BATCHES * 100);
  ck_assert_int_eq(metric(context, "nodes_recomputed"), 0);
  ck_assert_int_eq(metric(context, "autograd_saved_bytes"), 0);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_tensor_release(total);
  laze_context_release(context);
}
END_TEST

/* Handles keep what a loop in one scope makes: storing some of it would free nothing. */
START_TEST(bytes_are_not_cut_where_it_would_not_pay) {
  laze_context *context = new_counting_context();
  laze_set_budget(context, 0, 4000);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *one = filled(context, 100, 1), *x = one;
  for (int i = 0; i < 1000; i++) x = add(x, one);
  ck_assert_int_eq(metric(context, "budget_cuts"), 0);
  ck_assert_int_eq(metric(context, "current_bytes"), 400);
  ck_assert_float_eq(first(x, 100), 1001);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Values that are wide and made from little, each used narrowly. `n` elements are wide. */
enum { WIDE = 1 << 16 };

static laze_tensor *sum_of_expand(laze_context *context) {
  return laze_sum(laze_expand(laze_full(context, LAZE_SHAPE_SCALAR, 2.0, LAZE_F32), LAZE_SHAPE(WIDE)));
}
static laze_tensor *sum_of_arange(laze_context *context) {
  return laze_sum(laze_exp(laze_neg(laze_arange(context, WIDE, LAZE_I64))));
}
static laze_tensor *sum_of_full(laze_context *context) {
  return laze_sum(laze_add(laze_full(context, LAZE_SHAPE(WIDE), 1.0, LAZE_F32), 1.0));
}
static laze_tensor *sum_of_outer_sum(laze_context *context) {
  laze_tensor *x = filled(context, 256, 1);
  laze_tensor *y = laze_add(laze_reshape(x, LAZE_SHAPE(256, 1)), laze_reshape(x, LAZE_SHAPE(1, 256)));
  return laze_sum(laze_mul(y, y));
}
static laze_tensor *sum_of_cat(laze_context *context) {
  laze_tensor *pieces[8], *x = filled(context, WIDE / 8, 1);
  for (int i = 0; i < 8; i++) pieces[i] = x;
  return laze_sum(laze_cat(pieces, 8, 0));
}
static laze_tensor *sum_of_one_hot(laze_context *context) {
  laze_tensor *classes = laze_to(filled(context, 64, 3), LAZE_I64);
  return laze_sum(laze_to(laze_one_hot(classes, WIDE / 64), LAZE_F32));
}
static laze_tensor *sum_of_doubled_expand(laze_context *context) {
  laze_tensor *x = laze_expand(filled(context, 1, 1), LAZE_SHAPE(WIDE));
  for (int i = 0; i < 40; i++) x = laze_add(x, laze_neg(x));
  return laze_sum(x);
}
static laze_tensor *sum_of_chain(laze_context *context) {
  laze_tensor *x = filled(context, WIDE / 2, 1), *y = x;
  for (int i = 0; i < 40; i++) y = laze_add(y, x);
  return laze_sum(y);
}
/* The wide value is held, and read in part only. */
static laze_tensor *part_of_held(laze_context *context) {
  laze_tensor *wide = laze_tensor_retain(laze_expand(filled(context, 1, 1), LAZE_SHAPE(WIDE, 4)));
  laze_tensor *other = filled(context, 4, 1);
  for (int i = 0; i < 40; i++) other = laze_add(other, other);
  laze_tensor_release(wide);
  return laze_sum(other);
}

static laze_tensor *(*const families[])(laze_context *) = {sum_of_expand,         sum_of_arange, sum_of_full,
                                                           sum_of_outer_sum,      sum_of_cat,    sum_of_one_hot,
                                                           sum_of_doubled_expand, sum_of_chain,  part_of_held};
enum { FAMILIES = sizeof families / sizeof *families };

/* The most tensor bytes that reading a family's value takes, and the value. */
static int64_t peak_of(int backend, int family, int64_t nodes, int64_t bytes, double *value) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = laze_backend_at(backend)->name, .cache_directory = "", .threads = 1};
  laze_context *context = NULL;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  laze_set_budget(context, nodes, bytes);
  laze_scope *scope = laze_scope_begin(context);
  *value = laze_tensor_item(families[family](context));
  laze_error error;
  ck_assert_msg(laze_scope_end_error(scope, &error) == LAZE_OK, "%s", error.message);
  int64_t peak = metric(context, "peak_bytes");
  laze_context_release(context);
  return peak;
}

/* A budget that is there to save memory must not cost any: a wide value is stored where that frees as much. */
START_TEST(a_budget_of_bytes_never_raises_memory) {
  for (int backend = 0; laze_backend_at(backend); backend++) {
    double plain, cut;
    int64_t without = peak_of(backend, _i, 0, 0, &plain);
    for (int64_t budget = 1; budget < WIDE * 8; budget *= 16) {
      int64_t with = peak_of(backend, _i, 0, budget, &cut);
      ck_assert_msg(with <= without, "family %d, %lld bytes: %lld, without a budget %lld", _i, (long long)budget,
                    (long long)with, (long long)without);
      ck_assert_double_eq(cut, plain);
    }
  }
}
END_TEST

/* A budget of nodes has to store something now and then: what is narrow, where there is such. */
START_TEST(a_budget_of_nodes_stores_what_is_narrow) {
  enum { SMALL = 5000 };
  for (int backend = 0; laze_backend_at(backend); backend++) {
    double plain, cut;
    bool must_be_wide = families[_i] == sum_of_chain;
    int64_t without = peak_of(backend, _i, 0, 0, &plain), with = peak_of(backend, _i, 3, 0, &cut);
    if (!must_be_wide)
      ck_assert_msg(with <= without + SMALL, "family %d: %lld, without a budget %lld", _i, (long long)with,
                    (long long)without);
    ck_assert_double_eq(cut, plain);
  }
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
  const TTest *const tests[] = {growing_graphs_are_cut,
                                bytes_are_cut_as_well,
                                what_gradients_keep_is_cut_as_well,
                                bytes_are_not_cut_where_it_would_not_pay,
                                failed_cuts_are_the_scopes_error,
                                a_million_nodes_on_a_small_stack};
  const TTest *const on_each_family[] = {a_budget_of_bytes_never_raises_memory,
                                         a_budget_of_nodes_stores_what_is_narrow};
  Suite *suite = suite_create("budget");
  TCase *group = tcase_create("budget");
  tcase_set_timeout(group, 120);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) tcase_add_test(group, tests[i]);
  for (int i = 0; i < 2; i++) tcase_add_loop_test(group, on_each_family[i], 0, FAMILIES);
  suite_add_tcase(suite, group);
  return test_run_suite(suite);
}
