/* Loads an object in steps, each of which may refuse it: sections are sorted into parts, the parts laid out by pages
 * and mapped writable, relocations applied, and then each part gets the protection that it keeps.
 *
 *   pages   code, trampolines | constants | variables
 *   then        r-x     |    r--    |    rw-
 */
#include "runtime/object_loader.h"

#include "runtime/object_debug.h"
#include "runtime/object_relocate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
  const char *name; /* inside laze_object.names */
  void *address;
  uint64_t size;
} object_symbol;

struct laze_object {
  laze_context *context; /* borrowed */
  uint8_t *base;
  int64_t size;
  char *names;            /* the object's symbol names */
  object_symbol *symbols; /* sorted by name */
  int64_t symbol_count;
  laze_object_debug *debug;
};

/* The parts of a mapping, in order. Each starts on a page of its own. */
typedef enum { PART_CODE, PART_CONSTANTS, PART_VARIABLES, PART_COUNT, PART_NONE } part;

static const int part_protection[PART_COUNT] = {
    [PART_CODE] = PROT_READ | PROT_EXEC, [PART_CONSTANTS] = PROT_READ, [PART_VARIABLES] = PROT_READ | PROT_WRITE};

/* What is known while loading. */
typedef struct {
  laze_context *context;
  laze_elf elf;
  laze_object_options options;
  uint64_t *addresses; /* of each section; while laying out, offsets into the mapping */
  uint8_t *parts;      /* of each section */
  int64_t page;
  int64_t part_begin[PART_COUNT + 1];
  int64_t trampolines; /* offset into the mapping */
  laze_object *object;
} loader;

laze_object_options laze_object_options_from_environment(void) {
  const char *perf = getenv("LAZE_PERF_MAP");
  return (laze_object_options){.perf_map = perf && strcmp(perf, "1") == 0};
}

static laze_status classify(const loader *self, int index, laze_error *error) {
  const Elf64_Shdr *section = &self->elf.sections[index];
  const char *name = laze_elf_section_name(&self->elf, section);
  uint64_t flags = section->sh_flags;
  self->parts[index] = PART_NONE;
  if (!(flags & SHF_ALLOC) || section->sh_type == SHT_NULL || section->sh_type == SHT_NOTE ||
      section->sh_type == SHT_X86_64_UNWIND || strcmp(name, ".eh_frame") == 0)
    return LAZE_OK;
  bool plain = section->sh_type == SHT_PROGBITS || section->sh_type == SHT_NOBITS;
  if (!plain || (flags & (SHF_TLS | SHF_COMPRESSED)) || ((flags & SHF_WRITE) && (flags & SHF_EXECINSTR)))
    return laze_fail(
        error, LAZE_UNSUPPORTED,
        "section %s of a kernel object has type %u and flags 0x%llx: expected code, constants or variables", name,
        section->sh_type, (unsigned long long)flags);
  uint64_t align = section->sh_addralign;
  if ((align & (align - 1)) != 0 || align > (uint64_t)self->page)
    return laze_fail(error, LAZE_DATA_LOSS,
                     "section %s of a kernel object is aligned to %llu bytes: expected a power of two up to %lld", name,
                     (unsigned long long)align, (long long)self->page);
  self->parts[index] = flags & SHF_EXECINSTR ? PART_CODE : flags & SHF_WRITE ? PART_VARIABLES : PART_CONSTANTS;
  return LAZE_OK;
}

/* `align` is 0, 1 or a power of two up to a page; offsets stay below LAZE_OBJECT_MAX plus a page. */
static int64_t align_up(int64_t offset, int64_t align) {
  return align > 1 ? (offset + align - 1) & -align : offset;
}

static laze_status too_large(laze_error *error) {
  return laze_fail(error, LAZE_DATA_LOSS, "a kernel object would take more than %lld bytes of memory",
                   (long long)LAZE_OBJECT_MAX);
}

/* Gives each section of a part its offset, from *offset on. */
static laze_status lay_out_part(loader *self, part which, int64_t *offset, laze_error *error) {
  for (int i = 0; i < self->elf.section_count; i++) {
    if (self->parts[i] != which) continue;
    const Elf64_Shdr *section = &self->elf.sections[i];
    *offset = align_up(*offset, (int64_t)section->sh_addralign);
    if (section->sh_size > (uint64_t)(LAZE_OBJECT_MAX - *offset)) return too_large(error);
    self->addresses[i] = (uint64_t)*offset;
    *offset += (int64_t)section->sh_size;
    if (*offset > LAZE_OBJECT_MAX - self->page) return too_large(error);
  }
  return LAZE_OK;
}

static laze_status lay_out(loader *self, laze_error *error) {
  for (int i = 0; i < self->elf.section_count; i++) LAZE_TRY(classify(self, i, error));
  int64_t offset = 0;
  for (int which = 0; which < PART_COUNT; which++) {
    self->part_begin[which] = offset;
    LAZE_TRY(lay_out_part(self, which, &offset, error));
    if (which == PART_CODE && self->options.import_count > 0) {
      self->trampolines = align_up(offset, laze_trampoline_size);
      offset = self->trampolines + (int64_t)self->options.import_count * laze_trampoline_size;
      if (offset > LAZE_OBJECT_MAX - self->page) return too_large(error);
    }
    offset = align_up(offset, self->page);
  }
  self->part_begin[PART_COUNT] = offset;
  return LAZE_OK;
}

static uint8_t *trampoline_of(const loader *self, int import) {
  return self->object->base + self->trampolines + (int64_t)import * laze_trampoline_size;
}

/* Maps writable memory, copies sections and trampolines into it, and turns offsets into addresses. */
static laze_status map(loader *self, laze_error *error) {
  laze_object *object = self->object;
  int64_t size = self->part_begin[PART_COUNT];
  if (size == 0) return laze_fail(error, LAZE_DATA_LOSS, "a kernel object has no code");
  void *base = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return laze_fail_memory(error, "a kernel object", size);
  object->base = base;
  object->size = size;
  for (int i = 0; i < self->elf.section_count; i++) {
    if (self->parts[i] == PART_NONE) continue;
    const Elf64_Shdr *section = &self->elf.sections[i];
    uint8_t *place = object->base + self->addresses[i];
    if (section->sh_type != SHT_NOBITS) memcpy(place, self->elf.bytes + section->sh_offset, section->sh_size);
    self->addresses[i] = (uint64_t)(uintptr_t)place;
  }
  for (int i = 0; i < self->options.import_count; i++)
    laze_trampoline_write(trampoline_of(self, i), self->options.imports[i].address);
  return LAZE_OK;
}

static laze_status resolve_import(const loader *self, const char *name, uint32_t type, uint64_t *address,
                                  laze_error *error) {
  for (int i = 0; i < self->options.import_count; i++) {
    const laze_object_import *import = &self->options.imports[i];
    if (strcmp(import->name, name) != 0) continue;
    if (laze_relocation_is_call(type))
      *address = (uint64_t)(uintptr_t)trampoline_of(self, i);
    else if (laze_relocation_is_absolute(type))
      *address = (uint64_t)(uintptr_t)import->address;
    else
      return laze_fail(error, LAZE_UNSUPPORTED,
                       "relocation type %u of a kernel object refers to import '%s': expected a call or an address in "
                       "data",
                       type, name);
    return LAZE_OK;
  }
  return laze_fail(error, LAZE_UNSUPPORTED, "a kernel object needs symbol '%s', which is none of its %d imports", name,
                   self->options.import_count);
}

/* True when a symbol is defined inside a section that was mapped. */
static bool is_mapped(const loader *self, const Elf64_Sym *symbol) {
  int type = ELF64_ST_TYPE(symbol->st_info);
  if (type == STT_TLS || type == STT_GNU_IFUNC) return false;
  if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= self->elf.section_count) return false;
  return self->parts[symbol->st_shndx] != PART_NONE && symbol->st_value <= self->elf.sections[symbol->st_shndx].sh_size;
}

static laze_status resolve(const loader *self, uint64_t index, uint32_t type, uint64_t *address, laze_error *error) {
  if (index == 0 || index >= (uint64_t)self->elf.symbol_count)
    return laze_fail(error, LAZE_DATA_LOSS, "a relocation of a kernel object refers to symbol %llu of %lld",
                     (unsigned long long)index, (long long)self->elf.symbol_count);
  Elf64_Sym symbol = laze_elf_symbol(&self->elf, (int64_t)index);
  const char *name = laze_elf_symbol_name(&self->elf, &symbol);
  if (symbol.st_shndx == SHN_UNDEF) return resolve_import(self, name, type, address, error);
  if (!is_mapped(self, &symbol))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "a kernel object refers to symbol '%s' (number %llu) in section %d: it is not in code, constants "
                     "or variables",
                     name, (unsigned long long)index, symbol.st_shndx);
  *address = self->addresses[symbol.st_shndx] + symbol.st_value;
  return LAZE_OK;
}

static laze_status relocate_one(const loader *self, int target, const Elf64_Rela *entry, laze_error *error) {
  uint64_t size = self->elf.sections[target].sh_size;
  if (entry->r_offset >= size)
    return laze_fail(error, LAZE_DATA_LOSS, "a relocation at byte %llu lies outside its section of %llu bytes",
                     (unsigned long long)entry->r_offset, (unsigned long long)size);
  laze_relocation relocation = {
      .place = (uint8_t *)(uintptr_t)self->addresses[target] + entry->r_offset,
      .room = (int64_t)(size - entry->r_offset),
      .type = (uint32_t)ELF64_R_TYPE(entry->r_info),
      .in_code = self->parts[target] == PART_CODE,
      .addend = entry->r_addend,
  };
  LAZE_TRY(resolve(self, ELF64_R_SYM(entry->r_info), relocation.type, &relocation.symbol, error));
  return laze_relocate(&relocation, error);
}

static laze_status relocate(const loader *self, laze_error *error) {
  for (int i = 0; i < self->elf.section_count; i++) {
    const Elf64_Shdr *section = &self->elf.sections[i];
    if (section->sh_type != SHT_RELA && section->sh_type != SHT_REL) continue;
    if (section->sh_info >= (uint32_t)self->elf.section_count || self->parts[section->sh_info] == PART_NONE) continue;
    if (section->sh_type == SHT_REL || section->sh_entsize != sizeof(Elf64_Rela) ||
        section->sh_size % sizeof(Elf64_Rela) != 0)
      return laze_fail(
          error, LAZE_DATA_LOSS,
          "relocation section %d of a kernel object has %llu bytes in entries of %llu: expected entries of "
          "%d bytes with addends",
          i, (unsigned long long)section->sh_size, (unsigned long long)section->sh_entsize, (int)sizeof(Elf64_Rela));
    for (uint64_t done = 0; done < section->sh_size; done += sizeof(Elf64_Rela)) {
      Elf64_Rela entry;
      memcpy(&entry, self->elf.bytes + section->sh_offset + done, sizeof entry);
      LAZE_TRY(relocate_one(self, (int)section->sh_info, &entry, error));
    }
  }
  return LAZE_OK;
}

static laze_status protect(const loader *self, laze_error *error) {
  const laze_object *object = self->object;
  __builtin___clear_cache((char *)object->base, (char *)object->base + self->part_begin[PART_CODE + 1]);
  for (int which = 0; which < PART_COUNT; which++) {
    int64_t begin = self->part_begin[which], end = self->part_begin[which + 1];
    if (begin == end || mprotect(object->base + begin, (size_t)(end - begin), part_protection[which]) == 0) continue;
    return laze_fail(
        error, LAZE_UNSUPPORTED,
        "the system does not allow executable memory for kernels (mprotect: %s): allow it for this process, "
        "or choose the backend 'interp'",
        strerror(errno));
  }
  return LAZE_OK;
}

static int compare_symbols(const void *a, const void *b) {
  return strcmp(((const object_symbol *)a)->name, ((const object_symbol *)b)->name);
}

/* Keeps names and addresses of the global symbols. */
static laze_status collect_symbols(const loader *self, laze_error *error) {
  laze_object *object = self->object;
  const laze_elf *elf = &self->elf;
  int64_t names_size = (int64_t)elf->strings.sh_size;
  object->names = laze_alloc(self->context, names_size);
  object->symbols = laze_alloc_array(self->context, elf->symbol_count, sizeof *object->symbols);
  if (!object->names || !object->symbols) return laze_fail_memory(error, "the symbols of a kernel object", names_size);
  memcpy(object->names, elf->bytes + elf->strings.sh_offset, (size_t)names_size);
  for (int64_t i = 0; i < elf->symbol_count; i++) {
    Elf64_Sym symbol = laze_elf_symbol(elf, i);
    int binding = ELF64_ST_BIND(symbol.st_info);
    if (binding == STB_LOCAL || symbol.st_name >= elf->strings.sh_size || !is_mapped(self, &symbol)) continue;
    uint64_t address = self->addresses[symbol.st_shndx] + symbol.st_value;
    object->symbols[object->symbol_count++] =
        (object_symbol){object->names + symbol.st_name, (void *)(uintptr_t)address, symbol.st_size};
  }
  qsort(object->symbols, (size_t)object->symbol_count, sizeof *object->symbols, compare_symbols);
  return LAZE_OK;
}

static void announce(const loader *self) {
  laze_object *object = self->object;
  if (!self->options.hide_from_debugger)
    object->debug = laze_object_debug_register(self->context, &self->elf, self->addresses);
  if (!self->options.perf_map) return;
  int file = laze_perf_map_open();
  if (file < 0)
    laze_log_message(self->context, LAZE_LOG_WARNING,
                     "LAZE_PERF_MAP: /tmp/perf-%d.map cannot be written (%s): perf will not know the names of kernels; "
                     "remove what lies there",
                     (int)getpid(), strerror(errno));
  for (int64_t i = 0; i < object->symbol_count; i++)
    laze_perf_map_append(file, object->symbols[i].address, object->symbols[i].size, object->symbols[i].name);
  laze_perf_map_close(file);
}

static laze_status load(loader *self, laze_error *error) {
  int64_t count = self->elf.section_count;
  self->addresses = laze_alloc_zero(self->context, count * (int64_t)sizeof *self->addresses);
  self->parts = laze_alloc_zero(self->context, count);
  if (!self->addresses || !self->parts) return laze_fail_memory(error, "a section table", -1);
  LAZE_TRY(lay_out(self, error));
  LAZE_TRY(map(self, error));
  LAZE_TRY(relocate(self, error));
  LAZE_TRY(protect(self, error));
  LAZE_TRY(collect_symbols(self, error));
  announce(self);
  return LAZE_OK;
}

laze_status laze_object_load(laze_context *context, const void *bytes, int64_t size, const laze_object_options *options,
                             laze_object **out, laze_error *error) {
  if (laze_trampoline_size == 0)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "native kernels are not supported on this processor: choose the backend "
                     "'interp'");
  loader self = {.context = context, .page = sysconf(_SC_PAGESIZE)};
  if (options) self.options = *options;
  LAZE_TRY(laze_elf_init(context, bytes, size, laze_object_machine, &self.elf, error));
  self.object = laze_alloc_zero(context, sizeof *self.object);
  laze_status status = LAZE_OUT_OF_MEMORY;
  if (self.object) {
    self.object->context = context;
    status = load(&self, error);
  } else {
    status = laze_fail_memory(error, "a kernel object", sizeof *self.object);
  }
  laze_free(context, self.parts);
  laze_free(context, self.addresses);
  laze_elf_deinit(context, &self.elf);
  if (status == LAZE_OK)
    *out = self.object;
  else
    laze_object_destroy(self.object);
  return status;
}

void *laze_object_find(const laze_object *object, const char *symbol) {
  object_symbol key = {.name = symbol};
  const object_symbol *found =
      bsearch(&key, object->symbols, (size_t)object->symbol_count, sizeof key, compare_symbols);
  return found ? found->address : NULL;
}

int64_t laze_object_size(const laze_object *object) {
  return object->size;
}

void laze_object_destroy(laze_object *object) {
  if (!object) return;
  laze_object_debug_unregister(object->context, object->debug);
  if (object->base) munmap(object->base, (size_t)object->size);
  laze_free(object->context, object->symbols);
  laze_free(object->context, object->names);
  laze_free(object->context, object);
}
