/* Threads that share the iterations of a loop.
 *
 * The calling thread always takes part, and waits only for workers that have joined: a worker that the system does not
 * schedule in time costs nothing but its help. Workers are started at the first parallel loop, spin for some tens of
 * microseconds after each one and then sleep. All of a worker's signals are blocked; its floating-point control word is
 * the default (round to nearest, no flush to zero).
 *
 * In the child of a fork() the first parallel loop starts fresh workers.
 */
#ifndef LAZE_RUNTIME_THREAD_POOL_H
#define LAZE_RUNTIME_THREAD_POOL_H

#include "base/context.h"

/* More threads than this are not used. */
#define LAZE_THREAD_POOL_MAX 512

typedef struct laze_thread_pool laze_thread_pool;

/* A loop. `function` runs iterations [begin, end) of it; `worker` is the number of the thread within this loop, from 0
 * (the caller) to `threads` - 1: no two calls with the same number overlap, so that it can choose scratch memory. */
typedef struct laze_thread_loop {
  void (*function)(void *self, int worker, int64_t begin, int64_t end);
  void *self;
  int64_t begin, end, grain;
  int threads; /* at most, the caller included; brought into [1, LAZE_THREAD_POOL_MAX] */
} laze_thread_loop;

/* Starts no thread: loops start as many as they ask for, which stay. */
LAZE_MUST_USE laze_status laze_thread_pool_create(laze_context *context, laze_thread_pool **out, laze_error *error);
/* No loop may be running; NULL is ignored. */
void laze_thread_pool_destroy(laze_thread_pool *pool);
/* A number of threads, brought into [1, LAZE_THREAD_POOL_MAX]. */
int laze_thread_pool_limit(int threads);

/* Calls the loop's function for parts of [begin, end) that cover it exactly once and returns when all are done; what
 * the calls wrote is visible to the caller. Parts are `grain` iterations long (the last may be shorter), in no order.
 * The whole range is one call on the calling thread when it is no longer than `grain`, when there is one thread, when
 * another loop has the workers (several threads may call at once, and a function may start a loop), or when no worker
 * can be started. Results must therefore not depend on how the range was cut. An empty range calls nothing; a grain
 * below 1 counts as 1. Cannot fail. */
void laze_thread_pool_run(laze_thread_pool *pool, const laze_thread_loop *loop);

#endif
