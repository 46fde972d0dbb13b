/* Files that are written whole or not at all. */
#ifndef LAZE_BASE_FILE_H
#define LAZE_BASE_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes all of it; false, with errno, when the system refused any. */
bool laze_file_write(int file, const void *bytes, int64_t size);

/* Writes what a file is to hold, from `self`; false, with errno, as laze_file_write() does. */
typedef bool (*laze_file_writer)(const void *self, int file);
/* Has `write` fill a new file beside `path`, which then takes its place: whoever reads meanwhile sees the old one, and
 * so does everybody after a failure. The permissions of what is replaced stay, and of a symbolic link the file behind
 * it is replaced. What is no regular file (a pipe, a terminal) is written as it is. LAZE_IO_ERROR names the path. */
LAZE_MUST_USE laze_status laze_file_replace(const char *path, laze_file_writer write, const void *self,
                                            laze_error *error);

#endif
