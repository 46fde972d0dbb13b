#include "examples/digits_network.h"

#include "examples/digits_data.h"

#include <math.h>
#include <string.h>

#define MOMENTUM 0.9

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
  int64_t offset = 0; /* each weight takes its own part of the stream of random numbers */
  for (int i = 0; i < DIGITS_PARAMETERS; i++) {
    const laze_ints shape = parameter_shape(i);
    laze_tensor *value = laze_zeros(context, shape, LAZE_F32);
    if (shape.count == 2) {
      laze_tensor *noise = laze_randn(context, shape, seed, offset, LAZE_F32);
      value = laze_mul(noise, sqrt(2.0 / (double)shape.items[0]));
      offset += shape.items[0] * shape.items[1];
    }
    /* A retained handle outlives its scope, and its value is computed and kept when a step ends. */
    out->parameters[i] = laze_tensor_retain(value);
    out->velocities[i] = laze_tensor_retain(laze_zeros(context, shape, LAZE_F32));
  }
  out->loss = laze_tensor_retain(laze_zeros(context, LAZE_SHAPE_SCALAR, LAZE_F32));
  laze_status status = laze_step_end(scope, error);
  for (int i = 0; i < DIGITS_PARAMETERS && status == LAZE_OK; i++)
    status = laze_tensor_require_grad(out->parameters[i], 1, error);
  if (status != LAZE_OK) digits_network_deinit(out);
  return status;
}

void digits_network_deinit(digits_network *network) {
  for (int i = 0; i < DIGITS_PARAMETERS; i++) {
    laze_tensor_release(network->parameters[i]);
    laze_tensor_release(network->velocities[i]);
  }
  laze_tensor_release(network->loss);
  memset(network, 0, sizeof *network);
}

laze_tensor *digits_network_logits(digits_network *network, laze_tensor *images) {
  laze_tensor *hidden = laze_relu(laze_add(laze_mm(images, network->parameters[W1]), network->parameters[B1]));
  return laze_add(laze_mm(hidden, network->parameters[W2]), network->parameters[B2]);
}

/* velocity = momentum velocity + gradient; parameter = parameter - learning_rate velocity.
 *
 * The learning rate is another number at every step. A number that the caller passes is an input of the recorded graph
 * and not part of it, so the graph stays the same and nothing is compiled anew. */
static laze_status update(digits_network *network, int parameter, double learning_rate, laze_error *error) {
  laze_tensor *gradient = laze_tensor_grad(network->parameters[parameter]);
  laze_tensor *old = laze_mul(network->velocities[parameter], MOMENTUM);
  laze_tensor *velocity = laze_add(old, gradient);
  laze_tensor *change = laze_mul(velocity, learning_rate);
  /* A failed assignment changes nothing, and the end of the step reports it. */
  (void)laze_tensor_assign(network->velocities[parameter], velocity);
  (void)laze_tensor_assign(network->parameters[parameter], laze_sub(network->parameters[parameter], change));
  return laze_tensor_set_grad(network->parameters[parameter], NULL, error); /* the next step begins without one */
}

laze_status digits_network_step(digits_network *network, laze_scope *scope, laze_tensor *images, laze_tensor *labels,
                                double learning_rate, laze_error *error) {
  /* Nothing runs here: each call records one operation and knows its shape, and so does the backward pass. */
  laze_tensor *log_p = laze_log_softmax(digits_network_logits(network, images), 1);
  laze_tensor *truth = laze_to(laze_one_hot(labels, DIGITS_CLASSES), LAZE_F32);
  laze_tensor *loss = laze_neg(laze_mean(laze_sum_dim(laze_mul(truth, log_p), 1, false)));
  laze_status status = laze_backward(loss, error);

  /* What follows is no part of what will be differentiated. */
  const int32_t recorded = laze_set_grad_enabled(network->context, 0);
  for (int i = 0; i < DIGITS_PARAMETERS && status == LAZE_OK; i++) status = update(network, i, learning_rate, error);
  (void)laze_set_grad_enabled(network->context, recorded);
  (void)laze_tensor_assign(network->loss, loss);

  /* Only now everything runs: parameters, velocities and loss, in one compiled graph. */
  const laze_status end = laze_step_end(scope, status == LAZE_OK ? error : NULL);
  return status == LAZE_OK ? end : status;
}
