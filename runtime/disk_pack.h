/* Kernels that leave the process with a program that is saved: modules as the disk cache writes them
 * (runtime/disk_cache.h), behind each other in memory.
 *
 *   identity and target, 16 bytes each     which code generator made them, and for which processor
 *   size, 8 bytes; 8 zeros; a module; zeros to a multiple of 16     and so on
 */
#ifndef LAZE_RUNTIME_DISK_PACK_H
#define LAZE_RUNTIME_DISK_PACK_H

#include "base/text.h"
#include "runtime/disk_cache.h"

typedef struct laze_disk_pack {
  laze_context *context;
  laze_hash identity, target;
  laze_text bytes; /* empty: there is no code */
  laze_hash *keys; /* of all kernels in it */
  int64_t key_count, key_capacity;
} laze_disk_pack;

/* An empty one. */
void laze_disk_pack_init(laze_disk_pack *pack, laze_context *context);
void laze_disk_pack_deinit(laze_disk_pack *pack);
bool laze_disk_pack_has(const laze_disk_pack *pack, laze_hash key);
/* Adds a module; identity and target are set. */
LAZE_MUST_USE laze_status laze_disk_pack_add(laze_disk_pack *pack, const laze_disk_module *module, laze_error *error);

/* A pack that is read. Bytes are a stranger's: everything in them is checked. */
typedef struct laze_disk_reader {
  laze_context *context;
  laze_hash identity, target; /* of what runs here */
  const char *bytes;          /* what is left */
  int64_t size;
} laze_disk_reader;
/* Begins. LAZE_FAILED_PRECONDITION: what is there was made by another code generator, or for another processor. */
LAZE_MUST_USE laze_status laze_disk_reader_begin(laze_disk_reader *reader, laze_error *error);
/* The next module, the caller's; *out NULL at the end. */
LAZE_MUST_USE laze_status laze_disk_reader_next(laze_disk_reader *reader, laze_disk_module **out, laze_error *error);

#endif
