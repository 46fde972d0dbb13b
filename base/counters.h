/* Counters with names that are known only when something is counted: "fallback::sort", "kernel::mine::scale". They are
 * metrics of the context beside those of base/metrics.h, and there for good once they have counted. Thread-safe. */
#ifndef LAZE_BASE_COUNTERS_H
#define LAZE_BASE_COUNTERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct laze_context laze_context;

typedef struct laze_counter {
  struct laze_counter *next;
  _Atomic int64_t value;
  char name[];
} laze_counter;

typedef struct laze_counters {
  laze_context *context; /* borrowed: they are part of it */
  pthread_mutex_t lock;
  laze_counter *first; /* in the order of their names */
} laze_counters;

void laze_counters_init(laze_counters *counters, laze_context *context);
void laze_counters_deinit(laze_counters *counters);
/* Adds to the counter "kind::name"; where there is no memory for a new one, or for its name, nothing is counted. */
void laze_counters_add(laze_counters *counters, const char *kind, const char *name, int64_t amount);
/* The value of a counter, 0 of one that has counted nothing. False: no counter could have that name. */
bool laze_counters_read(laze_counters *counters, const char *name, int64_t *value);
/* In the order of their names. The lock is not held while `visit` is called. */
void laze_counters_each(laze_counters *counters, void (*visit)(void *self, const char *name, int64_t value),
                        void *self);
void laze_counters_reset(laze_counters *counters);

#endif
