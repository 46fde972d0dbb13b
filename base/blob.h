/* Bytes that several owners share and nobody changes: the elements of large constants, which graphs made from one
 * another have in common. Counted; any thread may hold and release. All owners keep the context alive. */
#ifndef LAZE_BASE_BLOB_H
#define LAZE_BASE_BLOB_H

#include "base/context.h"

typedef struct laze_blob laze_blob;

/* `size` bytes, aligned to 64, held once, to be filled before anybody else sees them; NULL when memory is out. */
laze_blob *laze_blob_create(laze_context *context, int64_t size);
/* Bytes of somebody else, held once: `release` (may be NULL) is called with the last owner. NULL when memory is out;
 * then it is not called. */
laze_blob *laze_blob_borrow(laze_context *context, const void *bytes, void (*release)(void *self), void *self);
const void *laze_blob_bytes(const laze_blob *blob);
void laze_blob_hold(laze_blob *blob);
/* Gives the bytes back with their last owner. NULL is nothing. */
void laze_blob_release(laze_blob *blob);

#endif
