/* Files that are written whole or not at all:
 *
 *   open path.PID-TIME.tmp ──> write, close ──> rename to path
 *                                   └─ refused: unlink, and path stays as it was
 */
#include "base/file.h"

#include "base/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool laze_file_write(int file, const void *bytes, int64_t size) {
  for (int64_t done = 0; done < size;) {
    ssize_t count = write(file, (const char *)bytes + done, (size_t)(size - done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += count;
  }
  return true;
}

static laze_status refused(const char *path, laze_error *error) {
  return laze_fail(error, LAZE_IO_ERROR, "%s: cannot be written (%s)", path, strerror(errno));
}

/* False, with errno, when the system refused any of it. */
static bool write_and_close(int file, laze_file_writer write, const void *self) {
  bool written = write(self, file);
  int code = errno;
  if (close(file) != 0 && written) return false;
  errno = code;
  return written;
}

static laze_status write_beside(const char *path, laze_file_writer write, const void *self, laze_error *error) {
  char temporary[4096 + 64];
  if (snprintf(temporary, sizeof temporary, "%s.%d-%llx.tmp", path, (int)getpid(), (unsigned long long)laze_clock()) >=
      (int)sizeof temporary) {
    errno = ENAMETOOLONG;
    return refused(path, error);
  }
  int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return refused(path, error);
  struct stat replaced; /* whose permissions stay, as they would if it were written over */
  if (stat(path, &replaced) == 0) (void)fchmod(file, replaced.st_mode & 0777);
  if (write_and_close(file, write, self) && rename(temporary, path) == 0) return LAZE_OK;
  laze_status status = refused(path, error);
  (void)unlink(temporary);
  return status;
}

laze_status laze_file_replace(const char *path, laze_file_writer write, const void *self, laze_error *error) {
  struct stat info;
  if (stat(path, &info) != 0) return write_beside(path, write, self, error);
  if (!S_ISREG(info.st_mode)) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    return file >= 0 && write_and_close(file, write, self) ? LAZE_OK : refused(path, error);
  }
  char *target = realpath(path, NULL); /* the file behind a symbolic link is replaced, not the link */
  if (!target) return refused(path, error);
  laze_status status = write_beside(target, write, self, error);
  free(target);
  return status;
}
