/* Tensors as arrays and back (laze/trace.h), and compiled graphs run on tensors. */
#include "lazy/run/array.h"

#include "base/context.h"
#include "base/dtype.h"
#include "ir/graph.h"
#include "laze/trace.h"
#include "lazy/lazy.h"
#include "lazy/run/from_host.h"
#include "lazy/run/materialise.h"
#include "lazy/run/read.h"
#include "lazy/value/handle.h"
#include "runtime/array.h"

/* The buffer of a value; that of a number is made. */
static laze_status take_buffer(const laze_value_out *value, laze_buffer **out, laze_error *error) {
  *out = value->buffer;
  if (value->buffer) {
    laze_buffer_retain(value->buffer);
    return LAZE_OK;
  }
  LAZE_TRY(laze_buffer_create(value->context, laze_dtype_size(value->type.dtype), out, error));
  laze_scalar_store(value->scalar, value->type.dtype, (*out)->data, 0);
  return LAZE_OK;
}

laze_status laze_array_take(const laze_force *force, laze_tensor *tensor, laze_array **out, laze_error *error) {
  laze_value_out value;
  laze_buffer *buffer;
  *out = NULL;
  LAZE_TRY(laze_value_take(force, tensor, &value, error));
  laze_status status = take_buffer(&value, &buffer, error);
  if (status == LAZE_OK) status = laze_array_wrap(value.context, &value.type, buffer, out, error);
  laze_value_give(&value);
  return status;
}

laze_status laze_tensor_to_array(laze_tensor *tensor, laze_array **out, laze_error *error) {
  static const laze_force force = {.reason = LAZE_FORCE_EXPORT, .function = "laze_tensor_to_array"};
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_tensor_to_array: out is NULL");
  return laze_array_take(&force, tensor, out, error);
}

laze_tensor *laze_tensor_from_array(laze_array *array) {
  laze_error error;
  laze_lazy *lazy = laze_lazy_get(array ? array->context : NULL);
  if (!lazy) return laze_handle_out_of_memory();
  if (!array) {
    const laze_status status = laze_fail(&error, LAZE_INVALID_ARGUMENT, "laze_tensor_from_array: the array is NULL");
    return laze_from_host_handle(lazy, status, NULL, NULL, &error);
  }
  laze_buffer_retain(array->buffer);
  return laze_from_host_handle(lazy, LAZE_OK, &array->type, array->buffer, &error);
}

static laze_status call(laze_compiled *compiled, laze_tensor *const *inputs, int32_t input_count, laze_array **arrays,
                        laze_array **results, int32_t output_count, laze_error *error) {
  const laze_force force = {.reason = LAZE_FORCE_CALL, .function = "laze_compiled_call"};
  LAZE_TRY(laze_materialise_tensors(inputs, input_count, &force, error)); /* in one graph */
  for (int32_t i = 0; i < input_count; i++) LAZE_TRY(laze_tensor_to_array(inputs[i], &arrays[i], error));
  return laze_compiled_run(compiled, arrays, input_count, results, output_count, error);
}

laze_status laze_compiled_call(laze_compiled *compiled, laze_tensor *const *inputs, int32_t input_count,
                               laze_tensor **outputs, int32_t output_count, laze_error *error) {
  if (!compiled || input_count < 0 || output_count < 0 || (input_count > 0 && !inputs) ||
      (output_count > 0 && !outputs))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_compiled_call: compiled, inputs and outputs must not be NULL, nor a count negative");
  laze_context *context = laze_compiled_graph(compiled)->context;
  const int64_t count = (int64_t)input_count + output_count;
  laze_array **arrays = laze_alloc_zero(context, count * (int64_t)sizeof *arrays);
  if (!arrays) return laze_fail_memory(error, "the arrays of a call", -1);
  laze_array **results = arrays + input_count;
  const laze_status status = call(compiled, inputs, input_count, arrays, results, output_count, error);
  for (int32_t i = 0; i < output_count && status == LAZE_OK; i++) outputs[i] = laze_tensor_from_array(results[i]);
  for (int64_t i = 0; i < count; i++) laze_array_release(arrays[i]);
  laze_free(context, arrays);
  return status;
}
