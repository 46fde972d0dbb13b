/* How much memory is taken: at the peak of one graph, and by a loop that runs for long, and by caches. */
#include "bench/bench.h"
#include "bench/workloads.h"

#include <unistd.h>

#define SIZE 1024
#define PRODUCTS 6
#define EARLY_STEPS 10000
#define ALL_STEPS 100000

/* x^2, x^3, ... by one matrix product after the other: each needs the one before it and nothing older. */
static laze_status measure_peak(bench_report *report, laze_error *error) {
  const double matrix = (double)SIZE * SIZE * sizeof(float);
  laze_context *context = NULL;
  laze_status status = bench_context(1, &context, error);
  if (status != LAZE_OK) return status;
  laze_tensor *x = workload_tensor(context, LAZE_SHAPE(SIZE, SIZE), 0);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *power = x;
  for (int i = 0; i < PRODUCTS; i++) power = laze_mm(power, x);
  status = bench_finish(scope, power, error);
  const double peak = (double)bench_metric(context, "peak_bytes");
  laze_tensor_release(x);
  laze_context_release(context);
  if (status != LAZE_OK) return status;
  const double least = 4 * matrix; /* input, output, and two intermediates alive at once */
  report_add(report, (bench_row){.name = "peak_bytes of a chain of 6 matrix products",
                                 .unit = "MiB",
                                 .value = summary_of(peak / 1048576)});
  report_add(report, (bench_row){.name = "  input, output and two intermediates",
                                 .unit = "MiB",
                                 .value = summary_of(least / 1048576)});
  report_add(report, (bench_row){"  ratio", "x", summary_of(peak / least), TARGET_AT_MOST, 1.1});
  return LAZE_OK;
}

/* Bytes of this process in memory; 0 when the system does not say. */
static double resident(void) {
  long whole = 0, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%ld %ld", &whole, &pages) != 2) pages = 0;
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* x = x / 2 + y, as a loop that updates a parameter does. */
static laze_status run_steps(laze_context *context, laze_tensor *x, laze_tensor *y, int count, laze_error *error) {
  laze_status status = LAZE_OK;
  for (int i = 0; i < count && status == LAZE_OK; i++) {
    laze_scope *scope = laze_scope_begin(context);
    (void)laze_tensor_assign(x, laze_add(laze_mul(x, 0.5), y));
    status = laze_step_end(scope, error);
  }
  return status;
}

static laze_status measure_growth(bench_report *report, laze_error *error) {
  laze_context *context = NULL;
  laze_status status = bench_context(1, &context, error);
  if (status != LAZE_OK) return status;
  laze_tensor *x = workload_tensor(context, LAZE_SHAPE(1024), 0), *y = workload_tensor(context, LAZE_SHAPE(1024), 5);
  status = run_steps(context, x, y, EARLY_STEPS, error);
  const double early = resident();
  const double start = measure_now();
  if (status == LAZE_OK) status = run_steps(context, x, y, ALL_STEPS - EARLY_STEPS, error);
  const double time = measure_now() - start, late = resident();
  laze_tensor_release(x);
  laze_tensor_release(y);
  laze_context_release(context);
  if (status != LAZE_OK) return status;
  report_add(report,
             (bench_row){.name = "resident after 10,000 steps", .unit = "MiB", .value = summary_of(early / 1048576)});
  report_add(report,
             (bench_row){"growth until step 100,000", "KiB", summary_of((late - early) / 1024), TARGET_AT_MOST, 64});
  report_add(report, (bench_row){.name = "a step of that loop",
                                 .unit = "us",
                                 .value = summary_of(1e6 * time / (ALL_STEPS - EARLY_STEPS))});
  return LAZE_OK;
}

/* A recurrent network of 16 units, unrolled over `length` steps. */
static laze_status run_network(laze_context *context, int length, laze_error *error) {
  enum { WIDTH = 16 };
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_ones(context, LAZE_SHAPE(length, WIDTH), LAZE_F32),
              *h = laze_ones(context, LAZE_SHAPE(1, WIDTH), LAZE_F32);
  laze_tensor *w = laze_zeros(context, LAZE_SHAPE(WIDTH, WIDTH), LAZE_F32);
  for (int t = 0; t < length; t++) {
    laze_tensor *now = laze_slice(x, 0, t, t + 1, 1);
    h = laze_tanh(laze_add(laze_mm(now, w), laze_mm(h, w)));
  }
  (void)laze_tensor_materialise(h); /* the scope reports a failure */
  return laze_scope_end_error(scope, error);
}

/* Each length is a graph of its own: what the caches keep of them must not grow for ever. */
static laze_status measure_lengths(bench_report *report, laze_error *error) {
  static const char *const metrics[] = {"trace_cache_bytes", "program_cache_bytes", "kernel_cache_bytes"};
  laze_context *context = NULL;
  laze_status status = bench_context(1, &context, error);
  const double start = measure_now(), before = resident();
  for (int length = 20; length <= 300 && status == LAZE_OK; length++) status = run_network(context, length, error);
  const double time = measure_now() - start, grown = resident() - before;
  double kept = 0;
  for (int i = 0; i < 3 && status == LAZE_OK; i++) kept += (double)bench_metric(context, metrics[i]);
  laze_context_release(context);
  if (status != LAZE_OK) return status;
  report_add(report, (bench_row){"caches after a recurrent network at lengths 20 to 300", "MiB",
                                 summary_of(kept / 1048576), TARGET_AT_MOST, 256});
  report_add(report,
             (bench_row){.name = "  growth of the process", .unit = "MiB", .value = summary_of(grown / 1048576)});
  report_add(report, (bench_row){.name = "  a length", .unit = "ms", .value = summary_of(1e3 * time / 281)});
  return LAZE_OK;
}

laze_status bench_memory(bench_report *report, laze_error *error) {
  laze_status status = measure_peak(report, error);
  if (status == LAZE_OK) status = measure_growth(report, error);
  return status == LAZE_OK ? measure_lengths(report, error) : status;
}
