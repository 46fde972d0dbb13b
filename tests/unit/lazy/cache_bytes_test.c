/* What caches keep is counted, shown by metrics, and bounded: a loop over lengths must not grow for ever. */
#include "tests/support/backends.h"
#include "laze/laze.h"
#include "support.h"

#include <malloc.h>
#include <stdatomic.h>

static laze_context *context;
static _Atomic int64_t allocated; /* bytes that the context has of its allocator */

static void *count_allocate(void *self, size_t size) {
  (void)self;
  void *memory = malloc(size);
  if (memory) allocated += (int64_t)malloc_usable_size(memory);
  return memory;
}
static void count_release(void *self, void *memory) {
  (void)self;
  if (memory) allocated -= (int64_t)malloc_usable_size(memory);
  free(memory);
}

static void begin(int backend) {
  static const laze_allocator allocator = {count_allocate, count_release, NULL};
  laze_context_options options = {.struct_size = sizeof options,
                                  .allocator = &allocator,
                                  .backend = laze_backend_at(backend)->name,
                                  .cache_directory = "",
                                  .threads = 1};
  setenv("LAZE_LOG", "off", 1); /* these loops are what it warns of */
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
}

static int64_t reported(void) {
  return metric(context, "trace_cache_bytes") + metric(context, "program_cache_bytes") +
         metric(context, "kernel_cache_bytes") + metric(context, "node_bytes");
}

/* A recurrent network over `length` steps, unrolled. */
static void run_network(int length) {
  enum { WIDTH = 4 };
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_ones(context, LAZE_SHAPE(length, WIDTH), LAZE_F32),
              *w = laze_zeros(context, LAZE_SHAPE(WIDTH, WIDTH), LAZE_F32);
  laze_tensor *h = laze_ones(context, LAZE_SHAPE(1, WIDTH), LAZE_F32);
  for (int t = 0; t < length; t++) {
    laze_tensor *now = laze_slice(x, 0, t, t + 1, 1);
    h = laze_maximum(laze_add(laze_mm(now, w), laze_mm(h, w)), h);
  }
  ck_assert_float_eq(first(h, WIDTH), 1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
}

/* The sum of what the metrics show is what there is: within a quarter, for the allocator rounds, and caches have nodes
 * of their own. Kernels' code is not from the allocator. */
START_TEST(metrics_show_what_caches_keep) {
  begin(_i);
  for (int length = 20; length < 60; length++) run_network(length);
  int64_t shown = reported() - metric(context, "kernel_cache_bytes");
  ck_assert_int_gt(metric(context, "trace_cache_bytes"), 100000);
  ck_assert_int_gt(metric(context, "program_cache_bytes"), 1000000);
  ck_assert_msg(shown > allocated * 3 / 4 && shown < allocated * 5 / 4, "%lld shown, %lld allocated", (long long)shown,
                (long long)allocated);
  if (strcmp(laze_backend_at(_i)->name, "llvm") == 0) ck_assert_int_gt(metric(context, "kernel_cache_bytes"), 4000);
  laze_context_release(context);
  ck_assert_int_eq(allocated, 0);
}
END_TEST

/* Bytes that a graph takes in the caches, for each of its operators. It was 1,800. */
START_TEST(a_cached_graph_is_small) {
  begin(_i);
  run_network(50);
  int64_t before = reported(), nodes = metric(context, "nodes_executed");
  for (int length = 51; length < 70; length++) run_network(length);
  nodes = metric(context, "nodes_executed") - nodes;
  ck_assert_int_lt((reported() - before) / nodes, 1500);
  laze_context_release(context);
}
END_TEST

static void run_chain(int length) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  for (int i = 0; i < length; i++) x = laze_neg(x);
  (void)first(x, 2);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
}

/* Graphs of ever new lengths, until something is evicted, and as many again. */
START_TEST(a_loop_over_lengths_stays_flat) {
  enum { SHORTEST = 40000, MOST = 60 };
  begin(_i);
  int count = 0;
  while (count < MOST && metric(context, "cache_evictions") == 0) run_chain(SHORTEST + count++);
  ck_assert_int_gt(metric(context, "cache_evictions"), 0);
  /* One cache is full now, the other at most; both may have 128 MiB. */
  for (int i = 0; i < count; i++) run_chain(SHORTEST + count + i);
  ck_assert_msg(allocated < INT64_C(320) << 20, "%lld after %d graphs", (long long)allocated, 2 * count);
  ck_assert_int_gt(metric(context, "cache_evictions"), count / 2);
  laze_context_release(context);
}
END_TEST

/* A cache of keys and values that grows by one at each step: the same operators with other sizes. */
START_TEST(a_loop_over_growing_tensors_stays_flat) {
  begin(_i);
  int64_t half = 0;
  laze_scope *outer = laze_scope_begin(context);
  laze_tensor *keys = laze_tensor_retain(filled(context, 1, 1));
  for (int step = 0; step < 2400; step++) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *pieces[] = {keys, filled(context, 1, 1)};
    laze_tensor *grown = laze_tensor_retain(laze_cat(pieces, 2, 0));
    ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
    laze_tensor_release(keys);
    keys = grown;
    if (step == 1199) half = allocated;
  }
  ck_assert_int_eq(laze_tensor_size(keys, 0), 2401);
  ck_assert_msg(allocated < half + half / 8, "%lld, then %lld", (long long)half, (long long)allocated);
  ck_assert_int_lt(metric(context, "kernels_compiled"), 10);
  laze_tensor_release(keys);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* They say what there is now, and not what happened. */
START_TEST(a_reset_leaves_them) {
  begin(_i);
  run_network(5);
  int64_t before = reported();
  laze_metric_reset(context);
  ck_assert_int_eq(reported(), before);
  ck_assert_int_eq(metric(context, "graphs_run"), 0);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const on_each[] = {metrics_show_what_caches_keep, a_cached_graph_is_small,
                                  a_loop_over_lengths_stays_flat, a_loop_over_growing_tensors_stays_flat,
                                  a_reset_leaves_them};
  Suite *suite = suite_create("cache bytes");
  TCase *tests = tcase_create("each backend");
  tcase_set_timeout(tests, 300);
  for (size_t i = 0; i < sizeof on_each / sizeof *on_each; i++)
    tcase_add_loop_test(tests, on_each[i], 0, test_backend_count());
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
