#include "bench/workloads.h"

#include "examples/digits_data.h"

#include <stdlib.h>

#define LARGEST_BATCH 4096

void workload_fill(float *out, int64_t count, uint32_t first) {
  for (int64_t i = 0; i < count; i++) out[i] = (float)((first + (uint32_t)i) * 2654435761u) * 0x1p-31f - 1;
}

laze_tensor *workload_tensor(laze_context *context, laze_ints shape, uint32_t first) {
  int64_t count = 1;
  for (int32_t axis = 0; axis < shape.count; axis++) count *= shape.items[axis];
  const size_t size = (size_t)count * sizeof(float);
  float *data = malloc(size);
  if (data != NULL) workload_fill(data, count, first);
  laze_tensor *tensor = laze_tensor_retain(laze_tensor_from_data(context, LAZE_F32, shape, data, data ? size : 0));
  free(data);
  return tensor;
}

laze_tensor *workload_places(laze_context *context) {
  const size_t size = (size_t)WORKLOAD_PLACES * sizeof(int64_t);
  int64_t *places = malloc(size);
  for (int64_t i = 0; places != NULL && i < WORKLOAD_PLACES; i++) places[i] = i * 7919 % WORKLOAD_PLACES;
  laze_tensor *tensor = laze_tensor_retain(
      laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(WORKLOAD_PLACES), places, places ? size : 0));
  free(places);
  return tensor;
}

laze_tensor *workload_adds(laze_tensor *x, laze_tensor *y) {
  for (int i = 0; i < WORKLOAD_ADDS; i++) x = laze_add(x, y);
  return x;
}

laze_tensor *workload_chain(laze_tensor *x, laze_tensor *y) {
  laze_tensor *half = laze_mul(laze_add(laze_mul(x, y), x), 0.5);
  laze_tensor *positive = laze_relu(laze_sub(half, y));
  return laze_add(laze_mul(laze_mul(positive, positive), x), 1.0);
}

laze_tensor *workload_chain_functions(laze_tensor *x, laze_tensor *y) {
  laze_tensor *half = laze_mul(laze_add(laze_tanh(laze_mul(x, y)), x), 0.5);
  return laze_add(laze_relu(laze_sub(laze_exp(half), y)), 1.0);
}

laze_tensor *workload_first(laze_tensor *x) {
  laze_tensor *hidden = laze_relu(laze_add(laze_mm(x, x), x));
  laze_tensor *mixed = laze_sub(laze_mul(hidden, x), laze_tanh(hidden));
  return laze_sum(laze_mul(laze_exp(laze_neg(mixed)), x));
}

laze_status workload_network(digits_network *out, laze_context *context, laze_error *error) {
  const laze_status status = digits_network_init(out, context, 1, error);
  if (status != LAZE_OK) return status;
  laze_scope *scope = laze_scope_begin(context);
  for (int i = 0; i < DIGITS_PARAMETERS; i++) {
    const int64_t sizes[2] = {laze_tensor_size(out->parameters[i], 0), laze_tensor_size(out->parameters[i], 1)};
    laze_tensor *value =
        workload_tensor(context, (laze_ints){sizes, laze_tensor_rank(out->parameters[i])}, (uint32_t)i * 10000);
    (void)laze_tensor_assign(out->parameters[i], laze_mul(value, 0.125));
    laze_tensor_release(value);
  }
  return laze_step_end(scope, error);
}

laze_status workload_digits_step(digits_network *network, int64_t count, laze_error *error) {
  static float pixels[LARGEST_BATCH * DIGITS_PIXELS];
  static int64_t labels[LARGEST_BATCH];
  if (labels[1] == 0) { /* filled once: making up images is not what is timed */
    workload_fill(pixels, LARGEST_BATCH * DIGITS_PIXELS, 100000);
    for (int64_t i = 0; i < LARGEST_BATCH; i++) labels[i] = i * 7 % DIGITS_CLASSES;
  }
  laze_scope *scope = laze_scope_begin(network->context);
  laze_tensor *images = laze_tensor_from_data(network->context, LAZE_F32, LAZE_SHAPE(count, DIGITS_PIXELS), pixels,
                                              (size_t)(count * DIGITS_PIXELS) * sizeof *pixels);
  laze_tensor *truth =
      laze_tensor_from_data(network->context, LAZE_I64, LAZE_SHAPE(count), labels, (size_t)count * sizeof *labels);
  return digits_network_step(network, scope, images, truth, 1e-3, error);
}
