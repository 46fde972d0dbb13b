/* How fast compiled kernels are: elementwise chains beside plain C loops, and matrix products. */
#include "bench/bench.h"
#include "bench/reference_loops.h"
#include "bench/workloads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 25
#define SLOW_ROUNDS 3 /* of the loop that calls the C library for each element */
#define ALIGNMENT 64

typedef laze_tensor *(*bench_chain_function)(laze_tensor *x, laze_tensor *y);
typedef void (*bench_loop)(const float *restrict x, const float *restrict y, float *restrict out, int64_t count);

typedef struct bench_arrays {
  float *x, *y, *out, *read; /* WORKLOAD_CHAIN_ELEMENTS each */
} bench_arrays;

typedef struct bench_operands {
  laze_context *context;
  laze_tensor *x, *y;
} bench_operands;

static laze_status operands_init(bench_operands *out, int32_t threads, const bench_arrays *arrays, laze_error *error) {
  const laze_ints shape = LAZE_SHAPE(WORKLOAD_CHAIN_ELEMENTS);
  const size_t size = WORKLOAD_CHAIN_ELEMENTS * sizeof(float);
  *out = (bench_operands){0};
  const laze_status status = bench_context(threads, &out->context, error);
  if (status != LAZE_OK) return status;
  laze_scope *scope = laze_scope_begin(out->context);
  out->x = laze_tensor_retain(laze_tensor_from_data(out->context, LAZE_F32, shape, arrays->x, size));
  out->y = laze_tensor_retain(laze_tensor_from_data(out->context, LAZE_F32, shape, arrays->y, size));
  return laze_scope_end_error(scope, error);
}

static void operands_deinit(bench_operands *operands) {
  laze_tensor_release(operands->x);
  laze_tensor_release(operands->y);
  laze_context_release(operands->context);
}

/* Records, computes and drops the chain; seconds. `read` may be NULL. */
static laze_status run_chain(bench_operands *operands, bench_chain_function chain, float *read, double *time,
                             laze_error *error) {
  const double start = measure_now();
  laze_scope *scope = laze_scope_begin(operands->context);
  laze_tensor *result = chain(operands->x, operands->y);
  if (read != NULL) (void)laze_tensor_read(result, LAZE_F32, read, WORKLOAD_CHAIN_ELEMENTS * sizeof *read);
  const laze_status status = bench_finish(scope, result, error); /* has the error of a failed read, too */
  *time = measure_now() - start;
  return status;
}

static double run_loop(bench_loop loop, bench_arrays *arrays) {
  const double start = measure_now();
  loop(arrays->x, arrays->y, arrays->out, WORKLOAD_CHAIN_ELEMENTS);
  return measure_now() - start;
}

/* The largest difference between arrays->read and arrays->out, relative to values above 1. */
static double difference(const bench_arrays *arrays) {
  double most = 0;
  for (int64_t i = 0; i < WORKLOAD_CHAIN_ELEMENTS; i++) {
    const double wanted = arrays->out[i], error = fabs(wanted - arrays->read[i]) / fmax(1, fabs(wanted));
    if (!(error <= most)) most = error;
  }
  return most;
}

typedef struct bench_comparison {
  bench_chain_function chain;
  bench_loop check; /* computes the same */
  double tolerance;
  const char *name;
  double target; /* 0: none */
} bench_comparison;

/* Times the chain and the plain loop in turns. Ratios are the loop's time by the chain's: above 1, the chain is faster.
 */
static laze_status compare(bench_report *report, const bench_comparison *what, bench_operands *operands,
                           bench_arrays *arrays, laze_error *error) {
  bench_samples chains = {0}, loops = {0}, ratios = {0};
  double time;
  laze_status status = run_chain(operands, what->chain, arrays->read, &time, error);
  if (status != LAZE_OK) return status;
  what->check(arrays->x, arrays->y, arrays->out, WORKLOAD_CHAIN_ELEMENTS);
  if (!(difference(arrays) <= what->tolerance))
    return bench_fail(error, "%s: results differ from the C loop's by %g", what->name, difference(arrays));
  for (int i = 0; i < ROUNDS && status == LAZE_OK; i++) {
    const double plain = run_loop(reference_chain, arrays);
    status = run_chain(operands, what->chain, NULL, &time, error);
    samples_add(&loops, 1e3 * plain);
    samples_add(&chains, 1e3 * time);
    samples_add(&ratios, plain / time);
  }
  if (status != LAZE_OK) return status;
  bench_summary ratio = samples_summary(&ratios);
  ratio.median = samples_summary(&loops).median / samples_summary(&chains).median;
  report_add(report, (bench_row){.name = what->name, .unit = "ms", .value = samples_summary(&chains)});
  report_add(report,
             (bench_row){.name = "  the plain C loop meanwhile", .unit = "ms", .value = samples_summary(&loops)});
  report_add(report, (bench_row){"  speed beside that loop", "x", ratio,
                                 what->target > 0 ? TARGET_AT_LEAST : TARGET_NONE, what->target});
  return LAZE_OK;
}

static laze_status compare_all(bench_report *report, bench_arrays *arrays, laze_error *error) {
  static const bench_comparison one_thread[] = {
      {workload_chain, reference_chain, 1e-6, "chain, one thread", 0.9},
      {workload_chain_functions, reference_chain_functions, 1e-5, "chain with exp and tanh, one thread", 0.8},
  };
  static const bench_comparison all_threads[] = {
      {workload_chain, reference_chain, 1e-6, "chain, all threads", 0},
      {workload_chain_functions, reference_chain_functions, 1e-5, "chain with exp and tanh, all threads", 0},
  };
  laze_status status = LAZE_OK;
  for (int32_t threads = 1; threads >= 0 && status == LAZE_OK; threads--) {
    bench_operands operands;
    status = operands_init(&operands, threads, arrays, error);
    for (int i = 0; i < 2 && status == LAZE_OK; i++)
      status = compare(report, threads == 1 ? &one_thread[i] : &all_threads[i], &operands, arrays, error);
    operands_deinit(&operands);
  }
  return status;
}

laze_status bench_chain(bench_report *report, laze_error *error) {
  const size_t size = WORKLOAD_CHAIN_ELEMENTS * sizeof(float);
  bench_arrays arrays = {aligned_alloc(ALIGNMENT, size), aligned_alloc(ALIGNMENT, size), aligned_alloc(ALIGNMENT, size),
                         aligned_alloc(ALIGNMENT, size)};
  laze_status status = LAZE_OK;
  if (arrays.x == NULL || arrays.y == NULL || arrays.out == NULL || arrays.read == NULL) {
    status = bench_fail(error, "no memory for four arrays of %zu bytes", size);
  } else {
    bench_samples slow = {0};
    workload_fill(arrays.x, WORKLOAD_CHAIN_ELEMENTS, 0);
    workload_fill(arrays.y, WORKLOAD_CHAIN_ELEMENTS, 12345);
    memset(arrays.out, 0, size);
    status = compare_all(report, &arrays, error);
    for (int i = 0; i < SLOW_ROUNDS; i++) samples_add(&slow, 1e3 * run_loop(reference_chain_functions, &arrays));
    report_add(report, (bench_row){.name = "C loop that calls expf and tanhf, one thread",
                                   .unit = "ms",
                                   .value = samples_summary(&slow)});
  }
  free(arrays.x);
  free(arrays.y);
  free(arrays.out);
  free(arrays.read);
  return status;
}

static laze_status time_product(laze_context *context, int64_t size, bench_samples *speeds, laze_error *error) {
  const double operations = 2.0 * (double)size * (double)size * (double)size;
  const int rounds = size < 1024 ? 25 : 7;
  laze_tensor *x = workload_tensor(context, LAZE_SHAPE(size, size), 0);
  laze_tensor *y = workload_tensor(context, LAZE_SHAPE(size, size), 777);
  laze_status status = LAZE_OK;
  for (int i = 0; i <= rounds && status == LAZE_OK; i++) {
    const double start = measure_now();
    laze_scope *scope = laze_scope_begin(context);
    status = bench_finish(scope, laze_mm(x, y), error);
    if (i > 0) samples_add(speeds, 1e-9 * operations / (measure_now() - start)); /* the first may compile */
  }
  laze_tensor_release(x);
  laze_tensor_release(y);
  return status;
}

laze_status bench_products(bench_report *report, laze_error *error) {
  laze_context *context = NULL;
  laze_status status = bench_context(1, &context, error);
  for (int64_t size = 128; size <= 1024 && status == LAZE_OK; size *= 2) {
    bench_samples speeds = {0};
    char name[64];
    snprintf(name, sizeof name, "%lld by %lld", (long long)size, (long long)size);
    status = time_product(context, size, &speeds, error);
    if (status == LAZE_OK)
      report_add(report, (bench_row){.name = name, .unit = "GFLOP/s", .value = samples_summary(&speeds)});
  }
  laze_context_release(context);
  return status;
}
