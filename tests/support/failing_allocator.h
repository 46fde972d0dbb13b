/* An allocator that counts, and can refuse. */
#ifndef LAZE_TESTS_SUPPORT_FAILING_ALLOCATOR_H
#define LAZE_TESTS_SUPPORT_FAILING_ALLOCATOR_H

#include "laze/context.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct test_failing_allocator {
  _Atomic int64_t live, calls;
  _Atomic int64_t refuse_at; /* the call that fails; 0: none */
  bool refuse_all_after;     /* and those after it */
} test_failing_allocator;

static inline void *test_failing_allocate(void *self, size_t size) {
  test_failing_allocator *state = self;
  int64_t call_number = ++state->calls, refused = state->refuse_at;
  if (refused && (call_number == refused || (state->refuse_all_after && call_number > refused))) return NULL;
  void *memory = malloc(size);
  if (memory) state->live++;
  return memory;
}

static inline void test_failing_release(void *self, void *memory) {
  test_failing_allocator *state = self;
  if (memory) state->live--;
  free(memory);
}

static inline void test_ignore_log(void *self, int32_t severity, const char *message) {
  (void)self, (void)severity, (void)message;
}

/* A context whose memory comes from `state`, with one thread; what it logs is dropped. `debug` as in LAZE_DEBUG;
 * `cache` is the disk cache's folder, "" for none. */
static inline laze_status test_failing_context(test_failing_allocator *state, const char *backend, const char *debug,
                                               const char *cache, laze_context **out) {
  laze_allocator allocator = {test_failing_allocate, test_failing_release, state};
  laze_context_options options = {.struct_size = sizeof options,
                                  .backend = backend,
                                  .debug = debug,
                                  .cache_directory = cache,
                                  .threads = 1,
                                  .allocator = &allocator,
                                  .log = test_ignore_log};
  return laze_context_create(&options, out, NULL);
}

#endif
