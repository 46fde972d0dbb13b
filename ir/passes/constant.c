/* The elements of a constant, for passes that look at them. */
#include "ir/passes/passes.h"

#include "ir/op.gen.h"

const laze_data *laze_constant_data(const laze_node *node) {
  if (node->op != LAZE_OP_CONSTANT) return NULL;
  for (int32_t i = 0; i < laze_op_get(node->op)->attribute_count; i++)
    if (node->attributes[i].kind == LAZE_ARGUMENT_DATA) return &node->attributes[i].value.data;
  return NULL;
}
