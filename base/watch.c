/* The function that watches a context, called where work can stop: between kernels, steps, and iterations of loops. */
#include "base/watch.h"

#include <stdio.h>

void laze_watch_init(laze_watch *watch) {
  pthread_mutex_init(&watch->lock, NULL);
}

void laze_watch_deinit(laze_watch *watch) {
  pthread_mutex_destroy(&watch->lock);
}

void laze_context_watch(laze_context *context, laze_watch_function function, void *self) {
  if (!context) context = laze_context_default();
  if (!context) return;
  laze_watch *watch = laze_context_get_watch(context);
  pthread_mutex_lock(&watch->lock);
  watch->function = function;
  watch->self = self;
  atomic_store_explicit(&watch->on, function != NULL, memory_order_release);
  pthread_mutex_unlock(&watch->lock);
}

laze_status laze_context_report(laze_context *context, const char *what, int64_t done, int64_t total,
                                laze_error *error) {
  laze_watch *watch = laze_context_get_watch(context);
  if (!atomic_load_explicit(&watch->on, memory_order_acquire)) return LAZE_OK;
  pthread_mutex_lock(&watch->lock);
  laze_watch_function function = watch->function;
  void *self = watch->self;
  pthread_mutex_unlock(&watch->lock);
  const laze_activity activity = {what, done, total};
  if (!function || function(self, &activity) == 0) return LAZE_OK;
  char of[32] = "";
  if (total >= 0) snprintf(of, sizeof of, " of %lld", (long long)total);
  return laze_fail(error, LAZE_CANCELLED,
                   "%s: stopped by the function that watches the context, at %lld%s; a later read goes on", what,
                   (long long)done, of);
}
