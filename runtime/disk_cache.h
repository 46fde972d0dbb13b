/* Compiled kernels on disk, shared by all processes of a user.
 *
 *   <cache directory>/<hash of the code generator's identity>/
 *     m-<hash>   a module: an object, with the keys and symbols of the kernels in it, and a checksum over everything
 *     k-<key>    symbolic link to the module that has this kernel: finding is one open and one read
 *     t-...      being written; becomes m-... by rename, so that a reader sees a whole module or none
 *
 * Plugins may keep files of their own in such directories, by the same names: they count, and are removed, as modules.
 *
 * No locks are held across processes. Whatever goes wrong (damage, a full disk, no permission) costs the cache and
 * never the result: a bad module is reported to the log, removed, and its kernels are compiled again. A directory or
 * a file that belongs to another user, or that others may write, is refused: objects from there would run with this
 * user's rights. Owner and mode are those of what was opened, and links are not followed.
 *
 * Bounded in bytes over all identities, 256 MiB unless LAZE_CACHE_BYTES says otherwise; writers remove the modules that
 * were used longest ago. All functions may be called from any thread; a NULL cache stores and finds nothing.
 */
#ifndef LAZE_RUNTIME_DISK_CACHE_H
#define LAZE_RUNTIME_DISK_CACHE_H

#include "base/context.h"
#include "base/hash.h"

#define LAZE_DISK_CACHE_BYTES (INT64_C(256) << 20)

typedef struct laze_disk_cache laze_disk_cache;

typedef struct laze_disk_entry {
  laze_hash key;      /* of the kernel */
  const char *symbol; /* its name in the object */
} laze_disk_entry;

/* A module as read: everything in it lives until it is destroyed. */
typedef struct laze_disk_module {
  laze_context *context; /* borrowed */
  const laze_disk_entry *entries;
  int64_t entry_count;
  const void *object; /* aligned to 16 bytes */
  int64_t object_size;
} laze_disk_module;

/* Opens (and makes) the directory of one code generator. `identity` names everything that decides on the code beyond a
 * kernel's key: build ids of the generator and of an LLVM that is not part of it, kernel ABI. The key covers the
 * processor. NULL when there is to be no cache (laze_context_cache_directory() is NULL) or it cannot be used; the log
 * says why. */
laze_disk_cache *laze_disk_cache_open(laze_context *context, const char *identity);
/* NULL is ignored. */
void laze_disk_cache_close(laze_disk_cache *cache);

/* Reads the module that has a kernel, or NULL. Owned by the caller. It usually has more kernels that the caller will
 * want soon, so keep them. Counting the metric is the caller's. */
laze_disk_module *laze_disk_cache_find(laze_disk_cache *cache, laze_hash key);
void laze_disk_module_destroy(laze_disk_module *module);

/* Writes a module with its kernels. False when it could not be kept. */
bool laze_disk_cache_store(laze_disk_cache *cache, const laze_disk_entry *entries, int64_t entry_count,
                           const void *object, int64_t object_size);

#endif
