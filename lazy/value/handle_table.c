/* The table of handles: chunks of slots, by number. A context takes a number for each chunk that it makes and gives it
 * back when it goes; the generations that the chunk had reached stay with the number. */
#include "lazy/value/handle_table.h"

#include "base/context.h"

#include <pthread.h>

#define CHUNKS (1 << (LAZE_SLOT_INDEX_BITS - LAZE_SLOT_CHUNK_BITS))
#define SLOT_ALIGNMENT 64 /* of a line of the processor's cache */

_Static_assert(sizeof(laze_slot) == SLOT_ALIGNMENT, "a slot fills a line");

_Atomic(laze_slot *) laze_slot_chunks[CHUNKS];

/* Guards the numbers of chunks: which are in use, and where the slots of one that is not in use go on counting. */
static pthread_mutex_t numbers_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t generations[CHUNKS];
static uint32_t first_free; /* no lower number is free */

/* A number that nobody uses, whose slots have at least half of their generations left; CHUNKS - 1 when all are used. */
static uint32_t take_number(laze_slot *slots) {
  pthread_mutex_lock(&numbers_lock);
  uint32_t number = first_free;
  while (number < CHUNKS - 1 && (laze_slot_chunks[number] || generations[number] > LAZE_SLOT_GENERATIONS / 2)) number++;
  first_free = number;
  for (uint32_t i = 0; i < LAZE_SLOT_CHUNK && number < CHUNKS - 1; i++) {
    slots[i].index = number << LAZE_SLOT_CHUNK_BITS | i;
    slots[i].generation = generations[number];
  }
  if (number < CHUNKS - 1) atomic_store_explicit(&laze_slot_chunks[number], slots, memory_order_release);
  pthread_mutex_unlock(&numbers_lock);
  return number;
}

static void give_number(uint32_t number) {
  const laze_slot *slots = laze_slot_chunks[number];
  uint64_t latest = 0;
  for (int i = 0; i < LAZE_SLOT_CHUNK; i++)
    if (slots[i].generation > latest) latest = slots[i].generation;
  pthread_mutex_lock(&numbers_lock);
  generations[number] = latest;
  laze_slot_chunks[number] = NULL;
  if (number < first_free) first_free = number;
  pthread_mutex_unlock(&numbers_lock);
}

/* What lies before the slots of a chunk. */
typedef struct laze_slot_chunk {
  struct laze_slot_chunk *next; /* of the context */
  laze_slot *slots;
  uint32_t number;
} laze_slot_chunk;

void laze_slots_init(laze_slots *slots, laze_lazy *lazy, laze_context *context) {
  *slots = (laze_slots){.lazy = lazy, .context = context};
}

bool laze_slots_add(laze_slots *slots) {
  const int64_t bytes =
      (int64_t)sizeof(laze_slot_chunk) + SLOT_ALIGNMENT + LAZE_SLOT_CHUNK * (int64_t)sizeof(laze_slot);
  laze_slot_chunk *chunk = laze_alloc_zero(slots->context, bytes);
  if (!chunk) return false;
  uintptr_t first = ((uintptr_t)(chunk + 1) + SLOT_ALIGNMENT - 1) & -(uintptr_t)SLOT_ALIGNMENT;
  chunk->slots = (laze_slot *)((char *)chunk + (first - (uintptr_t)chunk));
  for (int i = 0; i < LAZE_SLOT_CHUNK; i++)
    chunk->slots[i] = (laze_slot){.lazy = slots->lazy, .next = i + 1 < LAZE_SLOT_CHUNK ? &chunk->slots[i + 1] : NULL};
  chunk->number = take_number(chunk->slots);
  if (chunk->number == CHUNKS - 1) {
    laze_free(slots->context, chunk);
    return false;
  }
  chunk->next = slots->chunks;
  slots->chunks = chunk;
  slots->free = chunk->slots;
  return true;
}

void laze_slots_deinit(laze_slots *slots) {
  for (laze_slot_chunk *chunk = slots->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    give_number(chunk->number);
    laze_free(slots->context, chunk);
  }
}
