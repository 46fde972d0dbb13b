/* Handles are numbers that are looked up, never addresses that are followed:
 *
 *   handle   generation (38 bits) | index (26 bits)
 *                                      │
 *   chunks   [ index / 512 ] ──> 512 slots of one context ──> slot: is its generation that of the handle?
 *
 * A slot's generation grows when it is taken and when it is freed, so that it is odd while a handle of it lives, and a
 * slot that has used up its generations is left out for good. The table is the process's and a chunk's number outlives
 * its context: the next chunk of that number goes on counting where the last one stopped. So no handle is ever made
 * twice, and a value that is no live handle (released, of a context that is gone, never one) finds nothing.
 */
#ifndef LAZE_LAZY_VALUE_HANDLE_TABLE_H
#define LAZE_LAZY_VALUE_HANDLE_TABLE_H

#include "laze/tensor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct laze_grad_node laze_grad_node;
typedef struct laze_lazy laze_lazy;
typedef struct laze_open_scope laze_open_scope;
typedef struct laze_quote laze_quote;
typedef struct laze_storage laze_storage;

#define LAZE_SLOT_INDEX_BITS 26
#define LAZE_SLOT_CHUNK_BITS 9
#define LAZE_SLOT_CHUNK (1 << LAZE_SLOT_CHUNK_BITS)
#define LAZE_SLOT_INDEX_MASK ((UINT64_C(1) << LAZE_SLOT_INDEX_BITS) - 1)
/* The first generation that no handle can have. */
#define LAZE_SLOT_GENERATIONS (UINT64_C(1) << (64 - LAZE_SLOT_INDEX_BITS))

_Static_assert(sizeof(uintptr_t) == 8, "a handle is a number of 64 bits");

/* What a handle stands for, a tensor's or a scope's. */
typedef struct laze_slot {
  laze_lazy *lazy;           /* never changes */
  laze_storage *storage;     /* NULL: of a scope */
  struct laze_slot *next;    /* of its scope, or of the free list */
  laze_open_scope *scope;    /* NULL once the scope has ended; of a scope itself */
  laze_quote *errors;        /* of reads, the last one first */
  uint64_t generation;       /* odd: in use */
  laze_grad_node *grad_node; /* where its gradient goes (lazy/value/grad_node.h): result `grad_result` of that node, of
                                which this is a reference; NULL: it needs none */
  uint32_t index : LAZE_SLOT_INDEX_BITS, grad_result : 32 - LAZE_SLOT_INDEX_BITS;
  uint32_t retains : 28, assigned : 1, holding : 1;
  uint32_t kept : 1;   /* nobody has its handle: a gradient is kept there (lazy/value/grad_node.h) */
  uint32_t unsaid : 1; /* there was no memory to put an error of a read among `errors` */
} laze_slot;

/* The slots of a context. */
typedef struct laze_slots {
  laze_lazy *lazy;       /* whose they are */
  laze_context *context; /* borrowed */
  laze_slot *free;
  struct laze_slot_chunk *chunks; /* owned */
} laze_slots;

/* Slots of each chunk; NULL where there is none. The last chunk is never made: its indices are for handles that have no
 * slot. */
extern _Atomic(laze_slot *) laze_slot_chunks[1 << (LAZE_SLOT_INDEX_BITS - LAZE_SLOT_CHUNK_BITS)];

/* The slot that a handle's index names, whatever its generation; NULL: there is none. Any value may be asked for. */
static inline laze_slot *laze_slot_at(const laze_tensor *tensor) {
  uint64_t index = (uintptr_t)tensor & LAZE_SLOT_INDEX_MASK;
  laze_slot *slots = atomic_load_explicit(&laze_slot_chunks[index >> LAZE_SLOT_CHUNK_BITS], memory_order_acquire);
  return slots ? &slots[index & (LAZE_SLOT_CHUNK - 1)] : NULL;
}

static inline laze_tensor *laze_slot_handle(const laze_slot *slot) {
  return (laze_tensor *)(uintptr_t)(slot->generation << LAZE_SLOT_INDEX_BITS | slot->index);
}

/* What a failed call returns when there is no memory for an error handle; it needs no release. An index of the chunk
 * that is never made, and the generation of a slot that is free. */
static inline laze_tensor *laze_handle_out_of_memory(void) {
  return (laze_tensor *)(uintptr_t)((LAZE_SLOT_GENERATIONS - 2) << LAZE_SLOT_INDEX_BITS | LAZE_SLOT_INDEX_MASK);
}

/* The context of a handle, without a lock, also of a released one. NULL: the handle is NULL, stands for "memory is
 * out", or is none of a context that lives. */
static inline laze_lazy *laze_handle_lazy(const laze_tensor *tensor) {
  const laze_slot *slot = tensor ? laze_slot_at(tensor) : NULL;
  return slot ? slot->lazy : NULL;
}

/* Whether the handle is that of the slot's own generation, and a tensor's. Call it locked. */
static inline bool laze_slot_is_live(const laze_slot *slot, const laze_tensor *tensor) {
  return slot->storage && slot->generation % 2 == 1 && laze_slot_handle(slot) == tensor;
}

/* Whether the handle is that of the slot's own generation, and a scope's. Call it locked. */
static inline bool laze_slot_is_scope(const laze_slot *slot, const laze_scope *scope) {
  return slot->scope && !slot->storage && laze_slot_handle(slot) == (const laze_tensor *)scope;
}

/* The slot of a handle, or NULL when it is no handle, or no longer. Reads the generation: call it locked, with the
 * handle's own context; so everything below. */
static inline laze_slot *laze_handle_slot(const laze_tensor *tensor) {
  laze_slot *slot = laze_slot_at(tensor);
  return slot && laze_slot_is_live(slot, tensor) ? slot : NULL;
}

void laze_slots_init(laze_slots *slots, laze_lazy *lazy, laze_context *context);
/* Frees the slots of a context, all of which are free. */
void laze_slots_deinit(laze_slots *slots);
/* Makes free slots of the context; false when memory is out. */
bool laze_slots_add(laze_slots *slots);

/* A free slot of the context, with a generation of its own; NULL when memory is out. */
static inline laze_slot *laze_slot_take(laze_slots *slots) {
  if (!slots->free && !laze_slots_add(slots)) return NULL;
  laze_slot *slot = slots->free;
  slots->free = slot->next;
  slot->generation++;
  return slot;
}

/* Ends the slot's generation. One that has no other left is not used again. */
static inline void laze_slot_give(laze_slots *slots, laze_slot *slot) {
  slot->generation++;
  if (slot->generation == LAZE_SLOT_GENERATIONS) return;
  slot->next = slots->free;
  slots->free = slot;
}

#endif
