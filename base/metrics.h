/* Metrics: one table, from which names, order and storage follow. */
#ifndef LAZE_BASE_METRICS_H
#define LAZE_BASE_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum {
  LAZE_METRIC_NODES_RECORDED,      /* operators recorded, after composites were expanded */
  LAZE_METRIC_NODES_EXECUTED,      /* nodes of every graph that ran to its end */
  LAZE_METRIC_NODES_REUSED,        /* nodes recognised as the predicted next one */
  LAZE_METRIC_GRAPHS_RUN,          /* times a graph ran to its end */
  LAZE_METRIC_TRACE_CACHE_HITS,    /* graphs found with their sizes */
  LAZE_METRIC_TRACE_CACHE_MISSES,  /* graphs not found with their sizes */
  LAZE_METRIC_PROGRAM_CACHE_HITS,  /* of the misses, those that reused a program compiled for other sizes */
  LAZE_METRIC_KERNELS_COMPILED,    /* kernels that went through LLVM */
  LAZE_METRIC_KERNEL_CACHE_HITS,   /* kernels found in this process */
  LAZE_METRIC_DISK_CACHE_HITS,     /* kernels found on disk */
  LAZE_METRIC_KERNELS_RUN,         /* kernel calls */
  LAZE_METRIC_FALLBACKS,           /* nodes a native backend ran on the interpreter */
  LAZE_METRIC_BUDGET_CUTS,         /* times a growing graph was cut by the budget */
  LAZE_METRIC_SIZE_SYNCS,          /* times a graph ran because a size was asked for that follows from values */
  LAZE_METRIC_CACHE_EVICTIONS,     /* entries dropped from bounded caches */
  LAZE_METRIC_CURRENT_BYTES,       /* tensor bytes held now */
  LAZE_METRIC_PEAK_BYTES,          /* most tensor bytes held at once */
  LAZE_METRIC_IDLE_BYTES,          /* tensor memory kept for the next tensors of its size */
  LAZE_METRIC_AUTOGRAD_NODES,      /* calls and tensors that are kept for gradients */
  LAZE_METRIC_SAVED_BYTES,         /* values that are kept for gradients, each as often as a call needs it */
  LAZE_METRIC_NODE_BYTES,          /* memory for recorded operators and handles, used or kept for the next */
  LAZE_METRIC_TRACE_CACHE_BYTES,   /* executables with their memory plans, and the traces they are found by */
  LAZE_METRIC_PROGRAM_CACHE_BYTES, /* programs, and the graphs they are found by */
  LAZE_METRIC_KERNEL_CACHE_BYTES,  /* native kernels with their code */
  LAZE_METRIC_TIME_TRACE_US,       /* hashing, looking up, copying graphs */
  LAZE_METRIC_TIME_PLAN_US,        /* passes, schedule, memory plan */
  LAZE_METRIC_TIME_COMPILE_US,     /* LLVM, loading objects */
  LAZE_METRIC_TIME_RUN_US,         /* kernels */
  LAZE_METRIC_COUNT
} laze_metric;

typedef struct laze_metrics {
  _Atomic int64_t values[LAZE_METRIC_COUNT];
} laze_metrics;

const char *laze_metric_name(laze_metric metric);
/* Whether it says how much there is now, which a reset does not change. */
static inline int laze_metric_is_level(laze_metric metric) {
  return metric == LAZE_METRIC_CURRENT_BYTES ||
         (metric >= LAZE_METRIC_IDLE_BYTES && metric <= LAZE_METRIC_KERNEL_CACHE_BYTES);
}
static inline int laze_metric_is_time(laze_metric metric) {
  return metric >= LAZE_METRIC_TIME_TRACE_US && metric <= LAZE_METRIC_TIME_RUN_US;
}

static inline void laze_metrics_add(laze_metrics *metrics, laze_metric metric, int64_t amount) {
  atomic_fetch_add_explicit(&metrics->values[metric], amount, memory_order_relaxed);
}
static inline int64_t laze_metrics_get(laze_metrics *metrics, laze_metric metric) {
  return atomic_load_explicit(&metrics->values[metric], memory_order_relaxed);
}
/* Accounts for `amount` tensor bytes taken (negative: given back), keeping the peak. */
void laze_metrics_bytes(laze_metrics *metrics, int64_t amount);

/* Nanoseconds on the monotonic clock. Time metrics are kept in nanoseconds and reported in microseconds, so that many
 * short spans add up to the right sum. */
int64_t laze_clock(void);

#endif
