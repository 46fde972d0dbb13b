#include "support.h"

#include <pthread.h>
#include <stdbool.h>

enum { THREADS = 4, ROUNDS = 50, NODES = 40 };

static laze_context *context;
static laze_tensor *shared; /* pending, recorded by the main thread */

/* Each thread records its own graphs over a value that another thread recorded and nobody has computed. */
static void *record_and_read(void *self) {
  float wanted = (float)(intptr_t)self;
  for (int round = 0; round < ROUNDS; round++) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *own = filled(context, 2, wanted), *x = add(shared, own);
    for (int i = 0; i < NODES; i++) x = neg(x);
    float value = first(x, 2);
    if (laze_scope_end(scope) != LAZE_OK || value != wanted + 6) return self;
  }
  return NULL;
}

START_TEST(threads_share_pending_values) {
  context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 2);
  shared = laze_tensor_retain(add(mul(x, x), x));
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, record_and_read, (void *)(i + 1)), 0);
  for (int i = 0; i < THREADS; i++) {
    void *result;
    ck_assert_int_eq(pthread_join(threads[i], &result), 0);
    ck_assert_ptr_null(result);
  }
  ck_assert_float_eq(first(shared, 2), 6);
  laze_tensor_release(shared);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

static void *leave_pending(void *self) {
  (void)self;
  laze_tensor *x = filled(context, 2, 5);
  laze_scope_begin(context); /* never ended: the thread's end does it */
  return laze_tensor_retain(neg(mul(x, x)));
}

/* A thread may end with pending nodes: they live as long as somebody has a handle. */
START_TEST(a_thread_may_end_with_pending_values) {
  context = new_context();
  for (int round = 0; round < 20; round++) {
    pthread_t thread;
    void *left;
    ck_assert_int_eq(pthread_create(&thread, NULL, leave_pending, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, &left), 0);
    ck_assert_float_eq(first(left, 2), -25);
    laze_tensor_release(left);
  }
  laze_context_release(context);
}
END_TEST

static void *assign_from_here(void *self) {
  laze_tensor *weight = self;
  laze_scope *scope = laze_scope_begin(context);
  laze_status status = laze_tensor_assign(weight, add(weight, weight));
  laze_status end = laze_step_end(scope, NULL);
  return status == LAZE_OK && end == LAZE_OK ? self : NULL;
}

/* A step that ends on another thread than the parameter's own stores it all the same. */
START_TEST(steps_may_move_between_threads) {
  context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *weight = laze_tensor_retain(filled(context, 2, 1));
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    void *result;
    ck_assert_int_eq(pthread_create(&thread, NULL, assign_from_here, weight), 0);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_eq(result, weight);
  }
  int64_t run = metric(context, "graphs_run");
  ck_assert_float_eq(first(weight, 2), 8);
  ck_assert_int_eq(metric(context, "graphs_run"), run);
  laze_tensor_release(weight);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

static void read_another(void *self) {
  laze_scope *scope = laze_scope_begin(context);
  *(float *)self = first(neg(filled(context, 2, 3)), 2);
  (void)laze_scope_end(scope);
}

/* A release callback may use laze itself: no lock is held while it runs. */
START_TEST(release_callbacks_may_use_laze) {
  context = new_context();
  float data[2] = {1, 2}, seen = 0;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_borrow(context, LAZE_F32, LAZE_SHAPE(2), data, sizeof data, read_another, &seen);
  ck_assert_float_eq(first(neg(x), 2), -1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  ck_assert_float_eq(seen, -3);
  laze_context_release(context);
}
END_TEST

static _Atomic int64_t watched;

static int32_t count_reports(void *self, const laze_activity *activity) {
  (void)self, (void)activity;
  watched++;
  return 0;
}

/* What was lent is given back here, and lent again; somebody watches, or nobody. */
static void *give_back_and_lend(void *self) {
  laze_export *lent = self;
  for (int round = 0; round < ROUNDS; round++) {
    void *managed;
    laze_export_release(lent);
    laze_context_watch(context, round % 2 ? count_reports : NULL, NULL);
    if (laze_tensor_export(shared, lent, NULL) != LAZE_OK) return NULL;
    if (laze_tensor_to_dlpack(shared, LAZE_DLPACK_VERSIONED, &managed, NULL) != LAZE_OK) return NULL;
    laze_tensor *back = laze_tensor_take(laze_tensor_from_dlpack(context, LAZE_DLPACK_VERSIONED, managed));
    if (first(neg(back), 2) != -6) return NULL;
    laze_tensor_release(back);
  }
  return self;
}

/* Another language's collector frees objects on whatever thread it runs. */
START_TEST(lent_memory_is_given_back_on_any_thread) {
  context = new_context();
  laze_tensor *x = filled(context, 2, 2);
  shared = laze_tensor_take(add(mul(x, x), x));
  pthread_t threads[THREADS];
  laze_export lent[THREADS];
  for (int i = 0; i < THREADS; i++) ck_assert_int_eq(laze_tensor_export(shared, &lent[i], NULL), LAZE_OK);
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, give_back_and_lend, &lent[i]), 0);
  for (int i = 0; i < THREADS; i++) {
    void *result;
    ck_assert_int_eq(pthread_join(threads[i], &result), 0);
    ck_assert_ptr_eq(result, &lent[i]);
  }
  laze_tensor_release(shared);
  laze_context_release(context);
  for (int i = 0; i < THREADS; i++) {
    ck_assert_float_eq(((const float *)lent[i].data)[1], 6);
    laze_export_release(&lent[i]); /* the last of them ends the context */
  }
}
END_TEST

enum { READERS = 32, READS = 1000000 / READERS };

/* Reads its own values, and those that all threads read and any of them may be the first to compute. */
static void *record_and_read_often(void *self) {
  float wanted = (float)(intptr_t)self;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *own = laze_tensor_retain(filled(context, 2, wanted));
  bool right = laze_scope_end(scope) == LAZE_OK;
  for (int i = 0; i < READS && right; i++) {
    scope = laze_scope_begin(context);
    right = i % 4 == 0 ? first(shared, 2) == 6 : first(add(shared, own), 2) == wanted + 6;
    right = laze_scope_end(scope) == LAZE_OK && right;
  }
  laze_tensor_release(own);
  return right ? NULL : self;
}

/* A million reads, by more threads than there are processors, through one cache of traces. */
START_TEST(a_million_reads) {
  context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 2);
  shared = laze_tensor_retain(add(mul(x, x), x));
  pthread_t threads[READERS];
  for (intptr_t i = 0; i < READERS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, record_and_read_often, (void *)(i + 1)), 0);
  for (int i = 0; i < READERS; i++) {
    void *result;
    ck_assert_int_eq(pthread_join(threads[i], &result), 0);
    ck_assert_ptr_null(result);
  }
  laze_tensor_release(shared);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      threads_share_pending_values,   a_thread_may_end_with_pending_values,    steps_may_move_between_threads,
      release_callbacks_may_use_laze, lent_memory_is_given_back_on_any_thread, a_million_reads};
  return run_tests("threads", tests, sizeof tests / sizeof *tests);
}
