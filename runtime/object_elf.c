/* Reads what the loader needs of an object:
 *
 *   header ── section headers ── symbol table ── names
 *
 * Each step checks that what it is about to follow lies inside the bytes. */
#include "runtime/object_elf.h"

#include <string.h>

/* True when [offset, offset + length) lies inside the object. */
static bool inside(const laze_elf *elf, uint64_t offset, uint64_t length) {
  uint64_t size = (uint64_t)elf->size;
  return offset <= size && length <= size - offset;
}

static laze_status check_header(const Elf64_Ehdr *header, uint16_t machine, laze_error *error) {
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return laze_fail(error, LAZE_DATA_LOSS, "a kernel object does not start as an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_REL)
    return laze_fail(error, LAZE_DATA_LOSS,
                     "a kernel object is of class %d, byte order %d, type %d: expected a relocatable little-endian "
                     "ELF64 file (2, 1, 1)",
                     header->e_ident[EI_CLASS], header->e_ident[EI_DATA], header->e_type);
  if (header->e_machine != machine)
    return laze_fail(error, LAZE_DATA_LOSS, "a kernel object is for machine %d: this processor is machine %d",
                     header->e_machine, machine);
  if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum == 0 || header->e_shstrndx >= header->e_shnum)
    return laze_fail(error, LAZE_DATA_LOSS,
                     "a kernel object has %d section headers of %d bytes, names in section %d: expected at least one "
                     "of %d bytes, with names",
                     header->e_shnum, header->e_shentsize, header->e_shstrndx, (int)sizeof(Elf64_Shdr));
  return LAZE_OK;
}

static laze_status check_sections(const laze_elf *elf, laze_error *error) {
  for (int i = 0; i < elf->section_count; i++) {
    const Elf64_Shdr *section = &elf->sections[i];
    if (section->sh_type == SHT_NULL || section->sh_type == SHT_NOBITS) continue; /* no contents in the file */
    if (!inside(elf, section->sh_offset, section->sh_size))
      return laze_fail(
          error, LAZE_DATA_LOSS, "section %d of a kernel object has %llu bytes at offset %llu: the object has %lld", i,
          (unsigned long long)section->sh_size, (unsigned long long)section->sh_offset, (long long)elf->size);
  }
  return LAZE_OK;
}

/* True for the index of a string table that ends with a NUL, so that every string in it does. Its contents were found
 * to lie inside. */
static bool is_string_table(const laze_elf *elf, uint32_t index) {
  if (index >= (uint32_t)elf->section_count) return false;
  const Elf64_Shdr *section = &elf->sections[index];
  return section->sh_type == SHT_STRTAB && section->sh_size > 0 &&
         elf->bytes[section->sh_offset + section->sh_size - 1] == 0;
}

static laze_status find_symbols(laze_elf *elf, laze_error *error) {
  for (int i = 0; i < elf->section_count; i++) {
    const Elf64_Shdr *section = &elf->sections[i];
    if (section->sh_type != SHT_SYMTAB) continue;
    if (elf->symbol_count > 0) return laze_fail(error, LAZE_DATA_LOSS, "a kernel object has two symbol tables");
    if (section->sh_entsize != sizeof(Elf64_Sym) || section->sh_size % sizeof(Elf64_Sym) != 0 ||
        section->sh_size == 0 || !is_string_table(elf, section->sh_link))
      return laze_fail(error, LAZE_DATA_LOSS,
                       "the symbol table of a kernel object has %llu bytes in entries of %llu, names in section %u: "
                       "expected entries of %d bytes and names in a string table",
                       (unsigned long long)section->sh_size, (unsigned long long)section->sh_entsize, section->sh_link,
                       (int)sizeof(Elf64_Sym));
    elf->symbols_offset = (int64_t)section->sh_offset;
    elf->symbol_count = (int64_t)(section->sh_size / sizeof(Elf64_Sym));
    elf->strings = elf->sections[section->sh_link];
  }
  if (elf->symbol_count == 0) return laze_fail(error, LAZE_DATA_LOSS, "a kernel object has no symbol table");
  return LAZE_OK;
}

static laze_status read_sections(laze_context *context, const Elf64_Ehdr *header, laze_elf *elf, laze_error *error) {
  uint64_t bytes = (uint64_t)header->e_shnum * sizeof(Elf64_Shdr);
  if (!inside(elf, header->e_shoff, bytes))
    return laze_fail(error, LAZE_DATA_LOSS, "a kernel object has %d section headers at offset %llu of %lld bytes",
                     header->e_shnum, (unsigned long long)header->e_shoff, (long long)elf->size);
  elf->sections = laze_alloc(context, (int64_t)bytes);
  if (!elf->sections) return laze_fail_memory(error, "section headers", (int64_t)bytes);
  memcpy(elf->sections, elf->bytes + header->e_shoff, bytes);
  elf->section_count = header->e_shnum;
  elf->section_strings = elf->sections[header->e_shstrndx];
  LAZE_TRY(check_sections(elf, error));
  if (!is_string_table(elf, header->e_shstrndx))
    return laze_fail(error, LAZE_DATA_LOSS, "the section names of a kernel object are not in a string table");
  return find_symbols(elf, error);
}

laze_status laze_elf_init(laze_context *context, const void *bytes, int64_t size, uint16_t machine, laze_elf *elf,
                          laze_error *error) {
  memset(elf, 0, sizeof *elf);
  elf->bytes = bytes;
  elf->size = size;
  Elf64_Ehdr header;
  if (size < (int64_t)sizeof header)
    return laze_fail(error, LAZE_DATA_LOSS, "a kernel object has %lld bytes: not even the %d of an ELF header",
                     (long long)size, (int)sizeof header);
  memcpy(&header, bytes, sizeof header);
  LAZE_TRY(check_header(&header, machine, error));
  laze_status status = read_sections(context, &header, elf, error);
  if (status != LAZE_OK) laze_elf_deinit(context, elf);
  return status;
}

void laze_elf_deinit(laze_context *context, laze_elf *elf) {
  laze_free(context, elf->sections);
  elf->sections = NULL;
}

/* The string at `offset` of a string table, "" when it is outside. */
static const char *find_string(const laze_elf *elf, const Elf64_Shdr *table, uint32_t offset) {
  if (offset >= table->sh_size) return "";
  return (const char *)elf->bytes + table->sh_offset + offset; /* terminated: is_string_table() looked */
}

const char *laze_elf_section_name(const laze_elf *elf, const Elf64_Shdr *section) {
  return find_string(elf, &elf->section_strings, section->sh_name);
}

Elf64_Sym laze_elf_symbol(const laze_elf *elf, int64_t index) {
  Elf64_Sym symbol;
  memcpy(&symbol, elf->bytes + elf->symbols_offset + index * (int64_t)sizeof symbol, sizeof symbol);
  return symbol;
}

const char *laze_elf_symbol_name(const laze_elf *elf, const Elf64_Sym *symbol) {
  return find_string(elf, &elf->strings, symbol->st_name);
}
