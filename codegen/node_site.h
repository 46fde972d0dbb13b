/* Where a node of a graph comes from, in the runtime's words (runtime/site.h). */
#ifndef LAZE_CODEGEN_NODE_SITE_H
#define LAZE_CODEGEN_NODE_SITE_H

#include "ir/graph.h"
#include "runtime/site.h"

/* What a program knows of a node, and the call that the node itself knows of. */
laze_origin laze_node_origin(const laze_node *node);
laze_site laze_node_site(const laze_node *node);

#endif
