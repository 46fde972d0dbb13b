/* The one signature of every kernel, whether native, interpreted or from a library. */
#ifndef LAZE_RUNTIME_KERNEL_H
#define LAZE_RUNTIME_KERNEL_H

#include "base/context.h"
#include "base/hash.h"

/* Goes into the disk cache's key: raised when anything below changes. */
#define LAZE_KERNEL_ABI_VERSION 4

/* Where a kernel notes, for each of its checks, the lowest position at which an index was out of range. A kernel goes
 * on then, with 0 for the index. */
#define LAZE_KERNEL_FAILED (-1)
typedef struct laze_kernel_failure {
  int64_t position; /* in the tensor of indices that the operator got, row-major; INT64_MAX while none was found;
                       LAZE_KERNEL_FAILED: it is no index that failed, and `reason` of the arguments says what did */
  int64_t index;    /* the value found there */
  int64_t size;     /* the size of the axis it indexes */
  int64_t length;   /* how many elements from there on must lie in the axis */
} laze_kernel_failure;

/* Notes that a check failed for another reason than an index. */
static inline void laze_kernel_fail(laze_kernel_failure *failures, int32_t check, laze_error *reason,
                                    const laze_error *error) {
  failures[check] = (laze_kernel_failure){.position = LAZE_KERNEL_FAILED};
  *reason = *error;
}

typedef struct laze_kernel_arguments {
  void *const *buffers;          /* in the order the kernel declares them; row-major, no two overlap unless equal */
  const int64_t *sizes;          /* run-time integers the kernel declares: extents and strides in elements */
  laze_kernel_failure *failures; /* one for each check of the kernel, of this call alone */
  const void *closure;           /* the kernel's own data; NULL for native kernels */
  laze_error *reason;            /* why a check failed that is none of an index: of one that runs on one thread */
  laze_error *stopped;           /* why a loop inside was stopped on the way (laze_context_report); NULL: none can be */
} laze_kernel_arguments;

/* Runs iterations [begin, end) of the outermost axis. Different ranges may run on different threads at once. `scratch`
 * is private to the call. */
typedef void (*laze_kernel_function)(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch);

/* A kernel: refcounted, immutable, shared by programs and the kernel cache. */
typedef struct laze_kernel {
  _Atomic int64_t references;
  laze_context *context; /* borrowed: whoever runs it keeps the context alive */
  laze_kernel_function function;
  const void *closure;
  void *owner; /* what keeps function and closure alive */
  void (*release_owner)(void *owner);
  const char *name;       /* for reports; owned */
  laze_hash key;          /* native kernels */
  int64_t bytes;          /* of what `owner` has for this kernel */
  bool counted;           /* in kernel_cache_bytes */
  _Atomic bool from_disk; /* read from the disk cache and not asked for yet: for disk_cache_hits */
} laze_kernel;

/* Makes a kernel with one reference; takes over `owner` (released at once on failure). `name` is copied. */
LAZE_MUST_USE laze_status laze_kernel_create(laze_context *context, const char *name, laze_kernel_function function,
                                             const void *closure, void *owner, void (*release_owner)(void *owner),
                                             laze_kernel **out, laze_error *error);
/* Bytes that a kernel takes, its part of the owner's included. */
int64_t laze_kernel_weight(const laze_kernel *kernel);
/* Counts a kernel that programs share in kernel_cache_bytes for as long as it lives. */
void laze_kernel_count(laze_kernel *kernel);
void laze_kernel_retain(laze_kernel *kernel);
void laze_kernel_release(laze_kernel *kernel); /* NULL is ignored */

#endif
