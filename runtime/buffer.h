/* Tensor memory: reference-counted, aligned blocks, accounted in the context's metrics.
 *
 * A block is either owned (taken from the operating system, contents undefined) or borrowed from a caller who gave a
 * release callback. Owned blocks are recycled through bounded free lists, because a fresh mapping costs a page fault
 * per 4 KiB, and the C library cuts each aligned block out of a larger one; what waits there is not counted in
 * `current_bytes`. All functions may be called from any
 * thread.
 *
 * A buffer does not keep its context alive (caches that live in the context hold buffers): whoever hands a buffer to
 * the outside keeps the context beside it.
 */
#ifndef LAZE_RUNTIME_BUFFER_H
#define LAZE_RUNTIME_BUFFER_H

#include "base/context.h"

/* Alignment in bytes of owned memory. Its length is rounded up to a multiple as well. */
#define LAZE_BUFFER_ALIGNMENT 64
/* Bytes rounded up to whole alignments; at most INT64_MAX - LAZE_BUFFER_ALIGNMENT. */
static inline int64_t laze_buffer_aligned(int64_t bytes) {
  return (bytes + LAZE_BUFFER_ALIGNMENT - 1) / LAZE_BUFFER_ALIGNMENT * LAZE_BUFFER_ALIGNMENT;
}
/* Most bytes a context keeps for recycling. */
#define LAZE_BUFFER_RECYCLE_LIMIT (INT64_C(256) << 20)
/* Owned blocks from this size on are mapped; smaller ones come from the C library. */
#define LAZE_BUFFER_RECYCLE_MINIMUM (INT64_C(64) << 10)

typedef struct laze_buffer_pool laze_buffer_pool;

/* Called once when the last reference to borrowed memory goes, on whichever thread that happens. */
typedef void (*laze_buffer_release_function)(void *self, void *data);

typedef struct laze_buffer {
  void *data;   /* never NULL for owned memory, also when size is 0 */
  int64_t size; /* bytes asked for */
  /* The rest is private to buffer.c. */
  _Atomic int64_t references;
  laze_buffer_pool *pool;
  int64_t capacity; /* bytes taken; 0: borrowed */
  laze_buffer_release_function release;
  void *release_self;
} laze_buffer;

/* Owned memory of `size` bytes with one reference; contents undefined. LAZE_OUT_OF_RANGE when size is negative;
 * LAZE_OUT_OF_MEMORY, naming the size, when it is more than the machine (or its memory control group) has left or the
 * system refuses. */
LAZE_MUST_USE laze_status laze_buffer_create(laze_context *context, int64_t size, laze_buffer **out, laze_error *error);
/* Wraps memory of the caller, of any alignment. `release` may be NULL. On failure it is not called. */
LAZE_MUST_USE laze_status laze_buffer_borrow(laze_context *context, void *data, int64_t size,
                                             laze_buffer_release_function release, void *self, laze_buffer **out,
                                             laze_error *error);
/* The same with what callers of the library pass: `release` gets `self` alone. */
LAZE_MUST_USE laze_status laze_buffer_lend(laze_context *context, void *data, int64_t size, void (*release)(void *self),
                                           void *self, laze_buffer **out, laze_error *error);
/* A buffer in a structure of the caller's, for a call that keeps no reference to it: nothing is allocated, and nothing
 * released. */
void laze_buffer_init_lent(laze_buffer *buffer, void *data, int64_t size);
void laze_buffer_retain(laze_buffer *buffer);
/* Gives one reference back; NULL is ignored. */
void laze_buffer_release(laze_buffer *buffer);
/* True when the caller's reference is the only one and the memory is laze's own, so that it may be written in place. */
bool laze_buffer_is_exclusive(const laze_buffer *buffer);
static inline bool laze_buffer_is_borrowed(const laze_buffer *buffer) {
  return buffer->capacity == 0;
}

/* The part of a context that owns the free lists: made and destroyed by runtime.c. Buffers may outlive the call to
 * destroy (caches in the context are torn down in any order); the pool then goes with the last of them. */
LAZE_MUST_USE laze_status laze_buffer_pool_create(laze_context *context, laze_buffer_pool **out, laze_error *error);
void laze_buffer_pool_destroy(laze_buffer_pool *pool);
/* Bytes waiting on the free lists. */
int64_t laze_buffer_pool_idle_bytes(laze_buffer_pool *pool);
/* Gives everything on the free lists back to the system. */
void laze_buffer_pool_trim(laze_buffer_pool *pool);

#endif
