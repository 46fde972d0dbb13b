#include "base/checked.h"
#include "tests/unit/base/base_test.h"

#include <stdio.h>
#include <unistd.h>

typedef struct {
  int messages;
  char last[256];
} recorded_log;

static void record_log(void *self, int32_t severity, const char *message) {
  recorded_log *log = self;
  (void)severity;
  log->messages++;
  snprintf(log->last, sizeof log->last, "%s", message);
}

/* Switches come from outside: an unknown one is an error that says how to find the right name. */
START_TEST(debug_switches_are_checked) {
  laze_context *context;
  laze_error error;
  laze_context_options options = {.struct_size = sizeof options, .debug = "graph,nonsense"};
  ck_assert_int_eq(laze_context_create(&options, &context, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "nonsense"));
  ck_assert_ptr_nonnull(strstr(error.message, "help"));
  options.debug = "graph,verify";
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  ck_assert(laze_context_debug(context, LAZE_DEBUG_GRAPH));
  ck_assert(laze_context_debug(context, LAZE_DEBUG_VERIFY));
  ck_assert(!laze_context_debug(context, LAZE_DEBUG_LLVM));
  laze_context_release(context);
}
END_TEST

/* `help` names every switch, so that the list cannot fall behind. */
START_TEST(help_lists_every_switch) {
  recorded_log log = {0};
  laze_context *context;
  laze_context_options options = {.struct_size = sizeof options, .debug = "help", .log = record_log, .log_self = &log};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  ck_assert_int_eq(log.messages, LAZE_DEBUG_COUNT + 2);
  laze_context_release(context);
}
END_TEST

/* A program built against an older header passes a shorter struct. */
START_TEST(short_options_keep_defaults) {
  laze_context *context;
  laze_context_options options;
  memset(&options, 0xff, sizeof options);
  options.struct_size = offsetof(laze_context_options, log);
  options.allocator = NULL;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  laze_context_release(context);
  options.struct_size = 3;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_INVALID_ARGUMENT);
}
END_TEST

/* 1 to 1024 threads, from the options or, where they say 0, from the environment; what is no such number is refused
 * with what was expected. */
START_TEST(threads_are_bounded) {
  static const struct {
    int32_t given;
    const char *environment;
    int expected; /* 0: refused; -1: the default, at least 1 */
  } cases[] = {{1, NULL, 1}, {1024, NULL, 1024}, {1025, NULL, 0},   {-1, NULL, 0},  {0, NULL, -1},
               {0, "", -1},  {0, "1", 1},        {0, "1024", 1024}, {0, "1025", 0}, {0, "0", 0},
               {0, "-1", 0}, {0, "2x", 0},       {3, "x", 3},       {3, "2", 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_context *context;
    laze_error error;
    laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .threads = cases[i].given};
    if (cases[i].environment)
      setenv("LAZE_NUM_THREADS", cases[i].environment, 1);
    else
      unsetenv("LAZE_NUM_THREADS");
    laze_status status = laze_context_create(&options, &context, &error);
    ck_assert_int_eq(status, cases[i].expected ? LAZE_OK : LAZE_INVALID_ARGUMENT);
    if (status != LAZE_OK) {
      ck_assert_ptr_nonnull(strstr(error.message, "from 1 to 1024"));
      continue;
    }
    int threads = laze_get_threads(context);
    ck_assert_msg(cases[i].expected < 0 ? threads >= 1 && threads <= 1024 : threads == cases[i].expected,
                  "case %zu: %d threads", i, threads);
    laze_context_release(context);
  }
  unsetenv("LAZE_NUM_THREADS");
}
END_TEST

/* A notebook changes its mind: the number goes through the same checks, and a wrong one changes nothing. */
START_TEST(threads_can_be_set_later) {
  laze_context_options options = {.struct_size = sizeof options, .threads = 3};
  laze_context *context;
  laze_error error;
  ck_assert_int_eq(laze_context_create(&options, &context, &error), LAZE_OK);
  ck_assert_int_eq(laze_set_threads(context, 7, &error), LAZE_OK);
  ck_assert_int_eq(laze_get_threads(context), 7);
  ck_assert_int_eq(laze_set_threads(context, -1, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_set_threads(context, 1025, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "laze_set_threads: threads=1025") != NULL, "%s", error.message);
  ck_assert_int_eq(laze_get_threads(context), 7);
  setenv("LAZE_NUM_THREADS", "5", 1);
  ck_assert_int_eq(laze_set_threads(context, 0, &error), LAZE_OK);
  ck_assert_int_eq(laze_get_threads(context), 5);
  unsetenv("LAZE_NUM_THREADS");
  laze_context_release(context);
}
END_TEST

/* Who has passed a wrong switch is not told of a variable that is not set. */
START_TEST(a_wrong_option_is_named) {
  const laze_context_options options = {.struct_size = sizeof options, .debug = "nonsense"};
  laze_context *context;
  laze_error error;
  ck_assert_int_eq(laze_context_create(&options, &context, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "option debug: unknown switch 'nonsense'") != NULL, "%s", error.message);
}
END_TEST

/* A wrong environment variable must not take down a program that never makes a context: it is told on standard error,
 * and the rest of the environment is left out. */
START_TEST(a_wrong_environment_is_told_and_left_out) {
  char path[] = "/tmp/laze-context-XXXXXX", told[512] = "";
  int file = mkstemp(path), kept = dup(2);
  setenv("LAZE_DEBUG", "nonsense", 1);
  setenv("LAZE_BACKEND", "elsewhere", 1);
  dup2(file, 2);
  laze_context *context = laze_context_default();
  dup2(kept, 2);
  ck_assert_int_gt(pread(file, told, sizeof told - 1, 0), 0);
  close(file);
  unlink(path);
  ck_assert_ptr_nonnull(context);
  ck_assert_msg(strstr(told, "unknown switch 'nonsense'") && strstr(told, "(ignored)"), "%s", told);
  ck_assert_int_eq(laze_get_threads(context), 1);
  ck_assert(!laze_context_debug(context, LAZE_DEBUG_GRAPH));
  ck_assert_ptr_null(laze_context_backend_name(context));
  ck_assert_ptr_eq(laze_context_default(), context);
}
END_TEST

/* Growing keeps what is there and refuses what cannot be. */
START_TEST(arrays_grow) {
  laze_context *context = new_context("");
  int32_t *array = NULL;
  int64_t capacity = 0;
  for (int32_t i = 0; i < 1000; i++) {
    ck_assert_int_eq(laze_grow(context, (void **)&array, &capacity, i + 1, sizeof *array, NULL), LAZE_OK);
    array[i] = i;
  }
  for (int32_t i = 0; i < 1000; i++) ck_assert_int_eq(array[i], i);
  int64_t before = capacity;
  ck_assert_int_eq(laze_grow(context, (void **)&array, &capacity, INT64_MAX, sizeof *array, NULL), LAZE_OUT_OF_MEMORY);
  ck_assert_int_eq(capacity, before);
  ck_assert_int_eq(array[999], 999);
  laze_free(context, array);
  laze_context_release(context);
}
END_TEST

/* Metrics are found by name, times are given in microseconds, and reset keeps what is held. */
START_TEST(metrics_read_and_reset) {
  laze_context *context = new_context("");
  laze_metrics *metrics = laze_context_metrics(context);
  int64_t value;
  laze_metrics_add(metrics, LAZE_METRIC_TIME_RUN_US, 5500);
  laze_metrics_bytes(metrics, 100);
  laze_metrics_bytes(metrics, -60);
  ck_assert_int_eq(laze_metric_read(context, "time_run_us", &value, NULL), LAZE_OK);
  ck_assert_int_eq(value, 5);
  ck_assert_int_eq(laze_metric_read(context, "peak_bytes", &value, NULL), LAZE_OK);
  ck_assert_int_eq(value, 100);
  laze_metric_reset(context);
  ck_assert_int_eq(laze_metric_read(context, "peak_bytes", &value, NULL), LAZE_OK);
  ck_assert_int_eq(value, 40);
  laze_error error;
  ck_assert_int_eq(laze_metric_read(context, "no_such", &value, &error), LAZE_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(error.message, "no_such"));
  laze_context_release(context);
}
END_TEST

/* Percentiles come from buckets: no number may be in a bucket that it exceeds, nor far below that bucket's most. */
START_TEST(row_5_19_buckets_are_narrow) {
  for (int power = 0; power < 63; power++) {
    for (int64_t part = 0; part < 16; part++) {
      const int64_t number = (INT64_C(1) << power) + (power < 4 ? 0 : part << (power - 4));
      const int bucket = laze_sample_bucket(number);
      ck_assert_int_ge(bucket, 0);
      ck_assert_int_lt(bucket, LAZE_SAMPLE_BUCKETS);
      ck_assert_int_ge(laze_sample_bucket_most(bucket), number);
      ck_assert_int_lt(laze_sample_bucket_most(bucket) - number, number / 8 + 1);
      ck_assert(bucket == 0 || laze_sample_bucket_most(bucket - 1) < number);
    }
  }
  ck_assert_int_eq(laze_sample_bucket(0), 0);
  ck_assert_int_eq(laze_sample_bucket(INT64_MAX), LAZE_SAMPLE_BUCKETS - 1);
  ck_assert_int_eq(laze_sample_bucket_most(LAZE_SAMPLE_BUCKETS - 1), INT64_MAX);
}
END_TEST

/* Of 1 to 1000, half are at most 500: what is said is no less, and at most an eighth more. */
START_TEST(row_5_19_percentiles_bound_what_was_seen) {
  laze_context *context = new_context("");
  laze_metrics *metrics = laze_context_metrics(context);
  laze_samples samples;
  for (int64_t i = 1000; i > 0; i--) laze_metrics_sample(metrics, LAZE_SAMPLE_READ_BYTES, i);
  laze_metrics_sample(metrics, LAZE_SAMPLE_READ_BYTES, -1); /* none */
  ck_assert_int_eq(laze_samples_read(context, "read_bytes", &samples, NULL), LAZE_OK);
  ck_assert_int_eq(samples.count, 1000);
  ck_assert_int_eq(samples.total, 500500);
  ck_assert(samples.p50 >= 500 && samples.p50 < 563);
  ck_assert(samples.p90 >= 900 && samples.p90 <= 1000);
  ck_assert(samples.p99 >= 990 && samples.p99 <= 1000);
  ck_assert_int_eq(samples.greatest, 1000);
  laze_context_release(context);
}
END_TEST

/* Integer division as operators define it: no trap for the one quotient that does not fit. */
START_TEST(floor_division) {
  static const struct {
    int64_t a, b, quotient, remainder;
  } cases[] = {{7, 2, 3, 1}, {-7, 2, -4, 1}, {7, -2, -4, -1}, {-7, -2, 3, -1}, {INT64_MIN, -1, INT64_MIN, 0},
               {0, 5, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_int_eq(laze_floor_div(cases[i].a, cases[i].b), cases[i].quotient);
    ck_assert_int_eq(laze_floor_mod(cases[i].a, cases[i].b), cases[i].remainder);
  }
}
END_TEST

int main(void) {
  return RUN_SUITE("context", debug_switches_are_checked, help_lists_every_switch, short_options_keep_defaults,
                   threads_are_bounded, threads_can_be_set_later, a_wrong_option_is_named,
                   a_wrong_environment_is_told_and_left_out, arrays_grow, metrics_read_and_reset,
                   row_5_19_buckets_are_narrow, row_5_19_percentiles_bound_what_was_seen, floor_division);
}
