#include "lazy/lazy.h"

#include "lazy/handle_table.h"
#include "lazy/trace.h"
#include "lazy/trace_cache.h"
#include "runtime/runtime.h"

#include <string.h>

#define DEFAULT_BUDGET_NODES 100000

static void recorder_deinit(laze_lazy_recorder *recorder) {
  laze_context *context = recorder->lazy->context;
  laze_free(context, recorder->values);
  laze_free(context, recorder->types);
  laze_free(context, recorder->operands);
  laze_trace_deinit(&recorder->trace, context);
  laze_script_clear(recorder);
  laze_free(context, recorder);
}

/* Ends the scopes a thread or a dying context leaves behind, so that their handles go. Returns how many there were,
 * for each has a reference of the context. */
static int recorder_close(laze_lazy_recorder *recorder) {
  int count = 0;
  for (; recorder->scope != &recorder->root; count++) laze_scope_drop(recorder, recorder->scope);
  laze_scope_drop(recorder, &recorder->root);
  return count;
}

static void lazy_destroy(void *object) {
  laze_lazy *lazy = object;
  pthread_key_delete(lazy->key);
  pthread_mutex_lock(&lazy->lock);
  for (laze_lazy_recorder *recorder = lazy->recorders; recorder; recorder = recorder->next)
    (void)recorder_close(recorder); /* open scopes keep the context alive, so that there are none */
  laze_lazy_unlock(lazy);
  for (laze_lazy_recorder *recorder = lazy->recorders, *next; recorder; recorder = next) {
    next = recorder->next;
    recorder_deinit(recorder);
  }
  laze_cache_destroy(lazy->traces);
  laze_slots_destroy(lazy);
  laze_pool_deinit(&lazy->pool);
  laze_free(lazy->context, lazy->garbage);
  pthread_mutex_destroy(&lazy->lock);
  laze_free(lazy->context, lazy);
}

/* A thread ends: its handles are released, and its recorder waits for the next thread. */
static void thread_ended(void *object) {
  laze_lazy_recorder *recorder = object;
  laze_lazy *lazy = recorder->lazy;
  laze_context *context = lazy->context;
  pthread_mutex_lock(&lazy->lock);
  int open_scopes = recorder_close(recorder);
  recorder->in_use = false;
  laze_lazy_unlock(lazy);
  while (open_scopes-- > 0) laze_context_release(context);
}

static laze_status lazy_create(laze_context *context, void **out, laze_error *error) {
  /* Made first, so that it is destroyed after what holds buffers here. */
  if (!laze_runtime_get(context, error)) return error ? error->code : LAZE_OUT_OF_MEMORY;
  laze_lazy *lazy = laze_alloc_zero(context, sizeof *lazy);
  if (!lazy) return laze_fail_memory(error, "the lazy layer", sizeof *lazy);
  lazy->context = context;
  lazy->budget_nodes = DEFAULT_BUDGET_NODES;
  laze_pool_init(&lazy->pool, context);
  laze_status status = laze_trace_cache_create(context, &lazy->traces, error);
  if (status == LAZE_OK && pthread_key_create(&lazy->key, thread_ended) != 0)
    status = laze_fail(error, LAZE_OUT_OF_MEMORY, "too many contexts: the system has no thread-local keys left");
  if (status != LAZE_OK) {
    laze_cache_destroy(lazy->traces);
    laze_free(context, lazy);
    return status;
  }
  pthread_mutex_init(&lazy->lock, NULL);
  *out = lazy;
  return LAZE_OK;
}

laze_lazy *laze_lazy_get(laze_context *context) {
  if (!context) context = laze_context_default();
  return context ? laze_context_object(context, LAZE_SLOT_LAZY, lazy_create, lazy_destroy, NULL) : NULL;
}

/* A recorder for this thread: one that a thread has left, or a new one. */
static laze_lazy_recorder *recorder_claim(laze_lazy *lazy) {
  laze_lazy_recorder *recorder = lazy->recorders;
  while (recorder && recorder->in_use) recorder = recorder->next;
  if (!recorder) {
    recorder = laze_alloc_zero(lazy->context, sizeof *recorder);
    if (!recorder) return NULL;
    recorder->lazy = lazy;
    recorder->root.lazy = lazy;
    recorder->root.recorder = recorder;
    recorder->scope = &recorder->root;
    recorder->next = lazy->recorders;
    lazy->recorders = recorder;
  }
  if (pthread_setspecific(lazy->key, recorder) != 0) return NULL;
  recorder->in_use = true;
  return recorder;
}

laze_lazy_recorder *laze_lazy_lock(laze_lazy *lazy) {
  laze_lazy_recorder *recorder = pthread_getspecific(lazy->key);
  pthread_mutex_lock(&lazy->lock);
  if (!recorder) recorder = recorder_claim(lazy);
  if (!recorder) pthread_mutex_unlock(&lazy->lock);
  return recorder;
}

void laze_lazy_drop_buffer(laze_lazy *lazy, laze_buffer *buffer) {
  void *array = lazy->garbage;
  if (laze_grow(lazy->context, &array, &lazy->garbage_capacity, lazy->garbage_count + 1, sizeof(laze_buffer *), NULL) !=
      LAZE_OK) {
    laze_buffer_release(buffer); /* under the lock: a callback that used laze would hang, but memory is out */
    return;
  }
  lazy->garbage = array;
  lazy->garbage[lazy->garbage_count++] = buffer;
}

void laze_lazy_unlock(laze_lazy *lazy) {
  while (lazy->garbage_count > 0) {
    laze_buffer *batch[32];
    int count = 0;
    while (count < 32 && lazy->garbage_count > 0) batch[count++] = lazy->garbage[--lazy->garbage_count];
    pthread_mutex_unlock(&lazy->lock);
    for (int i = 0; i < count; i++) laze_buffer_release(batch[i]);
    pthread_mutex_lock(&lazy->lock);
  }
  pthread_mutex_unlock(&lazy->lock);
}

void laze_set_budget(laze_context *context, int64_t nodes, int64_t bytes) {
  laze_lazy *lazy = laze_lazy_get(context);
  if (!lazy) return;
  pthread_mutex_lock(&lazy->lock);
  lazy->budget_nodes = nodes > 0 ? nodes : 0;
  lazy->budget_bytes = bytes > 0 ? bytes : 0;
  pthread_mutex_unlock(&lazy->lock);
}
