/* What a context says of operators without native code, or that are to do without it: settings that compiled code
 * depends on. Thread-safe. */
#ifndef LAZE_BASE_FALLBACK_H
#define LAZE_BASE_FALLBACK_H

#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

typedef struct laze_context laze_context;

typedef struct laze_forced {
  struct laze_forced *next;
  char name[]; /* of an operator */
} laze_forced;

typedef struct laze_fallbacks {
  laze_context *context; /* borrowed: they are part of it */
  pthread_mutex_t lock;  /* of the list */
  laze_forced *first;
  _Atomic int32_t count;     /* of the list */
  _Atomic int32_t strict;    /* operators without native code are errors */
  _Atomic uint32_t settings; /* grows with each change: caches of compiled code have it in their keys */
} laze_fallbacks;

void laze_fallbacks_init(laze_fallbacks *fallbacks, laze_context *context);
void laze_fallbacks_deinit(laze_fallbacks *fallbacks);
/* Has an operator forced from now on, or not. Fails when memory is out. */
LAZE_MUST_USE laze_status laze_fallbacks_force(laze_fallbacks *fallbacks, const char *name, bool forced,
                                               laze_error *error);
bool laze_fallbacks_is_forced(laze_fallbacks *fallbacks, const char *name);
/* Returns what it was. */
bool laze_fallbacks_set_strict(laze_fallbacks *fallbacks, bool strict);

#endif
