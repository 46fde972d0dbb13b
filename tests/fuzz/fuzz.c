/* Contexts, files and bytes of fuzz targets. */
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An input asks for what it likes; these are enough for any that is worth running. */
#define MOST_BYTES ((size_t)256 << 20)
#define MOST_ACTIVITIES 4000

static _Atomic size_t live_bytes;
static int64_t activities, accepted;

_Noreturn void fuzz_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  abort();
}

void fuzz_note_accepted(void) {
  accepted++;
}
int64_t fuzz_accepted_count(void) {
  return accepted;
}

void fuzz_check_refusal(const char *what, laze_status status, const laze_error *error) {
  if (status == LAZE_OK) return;
  if (!error->message[0]) fuzz_fail("%s: refused without a message (%s)", what, laze_status_name(status));
  if (status == LAZE_INTERNAL) fuzz_fail("%s: %s", what, error->message);
}

/* Sizes stand before the memory. */
enum { HEADER = 16 };

static void *allocate(void *self, size_t size) {
  (void)self;
  if (size > MOST_BYTES || live_bytes + size > MOST_BYTES) return NULL;
  char *memory = malloc(size + HEADER);
  if (!memory) return NULL;
  memcpy(memory, &size, sizeof size);
  live_bytes += size;
  return memory + HEADER;
}

static void release(void *self, void *memory) {
  size_t size;
  (void)self;
  if (!memory) return;
  memcpy(&size, (char *)memory - HEADER, sizeof size);
  live_bytes -= size;
  free((char *)memory - HEADER);
}

static void ignore_log(void *self, int32_t severity, const char *message) {
  (void)self, (void)severity, (void)message;
}

static int32_t stop_late(void *self, const laze_activity *activity) {
  (void)self, (void)activity;
  return ++activities > MOST_ACTIVITIES;
}

laze_context *fuzz_context_create(const char *cache) {
  laze_allocator allocator = {allocate, release, NULL};
  laze_context_options options = {.struct_size = sizeof options,
                                  .allocator = &allocator,
                                  .log = ignore_log,
                                  .backend = "interp",
                                  .debug = "",
                                  .cache_directory = cache ? cache : "",
                                  .threads = 1};
  laze_context *context;
  laze_error error;
  if (laze_context_create(&options, &context, &error) != LAZE_OK) fuzz_fail("a context: %s", error.message);
  activities = 0;
  laze_context_watch(context, stop_late, NULL);
  return context;
}

void fuzz_context_destroy(laze_context *context) {
  laze_context_release(context);
  if (live_bytes) fuzz_fail("%zu bytes are not given back", (size_t)live_bytes);
}

static char folder[64];

static void remove_folder(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  if (system(command) != 0) fprintf(stderr, "%s stays\n", folder);
}

const char *fuzz_folder(void) {
  if (folder[0]) return folder;
  snprintf(folder, sizeof folder, "/tmp/laze-fuzz-XXXXXX");
  if (!mkdtemp(folder)) fuzz_fail("no folder %s", folder);
  atexit(remove_folder);
  return folder;
}

void fuzz_write_file(const char *name, const void *data, size_t size, char path[256]) {
  snprintf(path, 256, "%s/%s", fuzz_folder(), name);
  unlink(path); /* some file systems wait for the disk where one is made empty */
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) fuzz_fail("%s cannot be written", path);
}

uint64_t fuzz_take(fuzz_reader *reader, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes && reader->left > 0; i++, reader->left--) value |= (uint64_t)*reader->data++ << (8 * i);
  return value;
}

int fuzz_below(fuzz_reader *reader, int bound) {
  return (int)(fuzz_take(reader, 1) % (uint64_t)bound);
}
