/* Code of the caller's that objects of the context call, with the data that it needs: counted by references, of which
 * whoever calls it has one, so that it may be let go of meanwhile. Its `release` is called by the unlock after the last
 * one went, for it may do anything. All functions are called with the context's lock held, but for the last. */
#ifndef LAZE_LAZY_VALUE_CALLBACK_H
#define LAZE_LAZY_VALUE_CALLBACK_H

#include <stdint.h>

typedef struct laze_lazy laze_lazy;

/* The first member of what has such code, in a block of the context's pool. */
typedef struct laze_callback {
  struct laze_callback *next; /* among those that have ended */
  int64_t references, block_size;
  void *self;
  void (*release)(void *self); /* NULL: there is nothing to release */
} laze_callback;

/* A block of `size` bytes, zeroed behind its callback, with one reference; NULL when memory is out. */
void *laze_callback_create(laze_lazy *lazy, int64_t size, void *self, void (*release)(void *self));
static inline void laze_callback_retain(laze_callback *callback) {
  callback->references++;
}
void laze_callback_release(laze_lazy *lazy, laze_callback *callback); /* NULL is ignored */
/* Ends those without references. Unlocks and locks. */
void laze_callbacks_end(laze_lazy *lazy);

#endif
