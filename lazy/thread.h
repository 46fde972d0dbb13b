/* What a thread has while it uses a context: its scopes, what it has pending, and a part for each room that keeps
 * something from one call to the next. Guarded by the context's lock. */
#ifndef LAZE_LAZY_THREAD_H
#define LAZE_LAZY_THREAD_H

#include "lazy/value/backlog.h"
#include "lazy/value/scope.h"
#include "lazy/value/tracer.h"

typedef struct laze_lazy laze_lazy;
typedef struct laze_record_state laze_record_state;
typedef struct laze_run_state laze_run_state;

/* Never freed before the context: a thread that ends leaves it to the next new one, and its nodes live on by their
 * references. */
typedef struct laze_thread_state {
  laze_lazy *lazy;
  struct laze_thread_state *next; /* of the context */
  bool in_use;
  laze_open_scope root, *scope; /* the outermost and the innermost scope */
  laze_backlog backlog;
  bool no_grad;                 /* calls leave nothing behind for gradients */
  bool inference;               /* and what they give never will */
  int32_t passes;               /* backward passes that are under way, one in a hook of another */
  bool anomaly;                 /* gradients are looked through for what is no number */
  struct laze_capture *capture; /* who notes the histories (lazy/autograd/capture.h); NULL: nobody */
  laze_tracer *tracer;          /* who follows what is recorded; NULL: nobody. Owned */
  laze_record_state *record;    /* lazy/record/record_state.h; part of this object's block */
  laze_run_state *run;          /* lazy/run/run_state.h; part of this object's block */
} laze_thread_state;

/* Whether calls of the thread leave histories behind. */
static inline bool laze_thread_tracks(const laze_thread_state *thread) {
  return !(thread->no_grad | thread->inference);
}

/* All of what follows is called with the lock held, but for laze_thread_ended(). */

/* A state for the calling thread: one that a thread has left, or a new one. NULL when memory is out. */
laze_thread_state *laze_thread_claim(laze_lazy *lazy);
/* Ends the scopes a thread or a dying context leaves behind, so that their handles go. Returns how many there were,
 * for each has a reference of the context. */
int laze_thread_close(laze_thread_state *thread);
/* Frees a state that was closed. */
void laze_thread_destroy(laze_thread_state *thread);
/* The thread of this state ends (`object`: laze_thread_state; the destructor of the context's key): its handles are
 * released, and its state waits for the next thread. Locks. */
void laze_thread_ended(void *object);

#endif
