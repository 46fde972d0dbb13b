/* Lists in calls: room for the operands of one with a list of tensors, numbers, and strings behind each other. */
#include "lazy/record/pack.h"

#include "base/context.h"

static laze_tensor *const missing[] = {NULL};

laze_frame_operand *laze_pack_reserve(laze_frame_operand *local, int32_t others, laze_tensor *const **tensors,
                                      int32_t *tensor_count) {
  const bool wrong = *tensor_count < 0 || (*tensors == NULL && *tensor_count > 0);
  if (!wrong && *tensor_count <= LAZE_PACK_LOCAL - others) return local;
  laze_frame_operand *operands = NULL;
  if (!wrong) operands = laze_alloc_array(laze_context_default(), (int64_t)*tensor_count + others, sizeof(*operands));
  if (operands != NULL) return operands;
  *tensors = missing;
  *tensor_count = 1;
  return local;
}

int32_t laze_pack_optional_tensors(laze_frame_operand *operands, int32_t *count, laze_tensor *const *tensors,
                                   int32_t tensor_count) {
  return tensors == missing ? -1 : laze_pack_tensors(operands, count, tensors, tensor_count);
}

laze_attribute laze_pack_reals(laze_reals reals, bool may_be_absent) {
  if (may_be_absent && reals.items == NULL && reals.count == 0) return laze_attribute_absent(LAZE_ARGUMENT_FLOAT_LIST);
  return laze_attribute_reals(reals.items, reals.items == NULL && reals.count > 0 ? -1 : reals.count);
}

laze_attribute laze_pack_strings(const char *packed, laze_strings strings, bool may_be_absent) {
  if (may_be_absent && strings.items == NULL && strings.count == 0)
    return laze_attribute_absent(LAZE_ARGUMENT_STRING_LIST);
  return laze_attribute_strings(packed, strings.count);
}

char *laze_pack_reserve_strings(char *local, laze_strings *strings) {
  int64_t bytes = 0;
  if (strings->items == NULL && strings->count > 0) strings->count = -1;
  for (int32_t i = 0; i < strings->count; i++) {
    if (strings->items[i] == NULL) strings->count = -1;
    if (strings->count > 0) bytes += (int64_t)strlen(strings->items[i]) + 1;
  }
  char *packed = bytes > LAZE_PACK_BYTES ? laze_alloc(laze_context_default(), bytes) : local, *end = packed;
  if (packed == NULL) strings->count = -1;
  for (int32_t i = 0; i < strings->count; i++) {
    size_t length = strlen(strings->items[i]) + 1;
    memcpy(end, strings->items[i], length);
    end += length;
  }
  return packed;
}

void laze_pack_release_strings(char *local, char *packed) {
  if (packed != local) laze_free(laze_context_default(), packed);
}

void laze_pack_release(laze_frame_operand *local, laze_frame_operand *operands) {
  if (operands != local) laze_free(laze_context_default(), operands);
}
