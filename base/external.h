/* Files that a file refers to: weights beside a graph. The reference is data from a stranger, and this is the one gate
 * for it. */
#ifndef LAZE_BASE_EXTERNAL_H
#define LAZE_BASE_EXTERNAL_H

#include "base/status.h"

#include <stdint.h>

/* A file that is open for reading. */
typedef struct laze_external {
  int file; /* -1: none */
  int64_t size;
  const char *bytes; /* not NULL: it is memory, and no file */
} laze_external;

/* Opens `path`, which must name a regular file below `directory` ("": the working directory): relative, without "..",
 * and with no symbolic link on the way from the directory to the file, which is checked on what is opened and not on
 * names. Nothing blocks: what is no file is refused. Errors name the path: LAZE_INVALID_ARGUMENT, LAZE_NOT_FOUND,
 * LAZE_IO_ERROR. */
LAZE_MUST_USE laze_status laze_external_open(const char *directory, const char *path, laze_external *out,
                                             laze_error *error);
/* Reads `size` bytes at `offset`, which the caller has compared with the file's size. A file that got shorter meanwhile
 * is LAZE_DATA_LOSS. */
LAZE_MUST_USE laze_status laze_external_read(const laze_external *external, const char *path, int64_t offset,
                                             int64_t size, void *out, laze_error *error);
void laze_external_close(laze_external *external);

#endif
