#include "examples/digits_network.h"

#include "examples/digits_data.h"

#include <math.h>
#include <string.h>

enum { W1, B1, W2, B2 };

static laze_ints parameter_shape(int parameter) {
  static const int64_t sizes[DIGITS_PARAMETERS][2] = {
      [W1] = {DIGITS_PIXELS, DIGITS_HIDDEN},
      [B1] = {DIGITS_HIDDEN},
      [W2] = {DIGITS_HIDDEN, DIGITS_CLASSES},
      [B2] = {DIGITS_CLASSES},
  };
  return (laze_ints){sizes[parameter], parameter == W1 || parameter == W2 ? 2 : 1};
}

laze_status digits_network_init(digits_network *out, laze_context *context, int64_t seed, laze_error *error) {
  *out = (digits_network){.context = context};
  laze_scope *scope = laze_scope_begin(context);
  for (int i = 0; i < DIGITS_PARAMETERS; i++) {
    const laze_ints shape = parameter_shape(i);
    laze_tensor *value = laze_zeros(context, shape, LAZE_F32);
    if (shape.count == 2) {
      laze_tensor *noise = laze_randn(context, shape, seed + i, 0, LAZE_F32);
      value = laze_mul(noise, laze_kaiming_std(shape, LAZE_FAN_OUT, sqrt(2))); /* weights are [in, out] here */
    }
    /* A retained handle outlives its scope, and its value is computed and kept when a step ends. */
    out->parameters[i] = laze_tensor_retain(value);
  }
  out->loss = laze_tensor_retain(laze_zeros(context, LAZE_SHAPE_SCALAR, LAZE_F32));
  laze_status status = laze_step_end(scope, error);
  for (int i = 0; i < DIGITS_PARAMETERS && status == LAZE_OK; i++)
    status = laze_tensor_require_grad(out->parameters[i], 1, error);
  if (status == LAZE_OK) status = laze_optimiser_create(context, "adamw", LAZE_NO_SETTINGS, &out->optimiser, error);
  if (status == LAZE_OK)
    status = laze_optimiser_add(out->optimiser, out->parameters, DIGITS_PARAMETERS, LAZE_NO_SETTINGS, error);
  if (status != LAZE_OK) digits_network_deinit(out);
  return status;
}

void digits_network_deinit(digits_network *network) {
  laze_optimiser_destroy(network->optimiser);
  for (int i = 0; i < DIGITS_PARAMETERS; i++) laze_tensor_release(network->parameters[i]);
  laze_tensor_release(network->loss);
  memset(network, 0, sizeof *network);
}

laze_tensor *digits_network_logits(digits_network *network, laze_tensor *images) {
  laze_tensor *hidden = laze_relu(laze_add(laze_mm(images, network->parameters[W1]), network->parameters[B1]));
  return laze_add(laze_mm(hidden, network->parameters[W2]), network->parameters[B2]);
}

laze_status digits_network_step(digits_network *network, laze_scope *scope, laze_tensor *images, laze_tensor *labels,
                                double learning_rate, laze_error *error) {
  /* Nothing runs here: each call records one operation and knows its shape, and so do the backward pass and the update.
   * The learning rate is another number at every step: an input of the recorded graph, for which nothing is compiled.
   */
  laze_tensor *logits = digits_network_logits(network, images);
  laze_tensor *loss = laze_cross_entropy(logits, labels, NULL, -100, "mean", 0);
  laze_status status =
      laze_optimiser_set(network->optimiser, LAZE_ALL_GROUPS, LAZE_SETTINGS({"lr", learning_rate}), error);
  if (status == LAZE_OK) status = laze_backward(loss, error);
  if (status == LAZE_OK) status = laze_optimiser_step(network->optimiser, error);
  if (status == LAZE_OK) status = laze_optimiser_zero_grad(network->optimiser, error); /* the next begins without any */
  (void)laze_tensor_assign(network->loss, laze_detach(loss)); /* a failure changes nothing, and the end reports it */

  /* Only now everything runs: parameters, what the optimiser remembers, and the loss, in one compiled graph. */
  const laze_status end = laze_step_end(scope, status == LAZE_OK ? error : NULL);
  return status == LAZE_OK ? end : status;
}
