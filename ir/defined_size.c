/* Definers of sizes and what uses them:
 *
 *   block           visible symbols
 *     %0 = size_from  u0                 %0's own type and attributes may use what is visible already
 *     %1 = if         u0
 *       region        u0, v0             v0, defined in the region, goes where the region ends
 *     %1              u0, u1             u1, which %1 defines, is visible behind its regions
 *     %2 = slice      u0, u1
 */
#include "ir/defined_size.h"

#include "ir/attribute.h"
#include "ir/known_size.h"
#include "ir/op.gen.h"
#include "ir/walk.h"

const laze_size *laze_call_defined_sizes(const laze_call *call, int32_t *count) {
  int32_t defines = laze_op_get(call->op)->defines;
  const laze_size *sizes = NULL;
  *count = 0;
  if (defines > 0) (void)laze_attribute_find_sizes(&call->attributes[defines - 1], &sizes, count);
  return sizes;
}

bool laze_node_defines_size(const laze_node *node) {
  laze_call call = laze_node_call(node);
  int32_t count;
  (void)laze_call_defined_sizes(&call, &count);
  return count > 0;
}

laze_status laze_call_define_sizes(const laze_call *call, const laze_size_table *from, laze_size_table *to,
                                   laze_size *map, laze_error *error) {
  int32_t count;
  const laze_size *sizes = laze_call_defined_sizes(call, &count);
  for (int32_t i = 0; i < count; i++) {
    const laze_size_node *symbol = laze_size_get(from, sizes[i]);
    laze_size *out = &map[symbol->symbol];
    if (laze_size_find_symbol(to, symbol->name) != 0)
      LAZE_TRY(laze_size_fresh_symbol(to, "u", out, error));
    else
      LAZE_TRY(laze_size_symbol(to, symbol->name, out, error));
  }
  return LAZE_OK;
}

/* The number of the `index`-th symbol that a node defines; -1: it defines no more. */
static int64_t defined_symbol(const laze_graph *graph, const laze_node *node, int32_t index) {
  laze_call call = laze_node_call(node);
  int32_t count;
  const laze_size *sizes = laze_call_defined_sizes(&call, &count);
  return index < count ? laze_size_get(graph->sizes, sizes[index])->symbol : -1;
}

laze_status laze_graph_find_definers(const laze_graph *graph, laze_arena *arena, int32_t **out, laze_error *error) {
  int64_t count = laze_size_symbol_count(graph->sizes), symbol;
  *out = laze_arena_alloc_array(arena, count, sizeof **out);
  if (!*out) return laze_fail_memory(error, "the sizes of a graph", -1);
  for (int64_t i = 0; i < count; i++) (*out)[i] = -1;
  for (int64_t i = 0; i < graph->node_count && laze_size_defined_count(graph->sizes) > 0; i++)
    for (int32_t k = 0; (symbol = defined_symbol(graph, &graph->nodes[i], k)) >= 0; k++) (*out)[symbol] = (int32_t)i;
  return LAZE_OK;
}

laze_status laze_node_each_defined(const laze_graph *graph, const laze_node *node,
                                   void (*visit)(void *self, int64_t symbol), void *self, laze_error *error) {
  const laze_size_table *sizes = graph->sizes;
  if (laze_size_defined_count(sizes) == 0) return LAZE_OK;
  for (int32_t i = 0; i < node->result_count; i++)
    for (int axis = 0; axis < node->types[i]->rank; axis++)
      LAZE_TRY(laze_size_each_defined(sizes, node->types[i]->sizes[axis], visit, self, error));
  for (int32_t i = 0; node->attributes && i < laze_op_get(node->op)->attribute_count; i++) {
    const laze_size *items;
    int32_t count;
    if (!laze_attribute_find_sizes(&node->attributes[i], &items, &count)) continue;
    for (int32_t k = 0; k < count; k++) LAZE_TRY(laze_size_each_defined(sizes, items[k], visit, self, error));
  }
  return LAZE_OK;
}

/* --- The order of definers and uses --- */

typedef struct {
  const laze_graph *graph;
  const laze_block **places; /* of each symbol: the block of its definer; NULL: not visible */
  bool *met;                 /* of each symbol: its definer was met */
  int64_t hidden;            /* a symbol that was used where it is not visible; -1: none */
} checker;

static void look(void *self, int64_t symbol) {
  checker *state = self;
  if (!state->places[symbol]) state->hidden = symbol;
}

static laze_status check_uses(checker *state, int32_t number, laze_error *error) {
  const laze_node *node = &state->graph->nodes[number];
  LAZE_TRY(laze_node_each_defined(state->graph, node, look, state, error));
  if (state->hidden < 0) return LAZE_OK;
  const char *name = laze_size_symbol_name(state->graph->sizes, state->hidden);
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s uses the size %s, which %s; what uses a size comes behind what defines it, in the same block or "
                   "in regions below",
                   laze_op_get(node->op)->name, name,
                   state->met[state->hidden] ? "is defined in a region" : "nothing before it defines");
}

static laze_status define(checker *state, const laze_block *block, int32_t number, laze_error *error) {
  int64_t symbol;
  for (int32_t i = 0; (symbol = defined_symbol(state->graph, &state->graph->nodes[number], i)) >= 0; i++) {
    if (state->met[symbol])
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "the size %s is defined twice; give each value a size of its own",
                       laze_size_symbol_name(state->graph->sizes, symbol));
    state->met[symbol] = true;
    state->places[symbol] = block;
  }
  return LAZE_OK;
}

static void leave(checker *state, const laze_block *block) {
  for (int64_t i = 0; i < laze_size_symbol_count(state->graph->sizes); i++)
    if (state->places[i] == block) state->places[i] = NULL;
}

static laze_status check_event(checker *state, const laze_walk *walk, laze_walk_event event, laze_error *error) {
  const laze_node *node = event == LAZE_WALK_NODE ? &state->graph->nodes[walk->node] : NULL;
  if (event == LAZE_WALK_BLOCK)
    for (int64_t i = 0; i < walk->block->parameter_count; i++)
      LAZE_TRY(check_uses(state, walk->block->parameters[i], error));
  if (event == LAZE_WALK_BLOCK_END) leave(state, walk->block);
  bool defines = (node && node->region_count == 0) || event == LAZE_WALK_NODE_END;
  if (!defines) return LAZE_OK;
  LAZE_TRY(define(state, walk->block, walk->node, error));
  return check_uses(state, walk->node, error);
}

laze_status laze_graph_check_defined(const laze_graph *graph, laze_error *error) {
  int64_t count = laze_size_symbol_count(graph->sizes);
  checker state = {.graph = graph, .hidden = -1};
  if (laze_size_defined_count(graph->sizes) == 0) return LAZE_OK;
  state.places = laze_alloc_zero(graph->context, count * (int64_t)(sizeof *state.places + sizeof *state.met));
  if (!state.places) return laze_fail_memory(error, "the sizes of a graph", -1);
  state.met = (bool *)(state.places + count);
  laze_walk walk;
  laze_status status = LAZE_OK;
  laze_walk_begin(&walk, graph);
  for (laze_walk_event event; status == LAZE_OK && (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;)
    status = check_event(&state, &walk, event, error);
  laze_free(graph->context, state.places);
  return status;
}

/* --- Recording --- */

static laze_status record_definition(laze_recorder *recorder, const laze_size_source *source, laze_size *out,
                                     laze_error *error) {
  laze_attribute attributes[LAZE_SIZE_FROM_HIGH + 1];
  laze_value number;
  bool defined = false;
  if (!recorder->fresh_size && !recorder->sizes)
    return laze_fail(error, LAZE_UNSUPPORTED, "a size that a value gives needs a table of sizes; pass a number");
  LAZE_TRY(recorder->fresh_size ? recorder->fresh_size(recorder, source, out, &defined, error)
                                : laze_size_fresh_symbol(recorder->sizes, "u", out, error));
  if (defined) return LAZE_OK;
  attributes[LAZE_SIZE_FROM_SIZE] = laze_attribute_size(*out);
  attributes[LAZE_SIZE_FROM_INDEX] = laze_attribute_integer(source->index);
  attributes[LAZE_SIZE_FROM_LOW] = laze_attribute_integer(source->low);
  attributes[LAZE_SIZE_FROM_HIGH] = laze_attribute_integer(source->high);
  return laze_record_call(recorder, LAZE_OP_SIZE_FROM, &source->value, 1, attributes, &number, error);
}

laze_status laze_record_size_from(laze_recorder *recorder, const laze_size_source *source, laze_size *out,
                                  laze_error *error) {
  bool known;
  LAZE_TRY(laze_find_known_size(recorder, source->value, source->index, out, &known, error));
  return known ? LAZE_OK : record_definition(recorder, source, out, error);
}

laze_status laze_record_sizes_from(laze_recorder *recorder, const laze_size_source *source, laze_size *out,
                                   int32_t capacity, int32_t *count, laze_error *error) {
  const laze_type *type = laze_recorder_type(recorder, source->value);
  laze_size length = type->rank == 1 ? type->sizes[0] : -1;
  if (!laze_size_is_constant(length) || length < 0 || length > capacity)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "sizes come from a tensor of one dim and a length of at most %d that is known, such as i64[2]",
                     (int)capacity);
  *count = (int32_t)length;
  laze_size_source element = *source;
  for (element.index = 0; element.index < length; element.index++)
    LAZE_TRY(laze_record_size_from(recorder, &element, &out[element.index], error));
  return LAZE_OK;
}
