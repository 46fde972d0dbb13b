/* Bytes of its own stand behind the count:
 *
 *   memory ──> owners, context, bytes, release | [padding] | bytes, aligned to 64
 */
#include "base/blob.h"

#include "base/checked.h"

#include <stdatomic.h>

enum { ALIGNMENT = 64 };

struct laze_blob {
  atomic_int owners;
  laze_context *context;
  const void *bytes;
  void (*release)(void *self); /* of bytes that are somebody else's */
  void *self;
};

static laze_blob *create(laze_context *context, int64_t room) {
  int64_t total;
  if (laze_add_overflows(room, (int64_t)sizeof(laze_blob), &total)) return NULL;
  laze_blob *blob = laze_alloc(context, total);
  if (!blob) return NULL;
  atomic_init(&blob->owners, 1);
  blob->context = context;
  blob->bytes = (const void *)(((uintptr_t)(blob + 1) + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
  blob->release = NULL;
  blob->self = NULL;
  return blob;
}

laze_blob *laze_blob_create(laze_context *context, int64_t size) {
  int64_t room;
  return laze_add_overflows(size, ALIGNMENT, &room) ? NULL : create(context, room);
}

laze_blob *laze_blob_borrow(laze_context *context, const void *bytes, void (*release)(void *self), void *self) {
  laze_blob *blob = create(context, 0);
  if (!blob) return NULL;
  blob->bytes = bytes;
  blob->release = release;
  blob->self = self;
  return blob;
}

const void *laze_blob_bytes(const laze_blob *blob) {
  return blob->bytes;
}

void laze_blob_hold(laze_blob *blob) {
  atomic_fetch_add_explicit(&blob->owners, 1, memory_order_relaxed);
}

void laze_blob_release(laze_blob *blob) {
  if (!blob || atomic_fetch_sub_explicit(&blob->owners, 1, memory_order_acq_rel) != 1) return;
  if (blob->release) blob->release(blob->self);
  laze_free(blob->context, blob);
}
