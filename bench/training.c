/* What training costs beside computing: recording forward and backward passes and updates. */
#include "bench/bench.h"
#include "bench/workloads.h"
#include "examples/digits_data.h"

#define ROUNDS 60
#define LOOPS 20 /* iterations in a round, so that reading the clock does not count */
#define BATCH 512
#define MANY 100 /* parameters of the update */

/* What records a pass, and is not computed. */
typedef laze_status (*bench_pass)(digits_network *network, laze_tensor *images, laze_tensor *labels, laze_error *error);

static laze_tensor *record_loss(digits_network *network, laze_tensor *images, laze_tensor *labels) {
  return laze_cross_entropy(digits_network_logits(network, images), labels, NULL, -100, "mean", 0);
}

static laze_status forward_and_backward(digits_network *network, laze_tensor *images, laze_tensor *labels,
                                        laze_error *error) {
  const laze_status status = laze_backward(record_loss(network, images, labels), error);
  return status == LAZE_OK ? laze_optimiser_zero_grad(network->optimiser, error) : status;
}

static laze_status forward_without_grad(digits_network *network, laze_tensor *images, laze_tensor *labels,
                                        laze_error *error) {
  const int32_t recorded = laze_set_grad_enabled(network->context, 0);
  (void)record_loss(network, images, labels);
  (void)laze_set_grad_enabled(network->context, recorded);
  (void)error;
  return LAZE_OK;
}

static laze_status forward_alone(digits_network *network, laze_tensor *images, laze_tensor *labels, laze_error *error) {
  (void)error;
  (void)record_loss(network, images, labels);
  return LAZE_OK;
}

/* Microseconds of one pass, with the end of its scope; `nodes` are the operators that it records. */
static laze_status time_pass(digits_network *network, laze_tensor *images, laze_tensor *labels, bench_pass pass,
                             bench_samples *samples, int64_t *nodes, laze_error *error) {
  const int64_t before = bench_metric(network->context, "nodes_recorded");
  const double start = measure_now();
  laze_status status = LAZE_OK;
  for (int i = 0; i < LOOPS && status == LAZE_OK; i++) {
    laze_scope *scope = laze_scope_begin(network->context);
    status = pass(network, images, labels, error);
    const laze_status end = laze_scope_end_error(scope, status == LAZE_OK ? error : NULL);
    if (status == LAZE_OK) status = end;
  }
  samples_add(samples, 1e6 * (measure_now() - start) / LOOPS);
  *nodes = (bench_metric(network->context, "nodes_recorded") - before) / LOOPS;
  return status;
}

static laze_status require_grad(digits_network *network, int32_t required, laze_error *error) {
  laze_status status = LAZE_OK;
  for (int i = 0; i < DIGITS_PARAMETERS && status == LAZE_OK; i++)
    status = laze_tensor_require_grad(network->parameters[i], required, error);
  return status;
}

/* Forward passes with gradients switched off, and the same with parameters that need none. */
typedef struct {
  bench_samples off, none, ratio; /* of both in one round, which whatever else the machine does meets alike */
} bench_without;

static laze_status time_without(digits_network *network, laze_tensor *images, laze_tensor *labels, bench_without *times,
                                laze_error *error) {
  int64_t nodes;
  laze_status status = LAZE_OK;
  for (int i = 0; i < ROUNDS && status == LAZE_OK; i++) {
    status = time_pass(network, images, labels, forward_without_grad, &times->off, &nodes, error);
    if (status == LAZE_OK) status = require_grad(network, 0, error);
    if (status == LAZE_OK) status = time_pass(network, images, labels, forward_alone, &times->none, &nodes, error);
    if (status == LAZE_OK) samples_add(&times->ratio, times->off.values[i] / times->none.values[i]);
    if (status == LAZE_OK) status = require_grad(network, 1, error);
  }
  return status;
}

static laze_status measure_recording(bench_report *report, digits_network *network, laze_tensor *images,
                                     laze_tensor *labels, laze_error *error) {
  static bench_samples whole;
  static bench_without times;
  int64_t nodes = 1;
  laze_status status = LAZE_OK;
  for (int i = 0; i < ROUNDS && status == LAZE_OK; i++)
    status = time_pass(network, images, labels, forward_and_backward, &whole, &nodes, error);
  if (status == LAZE_OK) status = time_without(network, images, labels, &times, error);
  if (status != LAZE_OK) return status;
  report_add(report, (bench_row){"recording forward and backward of the digits: an operator", "us",
                                 summary_scaled(samples_summary(&whole), 1 / (double)nodes), TARGET_AT_MOST, 0.5});
  report_note(report, "%lld operators; with the scope's end, which gives all of them back", (long long)nodes);
  report_add(report, (bench_row){"recording forward: gradients switched off beside none needed", "x",
                                 samples_summary(&times.ratio), TARGET_AT_MOST, 1.02});
  report_add(report, (bench_row){.name = "  switched off", .unit = "us", .value = samples_summary(&times.off)});
  report_add(report,
             (bench_row){.name = "  no parameter needs one", .unit = "us", .value = samples_summary(&times.none)});
  return LAZE_OK;
}

/* Whole steps, one after the other, on images that are there: how much of their time kernels run. */
static laze_status measure_steps(bench_report *report, digits_network *network, laze_tensor *images,
                                 laze_tensor *labels, laze_error *error) {
  static bench_samples steps, shares;
  laze_status status = LAZE_OK;
  for (int i = 0; i < ROUNDS && status == LAZE_OK; i++) {
    const int64_t ran = bench_metric(network->context, "time_run_us");
    const double start = measure_now();
    for (int k = 0; k < LOOPS && status == LAZE_OK; k++)
      status = digits_network_step(network, laze_scope_begin(network->context), images, labels, 1e-3, error);
    const double time = 1e6 * (measure_now() - start);
    if (i == 0) continue; /* compiles */
    samples_add(&steps, time / LOOPS);
    samples_add(&shares, 100 * (double)(bench_metric(network->context, "time_run_us") - ran) / time);
  }
  if (status != LAZE_OK) return status;
  report_add(report, (bench_row){"a step of the digits at batch 512: its share in kernels", "%",
                                 samples_summary(&shares), TARGET_AT_LEAST, 85});
  report_add(report, (bench_row){.name = "  the step", .unit = "us", .value = samples_summary(&steps)});
  return LAZE_OK;
}

/* One step of AdamW over parameters of as many sizes, with gradients that are there: how long it takes to record, and
 * all of it, in microseconds. */
static laze_status many_step(laze_context *context, laze_optimiser *optimiser, laze_tensor *const *parameters,
                             laze_tensor *const *gradients, double *recorded, double *all, laze_error *error) {
  laze_scope *scope = laze_scope_begin(context);
  laze_status status = LAZE_OK;
  for (int i = 0; i < MANY && status == LAZE_OK; i++) status = laze_tensor_set_grad(parameters[i], gradients[i], error);
  const double start = measure_now();
  if (status == LAZE_OK) status = laze_optimiser_step(optimiser, error);
  *recorded = 1e6 * (measure_now() - start);
  if (status == LAZE_OK) status = laze_optimiser_zero_grad(optimiser, error);
  const laze_status end = laze_step_end(scope, status == LAZE_OK ? error : NULL);
  *all = 1e6 * (measure_now() - start);
  return status == LAZE_OK ? end : status;
}

/* Steps on 1 and on 2 threads in turn, which whatever else the machine does meets alike. */
static laze_status many_steps(laze_context *context, laze_optimiser *optimiser, laze_tensor *const *parameters,
                              laze_tensor *const *gradients, bench_samples *recording, bench_samples steps[2],
                              laze_error *error) {
  laze_status status = LAZE_OK;
  for (int i = 0; i < ROUNDS && status == LAZE_OK; i++) {
    for (int threads = 1; threads <= 2 && status == LAZE_OK; threads++) {
      double recorded = 0, all = 0;
      status = laze_set_threads(context, threads, error);
      if (status == LAZE_OK) status = many_step(context, optimiser, parameters, gradients, &recorded, &all, error);
      if (i == 0) continue; /* compiles */
      samples_add(&steps[threads - 1], all);
      if (threads == 1) samples_add(recording, recorded / MANY);
    }
  }
  return status == LAZE_OK ? laze_set_threads(context, 1, error) : status;
}

static void report_many(bench_report *report, const bench_samples *recording, const bench_samples steps[2],
                        int64_t kernels, int64_t instances) {
  report_add(report, (bench_row){.name = "recording AdamW over 100 parameters: one of them",
                                 .unit = "us",
                                 .value = samples_summary(recording)});
  report_add(report, (bench_row){.name = "  the step, on 1 thread", .unit = "us", .value = samples_summary(&steps[0])});
  report_add(report,
             (bench_row){.name = "  the step, on 2 threads", .unit = "us", .value = samples_summary(&steps[1])});
  report_note(report, "%lld launches of kernels in a step, for %lld parameters", (long long)kernels,
              (long long)instances);
}

static laze_status measure_many(bench_report *report, laze_context *context, laze_error *error) {
  static bench_samples recording, steps[2];
  laze_tensor *parameters[MANY], *gradients[MANY];
  laze_optimiser *adamw;
  laze_status status = laze_optimiser_create(context, "adamw", LAZE_NO_SETTINGS, &adamw, error);
  if (status != LAZE_OK) return status;
  for (int i = 0; i < MANY; i++) {
    parameters[i] = workload_tensor(context, LAZE_SHAPE(16 + i, 32 + i), (uint32_t)i);
    gradients[i] = workload_tensor(context, LAZE_SHAPE(16 + i, 32 + i), (uint32_t)i + 1000);
    if (status == LAZE_OK) status = laze_tensor_require_grad(parameters[i], 1, error);
  }
  if (status == LAZE_OK) status = laze_optimiser_add(adamw, parameters, MANY, LAZE_NO_SETTINGS, error);
  if (status == LAZE_OK) status = many_steps(context, adamw, parameters, gradients, &recording, steps, error);
  double recorded, all;
  int64_t kernels = bench_metric(context, "kernels_run"), instances = bench_metric(context, "kernel_instances");
  if (status == LAZE_OK) status = many_step(context, adamw, parameters, gradients, &recorded, &all, error);
  kernels = bench_metric(context, "kernels_run") - kernels;
  instances = bench_metric(context, "kernel_instances") - instances;
  laze_optimiser_destroy(adamw);
  for (int i = 0; i < MANY; i++) {
    laze_tensor_release(parameters[i]);
    laze_tensor_release(gradients[i]);
  }
  if (status == LAZE_OK) report_many(report, &recording, steps, kernels, instances);
  return status;
}

laze_status bench_training(bench_report *report, laze_error *error) {
  static float pixels[BATCH * DIGITS_PIXELS];
  static int64_t classes[BATCH];
  laze_context *context;
  digits_network network;
  laze_status status = bench_context(1, &context, error);
  if (status != LAZE_OK) return status;
  status = workload_network(&network, context, error);
  workload_fill(pixels, BATCH * DIGITS_PIXELS, 100000);
  for (int64_t i = 0; i < BATCH; i++) classes[i] = i * 7 % DIGITS_CLASSES;
  if (status == LAZE_OK) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *images =
        laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(BATCH, DIGITS_PIXELS), pixels, sizeof pixels);
    laze_tensor *labels = laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(BATCH), classes, sizeof classes);
    status = measure_recording(report, &network, images, labels, error);
    if (status == LAZE_OK) status = measure_steps(report, &network, images, labels, error);
    const laze_status end = laze_scope_end_error(scope, status == LAZE_OK ? error : NULL);
    if (status == LAZE_OK) status = end;
    digits_network_deinit(&network);
  }
  if (status == LAZE_OK) status = measure_many(report, context, error);
  laze_context_release(context);
  return status;
}
