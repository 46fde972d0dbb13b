/* Callbacks end in two steps: their last reference goes with the lock held, and their data without it. */
#include "lazy/value/callback.h"

#include "lazy/lazy.h"

#include <string.h>

void *laze_callback_create(laze_lazy *lazy, int64_t size, void *self, void (*release)(void *self)) {
  laze_callback *callback = laze_pool_take(&lazy->pool, size);
  if (!callback) return NULL;
  memset(callback, 0, (size_t)size);
  *callback = (laze_callback){.references = 1, .block_size = size, .self = self, .release = release};
  return callback;
}

void laze_callback_release(laze_lazy *lazy, laze_callback *callback) {
  if (!callback || --callback->references > 0) return;
  callback->next = lazy->ended;
  lazy->ended = callback;
}

void laze_callbacks_end(laze_lazy *lazy) {
  while (lazy->ended) {
    laze_callback *callback = lazy->ended;
    lazy->ended = callback->next;
    if (callback->release) {
      pthread_mutex_unlock(&lazy->lock);
      callback->release(callback->self);
      pthread_mutex_lock(&lazy->lock);
    }
    laze_pool_give(&lazy->pool, callback, callback->block_size);
  }
}
