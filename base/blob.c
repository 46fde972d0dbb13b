/* The count stands before the bytes:
 *
 *   memory ──> [padding] owners, context, memory | bytes, aligned to 64
 */
#include "base/blob.h"

#include "base/checked.h"

#include <stdatomic.h>

enum { ALIGNMENT = 64 };

typedef struct {
  atomic_int owners;
  laze_context *context;
  void *memory; /* as the allocator gave it */
} header;

static header *header_of(const void *bytes) {
  return (header *)((uintptr_t)bytes - ALIGNMENT);
}

void *laze_blob_create(laze_context *context, int64_t size) {
  int64_t total;
  _Static_assert(sizeof(header) <= ALIGNMENT, "the header fits before the bytes");
  if (laze_add_overflows(size, 2 * ALIGNMENT, &total)) return NULL;
  void *memory = laze_alloc(context, total);
  if (!memory) return NULL;
  void *bytes = (void *)(((uintptr_t)memory + 2 * ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
  header *front = header_of(bytes);
  atomic_init(&front->owners, 1);
  front->context = context;
  front->memory = memory;
  return bytes;
}

void laze_blob_hold(const void *bytes) {
  atomic_fetch_add_explicit(&header_of(bytes)->owners, 1, memory_order_relaxed);
}

void laze_blob_release(const void *bytes) {
  if (!bytes) return;
  header *front = header_of(bytes);
  if (atomic_fetch_sub_explicit(&front->owners, 1, memory_order_acq_rel) == 1) laze_free(front->context, front->memory);
}
