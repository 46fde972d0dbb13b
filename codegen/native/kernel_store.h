/* Kernels by their key: in this process, on disk, and what neither has through the generator. One store for each
 * context. */
#ifndef LAZE_CODEGEN_NATIVE_KERNEL_STORE_H
#define LAZE_CODEGEN_NATIVE_KERNEL_STORE_H

#include "base/cache.h"
#include "codegen/loop/loop.h"
#include "codegen/native/generator.h"
#include "runtime/disk_pack.h"
#include "runtime/kernel.h"

typedef struct laze_kernel_store {
  laze_context *context; /* borrowed: this structure is part of it */
  laze_cache *kernels;   /* laze_kernel by kernel key */
  laze_target target;    /* the host */
  laze_generator generator;
  pthread_mutex_t lock; /* of what follows, made on first use */
  bool disk_opened;
  laze_disk_cache *disk; /* NULL: none */
} laze_kernel_store;

/* The context's store, made on first use; borrowed. */
LAZE_MUST_USE laze_status laze_kernel_store_get(laze_context *context, laze_kernel_store **out, laze_error *error);

/* Finds or makes a kernel for each loop kernel. `out[i]` is a new reference; on failure all are NULL. Thread-safe:
 * several threads may compile at once. */
LAZE_MUST_USE laze_status laze_kernel_store_find(laze_kernel_store *store, const laze_loop_kernel *const *loops,
                                                 int32_t count, laze_kernel **out, laze_error *error);

/* Adds the kernels of loops to a pack: modules of the disk cache that have them, and code that is generated for it.
 * None, where there is no telling which code generator it is of. */
LAZE_MUST_USE laze_status laze_kernel_store_pack(laze_kernel_store *store, const laze_loop_kernel *const *loops,
                                                 int32_t count, laze_disk_pack *pack, laze_error *error);
/* Takes the kernels of a pack. LAZE_FAILED_PRECONDITION: they are of another code generator or processor. */
LAZE_MUST_USE laze_status laze_kernel_store_unpack(laze_kernel_store *store, const void *bytes, int64_t size,
                                                   laze_error *error);

#endif
