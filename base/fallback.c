/* Forced operators: a list, as there are hardly ever any. */
#include "base/fallback.h"

#include "base/context.h"

#include <string.h>

void laze_fallbacks_init(laze_fallbacks *fallbacks, laze_context *context) {
  *fallbacks = (laze_fallbacks){.context = context};
  pthread_mutex_init(&fallbacks->lock, NULL);
}

void laze_fallbacks_deinit(laze_fallbacks *fallbacks) {
  for (laze_forced *entry = fallbacks->first, *next; entry; entry = next) {
    next = entry->next;
    laze_free(fallbacks->context, entry);
  }
  pthread_mutex_destroy(&fallbacks->lock);
}

/* The link to it, or to the end; the lock is held. */
static laze_forced **find(laze_fallbacks *fallbacks, const char *name) {
  laze_forced **link = &fallbacks->first;
  while (*link && strcmp((*link)->name, name) != 0) link = &(*link)->next;
  return link;
}

static void note_change(laze_fallbacks *fallbacks, int32_t change) {
  atomic_fetch_add(&fallbacks->count, change);
  atomic_fetch_add(&fallbacks->settings, 1);
}

laze_status laze_fallbacks_force(laze_fallbacks *fallbacks, const char *name, bool forced, laze_error *error) {
  const size_t size = strlen(name) + 1;
  laze_status status = LAZE_OK;
  pthread_mutex_lock(&fallbacks->lock);
  laze_forced **link = find(fallbacks, name), *entry = *link;
  if (entry && !forced) {
    *link = entry->next;
    laze_free(fallbacks->context, entry);
    note_change(fallbacks, -1);
  } else if (!entry && forced) {
    entry = laze_alloc(fallbacks->context, (int64_t)(sizeof *entry + size));
    if (entry) {
      entry->next = NULL;
      memcpy(entry->name, name, size);
      *link = entry;
      note_change(fallbacks, 1);
    } else {
      status = laze_fail_memory(error, "a setting", -1);
    }
  }
  pthread_mutex_unlock(&fallbacks->lock);
  return status;
}

bool laze_fallbacks_is_forced(laze_fallbacks *fallbacks, const char *name) {
  if (atomic_load_explicit(&fallbacks->count, memory_order_relaxed) == 0) return false;
  pthread_mutex_lock(&fallbacks->lock);
  const bool forced = *find(fallbacks, name) != NULL;
  pthread_mutex_unlock(&fallbacks->lock);
  return forced;
}

bool laze_fallbacks_set_strict(laze_fallbacks *fallbacks, bool strict) {
  const bool before = atomic_exchange(&fallbacks->strict, strict) != 0;
  if (before != strict) atomic_fetch_add(&fallbacks->settings, 1);
  return before;
}
