/* Which nodes calls leave behind. */
#include "lazy/autograd/capture.h"

#include "base/context.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"

void laze_capture_begin(laze_capture *capture, laze_thread_state *thread) {
  *capture = (laze_capture){.outer = thread->capture};
  thread->capture = capture;
}

void laze_capture_end(laze_capture *capture, laze_thread_state *thread) {
  thread->capture = capture->outer;
}

void laze_capture_release(laze_capture *capture, laze_lazy *lazy) {
  for (int64_t i = 0; i < capture->count; i++) laze_edge_release(lazy, (laze_edge){capture->nodes[i], 0});
  laze_free(lazy->context, capture->nodes);
  *capture = (laze_capture){.outer = NULL};
}

void laze_capture_node(laze_thread_state *thread, laze_grad_node *node) {
  for (laze_capture *capture = thread->capture; capture; capture = capture->outer) {
    void *array = capture->nodes;
    const laze_status status = laze_grow(thread->lazy->context, &array, &capture->capacity, capture->count + 1,
                                         sizeof(laze_grad_node *), NULL);
    capture->nodes = array;
    if (status == LAZE_OK)
      capture->nodes[capture->count++] = laze_edge_retain((laze_edge){node, 0}).node;
    else
      capture->out_of_memory = true;
  }
}
