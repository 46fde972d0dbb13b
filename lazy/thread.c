/* States of threads: one block has what every room keeps for a thread, and each room knows its own part.
 *
 *   block   laze_thread_state | laze_record_state | laze_run_state
 *             record, run ───────^───────────────────^
 */
#include "lazy/thread.h"

#include "lazy/lazy.h"
#include "lazy/record/record_state.h"
#include "lazy/run/run_state.h"

typedef struct {
  laze_thread_state thread; /* first: a state is the address of its block */
  laze_record_state record;
  laze_run_state run;
} thread_block;

static laze_thread_state *create(laze_lazy *lazy) {
  thread_block *block = laze_alloc_zero(lazy->context, sizeof *block);
  if (!block) return NULL;
  laze_thread_state *thread = &block->thread;
  *thread = (laze_thread_state){
      .lazy = lazy, .next = lazy->threads, .scope = &thread->root, .record = &block->record, .run = &block->run};
  thread->root.lazy = lazy;
  thread->root.thread = thread;
  block->record.thread = thread;
  lazy->threads = thread;
  return thread;
}

laze_thread_state *laze_thread_claim(laze_lazy *lazy) {
  laze_thread_state *thread = lazy->threads;
  while (thread && thread->in_use) thread = thread->next;
  if (!thread) thread = create(lazy);
  if (!thread || pthread_setspecific(lazy->key, thread) != 0) return NULL;
  thread->in_use = true;
  return thread;
}

int laze_thread_close(laze_thread_state *thread) {
  int count = 0;
  if (thread->tracer) thread->tracer->drop(thread->tracer);
  for (; thread->scope != &thread->root; count++) laze_scope_drop(thread, thread->scope);
  laze_scope_drop(thread, &thread->root);
  return count;
}

void laze_thread_destroy(laze_thread_state *thread) {
  laze_record_state_deinit(thread->record);
  laze_run_state_deinit(thread->run, thread->lazy->context);
  laze_free(thread->lazy->context, thread);
}

void laze_thread_ended(void *object) {
  laze_thread_state *thread = object;
  laze_lazy *lazy = thread->lazy;
  laze_context *context = lazy->context;
  pthread_mutex_lock(&lazy->lock);
  int open_scopes = laze_thread_close(thread);
  thread->in_use = false;
  laze_lazy_unlock(lazy);
  while (open_scopes-- > 0) laze_context_release(context);
}
