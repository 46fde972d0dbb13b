/* A module in a file, little-endian:
 *
 *   header   64 bytes, below
 *   entries  24 bytes each: key, offset of the symbol's name, 0
 *   names    NUL-terminated
 *   padding  to a multiple of 16
 *   object   to the end of the file
 */
#include "runtime/disk_cache_internal.h"

#include <string.h>

#define FORMAT_VERSION 1

static const char magic[8] = {'l', 'a', 'z', 'e', 'k', 'r', 'n', '\n'};

typedef struct {
  char magic[8];
  uint32_t version;
  uint32_t entry_count;
  uint64_t names_size;
  uint64_t object_size;
  laze_hash identity; /* of the code generator: a file that was moved between directories is refused */
  laze_hash checksum; /* of the whole file, with this field zero */
} file_header;
_Static_assert(sizeof(file_header) == 64, "the header has no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "modules are written as they lie in memory");

typedef struct {
  laze_hash key;
  uint32_t name;
  uint32_t zero;
} file_entry;
_Static_assert(sizeof(file_entry) == 24, "entries have no padding");

/* What decoding allocates; the module is its first member. */
typedef struct {
  laze_disk_module module;
  uint8_t *bytes;
  laze_disk_entry entries[];
} decoded_module;

static int64_t names_begin(int64_t entry_count) {
  return (int64_t)sizeof(file_header) + entry_count * (int64_t)sizeof(file_entry);
}

static int64_t object_begin(int64_t entry_count, int64_t names_size) {
  return (names_begin(entry_count) + names_size + 15) & -INT64_C(16);
}

uint8_t *laze_disk_module_encode(const laze_disk_cache *cache, const laze_disk_module *module, int64_t *size,
                                 laze_hash *checksum) {
  int64_t names_size = 0;
  for (int64_t i = 0; i < module->entry_count; i++) names_size += (int64_t)strlen(module->entries[i].symbol) + 1;
  file_header header = {.version = FORMAT_VERSION,
                        .entry_count = (uint32_t)module->entry_count,
                        .names_size = (uint64_t)names_size,
                        .object_size = (uint64_t)module->object_size,
                        .identity = cache->identity};
  memcpy(header.magic, magic, sizeof magic);
  int64_t object = object_begin(module->entry_count, names_size);
  *size = object + module->object_size;
  uint8_t *bytes = laze_alloc_zero(cache->context, *size);
  if (!bytes) return NULL;
  uint8_t *names = bytes + names_begin(module->entry_count);
  uint32_t name = 0;
  for (int64_t i = 0; i < module->entry_count; i++) {
    file_entry entry = {module->entries[i].key, name, 0};
    memcpy(bytes + sizeof header + (size_t)i * sizeof entry, &entry, sizeof entry);
    size_t length = strlen(module->entries[i].symbol) + 1;
    memcpy(names + name, module->entries[i].symbol, length);
    name += (uint32_t)length;
  }
  memcpy(bytes + object, module->object, (size_t)module->object_size);
  memcpy(bytes, &header, sizeof header);
  *checksum = header.checksum = laze_hash_bytes(bytes, (size_t)*size);
  memcpy(bytes, &header, sizeof header);
  return bytes;
}

/* Checks header, sizes and checksum. Zeroes the checksum in `bytes` on the way. */
static laze_status check_file(const laze_disk_cache *cache, uint8_t *bytes, int64_t size, file_header *header,
                              laze_error *error) {
  if (size < (int64_t)sizeof *header)
    return laze_fail(error, LAZE_DATA_LOSS, "it has %lld bytes, fewer than a header", (long long)size);
  memcpy(header, bytes, sizeof *header);
  if (memcmp(header->magic, magic, sizeof magic) != 0 || header->version != FORMAT_VERSION)
    return laze_fail(error, LAZE_DATA_LOSS, "it is no kernel module of version %d", FORMAT_VERSION);
  if (!laze_hash_equal(header->identity, cache->identity))
    return laze_fail(error, LAZE_DATA_LOSS, "it was written by another code generator");
  int64_t rest = size - (int64_t)sizeof *header;
  if (header->entry_count > rest / (int64_t)sizeof(file_entry) || header->names_size > (uint64_t)rest ||
      header->object_size > (uint64_t)rest ||
      object_begin(header->entry_count, (int64_t)header->names_size) + (int64_t)header->object_size != size)
    return laze_fail(error, LAZE_DATA_LOSS, "it has %lld bytes, not those its header asks for", (long long)size);
  file_header cleared = *header;
  cleared.checksum = (laze_hash){0, 0};
  memcpy(bytes, &cleared, sizeof cleared);
  if (!laze_hash_equal(laze_hash_bytes(bytes, (size_t)size), header->checksum))
    return laze_fail(error, LAZE_DATA_LOSS, "its checksum does not match its contents");
  return LAZE_OK;
}

/* The checksum is no protection against a program that computed it over nonsense: names are checked all the same. */
static laze_status read_entries(decoded_module *decoded, const file_header *header, laze_error *error) {
  const char *names = (const char *)decoded->bytes + names_begin(header->entry_count);
  bool terminated = header->names_size > 0 && names[header->names_size - 1] == 0;
  for (uint32_t i = 0; i < header->entry_count; i++) {
    file_entry entry;
    memcpy(&entry, decoded->bytes + sizeof *header + (size_t)i * sizeof entry, sizeof entry);
    if (!terminated || entry.name >= header->names_size)
      return laze_fail(error, LAZE_DATA_LOSS, "the name of its kernel %u lies outside", i);
    decoded->entries[i] = (laze_disk_entry){entry.key, names + entry.name};
  }
  return LAZE_OK;
}

laze_status laze_disk_module_decode(const laze_disk_cache *cache, uint8_t *bytes, int64_t size, laze_disk_module **out,
                                    laze_error *error) {
  file_header header;
  laze_status status = check_file(cache, bytes, size, &header, error);
  decoded_module *decoded = NULL;
  if (status == LAZE_OK) {
    int64_t needed = (int64_t)sizeof *decoded + header.entry_count * (int64_t)sizeof *decoded->entries;
    decoded = laze_alloc_zero(cache->context, needed);
    if (!decoded) status = laze_fail_memory(error, "a kernel module", needed);
  }
  if (status != LAZE_OK) {
    laze_free(cache->context, bytes);
    return status;
  }
  decoded->bytes = bytes;
  decoded->module = (laze_disk_module){.context = cache->context,
                                       .entries = decoded->entries,
                                       .entry_count = header.entry_count,
                                       .object = bytes + object_begin(header.entry_count, (int64_t)header.names_size),
                                       .object_size = (int64_t)header.object_size};
  status = read_entries(decoded, &header, error);
  if (status == LAZE_OK)
    *out = &decoded->module;
  else
    laze_disk_module_destroy(&decoded->module);
  return status;
}

void laze_disk_module_destroy(laze_disk_module *module) {
  if (!module) return;
  decoded_module *decoded = (decoded_module *)module;
  laze_free(module->context, decoded->bytes);
  laze_free(module->context, decoded);
}
