/* What the runtime keeps per context.
 *
 * The runtime turns compiled kernels and a memory plan into results. This header is its front door; the parts are
 *   buffer.h         tensor memory
 *   thread_pool.h    parallel loops
 *   object_loader.h  machine code from an object file into memory
 *   disk_cache.h     such objects on disk
 *   build_id.h       which build of the code generator wrote them
 *   npy.c            arrays in files (laze/npy.h)
 */
#ifndef LAZE_RUNTIME_RUNTIME_H
#define LAZE_RUNTIME_RUNTIME_H

#include "base/context.h"

typedef struct laze_buffer_pool laze_buffer_pool;
typedef struct laze_thread_pool laze_thread_pool;

typedef struct laze_runtime {
  laze_context *context; /* borrowed: this structure is part of it */
  laze_buffer_pool *buffers;
  laze_thread_pool *threads; /* its workers start with the first parallel loop */
} laze_runtime;

/* The runtime of a context, made on first use; borrowed, lives as long as the context. */
LAZE_MUST_USE laze_status laze_runtime_get(laze_context *context, laze_runtime **out, laze_error *error);

#endif
