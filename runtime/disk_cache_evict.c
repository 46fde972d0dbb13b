/* Keeping the cache within its bytes. A scan walks the directories of all identities, because those of older builds are
 * never written again and would stay for ever. It happens at a process's first store, and then only when the bytes
 * known of exceed the limit; other processes' writes in between are seen by whichever process scans next.
 */
#include "runtime/disk_cache_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STALE_SECONDS (60 * 60) /* a temporary file this old was left by a process that died */

typedef struct {
  char directory[33];
  char name[LAZE_DISK_NAME_SIZE];
  int64_t size;
  struct timespec used;
} stored_module;

typedef struct {
  laze_disk_cache *cache;
  stored_module *modules;
  int64_t count, capacity, bytes;
  bool incomplete; /* memory ran out: what was seen is right, but not all */
} scan;

static bool is_hex(const char *text) {
  return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

/* Opens a directory for reading entries, without the descriptor of the caller. */
static DIR *open_entries(int parent, const char *name) {
  int file = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return NULL;
  DIR *entries = fdopendir(file);
  if (!entries) close(file);
  return entries;
}

static void add_module(scan *self, const char *directory, const char *name, const struct stat *info) {
  self->bytes += info->st_size;
  if (laze_grow(self->cache->context, (void **)&self->modules, &self->capacity, self->count + 1, sizeof *self->modules,
                NULL) != LAZE_OK) {
    self->incomplete = true;
    return;
  }
  stored_module *module = &self->modules[self->count++];
  memcpy(module->directory, directory, sizeof module->directory);
  memcpy(module->name, name, sizeof module->name);
  module->size = info->st_size;
  module->used = info->st_mtim;
}

static void scan_identity(scan *self, const char *directory) {
  DIR *entries = open_entries(self->cache->root, directory);
  if (!entries) return;
  for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
    bool temporary = strncmp(entry->d_name, "t-", 2) == 0;
    bool module = strncmp(entry->d_name, "m-", 2) == 0 && is_hex(entry->d_name + 2);
    struct stat info;
    if ((!temporary && !module) || fstatat(dirfd(entries), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (module && S_ISREG(info.st_mode))
      add_module(self, directory, entry->d_name, &info);
    else if (temporary && time(NULL) - info.st_mtime > STALE_SECONDS)
      (void)unlinkat(dirfd(entries), entry->d_name, 0);
  }
  closedir(entries);
}

/* Removes links to modules that are gone, and the directory when nothing is left. */
static void sweep_links(const laze_disk_cache *cache, const char *directory) {
  DIR *entries = open_entries(cache->root, directory);
  if (!entries) return;
  for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
    struct stat info;
    if (strncmp(entry->d_name, "k-", 2) == 0 && fstatat(dirfd(entries), entry->d_name, &info, 0) != 0 &&
        errno == ENOENT)
      (void)unlinkat(dirfd(entries), entry->d_name, 0);
  }
  closedir(entries);
  char own[33];
  laze_hash_format(cache->identity, own);
  if (strcmp(own, directory) != 0) (void)unlinkat(cache->root, directory, AT_REMOVEDIR); /* refused unless empty */
}

/* Calls `visit` for the directory of each identity. */
static void each_identity(const laze_disk_cache *cache, void (*visit)(void *self, const char *directory), void *self) {
  DIR *entries = open_entries(cache->root, ".");
  if (!entries) return;
  for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
    if (is_hex(entry->d_name)) visit(self, entry->d_name);
  }
  closedir(entries);
}

static void visit_scan(void *self, const char *directory) {
  scan_identity(self, directory);
}
static void visit_sweep(void *self, const char *directory) {
  sweep_links(self, directory);
}

static int compare_use(const void *a, const void *b) {
  const struct timespec *x = &((const stored_module *)a)->used, *y = &((const stored_module *)b)->used;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
  return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Removes the modules used longest ago until a quarter of the limit is free, so that the next store does not scan. */
static void evict(scan *self) {
  int64_t target = self->cache->limit - self->cache->limit / 4, removed = 0;
  qsort(self->modules, (size_t)self->count, sizeof *self->modules, compare_use);
  for (int64_t i = 0; i < self->count && self->bytes > target; i++) {
    const stored_module *module = &self->modules[i];
    char path[sizeof module->directory + sizeof module->name];
    size_t length = strlen(module->directory);
    memcpy(path, module->directory, length);
    path[length] = '/';
    memcpy(path + length + 1, module->name, sizeof module->name);
    if (unlinkat(self->cache->root, path, 0) != 0 && errno != ENOENT) continue;
    self->bytes -= module->size;
    removed++;
  }
  each_identity(self->cache, visit_sweep, self->cache);
  laze_disk_cache_trace(self->cache, "removed %lld old modules, %lld bytes are left", (long long)removed,
                        (long long)self->bytes);
}

void laze_disk_cache_account(laze_disk_cache *cache, int64_t bytes) {
  pthread_mutex_lock(&cache->evicting);
  cache->bytes += bytes;
  if (!cache->scanned || cache->bytes > cache->limit) {
    scan self = {.cache = cache};
    each_identity(cache, visit_scan, &self);
    if (self.bytes > cache->limit) evict(&self);
    cache->bytes = self.bytes;
    cache->scanned = !self.incomplete;
    laze_free(cache->context, self.modules);
  }
  pthread_mutex_unlock(&cache->evicting);
}
