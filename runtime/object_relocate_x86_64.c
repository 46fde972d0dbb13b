/* S: the symbol's address, A: the addend, P: the place (System V ABI, AMD64 supplement, 4.4).
 *
 *   R_X86_64_PC32, R_X86_64_PLT32   S + A - P   signed 32 bits   code and data
 *   R_X86_64_PC64                   S + A - P   64 bits          code and data
 *   R_X86_64_64                     S + A       64 bits          data only
 */
#include "runtime/object_relocate.h"

#include <string.h>

const int laze_trampoline_size = 16;
const uint16_t laze_object_machine = EM_X86_64;

bool laze_relocation_is_call(uint32_t type) {
  return type == R_X86_64_PLT32;
}

bool laze_relocation_is_absolute(uint32_t type) {
  return type == R_X86_64_64;
}

static laze_status write_value(const laze_relocation *relocation, const void *value, int size, laze_error *error) {
  if (relocation->room < size)
    return laze_fail(error, LAZE_DATA_LOSS, "a relocation of %d bytes starts %lld bytes before the end of its section",
                     size, (long long)relocation->room);
  memcpy(relocation->place, value, (size_t)size);
  return LAZE_OK;
}

laze_status laze_relocate(const laze_relocation *relocation, laze_error *error) {
  uint64_t absolute = relocation->symbol + (uint64_t)relocation->addend;
  uint64_t relative = absolute - (uint64_t)(uintptr_t)relocation->place;
  int64_t distance = (int64_t)relative;
  int32_t near_distance = (int32_t)distance;
  switch (relocation->type) {
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
    if (near_distance != distance)
      return laze_fail(error, LAZE_DATA_LOSS, "a 32-bit relocation would have to span %lld bytes", (long long)distance);
    return write_value(relocation, &near_distance, sizeof near_distance, error);
  case R_X86_64_PC64: return write_value(relocation, &relative, sizeof relative, error);
  case R_X86_64_64:
    if (!relocation->in_code) return write_value(relocation, &absolute, sizeof absolute, error);
    break;
  default: break;
  }
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "relocation type %u in %s: expected position-independent code in the small code model (PC32, PLT32, "
                   "PC64, and 64 in data)",
                   relocation->type, relocation->in_code ? "code" : "data");
}

void laze_trampoline_write(uint8_t *trampoline, const void *target) {
  /* jmp *0(%rip), with the address right behind, then two bytes of int3 */
  static const uint8_t jump[6] = {0xff, 0x25, 0, 0, 0, 0};
  memcpy(trampoline, jump, sizeof jump);
  memcpy(trampoline + sizeof jump, &target, sizeof target);
  memset(trampoline + sizeof jump + sizeof target, 0xcc, 2);
}
