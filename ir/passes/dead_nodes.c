/* Drops nodes that no result needs.
 *
 *   %0 = exp %x
 *   %1 = neg %x          =>     %1 = neg %x
 *   return %1                   return %1
 *
 * Parameters stay, and so do nodes whose effects are ordered. A node that may fail and that nobody uses goes: its
 * failure would have been nobody's.
 */
#include "ir/passes/passes.h"

#include "ir/op.gen.h"
#include "ir/rewrite.h"

typedef struct {
  const laze_graph *graph;
  bool *live;
  laze_block **pending; /* blocks of live nodes, to be marked; each once */
  int64_t pending_count, pending_capacity;
  int64_t live_count, listed_count;
} marker;

static laze_status push_block(marker *state, laze_block *block, laze_error *error) {
  LAZE_TRY(laze_grow(state->graph->context, (void **)&state->pending, &state->pending_capacity,
                     state->pending_count + 1, sizeof block, error));
  state->pending[state->pending_count++] = block;
  return LAZE_OK;
}

/* Operands come before users, so one pass backwards finds all that is live in a block. */
static laze_status mark_block(marker *state, const laze_block *block, laze_error *error) {
  for (int64_t i = 0; i < block->result_count; i++) state->live[block->results[i].node] = true;
  state->listed_count += block->node_count;
  for (int64_t i = block->node_count - 1; i >= 0; i--) {
    const laze_node *node = &state->graph->nodes[block->nodes[i]];
    bool *live = &state->live[block->nodes[i]];
    *live = *live || laze_op_get(node->op)->effect == LAZE_EFFECT_ORDERED;
    if (!*live) continue;
    state->live_count++;
    for (int32_t k = 0; k < node->operand_count; k++) state->live[node->operands[k].node] = true;
    for (int32_t k = 0; k < node->region_count; k++) LAZE_TRY(push_block(state, node->regions[k], error));
  }
  return LAZE_OK;
}

static laze_status mark(marker *state, laze_error *error) {
  LAZE_TRY(push_block(state, state->graph->body, error));
  while (state->pending_count > 0) LAZE_TRY(mark_block(state, state->pending[--state->pending_count], error));
  return LAZE_OK;
}

static bool is_live(const laze_rewrite *rewrite, void *self, int32_t number) {
  const marker *state = self;
  (void)rewrite;
  return state->live[number];
}

laze_status laze_pass_dead_nodes(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                                 laze_error *error) {
  marker state = {.graph = graph};
  laze_rewrite_hooks hooks = {.self = &state, .keep = is_live};
  (void)options;
  state.live = laze_alloc_zero(graph->context, graph->node_count * (int64_t)sizeof *state.live);
  if (!state.live) return laze_fail_memory(error, "finding dead nodes", -1);
  laze_status status = mark(&state, error);
  if (status == LAZE_OK && state.live_count < state.listed_count)
    status = laze_rewrite_graph(graph, &hooks, true, out, error);
  laze_free(graph->context, state.pending);
  laze_free(graph->context, state.live);
  return status;
}
