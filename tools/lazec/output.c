/* Writing: files whole or not at all, standard output with its errors noticed. */
#include "tools/lazec/lazec.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  const char *data;
  int64_t size;
} content;

static bool write_content(const void *self, int file) {
  const content *what = self;
  return laze_file_write(file, what->data, what->size);
}

laze_status lazec_output_write(const char *path, const char *data, int64_t size, laze_error *error) {
  if (!path || strcmp(path, "-") == 0) {
    if (fwrite(data, 1, (size_t)size, stdout) == (size_t)size && fflush(stdout) == 0) return LAZE_OK;
    laze_status status = laze_fail(error, LAZE_IO_ERROR, "standard output: cannot be written (%s)", strerror(errno));
    clearerr(stdout); /* reported: not once more at exit */
    return status;
  }
  const content what = {data, size};
  return laze_file_replace(path, write_content, &what, error);
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
