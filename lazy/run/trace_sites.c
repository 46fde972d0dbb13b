/* Who called the nodes of a trace that runs. The nodes know, and are there as long as the outputs that need them are
 * pending; what ends that is another thread, or a callback on this one, that computes the same values meanwhile:
 *
 *   this run   unlock ─── step ─── step ─── step: an error ─> find_site ── lock: its outputs
 *   another                  lock: about to resolve a value that both need ─> this run's sites are written down first
 *
 * So nothing is written down for the many runs that fail nowhere and are alone.
 */
#include "lazy/lazy.h"
#include "lazy/run/trace.h"
#include "lazy/thread.h"
#include "lazy/value/pending.h"

/* Of the composite that the node came from, or of its own operator. */
static laze_site site_of(const laze_pending *node) {
  const laze_op_info *called = laze_op_get(node->origin ? node->origin : node->op);
  return (laze_site){.called = called->base, .file = node->location.file, .line = node->location.line};
}

void laze_trace_start_run(laze_trace *trace, const laze_thread_state *thread) {
  laze_lazy *lazy = thread->lazy;
  trace->lazy = lazy;
  trace->thread = thread;
  trace->keeps_sites = false;
  trace->next_running = lazy->running;
  lazy->running = trace;
}

void laze_trace_end_run(laze_trace *trace) {
  laze_trace **link = &trace->lazy->running;
  while (*link != trace) link = &(*link)->next_running;
  *link = trace->next_running;
  if (trace->donated_count > 0) pthread_cond_broadcast(&trace->lazy->run_ended);
}

void laze_trace_keep_sites(laze_lazy *lazy) {
  for (laze_trace *trace = lazy->running; trace; trace = trace->next_running) {
    for (int64_t i = 0; i < trace->node_count && !trace->keeps_sites; i++) trace->sites[i] = site_of(trace->nodes[i]);
    trace->keeps_sites = true;
  }
}

/* A graph has the inputs of its trace first, then the nodes, one each, the oldest first. */
static laze_site find_site(const void *self, int32_t number) {
  const laze_trace *trace = self;
  int64_t index = trace->node_count + trace->leaf_count - number;
  pthread_mutex_lock(&trace->lazy->lock);
  laze_site site = trace->keeps_sites ? trace->sites[index] : site_of(trace->nodes[index]);
  pthread_mutex_unlock(&trace->lazy->lock);
  return site;
}

laze_sites laze_trace_sites(const laze_trace *trace) {
  return (laze_sites){.self = trace, .find = find_site};
}
