/* Bytes that several owners share and nobody changes: the elements of large constants, which graphs made from one
 * another have in common. Counted; any thread may hold and release. */
#ifndef LAZE_BASE_BLOB_H
#define LAZE_BASE_BLOB_H

#include "base/context.h"

/* `size` bytes, aligned to 64, held once, to be filled before anybody else sees them; NULL when memory is out. All
 * owners keep the context alive. */
void *laze_blob_create(laze_context *context, int64_t size);
/* `bytes` is what laze_blob_create gave. */
void laze_blob_hold(const void *bytes);
/* Frees the bytes with their last owner. NULL is nothing. */
void laze_blob_release(const void *bytes);

#endif
