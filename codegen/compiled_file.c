/* Compiled graphs as bytes, little-endian, each part at a multiple of 64:
 *
 *   header    below
 *   names     of sizes, each with its 0
 *   numbers   int64: for each size what the caller said of it; then for each combination that was bound its numbers
 *   text      of the graph, without the elements of large constants
 *   weights   these
 *   code      modules of kernels (runtime/disk_pack.h)
 *
 * Graph and numbers are enough to compile it anew; code that runs here makes that free.
 */
#include "codegen/compiled.h"

#include "base/file.h"
#include "codegen/codegen.h"
#include "ir/text/text.h"
#include "runtime/array.h"
#include "runtime/disk_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT_VERSION 1
enum { ALIGNMENT = 64, LARGE = 16, PARTS = 5 }; /* elements: larger constants are weights */
enum { PART_NAMES, PART_NUMBERS, PART_TEXT, PART_WEIGHTS, PART_CODE };

static const char magic[8] = {'l', 'a', 'z', 'e', 'e', 'x', 'e', '\n'};

typedef struct {
  char magic[8];
  uint32_t version;
  uint32_t symbol_count;
  uint64_t sizes[PARTS];
  char backend[16];
  laze_hash checksum; /* of all of it, with this field zero */
  char zero[40];
} file_header;
_Static_assert(sizeof(file_header) == 2 * ALIGNMENT, "the header has no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "it is written as it lies in memory");

/* --- Writing --- */

typedef struct {
  laze_context *context;
  const laze_compiled *compiled;
  int64_t symbol_count;
  laze_text names, numbers, text;
  laze_weights weights;
  laze_disk_pack code;
} compiled_writer;

static void append_numbers(compiled_writer *self, const int64_t *numbers) {
  if (self->symbol_count > 0)
    laze_text_append_bytes(&self->numbers, (const char *)numbers, self->symbol_count * (int64_t)sizeof *numbers);
}

static laze_status add_bound(void *object, const int64_t *numbers, const laze_graph *graph, bool is_new,
                             laze_error *error) {
  compiled_writer *self = object;
  append_numbers(self, numbers);
  if (!is_new) return LAZE_OK;
  return laze_compile_pack(self->context, laze_compiled_backend(self->compiled), graph, &self->code, error);
}

static laze_status collect(compiled_writer *self, laze_compiled *compiled, laze_error *error) {
  const laze_graph *graph = laze_compiled_graph(compiled);
  const laze_print_options options = {.large = LARGE, .file = "weights", .weights = &self->weights};
  for (int64_t i = 0; i < self->symbol_count; i++) {
    const char *name = laze_size_symbol_name(graph->sizes, i);
    laze_text_append_bytes(&self->names, name, (int64_t)strlen(name) + 1);
  }
  append_numbers(self, laze_compiled_given(compiled));
  laze_graph_print_with(&self->text, graph, &options);
  LAZE_TRY(laze_compiled_each(compiled, add_bound, self, error));
  LAZE_TRY(laze_text_check(&self->names, error));
  LAZE_TRY(laze_text_check(&self->numbers, error));
  return laze_text_check(&self->text, error);
}

static int64_t rounded(int64_t size) {
  return (size + ALIGNMENT - 1) & -(int64_t)ALIGNMENT;
}

static void write_weights(const laze_weights *weights, char *out) {
  for (int64_t i = 0; i < weights->count; i++)
    memcpy(out + weights->items[i].offset, weights->items[i].bytes, (size_t)weights->items[i].size);
}

static laze_status assemble(const compiled_writer *self, laze_array **out, laze_error *error) {
  const laze_text *texts[PARTS] = {&self->names, &self->numbers, &self->text, NULL, &self->code.bytes};
  file_header header = {.version = FORMAT_VERSION, .symbol_count = (uint32_t)self->symbol_count};
  const char *backend = laze_backend_name(laze_compiled_backend(self->compiled));
  int64_t size = sizeof header;
  if (strlen(backend) >= sizeof header.backend)
    return laze_fail(error, LAZE_UNSUPPORTED, "a compiled graph of backend '%s' cannot be saved: its name is too long",
                     backend);
  memcpy(header.magic, magic, sizeof magic);
  strcpy(header.backend, backend);
  for (int i = 0; i < PARTS; i++) {
    const int64_t part = texts[i] ? texts[i]->size : self->weights.size;
    header.sizes[i] = (uint64_t)part;
    size += rounded(part);
  }
  LAZE_TRY(laze_array_create(self->context, LAZE_U8, LAZE_SHAPE(size), out, error));
  char *bytes = (*out)->buffer->data, *at = bytes + sizeof header;
  memset(bytes, 0, (size_t)size);
  for (int i = 0; i < PARTS; i++) {
    if (!texts[i])
      write_weights(&self->weights, at);
    else if (texts[i]->size > 0)
      memcpy(at, texts[i]->data, (size_t)texts[i]->size);
    at += rounded((int64_t)header.sizes[i]);
  }
  memcpy(bytes, &header, sizeof header);
  header.checksum = laze_hash_bytes(bytes, (size_t)size);
  memcpy(bytes, &header, sizeof header);
  return LAZE_OK;
}

laze_status laze_compiled_serialise(laze_compiled *compiled, laze_array **out, laze_error *error) {
  if (out) *out = NULL;
  if (!compiled || !out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_compiled_serialise: compiled and out must not be NULL");
  laze_context *context = laze_compiled_graph(compiled)->context;
  compiled_writer self = {.context = context,
                          .compiled = compiled,
                          .symbol_count = laze_size_symbol_count(laze_compiled_graph(compiled)->sizes),
                          .weights = {.context = context}};
  laze_text_init(&self.names, context);
  laze_text_init(&self.numbers, context);
  laze_text_init(&self.text, context);
  laze_disk_pack_init(&self.code, context);
  laze_status status = collect(&self, compiled, error);
  if (status == LAZE_OK) status = assemble(&self, out, error);
  laze_disk_pack_deinit(&self.code);
  laze_weights_deinit(&self.weights);
  laze_text_deinit(&self.text);
  laze_text_deinit(&self.numbers);
  laze_text_deinit(&self.names);
  return status;
}

static bool write_bytes(const void *self, int file) {
  const laze_array *bytes = self;
  return laze_file_write(file, bytes->buffer->data, laze_array_bytes(bytes));
}

laze_status laze_compiled_save(laze_compiled *compiled, const char *path, laze_error *error) {
  laze_array *bytes;
  if (!path) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_compiled_save: path is NULL");
  LAZE_TRY(laze_compiled_serialise(compiled, &bytes, error));
  const laze_status status = laze_file_replace(path, write_bytes, bytes, error);
  laze_array_release(bytes);
  return status;
}

/* --- Reading --- */

typedef struct {
  file_header header;
  const char *parts[PARTS];
  laze_context *context;
  int32_t flags;
  laze_graph *graph;
  int64_t symbol_count; /* of the graph */
  int64_t *places;      /* of each size that is saved: which of the graph's it is; -1: none */
  int64_t *numbers;     /* of the graph's sizes, a combination at a time */
} compiled_reader;

static laze_status check_checksum(const file_header *header, const char *data, int64_t size, laze_context *context,
                                  laze_error *error) {
  file_header cleared = *header;
  char *copy = laze_alloc(context, size);
  if (!copy) return laze_fail_memory(error, "a compiled graph", size);
  cleared.checksum = (laze_hash){0, 0};
  memcpy(copy, data, (size_t)size);
  memcpy(copy, &cleared, sizeof cleared);
  const laze_hash found = laze_hash_bytes(copy, (size_t)size);
  laze_free(context, copy);
  if (laze_hash_equal(found, header->checksum)) return LAZE_OK;
  return laze_fail(error, LAZE_DATA_LOSS, "its checksum does not match its contents");
}

/* Finds the parts, and that there is nothing else. */
static laze_status open_bytes(compiled_reader *self, const char *data, int64_t size, laze_error *error) {
  file_header *header = &self->header;
  if (size < (int64_t)sizeof *header)
    return laze_fail(error, LAZE_DATA_LOSS, "it has %lld bytes, fewer than a header", (long long)size);
  memcpy(header, data, sizeof *header);
  if (memcmp(header->magic, magic, sizeof magic) != 0)
    return laze_fail(error, LAZE_DATA_LOSS, "it is no compiled graph of laze");
  if (header->version != FORMAT_VERSION)
    return laze_fail(error, LAZE_UNSUPPORTED, "it is a compiled graph of format %u, not %d; save it with this version",
                     (unsigned)header->version, FORMAT_VERSION);
  int64_t at = sizeof *header;
  for (int i = 0; i < PARTS; i++) {
    if (header->sizes[i] > (uint64_t)(size - at) || rounded((int64_t)header->sizes[i]) > size - at)
      return laze_fail(error, LAZE_DATA_LOSS, "it has %lld bytes, fewer than its header asks for", (long long)size);
    self->parts[i] = data + at;
    at += rounded((int64_t)header->sizes[i]);
  }
  if (at != size || header->backend[sizeof header->backend - 1] != 0)
    return laze_fail(error, LAZE_DATA_LOSS, "it has %lld bytes, not those its header asks for", (long long)size);
  return check_checksum(header, data, size, self->context, error);
}

static laze_status read_graph(compiled_reader *self, laze_error *error) {
  const laze_text_source source = {.text = self->parts[PART_TEXT],
                                   .size = (int64_t)self->header.sizes[PART_TEXT],
                                   .file = "graph",
                                   .weights = self->parts[PART_WEIGHTS],
                                   .weights_size = (int64_t)self->header.sizes[PART_WEIGHTS]};
  LAZE_TRY(laze_graph_read(self->context, &source, NULL, &self->graph, error));
  return laze_graph_verify(self->graph, error);
}

static int64_t find_symbol(const laze_graph *graph, const char *name) {
  for (int64_t i = 0; i < laze_size_symbol_count(graph->sizes); i++)
    if (strcmp(laze_size_symbol_name(graph->sizes, i), name) == 0) return i;
  return -1;
}

/* A size that only a caller asked for is none of the graph that was read. */
static laze_status read_names(compiled_reader *self, laze_error *error) {
  const char *at = self->parts[PART_NAMES], *end = at + self->header.sizes[PART_NAMES];
  const int64_t saved = self->header.symbol_count;
  if (saved > (int64_t)self->header.sizes[PART_NAMES])
    return laze_fail(error, LAZE_DATA_LOSS, "it has %lld sizes without names", (long long)saved);
  self->symbol_count = laze_size_symbol_count(self->graph->sizes);
  self->places = laze_alloc_array(self->context, saved, sizeof *self->places);
  self->numbers = laze_alloc_array(self->context, self->symbol_count, sizeof *self->numbers);
  if (!self->places || !self->numbers) return laze_fail_memory(error, "the sizes of a graph", -1);
  for (int64_t i = 0; i < saved; i++) {
    const char *next = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
    if (!next) return laze_fail(error, LAZE_DATA_LOSS, "the name of its size %lld has no end", (long long)i);
    self->places[i] = find_symbol(self->graph, at);
    at = next + 1;
  }
  return LAZE_OK;
}

/* The index-th combination of numbers, for the graph's sizes. */
static const int64_t *read_numbers(compiled_reader *self, int64_t index) {
  const int64_t saved = self->header.symbol_count;
  for (int64_t i = 0; i < self->symbol_count; i++) self->numbers[i] = -1;
  for (int64_t i = 0; i < saved; i++) {
    int64_t number;
    memcpy(&number, self->parts[PART_NUMBERS] + (index * saved + i) * (int64_t)sizeof number, sizeof number);
    if (self->places[i] >= 0) self->numbers[self->places[i]] = number;
  }
  return self->numbers;
}

/* Code that cannot run here is no error, unless the caller says so: it is made anew. */
static laze_status take_code(const compiled_reader *self, const laze_backend *backend, laze_error *error) {
  const int64_t size = (int64_t)self->header.sizes[PART_CODE];
  laze_error refusal;
  if (size == 0 || !backend->unpack) return LAZE_OK;
  const laze_status status = backend->unpack(self->context, self->parts[PART_CODE], size, &refusal);
  if (status == LAZE_OK) return LAZE_OK;
  if (status != LAZE_FAILED_PRECONDITION || self->flags & LAZE_LOAD_EXACT)
    return laze_fail(error, status, "%s", refusal.message);
  laze_log_message(self->context, LAZE_LOG_INFO, "a compiled graph is compiled anew: %s", refusal.message);
  return LAZE_OK;
}

static laze_status bind_all(compiled_reader *self, laze_compiled *compiled, laze_error *error) {
  const int64_t each = (int64_t)self->header.symbol_count * (int64_t)sizeof(int64_t);
  const int64_t count = each > 0 ? (int64_t)self->header.sizes[PART_NUMBERS] / each : 0;
  for (int64_t i = 1; i < count; i++) LAZE_TRY(laze_compiled_bind(compiled, read_numbers(self, i), error));
  return LAZE_OK;
}

static laze_status compile_read(compiled_reader *self, laze_compiled **out, laze_error *error) {
  const laze_backend *backend;
  LAZE_TRY(read_graph(self, error));
  LAZE_TRY(read_names(self, error));
  const uint64_t each = (uint64_t)self->header.symbol_count * sizeof(int64_t);
  if (each > 0 && (self->header.sizes[PART_NUMBERS] < each || self->header.sizes[PART_NUMBERS] % each != 0))
    return laze_fail(error, LAZE_DATA_LOSS, "it has no number for each of its sizes");
  LAZE_TRY(laze_backend_find(self->context, self->header.backend, &backend, error));
  LAZE_TRY(take_code(self, backend, error));
  const laze_compile_options options = {.struct_size = sizeof options,
                                        .backend = backend,
                                        .sizes = read_numbers(self, 0),
                                        .size_count = (int32_t)self->symbol_count};
  LAZE_TRY(laze_compile_graph(self->graph, &options, out, error));
  const laze_status status = bind_all(self, *out, error);
  if (status == LAZE_OK) return LAZE_OK;
  laze_compiled_release(*out);
  *out = NULL;
  return status;
}

laze_status laze_compiled_deserialise(laze_context *context, const void *data, size_t size, int32_t flags,
                                      laze_compiled **out, laze_error *error) {
  if (out) *out = NULL;
  if (!out || !data || size > (size_t)INT64_MAX - ALIGNMENT)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_compiled_deserialise: data and out must not be NULL, nor size negative");
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  compiled_reader self = {.context = context, .flags = flags};
  laze_status status = open_bytes(&self, data, (int64_t)size, error);
  if (status == LAZE_OK) status = compile_read(&self, out, error);
  laze_free(context, self.places);
  laze_free(context, self.numbers);
  laze_graph_release(self.graph); /* the compiled graph keeps it */
  return status == LAZE_OK ? LAZE_OK : laze_error_prefix(error, "compiled graph");
}

static laze_status read_file(laze_context *context, int file, char **out, int64_t *size, laze_error *error) {
  struct stat info;
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
    return laze_fail(error, LAZE_IO_ERROR, "cannot be read: it is no file");
  *size = info.st_size;
  *out = laze_alloc(context, *size);
  if (!*out) return laze_fail_memory(error, "a compiled graph", *size);
  for (int64_t done = 0; done < *size;) {
    const ssize_t count = read(file, *out + done, (size_t)(*size - done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return laze_fail(error, LAZE_IO_ERROR, "cannot be read to its end (%s)", count < 0 ? strerror(errno) : "shorter");
    done += count;
  }
  return LAZE_OK;
}

laze_status laze_compiled_load(laze_context *context, const char *path, int32_t flags, laze_compiled **out,
                               laze_error *error) {
  char *bytes = NULL;
  int64_t size = 0;
  if (out) *out = NULL;
  if (!path || !out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_compiled_load: path and out must not be NULL");
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* what is no file does not block */
  if (file < 0)
    return laze_fail(error, errno == ENOENT ? LAZE_NOT_FOUND : LAZE_IO_ERROR, "%s: cannot be opened (%s)", path,
                     strerror(errno));
  laze_status status = read_file(context, file, &bytes, &size, error);
  close(file);
  if (status == LAZE_OK) status = laze_compiled_deserialise(context, bytes, (size_t)size, flags, out, error);
  laze_free(context, bytes);
  return status == LAZE_OK ? LAZE_OK : laze_error_prefix(error, "%s", path);
}
