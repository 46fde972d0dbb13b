/* Notes the nodes that a thread's calls leave behind, in order. Called with the context's lock held. */
#ifndef LAZE_LAZY_AUTOGRAD_CAPTURE_H
#define LAZE_LAZY_AUTOGRAD_CAPTURE_H

#include "lazy/value/grad_node.h"

typedef struct laze_thread_state laze_thread_state;

typedef struct laze_capture {
  struct laze_capture *outer; /* which notes them as well */
  laze_grad_node **nodes;     /* referenced; of the context */
  int64_t count, capacity;
  bool out_of_memory; /* some could not be noted */
} laze_capture;

void laze_capture_begin(laze_capture *capture, laze_thread_state *thread);
/* Nothing is noted any more. */
void laze_capture_end(laze_capture *capture, laze_thread_state *thread);
/* Lets go of what was noted. */
void laze_capture_release(laze_capture *capture, laze_lazy *lazy);
/* A call of the thread has left the node behind. */
void laze_capture_node(laze_thread_state *thread, laze_grad_node *node);

#endif
