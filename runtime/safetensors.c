/* Safetensors files: mapped to be read, written whole. */
#include "laze/safetensors.h"

#include "base/context.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/npy_header.h"
#include "runtime/safetensors_header.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are read and written as they lie in memory");

#define PREFIX 8 /* bytes of the header's length; the header ends at a multiple of it, so that elements are aligned */

/* --- Reading --- */

struct laze_safetensors {
  laze_context *context; /* retained */
  _Atomic int64_t references;
  void *mapping; /* MAP_FAILED: none */
  int64_t size;
  laze_safetensors_header header;
};

static laze_status map(laze_safetensors *self, int file, laze_error *error) {
  struct stat info;
  if (fstat(file, &info) != 0) return laze_fail(error, LAZE_IO_ERROR, "cannot be read (%s)", strerror(errno));
  if (!S_ISREG(info.st_mode))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "is no regular file, which alone can be mapped: copy it to one");
  self->size = info.st_size;
  if (self->size < PREFIX)
    return laze_fail(error, LAZE_DATA_LOSS, "has %lld bytes, and a safetensors file at least 8", (long long)self->size);
  self->mapping = mmap(NULL, (size_t)self->size, PROT_READ, MAP_PRIVATE, file, 0);
  if (self->mapping != MAP_FAILED) return LAZE_OK;
  return laze_fail(error, errno == ENOMEM ? LAZE_OUT_OF_MEMORY : LAZE_IO_ERROR, "cannot be mapped (%s)",
                   strerror(errno));
}

static laze_status parse(laze_safetensors *self, laze_error *error) {
  uint64_t length;
  const char *text = (const char *)self->mapping + PREFIX;
  memcpy(&length, self->mapping, sizeof length);
  if (length > LAZE_SAFETENSORS_HEADER_MAX || length > (uint64_t)(self->size - PREFIX))
    return laze_fail(error, LAZE_DATA_LOSS, "has %lld bytes, and a header of %llu: expected at most %lld",
                     (long long)self->size, (unsigned long long)length,
                     (long long)(self->size - PREFIX < LAZE_SAFETENSORS_HEADER_MAX ? self->size - PREFIX
                                                                                   : LAZE_SAFETENSORS_HEADER_MAX));
  LAZE_TRY(laze_safetensors_header_parse(self->context, text, (int64_t)length, self->size - PREFIX - (int64_t)length,
                                         &self->header, error));
  for (int64_t i = 0; i < self->header.item_count; i++) {
    laze_safetensors_item *item = &self->header.items[i];
    item->data = text + length + (uintptr_t)item->data; /* was an offset */
  }
  return LAZE_OK;
}

static laze_status read_file(laze_safetensors *self, const char *path, laze_error *error) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* never waits for the writer of a pipe */
  if (file < 0)
    return laze_fail(error, errno == ENOENT ? LAZE_NOT_FOUND : LAZE_IO_ERROR, "%s: cannot be opened (%s)", path,
                     strerror(errno));
  laze_status status = map(self, file, error);
  (void)close(file); /* the mapping stays */
  if (status == LAZE_OK) status = parse(self, error);
  return status == LAZE_OK ? LAZE_OK : laze_error_prefix(error, "%s", path);
}

laze_status laze_safetensors_open(laze_context *context, const char *path, laze_safetensors **out, laze_error *error) {
  laze_error local; /* prefixes need a message */
  if (!error) error = &local;
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_safetensors_open: out must not be NULL");
  *out = NULL;
  if (!path)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_safetensors_open: path is NULL: expected a file name");
  if (!context) context = laze_context_default();
  laze_safetensors *self = context ? laze_alloc_zero(context, sizeof *self) : NULL;
  if (!self) return laze_fail_memory(error, "a safetensors file", sizeof *self);
  laze_context_retain(context);
  self->context = self->header.context = context;
  self->mapping = MAP_FAILED;
  atomic_init(&self->references, 1);
  const laze_status status = read_file(self, path, error);
  if (status == LAZE_OK)
    *out = self;
  else
    laze_safetensors_release(self);
  return status;
}

void laze_safetensors_retain(laze_safetensors *file) {
  if (file) atomic_fetch_add_explicit(&file->references, 1, memory_order_relaxed);
}

void laze_safetensors_release(laze_safetensors *file) {
  if (!file || atomic_fetch_sub_explicit(&file->references, 1, memory_order_acq_rel) > 1) return;
  laze_context *context = file->context;
  if (file->mapping != MAP_FAILED) (void)munmap(file->mapping, (size_t)file->size);
  laze_safetensors_header_deinit(&file->header);
  laze_free(context, file);
  laze_context_release(context);
}

int32_t laze_safetensors_count(const laze_safetensors *file) {
  return file ? (int32_t)file->header.item_count : 0;
}

const laze_safetensors_item *laze_safetensors_get(const laze_safetensors *file, int32_t index) {
  return index >= 0 && index < laze_safetensors_count(file) ? &file->header.items[index] : NULL;
}

const laze_safetensors_item *laze_safetensors_find(const laze_safetensors *file, const char *name) {
  for (int32_t i = 0; name && i < laze_safetensors_count(file); i++)
    if (strcmp(file->header.items[i].name, name) == 0) return &file->header.items[i];
  return NULL;
}

int32_t laze_safetensors_note_count(const laze_safetensors *file) {
  return file ? (int32_t)file->header.note_count : 0;
}

const laze_safetensors_note *laze_safetensors_get_note(const laze_safetensors *file, int32_t index) {
  return index >= 0 && index < laze_safetensors_note_count(file) ? &file->header.notes[index] : NULL;
}

/* --- Writing --- */

static laze_status check_text(const char *what, const char *text, laze_error *error) {
  if (!text) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_safetensors_write: a %s is NULL", what);
  if (laze_safetensors_is_utf8(text, (int64_t)strlen(text))) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_safetensors_write: a %s is no UTF-8", what);
}

static laze_status check_item(const laze_safetensors_item *item, laze_error *error) {
  int64_t elements, size;
  LAZE_TRY(check_text("name", item->name, error));
  if (strcmp(item->name, "__metadata__") == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_safetensors_write: no tensor can be called __metadata__");
  if (!laze_safetensors_dtype_name(item->dtype))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "laze_safetensors_write: \"%.64s\" is of %s, which the format does not have", item->name,
                     laze_dtype_name(item->dtype));
  if (!item->data)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_safetensors_write: the data of \"%.64s\" is NULL", item->name);
  bool fits = item->rank >= 0 && item->rank <= LAZE_SAFETENSORS_MAX_RANK;
  for (int32_t i = 0; fits && i < item->rank; i++) fits = item->dims[i] >= 0;
  if (fits && laze_npy_count(item->dtype, item->rank, item->dims, &elements, &size, NULL) == LAZE_OK &&
      size == item->size)
    return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "laze_safetensors_write: \"%.64s\" has rank %d and %lld bytes, which do not fit its shape",
                   item->name, (int)item->rank, (long long)item->size);
}

/* Larger elements first, then by name. */
static int compare_items(const void *left, const void *right) {
  const laze_safetensors_item *a = *(const laze_safetensors_item *const *)left;
  const laze_safetensors_item *b = *(const laze_safetensors_item *const *)right;
  const int64_t sizes[2] = {laze_dtype_size(a->dtype), laze_dtype_size(b->dtype)};
  if (sizes[0] != sizes[1]) return sizes[0] > sizes[1] ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* A string of JSON. */
static void put_string(laze_text *text, const char *string) {
  laze_text_append(text, "\"");
  for (const char *at = string; *at; at++) {
    if ((unsigned char)*at < ' ')
      laze_text_format(text, "\\u%04x", *at);
    else
      laze_text_format(text, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
  }
  laze_text_append(text, "\"");
}

static void put_item(laze_text *text, const laze_safetensors_item *item, int64_t begin) {
  put_string(text, item->name);
  laze_text_format(text, ":{\"dtype\":\"%s\",\"shape\":[", laze_safetensors_dtype_name(item->dtype));
  for (int32_t i = 0; i < item->rank; i++) laze_text_format(text, i ? ",%lld" : "%lld", (long long)item->dims[i]);
  laze_text_format(text, "],\"data_offsets\":[%lld,%lld]}", (long long)begin, (long long)(begin + item->size));
}

static void put_header(laze_text *text, const laze_safetensors_item *const *items, int32_t count,
                       const laze_safetensors_note *notes, int32_t note_count) {
  int64_t at = 0;
  laze_text_append(text, "{");
  if (note_count > 0) laze_text_append(text, "\"__metadata__\":{");
  for (int32_t i = 0; i < note_count; i++) {
    if (i) laze_text_append(text, ",");
    put_string(text, notes[i].key);
    laze_text_append(text, ":");
    put_string(text, notes[i].value);
  }
  if (note_count > 0) laze_text_append(text, count > 0 ? "}," : "}");
  for (int32_t i = 0; i < count; i++) {
    if (i) laze_text_append(text, ",");
    put_item(text, items[i], at);
    at += items[i]->size;
  }
  laze_text_append(text, "}");
  while (!text->failed && text->size % PREFIX != 0) laze_text_append(text, " ");
}

/* What is written. */
typedef struct {
  const laze_safetensors_item **items; /* in their order */
  int32_t count;
  laze_text header;
} contents;

static bool write_contents(const void *self, int file) {
  const contents *all = self;
  const uint64_t length = (uint64_t)all->header.size;
  bool written = laze_file_write(file, &length, sizeof length) &&
                 laze_file_write(file, laze_text_get(&all->header), all->header.size);
  for (int32_t i = 0; written && i < all->count; i++)
    written = laze_file_write(file, all->items[i]->data, all->items[i]->size);
  return written;
}

/* What would be refused when it is read: parses it, which finds names that come twice. */
static laze_status check_header(laze_context *context, const contents *all, laze_error *error) {
  laze_safetensors_header parsed;
  int64_t elements = 0;
  for (int32_t i = 0; i < all->count; i++) elements += all->items[i]->size;
  LAZE_TRY(laze_text_check(&all->header, error));
  laze_status status =
      laze_safetensors_header_parse(context, laze_text_get(&all->header), all->header.size, elements, &parsed, error);
  laze_safetensors_header_deinit(&parsed);
  if (status == LAZE_DATA_LOSS && error) error->code = status = LAZE_INVALID_ARGUMENT;
  return status == LAZE_OK ? LAZE_OK : laze_error_prefix(error, "laze_safetensors_write");
}

laze_status laze_safetensors_write(laze_context *context, const char *path, const laze_safetensors_item *items,
                                   int32_t count, const laze_safetensors_note *notes, int32_t note_count,
                                   laze_error *error) {
  laze_error local;
  if (!error) error = &local;
  if (!path || count < 0 || note_count < 0 || (count > 0 && !items) || (note_count > 0 && !notes))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_safetensors_write: expected a path, and lists of what is to be written");
  for (int32_t i = 0; i < count; i++) LAZE_TRY(check_item(&items[i], error));
  for (int32_t i = 0; i < note_count; i++) {
    LAZE_TRY(check_text("key", notes[i].key, error));
    LAZE_TRY(check_text("value", notes[i].value, error));
  }
  if (!context) context = laze_context_default();
  contents all = {.items = context ? laze_alloc_array(context, count, sizeof *all.items) : NULL, .count = count};
  if (!all.items) return laze_fail_memory(error, "a list of tensors", count * (int64_t)sizeof *all.items);
  for (int32_t i = 0; i < count; i++) all.items[i] = &items[i];
  qsort(all.items, (size_t)count, sizeof *all.items, compare_items);
  laze_text_init(&all.header, context);
  put_header(&all.header, all.items, count, notes, note_count);
  laze_status status = check_header(context, &all, error);
  if (status == LAZE_OK) status = laze_file_replace(path, write_contents, &all, error);
  laze_text_deinit(&all.header);
  laze_free(context, all.items);
  return status;
}
