/* NumPy's .npy files: one array each. */
#ifndef LAZE_NPY_H
#define LAZE_NPY_H

#include "laze/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LAZE_NPY_MAX_RANK 16

/* An array in host memory, row-major. */
typedef struct laze_npy {
  laze_dtype dtype;
  int32_t rank;
  int64_t dims[LAZE_NPY_MAX_RANK];
  void *data;            /* owned, from the context's allocator; not NULL, also when the array is empty */
  int64_t size;          /* bytes */
  laze_context *context; /* retained while there is data */
} laze_npy;

/* Reads a file of format version 1, 2 or 3 with elements '<f4', '<f8', '<i4', '<i8' or '|b1'; column-major (Fortran)
 * order is turned into row-major. On success *out is to be released by laze_npy_deinit(); on failure it is empty.
 * LAZE_INVALID_ARGUMENT: `path` is NULL or names no regular file (a pipe, a folder); LAZE_NOT_FOUND or LAZE_IO_ERROR:
 * the file cannot be opened or read; LAZE_DATA_LOSS: it is damaged or no .npy file;
 * LAZE_UNSUPPORTED: another element type, byte order or version; LAZE_OUT_OF_MEMORY. The message names the file. */
LAZE_API LAZE_MUST_USE laze_status laze_npy_read(laze_context *context, const char *path, laze_npy *out,
                                                 laze_error *error);
/* Frees the data and empties the structure. An empty one (all zero) or NULL is ignored. */
LAZE_API void laze_npy_deinit(laze_npy *array);

/* Writes a row-major array (dtype, rank, dims and data of `array`; the rest is not looked at) in format version 1. The
 * file appears whole or not at all, replacing one of that name; what is no regular file (a pipe, /dev/stdout) is
 * written in place. LAZE_INVALID_ARGUMENT: an argument is NULL, or dtype, rank or sizes are impossible; LAZE_IO_ERROR:
 * the system refuses (a full disk). Both functions are thread-safe. */
LAZE_API LAZE_MUST_USE laze_status laze_npy_write(const char *path, const laze_npy *array, laze_error *error);

#ifdef __cplusplus
}
#endif
#endif
