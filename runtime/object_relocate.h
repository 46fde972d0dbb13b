/* The part of loading an object that depends on the processor: one implementation per architecture,
 * object_relocate_*.c. To port the loader, write another one and name it in meson.build.
 *
 * Memory that is written to is the mapping of an object that is being loaded: the loader's, which made it, and writable
 * until all of it is relocated. Nothing here keeps a pointer. */
#ifndef LAZE_RUNTIME_OBJECT_RELOCATE_H
#define LAZE_RUNTIME_OBJECT_RELOCATE_H

#include "base/status.h"

#include <elf.h>

/* A place in the mapping that is to hold something computed from a symbol's address. */
typedef struct laze_relocation {
  uint8_t *place;  /* in the mapping, where the object will run: the address of the place is this pointer */
  int64_t room;    /* bytes from `place` to the end of its section */
  uint32_t type;   /* R_<machine>_* */
  bool in_code;    /* the section is executable */
  uint64_t symbol; /* address; of an import, that of its trampoline where laze_relocation_is_call() */
  int64_t addend;
} laze_relocation;

/* Bytes of a jump to a far address, a multiple of their alignment. 0: this architecture has no loader. */
extern const int laze_trampoline_size;
/* ELF's number of this processor. */
extern const uint16_t laze_object_machine;

/* True for relocations of calls and jumps, which may go to a trampoline instead of the symbol. */
bool laze_relocation_is_call(uint32_t type);
/* True for relocations that hold an absolute address in full, which may be that of an import. */
bool laze_relocation_is_absolute(uint32_t type);
/* Writes the value. LAZE_DATA_LOSS when the value or the place does not fit; LAZE_UNSUPPORTED for any type but the few
 * that the code generator emits. */
LAZE_MUST_USE laze_status laze_relocate(const laze_relocation *relocation, laze_error *error);
/* Writes laze_trampoline_size bytes of code, in the mapping, that jump to `target`: code of this process, which has to
 * stay where it is for as long as the object is loaded. */
void laze_trampoline_write(uint8_t *trampoline, const void *target);

#endif
