/* Files of the format safetensors (https://github.com/huggingface/safetensors): tensors with names, in one file that is
 * mapped and not read.
 *
 *   8 bytes      length of the header, little-endian
 *   header       JSON: {"w": {"dtype": "F32", "shape": [2,3], "data_offsets": [0,24]}, ...}; "__metadata__" may be
 *                among it, a map of strings, and spaces behind it
 *   elements     of all tensors, row-major, one behind the other without a gap
 *
 * Tensors of such a file: laze_tensor_from_safetensors(), laze_tensors_save() (laze/tensor.h). All functions are
 * thread-safe.
 */
#ifndef LAZE_SAFETENSORS_H
#define LAZE_SAFETENSORS_H

#include "laze/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LAZE_SAFETENSORS_MAX_RANK 16

typedef struct laze_safetensors laze_safetensors;

/* An array of a file, or one that is to be written. */
typedef struct laze_safetensors_item {
  const char *name; /* UTF-8 */
  laze_dtype dtype;
  int32_t rank;
  int64_t dims[LAZE_SAFETENSORS_MAX_RANK];
  const void *data; /* row-major; aligned to the dtype in files that aligned it, as laze does */
  int64_t size;     /* bytes */
} laze_safetensors_item;

/* An entry of the metadata. */
typedef struct laze_safetensors_note {
  const char *key, *value; /* UTF-8 */
} laze_safetensors_note;

/* Maps a file and checks its header. On success *out is to be released; on failure it is NULL. The file must not be
 * changed or cut while it is mapped: replace it by another of its name, as laze_safetensors_write() does, and who has
 * the old one keeps it. LAZE_INVALID_ARGUMENT: `path` or `out` is NULL, or the path names no regular file;
 * LAZE_NOT_FOUND, LAZE_IO_ERROR: it cannot be opened; LAZE_DATA_LOSS: it is no such file, or damaged (lengths that do
 * not fit, names that come twice, tensors that overlap or leave a gap, a header of more than 100 MB, anything the
 * format does not have); LAZE_UNSUPPORTED: a dtype that laze does not have; LAZE_OUT_OF_MEMORY. The message names the
 * file. */
LAZE_API LAZE_MUST_USE laze_status laze_safetensors_open(laze_context *context, const char *path,
                                                         laze_safetensors **out, laze_error *error);
/* The mapping goes with the last reference; each tensor that was made of the file is one. */
LAZE_API void laze_safetensors_retain(laze_safetensors *file);
/* NULL is ignored. */
LAZE_API void laze_safetensors_release(laze_safetensors *file);

/* Its arrays, in the order of their elements, which is that of the structures in memory too; borrowed from the file.
 * NULL: there is none of the index or the name. A file that is NULL has none. */
LAZE_API int32_t laze_safetensors_count(const laze_safetensors *file);
LAZE_API const laze_safetensors_item *laze_safetensors_get(const laze_safetensors *file, int32_t index);
LAZE_API const laze_safetensors_item *laze_safetensors_find(const laze_safetensors *file, const char *name);
/* Its metadata, sorted by keys; the same. */
LAZE_API int32_t laze_safetensors_note_count(const laze_safetensors *file);
LAZE_API const laze_safetensors_note *laze_safetensors_get_note(const laze_safetensors *file, int32_t index);

/* Writes arrays and metadata (NULL if there are none), in the order that the format's own library has: larger elements
 * first, then by name. The file appears whole or not at all, replacing one of that name. LAZE_INVALID_ARGUMENT: an
 * argument is NULL, names or keys come twice or are no UTF-8, shape and size do not fit; LAZE_UNSUPPORTED: a dtype that
 * the format does not have (c128); LAZE_IO_ERROR; LAZE_OUT_OF_MEMORY. */
LAZE_API LAZE_MUST_USE laze_status laze_safetensors_write(laze_context *context, const char *path,
                                                          const laze_safetensors_item *items, int32_t count,
                                                          const laze_safetensors_note *notes, int32_t note_count,
                                                          laze_error *error);

#ifdef __cplusplus
}
#endif
#endif
