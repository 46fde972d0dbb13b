/* Elementwise operators: every element of the result from the operands' elements there, each converted to the dtype in
 * which the operator computes.
 *
 *   operand ──(converted, a block at a time)──> eval ──(rounded, of floats of 16 bits)──> result
 */
#include "codegen/interp/walk.h"

enum { BLOCK = 512, ELEMENT_SIZE = 16 };

/* Computes one row, or a part of it no longer than a block where anything must be converted. */
static void compute_part(const interp_run *run, const interp_node *node, const interp_walk *walk, int64_t begin,
                         int64_t count) {
  _Alignas(16) char blocks[LAZE_EVAL_MAX_OPERANDS][BLOCK * ELEMENT_SIZE];
  const char *operands[LAZE_EVAL_MAX_OPERANDS];
  int64_t steps[LAZE_EVAL_MAX_OPERANDS];
  int32_t result = node->operand_count;
  for (int32_t i = 0; i < node->operand_count; i++) {
    laze_dtype dtype = interp_operand(run, node, i).dtype;
    operands[i] = walk->data[i] + begin * walk->steps[i];
    steps[i] = walk->steps[i];
    if (dtype == node->compute[i]) continue;
    int64_t size = laze_dtype_size(node->compute[i]);
    laze_eval_find_conversion(dtype, node->compute[i])(count, &operands[i], &steps[i], blocks[i], size);
    operands[i] = blocks[i];
    steps[i] = size;
  }
  char *to = walk->data[result] + begin * walk->steps[result];
  laze_dtype dtype = interp_result(run, node, 0).dtype;
  if (dtype == node->computed) {
    node->eval(count, operands, steps, to, walk->steps[result]);
    return;
  }
  _Alignas(16) char wide[BLOCK * ELEMENT_SIZE];
  const char *computed = wide;
  int64_t size = laze_dtype_size(node->computed);
  node->eval(count, operands, steps, wide, size);
  laze_eval_find_conversion(node->computed, dtype)(count, &computed, &size, to, walk->steps[result]);
}

void interp_execute_elementwise(const interp_run *run, const interp_node *node) {
  interp_tensor result = interp_result(run, node, 0);
  interp_walk walk;
  bool converts = result.dtype != node->computed;
  interp_walk_init(&walk, result.rank, result.dims);
  for (int32_t i = 0; i < node->operand_count; i++) {
    interp_tensor operand = interp_operand(run, node, i);
    interp_walk_add_broadcast(&walk, &operand);
    converts = converts || operand.dtype != node->compute[i];
  }
  interp_walk_add_broadcast(&walk, &result);
  if (!interp_walk_begin(&walk)) return;
  int64_t block = converts ? BLOCK : walk.row;
  do {
    for (int64_t begin = 0; begin < walk.row; begin += block)
      compute_part(run, node, &walk, begin, walk.row - begin < block ? walk.row - begin : block);
  } while (interp_walk_next(&walk));
}
