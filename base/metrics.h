/* Metrics: counters and levels in one table, samples in another, from which names, order and storage follow. */
#ifndef LAZE_BASE_METRICS_H
#define LAZE_BASE_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum {
  LAZE_METRIC_NODES_RECORDED,      /* operators recorded, after composites were expanded */
  LAZE_METRIC_NODES_EXECUTED,      /* nodes of every graph that ran to its end */
  LAZE_METRIC_NODES_RECOMPUTED,    /* of these, such as a run had computed before, or begun to, and not stored */
  LAZE_METRIC_NODES_REUSED,        /* nodes recognised as the predicted next one */
  LAZE_METRIC_GRAPHS_RUN,          /* times a graph ran to its end */
  LAZE_METRIC_TRACE_CACHE_HITS,    /* graphs found with their sizes */
  LAZE_METRIC_TRACE_CACHE_MISSES,  /* graphs not found with their sizes */
  LAZE_METRIC_PROGRAM_CACHE_HITS,  /* of the misses, those that reused a program compiled for other sizes */
  LAZE_METRIC_KERNELS_COMPILED,    /* kernels that went through LLVM */
  LAZE_METRIC_KERNEL_CACHE_HITS,   /* kernels found in this process */
  LAZE_METRIC_DISK_CACHE_HITS,     /* kernels found on disk */
  LAZE_METRIC_KERNELS_RUN,         /* launches of kernels */
  LAZE_METRIC_KERNEL_INSTANCES,    /* what they computed: groups of operators that are alike are one launch */
  LAZE_METRIC_FALLBACKS,           /* nodes a native backend ran on the interpreter */
  LAZE_METRIC_RUNS_FOR_READ,       /* graphs that were run because elements were read */
  LAZE_METRIC_RUNS_FOR_VALUE,      /* because values were to be computed now */
  LAZE_METRIC_RUNS_FOR_STEP,       /* because a step ended */
  LAZE_METRIC_RUNS_FOR_PRINT,      /* because a tensor was printed */
  LAZE_METRIC_RUNS_FOR_EXPORT,     /* because memory was lent to others: arrays, DLPack, NumPy */
  LAZE_METRIC_RUNS_FOR_SAVE,       /* because tensors went to a file */
  LAZE_METRIC_RUNS_FOR_CALL,       /* because a compiled graph, of whatever backend, was called with them */
  LAZE_METRIC_WRITE_COPIES,        /* values that were copied because a part of them was written, and they live on */
  LAZE_METRIC_BUDGET_CUTS,         /* times a growing graph was cut by the budget */
  LAZE_METRIC_SIZE_SYNCS,          /* times a graph ran because a size was asked for that follows from values */
  LAZE_METRIC_AOT_CACHE_HITS,      /* joint graphs of functions compiled ahead of time that were found compiled */
  LAZE_METRIC_AOT_CACHE_MISSES,    /* those that were not */
  LAZE_METRIC_AOT_CACHE_BYPASSES,  /* those that were not looked for */
  LAZE_METRIC_BUFFERS_DONATED,     /* results that were written to the memory of an input that a run was given */
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

/* Of what is counted one by one, how the numbers are spread. */
typedef enum {
  LAZE_SAMPLE_TRACE_NS,        /* of a graph that is wanted: hashing, looking up, copying it */
  LAZE_SAMPLE_COMPILE_NS,      /* of a program that was not found: passes, schedule, LLVM */
  LAZE_SAMPLE_RUN_NS,          /* of a run: its kernels, and memory for them */
  LAZE_SAMPLE_WAIT_NS,         /* of whoever wanted a graph's values: all of that together */
  LAZE_SAMPLE_GRAPH_NODES,     /* of a run: nodes of its graph */
  LAZE_SAMPLE_TEMPORARY_BYTES, /* of a run: memory between inputs and outputs */
  LAZE_SAMPLE_READ_BYTES,      /* of a read: bytes that were copied out */
  LAZE_SAMPLE_COUNT
} laze_sample;

/* A histogram: numbers below 8 have a bucket each, all others one of 8 for each power of two.
 *
 *   0 1 2 3 4 5 6 7 | 8 9 10 ... 15 | 16-17 18-19 ... 30-31 | 32-35 ... 60-63 | ...
 */
enum { LAZE_SAMPLE_PARTS_LOG = 3, LAZE_SAMPLE_BUCKETS = (63 - LAZE_SAMPLE_PARTS_LOG + 1) << 3 };
typedef struct laze_sample_spread {
  _Atomic int64_t buckets[LAZE_SAMPLE_BUCKETS];
  _Atomic int64_t total, greatest;
} laze_sample_spread;

typedef struct laze_metrics {
  _Atomic int64_t values[LAZE_METRIC_COUNT];
  laze_sample_spread samples[LAZE_SAMPLE_COUNT];
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

const char *laze_sample_name(laze_sample sample);
/* The bucket of a number that is not negative, and the greatest number of a bucket. */
static inline int laze_sample_bucket(int64_t number) {
  if (number < 1 << LAZE_SAMPLE_PARTS_LOG) return (int)number;
  int power = 63 - __builtin_clzll((unsigned long long)number);
  int shift = power - LAZE_SAMPLE_PARTS_LOG;
  return (int)(((int64_t)shift << LAZE_SAMPLE_PARTS_LOG) + (number >> shift));
}
int64_t laze_sample_bucket_most(int bucket);
/* Adds a sample; a negative one is none. Any thread may. */
static inline void laze_metrics_sample(laze_metrics *metrics, laze_sample sample, int64_t number) {
  laze_sample_spread *spread = &metrics->samples[sample];
  if (number < 0) return;
  atomic_fetch_add_explicit(&spread->buckets[laze_sample_bucket(number)], 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&spread->total, number, memory_order_relaxed);
  int64_t seen = atomic_load_explicit(&spread->greatest, memory_order_relaxed);
  while (number > seen && !atomic_compare_exchange_weak(&spread->greatest, &seen, number)) continue;
}

/* Nanoseconds on the monotonic clock. Time metrics are kept in nanoseconds and reported in microseconds, so that many
 * short spans add up to the right sum. */
int64_t laze_clock(void);

#endif
