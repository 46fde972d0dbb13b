/* A list in the order of names: there are few, and what is counted here takes longer than finding it. */
#include "base/counters.h"

#include "base/context.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LETTERS = 160 };

void laze_counters_init(laze_counters *counters, laze_context *context) {
  *counters = (laze_counters){.context = context};
  pthread_mutex_init(&counters->lock, NULL);
}

void laze_counters_deinit(laze_counters *counters) {
  for (laze_counter *counter = counters->first, *next; counter; counter = next) {
    next = counter->next;
    laze_free(counters->context, counter);
  }
  pthread_mutex_destroy(&counters->lock);
}

/* The link to the first counter that is not before the name; the lock is held. */
static laze_counter **find(laze_counters *counters, const char *name) {
  laze_counter **link = &counters->first;
  while (*link && strcmp((*link)->name, name) < 0) link = &(*link)->next;
  return link;
}

void laze_counters_add(laze_counters *counters, const char *kind, const char *name, int64_t amount) {
  char whole[MOST_LETTERS];
  if (snprintf(whole, sizeof whole, "%s::%s", kind, name) >= (int)sizeof whole) return;
  pthread_mutex_lock(&counters->lock);
  laze_counter **link = find(counters, whole), *counter = *link;
  if (!counter || strcmp(counter->name, whole) != 0) {
    const size_t size = strlen(whole) + 1;
    counter = laze_alloc(counters->context, (int64_t)(sizeof *counter + size));
    if (counter) {
      *counter = (laze_counter){.next = *link};
      memcpy(counter->name, whole, size);
      *link = counter;
    }
  }
  if (counter) atomic_fetch_add_explicit(&counter->value, amount, memory_order_relaxed);
  pthread_mutex_unlock(&counters->lock);
}

bool laze_counters_read(laze_counters *counters, const char *name, int64_t *value) {
  if (strncmp(name, "fallback::", 10) != 0 && strncmp(name, "kernel::", 8) != 0) return false;
  pthread_mutex_lock(&counters->lock);
  const laze_counter *counter = *find(counters, name);
  *value = counter && strcmp(counter->name, name) == 0 ? atomic_load(&counter->value) : 0;
  pthread_mutex_unlock(&counters->lock);
  return true;
}

void laze_counters_each(laze_counters *counters, void (*visit)(void *self, const char *name, int64_t value),
                        void *self) {
  pthread_mutex_lock(&counters->lock);
  laze_counter *counter = counters->first;
  while (counter) { /* which stays, whatever is counted meanwhile */
    const int64_t value = atomic_load(&counter->value);
    pthread_mutex_unlock(&counters->lock);
    visit(self, counter->name, value);
    pthread_mutex_lock(&counters->lock);
    counter = counter->next;
  }
  pthread_mutex_unlock(&counters->lock);
}

void laze_counters_reset(laze_counters *counters) {
  pthread_mutex_lock(&counters->lock);
  for (laze_counter *counter = counters->first; counter; counter = counter->next) atomic_store(&counter->value, 0);
  pthread_mutex_unlock(&counters->lock);
}
