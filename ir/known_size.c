/* Looks through the calls behind an element. */
#include "ir/known_size.h"

#include "ir/attribute.h"
#include "ir/op.gen.h"

static const laze_data *find_data(const laze_call *call) {
  for (int32_t i = 0; i < laze_op_get(call->op)->attribute_count; i++)
    if (call->attributes[i].kind == LAZE_ARGUMENT_DATA) return &call->attributes[i].value.data;
  return NULL;
}

laze_status laze_find_known_size(laze_recorder *recorder, laze_value value, int64_t index, laze_size *out, bool *known,
                                 laze_error *error) {
  laze_call call;
  laze_dtype dtype = laze_recorder_type(recorder, value)->dtype;
  (void)error;
  *known = false;
  if (!recorder->call_of || !recorder->call_of(recorder, value, &call)) return LAZE_OK;
  const laze_data *data = find_data(&call);
  if (data && laze_dtype_is_index(dtype) && index < data->size / laze_dtype_size(dtype)) {
    *out = laze_size_from_number(laze_scalar_load(dtype, data->bytes, index).value.integer);
    *known = true;
  } else if (call.op == LAZE_OP_SIZE_FROM) {
    *out = call.attributes[LAZE_SIZE_FROM_SIZE].value.size;
    *known = true;
  }
  return LAZE_OK;
}
