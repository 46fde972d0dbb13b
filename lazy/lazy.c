/* The lazy object of a context: made on first use, locked around whatever records or looks up, destroyed with the
 * context. */
#include "lazy/lazy.h"

#include "lazy/run/trace_cache.h"
#include "lazy/thread.h"
#include "lazy/value/callback.h"
#include "runtime/buffer.h"
#include "runtime/runtime.h"

enum { DEFAULT_BUDGET_NODES = 100000 };

static void lazy_destroy(void *object) {
  laze_lazy *lazy = object;
  pthread_key_delete(lazy->key);
  pthread_mutex_lock(&lazy->lock);
  for (laze_thread_state *thread = lazy->threads; thread; thread = thread->next)
    (void)laze_thread_close(thread); /* open scopes keep the context alive, so that there are none */
  laze_lazy_unlock(lazy);
  for (laze_thread_state *thread = lazy->threads, *next; thread; thread = next) {
    next = thread->next;
    laze_thread_destroy(thread);
  }
  laze_cache_destroy(lazy->traces);
  laze_slots_deinit(&lazy->slots);
  laze_unknowns_deinit(&lazy->unknowns, lazy->context);
  laze_pool_deinit(&lazy->pool);
  laze_free(lazy->context, lazy->garbage);
  laze_free(lazy->context, lazy->hooks.items);
  pthread_mutex_destroy(&lazy->lock);
  pthread_cond_destroy(&lazy->run_ended);
  laze_free(lazy->context, lazy);
}

static laze_status lazy_create(laze_context *context, void **out, laze_error *error) {
  /* Made first, so that it is destroyed after what holds buffers here. */
  laze_runtime *runtime;
  LAZE_TRY(laze_runtime_get(context, &runtime, error));
  laze_lazy *lazy = laze_alloc_zero(context, sizeof *lazy);
  if (!lazy) return laze_fail_memory(error, "the lazy layer", sizeof *lazy);
  lazy->context = context;
  lazy->budget.nodes = DEFAULT_BUDGET_NODES;
  laze_pool_init(&lazy->pool, context);
  laze_slots_init(&lazy->slots, lazy, context);
  laze_status status = laze_trace_cache_create(context, &lazy->traces, error);
  if (status == LAZE_OK && pthread_key_create(&lazy->key, laze_thread_ended) != 0)
    status = laze_fail(error, LAZE_OUT_OF_MEMORY, "too many contexts: the system has no thread-local keys left");
  if (status != LAZE_OK) {
    laze_cache_destroy(lazy->traces);
    laze_free(context, lazy);
    return status;
  }
  pthread_mutex_init(&lazy->lock, NULL);
  pthread_cond_init(&lazy->run_ended, NULL);
  *out = lazy;
  return LAZE_OK;
}

laze_lazy *laze_lazy_get(laze_context *context) {
  if (!context) context = laze_context_default();
  static const laze_context_object_class class = {LAZE_CONTEXT_LAZY, lazy_create, lazy_destroy};
  void *object;
  laze_error error;
  if (!context) return NULL; /* there was no memory for it; what else was wrong it has said */
  if (laze_context_object(context, &class, &object, &error) == LAZE_OK) return object;
  /* No handle can tell: there is none but the one that stands for "memory is out". */
  laze_log_advice(context, LAZE_ADVICE_NO_LAZY, "no tensor can be made in this context: %s", error.message);
  return NULL;
}

laze_thread_state *laze_lazy_lock(laze_lazy *lazy) {
  laze_thread_state *thread = pthread_getspecific(lazy->key);
  pthread_mutex_lock(&lazy->lock);
  if (!thread) thread = laze_thread_claim(lazy);
  if (!thread) pthread_mutex_unlock(&lazy->lock);
  return thread;
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

static void tell(laze_lazy *lazy, laze_metric metric, int64_t *amount) {
  if (*amount != 0) laze_metrics_add(laze_context_metrics(lazy->context), metric, *amount);
  *amount = 0;
}

void laze_lazy_unlock(laze_lazy *lazy) {
  tell(lazy, LAZE_METRIC_NODES_RECORDED, &lazy->counts.recorded);
  tell(lazy, LAZE_METRIC_NODES_REUSED, &lazy->counts.reused);
  tell(lazy, LAZE_METRIC_AUTOGRAD_NODES, &lazy->counts.grad_nodes);
  tell(lazy, LAZE_METRIC_SAVED_BYTES, &lazy->counts.saved_bytes);
  while (lazy->garbage_count > 0) {
    laze_buffer *batch[32];
    int count = 0;
    while (count < 32 && lazy->garbage_count > 0) batch[count++] = lazy->garbage[--lazy->garbage_count];
    pthread_mutex_unlock(&lazy->lock);
    for (int i = 0; i < count; i++) laze_buffer_release(batch[i]);
    pthread_mutex_lock(&lazy->lock);
  }
  if (lazy->ended) laze_callbacks_end(lazy);
  pthread_mutex_unlock(&lazy->lock);
}

void laze_set_budget(laze_context *context, int64_t nodes, int64_t bytes) {
  laze_lazy *lazy = laze_lazy_get(context);
  if (!lazy) return;
  pthread_mutex_lock(&lazy->lock);
  lazy->budget.nodes = nodes > 0 ? nodes : 0;
  lazy->budget.bytes = bytes > 0 ? bytes : 0;
  pthread_mutex_unlock(&lazy->lock);
}
