#include "examples/char_network.h"

#include <math.h>
#include <stdio.h>

/* Parameters in the order in which they are made. */
enum { EMBEDDING, POSITIONS, LAST_NORM, LAST_NORM_BIAS, FIRST_LAYER };
enum { NORM1, NORM1_BIAS, ATTEND, PROJECT, NORM2, NORM2_BIAS, UP, DOWN };

/* A parameter of that name: noise of a spread, or a value where the spread is 0. */
static void add(char_network *network, const char *layer, const char *name, laze_ints shape, double std, double value,
                int64_t seed) {
  const int32_t at = network->count++;
  laze_tensor *made = std > 0 ? laze_mul(laze_randn(network->context, shape, seed + at, 0, LAZE_F32), std)
                              : laze_full(network->context, shape, value, LAZE_F32);
  network->parameters[at] = laze_tensor_retain(made);
  snprintf(network->names[at], sizeof network->names[at], "%s%s", layer, name);
}

static void add_all(char_network *network, int64_t seed) {
  const int64_t width = network->width;
  const double last = 0.02 / sqrt(2 * (double)network->layers); /* what is added to x, by all layers together */
  add(network, "", "embedding", LAZE_SHAPE(CHAR_SYMBOLS, width), 0.02, 0, seed);
  add(network, "", "positions", LAZE_SHAPE(network->length, width), 0.02, 0, seed);
  add(network, "", "norm.weight", LAZE_SHAPE(width), 0, 1, seed);
  add(network, "", "norm.bias", LAZE_SHAPE(width), 0, 0, seed);
  for (int64_t i = 0; i < network->layers; i++) {
    char layer[8];
    snprintf(layer, sizeof layer, "%d.", (int)i);
    add(network, layer, "norm1.weight", LAZE_SHAPE(width), 0, 1, seed);
    add(network, layer, "norm1.bias", LAZE_SHAPE(width), 0, 0, seed);
    add(network, layer, "attend", LAZE_SHAPE(3 * width, width), 0.02, 0, seed);
    add(network, layer, "project", LAZE_SHAPE(width, width), last, 0, seed);
    add(network, layer, "norm2.weight", LAZE_SHAPE(width), 0, 1, seed);
    add(network, layer, "norm2.bias", LAZE_SHAPE(width), 0, 0, seed);
    add(network, layer, "up", LAZE_SHAPE(4 * width, width), 0.02, 0, seed);
    add(network, layer, "down", LAZE_SHAPE(width, 4 * width), last, 0, seed);
  }
}

laze_status char_network_init(char_network *network, laze_context *context, int64_t seed, laze_error *error) {
  network->context = context;
  network->count = 0;
  laze_scope *scope = laze_scope_begin(context);
  add_all(network, seed);
  laze_status status = laze_step_end(scope, error);
  for (int32_t i = 0; i < network->count && status == LAZE_OK; i++)
    status = laze_tensor_require_grad(network->parameters[i], 1, error);
  if (status != LAZE_OK) char_network_deinit(network);
  return status;
}

void char_network_deinit(char_network *network) {
  for (int32_t i = 0; i < network->count; i++) laze_tensor_release(network->parameters[i]);
  network->count = 0;
}

/* What a call on a batch shares. */
typedef struct {
  const char_network *network;
  int64_t batch, seed, *offset;
  bool train;
} pass;

static laze_tensor *drop(const pass *self, laze_tensor *x) {
  if (!self->train || self->network->dropout <= 0) return x;
  laze_tensor *result = laze_dropout(x, self->network->dropout, true, self->seed, *self->offset);
  *self->offset += laze_tensor_elements(x);
  return result;
}

static laze_tensor *norm(const pass *self, laze_tensor *x, laze_tensor *const *weight_and_bias) {
  return laze_layer_norm(x, LAZE_INTS(self->network->width), weight_and_bias[0], weight_and_bias[1], 1e-5, true);
}

/* Part `which` (query, key, value) of all heads: [batch, heads, length, width / heads]. */
static laze_tensor *heads_of(const pass *self, laze_tensor *all, int64_t which) {
  const char_network *network = self->network;
  laze_tensor *part = laze_slice(all, 2, which * network->width, (which + 1) * network->width, 1);
  part = laze_reshape(part, LAZE_SHAPE(self->batch, network->length, network->heads, network->width / network->heads));
  return laze_permute(part, LAZE_INTS(0, 2, 1, 3));
}

static laze_tensor *attend(const pass *self, laze_tensor *x, laze_tensor *const *layer) {
  const char_network *network = self->network;
  laze_tensor *all = laze_linear(x, layer[ATTEND], NULL);
  laze_tensor *mixed = laze_scaled_dot_product_attention(heads_of(self, all, 0), heads_of(self, all, 1),
                                                         heads_of(self, all, 2), NULL, 0, true);
  mixed = laze_reshape(laze_permute(mixed, LAZE_INTS(0, 2, 1, 3)),
                       LAZE_SHAPE(self->batch, network->length, network->width));
  return drop(self, laze_linear(mixed, layer[PROJECT], NULL));
}

laze_tensor *char_network_logits(char_network *network, laze_tensor *characters, bool train, int64_t seed,
                                 int64_t *offset) {
  laze_tensor *const *parameters = network->parameters;
  const pass self = {network, laze_tensor_size(characters, 0), seed, offset, train};
  laze_tensor *x = laze_add(laze_embedding(parameters[EMBEDDING], characters), parameters[POSITIONS]);
  x = drop(&self, x);
  for (int64_t i = 0; i < network->layers; i++) {
    laze_tensor *const *layer = parameters + FIRST_LAYER + i * CHAR_LAYER_PARAMETERS;
    x = laze_add(x, attend(&self, norm(&self, x, layer + NORM1), layer));
    laze_tensor *hidden = laze_gelu(laze_linear(norm(&self, x, layer + NORM2), layer[UP], NULL));
    x = laze_add(x, drop(&self, laze_linear(hidden, layer[DOWN], NULL)));
  }
  return laze_linear(norm(&self, x, parameters + LAST_NORM), parameters[EMBEDDING], NULL);
}
