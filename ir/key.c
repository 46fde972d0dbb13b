/* The key of a graph: nodes in order, each with its operator, attributes and the positions of its operands. */
#include "ir/graph.h"

#include "ir/attribute.h"
#include "ir/op.gen.h"
#include "ir/size_pairs.h"
#include "ir/walk.h"

#include <string.h>

typedef struct {
  const laze_graph *graph;
  laze_size_pairs pairs;
  int32_t *positions; /* of each node in the walk: numbers may differ between equal graphs */
  int32_t next_position;
  bool with_sizes;
  laze_hash hash;
} hasher;

static void add(hasher *state, uint64_t value) {
  state->hash = laze_hash_add(state->hash, value);
}

bool laze_size_is_symbolised(laze_size size, bool listed) {
  return size > listed && size < LAZE_SIZE_CONSTANT_MAX;
}

/* A size that symbolising turns into a symbol counts as "some size" when sizes are left out. */
static void add_size(hasher *state, laze_size size, bool may_vary, bool listed) {
  if (may_vary && !state->with_sizes && laze_size_is_symbolised(size, listed))
    add(state, UINT64_C(0x7fffffffffffffff));
  else
    add(state, laze_size_is_constant(size) ? (uint64_t)size : laze_size_pairs_hash(&state->pairs, size));
}

/* Without sizes those of regions do not count at all: they follow from the operands. */
static void add_type(hasher *state, const laze_type *type, bool region) {
  add(state, (uint64_t)type->kind << 16 | (uint64_t)type->dtype << 8 | type->rank);
  for (int i = 0; i < type->rank && (state->with_sizes || !region); i++) add_size(state, type->sizes[i], true, false);
}

static bool has_data(const laze_op_info *info, const laze_attribute *attributes) {
  for (int32_t i = 0; i < info->attribute_count; i++)
    if (attributes[i].kind == LAZE_ARGUMENT_DATA) return true;
  return false;
}

static void add_attributes(hasher *state, const laze_node *node) {
  const laze_op_info *info = laze_op_get(node->op);
  bool vary = !has_data(info, node->attributes);
  for (int32_t i = 0; i < info->attribute_count; i++) {
    const laze_attribute *attribute = &node->attributes[i];
    int32_t count;
    const laze_size *sizes;
    if (!laze_attribute_find_sizes(attribute, &sizes, &count)) {
      state->hash = laze_attribute_hash(attribute, state->hash);
      continue;
    }
    add(state, (uint64_t)attribute->kind << 32 | (uint32_t)attribute->count);
    for (int32_t k = 0; k < count; k++) add_size(state, sizes[k], vary, attribute->kind == LAZE_ARGUMENT_SIZE_LIST);
  }
}

static void add_values(hasher *state, const laze_value *values, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    add(state, (uint64_t)(uint32_t)state->positions[values[i].node] << 32 | (uint32_t)values[i].result);
}

static void add_node(hasher *state, int32_t number) {
  const laze_node *node = &state->graph->nodes[number];
  state->positions[number] = state->next_position++;
  add(state, (uint64_t)node->op << 48 | (uint64_t)(uint32_t)node->region_count << 32 | (uint32_t)node->operand_count);
  for (int32_t i = 0; node->segments && i < laze_op_get(node->op)->segment_count; i++)
    add(state, (uint64_t)(uint32_t)node->segments[i] | (uint64_t)1 << 40);
  add_values(state, node->operands, node->operand_count);
  if (node->attributes) add_attributes(state, node);
}

static void add_block(hasher *state, const laze_block *block) {
  add(state, (uint64_t)block->parameter_count | (uint64_t)1 << 62);
  for (int64_t i = 0; i < block->parameter_count; i++) {
    state->positions[block->parameters[i]] = state->next_position++;
    add_type(state, state->graph->nodes[block->parameters[i]].types[0], block->depth > 0);
  }
}

static void add_facts(hasher *state) {
  const laze_fact *fact;
  for (int64_t i = 0; (fact = laze_size_carried_fact(state->graph->sizes, i)); i++) {
    add(state, (uint64_t)fact->kind << 1 | (uint64_t)fact->holds | (uint64_t)1 << 60);
    add_size(state, fact->a, true, false);
    add_size(state, fact->b, true, false);
  }
}

laze_hash laze_graph_hash(const laze_graph *graph, bool with_sizes) {
  hasher state = {.graph = graph, .with_sizes = with_sizes, .hash = {0x1a2e, with_sizes}};
  state.positions = laze_alloc_array(graph->context, graph->node_count, sizeof *state.positions);
  if (!state.positions) return (laze_hash){0, 0};
  laze_size_pairs_init(&state.pairs, graph->context, graph->sizes, NULL);
  laze_walk walk;
  laze_walk_begin(&walk, graph);
  for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
    if (event == LAZE_WALK_BLOCK) add_block(&state, walk.block);
    if (event == LAZE_WALK_NODE) add_node(&state, walk.node);
    if (event == LAZE_WALK_BLOCK_END) {
      add(&state, (uint64_t)walk.block->result_count | (uint64_t)1 << 61);
      add_values(&state, walk.block->results, walk.block->result_count);
    }
  }
  if (!with_sizes) add_facts(&state);
  laze_size_pairs_deinit(&state.pairs);
  laze_free(graph->context, state.positions);
  return state.pairs.failed ? (laze_hash){0, 0} : state.hash;
}
