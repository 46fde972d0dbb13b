/* Drops nodes that no result needs.
 *
 *   %0 = exp %x
 *   %1 = neg %x          =>     %1 = neg %x
 *   return %1                   return %1
 *
 * Parameters stay, and so do nodes whose effects are ordered, and what defines a size that is used. A node that may
 * fail and that nobody uses goes: its failure would have been nobody's.
 */
#include "ir/passes/passes.h"

#include "ir/defined_size.h"
#include "ir/op.gen.h"
#include "ir/rewrite.h"

typedef struct {
  const laze_graph *graph;
  bool *live;
  laze_arena arena;
  int32_t *definers;    /* of each size symbol; NULL: nodes define none */
  int32_t *within;      /* of each size symbol: the node in whose regions its definer was last met */
  int32_t at;           /* the node whose regions are being looked through */
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

static void mark_definer(void *self, int64_t symbol) {
  marker *state = self;
  if (state->within[symbol] != state->at) state->live[state->definers[symbol]] = true;
}

/* Notes which sizes a node in the regions defines: their users are all in there, and may be dead. */
static void note_definer(marker *state, const laze_node *node) {
  laze_call call = laze_node_call(node);
  int32_t count;
  const laze_size *sizes = laze_call_defined_sizes(&call, &count);
  for (int32_t i = 0; i < count; i++) state->within[laze_size_get(state->graph->sizes, sizes[i])->symbol] = state->at;
}

/* Marks the definers of the sizes that a node uses, and of those from outside that nodes in its regions may: these are
 * looked at later. */
static laze_status mark_definers(marker *state, int32_t number, laze_error *error) {
  const laze_graph *graph = state->graph;
  const laze_node *node = &graph->nodes[number];
  laze_walk walk;
  if (!state->definers) return LAZE_OK;
  state->at = number;
  LAZE_TRY(laze_node_each_defined(graph, node, mark_definer, state, error));
  for (int32_t i = 0; i < node->region_count; i++) {
    laze_walk_begin_block(&walk, graph, node->regions[i]);
    for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
      if (event != LAZE_WALK_NODE) continue;
      note_definer(state, &graph->nodes[walk.node]);
      LAZE_TRY(laze_node_each_defined(graph, &graph->nodes[walk.node], mark_definer, state, error));
    }
  }
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
    LAZE_TRY(mark_definers(state, block->nodes[i], error));
    for (int32_t k = 0; k < node->operand_count; k++) state->live[node->operands[k].node] = true;
    for (int32_t k = 0; k < node->region_count; k++) LAZE_TRY(push_block(state, node->regions[k], error));
  }
  return LAZE_OK;
}

static laze_status mark(marker *state, laze_error *error) {
  if (laze_size_defined_count(state->graph->sizes) > 0) {
    int64_t symbols = laze_size_symbol_count(state->graph->sizes);
    LAZE_TRY(laze_graph_find_definers(state->graph, &state->arena, &state->definers, error));
    state->within = laze_arena_alloc_array(&state->arena, symbols, sizeof *state->within);
    if (!state->within) return laze_fail_memory(error, "finding dead nodes", -1);
    for (int64_t i = 0; i < symbols; i++) state->within[i] = -1;
  }
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
  laze_arena_init(&state.arena, graph->context);
  laze_status status = mark(&state, error);
  laze_arena_deinit(&state.arena);
  if (status == LAZE_OK && state.live_count < state.listed_count)
    status = laze_rewrite_graph(graph, &hooks, true, out, error);
  laze_free(graph->context, state.pending);
  laze_free(graph->context, state.live);
  return status;
}
