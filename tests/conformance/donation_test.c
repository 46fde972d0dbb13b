/* Writes to tensors whose old value an earlier graph computed: to the memory that there is where nobody needs that
 * value any more, and to a copy where somebody does. What is asserted of counts holds where kernels write a part of a
 * value; others make each value anew. */
#include "laze/autograd.h"
#include "laze/laze.h"
#include "tests/conformance/conformance.h"
#include "tests/support/failing_allocator.h"

#include <pthread.h>
#include <string.h>

enum { ROWS = 8, COLUMNS = 4, ELEMENTS = ROWS * COLUMNS };

typedef struct {
  laze_context *context;
  laze_scope *outer;
  laze_tensor *table; /* f32[8,4], zeros at first */
  bool counts;        /* the backend writes parts of values */
} fixture;

static fixture begin(const laze_backend *backend) {
  static const float zeros[ELEMENTS];
  const laze_context_options options = {
      .struct_size = sizeof options, .backend = backend->name, .cache_directory = "", .threads = 1};
  fixture self = {.counts = test_fuses(backend)};
  ck_assert_int_eq(laze_context_create(&options, &self.context, NULL), LAZE_OK);
  self.outer = laze_scope_begin(self.context);
  self.table = laze_tensor_from_data(self.context, LAZE_F32, LAZE_SHAPE(ROWS, COLUMNS), zeros, sizeof zeros);
  return self;
}

static void end(fixture *self) {
  ck_assert_int_eq(laze_scope_end(self->outer), LAZE_OK);
  laze_context_release(self->context);
}

static int64_t metric(const fixture *self, const char *name) {
  int64_t value = -1;
  ck_assert_int_eq(laze_metric_read(self->context, name, &value, NULL), LAZE_OK);
  return value;
}

static laze_tensor *row_of(const fixture *self, float value) {
  const float data[COLUMNS] = {value, value, value, value};
  return laze_tensor_from_data(self->context, LAZE_F32, LAZE_SHAPE(COLUMNS), data, sizeof data);
}

static void write_row(const fixture *self, int64_t row, float value) {
  laze_error error;
  ck_assert_msg(laze_tensor_write(laze_select(self->table, 0, row), row_of(self, value), &error) == LAZE_OK, "%s",
                error.message);
}

/* Writes a row and computes what the table is then. */
static void step(const fixture *self, int64_t row, float value) {
  laze_scope *scope = laze_scope_begin(self->context);
  laze_error error;
  write_row(self, row, value);
  ck_assert_msg(laze_step_end(scope, &error) == LAZE_OK, "%s", error.message);
}

static void expect_rows(laze_tensor *tensor, const float *rows) {
  float got[ELEMENTS];
  ck_assert_msg(laze_tensor_read(tensor, LAZE_F32, got, sizeof got) == LAZE_OK, "%s", laze_tensor_error(tensor));
  for (int i = 0; i < ELEMENTS; i++)
    ck_assert_msg(got[i] == rows[i / COLUMNS], "row %d is %g, expected %g", i / COLUMNS, (double)got[i],
                  (double)rows[i / COLUMNS]);
}

/* A table that is filled row by row, over as many graphs, costs its rows: not a copy of all of it for each. */
START_TEST(row_5_17_a_dead_value_of_an_earlier_graph_is_not_copied) {
  fixture self = begin(laze_backend_at(_i));
  float rows[ROWS] = {0};
  for (int i = 0; i < 3 * ROWS; i++) {
    step(&self, i % ROWS, rows[i % ROWS] = (float)(i + 1));
    expect_rows(self.table, rows);
  }
  ck_assert_int_eq(metric(&self, "write_copies"), 0);
  ck_assert_int_eq(metric(&self, "buffers_donated"), self.counts ? 3 * ROWS : 0);
  end(&self);
}
END_TEST

/* Several writes of one graph go to one memory, that of the earlier graph. */
START_TEST(row_5_17_a_chain_of_writes_stays_in_its_place) {
  fixture self = begin(laze_backend_at(_i));
  laze_scope *scope = laze_scope_begin(self.context);
  for (int i = 0; i < ROWS; i++) write_row(&self, i, (float)i);
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
  expect_rows(self.table, (float[ROWS]){0, 1, 2, 3, 4, 5, 6, 7});
  ck_assert_int_eq(metric(&self, "write_copies"), 0);
  ck_assert_int_eq(metric(&self, "buffers_donated"), self.counts);
  end(&self);
}
END_TEST

/* So do elements at places that an index names. */
START_TEST(row_5_17_indexed_writes_stay_in_their_place) {
  fixture self = begin(laze_backend_at(_i));
  const int64_t places[] = {6, 1};
  laze_tensor *index = laze_tensor_from_data(self.context, LAZE_I64, LAZE_SHAPE(2), places, sizeof places);
  for (int i = 1; i <= 3; i++) {
    laze_scope *scope = laze_scope_begin(self.context);
    (void)laze_index_put_(self.table, &index, 1, row_of(&self, (float)i), false);
    ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
    expect_rows(self.table, (float[ROWS]){0, (float)i, 0, 0, 0, 0, (float)i, 0});
  }
  ck_assert_int_eq(metric(&self, "write_copies"), 0);
  ck_assert_int_eq(metric(&self, "buffers_donated"), 3 * self.counts);
  end(&self);
}
END_TEST

/* As x[2] += 1 is in Python: a view that is written to, and then to where it is. */
START_TEST(row_5_17_a_view_that_is_written_to_itself_costs_nothing) {
  fixture self = begin(laze_backend_at(_i));
  laze_error error;
  for (int i = 1; i <= 3; i++) {
    laze_scope *scope = laze_scope_begin(self.context);
    laze_tensor *row = laze_tensor_take(laze_add_(laze_select(self.table, 0, 2), 1));
    ck_assert_int_eq(laze_tensor_write(laze_select(self.table, 0, 2), row, &error), LAZE_OK);
    laze_tensor_release(row); /* whose value would be computed again from the old one */
    ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
    expect_rows(self.table, (float[ROWS]){0, 0, (float)i, 0, 0, 0, 0, 0});
  }
  ck_assert_int_eq(metric(&self, "write_copies"), 0);
  ck_assert_int_eq(metric(&self, "buffers_donated"), 3 * self.counts);
  end(&self);
}
END_TEST

/* --- who needs the old value --- */

typedef struct {
  laze_tensor *tensor; /* whose value has to stay */
  laze_export lent;
  float lent_to[ELEMENTS];
} holder;

static void hold_by_handle(fixture *self, holder *out) {
  out->tensor = laze_tensor_retain(laze_empty_like(self->table));
  ck_assert_int_eq(laze_tensor_assign(out->tensor, self->table), LAZE_OK);
}
static void hold_by_pending_value(fixture *self, holder *out) {
  out->tensor = laze_tensor_retain(laze_neg(laze_neg(self->table)));
}
static void hold_by_export(fixture *self, holder *out) {
  ck_assert_int_eq(laze_tensor_export(self->table, &out->lent, NULL), LAZE_OK);
}
static void hold_by_borrowing(fixture *self, holder *out) {
  self->table = laze_tensor_borrow(self->context, LAZE_F32, LAZE_SHAPE(ROWS, COLUMNS), out->lent_to,
                                   sizeof out->lent_to, NULL, NULL);
}
static void hold_by_history(fixture *self, holder *out) {
  laze_tensor *weight = laze_ones_like(self->table);
  ck_assert_int_eq(laze_tensor_require_grad(weight, 1, NULL), LAZE_OK);
  out->tensor = laze_tensor_retain(laze_sum(laze_mul(weight, self->table)));
}

static void release(holder *held) {
  if (held->lent.data)
    for (int i = 0; i < ELEMENTS; i++) ck_assert_float_eq(((const float *)held->lent.data)[i], 0);
  for (int i = 0; i < ELEMENTS; i++) ck_assert_float_eq(held->lent_to[i], 0);
  laze_export_release(&held->lent);
  laze_tensor_release(held->tensor);
}

static void (*const holds[])(fixture *self, holder *out) = {hold_by_handle, hold_by_pending_value, hold_by_export,
                                                            hold_by_borrowing, hold_by_history};

/* Whoever has the old value keeps it: an expression, another tensor, memory that was lent either way, a backward pass.
 * The expression may be computed with the write, and then its graph has no use for the old value behind it. */
START_TEST(row_5_17_a_live_value_is_copied) {
  for (size_t i = 0; i < sizeof holds / sizeof *holds; i++) {
    fixture self = begin(laze_backend_at(_i));
    holder held = {0};
    holds[i](&self, &held);
    const int64_t copies = metric(&self, "write_copies");
    write_row(&self, 2, 7);
    expect_rows(self.table, (float[ROWS]){0, 0, 7, 0, 0, 0, 0, 0});
    if (self.counts && holds[i] != hold_by_pending_value)
      ck_assert_msg(metric(&self, "write_copies") == copies + 1, "holder %zu", i);
    if (held.tensor && holds[i] != hold_by_history) expect_rows(held.tensor, (float[ROWS]){0});
    release(&held);
    end(&self);
  }
}
END_TEST

/* An expression of the old value that is pending behind the run needs it. */
START_TEST(row_5_17_a_pending_reader_keeps_the_old_value) {
  fixture self = begin(laze_backend_at(_i));
  step(&self, 0, 1);
  laze_scope *scope = laze_scope_begin(self.context);
  laze_tensor *reader = laze_add(self.table, 10.0);
  write_row(&self, 0, 5);
  expect_rows(self.table, (float[ROWS]){5, 0, 0, 0, 0, 0, 0, 0});
  expect_rows(reader, (float[ROWS]){11, 10, 10, 10, 10, 10, 10, 10});
  ck_assert_int_eq(metric(&self, "write_copies"), self.counts);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  end(&self);
}
END_TEST

/* --- runs that do not end --- */

/* A write that fails is an error of its tensor, whether its memory was donated or not, and of no other. */
START_TEST(row_5_17_a_failing_write_leaves_others_alone) {
  fixture self = begin(laze_backend_at(_i));
  step(&self, 1, 3);
  laze_scope *scope = laze_scope_begin(self.context);
  laze_tensor *other = laze_tensor_retain(laze_mul(laze_select(self.table, 0, 1), 2.0));
  const int64_t index = 99;
  laze_tensor *places = laze_tensor_from_data(self.context, LAZE_I64, LAZE_SHAPE(1), &index, sizeof index);
  (void)laze_index_copy_(self.table, 0, places, laze_unsqueeze(row_of(&self, 9), 0));
  float got[ELEMENTS];
  ck_assert_int_eq(laze_tensor_read(self.table, LAZE_F32, got, sizeof got), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_tensor_read(other, LAZE_F32, got, COLUMNS * sizeof *got), LAZE_OK);
  for (int i = 0; i < COLUMNS; i++) ck_assert_float_eq(got[i], 6);
  ck_assert_int_eq(laze_tensor_read(self.table, LAZE_F32, got, sizeof got), LAZE_OUT_OF_RANGE);
  laze_tensor_release(other);
  (void)laze_scope_end(scope);
  end(&self);
}
END_TEST

typedef struct {
  int calls, stop_at;
} watcher;

static int32_t watch(void *self, const laze_activity *activity) {
  watcher *state = self;
  (void)activity;
  return ++state->calls == state->stop_at;
}

/* Wherever it is asked, stopping loses nothing: it is not asked any more once a donated value was written to. */
START_TEST(row_5_17_a_run_that_is_stopped_has_changed_nothing) {
  bool stopped = true;
  for (int stop_at = 1; stopped; stop_at++) {
    fixture self = begin(laze_backend_at(_i));
    watcher state = {.stop_at = stop_at};
    write_row(&self, 0, 1);
    write_row(&self, 7, 2);
    laze_tensor *sum = laze_sum(laze_exp(self.table)), *held = laze_tensor_retain(laze_cumsum(self.table, 0));
    laze_context_watch(self.context, watch, &state);
    float got[ELEMENTS];
    stopped = laze_tensor_read(sum, LAZE_F32, got, sizeof *got) != LAZE_OK;
    if (!stopped) stopped = laze_tensor_read(self.table, LAZE_F32, got, sizeof got) != LAZE_OK;
    laze_context_watch(self.context, NULL, NULL);
    expect_rows(held, (float[ROWS]){1, 1, 1, 1, 1, 1, 1, 3});
    expect_rows(self.table, (float[ROWS]){1, 0, 0, 0, 0, 0, 0, 2});
    laze_tensor_release(held);
    end(&self);
  }
}
END_TEST

/* Whichever allocation fails, the table has its new value in the end or is an error, and never something between. */
START_TEST(row_5_17_memory_may_run_out_at_any_point) {
  int failures = 0;
  for (int64_t refused = 1, last = 1; refused <= last; refused++) {
    static const float zeros[ELEMENTS];
    test_failing_allocator state = {0};
    laze_context *context;
    ck_assert_int_eq(test_failing_context(&state, laze_backend_at(_i)->name, "", "", &context), LAZE_OK);
    fixture self = {.context = context, .outer = laze_scope_begin(context)};
    self.table = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(ROWS, COLUMNS), zeros, sizeof zeros);
    step(&self, 0, 1); /* compiled */
    write_row(&self, 1, 2);
    const int64_t before = state.calls;
    state.refuse_at = before + refused;
    float got[ELEMENTS];
    const laze_status status = laze_tensor_read(self.table, LAZE_F32, got, sizeof got);
    last = state.calls - before;
    state.refuse_at = 0;
    failures += status != LAZE_OK;
    if (laze_tensor_read(self.table, LAZE_F32, got, sizeof got) == LAZE_OK)
      expect_rows(self.table, (float[ROWS]){1, 2, 0, 0, 0, 0, 0, 0});
    else
      ck_assert_int_eq(laze_tensor_status(self.table), LAZE_OUT_OF_MEMORY);
    (void)laze_scope_end(self.outer);
    laze_context_release(context);
    ck_assert_int_eq(state.live, 0);
  }
  ck_assert_int_gt(failures, 0);
}
END_TEST

/* --- threads --- */

enum { THREADS = 4, ROUNDS = 100 };

typedef struct {
  const fixture *shared;
  pthread_barrier_t *barrier;
  bool right;
} reader;

static void *read_often(void *object) {
  reader *self = object;
  self->right = true;
  for (int round = 0; round < ROUNDS; round++) {
    float got[ELEMENTS];
    pthread_barrier_wait(self->barrier); /* the row was written */
    self->right &= laze_tensor_read(self->shared->table, LAZE_F32, got, sizeof got) == LAZE_OK;
    for (int i = 0; i < ELEMENTS; i++) self->right &= got[i] == (i / COLUMNS == round % ROWS ? (float)round : got[i]);
    pthread_barrier_wait(self->barrier);
  }
  return NULL;
}

/* One of those who want a value at once writes to the memory of the old one; the others find the new value. */
START_TEST(row_5_17_threads_that_read_at_once_agree) {
  fixture self = begin(laze_backend_at(_i));
  pthread_barrier_t barrier;
  pthread_t threads[THREADS];
  reader readers[THREADS];
  ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
  for (int i = 0; i < THREADS; i++) {
    readers[i] = (reader){&self, &barrier, false};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, read_often, &readers[i]), 0);
  }
  for (int round = 0; round < ROUNDS; round++) {
    write_row(&self, round % ROWS, (float)round);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) ck_assert_msg(readers[i].right, "thread %d", i);
  pthread_barrier_destroy(&barrier);
  end(&self);
}
END_TEST

/* --- keys --- */

/* Whether memory is donated is found out when a run begins: the same code serves both, and so has one key. */
START_TEST(row_5_12_donation_is_no_part_of_the_key) {
  fixture self = begin(laze_backend_at(_i));
  step(&self, 0, 1);
  const int64_t hits = metric(&self, "trace_cache_hits"), compiled = metric(&self, "kernels_compiled"),
                donated = metric(&self, "buffers_donated");
  laze_export lent;
  ck_assert_int_eq(laze_tensor_export(self.table, &lent, NULL), LAZE_OK);
  step(&self, 0, 2);
  ck_assert_int_eq(metric(&self, "buffers_donated"), donated);
  ck_assert_int_eq(metric(&self, "write_copies"), self.counts);
  laze_export_release(&lent);
  step(&self, 0, 3);
  ck_assert_int_eq(metric(&self, "buffers_donated"), donated + self.counts);
  ck_assert_int_eq(metric(&self, "trace_cache_hits"), hits + 2);
  ck_assert_int_eq(metric(&self, "kernels_compiled"), compiled);
  expect_rows(self.table, (float[ROWS]){3, 0, 0, 0, 0, 0, 0, 0});
  end(&self);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("donation");
  conformance_add(tests, row_5_17_a_dead_value_of_an_earlier_graph_is_not_copied);
  conformance_add(tests, row_5_17_a_chain_of_writes_stays_in_its_place);
  conformance_add(tests, row_5_17_indexed_writes_stay_in_their_place);
  conformance_add(tests, row_5_17_a_view_that_is_written_to_itself_costs_nothing);
  conformance_add(tests, row_5_17_a_live_value_is_copied);
  conformance_add(tests, row_5_17_a_pending_reader_keeps_the_old_value);
  conformance_add(tests, row_5_17_a_failing_write_leaves_others_alone);
  conformance_add(tests, row_5_17_a_run_that_is_stopped_has_changed_nothing);
  conformance_add(tests, row_5_17_memory_may_run_out_at_any_point);
  conformance_add(tests, row_5_17_threads_that_read_at_once_agree);
  conformance_add(tests, row_5_12_donation_is_no_part_of_the_key);
  return conformance_main(tests);
}
