/* Handles of nodes (laze/gradient_node.h): slots with an edge alone. */
#ifndef LAZE_LAZY_AUTOGRAD_NODES_H
#define LAZE_LAZY_AUTOGRAD_NODES_H

#include "base/status.h"
#include "laze/gradient_node.h"
#include "lazy/value/grad_node.h"

/* Locks the context of a node's handle and says what it stands for. `function` is what messages name. */
LAZE_MUST_USE laze_status laze_grad_lock_node(const char *function, laze_gradient_node *node, laze_lazy **lazy,
                                              laze_edge *out, laze_error *error);

#endif
