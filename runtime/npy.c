/* A .npy file:
 *
 *   "\x93NUMPY"  major  minor  header length (2 bytes in version 1, 4 in versions 2 and 3)
 *   header       (npy_header.c), padded with spaces so that the elements are aligned to 64
 *   elements     to the end of the file
 */
#include "laze/npy.h"

#include "base/context.h"
#include "base/dtype.h"
#include "base/file.h"
#include "runtime/npy_header.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are read and written as they lie in memory");

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* --- Reading --- */

typedef struct {
  int file;
  int64_t size, at; /* bytes of the file; bytes read */
} reader;

static laze_status read_bytes(reader *self, void *out, int64_t size, const char *what, laze_error *error) {
  if (size > self->size - self->at)
    return laze_fail(error, LAZE_DATA_LOSS, "ends at byte %lld, within %s of %lld bytes", (long long)self->size, what,
                     (long long)size);
  for (int64_t done = 0; done < size;) {
    ssize_t count = read(self->file, (char *)out + done, (size_t)(size - done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return laze_fail(error, LAZE_IO_ERROR, "cannot be read (%s)", strerror(errno));
    if (count == 0) return laze_fail(error, LAZE_DATA_LOSS, "became shorter while it was read");
    done += count;
  }
  self->at += size;
  return LAZE_OK;
}

/* Reads up to and including the length of the header. */
static laze_status read_prefix(reader *self, int64_t *header_length, laze_error *error) {
  unsigned char prefix[8], length[4] = {0};
  LAZE_TRY(read_bytes(self, prefix, sizeof prefix, "the signature", error));
  if (memcmp(prefix, magic, sizeof magic) != 0)
    return laze_fail(error, LAZE_DATA_LOSS, "is no .npy file: it does not start with \\x93NUMPY");
  if (prefix[6] < 1 || prefix[6] > 3 || prefix[7] != 0)
    return laze_fail(error, LAZE_UNSUPPORTED, "is of .npy version %d.%d: expected 1.0, 2.0 or 3.0; save it again",
                     prefix[6], prefix[7]);
  LAZE_TRY(read_bytes(self, length, prefix[6] == 1 ? 2 : 4, "the header's length", error));
  *header_length =
      (int64_t)(length[0] | (uint32_t)length[1] << 8 | (uint32_t)length[2] << 16 | (uint32_t)length[3] << 24);
  if (*header_length > LAZE_NPY_HEADER_MAX)
    return laze_fail(error, LAZE_DATA_LOSS, "has a header of %lld bytes: expected at most %d",
                     (long long)*header_length, LAZE_NPY_HEADER_MAX);
  return LAZE_OK;
}

static laze_status read_header(laze_context *context, reader *self, laze_npy_header *header, laze_error *error) {
  int64_t length = 0;
  LAZE_TRY(read_prefix(self, &length, error));
  char *text = laze_alloc(context, length);
  if (!text) return laze_fail_memory(error, "a .npy header", length);
  laze_status status = read_bytes(self, text, length, "the header", error);
  if (status == LAZE_OK) status = laze_npy_header_parse(text, length, header, error);
  laze_free(context, text);
  return status;
}

/* Copies a column-major array to row-major order: walks the target in order and steps through the source like an
 * odometer, the last axis fastest. */
static void copy_transposed(const laze_npy *array, int64_t count, const char *source, char *target) {
  int64_t index[LAZE_NPY_MAX_RANK] = {0}, strides[LAZE_NPY_MAX_RANK] = {0};
  int64_t element = laze_dtype_size(array->dtype), stride = element, offset = 0;
  if (count == 0) return;
  for (int32_t axis = 0; axis < array->rank; axis++) {
    strides[axis] = stride;
    stride *= array->dims[axis];
  }
  for (int64_t i = 0; i < count; i++) {
    memcpy(target + i * element, source + offset, (size_t)element);
    for (int32_t axis = array->rank - 1; axis >= 0; axis--) {
      offset += strides[axis];
      if (++index[axis] < array->dims[axis]) break;
      offset -= strides[axis] * array->dims[axis];
      index[axis] = 0;
    }
  }
}

/* Turns column-major data in place of row-major. */
static laze_status transpose(laze_context *context, laze_npy *array, int64_t count, laze_error *error) {
  char *target = laze_alloc(context, array->size);
  if (!target) return laze_fail_memory(error, "an array in row-major order", array->size);
  copy_transposed(array, count, array->data, target);
  laze_free(context, array->data);
  array->data = target;
  return LAZE_OK;
}

static laze_status read_elements(laze_context *context, reader *self, const laze_npy_header *header, laze_npy *out,
                                 laze_error *error) {
  int64_t count, rest = self->size - self->at;
  out->dtype = header->dtype;
  out->rank = header->rank;
  memcpy(out->dims, header->dims, sizeof out->dims);
  LAZE_TRY(laze_npy_count(out->dtype, out->rank, out->dims, &count, &out->size, error));
  if (out->size != rest) /* before anything is allocated */
    return laze_fail(error, LAZE_DATA_LOSS,
                     "has %lld bytes of elements: its header asks for %lld elements of %s, which are %lld bytes",
                     (long long)rest, (long long)count, laze_dtype_name(out->dtype), (long long)out->size);
  out->data = laze_alloc(context, out->size);
  if (!out->data) return laze_fail_memory(error, "the elements", out->size);
  LAZE_TRY(read_bytes(self, out->data, out->size, "the elements", error));
  if (out->dtype == LAZE_BOOL) {
    unsigned char *bytes = out->data;
    for (int64_t i = 0; i < count; i++) bytes[i] = bytes[i] != 0; /* kernels rely on 0 and 1 */
  }
  return header->fortran_order && out->rank > 1 ? transpose(context, out, count, error) : LAZE_OK;
}

static laze_status read_open(laze_context *context, int file, laze_npy *out, laze_error *error) {
  struct stat info;
  if (fstat(file, &info) != 0) return laze_fail(error, LAZE_IO_ERROR, "cannot be read (%s)", strerror(errno));
  if (!S_ISREG(info.st_mode))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "is no regular file: write the array to a file first");
  reader self = {file, info.st_size, 0};
  laze_npy_header header;
  LAZE_TRY(read_header(context, &self, &header, error));
  return read_elements(context, &self, &header, out, error);
}

laze_status laze_npy_read(laze_context *context, const char *path, laze_npy *out, laze_error *error) {
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_npy_read: out is NULL: expected where the array goes");
  memset(out, 0, sizeof *out);
  if (!path) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_npy_read: path is NULL: expected a file name");
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* never waits for the writer of a pipe */
  if (file < 0)
    return laze_fail(error, errno == ENOENT ? LAZE_NOT_FOUND : LAZE_IO_ERROR, "%s: cannot be opened (%s)", path,
                     strerror(errno));
  laze_context_retain(context);
  out->context = context;
  laze_status status = read_open(context, file, out, error);
  close(file);
  if (status == LAZE_OK) return LAZE_OK;
  laze_npy_deinit(out);
  if (error) laze_error_prefix(error, "%s", path);
  return status;
}

void laze_npy_deinit(laze_npy *array) {
  if (!array || !array->context) return;
  laze_free(array->context, array->data);
  laze_context_release(array->context);
  memset(array, 0, sizeof *array);
}

/* --- Writing --- */

static laze_status check_array(const laze_npy *array, int64_t *bytes, laze_error *error) {
  if (!laze_dtype_get(array->dtype)->numpy || array->rank < 0 || array->rank > LAZE_NPY_MAX_RANK)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "an array of dtype %s (%d) with %d axes cannot be written: expected %s with at most %d axes",
                     laze_dtype_name(array->dtype), array->dtype, array->rank,
                     laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_SHORT, " or ").text, LAZE_NPY_MAX_RANK);
  for (int32_t i = 0; i < array->rank; i++) {
    if (array->dims[i] < 0)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "axis %d has size %lld: a size cannot be negative", i,
                       (long long)array->dims[i]);
  }
  int64_t count;
  LAZE_TRY(laze_npy_count(array->dtype, array->rank, array->dims, &count, bytes, error));
  if (*bytes > 0 && !array->data)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "data is NULL: expected %lld bytes", (long long)*bytes);
  return LAZE_OK;
}

/* Signature, length and header: at most 512 bytes, for 16 sizes of 19 digits. Returns their number, which is a multiple
 * of 64. */
static int64_t format_prefix(const laze_npy *array, char out[512]) {
  int length = 10 + snprintf(out + 10, 500, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                             laze_dtype_get(array->dtype)->numpy);
  for (int32_t i = 0; i < array->rank; i++)
    length += snprintf(out + length, (size_t)(512 - length), i + 1 < array->rank ? "%lld, " : "%lld",
                       (long long)array->dims[i]);
  length += snprintf(out + length, (size_t)(512 - length), array->rank == 1 ? ",), }" : "), }");
  int total = (length + 1 + 63) / 64 * 64;
  memset(out + length, ' ', (size_t)(total - length - 1));
  out[total - 1] = '\n';
  memcpy(out, magic, sizeof magic);
  out[6] = 1;
  out[7] = 0;
  out[8] = (char)((total - 10) & 255);
  out[9] = (char)((total - 10) >> 8);
  return total;
}

typedef struct {
  const laze_npy *array;
  int64_t bytes; /* of its elements */
} content;

static bool write_content(const void *self, int file) {
  const content *what = self;
  char prefix[512];
  int64_t length = format_prefix(what->array, prefix);
  return laze_file_write(file, prefix, length) && laze_file_write(file, what->array->data, what->bytes);
}

laze_status laze_npy_write(const char *path, const laze_npy *array, laze_error *error) {
  if (!path || !array)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_npy_write: %s is NULL", path ? "the array" : "path");
  content what = {.array = array};
  laze_status status = check_array(array, &what.bytes, error);
  if (status == LAZE_OK) return laze_file_replace(path, write_content, &what, error);
  if (error) laze_error_prefix(error, "%s", path);
  return status;
}
