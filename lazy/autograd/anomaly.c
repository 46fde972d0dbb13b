/* Anomaly mode: values are known only when they are computed, so that what looks at them is part of the graph.
 *
 *   mul's gradient ──> laze.numbers("mul, which was called at train.c:12, gave ...") ──> what the gradient goes to
 *
 * It fails where the gradient has a NaN, and everything that the NaN would have gone into fails with its message.
 */
#include "lazy/autograd/anomaly.h"

#define LAZE_NO_MACROS
#include "laze/opaque.h"
#include "lazy/autograd/kernels.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"

#include <stdio.h>

/* Puts the value of a call in the place of a gradient, whose history stays. */
static laze_status take_value(laze_thread_state *thread, laze_tensor *made, laze_gradient *gradient,
                              laze_error *error) {
  laze_gradient value;
  LAZE_TRY(laze_gradient_from_handle(thread, "anomaly mode", made, &value, error));
  laze_cell_release(thread->lazy, gradient->cell);
  gradient->cell = value.cell;
  laze_edge_release(thread->lazy, value.history);
  return LAZE_OK;
}

static laze_status watch(laze_thread_state *thread, const laze_grad_node *node, int32_t operand,
                         laze_gradient *gradient, laze_error *error) {
  char text[512], place[256] = "a place that is not known";
  if (node->location.file) snprintf(place, sizeof place, "%s:%d", node->location.file, (int)node->location.line);
  snprintf(text, sizeof text, "%s, which was called at %s, gave a NaN for the gradient of operand %d",
           laze_grad_node_name(node), place, (int)operand);
  const char *strings[] = {text};
  const laze_gradient value = {gradient->cell, {NULL, 0}};
  laze_tensor *handles[2] = {NULL, NULL};
  LAZE_TRY(laze_gradient_handles(thread, &value, 1, handles, error));
  laze_lazy_unlock(thread->lazy);
  (void)laze_opaque_record_at(thread->lazy->context, LAZE_KERNEL_NUMBERS, handles, 1, (laze_ints){NULL, 0},
                              (laze_reals){NULL, 0}, (laze_strings){strings, 1}, &handles[1], 1, node->location.file,
                              node->location.line);
  pthread_mutex_lock(&thread->lazy->lock);
  const laze_status status = take_value(thread, handles[1], gradient, error);
  laze_gradient_handles_drop(thread, handles, 2);
  return status;
}

laze_status laze_anomaly_watch(laze_thread_state *thread, const laze_grad_node *node, laze_gradient *operands,
                               laze_error *error) {
  for (int32_t i = 0; i < node->operand_count; i++)
    if (operands[i].cell && operands[i].cell->rank <= LAZE_OPAQUE_MAX_RANK)
      LAZE_TRY(watch(thread, node, i, &operands[i], error));
  return LAZE_OK;
}
