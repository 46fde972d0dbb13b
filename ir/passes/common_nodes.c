/* Merges nodes that compute the same: equal operator, attributes and operands, in one block.
 *
 *   %0 = exp %x                 %0 = exp %x
 *   %1 = exp %x          =>     %2 = add %0, %0
 *   %2 = add %0, %1
 *
 * Nodes whose effects are ordered stay apart; nodes that may fail fail alike and merge. Nodes with regions are not
 * compared, and each definer of a size has one of its own.
 */
#include "ir/passes/passes.h"

#include "ir/attribute.h"
#include "ir/defined_size.h"
#include "ir/op.gen.h"
#include "ir/rewrite.h"

#include <string.h>

typedef struct {
  const laze_graph *graph;
  int32_t *leaders; /* of each node: the first one that computes the same */
  int32_t *blocks;  /* of each node: which block it is in */
  int32_t *slots;   /* open hash table of leaders, -1 free */
  uint64_t mask;
  bool found;
} merger;

static bool may_merge(const laze_node *node) {
  return node->op != LAZE_OP_PARAMETER && node->region_count == 0 && !laze_node_defines_size(node) &&
         laze_op_get(node->op)->effect != LAZE_EFFECT_ORDERED;
}

static uint64_t hash_node(const merger *state, const laze_node *node, int32_t block) {
  const laze_op_info *info = laze_op_get(node->op);
  uint64_t words = laze_hash_mix(node->op, (uint64_t)block);
  for (int32_t i = 0; i < node->operand_count; i++) {
    laze_value operand = node->operands[i];
    words = laze_hash_mix(words, (uint64_t)(uint32_t)state->leaders[operand.node] << 32 | (uint32_t)operand.result);
  }
  if (info->attribute_count == 0) return words;
  laze_hash hash = {words, 0};
  for (int32_t i = 0; i < info->attribute_count; i++) hash = laze_attribute_hash(&node->attributes[i], hash);
  return hash.low;
}

static bool nodes_equal(const merger *state, const laze_node *a, const laze_node *b) {
  const laze_op_info *info = laze_op_get(a->op);
  if (a->op != b->op || a->operand_count != b->operand_count || !a->segments != !b->segments) return false;
  if (a->segments && memcmp(a->segments, b->segments, (size_t)info->segment_count * sizeof *a->segments) != 0)
    return false;
  for (int32_t i = 0; i < a->operand_count; i++)
    if (state->leaders[a->operands[i].node] != state->leaders[b->operands[i].node] ||
        a->operands[i].result != b->operands[i].result)
      return false;
  for (int32_t i = 0; i < info->attribute_count; i++)
    if (!laze_attribute_equal(&a->attributes[i], &b->attributes[i])) return false;
  return true;
}

/* Finds the node's leader, itself when it is the first. */
static void visit_node(merger *state, int32_t number, int32_t block) {
  const laze_node *node = &state->graph->nodes[number];
  state->leaders[number] = number;
  state->blocks[number] = block;
  if (!may_merge(node)) return;
  for (uint64_t at = hash_node(state, node, block);; at++) {
    int32_t *slot = &state->slots[at & state->mask];
    if (*slot < 0) {
      *slot = number;
      return;
    }
    if (state->blocks[*slot] != block || !nodes_equal(state, &state->graph->nodes[*slot], node)) continue;
    state->leaders[number] = *slot;
    state->found = true;
    return;
  }
}

static void find_leaders(merger *state) {
  laze_walk walk;
  int32_t blocks[LAZE_MAX_NESTING + 1], next_block = 0;
  laze_walk_begin(&walk, state->graph);
  for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
    if (event == LAZE_WALK_BLOCK) {
      blocks[walk.block->depth] = next_block++;
      for (int64_t i = 0; i < walk.block->parameter_count; i++)
        state->leaders[walk.block->parameters[i]] = walk.block->parameters[i];
    } else if (event == LAZE_WALK_NODE) {
      visit_node(state, walk.node, blocks[walk.block->depth]);
    }
  }
}

static laze_status merge_node(laze_rewrite *rewrite, void *self, int32_t number, bool *replaced, laze_error *error) {
  const merger *state = self;
  int32_t leader = state->leaders[number];
  (void)error;
  *replaced = leader != number;
  if (*replaced) laze_rewrite_map(rewrite, number, rewrite->values + rewrite->offsets[leader]);
  return LAZE_OK;
}

laze_status laze_pass_common_nodes(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                                   laze_error *error) {
  merger state = {.graph = graph};
  laze_rewrite_hooks hooks = {.self = &state, .node = merge_node};
  int64_t slot_count = 16;
  (void)options;
  while (slot_count < graph->node_count * 2) slot_count *= 2;
  state.mask = (uint64_t)slot_count - 1;
  state.leaders = laze_alloc_array(graph->context, graph->node_count * 2 + slot_count, sizeof *state.leaders);
  if (!state.leaders) return laze_fail_memory(error, "merging common nodes", -1);
  state.blocks = state.leaders + graph->node_count;
  state.slots = state.blocks + graph->node_count;
  memset(state.slots, 0xff, (size_t)slot_count * sizeof *state.slots);
  find_leaders(&state);
  laze_status status = state.found ? laze_rewrite_graph(graph, &hooks, true, out, error) : LAZE_OK;
  laze_free(graph->context, state.leaders);
  return status;
}
