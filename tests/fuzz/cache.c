/* What the disk cache reads. The first byte chooses: an object, which is loaded and not called; a module as it is; or a
 * module whose identity and checksum are made right, so that what lies behind these checks is reached. */
#include "runtime/disk_cache.h"
#include "runtime/object_loader.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the header of a module (runtime/disk_cache_file.c). */
enum { IDENTITY_AT = 32, CHECKSUM_AT = 48, HEADER = 64 };

static void load(laze_context *context, const void *bytes, int64_t size) {
  static const laze_object_import imports[] = {{"memcpy", memcpy}, {"imported", abort}};
  laze_object_options options = {.imports = imports, .import_count = 2, .hide_from_debugger = true};
  laze_object *object;
  laze_error error = {0};
  laze_status status = laze_object_load(context, bytes, size, &options, &object, &error);
  fuzz_check_refusal("object", status, &error);
  if (status != LAZE_OK) return;
  if (laze_object_size(object) > LAZE_OBJECT_MAX)
    fuzz_fail("an object of %lld bytes", (long long)laze_object_size(object));
  if (laze_object_find(object, "no such symbol")) fuzz_fail("an object has a symbol that it has not");
  fuzz_note_accepted();
  laze_object_destroy(object);
}

static laze_hash identity(void) {
  return laze_hash_bytes("identity", strlen("identity"));
}

/* Puts the file where a kernel's key leads. */
static void write_module(const uint8_t *bytes, int64_t size, laze_hash key) {
  char hex[33], name[128], path[256], link[256];
  laze_hash_format(identity(), hex);
  snprintf(name, sizeof name, "%s/m-%032d", hex, 0);
  fuzz_write_file(name, bytes, (size_t)size, path);
  if (chmod(path, 0600) != 0) fuzz_fail("%s keeps its mode", path);
  snprintf(link, sizeof link, "%s/%s/k-", fuzz_folder(), hex);
  laze_hash_format(key, hex);
  strcat(link, hex);
  snprintf(name, sizeof name, "m-%032d", 0);
  if (symlink(name, link) != 0 && errno != EEXIST) fuzz_fail("no link %s", link);
}

static void find(laze_context *context, const uint8_t *bytes, int64_t size) {
  laze_hash key = {1, 2};
  laze_disk_cache *cache = laze_disk_cache_open(context, "identity");
  if (!cache) fuzz_fail("no disk cache in %s", fuzz_folder());
  write_module(bytes, size, key);
  laze_disk_module *module = laze_disk_cache_find(cache, key);
  for (int64_t i = 0; module && i < module->entry_count; i++)
    if (strlen(module->entries[i].symbol) >= (size_t)size) fuzz_fail("a name that is longer than its module");
  if (module) load(context, module->object, module->object_size);
  laze_disk_module_destroy(module);
  laze_disk_cache_close(cache);
}

static void mend(uint8_t *bytes, int64_t size) {
  laze_hash hash = identity();
  if (size < HEADER) return;
  memcpy(bytes + IDENTITY_AT, &hash, sizeof hash);
  memset(bytes + CHECKSUM_AT, 0, sizeof hash);
  hash = laze_hash_bytes(bytes, (size_t)size);
  memcpy(bytes + CHECKSUM_AT, &hash, sizeof hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  laze_context *context = fuzz_context_create(fuzz_folder());
  uint8_t *bytes = malloc(size); /* so that a read beyond the end is one */
  int64_t rest = (int64_t)size - 1;
  memcpy(bytes, data + 1, (size_t)rest);
  if (data[0] % 4 == 0) mend(bytes, rest);
  if (data[0] % 2 == 0)
    find(context, bytes, rest);
  else
    load(context, bytes, rest);
  free(bytes);
  fuzz_context_destroy(context);
  return 0;
}
