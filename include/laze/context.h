/* The context: allocator, metrics, debug switches and log of everything made from it.
 *
 * Most programs never make one: where a function takes a context, NULL means the default context, made on first use.
 * A context is reference counted. Open scopes and retained tensors keep it alive; a tensor handle that is
 * neither retained nor in a scope does not (laze/tensor.h). All functions may be called from any thread.
 */
#ifndef LAZE_CONTEXT_H
#define LAZE_CONTEXT_H

#include "laze/dtype.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct laze_context laze_context;

/* Memory for everything but tensor data is taken from here. `allocate` returns memory aligned for any type, or NULL;
 * `release` takes what `allocate` returned. Both must be thread-safe. */
typedef struct laze_allocator {
  void *(*allocate)(void *self, size_t size);
  void (*release)(void *self, void *memory);
  void *self;
} laze_allocator;

/* Severity of a log message. */
#define LAZE_LOG_ERROR 0
#define LAZE_LOG_WARNING 1
#define LAZE_LOG_INFO 2
#define LAZE_LOG_DEBUG 3

/* Receives diagnostics, one message without a newline at its end at a time, on whichever thread produced it; so it has
 * to be thread-safe. It must not call back into laze. The message is borrowed for the call. */
typedef void (*laze_log_function)(void *self, int32_t severity, const char *message);

/* Zero-initialise, set struct_size, and set what should differ from the default. */
typedef struct laze_context_options {
  size_t struct_size;              /* sizeof(laze_context_options) */
  const laze_allocator *allocator; /* NULL: malloc; copied */
  /* NULL: standard error, where LAZE_LOG in the environment says what is written: `once` (the default) warnings about
   * what makes a program slow or large, each kind once; `off` nothing; `all` every message. Debug switches write theirs
   * in any case. */
  laze_log_function log;
  void *log_self;
  const char *backend; /* "llvm", "interp"; NULL: LAZE_BACKEND from the environment, otherwise the best built */
  const char *debug;   /* debug switches, comma-separated; NULL: LAZE_DEBUG from the environment */
  /* NULL: LAZE_CACHE_DIR, then XDG_CACHE_HOME/laze, then ~/.cache/laze; "": no disk cache */
  const char *cache_directory;
  int32_t threads; /* 1 to 1024; 0: LAZE_NUM_THREADS, otherwise one per processor */
  int32_t reserved;
} laze_context_options;

/* Makes a context. `options` may be NULL; its strings are copied. On success *out is owned by the caller:
 * laze_context_release(). On failure *out is NULL. LAZE_INVALID_ARGUMENT: an option, or the environment variable that
 * stands for it, is wrong; LAZE_OUT_OF_MEMORY. An unknown backend is reported by what first needs it. */
LAZE_API LAZE_MUST_USE laze_status laze_context_create(const laze_context_options *options, laze_context **out,
                                                       laze_error *error);
/* NULL is ignored. */
LAZE_API void laze_context_retain(laze_context *context);
/* NULL is ignored. */
LAZE_API void laze_context_release(laze_context *context);
/* The default context; borrowed, never NULL unless memory is out. */
LAZE_API laze_context *laze_context_default(void);

/* What a context is doing on the calling thread, for whoever watches it. */
typedef struct laze_activity {
  const char *what; /* "compile", "run" or "loop"; static */
  int64_t done;     /* kernels that are there, steps that have run, iterations of a loop inside a step */
  int64_t total;    /* of a loop -1: unknown */
} laze_activity;
/* Called while a graph is compiled to native code and run, on the thread that asked for it (a read, the end of a step,
 * a call that uses the budget up): at the beginning and at the end of each (done == total), before each module of
 * kernels and each launch, and before each iteration of a loop that the interpreter runs. That can be often: look at a
 * clock before you do anything slow. Anything but 0 stops the work: the call returns LAZE_CANCELLED, what it would have
 * computed is still pending, kernels that are there stay, and a later read goes on. A run that has begun to write where
 * a value was that nobody needs any more (buffers_donated) goes on to its end without a call. laze holds no lock
 * meanwhile; the function must not use tensors of the context. */
typedef int32_t (*laze_watch_function)(void *self, const laze_activity *activity);
/* Has `watch` called from now on (NULL: nothing is). A context has one. While another thread compiles or runs, it may
 * be called a last time after this returns: what `self` points to must outlive that. NULL context: the default. */
LAZE_API void laze_context_watch(laze_context *context, laze_watch_function watch, void *self);

/* On how many threads kernels run, from now on; a run in progress goes on as it began. 1 to 1024; 0: LAZE_NUM_THREADS,
 * otherwise one per processor. Results do not depend on it. NULL context: the default. LAZE_INVALID_ARGUMENT: no such
 * number. */
LAZE_API LAZE_MUST_USE laze_status laze_set_threads(laze_context *context, int32_t threads, laze_error *error);
LAZE_API int32_t laze_get_threads(laze_context *context);

/* Reads one metric by name into *value: counters count events, `time_*_us` sum microseconds, `peak_bytes` is the most
 * tensor memory held at once, and other names that end in `bytes` say how much is held now; laze_metric_each() lists
 * the names. Behind them come counters by operator, which are 0 before they have counted: "fallback::sort", how often a
 * native backend ran that operator on the interpreter, and "kernel::mine::scale", how often a kernel of that name was
 * called (laze/opaque.h, laze/library.h). NULL context: the default. LAZE_NOT_FOUND: no metric has this name. */
LAZE_API LAZE_MUST_USE laze_status laze_metric_read(laze_context *context, const char *name, int64_t *value,
                                                    laze_error *error);
/* Calls `visit` (NULL: nothing happens) for every metric in a fixed order. */
LAZE_API void laze_metric_each(laze_context *context, void (*visit)(void *self, const char *name, int64_t value),
                               void *self);
/* How the numbers of something that happens again and again are spread: names that end in `_ns` are nanoseconds, in
 * `_bytes` bytes. Percentiles are rounded up by less than an eighth, and not beyond the greatest; all is 0 without a
 * sample. */
typedef struct laze_samples {
  const char *name; /* static */
  int64_t count, total;
  int64_t p50, p90, p99; /* what so many in a hundred do not exceed */
  int64_t greatest;
} laze_samples;
/* Reads the samples of that name: `trace_ns`, `compile_ns` and `run_ns` are what graphs took to be looked up, compiled
 * and run, `wait_ns` what whoever wanted their values waited, `graph_nodes` and `temporary_bytes` what runs had,
 * `read_bytes` what reads copied out. NULL context: the default. LAZE_NOT_FOUND: no samples have this name. */
LAZE_API LAZE_MUST_USE laze_status laze_samples_read(laze_context *context, const char *name, laze_samples *out,
                                                     laze_error *error);
/* Calls `visit` (NULL: nothing happens) for all samples in a fixed order; what it is given is borrowed for the call. */
LAZE_API void laze_samples_each(laze_context *context, void (*visit)(void *self, const laze_samples *samples),
                                void *self);

#define LAZE_REPORT_TEXT 0 /* "name value" a line; of samples "name_count", "name_total", "name_p50" and so on */
#define LAZE_REPORT_JSON 1 /* one object: {"name": value, .., "samples": {"name": {"count": .., ..}, ..}} */
/* Writes all metrics and samples as text into `text` of `size` bytes, NUL-terminated and cut where it does not fit;
 * *needed (may be NULL) gets the bytes of the whole text without NUL: with size 0, text may be NULL. NULL context: the
 * default. */
LAZE_API LAZE_MUST_USE laze_status laze_metric_report(laze_context *context, int32_t form, char *text, size_t size,
                                                      size_t *needed, laze_error *error);
/* Sets every metric to zero, and samples too; what says how many bytes are held now stays, and is the new peak. */
LAZE_API void laze_metric_reset(laze_context *context);

#ifdef __cplusplus
}
#endif
#endif
