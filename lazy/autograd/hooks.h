/* Hooks, as a backward pass calls them. Called with the context's lock held and no frame being recorded; the lock is
 * free while a hook runs. Gradients are replaced in place. */
#ifndef LAZE_LAZY_AUTOGRAD_HOOKS_H
#define LAZE_LAZY_AUTOGRAD_HOOKS_H

#include "base/status.h"

#include <stdbool.h>

typedef struct laze_gradient laze_gradient;
typedef struct laze_grad_node laze_grad_node;
typedef struct laze_thread_state laze_thread_state;

/* Those of the results' tensors. `records`: what hooks call leaves histories behind. */
LAZE_MUST_USE laze_status laze_hooks_of_tensors(laze_thread_state *thread, laze_grad_node *node, laze_gradient *results,
                                                bool records, laze_error *error);
/* Those of the node, before it is reached. */
LAZE_MUST_USE laze_status laze_hooks_of_results(laze_thread_state *thread, laze_grad_node *node, laze_gradient *results,
                                                bool records, laze_error *error);
/* Those of the node behind it. */
LAZE_MUST_USE laze_status laze_hooks_of_operands(laze_thread_state *thread, laze_grad_node *node,
                                                 laze_gradient *operands, laze_gradient *results, bool records,
                                                 laze_error *error);
/* Those of what a leaf has accumulated. */
LAZE_MUST_USE laze_status laze_hooks_of_leaf(laze_thread_state *thread, laze_grad_node *leaf, bool records,
                                             laze_error *error);
/* Whether a node has hooks behind it. */
bool laze_hooks_are_behind(const laze_grad_node *node);

#endif
