/* Calls of registered kernels (laze/opaque.h), which are calls of `opaque` by name. */
#define LAZE_NO_MACROS
#include "laze/opaque.h"

int32_t laze_opaque_record_at(laze_context *context, const char *name, laze_tensor *const *operands,
                              int32_t operand_count, laze_ints integers, laze_reals reals, laze_strings strings,
                              laze_tensor **results, int32_t capacity, const char *file, int32_t line) {
  const laze_argument arguments[] = {
      {.kind = LAZE_PASS_STRING, .value.string = name},
      {.kind = LAZE_PASS_TENSORS, .count = operand_count, .value.tensors = operands},
      {.kind = LAZE_PASS_INTEGERS, .count = integers.count, .value.integers = integers.items},
      {.kind = LAZE_PASS_REALS, .count = reals.count, .value.reals = reals.items},
      {.kind = LAZE_PASS_STRINGS, .count = strings.count, .value.strings = strings.items},
  };
  return laze_call_by_name_at(context, "opaque", arguments, 5, results, capacity, file, line);
}
