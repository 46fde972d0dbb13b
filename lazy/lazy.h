/* The lazy layer: tensors that are recorded instead of computed. This header has what the whole layer shares: the
 * object of a context, and its lock.
 *
 *   value/   laze_tensor *   a handle: the number of a slot, with its generation           handle_table.h, handle.h
 *              -> storage    what an assignment changes                                                    handle.h
 *                -> cell     one immutable value: pending, in a buffer, a number, or an error                cell.h
 *                  -> node   a recorded operator; its result cells are part of it                         pending.h
 *            sizes that values define are symbols, until a run finds their numbers                        unknown.h
 *            handles belong to a scope (scope.h), and all of a scope's to a thread (lazy/thread.h)
 *   run/     from pending nodes to buffers: trace.h -> trace_cache.h -> compile -> run              (materialise.h)
 *   record/  from a call to pending nodes: frame.h -> layers.h -> record_node.h, or the last step's node (reuse.h)
 *   library/ operators that programs declare, which call those of the tables as programs do (dispatch.h)
 *
 * The rooms include each other in this order: record/ may know run/, because a call can use up the budget and so run a
 * graph, and both know value/, which knows neither. What a room keeps for each thread is its own part of the thread's
 * state. lazy.c and thread.c put the rooms together.
 *
 * A call records nodes, or finds those of the step before again (reuse.c). A read, a step's end or
 * the budget materialises (materialise.c): the nodes that the wanted cells need are written down as a *trace*, a
 * sequence of words (trace.c), whose hash finds the executable (trace_cache.c); on a miss the trace becomes a graph and
 * is compiled, and miss.c can say why.
 *
 * A cell is *held* when a retained or assigned handle has it, or when it belongs to a scope that is not its thread's
 * innermost. Held cells that are computed on the way become buffers; others are recomputed if they are read later.
 * A value that fails (an index out of range) becomes an error, and so does what depends on it; everything else that the
 * run wanted is stored. The error is noted in the scope, until a read returns it. Cells for which there was no memory,
 * or no code, stay pending, so that a later read tries again.
 *
 * Threads. One lock per context guards everything in the rooms; it is not held while code is compiled or runs, nor
 * while a caller's code is called: hooks, functions, what releases a buffer. So threads record one call at a time, any
 * thread may use values that another recorded (a node belongs to no thread, only remembers in whose backlog it counts),
 * and two threads that read the same pending value at once both compute it. An uncontended lock costs about 20 ns of a
 * call. Objects come from free lists of the context (pool.c), so that a steady loop allocates nothing.
 */
#ifndef LAZE_LAZY_LAZY_H
#define LAZE_LAZY_LAZY_H

#include "lazy/value/backlog.h"
#include "lazy/value/handle_table.h"
#include "lazy/value/pool.h"
#include "lazy/value/unknown.h"

#include <pthread.h>

typedef struct laze_backend laze_backend;
typedef struct laze_buffer laze_buffer;
typedef struct laze_cache laze_cache;
typedef struct laze_callback laze_callback;
typedef struct laze_grad_hook laze_grad_hook;
typedef struct laze_pending laze_pending;
typedef struct laze_thread_state laze_thread_state;
typedef struct laze_trace laze_trace;

/* Hooks by their ids, which rise. */
typedef struct laze_hook_entry {
  int64_t id;
  laze_grad_hook *hook; /* borrowed; NULL: it is registered no longer */
} laze_hook_entry;

typedef struct laze_hooks {
  laze_hook_entry *items; /* owned */
  int64_t count, capacity, registered, last_id;
} laze_hooks;

/* What a call counts before its end adds it to the metrics: a call may record many nodes, and each would be an atomic
 * addition. */
typedef struct laze_lazy_counts {
  int64_t recorded, reused;        /* nodes */
  int64_t grad_nodes, saved_bytes; /* made and kept, less those that went */
} laze_lazy_counts;

/* The lazy object of a context, which owns it. */
typedef struct laze_lazy {
  laze_context *context; /* borrowed: this object is part of it */
  pthread_key_t key;     /* of the thread's state */
  pthread_mutex_t lock;  /* guards what follows */
  laze_pool pool;
  laze_slots slots;
  laze_thread_state *threads;        /* owned */
  laze_pending *newest, *oldest;     /* nodes with pending results, in the order of recording; each is its cells' */
  uint64_t mark;                     /* the last one given out: marks tell what a walk has passed */
  laze_lazy_counts counts;           /* since the metrics were last told */
  uint64_t grad_nodes;               /* made so far: the number of the youngest (lazy/value/grad_node.h) */
  laze_unknowns unknowns;            /* sizes of pending values that are not known yet */
  laze_grad_node *dying_nodes;       /* of backward graphs, which nothing refers to any more */
  bool frees_nodes;                  /* somebody frees them now */
  laze_grad_node *unknown_grad_node; /* the newest node of a backward graph that has such sizes in its attributes */
  laze_budget budget;                /* of each thread */
  laze_cache *traces;                /* owned (lazy/run/trace_cache.h) */
  laze_trace *running;               /* those that run now (lazy/run/trace.h) */
  pthread_cond_t run_ended;          /* one of them that may have written to its inputs (lazy/run/donate.h) */
  const laze_backend *backend;       /* NULL before laze_lazy_backend() (lazy/run/compile.h) */
  laze_hooks hooks;                  /* of gradients, registered ones */
  laze_callback *ended;              /* to release once the lock is free (lazy/value/callback.h) */
  laze_buffer **garbage;             /* the same of buffers */
  int64_t garbage_count, garbage_capacity;
} laze_lazy;

/* The lazy object of a context (NULL: the default context), made on first use; NULL when it cannot be made, which is
 * for want of memory or of the system's thread-local keys: the context's log says so. From any thread, without the
 * lock. */
laze_lazy *laze_lazy_get(laze_context *context);
/* Locks and gives the calling thread's state, which stays the context's; NULL, unlocked, when memory is out. */
laze_thread_state *laze_lazy_lock(laze_lazy *lazy);
/* Unlocks and releases the buffers and the callers' data that were dropped meanwhile. */
void laze_lazy_unlock(laze_lazy *lazy);

/* Has `buffer` released by the next unlock; takes the reference over. Call it locked. */
void laze_lazy_drop_buffer(laze_lazy *lazy, laze_buffer *buffer);

#endif
