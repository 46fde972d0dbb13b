/* Shared by the files of the disk cache; not for others. */
#ifndef LAZE_RUNTIME_DISK_CACHE_INTERNAL_H
#define LAZE_RUNTIME_DISK_CACHE_INTERNAL_H

#include "runtime/disk_cache.h"

#include <pthread.h>

/* "m-" or "k-", 32 digits, NUL. */
#define LAZE_DISK_NAME_SIZE 35

struct laze_disk_cache {
  laze_context *context; /* borrowed */
  int root;              /* the cache directory, open */
  int directory;         /* the one of this identity, open */
  laze_hash identity;
  int64_t limit;             /* bytes of all modules */
  _Atomic int64_t counter;   /* for names of temporary files */
  _Atomic bool write_failed; /* said so already */
  _Atomic bool read_only;    /* nothing can be written */
  pthread_mutex_t evicting;  /* guards what follows */
  bool scanned;
  int64_t bytes; /* of all modules: as scanned, plus what this process wrote since */
};

/* Serialises a module into memory of the context; NULL when memory is out. *checksum names the module. */
uint8_t *laze_disk_module_encode(const laze_disk_cache *cache, const laze_disk_module *module, int64_t *size,
                                 laze_hash *checksum);
/* Checks and opens `bytes`, which it takes over, also on failure. */
LAZE_MUST_USE laze_status laze_disk_module_decode(const laze_disk_cache *cache, uint8_t *bytes, int64_t size,
                                                  laze_disk_module **out, laze_error *error);

/* Accounts for a module of `bytes` that was written; removes old ones when there are too many bytes. */
void laze_disk_cache_account(laze_disk_cache *cache, int64_t bytes);

/* Says what the cache does when LAZE_DEBUG has `cache`. */
void laze_disk_cache_trace(const laze_disk_cache *cache, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
