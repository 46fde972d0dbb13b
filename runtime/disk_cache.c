/* Opening the cache's directories, finding modules and storing them. The form of a file is in disk_cache_file.c, making
 * room in disk_cache_evict.c. */
#include "runtime/disk_cache.h"

#include "base/file.h"
#include "runtime/disk_cache_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULE_MAX (INT64_C(1) << 30) /* bytes of a module that is still read */
#define TOUCH_SECONDS (24 * 60 * 60)  /* a module's time of use is noted once a day, which is what eviction needs */

void laze_disk_cache_trace(const laze_disk_cache *cache, const char *format, ...) {
  if (!laze_context_debug(cache->context, LAZE_DEBUG_CACHE)) return;
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  laze_log_message(cache->context, LAZE_LOG_DEBUG, "disk cache: %s", message);
}

static void format_name(char kind, laze_hash hash, char out[LAZE_DISK_NAME_SIZE]) {
  out[0] = kind;
  out[1] = '-';
  laze_hash_format(hash, out + 2);
}

/* --- Opening --- */

/* Makes a directory for this user alone, and those above it. 0, or why there is none; it may be there already. */
static int make_directories(char *path) {
  if (mkdir(path, 0700) == 0 || errno == EEXIST) return 0;
  if (errno != ENOENT) return errno;
  int reason = 0; /* of the first that could not be made: those below it can only be missing */
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(path, 0700) != 0 && errno != EEXIST && !reason) reason = errno;
    *slash = '/';
  }
  if (mkdir(path, 0700) == 0 || errno == EEXIST) return 0;
  return reason ? reason : errno;
}

/* Opens a directory if it is this user's and nobody else can write it; -1 otherwise, with a warning. With a `parent` it
 * is that one's entry, and no link. `unmade` is why it could not be made, 0 if it could. */
static int open_private(laze_context *context, int parent, const char *path, int unmade) {
  int directory = parent < 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                             : openat(parent, strrchr(path, '/') + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  struct stat info;
  if (directory < 0 || fstat(directory, &info) != 0) {
    bool missing = errno == ENOENT && unmade;
    laze_log_message(context, LAZE_LOG_WARNING,
                     "no disk cache: directory %s cannot be %s (%s); set LAZE_CACHE_DIR to another, or to nothing",
                     path, missing ? "made" : "opened", strerror(missing ? unmade : errno));
  } else if (info.st_uid != geteuid()) {
    laze_log_message(
        context, LAZE_LOG_WARNING,
        "no disk cache: directory %s belongs to user %lld and not to user %lld, who runs this; set LAZE_CACHE_DIR",
        path, (long long)info.st_uid, (long long)geteuid());
  } else if (info.st_mode & (S_IWGRP | S_IWOTH)) {
    laze_log_message(
        context, LAZE_LOG_WARNING,
        "no disk cache: others may write directory %s (mode %03o), and kernels from it would run as you; chmod "
        "go-w, or set LAZE_CACHE_DIR",
        path, (unsigned)(info.st_mode & 0777));
  } else {
    return directory;
  }
  if (directory >= 0) close(directory);
  return -1;
}

static int open_root(laze_context *context, const char *path) {
  char *copy = laze_copy_string(context, path);
  if (!copy) return -1;
  int unmade = make_directories(copy);
  laze_free(context, copy);
  return open_private(context, -1, path, unmade);
}

static int open_identity(const laze_disk_cache *cache) {
  char name[33], *path;
  laze_hash_format(cache->identity, name);
  int unmade = mkdirat(cache->root, name, 0700) == 0 || errno == EEXIST ? 0 : errno;
  if (asprintf(&path, "%s/%s", laze_context_cache_directory(cache->context), name) < 0) return -1;
  int directory = open_private(cache->context, cache->root, path, unmade);
  free(path);
  return directory;
}

static int64_t read_limit(laze_context *context) {
  const char *text = getenv("LAZE_CACHE_BYTES");
  if (!text || !*text) return LAZE_DISK_CACHE_BYTES;
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (!errno && !*end && value >= 0) return value;
  laze_log_message(context, LAZE_LOG_WARNING, "LAZE_CACHE_BYTES is '%s': expected a number of bytes; using %lld", text,
                   (long long)LAZE_DISK_CACHE_BYTES);
  return LAZE_DISK_CACHE_BYTES;
}

laze_disk_cache *laze_disk_cache_open(laze_context *context, const char *identity) {
  const char *path = laze_context_cache_directory(context);
  if (!path) return NULL;
  laze_disk_cache *cache = laze_alloc_zero(context, sizeof *cache);
  if (!cache) return NULL;
  cache->context = context;
  cache->identity = laze_hash_bytes(identity, strlen(identity));
  cache->limit = read_limit(context);
  pthread_mutex_init(&cache->evicting, NULL);
  cache->directory = -1;
  cache->root = open_root(context, path);
  if (cache->root >= 0) cache->directory = open_identity(cache);
  if (cache->directory < 0) {
    laze_disk_cache_close(cache);
    return NULL;
  }
  laze_disk_cache_trace(cache, "opened in %s for %s", path, identity);
  return cache;
}

void laze_disk_cache_close(laze_disk_cache *cache) {
  if (!cache) return;
  if (cache->directory >= 0) close(cache->directory);
  if (cache->root >= 0) close(cache->root);
  pthread_mutex_destroy(&cache->evicting);
  laze_free(cache->context, cache);
}

/* --- Finding --- */

static bool read_all(int file, uint8_t *bytes, int64_t size) {
  for (int64_t done = 0; done < size;) {
    ssize_t count = read(file, bytes + done, (size_t)(size - done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += count;
  }
  return true;
}

/* Code that is to run as this user: only from a file of this user that nobody else can write. */
static laze_status check_private(const struct stat *info, laze_error *error) {
  if (!S_ISREG(info->st_mode) || info->st_size > MODULE_MAX)
    return laze_fail(error, LAZE_DATA_LOSS, "it is no file of at most %lld bytes", (long long)MODULE_MAX);
  if (info->st_uid != geteuid())
    return laze_fail(error, LAZE_DATA_LOSS, "its file belongs to user %lld and not to user %lld, who runs this",
                     (long long)info->st_uid, (long long)geteuid());
  if (info->st_mode & (S_IWGRP | S_IWOTH))
    return laze_fail(error, LAZE_DATA_LOSS, "others may write its file (mode %03o)", (unsigned)(info->st_mode & 0777));
  return LAZE_OK;
}

/* Reads a whole open file. The bytes are read and not mapped: a file that another process cuts off would make an access
 * to the mapping fatal. */
static laze_status read_file(const laze_disk_cache *cache, int file, uint8_t **out, int64_t *size, laze_error *error) {
  struct stat info;
  if (fstat(file, &info) != 0) return laze_fail(error, LAZE_DATA_LOSS, "it cannot be looked at: %s", strerror(errno));
  LAZE_TRY(check_private(&info, error));
  *size = info.st_size;
  *out = laze_alloc(cache->context, *size);
  if (!*out) return laze_fail_memory(error, "a kernel module", *size);
  if (!read_all(file, *out, *size)) {
    laze_free(cache->context, *out);
    return laze_fail(error, LAZE_DATA_LOSS, "it cannot be read to its end");
  }
  if (time(NULL) - info.st_mtime > TOUCH_SECONDS) (void)futimens(file, NULL);
  return LAZE_OK;
}

static laze_status check_has_key(const laze_disk_module *module, laze_hash key, laze_error *error) {
  for (int64_t i = 0; i < module->entry_count; i++) {
    if (laze_hash_equal(module->entries[i].key, key)) return LAZE_OK;
  }
  return laze_fail(error, LAZE_DATA_LOSS, "it does not have the kernel it is linked for");
}

static laze_status read_module(const laze_disk_cache *cache, int file, laze_hash key, laze_disk_module **out,
                               laze_error *error) {
  uint8_t *bytes = NULL;
  int64_t size = 0;
  LAZE_TRY(read_file(cache, file, &bytes, &size, error));
  LAZE_TRY(laze_disk_module_decode(cache, bytes, size, out, error));
  laze_status status = check_has_key(*out, key, error);
  if (status != LAZE_OK) {
    laze_disk_module_destroy(*out);
    *out = NULL;
  }
  return status;
}

/* The name of the module that a link points to. False, with errno, when there is no link, or with errno 0 when it
 * points to anything but a module beside it. */
static bool read_link(const laze_disk_cache *cache, const char *link_name, char out[LAZE_DISK_NAME_SIZE]) {
  char target[LAZE_DISK_NAME_SIZE + 1];
  ssize_t length = readlinkat(cache->directory, link_name, target, sizeof target);
  if (length < 0) return false;
  errno = 0;
  if (length != LAZE_DISK_NAME_SIZE - 1 || target[0] != 'm' || target[1] != '-' || memchr(target, '/', (size_t)length))
    return false;
  target[length] = 0;
  memcpy(out, target, LAZE_DISK_NAME_SIZE);
  return true;
}

/* Removes a link and the module behind it. Another process may just have replaced them: then it compiles once more. */
static void discard(const laze_disk_cache *cache, const char *link_name) {
  char target[LAZE_DISK_NAME_SIZE];
  if (read_link(cache, link_name, target)) (void)unlinkat(cache->directory, target, 0);
  (void)unlinkat(cache->directory, link_name, 0);
}

/* Opens the module that a link names. The link is read and not followed: what is opened lies in this directory. A
 * negative file: there is none (no link, or its module was removed); LAZE_DATA_LOSS: what is there is no link to one.
 */
static laze_status open_module(const laze_disk_cache *cache, const char *link_name, int *file, laze_error *error) {
  char target[LAZE_DISK_NAME_SIZE];
  *file = -1;
  if (read_link(cache, link_name, target)) {
    *file = openat(cache->directory, target, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (*file < 0 && errno == ELOOP) return laze_fail(error, LAZE_DATA_LOSS, "its file is a link");
  } else if (errno == 0 || errno == EINVAL) {
    return laze_fail(error, LAZE_DATA_LOSS, "it is no link to a module of this directory");
  }
  if (*file < 0) laze_disk_cache_trace(cache, "%s: %s", link_name, strerror(errno));
  return LAZE_OK;
}

laze_disk_module *laze_disk_cache_find(laze_disk_cache *cache, laze_hash key) {
  if (!cache) return NULL;
  char name[LAZE_DISK_NAME_SIZE];
  format_name('k', key, name);
  int file;
  laze_disk_module *module = NULL;
  laze_error error;
  laze_status status = open_module(cache, name, &file, &error);
  if (status == LAZE_OK && file < 0) return NULL;
  if (status == LAZE_OK) status = read_module(cache, file, key, &module, &error);
  if (file >= 0) close(file);
  if (status == LAZE_OK) {
    laze_disk_cache_trace(cache, "%s: found, in a module of %lld kernels", name, (long long)module->entry_count);
    return module;
  }
  laze_log_message(cache->context, LAZE_LOG_WARNING, "disk cache: module for %s is bad and will be compiled again: %s",
                   name, error.message);
  if (status == LAZE_DATA_LOSS) discard(cache, name);
  return NULL;
}

/* --- Storing --- */

static void format_temporary(laze_disk_cache *cache, char out[64]) {
  long long number = atomic_fetch_add_explicit(&cache->counter, 1, memory_order_relaxed);
  /* The clock tells apart processes of equal number in different containers. */
  snprintf(out, 64, "t-%d-%lld-%llx", (int)getpid(), number, (unsigned long long)laze_clock());
}

/* Writes a file under its final name at once, or not at all. */
static bool write_file(laze_disk_cache *cache, const char *name, const uint8_t *bytes, int64_t size) {
  char temporary[64];
  format_temporary(cache, temporary);
  int file = openat(cache->directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool written = laze_file_write(file, bytes, size);
  written = close(file) == 0 && written;
  if (written && renameat(cache->directory, temporary, cache->directory, name) == 0) return true;
  int code = errno;
  (void)unlinkat(cache->directory, temporary, 0);
  errno = code;
  return false;
}

/* Points a kernel's link at a module, replacing one that points elsewhere (perhaps at a module that was removed). */
static bool link_kernel(laze_disk_cache *cache, const char *module, const char *link_name) {
  if (symlinkat(module, cache->directory, link_name) == 0) return true;
  if (errno != EEXIST) return false;
  char temporary[64];
  format_temporary(cache, temporary);
  if (symlinkat(module, cache->directory, temporary) != 0) return false;
  if (renameat(cache->directory, temporary, cache->directory, link_name) == 0) return true;
  (void)unlinkat(cache->directory, temporary, 0);
  return false;
}

static bool write_module(laze_disk_cache *cache, const laze_disk_module *module, const uint8_t *bytes, int64_t size,
                         laze_hash checksum) {
  char name[LAZE_DISK_NAME_SIZE], link_name[LAZE_DISK_NAME_SIZE];
  format_name('m', checksum, name);
  if (!write_file(cache, name, bytes, size)) return false;
  for (int64_t i = 0; i < module->entry_count; i++) {
    format_name('k', module->entries[i].key, link_name);
    if (!link_kernel(cache, name, link_name)) return false;
  }
  laze_disk_cache_trace(cache, "%s: stored, %lld kernels, %lld bytes", name, (long long)module->entry_count,
                        (long long)size);
  return true;
}

/* Says once that, and why, modules are not kept. */
static void report_unwritten(laze_disk_cache *cache, int64_t size, int code) {
  if (code == EROFS) atomic_store(&cache->read_only, true);
  if (atomic_exchange(&cache->write_failed, true)) return;
  if (code == EROFS)
    laze_log_message(cache->context, LAZE_LOG_WARNING,
                     "disk cache: %s is on a read-only file system: the kernels in it are used, others will be "
                     "compiled again in the next process; set LAZE_CACHE_DIR to a directory that can be written",
                     laze_context_cache_directory(cache->context));
  else
    laze_log_message(
        cache->context, LAZE_LOG_WARNING,
        "disk cache: a kernel module of %lld bytes cannot be written (%s): kernels will be compiled again in the "
        "next process",
        (long long)size, strerror(code));
}

bool laze_disk_cache_store(laze_disk_cache *cache, const laze_disk_entry *entries, int64_t entry_count,
                           const void *object, int64_t object_size) {
  if (!cache || atomic_load(&cache->read_only) || entry_count < 1 || entry_count > UINT16_MAX || object_size < 0 ||
      object_size > MODULE_MAX / 2)
    return false;
  laze_disk_module module = {
      .entries = entries, .entry_count = entry_count, .object = object, .object_size = object_size};
  int64_t size;
  laze_hash checksum;
  uint8_t *bytes = laze_disk_module_encode(cache, &module, &size, &checksum);
  if (!bytes) return false;
  bool stored = size <= cache->limit;
  if (!stored)
    laze_disk_cache_trace(cache, "a module of %lld bytes is not kept: it alone exceeds LAZE_CACHE_BYTES",
                          (long long)size);
  if (stored && !write_module(cache, &module, bytes, size, checksum)) {
    stored = false;
    report_unwritten(cache, size, errno);
  }
  if (stored) laze_disk_cache_account(cache, size);
  laze_free(cache->context, bytes);
  return stored;
}
