/* A network of two layers that tells digits apart, and one step of its training:
 *
 *   hidden = relu(images W1 + b1)        [n, 64] -> [n, 128]
 *   logits = hidden W2 + b2              [n, 128] -> [n, 10]
 *   loss   = mean of -log softmax(logits) at the labels
 *
 * whose gradients are found backwards through what was recorded, and taken by AdamW.
 */
#ifndef EXAMPLES_DIGITS_NETWORK_H
#define EXAMPLES_DIGITS_NETWORK_H

#include <laze/laze.h>

#define DIGITS_HIDDEN 128
#define DIGITS_PARAMETERS 4 /* W1, b1, W2, b2 */

typedef struct digits_network {
  laze_context *context; /* borrowed */
  laze_tensor *parameters[DIGITS_PARAMETERS];
  laze_optimiser *optimiser;
  laze_tensor *loss; /* of the last step, one number */
} digits_network;

/* Makes a network with random weights that follow from `seed`. On failure *out is empty. */
laze_status digits_network_init(digits_network *out, laze_context *context, int64_t seed, laze_error *error);
void digits_network_deinit(digits_network *network);

/* The logits of images [n, 64], recorded in the current scope. */
laze_tensor *digits_network_logits(digits_network *network, laze_tensor *images);

/* One step on a mini-batch: images [n, 64], labels [n] (i64), both handles of `scope`, which this ends. Computes the
 * gradients and the new parameters in one graph. */
laze_status digits_network_step(digits_network *network, laze_scope *scope, laze_tensor *images, laze_tensor *labels,
                                double learning_rate, laze_error *error);

#endif
