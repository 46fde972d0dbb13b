/* Reading an ELF64 relocatable object that may be damaged: every offset, count and size is checked before use. */
#ifndef LAZE_RUNTIME_OBJECT_ELF_H
#define LAZE_RUNTIME_OBJECT_ELF_H

#include "base/context.h"

#include <elf.h>

/* A view of an object's bytes, which it borrows. They need no alignment: structures are copied out. */
typedef struct laze_elf {
  const uint8_t *bytes;
  int64_t size;
  int section_count;
  Elf64_Shdr *sections; /* owned */
  int64_t symbols_offset, symbol_count;
  Elf64_Shdr strings; /* names of the symbols */
  Elf64_Shdr section_strings;
} laze_elf;

/* Checks the header (little-endian ELF64, relocatable, of `machine`), reads the section headers and finds the symbol
 * table. Every section's contents lie inside the object afterwards. LAZE_DATA_LOSS when something does not hold. */
LAZE_MUST_USE laze_status laze_elf_init(laze_context *context, const void *bytes, int64_t size, uint16_t machine,
                                        laze_elf *elf, laze_error *error);
void laze_elf_deinit(laze_context *context, laze_elf *elf);
/* The name of a section, "" when it has no valid one; inside the object. */
const char *laze_elf_section_name(const laze_elf *elf, const Elf64_Shdr *section);
/* index < symbol_count. */
Elf64_Sym laze_elf_symbol(const laze_elf *elf, int64_t index);
/* The name of a symbol, "" when it has no valid one; inside the object. */
const char *laze_elf_symbol_name(const laze_elf *elf, const Elf64_Sym *symbol);

#endif
