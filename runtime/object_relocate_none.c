/* For processors without a loader: every object is refused, and programs run on the reference interpreter. */
#include "runtime/object_relocate.h"

const int laze_trampoline_size = 0;
const uint16_t laze_object_machine = EM_NONE;

bool laze_relocation_is_call(uint32_t type) {
  (void)type;
  return false;
}

bool laze_relocation_is_absolute(uint32_t type) {
  (void)type;
  return false;
}

laze_status laze_relocate(const laze_relocation *relocation, laze_error *error) {
  return laze_fail(error, LAZE_UNSUPPORTED, "relocation type %u: native kernels are not supported on this processor",
                   relocation->type);
}

void laze_trampoline_write(uint8_t *trampoline, const void *target) {
  (void)trampoline;
  (void)target;
}
