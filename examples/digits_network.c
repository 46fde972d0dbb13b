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
  const laze_status status = laze_step_end(scope, error);
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

static laze_tensor *hidden_layer(digits_network *network, laze_tensor *images) {
  return laze_relu(laze_add(laze_mm(images, network->parameters[W1]), network->parameters[B1]));
}

static laze_tensor *output_layer(digits_network *network, laze_tensor *hidden) {
  return laze_add(laze_mm(hidden, network->parameters[W2]), network->parameters[B2]);
}

laze_tensor *digits_network_logits(digits_network *network, laze_tensor *images) {
  return output_layer(network, hidden_layer(network, images));
}

static laze_tensor *sum_rows(laze_tensor *matrix) {
  return laze_sum_dim(matrix, 0, false);
}

/* velocity = momentum velocity + gradient; parameter = parameter - learning_rate velocity.
 *
 * The learning rate is another number at every step. A number that the caller passes is an input of the recorded graph
 * and not part of it, so the graph stays the same and nothing is compiled anew. */
static void update(digits_network *network, int parameter, laze_tensor *gradient, double learning_rate) {
  laze_tensor *old = laze_mul(network->velocities[parameter], MOMENTUM);
  laze_tensor *velocity = laze_add(old, gradient);
  laze_tensor *change = laze_mul(velocity, learning_rate);
  /* A failed assignment changes nothing, and the end of the step reports it. */
  (void)laze_tensor_assign(network->velocities[parameter], velocity);
  (void)laze_tensor_assign(network->parameters[parameter], laze_sub(network->parameters[parameter], change));
}

laze_status digits_network_step(digits_network *network, laze_scope *scope, laze_tensor *images, laze_tensor *labels,
                                double learning_rate, laze_error *error) {
  const double share = 1.0 / (double)laze_tensor_size(images, 0); /* of one image in the mean */

  /* Forward. Nothing runs here: each call records one operation and knows its shape. */
  laze_tensor *hidden = hidden_layer(network, images);
  laze_tensor *log_p = laze_log_softmax(output_layer(network, hidden), 1);
  laze_tensor *truth = laze_to(laze_one_hot(labels, DIGITS_CLASSES), LAZE_F32);
  laze_tensor *loss = laze_neg(laze_mul(laze_sum(laze_mul(truth, log_p)), share));

  /* Backward: d_x is the derivative of the loss by x. */
  laze_tensor *d_logits = laze_mul(laze_sub(laze_exp(log_p), truth), share);
  laze_tensor *d_hidden = laze_mm(d_logits, laze_t(network->parameters[W2]));
  laze_tensor *active = laze_gt(hidden, 0); /* where relu let its input through */
  laze_tensor *d_sum = laze_where(active, d_hidden, 0);
  laze_tensor *gradients[DIGITS_PARAMETERS] = {
      [W1] = laze_mm(laze_t(images), d_sum),
      [B1] = sum_rows(d_sum),
      [W2] = laze_mm(laze_t(hidden), d_logits),
      [B2] = sum_rows(d_logits),
  };
  for (int i = 0; i < DIGITS_PARAMETERS; i++) update(network, i, gradients[i], learning_rate);
  (void)laze_tensor_assign(network->loss, loss);

  /* Only now everything runs: parameters, velocities and loss, in one compiled graph. */
  return laze_step_end(scope, error);
}
