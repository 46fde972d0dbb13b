/* What is paid beside computing: recording, hashing, looking up, launching, planning for new sizes. */
#include "bench/bench.h"
#include "bench/workloads.h"

#include <math.h>

#define ROUNDS 60
#define LOOPS 50 /* iterations in a round, so that reading the clock does not count */
#define PAIRS 50 /* of a matrix product and a tanh */

typedef laze_tensor *(*bench_recorder)(laze_tensor *x, laze_tensor *y);

/* Microseconds of one iteration. */
typedef struct bench_split {
  bench_samples record, read, trace, run, launch, lookup;
  int64_t nodes, kernels;
} bench_split;

typedef struct bench_pair {
  laze_context *context;
  laze_tensor *x, *y;
} bench_pair;

static laze_status pair_init(bench_pair *out, laze_error *error) {
  *out = (bench_pair){0};
  const laze_status status = bench_context(1, &out->context, error);
  if (status != LAZE_OK) return status;
  laze_scope *scope = laze_scope_begin(out->context);
  out->x = workload_tensor(out->context, LAZE_SHAPE(WORKLOAD_ADD_ELEMENTS), 0);
  out->y = workload_tensor(out->context, LAZE_SHAPE(WORKLOAD_ADD_ELEMENTS), 1000);
  return laze_scope_end_error(scope, error);
}

static void pair_deinit(bench_pair *pair) {
  laze_tensor_release(pair->x);
  laze_tensor_release(pair->y);
  laze_context_release(pair->context);
}

/* Runs a round of iterations and adds what one of them took. */
static laze_status round_of(bench_pair *pair, bench_recorder record, bench_split *split, laze_error *error) {
  float out[WORKLOAD_ADD_ELEMENTS];
  double recording = 0, reading = 0;
  const int64_t trace = bench_metric(pair->context, "time_trace_us"), run = bench_metric(pair->context, "time_run_us");
  const int64_t nodes = bench_metric(pair->context, "nodes_recorded");
  const int64_t kernels = bench_metric(pair->context, "kernels_run");
  for (int i = 0; i < LOOPS; i++) {
    const double start = measure_now();
    laze_scope *scope = laze_scope_begin(pair->context);
    laze_tensor *result = record(pair->x, pair->y);
    const double recorded = measure_now();
    if (laze_tensor_read(result, LAZE_F32, out, sizeof out) != LAZE_OK)
      return bench_fail(error, "%s", laze_tensor_error(result));
    const double read = measure_now();
    const laze_status status = laze_scope_end_error(scope, error);
    recording += recorded - start + measure_now() - read;
    reading += read - recorded;
    if (status != LAZE_OK) return status;
  }
  const double traced = (double)(bench_metric(pair->context, "time_trace_us") - trace) / LOOPS;
  const double ran = (double)(bench_metric(pair->context, "time_run_us") - run) / LOOPS;
  samples_add(&split->record, 1e6 * recording / LOOPS);
  samples_add(&split->read, 1e6 * reading / LOOPS);
  samples_add(&split->trace, traced);
  samples_add(&split->run, ran);
  samples_add(&split->lookup, 1e6 * recording / LOOPS + traced);
  samples_add(&split->launch, 1e6 * reading / LOOPS - traced);
  split->nodes = (bench_metric(pair->context, "nodes_recorded") - nodes) / LOOPS;
  split->kernels = (bench_metric(pair->context, "kernels_run") - kernels) / LOOPS;
  return LAZE_OK;
}

static laze_status rounds(bench_pair *pair, bench_recorder record, bench_split *split, laze_error *error) {
  laze_status status = round_of(pair, record, split, error); /* the first compiles */
  *split = (bench_split){0};
  for (int i = 0; i < ROUNDS && status == LAZE_OK; i++) status = round_of(pair, record, split, error);
  return status;
}

static void report_adds(bench_report *report, const bench_split *split) {
  const double one = 1.0 / WORKLOAD_ADDS;
  report_add(report, (bench_row){"recording, hashing, looking up: an operator", "us",
                                 summary_scaled(samples_summary(&split->lookup), one), TARGET_AT_MOST, 0.7});
  report_add(report, (bench_row){.name = "  of it calls and the scope's end",
                                 .unit = "us",
                                 .value = summary_scaled(samples_summary(&split->record), one)});
  report_add(report, (bench_row){.name = "the read, whole", .unit = "us", .value = samples_summary(&split->read)});
  report_add(report, (bench_row){.name = "  of it hashing and looking up (time_trace_us)",
                                 .unit = "us",
                                 .value = samples_summary(&split->trace)});
  report_add(report,
             (bench_row){.name = "  of it running (time_run_us)", .unit = "us", .value = samples_summary(&split->run)});
  report_add(report, (bench_row){"launching a known graph of 100 nodes and running it", "us",
                                 samples_summary(&split->launch), TARGET_AT_MOST, 20});
  report_note(report, "%lld nodes in %lld kernels; the last row bounds what launching takes beyond running",
              (long long)split->nodes, (long long)split->kernels);
}

/* x = tanh(x y): a matrix product of 4 by 4 needs all of the one before it, so that this cannot become one loop. */
static laze_tensor *record_products(laze_tensor *x, laze_tensor *y) {
  const laze_ints shape = LAZE_SHAPE(4, 4);
  x = laze_reshape(x, shape);
  y = laze_reshape(y, shape);
  for (int i = 0; i < PAIRS; i++) x = laze_tanh(laze_mm(x, y));
  return x;
}

laze_status bench_record(bench_report *report, laze_error *error) {
  static bench_split adds, products;
  bench_pair pair;
  laze_status status = pair_init(&pair, error);
  if (status == LAZE_OK) status = rounds(&pair, workload_adds, &adds, error);
  if (status == LAZE_OK) report_adds(report, &adds);
  if (status == LAZE_OK) status = rounds(&pair, record_products, &products, error);
  if (status == LAZE_OK) {
    report_add(report, (bench_row){"launching and running 50 small products, each with a tanh", "us",
                                   samples_summary(&products.launch), TARGET_AT_MOST, 20});
    report_note(report, "%lld nodes in %lld kernels", (long long)products.nodes, (long long)products.kernels);
  }
  pair_deinit(&pair);
  return status;
}

#define NEW_SIZES 60
#define KNOWN_STEPS 5

/* A step of `count` images, in microseconds. */
static laze_status timed_step(digits_network *network, int64_t count, double *time, laze_error *error) {
  const double start = measure_now();
  const laze_status status = workload_digits_step(network, count, error);
  *time = 1e6 * (measure_now() - start);
  return status;
}

/* A first step of this size, and the fastest of some more. */
static laze_status new_size(digits_network *network, int64_t count, double *first, double *known, laze_error *error) {
  laze_status status = timed_step(network, count, first, error);
  *known = INFINITY;
  for (int i = 0; i < KNOWN_STEPS && status == LAZE_OK; i++) {
    double time;
    status = timed_step(network, count, &time, error);
    *known = fmin(*known, time);
  }
  return status;
}

/* Steps of `NEW_SIZES` sizes from `smallest` on. */
static laze_status measure_sizes(bench_report *report, digits_network *network, int64_t smallest, const char *name,
                                 laze_error *error) {
  bench_samples firsts = {0}, knowns = {0}, differences = {0};
  laze_status status = LAZE_OK;
  const int64_t before = bench_metric(network->context, "kernels_compiled");
  for (int64_t i = 0; i < NEW_SIZES && status == LAZE_OK; i++) {
    double first, known;
    status = new_size(network, smallest + i, &first, &known, error);
    samples_add(&firsts, first);
    samples_add(&knowns, known);
    samples_add(&differences, first - known);
  }
  const int64_t compiled = bench_metric(network->context, "kernels_compiled") - before;
  if (status != LAZE_OK) return status;
  report_add(report, (bench_row){name, "us", samples_summary(&differences), TARGET_AT_MOST, 200});
  report_add(report, (bench_row){.name = "  first step", .unit = "us", .value = samples_summary(&firsts)});
  report_add(report, (bench_row){.name = "  the fastest of 5 more", .unit = "us", .value = samples_summary(&knowns)});
  report_add(report, (bench_row){"  kernels compiled", "", summary_of((double)compiled), TARGET_AT_MOST, 0});
  return LAZE_OK;
}

static laze_status measure_all_sizes(bench_report *report, digits_network *network, laze_error *error) {
  double first, known;
  laze_status status = new_size(network, 128, &first, &known, error);
  if (status == LAZE_OK)
    status = measure_sizes(report, network, 30, "what a new size costs: batches of 30 to 89", error);
  if (status == LAZE_OK)
    status = measure_sizes(report, network, 400, "what a new size costs: batches of 400 to 459", error);
  const int64_t before = bench_metric(network->context, "kernels_compiled");
  if (status == LAZE_OK) status = new_size(network, 1, &first, &known, error);
  if (status != LAZE_OK) return status;
  const int64_t compiled = bench_metric(network->context, "kernels_compiled") - before;
  report_add(report, (bench_row){"kernels compiled for batch 1", "", summary_of((double)compiled), TARGET_AT_MOST, 1});
  return LAZE_OK;
}

/* Without a disk cache, so that every new kernel counts as compiled. */
laze_status bench_sizes(bench_report *report, laze_error *error) {
  const laze_context_options options = {.struct_size = sizeof options, .threads = 1, .cache_directory = ""};
  laze_context *context = NULL;
  digits_network network;
  laze_status status = laze_context_create(&options, &context, error);
  if (status == LAZE_OK) status = workload_network(&network, context, error);
  if (status == LAZE_OK) {
    status = measure_all_sizes(report, &network, error);
    digits_network_deinit(&network);
  }
  laze_context_release(context);
  return status;
}
