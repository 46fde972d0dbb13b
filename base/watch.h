/* Telling whoever watches a context what it does, and being stopped by them. */
#ifndef LAZE_BASE_WATCH_H
#define LAZE_BASE_WATCH_H

#include "base/context.h"

#include <pthread.h>

/* Part of a context, from its beginning to its end. */
typedef struct laze_watch {
  _Atomic bool on;      /* without a watch, a report is this one test */
  pthread_mutex_t lock; /* guards what follows */
  laze_watch_function function;
  void *self;
} laze_watch;

void laze_watch_init(laze_watch *watch);
void laze_watch_deinit(laze_watch *watch);

#endif
