/* Names of the metrics, from the order of their enumerators; the peak of bytes held; buckets; and the clock. */
#include "base/metrics.h"

#include <time.h>

static const char *const metric_names[LAZE_METRIC_COUNT] = {
    [LAZE_METRIC_NODES_RECORDED] = "nodes_recorded",
    [LAZE_METRIC_NODES_EXECUTED] = "nodes_executed",
    [LAZE_METRIC_NODES_RECOMPUTED] = "nodes_recomputed",
    [LAZE_METRIC_NODES_REUSED] = "nodes_reused",
    [LAZE_METRIC_GRAPHS_RUN] = "graphs_run",
    [LAZE_METRIC_TRACE_CACHE_HITS] = "trace_cache_hits",
    [LAZE_METRIC_TRACE_CACHE_MISSES] = "trace_cache_misses",
    [LAZE_METRIC_PROGRAM_CACHE_HITS] = "program_cache_hits",
    [LAZE_METRIC_KERNELS_COMPILED] = "kernels_compiled",
    [LAZE_METRIC_KERNEL_CACHE_HITS] = "kernel_cache_hits",
    [LAZE_METRIC_DISK_CACHE_HITS] = "disk_cache_hits",
    [LAZE_METRIC_KERNELS_RUN] = "kernels_run",
    [LAZE_METRIC_KERNEL_INSTANCES] = "kernel_instances",
    [LAZE_METRIC_FALLBACKS] = "fallbacks",
    [LAZE_METRIC_RUNS_FOR_READ] = "runs_for_read",
    [LAZE_METRIC_RUNS_FOR_VALUE] = "runs_for_value",
    [LAZE_METRIC_RUNS_FOR_STEP] = "runs_for_step",
    [LAZE_METRIC_RUNS_FOR_PRINT] = "runs_for_print",
    [LAZE_METRIC_RUNS_FOR_EXPORT] = "runs_for_export",
    [LAZE_METRIC_RUNS_FOR_SAVE] = "runs_for_save",
    [LAZE_METRIC_RUNS_FOR_CALL] = "runs_for_call",
    [LAZE_METRIC_WRITE_COPIES] = "write_copies",
    [LAZE_METRIC_BUDGET_CUTS] = "budget_cuts",
    [LAZE_METRIC_SIZE_SYNCS] = "size_syncs",
    [LAZE_METRIC_AOT_CACHE_HITS] = "aot_cache_hits",
    [LAZE_METRIC_AOT_CACHE_MISSES] = "aot_cache_misses",
    [LAZE_METRIC_AOT_CACHE_BYPASSES] = "aot_cache_bypasses",
    [LAZE_METRIC_BUFFERS_DONATED] = "buffers_donated",
    [LAZE_METRIC_CACHE_EVICTIONS] = "cache_evictions",
    [LAZE_METRIC_CURRENT_BYTES] = "current_bytes",
    [LAZE_METRIC_PEAK_BYTES] = "peak_bytes",
    [LAZE_METRIC_IDLE_BYTES] = "idle_bytes",
    [LAZE_METRIC_AUTOGRAD_NODES] = "autograd_nodes_alive",
    [LAZE_METRIC_SAVED_BYTES] = "autograd_saved_bytes",
    [LAZE_METRIC_NODE_BYTES] = "node_bytes",
    [LAZE_METRIC_TRACE_CACHE_BYTES] = "trace_cache_bytes",
    [LAZE_METRIC_PROGRAM_CACHE_BYTES] = "program_cache_bytes",
    [LAZE_METRIC_KERNEL_CACHE_BYTES] = "kernel_cache_bytes",
    [LAZE_METRIC_TIME_TRACE_US] = "time_trace_us",
    [LAZE_METRIC_TIME_PLAN_US] = "time_plan_us",
    [LAZE_METRIC_TIME_COMPILE_US] = "time_compile_us",
    [LAZE_METRIC_TIME_RUN_US] = "time_run_us",
};

const char *laze_metric_name(laze_metric metric) {
  return metric_names[metric];
}

static const char *const sample_names[LAZE_SAMPLE_COUNT] = {
    [LAZE_SAMPLE_TRACE_NS] = "trace_ns",       [LAZE_SAMPLE_COMPILE_NS] = "compile_ns",
    [LAZE_SAMPLE_RUN_NS] = "run_ns",           [LAZE_SAMPLE_WAIT_NS] = "wait_ns",
    [LAZE_SAMPLE_GRAPH_NODES] = "graph_nodes", [LAZE_SAMPLE_TEMPORARY_BYTES] = "temporary_bytes",
    [LAZE_SAMPLE_READ_BYTES] = "read_bytes",
};

const char *laze_sample_name(laze_sample sample) {
  return sample_names[sample];
}

int64_t laze_sample_bucket_most(int bucket) {
  const int parts = 1 << LAZE_SAMPLE_PARTS_LOG;
  if (bucket < 2 * parts) return bucket;
  const int shift = (bucket >> LAZE_SAMPLE_PARTS_LOG) - 1;
  const uint64_t behind = (uint64_t)(bucket - (shift << LAZE_SAMPLE_PARTS_LOG)) + 1; /* at most 2 * parts */
  return (int64_t)((behind << shift) - 1);
}

void laze_metrics_bytes(laze_metrics *metrics, int64_t amount) {
  _Atomic int64_t *peak = &metrics->values[LAZE_METRIC_PEAK_BYTES];
  int64_t now =
      atomic_fetch_add_explicit(&metrics->values[LAZE_METRIC_CURRENT_BYTES], amount, memory_order_relaxed) + amount;
  int64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
  while (now > seen && !atomic_compare_exchange_weak(peak, &seen, now)) continue;
}

int64_t laze_clock(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
