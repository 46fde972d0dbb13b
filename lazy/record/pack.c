/* Room for the operands of a call with a list of tensors. */
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

void laze_pack_release(laze_frame_operand *local, laze_frame_operand *operands) {
  if (operands != local) laze_free(laze_context_default(), operands);
}
