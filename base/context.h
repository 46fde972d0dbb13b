/* The context as the inside of laze sees it. */
#ifndef LAZE_BASE_CONTEXT_H
#define LAZE_BASE_CONTEXT_H

#include "base/metrics.h"
#include "base/status.h"
#include "laze/context.h"

/* Debug switches, set by name through LAZE_DEBUG or the options; LAZE_DEBUG=help lists them. */
typedef enum {
  LAZE_DEBUG_GRAPH,      /* each graph before it is compiled */
  LAZE_DEBUG_PASSES,     /* the graph after each pass that changed it */
  LAZE_DEBUG_SCHEDULE,   /* groups, with bytes, operations and the reason of each split */
  LAZE_DEBUG_LOOP,       /* loop IR of each kernel */
  LAZE_DEBUG_LLVM,       /* LLVM IR of each module */
  LAZE_DEBUG_ASM,        /* assembly of each module */
  LAZE_DEBUG_VERIFY,     /* verify each graph after each pass, schedules and kernels too */
  LAZE_DEBUG_ROUND_TRIP, /* print and parse each graph after each pass and compare */
  LAZE_DEBUG_MISS,       /* each trace-cache miss with its first difference */
  LAZE_DEBUG_CACHE,      /* what the disk cache does */
  LAZE_DEBUG_RUN,        /* each kernel call with its time */
  LAZE_DEBUG_NO_FUSION,  /* one kernel per node */
  LAZE_DEBUG_NO_ARENAS,  /* one block of memory per request to an arena */
  LAZE_DEBUG_COUNT
} laze_debug_switch;

/* What a graph is saved as (LAZE_SAVE_FORMS). */
typedef enum {
  LAZE_SAVE_TEXT,     /* its text form, which lazec reads */
  LAZE_SAVE_DOT,      /* for Graphviz */
  LAZE_SAVE_SCHEDULE, /* kernels with their loop IR */
  LAZE_SAVE_LLVM,
  LAZE_SAVE_ASSEMBLY,
  LAZE_SAVE_COUNT
} laze_save_form;

/* The name of a switch; static storage. */
const char *laze_debug_name(laze_debug_switch which);

laze_metrics *laze_context_metrics(laze_context *context);
struct laze_counters *laze_context_counters(laze_context *context);   /* base/counters.h */
struct laze_fallbacks *laze_context_fallbacks(laze_context *context); /* base/fallback.h */
bool laze_context_debug(const laze_context *context, laze_debug_switch which);
/* Options as resolved against the environment; borrowed. */
const char *laze_context_backend_name(const laze_context *context);    /* NULL: the best built */
const char *laze_context_cache_directory(const laze_context *context); /* NULL: no disk cache */
const char *laze_context_save_directory(const laze_context *context);  /* NULL: graphs are not saved */
bool laze_context_saves(const laze_context *context, laze_save_form form);
int64_t laze_context_next_saved(laze_context *context); /* the number of the next graph that is saved, from 1 */

/* Tells whoever watches the context (laze_context_watch) what is going on: `what` is "compile", "run" or "loop".
 * LAZE_CANCELLED: they want it to stop. Called without a lock, on the thread that asked for the work. */
LAZE_MUST_USE laze_status laze_context_report(laze_context *context, const char *what, int64_t done, int64_t total,
                                              laze_error *error);
struct laze_watch *laze_context_get_watch(laze_context *context); /* base/watch.h */

/* Objects of the folders above that live as long as the context (caches, threads). */
typedef enum {
  LAZE_CONTEXT_RUNTIME,
  LAZE_CONTEXT_PROGRAMS,
  LAZE_CONTEXT_KERNELS,
  LAZE_CONTEXT_LAZY,
  LAZE_CONTEXT_OPAQUE,
  LAZE_CONTEXT_LIBRARY,
  LAZE_CONTEXT_AOT,
  LAZE_CONTEXT_OBJECT_COUNT
} laze_context_object_id;

/* How one is made and destroyed. `create` runs on first use, under the context's lock; it may ask for other objects. */
typedef struct laze_context_object_class {
  laze_context_object_id id;
  laze_status (*create)(laze_context *context, void **out, laze_error *error);
  void (*destroy)(void *object);
} laze_context_object_class;

/* The object of a context, made on first use and destroyed with the context, in reverse order of creation; borrowed.
 * Fails as `create` does, and tries again the next time. */
LAZE_MUST_USE laze_status laze_context_object(laze_context *context, const laze_context_object_class *class, void **out,
                                              laze_error *error);

/* Memory from the context's allocator. NULL when it is out or when `size` is negative or does not fit. Zero bytes give
 * a pointer that can be freed. laze_free(context, NULL) does nothing. */
void *laze_alloc(laze_context *context, int64_t size) __attribute__((malloc));
void *laze_alloc_zero(laze_context *context, int64_t size) __attribute__((malloc));
/* An array of `count` elements of `element_size` bytes; NULL as well when the product overflows. */
void *laze_alloc_array(laze_context *context, int64_t count, int64_t element_size) __attribute__((malloc));
/* Grows an array to hold at least `needed` elements, doubling *capacity; contents are kept. On failure *array and
 * *capacity are unchanged. */
LAZE_MUST_USE laze_status laze_grow_array(laze_context *context, void **array, int64_t *capacity, int64_t needed,
                                          int64_t element_size, laze_error *error);
/* The same where it is too short, which it hardly ever is. */
LAZE_MUST_USE static inline laze_status laze_grow(laze_context *context, void **array, int64_t *capacity,
                                                  int64_t needed, int64_t element_size, laze_error *error) {
  return needed <= *capacity ? LAZE_OK : laze_grow_array(context, array, capacity, needed, element_size, error);
}
/* Gives back what an array that laze_grow() made has to spare. Without memory for the copy it stays as it is. */
void laze_trim(laze_context *context, void **array, int64_t *capacity, int64_t count, int64_t element_size);
void laze_free(laze_context *context, void *memory);
char *laze_copy_string(laze_context *context, const char *text);

/* Not laze_log, which is an operator: the logarithm. */
void laze_log_message(laze_context *context, int32_t severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a program may do that makes it slow or large, fixes what was to vary, or leaves it without tensors. */
typedef enum {
  LAZE_ADVICE_BUDGET,   /* the budget cuts its graphs */
  LAZE_ADVICE_FALLBACK, /* a loop runs operators on the interpreter */
  LAZE_ADVICE_GROWTH,   /* what is pending grows with each scope */
  LAZE_ADVICE_LONGER,   /* each graph is longer than the one before */
  LAZE_ADVICE_SAVE,     /* a graph could not be saved */
  LAZE_ADVICE_NO_LAZY,  /* the context cannot hold tensors */
  LAZE_ADVICE_BAKED,    /* a value was read while it was traced, and what follows from it is in the graph */
  LAZE_ADVICE_COUNT
} laze_advice;
/* Logs a warning. Where there is no log callback, the first of each kind goes to standard error, unless LAZE_LOG says
 * otherwise. */
void laze_log_advice(laze_context *context, laze_advice kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* For long texts (dumps): logs `title`, then the text as it is. */
void laze_log_text(laze_context *context, int32_t severity, const char *title, const char *text);

#endif
