/* Writing: files whole or not at all, standard output with its errors noticed. */
#include "tools/lazec/lazec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static laze_status refused(const char *path, laze_error *error) {
  return laze_fail(error, LAZE_IO_ERROR, "%s: cannot be written (%s)", path, strerror(errno));
}

/* Writes and closes; false, with errno, when the system refused any of it. */
static bool write_and_close(int file, const char *data, int64_t size) {
  bool written = true;
  for (int64_t done = 0; done < size && written;) {
    ssize_t count = write(file, data + done, (size_t)(size - done));
    if (count < 0 && errno == EINTR) continue;
    written = count > 0;
    done += written ? count : 0;
  }
  int code = errno;
  if (close(file) != 0 && written) return false;
  errno = code;
  return written;
}

static laze_status write_beside(const char *path, const char *data, int64_t size, laze_error *error) {
  char temporary[4096 + 32];
  if (snprintf(temporary, sizeof temporary, "%s.%d.tmp", path, (int)getpid()) >= (int)sizeof temporary) {
    errno = ENAMETOOLONG;
    return refused(path, error);
  }
  int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return refused(path, error);
  struct stat replaced; /* whose permissions stay, as they would if it were written over */
  if (stat(path, &replaced) == 0) (void)fchmod(file, replaced.st_mode & 0777);
  if (write_and_close(file, data, size) && rename(temporary, path) == 0) return LAZE_OK;
  laze_status status = refused(path, error);
  (void)unlink(temporary);
  return status;
}

laze_status lazec_output_write(const char *path, const char *data, int64_t size, laze_error *error) {
  if (!path || strcmp(path, "-") == 0) {
    if (fwrite(data, 1, (size_t)size, stdout) == (size_t)size && fflush(stdout) == 0) return LAZE_OK;
    laze_status status = refused("standard output", error);
    clearerr(stdout); /* reported: not once more at exit */
    return status;
  }
  struct stat info;
  if (stat(path, &info) != 0) return write_beside(path, data, size, error);
  if (S_ISREG(info.st_mode)) {
    char *target = realpath(path, NULL); /* the file behind a symbolic link is replaced, not the link */
    if (!target) return refused(path, error);
    laze_status status = write_beside(target, data, size, error);
    free(target);
    return status;
  }
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || !write_and_close(file, data, size)) return refused(path, error);
  return LAZE_OK;
}

void lazec_output_close(void) {
  bool failed = ferror(stdout) != 0;
  errno = 0;
  if (fclose(stdout) != 0) failed = true;
  if (!failed) return;
  fprintf(stderr, "lazec: standard output: cannot be written%s%s%s\n", errno ? " (" : "", errno ? strerror(errno) : "",
          errno ? ")" : "");
  _exit(LAZEC_FAILED);
}
