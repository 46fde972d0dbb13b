/* A node carries the location of the call that made it, and, where passes made it from another operator, which:
 *
 *   %4 = index_select %t, %i      made from embedding, model.c:31
 *     site    embedding (model.c:31)          in messages about this graph
 *     origin  {node 4, "embedding"}           in programs, which serve other graphs too
 */
#include "codegen/node_site.h"

laze_site laze_node_site(const laze_node *node) {
  const laze_op_info *called = laze_op_get(node->origin ? node->origin : node->op);
  return (laze_site){
      .called = called->base, .file = node->location.file, .line = node->location.line, .name = node->name};
}

laze_origin laze_node_origin(const laze_node *node) {
  return (laze_origin){.node = node->location.node, .called = laze_node_site(node).called};
}
