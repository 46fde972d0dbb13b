/* The kernels that backward passes record: both give their first operand, and so have its type. */
#include "lazy/autograd/kernels.h"

#include "base/dtype.h"
#include "laze/opaque.h"

#include <math.h>
#include <string.h>

static int64_t count_elements(const laze_opaque_tensor *tensor) {
  int64_t count = 1;
  for (int i = 0; i < tensor->rank; i++) count *= tensor->sizes[i];
  return count;
}

static laze_status copy_first(void *self, const laze_opaque_call *call, laze_error *error) {
  (void)self, (void)error;
  const int64_t count = count_elements(&call->operands[0]);
  if (count > 0)
    memcpy(call->results[0].data, call->operands[0].data, (size_t)(count * laze_dtype_size(call->operands[0].dtype)));
  return LAZE_OK;
}

static bool has_nan(laze_dtype dtype, const void *data, int64_t count) {
  bool found = false;
  if (dtype == LAZE_C64 || dtype == LAZE_C128) count *= 2;
  for (int64_t i = 0; i < count && !found; i++) {
    if (dtype == LAZE_F64 || dtype == LAZE_C128)
      found = isnan(((const double *)data)[i]);
    else if (dtype == LAZE_F32 || dtype == LAZE_C64)
      found = isnan(((const float *)data)[i]);
    else if (dtype == LAZE_F16)
      found = (((const uint16_t *)data)[i] & 0x7fff) > 0x7c00;
    else if (dtype == LAZE_BF16)
      found = (((const uint16_t *)data)[i] & 0x7fff) > 0x7f80;
  }
  return found;
}

static laze_status check_numbers(void *self, const laze_opaque_call *call, laze_error *error) {
  const laze_opaque_tensor *operand = &call->operands[0];
  if (has_nan(operand->dtype, operand->data, count_elements(operand)))
    return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s", call->strings.items[0]);
  return copy_first(self, call, error);
}

laze_status laze_kernels_register(laze_context *context, laze_error *error) {
  const laze_opaque_options kernels[] = {
      {.struct_size = sizeof kernels[0], .name = LAZE_KERNEL_BARRIER, .run = copy_first},
      {.struct_size = sizeof kernels[0], .name = LAZE_KERNEL_NUMBERS, .run = check_numbers}};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    laze_error failure;
    const laze_status status = laze_opaque_register(context, &kernels[i], &failure);
    const bool is_there = status == LAZE_OK || status == LAZE_FAILED_PRECONDITION;
    if (!is_there) return laze_fail(error, status, "%s", failure.message);
  }
  return LAZE_OK;
}
