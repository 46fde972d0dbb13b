/* Which inputs a run may write to: buffers of an earlier run that only it needs, and needs no more behind it.
 *
 *   x: a buffer     write a row of x     read x     the old buffer has one reference, that of the write's node, which
 *                                                   goes with the run: the row is written to where it is
 *
 * A reference goes with the run where it is that of a node none of whose results is pending afterwards. Nodes are
 * walked from the newest on, users before operands, and each cell counts how many of its references go.
 *
 * While such a run goes on, its nodes are there still and others may want what they compute. Another thread waits for
 * the end. This thread, in a callback, computes it from the old value as long as that is there.
 */
#include "lazy/run/donate.h"

#include "base/context.h"
#include "lazy/lazy.h"
#include "lazy/run/trace.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/pending.h"
#include "runtime/buffer.h"

/* Told by a glance: most inputs are of handles. */
static bool may_be_dead(const laze_cell *cell) {
  return cell->state == LAZE_CELL_BUFFER && cell->holds == 0 && cell->depth == LAZE_NO_DEPTH &&
         laze_buffer_is_exclusive(cell->value.buffer);
}

static bool any_may_be_dead(const laze_trace *trace) {
  for (int64_t i = 0; i < trace->leaf_count; i++)
    if (may_be_dead(trace->leaves[i])) return true;
  return false;
}

/* Whether a node needs its operands behind the run. A result's `number` counts its references that go. */
static bool stays(const laze_pending *node) {
  for (int i = 0; i < node->result_count; i++)
    if (laze_cell_is_pending(&node->cells[i]) && node->cells[i].references > node->cells[i].number) return true;
  return false;
}

static void count_gone(const laze_trace *trace) {
  for (int64_t i = 0; i < trace->leaf_count; i++) trace->leaves[i]->number = 0;
  for (int64_t i = 0; i < trace->node_count; i++)
    for (int k = 0; k < trace->nodes[i]->result_count; k++) trace->nodes[i]->cells[k].number = 0;
  for (int64_t i = 0; i < trace->output_count; i++) trace->outputs[i]->number = trace->outputs[i]->references;
  for (int64_t i = 0; i < trace->node_count; i++) {
    const laze_pending *node = trace->nodes[i];
    if (stays(node)) continue;
    for (int32_t k = 0; k < node->operand_count; k++) node->operands[k]->number++;
  }
}

/* The error of values whose run ended half-way, made before it begins: what ends it there is a lack of memory. */
static laze_failure *create_loss(laze_lazy *lazy) {
  static const laze_error loss = {
      .code = LAZE_OUT_OF_MEMORY,
      .message =
          "there was no memory to go on with a run that had begun to write a part of this value where it was, as "
          "nobody needed its old value any more; compute it anew"};
  return laze_failure_create(lazy, &loss);
}

void laze_trace_donate(laze_trace *trace, laze_lazy *lazy) {
  void *array = trace->donated;
  const bool knows_sizes = trace->words[trace->word_count - 1] == 0;
  trace->donated_count = 0;
  trace->overwritten = false;
  if (!knows_sizes || !any_may_be_dead(trace)) return;
  if (laze_grow(lazy->context, &array, &trace->donated_capacity, trace->leaf_count, sizeof *trace->donated, NULL) !=
      LAZE_OK)
    return; /* then it is copied */
  trace->donated = array;
  count_gone(trace);
  for (int64_t i = 0; i < trace->leaf_count; i++) {
    laze_cell *cell = trace->leaves[i];
    trace->donated[i] = may_be_dead(cell) && cell->number == cell->references;
    trace->donated_count += trace->donated[i];
  }
  if (trace->donated_count > 0) trace->loss = create_loss(lazy);
  if (!trace->loss) trace->donated_count = 0;
  for (int64_t i = 0; i < trace->leaf_count && trace->donated_count > 0; i++)
    if (trace->donated[i]) laze_cell_retain(trace->leaves[i]);
}

void laze_trace_end_donation(laze_trace *trace, laze_lazy *lazy) {
  bool lost = false;
  if (trace->donated_count == 0) return;
  for (int64_t i = 0; i < trace->leaf_count; i++) {
    laze_cell *cell = trace->leaves[i];
    if (!trace->donated[i]) continue;
    const bool is_lost = trace->overwritten && cell->references > 1;
    if (is_lost) laze_cell_lose(lazy, cell, trace->loss);
    lost |= is_lost;
    laze_cell_release(lazy, cell);
  }
  if (lost) laze_cell_spread_failures(lazy, lazy->oldest);
  laze_failure_release(lazy, trace->loss);
  trace->loss = NULL;
  trace->donated_count = 0;
}

/* A run to whose donated inputs one of the trace's belongs; NULL: there is none. */
static const laze_trace *find_writer(const laze_trace *trace, const laze_lazy *lazy) {
  for (const laze_trace *run = lazy->running; run; run = run->next_running)
    for (int64_t i = 0; i < run->leaf_count && run->donated_count > 0; i++)
      if (run->donated[i] && run->leaves[i]->mark == trace->mark) return run;
  return NULL;
}

laze_status laze_trace_await_writer(const laze_trace *trace, laze_thread_state *thread, bool *waited,
                                    laze_error *error) {
  const laze_trace *run = find_writer(trace, thread->lazy);
  *waited = run && run->thread != thread;
  if (*waited) pthread_cond_wait(&thread->lazy->run_ended, &thread->lazy->lock);
  if (!run || *waited || !run->overwritten) return LAZE_OK;
  return laze_fail(
      error, LAZE_FAILED_PRECONDITION,
      "a callback asks for a value that the run in which it is called computes, and has begun to write where "
      "its old value was; ask for it when the run is over");
}
