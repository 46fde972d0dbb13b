/* Opens a path one component at a time, each in the folder that was opened before, so that nothing on the way can lead
 * out of the first one:
 *
 *   directory ── openat "weights" (a folder, no link) ── openat "dense.bin" (a file, no link) ── fstat
 *
 * Contents are read, not mapped: a mapped file that somebody cuts short ends the process that looks at it.
 */
#include "base/external.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static laze_status refuse_path(const char *path, laze_error *error) {
  return laze_fail(
      error, LAZE_INVALID_ARGUMENT,
      "file \"%.200s\": expected a path below the folder of the text, relative, without '..' and empty parts", path);
}

static laze_status refuse_open(const char *path, laze_error *error) {
  if (errno == ELOOP)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "file \"%.200s\": is reached by a symbolic link, which could lead anywhere; put the file itself "
                     "there",
                     path);
  return laze_fail(error, errno == ENOENT ? LAZE_NOT_FOUND : LAZE_IO_ERROR, "file \"%.200s\": cannot be opened (%s)",
                   path, strerror(errno));
}

/* Opens a component, which is `length` long, in `folder`; -1 with errno. ELOOP stands for every symbolic link. */
static int open_component(int folder, const char *name, size_t length, bool is_last) {
  char copy[NAME_MAX + 1];
  struct stat info;
  memcpy(copy, name, length);
  copy[length] = 0;
  int flags = is_last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_RDONLY | O_DIRECTORY;
  int file = openat(folder, copy, flags | O_NOFOLLOW | O_CLOEXEC);
  int code = errno;
  if (file < 0 && code == ENOTDIR && fstatat(folder, copy, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
    code = ELOOP;
  errno = code;
  return file;
}

static laze_status open_path(int folder, const char *path, int *out, laze_error *error) {
  const char *at = path;
  for (int inner = folder;;) {
    size_t length = strcspn(at, "/");
    bool is_last = at[length] == 0, is_dots = (length == 1 || length == 2) && strncmp(at, "..", length) == 0;
    int opened = -1;
    laze_status status = length == 0 || length > NAME_MAX || is_dots ? refuse_path(path, error) : LAZE_OK;
    if (status == LAZE_OK) {
      opened = open_component(inner, at, length, is_last);
      if (opened < 0) status = refuse_open(path, error);
    }
    if (inner != folder) (void)close(inner);
    if (status != LAZE_OK) return status;
    inner = opened;
    if (is_last) {
      *out = opened;
      return LAZE_OK;
    }
    at += length + 1;
  }
}

laze_status laze_external_open(const char *directory, const char *path, laze_external *out, laze_error *error) {
  struct stat info;
  *out = (laze_external){.file = -1};
  int folder = open(*directory ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return laze_fail(error, LAZE_IO_ERROR, "%.200s: cannot be opened as a folder (%s)", directory, strerror(errno));
  laze_status status = open_path(folder, path, &out->file, error);
  (void)close(folder);
  if (status != LAZE_OK) return status;
  if (fstat(out->file, &info) != 0)
    status = refuse_open(path, error);
  else if (!S_ISREG(info.st_mode))
    status = laze_fail(error, LAZE_INVALID_ARGUMENT, "file \"%.200s\": is %s; a regular file is expected", path,
                       S_ISDIR(info.st_mode) ? "a folder" : "no regular file");
  out->size = info.st_size;
  if (status != LAZE_OK) laze_external_close(out);
  return status;
}

laze_status laze_external_read(const laze_external *external, const char *path, int64_t offset, int64_t size, void *out,
                               laze_error *error) {
  if (external->bytes) {
    memcpy(out, external->bytes + offset, (size_t)size);
    return LAZE_OK;
  }
  for (int64_t done = 0; done < size;) {
    ssize_t count = pread(external->file, (char *)out + done, (size_t)(size - done), (off_t)(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return laze_fail(error, LAZE_IO_ERROR, "file \"%.200s\": cannot be read (%s)", path, strerror(errno));
    if (count == 0) return laze_fail(error, LAZE_DATA_LOSS, "file \"%.200s\": got shorter while it was read", path);
    done += count;
  }
  return LAZE_OK;
}

void laze_external_close(laze_external *external) {
  if (external->file >= 0) (void)close(external->file);
  external->file = -1;
}
