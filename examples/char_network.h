/* A small transformer that says which character comes next, of which all characters before it are known:
 *
 *   x = characters E + positions                 [batch, context, width]
 *   x = x + attention(norm(x)), x = x + mlp(norm(x))       for each layer
 *   logits = norm(x) E^T                         [batch, context, CHAR_SYMBOLS]
 */
#ifndef EXAMPLES_CHAR_NETWORK_H
#define EXAMPLES_CHAR_NETWORK_H

#include <laze/laze.h>

#define CHAR_SYMBOLS 128 /* of ASCII */
#define CHAR_MOST_LAYERS 8
#define CHAR_LAYER_PARAMETERS 8
#define CHAR_MOST_PARAMETERS (4 + CHAR_MOST_LAYERS * CHAR_LAYER_PARAMETERS)

typedef struct char_network {
  laze_context *context;                /* borrowed */
  int64_t width, heads, layers, length; /* `length` of the context */
  double dropout;
  laze_tensor *parameters[CHAR_MOST_PARAMETERS];
  char names[CHAR_MOST_PARAMETERS][24];
  int32_t count;
} char_network;

/* Makes a network with random weights that follow from `seed`; the sizes and the dropout of *network are the caller's.
 * On failure it has no parameters. */
laze_status char_network_init(char_network *network, laze_context *context, int64_t seed, laze_error *error);
void char_network_deinit(char_network *network);

/* The logits for characters [batch, length] (i64). While it is trained, a part of the activations is dropped, by random
 * numbers of `seed`, of which each call takes some from *offset on. */
laze_tensor *char_network_logits(char_network *network, laze_tensor *characters, bool train, int64_t seed,
                                 int64_t *offset);

#endif
